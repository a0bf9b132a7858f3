//! What must always be true of escrows. See docs/invariants.md.

use alloc::collections::BTreeMap;
use frame_support::ensure;
use gantry_primitives::{AccountId, Balance, EscrowState};
use sp_runtime::TryRuntimeError;

use crate::{Config, Escrows, Pallet, TotalEscrowed};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        let mut by_tenant: BTreeMap<AccountId, Balance> = BTreeMap::new();
        let mut total: Balance = 0;
        for escrow in Escrows::<T>::iter_values() {
            ensure!(
                escrow.fee <= escrow.paid && escrow.paid <= escrow.deposit,
                "BILL-1: a fee is part of what was paid, and that part of what was deposited"
            );
            ensure!(
                escrow.started_at.is_some() == escrow.depletes_at.is_some(),
                "BILL-2: an escrow has an end exactly when it has started"
            );
            let held = by_tenant.entry(escrow.tenant).or_default();
            if escrow.state == EscrowState::Open {
                let rest = escrow.deposit - escrow.paid;
                *held = held.checked_add(rest).ok_or("BILL-3: what is held can be added")?;
                total = total.checked_add(rest).ok_or("BILL-4: what is held can be added")?;
            }
        }
        for (tenant, held) in by_tenant {
            ensure!(Self::held(&tenant) == held, "BILL-3: what is held of a tenant is the sum of its open escrows");
        }
        ensure!(TotalEscrowed::<T>::get() == total, "BILL-4: the total is the sum of all open escrows");
        Ok(())
    }
}
