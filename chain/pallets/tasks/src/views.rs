//! Functions by which clients and other pallets read tasks.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    lease_parts, AccountId, IndexTag, Lease, LeaseId, Resources, SpecRecord, TaskId, TaskKey, TaskRecord, TaskSpec,
};

use crate::{hosts, Config, Error, Pallet, Specs, Tasks};

/// The most tasks that one view of a list returns.
pub const MAX_LISTED: u32 = 256;

impl<T: Config> Pallet<T> {
    /// Returns the record of a task. Fails with `NoSuchTask`.
    pub fn record(task: TaskId) -> Result<TaskRecord, DispatchError> {
        Tasks::<T>::get(TaskKey::from(task)).ok_or_else(|| Error::<T>::NoSuchTask.into())
    }

    /// Returns the record that a task shares with those it was submitted with. Fails with `NoSuchTask`.
    pub fn spec_record(record: &TaskRecord) -> Result<SpecRecord, DispatchError> {
        Specs::<T>::get(TaskKey::from(record.first)).ok_or_else(|| Error::<T>::NoSuchTask.into())
    }

    pub(crate) fn view_task(task: TaskId) -> Option<(TaskRecord, TaskSpec)> {
        let record = Self::record(task).ok()?;
        let spec = Self::spec_record(&record).ok()?.spec;
        Some((record, spec))
    }

    pub(crate) fn view_list(tag: IndexTag, from_task: TaskId, limit: u32) -> Vec<TaskId> {
        Self::listed_from(tag, from_task, limit.min(MAX_LISTED) as usize)
    }

    pub(crate) fn view_lease(lease: LeaseId) -> Option<(Lease, Resources, AccountId)> {
        let (task, pod, generation) = lease_parts(lease);
        let (record, spec) = Self::view_task(task)?;
        let found = record.leases.into_iter().find(|known| known.pod == pod && known.generation == generation)?;
        let provider = hosts::Pallet::<T>::provider_of(&found.host).ok()?;
        Some((found, spec.resources, provider))
    }
}
