//! The invariants of the lists and the agenda. See docs/invariants.md.

use alloc::collections::BTreeMap;
use frame_support::ensure;
use gantry_primitives::{
    fees::{MAX_FEE_PPM, MAX_SHARES_PPM},
    Lease, LeaseId, LeaseState, TaskKind,
};
use sp_runtime::TryRuntimeError;

use crate::{agenda::page_key, Agenda, AgendaEmptied, AgendaPages, Bucket, ByHost, Config, CurrentParams, Pallet};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime. The lease store checks that the
    /// lists and the agenda match the leases.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        for list in ByHost::<T>::iter_values() {
            ensure!(!list.is_empty(), "LEASE-1: a list has something on it");
            ensure!(
                list.is_sorted_by(|a, b| a < b),
                "LEASE-2: a list has each lease once, in the order of their numbers"
            );
        }
        let mut pages_of: BTreeMap<Bucket, u32> = BTreeMap::new();
        for (bucket, _, page) in Agenda::<T>::iter() {
            ensure!(!page.is_empty(), "LEASE-3: a page of the agenda has something on it");
            *pages_of.entry(bucket).or_default() += 1;
        }
        ensure!(
            AgendaPages::<T>::iter().collect::<BTreeMap<_, _>>() == pages_of,
            "LEASE-4: the pages of the agenda are counted"
        );
        if let Some(emptied) = AgendaEmptied::<T>::get() {
            ensure!(
                pages_of.keys().next().is_none_or(|earliest| *earliest > emptied),
                "LEASE-16: no bucket of the agenda up to the one emptied last has entries"
            );
        }
        for (bucket, pages) in pages_of {
            ensure!(
                (0..pages).all(|page| Agenda::<T>::contains_key(bucket, page_key(page))),
                "LEASE-5: the pages of a bucket are numbered from 0 without a gap"
            );
        }
        ensure!(Self::ensure_sound(&CurrentParams::<T>::get()).is_ok(), "LEASE-6: the periods are sound");
        Ok(())
    }

    /// Checks the invariants of one lease and of its entry in the agenda. The lease store calls it for each lease.
    pub fn check_lease(id: LeaseId, lease: &Lease, kind: TaskKind) -> Result<(), TryRuntimeError> {
        let Lease { state, created_at, started_at, ended_at, escrow, .. } = lease;
        let is_running = matches!(state, LeaseState::Active | LeaseState::Suspended);
        ensure!(
            escrow.fee <= escrow.paid && escrow.paid <= escrow.deposit && escrow.accrued <= escrow.deposit,
            "LEASE-7: a fee is part of what is paid; no more is paid or owed than was deposited"
        );
        ensure!(
            escrow.fee_ppm <= MAX_FEE_PPM
                && escrow.scheduler_ppm <= MAX_SHARES_PPM
                && escrow.scheduler_fee.checked_add(escrow.settler_fee).is_some_and(|shares| shares <= escrow.fee),
            "LEASE-17: the fee of a lease is within its bound, and so are the shares of it"
        );
        ensure!(
            escrow.scheduler_ppm == 0 || lease.assigned_by.is_some(),
            "LEASE-18: the fee of a lease that its tenant opened has no share for a scheduler"
        );
        ensure!(
            escrow.storage.is_none_or(|held| matches!(state, LeaseState::Retained(until) if held.since <= *until)),
            "LEASE-19: coins are held for storage only while data is kept"
        );
        ensure!(
            lease.sla.as_ref().is_none_or(|sla| sla.since.is_some() == (*state == LeaseState::Active)),
            "LEASE-20: a lease with terms is measured exactly while it is active"
        );
        ensure!(escrow.credit == 0 || is_running, "LEASE-21: only a running segment has a credit of its own");
        ensure!(
            escrow.since.is_some() == is_running,
            "LEASE-8: a lease is billed exactly while it runs or is suspended"
        );
        ensure!(escrow.open || !state.is_live(), "LEASE-9: the escrow of a live lease is open");
        ensure!(
            started_at.is_some() || !(is_running || matches!(state, LeaseState::Retained(_))),
            "LEASE-10: a lease that runs, or whose data is kept, has started"
        );
        ensure!(
            started_at.is_none() || *state != LeaseState::Pending,
            "LEASE-10: a lease that waits for its start has not started"
        );
        ensure!(ended_at.is_none() == state.is_live(), "LEASE-11: a lease has an end exactly when it is not live");
        ensure!(
            started_at.is_none_or(|at| *created_at <= at)
                && ended_at.is_none_or(|at| started_at.unwrap_or(*created_at) <= at),
            "LEASE-12: a lease is opened, started and ended in this order"
        );
        ensure!(
            lease.resume_rate.is_some() == (*state == LeaseState::Suspended),
            "LEASE-13: a lease has a rate to return to exactly while it is suspended"
        );
        ensure!(
            lease.reclaim_at.is_none() || kind != TaskKind::Job,
            "LEASE-14: no notice is given for the lease of a job"
        );
        let must_be_on_agenda = (is_running && kind != TaskKind::Job) || matches!(state, LeaseState::Retained(_));
        ensure!(
            !must_be_on_agenda || lease.due_at.is_some_and(|at| Self::is_on_agenda(id, at)),
            "LEASE-15: a lease that time will end or purge is on the agenda"
        );
        Ok(())
    }
}
