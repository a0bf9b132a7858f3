//! Coins that are held, released and moved.

use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::MutateHold,
        tokens::{Fortitude, Precision, Restriction},
        Time,
    },
};
use gantry_primitives::{AccountId, Balance, Moment};

use crate::{Config, Error, HoldReason, Pallet};

impl<T: Config> Pallet<T> {
    /// Holds `amount` of `who`, or `CannotPay`.
    pub(crate) fn hold(who: &AccountId, reason: HoldReason, amount: Balance) -> DispatchResult {
        if amount == 0 {
            return Ok(());
        }
        T::Currency::hold(&reason.into(), who, amount).map_err(|_| Error::<T>::CannotPay.into())
    }

    /// Gives `amount` of what is held of `who` back.
    pub(crate) fn release(who: &AccountId, reason: HoldReason, amount: Balance) -> DispatchResult {
        if amount == 0 {
            return Ok(());
        }
        T::Currency::release(&reason.into(), who, amount, Precision::Exact)?;
        Ok(())
    }

    /// Moves up to `amount` of what is held of `from` to `to`, and says how much. What its receiver cannot be credited
    /// with (less than the existential deposit, to an account that does not exist) stays where it is.
    pub(crate) fn pay(from: &AccountId, reason: HoldReason, to: &AccountId, amount: Balance) -> Balance {
        if amount == 0 {
            return 0;
        }
        let (precision, mode, force) = (Precision::BestEffort, Restriction::Free, Fortitude::Force);
        T::Currency::transfer_on_hold(&reason.into(), from, to, amount, precision, mode, force).unwrap_or(0)
    }

    /// Moves half of `amount` of what is held of `from` to `to` and the rest to the treasury, and says how much was moved.
    pub(crate) fn pay_half(from: &AccountId, reason: HoldReason, to: &AccountId, amount: Balance) -> Balance {
        let half = amount / 2;
        let moved = Self::pay(from, reason, to, half);
        moved.saturating_add(Self::pay(from, reason, &T::Treasury::get(), amount.saturating_sub(half)))
    }

    /// The chain's time.
    pub(crate) fn now() -> Moment {
        T::Time::now()
    }
}
