//! The hosts that an extrinsic reads: resources that leases allocate and release, and observations for the reputation.

use alloc::{collections::btree_map::Entry, vec::Vec};

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    faults::Fault, AccountId, Balance, Conduct, HostId, HostRecord, HostStatus, Lease, LeaseId, LeaseState, Moment,
    Resources, SpecRecord, TaskSpec,
};
use pallet_gantry_leases::HostLeases;

use super::TaskChanges;
use crate::{billing, hosts, leases, reputation, Config, Error};

/// Which resources of its host a lease has allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// All resources that its task requests.
    All,
    /// The disk alone.
    Disk,
    /// No resources.
    Nothing,
}

impl Allocation {
    pub const fn in_state(state: &LeaseState) -> Self {
        match state {
            LeaseState::Pending | LeaseState::Active => Self::All,
            LeaseState::Suspended | LeaseState::Retained(_) => Self::Disk,
            LeaseState::Ended(_) | LeaseState::Purged => Self::Nothing,
        }
    }
}

/// Observations of one kind about one host, summed up.
#[derive(Clone, Copy, Default)]
struct Tally {
    count: u32,
    value: Balance,
}

/// A host that an extrinsic has read.
pub(crate) struct HostEntry {
    pub record: HostRecord,
    /// Its total downtime in milliseconds, including a present absence. Computed on first use.
    downtime_ms: Option<u64>,
    pub(super) changed: bool,
    leases: Option<HostLeases>,
    conduct: Vec<(Conduct, Tally)>,
    uptime: Option<(u64, u64, Tally)>,
}

impl HostEntry {
    pub(super) fn downtime_ms<T: Config>(&mut self) -> u64 {
        *self.downtime_ms.get_or_insert_with(|| hosts::Pallet::<T>::downtime_ms(&self.record))
    }

    /// Returns the leases that have resources of the host allocated.
    fn leases<T: Config>(&mut self, host: &HostId) -> &mut HostLeases {
        self.leases.get_or_insert_with(|| leases::Pallet::<T>::leases_of(host))
    }

    pub(super) fn observe(&mut self, conduct: Conduct, fee: Balance) {
        if fee == 0 {
            return;
        }
        let position = match self.conduct.iter().position(|(known, _)| *known == conduct) {
            Some(position) => position,
            None => {
                self.conduct.push((conduct, Tally::default()));
                self.conduct.len() - 1
            }
        };
        add(&mut self.conduct[position].1, fee);
    }

    /// Records how long the host was up and down during a lease with a fee of `fee` base units.
    pub(super) fn observe_uptime(&mut self, up_ms: u64, down_ms: u64, fee: Balance) {
        if fee == 0 {
            return;
        }
        let (up, down, tally) = self.uptime.get_or_insert_with(Default::default);
        *up = up.saturating_add(up_ms);
        *down = down.saturating_add(down_ms);
        add(tally, fee);
    }
}

fn allocate_in<T: Config>(
    record: &mut HostRecord,
    host: &HostId,
    spec_record: &SpecRecord,
    devices: &[u8],
) -> DispatchResult {
    let TaskSpec { resources, placement, .. } = &spec_record.spec;
    Ok(hosts::Pallet::<T>::allocate_in(record, host, resources, devices, placement, &spec_record.tenant)?)
}

fn add(tally: &mut Tally, value: Balance) {
    tally.count = tally.count.saturating_add(1);
    tally.value = tally.value.saturating_add(value);
}

impl<T: Config> TaskChanges<T> {
    /// Returns a host, which is read on first use. Fails with `NoSuchHost`.
    pub fn host(&mut self, host: &HostId) -> Result<&mut HostEntry, DispatchError> {
        Ok(match self.hosts.entry(host.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(HostEntry {
                record: hosts::Pallet::<T>::host(host)?,
                downtime_ms: None,
                changed: false,
                leases: None,
                conduct: Vec::new(),
                uptime: None,
            }),
        })
    }

    /// Returns the host of a lease. It exists, unless the stored state is inconsistent.
    pub(crate) fn leased_host(&mut self, host: &HostId) -> Option<&mut HostEntry> {
        if let Err(error) = self.host(host) {
            self.record_inconsistency(error);
        }
        self.hosts.get_mut(host)
    }

    /// Returns the total downtime of a host in milliseconds, including a present absence. Fails with `NoSuchHost`.
    pub fn downtime_of(&mut self, host: &HostId) -> Result<u64, DispatchError> {
        Ok(self.host(host)?.downtime_ms::<T>())
    }

    /// Whether a host is lost. Fails with `NoSuchHost`.
    pub fn is_lost(&mut self, host: &HostId) -> Result<bool, DispatchError> {
        Ok(hosts::Pallet::<T>::is_lost(&self.host(host)?.record))
    }

    /// Allocates the resources of one pod on a host, and adds the lease to the list of the host. Fails, and changes
    /// nothing, if the pod does not fit.
    pub fn allocate(&mut self, id: LeaseId, host: &HostId, spec_record: &SpecRecord, devices: &[u8]) -> DispatchResult {
        let entry = self.host(host)?;
        leases::Pallet::<T>::list_add(entry.leases::<T>(host), id)?;
        if let Err(error) = allocate_in::<T>(&mut entry.record, host, spec_record, devices) {
            leases::Pallet::<T>::list_remove(entry.leases::<T>(host), id);
            return Err(error);
        }
        entry.changed = true;
        Ok(())
    }

    /// Fails if [`Self::allocate`] would fail. Changes nothing.
    pub fn ensure_fits(
        &mut self,
        id: LeaseId,
        host: &HostId,
        spec_record: &SpecRecord,
        devices: &[u8],
    ) -> DispatchResult {
        let entry = self.host(host)?;
        leases::Pallet::<T>::list_add(&mut entry.leases::<T>(host).clone(), id)?;
        let mut record = entry.record.clone();
        allocate_in::<T>(&mut record, host, spec_record, devices)?;
        Ok(())
    }

    /// Whether a host is healthy. If it is not, schedulers may move its pods.
    pub fn is_healthy(&mut self, host: &HostId) -> Result<bool, DispatchError> {
        let poor_ppm = self.params.poor_ppm;
        let record = &self.host(host)?.record;
        let is_present = record.status == HostStatus::Online && !hosts::Pallet::<T>::is_overdue(record);
        Ok(is_present && reputation::Pallet::<T>::host_priority_ppm(host) >= poor_ppm)
    }

    /// Releases the resources of a lease on its host, and removes the lease from the list of the host.
    pub fn release(&mut self, id: LeaseId, host: &HostId, needs: &Resources, devices: &[u8]) {
        let now = self.now;
        let Some(entry) = self.leased_host(host) else { return };
        entry.changed = true;
        leases::Pallet::<T>::list_remove(entry.leases::<T>(host), id);
        if let Err(error) = hosts::Pallet::<T>::release_in(&mut entry.record, needs, devices, now) {
            self.record_inconsistency(error);
        }
    }

    /// Undoes [`Self::allocate`], including the time since which the host offers its resources.
    pub fn undo_allocation(&mut self, id: LeaseId, host: &HostId, needs: &Resources, devices: &[u8]) {
        let Some(offered_since) = self.leased_host(host).map(|entry| entry.record.offered_since) else { return };
        self.release(id, host, needs, devices);
        if let Some(entry) = self.leased_host(host) {
            entry.record.offered_since = offered_since;
        }
    }

    /// Allocates disk on a host that has just released at least as much, whatever the status of the host.
    pub fn allocate_disk(&mut self, id: LeaseId, host: &HostId, disk_gib: u32) {
        let Some(entry) = self.leased_host(host) else { return };
        let left = entry.record.free.disk_gib.checked_sub(disk_gib);
        let live = entry.record.live_leases.checked_add(1);
        let listed = leases::Pallet::<T>::list_add(entry.leases::<T>(host), id);
        match (left, live, listed) {
            (Some(left), Some(live), Ok(())) => {
                entry.record.free.disk_gib = left;
                entry.record.live_leases = live;
                entry.changed = true;
            }
            _ => self.record_inconsistency(Error::<T>::Overflow.into()),
        }
    }

    /// Changes the allocation of a lease from one state to another. Fails, and changes nothing, if the added resources
    /// are not free or the host takes no leases now.
    pub fn change_allocation(
        &mut self,
        id: LeaseId,
        lease: &Lease,
        spec_record: &SpecRecord,
        from: Allocation,
        to: Allocation,
    ) -> DispatchResult {
        let Lease { host, devices, .. } = lease;
        let needs = &spec_record.spec.resources;
        match (from, to) {
            (Allocation::All, Allocation::All)
            | (Allocation::Disk, Allocation::Disk)
            | (Allocation::Nothing, Allocation::Nothing) => {}
            (Allocation::All, Allocation::Nothing) => self.release(id, host, needs, devices),
            (Allocation::Disk, Allocation::Nothing) => self.release(id, host, &needs.disk_only(), &[]),
            (Allocation::All, Allocation::Disk) => {
                self.release(id, host, needs, devices);
                self.allocate_disk(id, host, needs.disk_gib);
            }
            (Allocation::Disk, Allocation::All) => {
                self.release(id, host, &needs.disk_only(), &[]);
                if let Err(error) = self.allocate(id, host, spec_record, devices) {
                    self.allocate_disk(id, host, needs.disk_gib);
                    return Err(error);
                }
            }
            (Allocation::Nothing, _) => return Err(Error::<T>::LeaseTransitionNotAllowed.into()),
        }
        Ok(())
    }

    /// Changes the allocation of a lease to that of its state, which needs less than before.
    pub fn shrink_allocation(&mut self, id: LeaseId, lease: &Lease, spec_record: &SpecRecord, from: Allocation) {
        if let Err(error) = self.change_allocation(id, lease, spec_record, from, Allocation::in_state(&lease.state)) {
            self.record_inconsistency(error);
        }
    }

    /// Records the conduct of a host in a lease with a fee of `fee` base units. Returns whether it counts: a lease of a
    /// tenant on its own host is no evidence.
    pub fn observe(&mut self, tenant: &AccountId, host: &HostId, conduct: Conduct, fee: Balance) -> bool {
        let stranger = self.leased_host(host).filter(|entry| entry.record.provider != *tenant);
        let counts = stranger.is_some();
        if let Some(entry) = stranger {
            entry.observe(conduct, fee);
        }
        counts
    }

    /// Slashes the bond of the host of a lease for a fault that lasted `duration_ms`.
    pub fn slash_for_fault(&mut self, host: &HostId, fault: Fault, duration_ms: u64) {
        let now = self.now;
        if let Some(entry) = self.leased_host(host) {
            hosts::Pallet::<T>::slash_for_fault(host, &mut entry.record, fault, duration_ms, now);
            entry.changed = true;
        }
    }

    /// Moves a fine from the bond of a host to the treasury. Fails with `NoSuchHost`.
    pub fn fine(&mut self, host: &HostId, amount: Balance) -> DispatchResult {
        let entry = self.host(host)?;
        hosts::Pallet::<T>::charge_bond(host, &mut entry.record, amount, &billing::Pallet::<T>::treasury());
        entry.changed = true;
        Ok(())
    }
}

/// Stores a host that was changed, and its observations.
pub(super) fn commit_host<T: Config>(host: &HostId, entry: HostEntry, now: Moment) {
    let HostEntry { record, changed, leases, conduct, uptime, .. } = entry;
    if changed {
        hosts::Pallet::<T>::store(host, &record);
        if let Some(list) = leases {
            leases::Pallet::<T>::store_list(host, &list);
        }
    }
    for (conduct, tally) in conduct {
        reputation::Pallet::<T>::observe_host(host, conduct, tally.count, tally.value, now);
    }
    if let Some((up_ms, down_ms, tally)) = uptime {
        let conduct = Conduct::Uptime { up_ms, down_ms };
        reputation::Pallet::<T>::observe_host(host, conduct, tally.count, tally.value, now);
    }
}
