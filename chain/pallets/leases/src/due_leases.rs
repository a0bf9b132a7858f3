//! Processing of the leases that are due.

use frame_support::{
    pallet_prelude::*,
    storage::with_storage_layer,
    traits::{Defensive, Time},
    weights::WeightMeter,
};
use gantry_primitives::{EndReason, HostStatus, LeaseId, LeaseState, Moment};

use crate::{
    agenda::bucket_of, billing::Ledger, Bucket, Config, CurrentParams, Error, Event, LeaseStore, Pallet, StoredLease,
    WeightInfo,
};

/// The delay in milliseconds after which a failed entry is retried.
pub(crate) const RETRY_DELAY_MS: u64 = 600_000;
/// While a host is offline, the end of its leases moves with the clock. This is the least time in milliseconds between
/// two checks of such a lease.
const OFFLINE_RECHECK_MS: u64 = 60_000;

impl<T: Config> Pallet<T> {
    /// The time of this block. Before the timestamp is set, that of the block before.
    pub fn now() -> Moment {
        T::Time::now()
    }

    /// Processes up to `most` due entries within the weight `limit`. Returns the used weight.
    pub(crate) fn run_agenda(limit: Weight, most: u32) -> Weight {
        let mut meter = WeightMeter::with_limit(limit);
        if meter.try_consume(<T as Config>::WeightInfo::agenda_base()).is_err() {
            return Weight::zero();
        }
        let now = Self::now();
        for _ in 0..most {
            let Some(bucket) = Self::due_bucket(now) else { break };
            // Including the search for the next one.
            if meter.try_consume(<T as Config>::WeightInfo::due_entry()).is_err() {
                break;
            }
            Self::process_next_entry(bucket, now);
        }
        meter.consumed()
    }

    /// Returns the number of processed entries.
    pub(crate) fn do_crank(limit: u32) -> Result<u32, DispatchError> {
        let now = Self::now();
        let mut entries: u32 = 0;
        while entries < limit {
            let Some(bucket) = Self::due_bucket(now) else { break };
            Self::process_next_entry(bucket, now);
            entries = entries.saturating_add(1);
        }
        ensure!(entries > 0, Error::<T>::NothingOnAgenda);
        Self::deposit_event(Event::Cranked { entries });
        Ok(entries)
    }

    /// Pops an entry of a due bucket and processes its lease. A failure is rolled back, and the entry is retried later.
    pub(crate) fn process_next_entry(bucket: Bucket, now: Moment) {
        let Some(id) = Self::agenda_take(bucket) else { return };
        if let Err(error) = with_storage_layer(|| Self::process_due_lease(id, bucket, now)) {
            let again_at = now.saturating_add(RETRY_DELAY_MS);
            // A lease that no longer exists needs no retry.
            if let Ok(stored) = T::LeaseStore::read(id) {
                with_storage_layer(|| Self::reschedule(id, stored, again_at))
                    .defensive_proof("a lease that was read can be stored as it was; qed")
                    .ok();
                Self::deposit_event(Event::DueFailed { lease: id, error, again_at });
            }
        }
    }

    fn process_due_lease(id: LeaseId, bucket: Bucket, now: Moment) -> DispatchResult {
        let Ok(stored) = T::LeaseStore::read(id) else { return Ok(()) };
        let is_current = stored.lease.due_at.is_some_and(|due_at| bucket_of(due_at) == bucket);
        if !is_current {
            return Ok(());
        }
        match stored.lease.state {
            LeaseState::Active | LeaseState::Suspended => Self::process_running_lease(id, stored, now),
            LeaseState::Retained(until) => {
                let purge_at = until.saturating_add(CurrentParams::<T>::get().purge_grace_ms);
                if now < purge_at {
                    return Self::reschedule(id, stored, purge_at);
                }
                let mut lease = stored.lease;
                lease.state = LeaseState::Purged;
                lease.due_at = None;
                let mut ledger = Ledger::default();
                Self::refund_storage(id, &mut lease, &stored.tenant, &mut ledger);
                T::LeaseStore::write(id, lease, ledger)?;
                Self::deposit_event(Event::PurgedWithoutReceipt { lease: id });
                Ok(())
            }
            LeaseState::Pending | LeaseState::Ended(_) | LeaseState::Purged => Ok(()),
        }
    }

    fn process_running_lease(id: LeaseId, mut stored: StoredLease, now: Moment) -> DispatchResult {
        if stored.lease.reclaim_at.is_some_and(|at| at <= now) {
            return T::LeaseStore::end(id, EndReason::Reclaimed, None);
        }
        // The host's downtime since the last check extends the lease.
        stored.lease.escrow.follow_deposit(stored.downtime_ms);
        match stored.lease.ends_at(stored.downtime_ms) {
            Some(ends_at) if ends_at > now => {
                let is_away = stored.host.status == HostStatus::Offline;
                let soonest = if is_away { now.saturating_add(OFFLINE_RECHECK_MS) } else { now };
                Self::reschedule(id, stored, ends_at.max(soonest))
            }
            _ => T::LeaseStore::end(id, EndReason::Expired, None),
        }
    }

    fn reschedule(id: LeaseId, stored: StoredLease, at: Moment) -> DispatchResult {
        let mut lease = stored.lease;
        lease.due_at = None;
        Self::schedule(id, &mut lease, at);
        T::LeaseStore::write(id, lease, Ledger::default())
    }
}
