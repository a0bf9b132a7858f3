//! What the calls of hosts do. The checks are apart from the doing, because a call that passes them is free of charge.

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    Conduct, EndReason, HostFailure, HostId, LeaseId, LeaseRecord, LeaseState, PodResult, RequeueReason, TaskState,
};

use crate::{billing, hosts, leases, reputation, Config, Error, Event, Pallet, Tasks};

impl<T: Config> Pallet<T> {
    /// The lease, if `host` may say now that its pod started.
    pub(crate) fn startable(host: &HostId, lease: LeaseId) -> Result<LeaseRecord, DispatchError> {
        let record = Self::lease_of(host, lease)?;
        ensure!(record.state == LeaseState::Pending, Error::<T>::LeaseNotPending);
        Ok(record)
    }

    /// The lease, if `host` may report the result of its pod now.
    pub(crate) fn reportable(host: &HostId, lease: LeaseId) -> Result<LeaseRecord, DispatchError> {
        let record = Self::lease_of(host, lease)?;
        ensure!(record.state == LeaseState::Active, Error::<T>::LeaseNotActive);
        Ok(record)
    }

    /// The lease, if `host` may say now that it cannot run its pod.
    pub(crate) fn failable(host: &HostId, lease: LeaseId) -> Result<LeaseRecord, DispatchError> {
        let record = Self::lease_of(host, lease)?;
        ensure!(record.state.is_live(), Error::<T>::LeaseEnded);
        Ok(record)
    }

    fn lease_of(host: &HostId, lease: LeaseId) -> Result<LeaseRecord, DispatchError> {
        let record = leases::Pallet::<T>::lease(lease)?;
        ensure!(record.host == *host, Error::<T>::NotHostOfLease);
        Ok(record)
    }

    pub(crate) fn do_report_started(host: HostId, lease: LeaseId) -> DispatchResult {
        let task = Self::startable(&host, lease)?.task;
        let mut record = Self::task(task)?;
        let now = hosts::Pallet::<T>::now();
        leases::Pallet::<T>::start(lease, now)?;
        billing::Pallet::<T>::start(lease, record.spec.max_duration_ms, now)?;
        reputation::Pallet::<T>::observe(&host, Conduct::Started, now);
        record.pods_started = record.pods_started.checked_add(1).ok_or(Error::<T>::Overflow)?;
        Self::deposit_event(Event::PodStarted { task, lease });
        if usize::from(record.pods_started) == record.leases.len() {
            Self::change_state(task, &mut record, TaskState::Running)?;
        }
        Tasks::<T>::insert(task, record);
        Ok(())
    }

    pub(crate) fn do_report_result(host: HostId, lease: LeaseId, result: PodResult) -> DispatchResult {
        let task = Self::reportable(&host, lease)?.task;
        let mut record = Self::task(task)?;
        let now = hosts::Pallet::<T>::now();
        let ended = leases::Pallet::<T>::end(lease, EndReason::Completed, Some(result), now)?;
        hosts::Pallet::<T>::release(&host, &ended.resources, &ended.devices)?;
        record.pods_reported = record.pods_reported.checked_add(1).ok_or(Error::<T>::Overflow)?;
        Self::deposit_event(Event::PodReported { task, lease, result });
        if usize::from(record.pods_reported) == record.leases.len() {
            record.reported_at = Some(now);
            Self::change_state(task, &mut record, TaskState::Reported)?;
        }
        Tasks::<T>::insert(task, record);
        Ok(())
    }

    /// Returns how many pods the attempt had.
    pub(crate) fn do_report_failed(host: HostId, lease: LeaseId, reason: HostFailure) -> Result<u32, DispatchError> {
        let record = Self::failable(&host, lease)?;
        Self::end_attempt(record.task, lease, RequeueReason::HostRefused(reason))
    }
}
