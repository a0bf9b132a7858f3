//! Resources of hosts that another pallet has reserved for pods without a lease, and tasks that are opened on them at an
//! agreed rate.

use alloc::{vec, vec::Vec};

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    lease_id, AccountId, Balance, DeviceIndices, HostId, LeaseId, Manifest, PodPlacement, Resources, TaskSpec,
};

use crate::{assignment::Assigner, changes::TaskChanges, Config, Error, Pallet};

/// Resources of a host that are reserved for a pod without a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The host.
    pub host: HostId,
    /// The account for whose pod they are reserved.
    pub tenant: AccountId,
    /// The resources.
    pub resources: Resources,
    /// The devices of the host, by their indices.
    pub devices: DeviceIndices,
}

/// All reservations. The invariants of hosts count them like leases.
pub trait Reservations {
    /// Returns every reservation. Reads all of them: for checks of the state only.
    fn all() -> Vec<Reservation>;
}

impl Reservations for () {
    fn all() -> Vec<Reservation> {
        Vec::new()
    }
}

impl<T: Config> Pallet<T> {
    /// Submits a task of one pod in the name of `tenant` and opens its lease on exactly these devices of `host`, at exactly
    /// `rate_per_hour` base units per hour, whatever the ask of the host says. Returns the lease.
    ///
    /// Fails like `submit` and `assign`. The caller executes it in a storage transaction.
    pub fn submit_at_rate(
        tenant: &AccountId,
        spec: TaskSpec,
        manifest: Manifest,
        host: HostId,
        devices: DeviceIndices,
        rate_per_hour: Balance,
    ) -> Result<LeaseId, DispatchError> {
        ensure!((spec.pods_min, spec.pods_max) == (1, 1), Error::<T>::WrongPodCount);
        ensure!(rate_per_hour <= spec.max_rate_per_hour, Error::<T>::RateTooHigh);
        let task = Self::do_submit(tenant.clone(), spec, manifest, 1)?;
        let pods = BoundedVec::truncate_from(vec![PodPlacement { pod: 0, host, devices, rate_per_hour }]);
        let mut changes = TaskChanges::<T>::new();
        changes.assign(&Assigner::Agreement(tenant), task, pods)?;
        changes.commit()?;
        // The first lease of a task has pod 0 and generation 0.
        Ok(lease_id(task, 0, 0))
    }
}
