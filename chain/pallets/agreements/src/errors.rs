//! The errors of calls, for what the pure rules refuse.

use crate::{Error, Unsound};

impl<T> From<Unsound> for Error<T> {
    fn from(unsound: Unsound) -> Self {
        match unsound {
            Unsound::PeriodInvalid => Self::PeriodInvalid,
            Unsound::BondOrStakeZero => Self::BondOrStakeZero,
            Unsound::SlashTooHigh => Self::SlashTooHigh,
            Unsound::UnbondingTooShort => Self::UnbondingTooShort,
        }
    }
}
