//! Conversion of the errors of the pure rules into those of calls.

use gantry_primitives::rate::AskError;

use crate::{Error, ParamsError};

impl<T> From<ParamsError> for Error<T> {
    fn from(error: ParamsError) -> Self {
        match error {
            ParamsError::HeartbeatPeriodZero => Self::HeartbeatPeriodZero,
            ParamsError::AbsenceLimitTooShort => Self::AbsenceLimitTooShort,
            ParamsError::PeriodTooLong => Self::PeriodTooLong,
            ParamsError::BondTooGreat => Self::BondTooGreat,
            ParamsError::AbsenceBountyTooGreat => Self::AbsenceBountyTooGreat,
            ParamsError::HaltAfterInvalid => Self::HaltAfterInvalid,
            ParamsError::FreeWeightZero => Self::FreeWeightZero,
            ParamsError::PenaltyTooGreat => Self::PenaltyTooGreat,
        }
    }
}

impl<T> From<AskError> for Error<T> {
    fn from(error: AskError) -> Self {
        match error {
            AskError::ModelRepeated => Self::AskModelRepeated,
            AskError::FactorTooGreat => Self::AskFactorTooGreat,
            AskError::TermsInvalid => Self::TermsInvalid,
        }
    }
}
