//! Who judges, and what it answers for it with.

use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::MutateHold,
        tokens::{Fortitude, Precision, Restriction},
        Time,
    },
};
use gantry_primitives::{AccountId, Balance, LeaveReason, ListedVerifier, Moment, VerifierRecord, VerifierStatus};
use sp_runtime::SaturatedConversion;

use crate::{Config, CurrentParams, Error, Event, HoldReason, Hosts, Pallet, VerifierList, Verifiers};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_bond_verifier(who: AccountId) -> DispatchResult {
        let asked = CurrentParams::<T>::get().verifier_bond;
        let old = Verifiers::<T>::get(&who);
        ensure!(T::Hosts::provider_of(&who).is_none(), Error::<T>::HostCannotVerify);
        let (bond, duties) = old.as_ref().map_or((0, 0), |record| (record.bond, record.duties));
        let listed = old.is_some_and(|record| record.status == VerifierStatus::Active);
        let missing = asked.saturating_sub(bond);
        ensure!(missing > 0 || !listed, Error::<T>::AlreadyBonded);

        if missing > 0 {
            T::Currency::hold(&HoldReason::VerifierBond.into(), &who, missing)
                .map_err(|_| Error::<T>::CannotPayBond)?;
        }
        if !listed {
            let entry = ListedVerifier { who: who.clone(), since: Self::block() };
            VerifierList::<T>::try_append(entry).map_err(|_| Error::<T>::TooManyVerifiers)?;
        }
        let bond = bond.checked_add(missing).ok_or(Error::<T>::Overflow)?;
        Verifiers::<T>::insert(&who, VerifierRecord { bond, status: VerifierStatus::Active, duties });
        Self::deposit_event(Event::VerifierBonded { who, bond });
        Ok(())
    }

    pub(crate) fn do_unbond_verifier(who: AccountId) -> DispatchResult {
        let mut record = Self::active_verifier(&who)?;
        Self::remove_from_list(&who, &mut record, LeaveReason::Unbonded);
        Verifiers::<T>::insert(who, record);
        Ok(())
    }

    pub(crate) fn do_withdraw_verifier_bond(who: AccountId) -> DispatchResult {
        let record = Verifiers::<T>::get(&who).ok_or(Error::<T>::NotVerifier)?;
        let VerifierStatus::Leaving(until) = record.status else { return Err(Error::<T>::StillBonded.into()) };
        ensure!(Self::now() > until, Error::<T>::StillBonded);
        ensure!(record.duties == 0, Error::<T>::OnDuty);
        T::Currency::release(&HoldReason::VerifierBond.into(), &who, record.bond, Precision::Exact)?;
        Verifiers::<T>::remove(&who);
        Self::deposit_event(Event::VerifierLeft { who, bond: record.bond });
        Ok(())
    }

    /// Returns the record of a verifier that may be drawn. Fails with `NotVerifier`.
    pub(crate) fn active_verifier(who: &AccountId) -> Result<VerifierRecord, DispatchError> {
        Verifiers::<T>::get(who)
            .filter(|record| record.status == VerifierStatus::Active)
            .ok_or_else(|| Error::<T>::NotVerifier.into())
    }

    /// Removes a verifier from the list. The caller stores the record.
    pub(crate) fn remove_from_list(who: &AccountId, record: &mut VerifierRecord, reason: LeaveReason) {
        let until = Self::now().saturating_add(CurrentParams::<T>::get().unbonding_ms);
        VerifierList::<T>::mutate(|list| list.retain(|listed| listed.who != *who));
        record.status = VerifierStatus::Leaving(until);
        Self::deposit_event(Event::VerifierLeaving { who: who.clone(), until, reason });
    }

    /// Moves up to `amount` of the coins on hold of `from` for `reason` to `to`. Returns the moved amount. An amount
    /// that the receiver cannot be credited with (less than the existential deposit, to an account that does not exist)
    /// stays on hold.
    pub(crate) fn pay(from: &AccountId, reason: HoldReason, to: &AccountId, amount: Balance) -> Balance {
        if amount == 0 {
            return 0;
        }
        let (precision, mode, force) = (Precision::BestEffort, Restriction::Free, Fortitude::Force);
        T::Currency::transfer_on_hold(&reason.into(), from, to, amount, precision, mode, force).unwrap_or(0)
    }

    /// The chain's time.
    pub(crate) fn now() -> Moment {
        T::Time::now()
    }

    /// The number of the present block.
    pub(crate) fn block() -> u32 {
        frame_system::Pallet::<T>::block_number().saturated_into()
    }
}
