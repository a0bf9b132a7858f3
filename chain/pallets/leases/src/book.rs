//! Opening, starting and ending leases.

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    transitions::{allows, LEASE_TRANSITIONS},
    AccountId, Balance, DeviceIndices, EndReason, HostId, LeaseId, LeaseRecord, LeaseState, Moment, PodResult,
    Resources, TaskId,
};

use crate::{ByHost, Config, Error, Event, Leases, NextLeaseId, Pallet};

/// A lease to be opened; the fields mean what they mean in [`LeaseRecord`].
pub struct Draft {
    /// The task it is for.
    pub task: TaskId,
    /// Which pod of the task.
    pub pod: u16,
    /// Which attempt of the task.
    pub attempt: u8,
    /// The host that runs the pod.
    pub host: HostId,
    /// Who owns the host.
    pub provider: AccountId,
    /// Who pays.
    pub tenant: AccountId,
    /// Which devices of the host.
    pub devices: DeviceIndices,
    /// What it holds of the host.
    pub resources: Resources,
    /// What it costs, in base units an hour.
    pub rate_per_hour: Balance,
}

impl<T: Config> Pallet<T> {
    /// The record of a lease, or `NoSuchLease`.
    pub fn lease(lease: LeaseId) -> Result<LeaseRecord, DispatchError> {
        Leases::<T>::get(lease).ok_or_else(|| Error::<T>::NoSuchLease.into())
    }

    /// Opens a lease, `Pending`. Its resources must have been taken from the host in the same call.
    pub fn open(draft: Draft, now: Moment) -> Result<LeaseId, DispatchError> {
        let lease = NextLeaseId::<T>::get();
        NextLeaseId::<T>::put(lease.checked_add(1).ok_or(Error::<T>::Overflow)?);
        let Draft { task, pod, attempt, host, provider, tenant, devices, resources, rate_per_hour } = draft;
        ByHost::<T>::insert(&host, lease, ());
        Self::deposit_event(Event::Opened { lease, task, host: host.clone() });
        let record = LeaseRecord {
            task,
            pod,
            attempt,
            host,
            provider,
            tenant,
            devices,
            resources,
            rate_per_hour,
            state: LeaseState::Pending,
            created_at: now,
            started_at: None,
            ended_at: None,
            result: None,
        };
        Leases::<T>::insert(lease, record);
        Ok(lease)
    }

    /// The pod of a lease started: `Pending → Active`.
    pub fn start(lease: LeaseId, now: Moment) -> DispatchResult {
        let mut record = Self::lease(lease)?;
        Self::change_state(&mut record, LeaseState::Active)?;
        record.started_at = Some(now);
        Leases::<T>::insert(lease, record);
        Self::deposit_event(Event::Started { lease });
        Ok(())
    }

    /// A lease ended: `Pending | Active | Suspended → Ended`. Returns its record; its resources must be given back to
    /// the host in the same call.
    pub fn end(
        lease: LeaseId,
        reason: EndReason,
        result: Option<PodResult>,
        now: Moment,
    ) -> Result<LeaseRecord, DispatchError> {
        let mut record = Self::lease(lease)?;
        Self::change_state(&mut record, LeaseState::Ended(reason))?;
        record.ended_at = Some(now);
        record.result = result;
        ByHost::<T>::remove(&record.host, lease);
        Leases::<T>::insert(lease, &record);
        Self::deposit_event(Event::Ended { lease, reason });
        Ok(record)
    }

    /// The one way in which a lease changes its state; the caller stores the record.
    fn change_state(record: &mut LeaseRecord, to: LeaseState) -> DispatchResult {
        ensure!(allows(LEASE_TRANSITIONS, record.state.tag(), to.tag()), Error::<T>::TransitionNotAllowed);
        record.state = to;
        Ok(())
    }
}
