//! How the leases pallet reads and changes the leases that tasks keep.

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    transitions::{allows, LEASE_TRANSITIONS},
    AccountId, EndReason, Lease, LeaseId,
};
use pallet_gantry_billing::Ledger;
use pallet_gantry_leases::{Keeper, Kept};

use crate::{
    desk::{Desk, Hold},
    Config, Error, Pallet,
};

impl<T: Config> Keeper<T> for Pallet<T> {
    fn read(id: LeaseId) -> Result<Kept, DispatchError> {
        let mut desk = Desk::<T>::new();
        let (case, place) = desk.open_lease(id)?;
        let lease = case.record.leases[place].clone();
        let downtime_ms = desk.downtime_of(&lease.host)?;
        let host = desk.host(&lease.host)?.record.clone();
        Ok(Kept { lease, tenant: case.record.tenant.clone(), spec: case.spec().clone(), host, downtime_ms })
    }

    fn write(id: LeaseId, lease: Lease, ledger: Ledger<T>) -> DispatchResult {
        let mut desk = Desk::<T>::with(ledger);
        let (mut case, place) = desk.open_lease(id)?;
        let before = core::mem::replace(&mut case.record.leases[place], lease);
        let after = &case.record.leases[place];
        let (from, to) = (before.state.tag(), after.state.tag());
        let is_listed = from == to || allows(LEASE_TRANSITIONS, from, to);
        ensure!(is_listed, Error::<T>::LeaseTransitionNotAllowed);
        desk.change_hold(id, after, &case.shared, Hold::of(&before.state), Hold::of(&after.state))?;
        desk.put(case);
        desk.commit()
    }

    fn end(id: LeaseId, reason: EndReason, settler: Option<AccountId>) -> DispatchResult {
        let mut desk = match settler {
            Some(who) => Desk::<T>::new().settled_by(who),
            None => Desk::new(),
        };
        let (case, place) = desk.open_lease(id)?;
        ensure!(case.record.leases[place].state.is_live(), Error::<T>::LeaseEnded);
        desk.end_one(case, place, reason);
        desk.commit()
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn a_rental(number: u32) -> LeaseId {
        crate::benchmarking::a_rental::<T>(number)
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn a_guarded_lease(number: u32) -> LeaseId {
        crate::benchmarking::a_guarded_lease::<T>(number)
    }
}
