//! The lists of the leases of each host. Callers with many changes for one host change the list in memory and store it
//! once.

use frame_support::pallet_prelude::*;
use gantry_primitives::{HostId, LeaseId};

use crate::{ByHost, Config, Error, HostLeases, Pallet};

impl<T: Config> Pallet<T> {
    /// Returns the leases that have resources of a host allocated, in the order of their numbers.
    pub fn leases_of(host: &HostId) -> HostLeases {
        ByHost::<T>::get(host)
    }

    /// Adds a lease to the list of its host, unless the list contains it. Fails with `TooManyLeasesOnHost`.
    pub fn list_add(list: &mut HostLeases, lease: LeaseId) -> DispatchResult {
        if let Err(position) = list.binary_search(&lease) {
            list.try_insert(position, lease).map_err(|_| Error::<T>::TooManyLeasesOnHost)?;
        }
        Ok(())
    }

    /// Removes a lease from the list of its host. Returns whether the list contained it.
    pub fn list_remove(list: &mut HostLeases, lease: LeaseId) -> bool {
        match list.binary_search(&lease) {
            Ok(position) => {
                list.remove(position);
                true
            }
            Err(_) => false,
        }
    }

    /// Stores the list of a host. An empty list is removed.
    pub fn store_list(host: &HostId, list: &HostLeases) {
        if list.is_empty() {
            ByHost::<T>::remove(host);
        } else {
            ByHost::<T>::insert(host, list);
        }
    }
}
