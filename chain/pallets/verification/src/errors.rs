//! The errors of calls, for what the pure rules refuse.

use crate::{ballot, Error, Unsound};

impl<T> From<Unsound> for Error<T> {
    fn from(unsound: Unsound) -> Self {
        match unsound {
            Unsound::SeatsInvalid => Self::SeatsInvalid,
            Unsound::AppealJuryTooSmall => Self::AppealJuryTooSmall,
            Unsound::BondOrStakeZero => Self::BondOrStakeZero,
            Unsound::PenaltyTooHigh => Self::PenaltyTooHigh,
            Unsound::AbsenceTooCheap => Self::AbsenceTooCheap,
            Unsound::JuryFeeTooHigh => Self::JuryFeeTooHigh,
            Unsound::StakeTooHigh => Self::StakeTooHigh,
            Unsound::PeriodInvalid => Self::PeriodInvalid,
            Unsound::MissPeriodTooShort => Self::MissPeriodTooShort,
            Unsound::MinVerifiersTooLow => Self::MinVerifiersTooLow,
            Unsound::MinVerifiersTooHigh => Self::MinVerifiersTooHigh,
            Unsound::ResultSlashZero => Self::ResultSlashZero,
            Unsound::RewardsTooHigh => Self::RewardsTooHigh,
            Unsound::AuditProbabilityInvalid => Self::AuditProbabilityInvalid,
        }
    }
}

impl<T> From<ballot::Refusal> for Error<T> {
    fn from(refusal: ballot::Refusal) -> Self {
        match refusal {
            ballot::Refusal::NotOnCommittee => Self::NotOnCommittee,
            ballot::Refusal::AlreadyCommitted => Self::AlreadyCommitted,
            ballot::Refusal::NotCommitted => Self::NotCommitted,
            ballot::Refusal::AlreadyRevealed => Self::AlreadyRevealed,
            ballot::Refusal::CommitmentMismatch => Self::CommitmentMismatch,
        }
    }
}
