//! What hosts say about their leases.

use frame_support::pallet_prelude::*;
use frame_system::{ensure_signed, pallet_prelude::OriginFor};
use gantry_primitives::{
    faults::Fault, lease_parts, Digest, HostFailure, HostId, LeaseId, LeaseState, PodResult, Report, RequeueReason,
    TaskKey, TaskKind, TaskRecord,
};

use crate::{
    desk::{Case, Desk, Hold},
    endings, hosts, leases,
    surviving::check_checkpoint,
    Config, CurrentParams, Error, Event, Pallet, Specs, WeightInfo,
};

/// What a report about a lease of a task with `pods` leases may cost.
pub(crate) fn report_weight<T: Config>(report: &Report, pods: u32) -> Weight {
    match report {
        Report::Started => <T as Config>::WeightInfo::report_started(),
        Report::Result(_) => <T as Config>::WeightInfo::report_result(),
        Report::Checkpoint { .. } => <T as Config>::WeightInfo::report_checkpoint(),
        Report::Failed(_) | Report::Purged { .. } | Report::DataLost => endings::refusal_weight::<T>(pods),
    }
}

impl<T: Config> Pallet<T> {
    /// Whether `host` may say this of a lease now; what makes its call free of charge.
    pub(crate) fn check_report(host: &HostId, lease: LeaseId, report: &Report) -> DispatchResult {
        let (task, pod, generation) = lease_parts(lease);
        let record = Self::record(task)?;
        let found = record.leases.iter().position(|known| known.pod == pod && known.generation == generation);
        let place = found.ok_or(Error::<T>::NoSuchLease)?;
        check_of::<T>(&record, place, host, report)?;
        if matches!(report, Report::Result(_) | Report::Checkpoint { .. }) {
            let shared = Specs::<T>::get(TaskKey::from(record.first)).ok_or(Error::<T>::NoSuchTask)?;
            ensure!(!shared.spec.is_redundant(), Error::<T>::ResultsAreCompared);
        }
        Ok(())
    }

    /// Whether a report costs its host no fee: it is valid.
    pub(crate) fn report_is_free(origin: &OriginFor<T>, lease: LeaseId, report: &Report) -> bool {
        ensure_signed(origin.clone()).is_ok_and(|host| Self::check_report(&host, lease, report).is_ok())
    }

    /// Whether a batch of `len` reports of `host` is free of charge: it is not longer than the list of its leases, and
    /// its bond covers the fines for all of them.
    pub(crate) fn batch_is_free(host: &HostId, len: u32) -> bool {
        let Ok(record) = hosts::Pallet::<T>::host(host) else { return false };
        let fines = CurrentParams::<T>::get().refused_item_fine.saturating_mul(len.into());
        len > 0 && len <= record.live_leases && record.bond >= fines
    }

    pub(crate) fn do_report(host: HostId, lease: LeaseId, report: Report) -> Result<u32, DispatchError> {
        let mut desk = Desk::<T>::new();
        let pods = desk.report(&host, lease, report)?;
        desk.commit()?;
        Ok(pods)
    }
}

/// Whether `host` may say this of a lease of a task, for all that its record tells.
fn check_of<T: Config>(record: &TaskRecord, place: usize, host: &HostId, report: &Report) -> DispatchResult {
    let lease = &record.leases[place];
    ensure!(lease.host == *host, Error::<T>::NotHostOfLease);
    match report {
        Report::Started => ensure!(lease.state == LeaseState::Pending, Error::<T>::LeaseNotPending),
        Report::Result(_) => ensure!(lease.state == LeaseState::Active, Error::<T>::LeaseNotActive),
        Report::Failed(_) => ensure!(lease.state.is_live(), Error::<T>::LeaseEnded),
        Report::Purged { .. } => match lease.state {
            LeaseState::Retained(until) => {
                ensure!(hosts::Pallet::<T>::now() >= until, Error::<T>::DataStillKept);
            }
            _ => return Err(Error::<T>::DataNotRetained.into()),
        },
        Report::DataLost => {
            ensure!(matches!(lease.state, LeaseState::Retained(_)), Error::<T>::DataNotRetained);
        }
        Report::Checkpoint { .. } => check_checkpoint::<T>(record, place)?,
    }
    Ok(())
}

impl<T: Config> Desk<T> {
    /// Takes down what a host says. Returns how many leases the task had.
    pub fn report(&mut self, host: &HostId, lease: LeaseId, report: Report) -> Result<u32, DispatchError> {
        let (case, place) = self.open_lease(lease)?;
        check_of::<T>(&case.record, place, host, &report)?;
        let pods = case.record.leases.len() as u32;
        // The other pods of the task, and the host of the standby.
        let others = if matches!(report, Report::Failed(_)) { pods } else { 0 };
        self.touch(1, others)?;
        match report {
            Report::Started => self.started(case, place)?,
            Report::Result(result) => {
                ensure!(!case.spec().is_redundant(), Error::<T>::ResultsAreCompared);
                self.reported(case, place, result);
            }
            Report::Failed(reason) => self.refused(case, place, reason),
            Report::Purged { receipt } => self.purged(case, place, receipt),
            Report::DataLost => self.data_lost(case, place),
            Report::Checkpoint { digest, bytes } => self.checkpoint(case, place, digest, bytes)?,
        }
        Ok(pods)
    }

    fn started(&mut self, mut case: Case, place: usize) -> DispatchResult {
        let (now, lease) = (self.now, case.id(place));
        let away = self.downtime_of(&case.record.leases[place].host)?;
        let until = now.saturating_add(case.spec().max_duration_ms);
        let kind = case.spec().kind;
        let of = &mut case.record.leases[place];
        of.start(now, away, Some(until));
        let depletes_at = of.ends_at(away).unwrap_or(until);
        if kind != TaskKind::Job {
            leases::Pallet::<T>::schedule(lease, of, depletes_at);
            case.record.attempts = Default::default();
        }
        self.follow(&mut case);
        let (task, state) = (case.task, case.record.state);
        self.put(case);
        Pallet::<T>::deposit_event(Event::PodStarted { task, lease, depletes_at, state });
        Ok(())
    }

    /// An active lease ends with a result.
    pub fn reported(&mut self, mut case: Case, place: usize, result: PodResult) {
        let lease = case.id(place);
        self.complete(&mut case, place, result);
        self.follow(&mut case);
        let (task, state) = (case.task, case.record.state);
        self.put(case);
        Pallet::<T>::deposit_event(Event::PodReported { task, lease, result, state });
    }

    fn refused(&mut self, case: Case, place: usize, reason: HostFailure) {
        self.lose(case, place, RequeueReason::HostRefused(reason));
    }

    fn purged(&mut self, mut case: Case, place: usize, receipt: Digest) {
        let (task, lease) = (case.task, case.id(place));
        self.end_storage(&mut case, place);
        self.drop_data(&mut case, place);
        self.put(case);
        Pallet::<T>::deposit_event(Event::Purged { task, lease, receipt });
    }

    fn data_lost(&mut self, mut case: Case, place: usize) {
        let (task, lease) = (case.task, case.id(place));
        let host = case.record.leases[place].host.clone();
        let LeaseState::Retained(until) = case.record.leases[place].state else { return };
        let TaskRecord { leases, tenant, .. } = &mut case.record;
        leases::Pallet::<T>::refund_storage(lease, &mut leases[place], tenant, &mut self.ledger);
        self.drop_data(&mut case, place);
        self.punish(&host, Fault::DataLost, until.saturating_sub(self.now));
        self.put(case);
        Pallet::<T>::deposit_event(Event::DataLost { task, lease });
    }

    /// Pays for the time for which the data of a lease was kept, up to now; the rest of what is held for it goes back.
    pub fn end_storage(&mut self, case: &mut Case, place: usize) {
        let (id, now) = (case.id(place), self.now);
        let TaskRecord { leases, tenant, .. } = &mut case.record;
        let of = &mut leases[place];
        if of.escrow.storage.is_none() {
            return;
        }
        let Some(provider) = self.host_of(&of.host).map(|entry| entry.record.provider.clone()) else { return };
        leases::Pallet::<T>::end_storage(id, of, tenant, &provider, &mut self.ledger, now);
    }

    fn drop_data(&mut self, case: &mut Case, place: usize) {
        let id = case.id(place);
        let Case { record, shared, .. } = case;
        let lease = &mut record.leases[place];
        let from = Hold::of(&lease.state);
        lease.state = LeaseState::Purged;
        self.shift_hold(id, lease, shared, from);
    }
}
