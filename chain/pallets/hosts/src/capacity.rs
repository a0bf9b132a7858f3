//! Allocation of resources of hosts to leases.
//!
//! These functions work on a record that the caller has read, so that a caller with many pods for one host reads and
//! stores it once.

use frame_support::{
    pallet_prelude::*,
    traits::{Get, Time},
};
use gantry_primitives::{
    fit::{allocate, placement_fits, release, Misfit},
    AccountId, Halt, HostId, HostRecord, HostStatus, Moment, Placement, Resources,
};

use crate::{Config, CountedHalts, CurrentParams, Error, Hosts, Pallet, StandbyNamings};

/// The reads of the runtime for the time of a slot: its number and the length of slots.
const SLOT_TIME_READS: u64 = 2;

impl<T: Config> From<Misfit> for Error<T> {
    fn from(misfit: Misfit) -> Self {
        match misfit {
            Misfit::HostNotWanted => Self::HostNotWanted,
            Misfit::RegionNotWanted => Self::RegionNotWanted,
            Misfit::ProviderNotWanted => Self::ProviderNotWanted,
            Misfit::TierNotWanted => Self::TierNotWanted,
            Misfit::NotEnoughNetwork => Self::NotEnoughNetwork,
            Misfit::LatencyTooHigh => Self::LatencyTooHigh,
            Misfit::CapabilityMissing => Self::CapabilityMissing,
            Misfit::NotSandboxed => Self::NotSandboxed,
            Misfit::TermsTooWeak => Self::TermsTooWeak,
            Misfit::NotEnoughCpu => Self::NotEnoughCpu,
            Misfit::NotEnoughMemory => Self::NotEnoughMemory,
            Misfit::NotEnoughDisk => Self::NotEnoughDisk,
            Misfit::WrongDeviceCount => Self::WrongDeviceCount,
            Misfit::NoSuchDevice => Self::NoSuchDevice,
            Misfit::DeviceRepeated => Self::DeviceRepeated,
            Misfit::SimulatedNotAllowed => Self::SimulatedNotAllowed,
            Misfit::NotAttested => Self::NotAttested,
            Misfit::WrongModel => Self::WrongModel,
            Misfit::NotEnoughVram => Self::NotEnoughVram,
            Misfit::DeviceUnhealthy => Self::DeviceUnhealthy,
            Misfit::DeviceBusy => Self::DeviceBusy,
            Misfit::DeviceShared => Self::DeviceShared,
        }
    }
}

impl<T: Config> Pallet<T> {
    /// Returns the record of a host. Fails with `NoSuchHost`.
    pub fn host(host: &HostId) -> Result<HostRecord, DispatchError> {
        Hosts::<T>::get(host).ok_or_else(|| Error::<T>::NoSuchHost.into())
    }

    /// Stores the record of a host.
    pub fn store(host: &HostId, record: &HostRecord) {
        Hosts::<T>::insert(host, record);
    }

    /// Returns the owner of a host. Fails with `NoSuchHost`.
    pub fn provider_of(host: &HostId) -> Result<AccountId, DispatchError> {
        Ok(Self::host(host)?.provider)
    }

    /// Counts that a host was named as the standby of a lease.
    pub fn note_standby(host: &HostId) {
        StandbyNamings::<T>::mutate(host, |count| *count = count.wrapping_add(1));
    }

    /// Allocates the resources of a pod of `tenant` on an online host for one new lease, on exactly the `devices` with
    /// these indices.
    ///
    /// Changes only the record, and nothing on failure: fails with `HostNotOnline`, `DeviceChallenged`, the error named
    /// like the `Misfit`, or `Overflow`.
    pub fn allocate_in(
        record: &mut HostRecord,
        host: &HostId,
        resources: &Resources,
        devices: &[u8],
        placement: &Placement,
        tenant: &AccountId,
    ) -> Result<(), Error<T>> {
        ensure!(record.status == HostStatus::Online, Error::HostNotOnline);
        ensure!(record.challenged.is_none_or(|device| !devices.contains(&device)), Error::DeviceChallenged);
        placement_fits(host, record, placement)?;
        let live_leases = record.live_leases.checked_add(1).ok_or(Error::Overflow)?;
        let HostRecord { free, devices: all, .. } = record;
        allocate(free, all.as_mut(), resources, devices, placement, tenant)?;
        record.live_leases = live_leases;
        Ok(())
    }

    /// Releases at `now` the resources that [`Self::allocate_in`] allocated for one lease, whatever the status of the
    /// host.
    ///
    /// Changes only the record, and nothing on failure: fails with `MoreFreeThanTotal`.
    pub fn release_in(record: &mut HostRecord, resources: &Resources, devices: &[u8], now: Moment) -> DispatchResult {
        let live_leases = record.live_leases.checked_sub(1).ok_or(Error::<T>::MoreFreeThanTotal)?;
        let HostRecord { free, total, devices: all, .. } = record;
        release(free, total, all.as_mut(), resources, devices).ok_or(Error::<T>::MoreFreeThanTotal)?;
        record.live_leases = live_leases;
        record.offered_since = now;
        Ok(())
    }

    /// Whether the leases of a host may be requeued: it was reported absent, or its status does not allow such a report
    /// and it was silent for as long.
    pub fn is_lost(record: &HostRecord) -> bool {
        match record.status {
            HostStatus::Offline => true,
            HostStatus::Online | HostStatus::Draining => false,
            _ => Self::is_silent(record),
        }
    }

    /// Whether a host was silent for longer than the absence limit while the chain made blocks.
    pub fn is_silent(record: &HostRecord) -> bool {
        Self::elapsed_ms(record.last_heartbeat) > CurrentParams::<T>::get().absence_limit_ms
    }

    /// Whether the heartbeat of a host is overdue ([`Params::overdue_ms`](crate::Params::overdue_ms)).
    pub fn is_overdue(record: &HostRecord) -> bool {
        Self::elapsed_ms(record.last_heartbeat) > CurrentParams::<T>::get().overdue_ms()
    }

    /// Returns the total downtime of a host in milliseconds: the `downtime_ms` that its record would have if it
    /// returned now. An absence counts if it was reported or is longer than the absence limit, from the last heartbeat
    /// on, without the halts of the chain.
    pub fn downtime_ms(record: &HostRecord) -> u64 {
        let is_absent = record.last_heartbeat > 0 && (record.status == HostStatus::Offline || Self::is_silent(record));
        let away_ms = if is_absent { Self::elapsed_ms(record.last_heartbeat) } else { 0 };
        record.downtime_ms.saturating_add(away_ms)
    }

    /// Returns the milliseconds since `moment`, without the times in which the chain made no blocks.
    pub fn elapsed_ms(moment: Moment) -> u64 {
        CountedHalts::<T>::get().elapsed_ms(moment, Self::now())
    }

    /// Records the time without blocks before this block, if it is a halt. Called at the beginning of a block. Returns
    /// the used weight.
    pub(crate) fn note_halt() -> Weight {
        // The time of the block before; 0 in the first.
        let before = Self::now();
        let end = T::SlotTime::get();
        let ms = end.saturating_sub(before);
        if before == 0 || ms <= CurrentParams::<T>::get().halt_after_ms {
            return T::DbWeight::get().reads(SLOT_TIME_READS + 2);
        }
        CountedHalts::<T>::mutate(|halts| halts.add(Halt { end, ms }));
        T::DbWeight::get().reads_writes(SLOT_TIME_READS + 3, 1)
    }

    /// The time of this block, in milliseconds since the Unix epoch.
    pub fn now() -> Moment {
        T::Time::now()
    }
}
