//! Conversion of the errors of the pure rules into those of calls.

use crate::{ballot, Error, ParamsError};

impl<T> From<ParamsError> for Error<T> {
    fn from(error: ParamsError) -> Self {
        match error {
            ParamsError::SeatsInvalid => Self::SeatsInvalid,
            ParamsError::AppealJuryTooSmall => Self::AppealJuryTooSmall,
            ParamsError::BondOrStakeZero => Self::BondOrStakeZero,
            ParamsError::PenaltyTooHigh => Self::PenaltyTooHigh,
            ParamsError::AbsenceTooCheap => Self::AbsenceTooCheap,
            ParamsError::JuryFeeTooHigh => Self::JuryFeeTooHigh,
            ParamsError::StakeTooHigh => Self::StakeTooHigh,
            ParamsError::PeriodInvalid => Self::PeriodInvalid,
            ParamsError::MissPeriodTooShort => Self::MissPeriodTooShort,
            ParamsError::MinVerifiersTooLow => Self::MinVerifiersTooLow,
            ParamsError::MinVerifiersTooHigh => Self::MinVerifiersTooHigh,
            ParamsError::ResultSlashZero => Self::ResultSlashZero,
            ParamsError::RewardsTooHigh => Self::RewardsTooHigh,
            ParamsError::AuditProbabilityInvalid => Self::AuditProbabilityInvalid,
            ParamsError::ServiceShareTooHigh => Self::ServiceShareTooHigh,
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
