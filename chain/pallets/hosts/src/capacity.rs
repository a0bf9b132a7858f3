//! What leases take from hosts and give back to them.
//!
//! These work on a record that the caller has read, so that a caller with many pods for one host reads and stores it
//! once.

use frame_support::{
    pallet_prelude::*,
    traits::{Get, Time},
};
use gantry_primitives::{
    fit::{give_back, placement_fits, take, Misfit},
    AccountId, Halt, HostId, HostRecord, HostStatus, Moment, Placement, Resources,
};

use crate::{Config, CountedHalts, CurrentParams, Error, Hosts, Pallet, StandbyNamings};

/// What the runtime reads to say when a slot began: its number and the length of slots.
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
    /// The record of a host, or `NoSuchHost`.
    pub fn host(host: &HostId) -> Result<HostRecord, DispatchError> {
        Hosts::<T>::get(host).ok_or_else(|| Error::<T>::NoSuchHost.into())
    }

    /// Stores the record of a host.
    pub fn store(host: &HostId, record: &HostRecord) {
        Hosts::<T>::insert(host, record);
    }

    /// Who owns a host, or `NoSuchHost`.
    pub fn provider_of(host: &HostId) -> Result<AccountId, DispatchError> {
        Ok(Self::host(host)?.provider)
    }

    /// Counts that a host was named as the standby of a lease.
    pub fn note_standby(host: &HostId) {
        StandbyNamings::<T>::mutate(host, |count| *count = count.wrapping_add(1));
    }

    /// Takes the resources of a pod of `tenant` from an online host for one new lease, on exactly the `devices` with these indices.
    ///
    /// Changes the record alone, and nothing where it fails: with `HostNotOnline`, `DeviceChallenged`, the error
    /// named like the `Misfit`, or `Overflow`.
    pub fn reserve_in(
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
        take(free, all.as_mut(), resources, devices, placement, tenant)?;
        record.live_leases = live_leases;
        Ok(())
    }

    /// Gives back to a host at `now`, whatever its status, what [`Self::reserve_in`] took for one lease.
    ///
    /// Changes the record alone, and nothing where it fails: with `MoreFreeThanTotal`.
    pub fn release_in(record: &mut HostRecord, resources: &Resources, devices: &[u8], now: Moment) -> DispatchResult {
        let live_leases = record.live_leases.checked_sub(1).ok_or(Error::<T>::MoreFreeThanTotal)?;
        let HostRecord { free, total, devices: all, .. } = record;
        give_back(free, total, all.as_mut(), resources, devices).ok_or(Error::<T>::MoreFreeThanTotal)?;
        record.live_leases = live_leases;
        record.offered_since = now;
        Ok(())
    }

    /// Whether the leases of a host may be moved elsewhere: it was reported absent, or it is in a status in which it
    /// cannot be reported and has been silent for as long.
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

    /// Whether a heartbeat of a host has not come in time ([`Params::overdue_ms`](crate::Params::overdue_ms)).
    pub fn is_overdue(record: &HostRecord) -> bool {
        Self::elapsed_ms(record.last_heartbeat) > CurrentParams::<T>::get().overdue_ms()
    }

    /// How long a host was away so far, in milliseconds: what `downtime_ms` of its record would be if it came back
    /// now. An absence counts where it was reported or is longer than the absence limit, from the last heartbeat on
    /// and without the halts of the chain.
    pub fn downtime_ms(record: &HostRecord) -> u64 {
        let away = record.last_heartbeat > 0 && (record.status == HostStatus::Offline || Self::is_silent(record));
        let away_ms = if away { Self::elapsed_ms(record.last_heartbeat) } else { 0 };
        record.downtime_ms.saturating_add(away_ms)
    }

    /// How many milliseconds have passed since `moment`, those in which the chain made no blocks left out.
    pub fn elapsed_ms(moment: Moment) -> u64 {
        CountedHalts::<T>::get().elapsed_ms(moment, Self::now())
    }

    /// At the beginning of a block: notes for how long there was none, where that is a halt. Returns what it cost.
    pub(crate) fn note_halt() -> Weight {
        // The clock of the block before; 0 in the first.
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
