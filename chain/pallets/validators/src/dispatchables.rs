//! The implementation of the calls.

use frame_support::pallet_prelude::*;
use gantry_primitives::AccountId;
use pallet_session::Pallet as Session;

use crate::{Config, Error, Event, Pallet, RemovalReason, Validators};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_add(who: AccountId) -> DispatchResult {
        let mut list = Validators::<T>::get();
        ensure!(!list.contains(&who), Error::<T>::AlreadyListed);
        ensure!(Session::<T>::load_keys(&who).is_some(), Error::<T>::NoSessionKeys);
        list.try_push(who.clone()).map_err(|_| Error::<T>::TooManyValidators)?;

        Validators::<T>::put(list);
        Self::deposit_event(Event::Added { validator: who });
        Ok(())
    }

    pub(crate) fn do_remove(who: AccountId) -> DispatchResult {
        let list = Validators::<T>::get();
        let position = list.iter().position(|listed| *listed == who).ok_or(Error::<T>::NotListed)?;
        ensure!(list.len() > T::MinValidators::get() as usize, Error::<T>::TooFewValidators);

        Self::remove_at(list, position, RemovalReason::ByAdmin);
        Ok(())
    }

    /// Removes the validator at `position` of `list`, which is the stored list.
    pub(crate) fn remove_at(mut list: BoundedVec<AccountId, T::MaxValidators>, position: usize, reason: RemovalReason) {
        let validator = list.remove(position);
        Validators::<T>::put(list);
        Self::deposit_event(Event::Removed { validator, reason });
    }
}
