//! Reports of hosts about their leases.

use frame_support::pallet_prelude::*;
use frame_system::{ensure_signed, pallet_prelude::OriginFor};
use gantry_primitives::{
    faults::Fault, lease_parts, Digest, HostFailure, HostId, LeaseId, LeaseState, PodResult, Report, RequeueReason,
    TaskKey, TaskKind, TaskRecord,
};

use crate::{
    changes::{Allocation, LoadedTask, TaskChanges},
    hosts, leases,
    migration::check_checkpoint,
    termination, Config, CurrentParams, Error, Event, Pallet, Specs, WeightInfo,
};

/// Returns the maximum weight of a report about a lease of a task with `pods` leases.
pub(crate) fn report_weight<T: Config>(report: &Report, pods: u32) -> Weight {
    match report {
        Report::Started => <T as Config>::WeightInfo::report_started(),
        Report::Result(_) => <T as Config>::WeightInfo::report_result(),
        Report::Checkpoint { .. } => <T as Config>::WeightInfo::report_checkpoint(),
        Report::Failed(_) | Report::Purged { .. } | Report::DataLost => termination::refusal_weight::<T>(pods),
    }
}

impl<T: Config> Pallet<T> {
    /// Checks whether `host` may report this about a lease now. A report that passes is free of charge.
    pub(crate) fn check_report(host: &HostId, lease: LeaseId, report: &Report) -> DispatchResult {
        let (task, pod, generation) = lease_parts(lease);
        let record = Self::record(task)?;
        let found = record.leases.iter().position(|known| known.pod == pod && known.generation == generation);
        let position = found.ok_or(Error::<T>::NoSuchLease)?;
        check_lease_report::<T>(&record, position, host, report)?;
        if matches!(report, Report::Result(_) | Report::Checkpoint { .. }) {
            let spec_record = Specs::<T>::get(TaskKey::from(record.first)).ok_or(Error::<T>::NoSuchTask)?;
            ensure!(!spec_record.spec.is_redundant(), Error::<T>::ResultsAreCompared);
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
        let mut changes = TaskChanges::<T>::new();
        let pods = changes.report(&host, lease, report)?;
        changes.commit()?;
        Ok(pods)
    }
}

/// Checks a report as far as the record of the task is concerned.
fn check_lease_report<T: Config>(
    record: &TaskRecord,
    position: usize,
    host: &HostId,
    report: &Report,
) -> DispatchResult {
    let lease = &record.leases[position];
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
        Report::Checkpoint { .. } => check_checkpoint::<T>(record, position)?,
    }
    Ok(())
}

impl<T: Config> TaskChanges<T> {
    /// Applies the report of a host. Returns the number of leases that the task had.
    pub fn report(&mut self, host: &HostId, lease: LeaseId, report: Report) -> Result<u32, DispatchError> {
        let (loaded, position) = self.load_lease(lease)?;
        check_lease_report::<T>(&loaded.record, position, host, &report)?;
        let pods = loaded.record.leases.len() as u32;
        // The other pods of the task, and the host of the standby.
        let others = if matches!(report, Report::Failed(_)) { pods } else { 0 };
        self.count_leases(1, others)?;
        match report {
            Report::Started => self.start_pod(loaded, position)?,
            Report::Result(result) => {
                ensure!(!loaded.spec().is_redundant(), Error::<T>::ResultsAreCompared);
                self.end_with_result(loaded, position, result);
            }
            Report::Failed(reason) => self.fail_refused_pod(loaded, position, reason),
            Report::Purged { receipt } => self.purge_data(loaded, position, receipt),
            Report::DataLost => self.slash_for_lost_data(loaded, position),
            Report::Checkpoint { digest, bytes } => self.checkpoint(loaded, position, digest, bytes)?,
        }
        Ok(pods)
    }

    fn start_pod(&mut self, mut loaded: LoadedTask, position: usize) -> DispatchResult {
        let (now, lease) = (self.now, loaded.lease_id_at(position));
        let downtime_ms = self.downtime_of(&loaded.record.leases[position].host)?;
        let until = now.saturating_add(loaded.spec().max_duration_ms);
        let kind = loaded.spec().kind;
        let waited_ms = self.elapsed_ms(loaded.record.leases[position].created_at);
        let lease_record = &mut loaded.record.leases[position];
        lease_record.start(now, downtime_ms, Some(until));
        if let Some(sla) = &mut lease_record.sla {
            sla.start(now, downtime_ms, waited_ms);
        }
        let depletes_at = lease_record.ends_at(downtime_ms).unwrap_or(until);
        if kind != TaskKind::Job {
            leases::Pallet::<T>::schedule(lease, lease_record, depletes_at);
            loaded.record.attempts = Default::default();
        }
        self.update_state(&mut loaded);
        let (task, state) = (loaded.task, loaded.record.state);
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::PodStarted { task, lease, depletes_at, state });
        Ok(())
    }

    /// An active lease ends with a result.
    pub fn end_with_result(&mut self, mut loaded: LoadedTask, position: usize, result: PodResult) {
        let lease = loaded.lease_id_at(position);
        self.complete(&mut loaded, position, result);
        self.update_state(&mut loaded);
        let (task, state) = (loaded.task, loaded.record.state);
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::PodReported { task, lease, result, state });
    }

    fn fail_refused_pod(&mut self, loaded: LoadedTask, position: usize, reason: HostFailure) {
        self.fail_pod(loaded, position, RequeueReason::HostRefused(reason));
    }

    fn purge_data(&mut self, mut loaded: LoadedTask, position: usize, receipt: Digest) {
        let (task, lease) = (loaded.task, loaded.lease_id_at(position));
        self.end_storage(&mut loaded, position);
        self.mark_purged(&mut loaded, position);
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::Purged { task, lease, receipt });
    }

    fn slash_for_lost_data(&mut self, mut loaded: LoadedTask, position: usize) {
        let (task, lease) = (loaded.task, loaded.lease_id_at(position));
        let host = loaded.record.leases[position].host.clone();
        let LeaseState::Retained(until) = loaded.record.leases[position].state else { return };
        let TaskRecord { leases, tenant, .. } = &mut loaded.record;
        leases::Pallet::<T>::refund_storage(lease, &mut leases[position], tenant, &mut self.ledger);
        self.mark_purged(&mut loaded, position);
        self.slash_for_fault(&host, Fault::DataLost, until.saturating_sub(self.now));
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::DataLost { task, lease });
    }

    /// Pays for the time for which the data of a lease was retained, up to now, and releases the rest of the storage
    /// deposit.
    pub fn end_storage(&mut self, loaded: &mut LoadedTask, position: usize) {
        let (id, now) = (loaded.lease_id_at(position), self.now);
        let TaskRecord { leases, tenant, .. } = &mut loaded.record;
        let lease_record = &mut leases[position];
        if lease_record.escrow.storage.is_none() {
            return;
        }
        let Some(provider) = self.leased_host(&lease_record.host).map(|entry| entry.record.provider.clone()) else {
            return;
        };
        leases::Pallet::<T>::end_storage(id, lease_record, tenant, &provider, &mut self.ledger, now);
    }

    fn mark_purged(&mut self, loaded: &mut LoadedTask, position: usize) {
        let id = loaded.lease_id_at(position);
        let LoadedTask { record, spec_record, .. } = loaded;
        let lease = &mut record.leases[position];
        let from = Allocation::in_state(&lease.state);
        lease.state = LeaseState::Purged;
        self.shrink_allocation(id, lease, spec_record, from);
    }
}
