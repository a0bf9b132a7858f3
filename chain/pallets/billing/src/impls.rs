//! Functions for other pallets.

use frame_support::traits::{
    fungible::{Inspect, InspectHold},
    tokens::{Fortitude, Preservation},
};
use gantry_primitives::{AccountId, Balance};
use sp_runtime::traits::AccountIdConversion;

use crate::{Config, CurrentParams, HoldReason, Pallet, Params, TREASURY};

impl<T: Config> Pallet<T> {
    /// The account to which the protocol fee goes.
    pub fn treasury() -> AccountId {
        TREASURY.into_account_truncating()
    }

    /// The amounts and periods in force.
    pub fn params() -> Params {
        CurrentParams::<T>::get()
    }

    /// Returns the amount that can be held of `tenant` now. The existential deposit always stays free, so that an
    /// account that can receive payments can still do so after a hold.
    pub fn holdable(tenant: &AccountId) -> Balance {
        if T::Currency::hold_available(&HoldReason::Escrow.into(), tenant) {
            T::Currency::reducible_balance(tenant, Preservation::Preserve, Fortitude::Force)
        } else {
            0
        }
    }

    /// Whether `amount` could be held on the account of `tenant` now.
    pub fn can_hold(tenant: &AccountId, amount: Balance) -> bool {
        amount <= Self::holdable(tenant)
    }

    /// Returns the amount on hold of `tenant` for open escrows.
    pub fn held(tenant: &AccountId) -> Balance {
        T::Currency::balance_on_hold(&HoldReason::Escrow.into(), tenant)
    }
}
