//! What is done for a lease when its time on the agenda has come.

use frame_support::{
    pallet_prelude::*,
    storage::with_storage_layer,
    traits::{Defensive, Time},
    weights::WeightMeter,
};
use gantry_primitives::{EndReason, HostStatus, LeaseId, LeaseState, Moment};

use crate::{
    agenda::bucket_of, billing::Ledger, Bucket, Config, CurrentParams, Error, Event, Keeper, Kept, Pallet, WeightInfo,
};

/// What was refused is tried again after so long.
pub(crate) const AGAIN_AFTER_MS: u64 = 600_000;
/// While a host is away the end of its leases moves with the clock; they are looked at no more often than this.
const WHILE_AWAY_MS: u64 = 60_000;

impl<T: Config> Pallet<T> {
    /// The time of this block; at its very beginning, that of the block before.
    pub fn now() -> Moment {
        T::Time::now()
    }

    /// Looks at up to `most` due entries within `limit`. Returns what it cost.
    pub(crate) fn run_agenda(limit: Weight, most: u32) -> Weight {
        let mut meter = WeightMeter::with_limit(limit);
        if meter.try_consume(<T as Config>::WeightInfo::agenda_base()).is_err() {
            return Weight::zero();
        }
        let now = Self::now();
        for _ in 0..most {
            let Some(bucket) = Self::due_bucket(now) else { break };
            // With the search for the next one.
            if meter.try_consume(<T as Config>::WeightInfo::due_entry()).is_err() {
                break;
            }
            Self::look_at_next(bucket, now);
        }
        meter.consumed()
    }

    /// Returns how many entries were looked at.
    pub(crate) fn do_crank(limit: u32) -> Result<u32, DispatchError> {
        let now = Self::now();
        let mut entries: u32 = 0;
        while entries < limit {
            let Some(bucket) = Self::due_bucket(now) else { break };
            Self::look_at_next(bucket, now);
            entries = entries.saturating_add(1);
        }
        ensure!(entries > 0, Error::<T>::NothingOnAgenda);
        Self::deposit_event(Event::Cranked { entries });
        Ok(entries)
    }

    /// Takes an entry off a due bucket and does what is to be done for its lease. Where that is refused nothing of it
    /// remains, and it is tried again later.
    pub(crate) fn look_at_next(bucket: Bucket, now: Moment) {
        let Some(id) = Self::agenda_take(bucket) else { return };
        if let Err(error) = with_storage_layer(|| Self::look_at(id, bucket, now)) {
            let again_at = now.saturating_add(AGAIN_AFTER_MS);
            // A lease that is no more needs nothing.
            if let Ok(kept) = T::Keeper::read(id) {
                with_storage_layer(|| Self::look_again(id, kept, again_at))
                    .defensive_proof("a lease that was read can be stored as it was; qed")
                    .ok();
                Self::deposit_event(Event::DueFailed { lease: id, error, again_at });
            }
        }
    }

    fn look_at(id: LeaseId, bucket: Bucket, now: Moment) -> DispatchResult {
        let Ok(kept) = T::Keeper::read(id) else { return Ok(()) };
        let is_current = kept.lease.due_at.is_some_and(|due_at| bucket_of(due_at) == bucket);
        if !is_current {
            return Ok(());
        }
        match kept.lease.state {
            LeaseState::Active | LeaseState::Suspended => Self::look_at_running(id, kept, now),
            LeaseState::Retained(until) => {
                let purge_at = until.saturating_add(CurrentParams::<T>::get().purge_grace_ms);
                if now < purge_at {
                    return Self::look_again(id, kept, purge_at);
                }
                let mut lease = kept.lease;
                lease.state = LeaseState::Purged;
                lease.due_at = None;
                let mut ledger = Ledger::default();
                Self::refund_storage(id, &mut lease, &kept.tenant, &mut ledger);
                T::Keeper::write(id, lease, ledger)?;
                Self::deposit_event(Event::PurgedWithoutReceipt { lease: id });
                Ok(())
            }
            LeaseState::Pending | LeaseState::Ended(_) | LeaseState::Purged => Ok(()),
        }
    }

    fn look_at_running(id: LeaseId, mut kept: Kept, now: Moment) -> DispatchResult {
        if kept.lease.reclaim_at.is_some_and(|at| at <= now) {
            return T::Keeper::end(id, EndReason::Reclaimed, None);
        }
        // The host's downtime since the last look gives the tenant that much more time.
        kept.lease.escrow.follow_deposit(kept.downtime_ms);
        match kept.lease.ends_at(kept.downtime_ms) {
            Some(ends_at) if ends_at > now => {
                let is_away = kept.host.status == HostStatus::Offline;
                let soonest = if is_away { now.saturating_add(WHILE_AWAY_MS) } else { now };
                Self::look_again(id, kept, ends_at.max(soonest))
            }
            _ => T::Keeper::end(id, EndReason::Expired, None),
        }
    }

    fn look_again(id: LeaseId, kept: Kept, at: Moment) -> DispatchResult {
        let mut lease = kept.lease;
        lease.due_at = None;
        Self::schedule(id, &mut lease, at);
        T::Keeper::write(id, lease, Ledger::default())
    }
}
