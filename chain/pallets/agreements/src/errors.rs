//! The errors of calls, for what the pure rules refuse.

use crate::{Error, ParamsError};

impl<T> From<ParamsError> for Error<T> {
    fn from(error: ParamsError) -> Self {
        match error {
            ParamsError::PeriodInvalid => Self::PeriodInvalid,
            ParamsError::BondOrStakeZero => Self::BondOrStakeZero,
            ParamsError::SlashTooHigh => Self::SlashTooHigh,
            ParamsError::UnbondingTooShort => Self::UnbondingTooShort,
        }
    }
}
