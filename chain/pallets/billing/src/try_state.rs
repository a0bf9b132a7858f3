//! The invariants of coins on hold. See docs/invariants.md.

use frame_support::ensure;
use gantry_primitives::Balance;
use sp_runtime::TryRuntimeError;

use crate::{Config, CurrentParams, Pallet, TotalEscrowed};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime. The pallet that stores the escrows
    /// checks that the amount on hold of a tenant is the sum of its open escrows.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        let mut total: Balance = 0;
        for who in frame_system::Account::<T>::iter_keys() {
            total = total.checked_add(Self::held(&who)).ok_or("BILL-1: what is held can be added")?;
        }
        ensure!(TotalEscrowed::<T>::get() == total, "BILL-1: the total is what is held on all accounts");
        ensure!(
            CurrentParams::<T>::get().check::<T>().is_ok(),
            "BILL-2: the fee and the shares of it are within bounds"
        );
        Ok(())
    }
}
