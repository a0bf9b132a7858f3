//! What must always be true of leases. See docs/invariants.md.

use frame_support::ensure;
use gantry_primitives::{EndReason, LeaseState};
use sp_runtime::TryRuntimeError;

use crate::{ByHost, Config, Leases, NextLeaseId, Pallet};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        let next = NextLeaseId::<T>::get();
        let mut live = 0usize;
        for (lease, record) in Leases::<T>::iter() {
            ensure!(lease < next, "LEASE-1: leases are numbered below the next number");
            let indexed = ByHost::<T>::contains_key(&record.host, lease);
            ensure!(indexed == record.state.is_live(), "LEASE-2: the index by host holds exactly the live leases");
            live += usize::from(indexed);
            ensure!(
                record.ended_at.is_none() == record.state.is_live(),
                "LEASE-3: a lease has an end exactly when it is not live"
            );
            match record.state {
                LeaseState::Pending => {
                    ensure!(record.started_at.is_none(), "LEASE-4: a pending lease has not started")
                }
                LeaseState::Active | LeaseState::Suspended => {
                    ensure!(record.started_at.is_some(), "LEASE-4: an active lease has started")
                }
                _ => {}
            }
            let completed = record.state == LeaseState::Ended(EndReason::Completed);
            ensure!(
                record.result.is_some() == completed,
                "LEASE-5: a lease has a result exactly when its pod completed"
            );
            let (created, started, ended) = (record.created_at, record.started_at, record.ended_at);
            ensure!(
                started.is_none_or(|at| created <= at) && ended.is_none_or(|at| started.unwrap_or(created) <= at),
                "LEASE-6: a lease is opened, started and ended in this order"
            );
        }
        ensure!(ByHost::<T>::iter_keys().count() == live, "LEASE-2: the index by host holds exactly the live leases");
        Ok(())
    }
}
