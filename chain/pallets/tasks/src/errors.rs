//! Conversion of the errors of the pure rules into those of calls.

use gantry_primitives::rate::RateError;

use crate::Error;

impl<T> From<RateError> for Error<T> {
    fn from(error: RateError) -> Self {
        match error {
            RateError::NotOffered => Self::UnitNotOffered,
            RateError::Overflow => Self::CostTooHigh,
        }
    }
}
