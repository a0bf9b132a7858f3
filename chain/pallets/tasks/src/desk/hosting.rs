//! The hosts that an extrinsic is about: what leases take from them and give back, and what is held for or against them.

use alloc::{collections::btree_map::Entry, vec::Vec};

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    faults::Fault, AccountId, Balance, Conduct, HostId, HostRecord, HostStatus, Lease, LeaseId, LeaseState, Moment,
    Resources, SpecRecord, TaskSpec,
};
use pallet_gantry_leases::HostLeases;

use super::Desk;
use crate::{billing, hosts, leases, reputation, Config, Error};

/// What a lease holds of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Everything that its task asked for.
    All,
    /// The disk alone.
    Disk,
    /// Nothing.
    Nothing,
}

impl Hold {
    pub const fn of(state: &LeaseState) -> Self {
        match state {
            LeaseState::Pending | LeaseState::Active => Self::All,
            LeaseState::Suspended | LeaseState::Retained(_) => Self::Disk,
            LeaseState::Ended(_) | LeaseState::Purged => Self::Nothing,
        }
    }
}

/// Observations of one kind about one host.
#[derive(Clone, Copy, Default)]
struct Tally {
    count: u32,
    value: Balance,
}

/// A host that an extrinsic is about.
pub(crate) struct HostEntry {
    pub record: HostRecord,
    /// How long it was away so far, in milliseconds, an absence that goes on included; known once asked for.
    away: Option<u64>,
    changed: bool,
    leases: Option<HostLeases>,
    conduct: Vec<(Conduct, Tally)>,
    uptime: Option<(u64, u64, Tally)>,
}

impl HostEntry {
    pub(super) fn away<T: Config>(&mut self) -> u64 {
        *self.away.get_or_insert_with(|| hosts::Pallet::<T>::downtime_ms(&self.record))
    }

    /// The leases that hold something of it.
    fn leases<T: Config>(&mut self, host: &HostId) -> &mut HostLeases {
        self.leases.get_or_insert_with(|| leases::Pallet::<T>::leases_of(host))
    }

    pub(super) fn observe(&mut self, conduct: Conduct, fee: Balance) {
        if fee == 0 {
            return;
        }
        let place = match self.conduct.iter().position(|(known, _)| *known == conduct) {
            Some(place) => place,
            None => {
                self.conduct.push((conduct, Tally::default()));
                self.conduct.len() - 1
            }
        };
        add(&mut self.conduct[place].1, fee);
    }

    /// Notes for how long it was there and away during a lease with a fee of `fee` base units.
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

fn reserve<T: Config>(record: &mut HostRecord, host: &HostId, of: &SpecRecord, devices: &[u8]) -> DispatchResult {
    let TaskSpec { resources, placement, .. } = &of.spec;
    Ok(hosts::Pallet::<T>::reserve_in(record, host, resources, devices, placement, &of.tenant)?)
}

fn add(tally: &mut Tally, value: Balance) {
    tally.count = tally.count.saturating_add(1);
    tally.value = tally.value.saturating_add(value);
}

impl<T: Config> Desk<T> {
    /// A host. Fails with `NoSuchHost`.
    pub fn host(&mut self, host: &HostId) -> Result<&mut HostEntry, DispatchError> {
        Ok(match self.hosts.entry(host.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(HostEntry {
                record: hosts::Pallet::<T>::host(host)?,
                away: None,
                changed: false,
                leases: None,
                conduct: Vec::new(),
                uptime: None,
            }),
        })
    }

    /// The host of a lease, which the books say exists.
    pub(crate) fn host_of(&mut self, host: &HostId) -> Option<&mut HostEntry> {
        if let Err(error) = self.host(host) {
            self.fail(error);
        }
        self.hosts.get_mut(host)
    }

    /// How long a host was away so far, in milliseconds, an absence that goes on included. Fails with `NoSuchHost`.
    pub fn downtime_of(&mut self, host: &HostId) -> Result<u64, DispatchError> {
        Ok(self.host(host)?.away::<T>())
    }

    /// Whether a host is lost. Fails with `NoSuchHost`.
    pub fn is_lost(&mut self, host: &HostId) -> Result<bool, DispatchError> {
        Ok(hosts::Pallet::<T>::is_lost(&self.host(host)?.record))
    }

    /// Takes what a pod of such a task needs from a host, and lists the lease there. Fails where it does not fit, and changes nothing.
    pub fn take(&mut self, id: LeaseId, host: &HostId, of: &SpecRecord, devices: &[u8]) -> DispatchResult {
        let entry = self.host(host)?;
        leases::Pallet::<T>::list_add(entry.leases::<T>(host), id)?;
        if let Err(error) = reserve::<T>(&mut entry.record, host, of, devices) {
            leases::Pallet::<T>::list_remove(entry.leases::<T>(host), id);
            return Err(error);
        }
        entry.changed = true;
        Ok(())
    }

    /// Fails where [`Self::take`] would, and takes nothing.
    pub fn ensure_fits(&mut self, id: LeaseId, host: &HostId, of: &SpecRecord, devices: &[u8]) -> DispatchResult {
        let entry = self.host(host)?;
        leases::Pallet::<T>::list_add(&mut entry.leases::<T>(host).clone(), id)?;
        let mut record = entry.record.clone();
        reserve::<T>(&mut record, host, of, devices)?;
        Ok(())
    }

    /// Whether nothing speaks against a host by which schedulers may move what runs there.
    pub fn is_in_order(&mut self, host: &HostId) -> Result<bool, DispatchError> {
        let poor_ppm = self.params.poor_ppm;
        let record = &self.host(host)?.record;
        let is_there = record.status == HostStatus::Online && !hosts::Pallet::<T>::is_overdue(record);
        Ok(is_there && reputation::Pallet::<T>::host_priority_ppm(host) >= poor_ppm)
    }

    /// Gives a host back what a lease holds of it, and takes the lease off its list.
    pub fn give_back(&mut self, id: LeaseId, host: &HostId, needs: &Resources, devices: &[u8]) {
        let now = self.now;
        let Some(entry) = self.host_of(host) else { return };
        entry.changed = true;
        leases::Pallet::<T>::list_remove(entry.leases::<T>(host), id);
        if let Err(error) = hosts::Pallet::<T>::release_in(&mut entry.record, needs, devices, now) {
            self.fail(error);
        }
    }

    /// Undoes [`Self::take`]: what the host offers is as if nothing had been taken.
    pub fn untake(&mut self, id: LeaseId, host: &HostId, needs: &Resources, devices: &[u8]) {
        let Some(offered_since) = self.host_of(host).map(|entry| entry.record.offered_since) else { return };
        self.give_back(id, host, needs, devices);
        if let Some(entry) = self.host_of(host) {
            entry.record.offered_since = offered_since;
        }
    }

    /// Takes disk from a host that has just been given at least as much, whatever its status.
    pub fn keep_disk(&mut self, id: LeaseId, host: &HostId, disk_gib: u32) {
        let Some(entry) = self.host_of(host) else { return };
        let left = entry.record.free.disk_gib.checked_sub(disk_gib);
        let live = entry.record.live_leases.checked_add(1);
        let listed = leases::Pallet::<T>::list_add(entry.leases::<T>(host), id);
        match (left, live, listed) {
            (Some(left), Some(live), Ok(())) => {
                entry.record.free.disk_gib = left;
                entry.record.live_leases = live;
                entry.changed = true;
            }
            _ => self.fail(Error::<T>::Overflow.into()),
        }
    }

    /// Makes a lease hold of its host what it holds in another state. Fails, and changes nothing, where what it is to
    /// hold anew is not free, or the host takes nothing now.
    pub fn change_hold(&mut self, id: LeaseId, lease: &Lease, of: &SpecRecord, from: Hold, to: Hold) -> DispatchResult {
        let Lease { host, devices, .. } = lease;
        let needs = &of.spec.resources;
        match (from, to) {
            (Hold::All, Hold::All) | (Hold::Disk, Hold::Disk) | (Hold::Nothing, Hold::Nothing) => {}
            (Hold::All, Hold::Nothing) => self.give_back(id, host, needs, devices),
            (Hold::Disk, Hold::Nothing) => self.give_back(id, host, &needs.disk_only(), &[]),
            (Hold::All, Hold::Disk) => {
                self.give_back(id, host, needs, devices);
                self.keep_disk(id, host, needs.disk_gib);
            }
            (Hold::Disk, Hold::All) => {
                self.give_back(id, host, &needs.disk_only(), &[]);
                if let Err(error) = self.take(id, host, of, devices) {
                    self.keep_disk(id, host, needs.disk_gib);
                    return Err(error);
                }
            }
            (Hold::Nothing, _) => return Err(Error::<T>::LeaseTransitionNotAllowed.into()),
        }
        Ok(())
    }

    /// Makes a lease hold of its host what its state says, which is less than before.
    pub fn shift_hold(&mut self, id: LeaseId, lease: &Lease, of: &SpecRecord, from: Hold) {
        if let Err(error) = self.change_hold(id, lease, of, from, Hold::of(&lease.state)) {
            self.fail(error);
        }
    }

    /// Notes what a host did in a lease worth `value` base units, and returns whether it counts: a tenant on its own
    /// host proves nothing.
    pub fn observe(&mut self, tenant: &AccountId, host: &HostId, conduct: Conduct, fee: Balance) -> bool {
        let stranger = self.host_of(host).filter(|entry| entry.record.provider != *tenant);
        let counts = stranger.is_some();
        if let Some(entry) = stranger {
            entry.observe(conduct, fee);
        }
        counts
    }

    /// Slashes the bond of the host of a lease.
    pub fn punish(&mut self, host: &HostId, fault: Fault, duration_ms: u64) {
        let now = self.now;
        if let Some(entry) = self.host_of(host) {
            hosts::Pallet::<T>::punish(host, &mut entry.record, fault, duration_ms, now);
            entry.changed = true;
        }
    }

    /// Takes a fine from the bond of a host, to the treasury. Fails with `NoSuchHost`.
    pub fn fine(&mut self, host: &HostId, amount: Balance) -> DispatchResult {
        let entry = self.host(host)?;
        hosts::Pallet::<T>::charge_bond(host, &mut entry.record, amount, &billing::Pallet::<T>::treasury());
        entry.changed = true;
        Ok(())
    }
}

/// Stores a host that was changed, and writes down what it did.
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
