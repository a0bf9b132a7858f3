//! What leases take from hosts and give back to them.

use frame_support::{pallet_prelude::*, traits::Time};
use gantry_primitives::{
    fit::{give_back, take, Misfit},
    HostId, HostRecord, HostStatus, Moment, Resources,
};

use crate::{Config, CurrentParams, Error, Hosts, Pallet};

impl<T: Config> From<Misfit> for Error<T> {
    fn from(misfit: Misfit) -> Self {
        match misfit {
            Misfit::NotEnoughCpu => Self::NotEnoughCpu,
            Misfit::NotEnoughMemory => Self::NotEnoughMemory,
            Misfit::NotEnoughDisk => Self::NotEnoughDisk,
            Misfit::WrongDeviceCount => Self::WrongDeviceCount,
            Misfit::NoSuchDevice => Self::NoSuchDevice,
            Misfit::DeviceRepeated => Self::DeviceRepeated,
            Misfit::SimulatedNotAllowed => Self::SimulatedNotAllowed,
            Misfit::WrongModel => Self::WrongModel,
            Misfit::NotEnoughVram => Self::NotEnoughVram,
            Misfit::DeviceBusy => Self::DeviceBusy,
        }
    }
}

impl<T: Config> Pallet<T> {
    /// The record of a host, or `NoSuchHost`.
    pub fn host(host: &HostId) -> Result<HostRecord, DispatchError> {
        Hosts::<T>::get(host).ok_or_else(|| Error::<T>::NoSuchHost.into())
    }

    /// Takes a pod's resources from an online host for one new lease. Returns what the host's record then is.
    pub fn reserve(
        host: &HostId,
        resources: &Resources,
        devices: &[u8],
        allow_simulated: bool,
    ) -> Result<HostRecord, DispatchError> {
        let mut record = Self::host(host)?;
        ensure!(record.status == HostStatus::Online, Error::<T>::HostNotOnline);
        let HostRecord { free, devices: all, .. } = &mut record;
        take(free, all.as_mut(), resources, devices, allow_simulated).map_err(Error::<T>::from)?;
        record.live_leases = record.live_leases.checked_add(1).ok_or(Error::<T>::Overflow)?;
        Hosts::<T>::insert(host, &record);
        Ok(record)
    }

    /// Gives back to a host, whatever its status, what [`Self::reserve`] took for one lease.
    pub fn release(host: &HostId, resources: &Resources, devices: &[u8]) -> DispatchResult {
        let mut record = Self::host(host)?;
        let HostRecord { free, total, devices: all, .. } = &mut record;
        give_back(free, total, all.as_mut(), resources, devices).ok_or(Error::<T>::MoreFreeThanTotal)?;
        record.live_leases = record.live_leases.checked_sub(1).ok_or(Error::<T>::MoreFreeThanTotal)?;
        Hosts::<T>::insert(host, record);
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

    /// Whether a host was silent for longer than the absence limit.
    pub(crate) fn is_silent(record: &HostRecord) -> bool {
        let limit = CurrentParams::<T>::get().absence_limit_ms;
        Self::now() > record.last_heartbeat.saturating_add(limit)
    }

    /// The time of this block.
    pub fn now() -> Moment {
        T::Time::now()
    }
}
