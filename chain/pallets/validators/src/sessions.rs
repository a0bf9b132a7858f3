//! Answers to the session pallet and BABE.

use alloc::vec::Vec;
use core::marker::PhantomData;
use frame_support::traits::Get;
use gantry_primitives::AccountId;
use pallet_session::{historical, NextKeys, Pallet as Session, SessionManager};
use sp_runtime::traits::Convert;
use sp_staking::SessionIndex;

use crate::{Config, EpochSlots, Pallet, SlotMs, Validators};

/// Slots of a session of this chain, for BABE.
pub struct EpochLength<T>(PhantomData<T>);

impl<T: Config> Get<u64> for EpochLength<T> {
    fn get() -> u64 {
        EpochSlots::<T>::get()
    }
}

/// Length of a slot of this chain in milliseconds.
pub struct SlotDuration<T>(PhantomData<T>);

impl<T: Config> Get<u64> for SlotDuration<T> {
    fn get() -> u64 {
        SlotMs::<T>::get()
    }
}

/// Least time between two blocks in milliseconds, for the timestamp pallet. BABE takes twice this time as its slot.
pub struct MinimumPeriod<T>(PhantomData<T>);

impl<T: Config> Get<u64> for MinimumPeriod<T> {
    fn get() -> u64 {
        SlotMs::<T>::get() / 2
    }
}

/// The full identification of a validator: none beyond its account.
pub struct UnitIdentification;

impl<A> Convert<A, Option<()>> for UnitIdentification {
    fn convert(_: A) -> Option<()> {
        Some(())
    }
}

impl<T: Config> SessionManager<AccountId> for Pallet<T> {
    fn new_session(planned: SessionIndex) -> Option<Vec<AccountId>> {
        let kept = T::HistorySessions::get();
        if planned > kept {
            historical::Pallet::<T>::prune_up_to(planned - kept);
        }
        // A validator without session keys cannot take part, even if it is listed.
        let next: Vec<_> = Validators::<T>::get()
            .into_iter()
            .filter_map(|who| Session::<T>::load_keys(&who).map(|keys| (who, keys)))
            .collect();
        // Returning the same set again would make GRANDPA change its authorities for nothing, and an empty set is none.
        if next.is_empty() || next == Session::<T>::queued_keys() {
            return None;
        }
        Some(next.into_iter().map(|(who, _)| who).collect())
    }

    /// The list is made after the session pallet's genesis, from this answer.
    fn new_session_genesis(_: SessionIndex) -> Option<Vec<AccountId>> {
        let mut all: Vec<AccountId> = NextKeys::<T>::iter_keys().collect();
        all.sort();
        (!all.is_empty()).then_some(all)
    }

    fn end_session(_: SessionIndex) {}

    fn start_session(_: SessionIndex) {}
}

impl<T: Config> historical::SessionManager<AccountId, ()> for Pallet<T> {
    fn new_session(planned: SessionIndex) -> Option<Vec<(AccountId, ())>> {
        <Self as SessionManager<_>>::new_session(planned).map(identified)
    }

    fn new_session_genesis(planned: SessionIndex) -> Option<Vec<(AccountId, ())>> {
        <Self as SessionManager<_>>::new_session_genesis(planned).map(identified)
    }

    fn end_session(_: SessionIndex) {}

    fn start_session(_: SessionIndex) {}
}

fn identified(all: Vec<AccountId>) -> Vec<(AccountId, ())> {
    all.into_iter().map(|who| (who, ())).collect()
}
