//! The leases of each host. Callers that touch a host many times change the list in memory and store it once.

use frame_support::pallet_prelude::*;
use gantry_primitives::{HostId, LeaseId};

use crate::{ByHost, Config, Error, HostLeases, Pallet};

impl<T: Config> Pallet<T> {
    /// The leases that hold something of a host, in the order of their numbers.
    pub fn leases_of(host: &HostId) -> HostLeases {
        ByHost::<T>::get(host)
    }

    /// Puts a lease on the list of its host, or `TooManyLeasesOnHost`. A lease that is on it stays.
    pub fn list_add(list: &mut HostLeases, lease: LeaseId) -> DispatchResult {
        if let Err(place) = list.binary_search(&lease) {
            list.try_insert(place, lease).map_err(|_| Error::<T>::TooManyLeasesOnHost)?;
        }
        Ok(())
    }

    /// Takes a lease off the list of its host. Returns whether it was on it.
    pub fn list_remove(list: &mut HostLeases, lease: LeaseId) -> bool {
        match list.binary_search(&lease) {
            Ok(place) => {
                list.remove(place);
                true
            }
            Err(_) => false,
        }
    }

    /// Stores the list of a host; one with nothing on it takes no room.
    pub fn store_list(host: &HostId, list: &HostLeases) {
        if list.is_empty() {
            ByHost::<T>::remove(host);
        } else {
            ByHost::<T>::insert(host, list);
        }
    }
}
