//! Bonds of schedulers, and the queue definitions that they publish.

use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::{InspectHold, MutateHold},
        tokens::Precision,
    },
};
use gantry_primitives::{AccountId, Balance, Digest};

use crate::{
    hosts, Config, CurrentParams, Error, Event, HoldReason, LeavingScheduler, LeavingSchedulers, Pallet, PunishedUntil,
    QueueDigests, Schedulers,
};

impl<T: Config> Pallet<T> {
    /// A scheduler that is leaving becomes active again; the missing part of its bond is held.
    pub(crate) fn do_bond_scheduler(who: AccountId) -> DispatchResult {
        ensure!(!Schedulers::<T>::contains_key(&who), Error::<T>::AlreadyScheduler);
        let held = LeavingSchedulers::<T>::take(&who).map_or(0, |leaving| leaving.bond);
        let missing = CurrentParams::<T>::get().scheduler_bond.saturating_sub(held);
        if missing > 0 {
            <T as Config>::Currency::hold(&HoldReason::SchedulerBond.into(), &who, missing)
                .map_err(|_| Error::<T>::SchedulerCannotPay)?;
        }
        Schedulers::<T>::insert(&who, held.saturating_add(missing));
        Self::deposit_event(Event::SchedulerBonded { who });
        Ok(())
    }

    /// The first call begins the unbonding period. A call after that period releases the bond.
    pub(crate) fn do_unbond_scheduler(who: AccountId) -> DispatchResult {
        let now = hosts::Pallet::<T>::now();
        if let Some(bond) = Schedulers::<T>::get(&who) {
            Self::begin_unbonding(who, bond);
            return Ok(());
        }
        let LeavingScheduler { bond, until } = LeavingSchedulers::<T>::take(&who).ok_or(Error::<T>::NotScheduler)?;
        ensure!(now >= until, Error::<T>::StillUnbonding);
        PunishedUntil::<T>::remove(&who);
        if bond > 0 {
            <T as Config>::Currency::release(&HoldReason::SchedulerBond.into(), &who, bond, Precision::Exact)?;
        }
        Self::deposit_event(Event::SchedulerUnbonded { who });
        Ok(())
    }

    /// Removes a scheduler. Its bond stays on hold for the unbonding period.
    pub(crate) fn begin_unbonding(who: AccountId, bond: Balance) {
        let until = hosts::Pallet::<T>::now().saturating_add(CurrentParams::<T>::get().scheduler_unbonding_ms);
        Schedulers::<T>::remove(&who);
        QueueDigests::<T>::remove(&who);
        LeavingSchedulers::<T>::insert(&who, LeavingScheduler { bond, until });
        Self::deposit_event(Event::SchedulerLeaving { who, until });
    }

    pub(crate) fn do_publish_queues(who: AccountId, digest: Option<Digest>) -> DispatchResult {
        ensure!(Schedulers::<T>::contains_key(&who), Error::<T>::NotScheduler);
        QueueDigests::<T>::set(&who, digest);
        Self::deposit_event(Event::QueuesPublished { who, digest });
        Ok(())
    }

    /// Returns the amount on hold of `who` as the bond of a scheduler.
    pub(crate) fn scheduler_bond_held(who: &AccountId) -> Balance {
        <T as Config>::Currency::balance_on_hold(&HoldReason::SchedulerBond.into(), who)
    }
}
