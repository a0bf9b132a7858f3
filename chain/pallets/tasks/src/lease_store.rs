//! The port of the leases pallet: it reads and changes leases in the records of their tasks.

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    transitions::{allows, LEASE_TRANSITIONS},
    AccountId, Balance, EndReason, Lease, LeaseId,
};
use pallet_gantry_billing::Ledger;
use pallet_gantry_leases::{LeaseStore, StoredLease};

use crate::{
    changes::{Allocation, TaskChanges},
    hosts, Config, Error, Pallet,
};

impl<T: Config> LeaseStore<T> for Pallet<T> {
    fn read(id: LeaseId) -> Result<StoredLease, DispatchError> {
        let mut changes = TaskChanges::<T>::new();
        let (loaded, position) = changes.load_lease(id)?;
        let lease = loaded.record.leases[position].clone();
        let downtime_ms = changes.downtime_of(&lease.host)?;
        let host = changes.host(&lease.host)?.record.clone();
        Ok(StoredLease { lease, tenant: loaded.record.tenant.clone(), spec: loaded.spec().clone(), host, downtime_ms })
    }

    fn write(id: LeaseId, lease: Lease, ledger: Ledger<T>) -> DispatchResult {
        let mut changes = TaskChanges::<T>::with_ledger(ledger);
        let (mut loaded, position) = changes.load_lease(id)?;
        let before = core::mem::replace(&mut loaded.record.leases[position], lease);
        let after = &loaded.record.leases[position];
        let (from, to) = (before.state.tag(), after.state.tag());
        let is_listed = from == to || allows(LEASE_TRANSITIONS, from, to);
        ensure!(is_listed, Error::<T>::LeaseTransitionNotAllowed);
        changes.change_allocation(
            id,
            after,
            &loaded.spec_record,
            Allocation::in_state(&before.state),
            Allocation::in_state(&after.state),
        )?;
        changes.store(loaded);
        changes.commit()
    }

    fn compensate(stored: &StoredLease, amount: Balance) -> Result<Balance, DispatchError> {
        if amount == 0 {
            return Ok(0);
        }
        let host = &stored.lease.host;
        let mut record = hosts::Pallet::<T>::host(host)?;
        let paid = hosts::Pallet::<T>::charge_bond(host, &mut record, amount, &stored.tenant);
        hosts::Pallet::<T>::store(host, &record);
        Ok(paid)
    }

    fn end(id: LeaseId, reason: EndReason, settler: Option<AccountId>) -> DispatchResult {
        let mut changes = match settler {
            Some(who) => TaskChanges::<T>::new().with_settler(who),
            None => TaskChanges::new(),
        };
        let (loaded, position) = changes.load_lease(id)?;
        ensure!(loaded.record.leases[position].state.is_live(), Error::<T>::LeaseEnded);
        changes.end_lease(loaded, position, reason);
        changes.commit()
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_rental(number: u32) -> LeaseId {
        crate::benchmarking::create_rental::<T>(number)
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_lease_with_standby(number: u32) -> LeaseId {
        crate::benchmarking::create_lease_with_standby::<T>(number)
    }
}
