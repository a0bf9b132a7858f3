//! Who attests, and what it answers for it with.

use frame_support::pallet_prelude::*;
use gantry_primitives::AccountId;

use crate::{AuditorRecord, Auditors, Config, CurrentParams, Error, Event, HoldReason, Pallet};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_bond_auditor(who: AccountId) -> DispatchResult {
        let asked = CurrentParams::<T>::get().auditor_bond;
        let old = Auditors::<T>::get(&who);
        let (bond, attestations) = old.map_or((0, 0), |record| (record.bond, record.attestations));
        let is_active = old.is_some_and(|record| record.leaves_at.is_none());
        let missing = asked.saturating_sub(bond);
        ensure!(missing > 0 || !is_active, Error::<T>::AlreadyBonded);
        Self::hold(&who, HoldReason::AuditorBond, missing)?;
        let bond = bond.checked_add(missing).ok_or(Error::<T>::Overflow)?;
        Auditors::<T>::insert(&who, AuditorRecord { bond, attestations, leaves_at: None });
        Self::deposit_event(Event::AuditorBonded { who, bond });
        Ok(())
    }

    pub(crate) fn do_unbond_auditor(who: AccountId) -> DispatchResult {
        let mut record = Auditors::<T>::get(&who).ok_or(Error::<T>::NotAuditor)?;
        ensure!(record.leaves_at.is_none(), Error::<T>::NotAuditor);
        let until = Self::now().saturating_add(CurrentParams::<T>::get().auditor_unbonding_ms);
        record.leaves_at = Some(until);
        Auditors::<T>::insert(&who, record);
        Self::deposit_event(Event::AuditorLeaving { who, until });
        Ok(())
    }

    pub(crate) fn do_withdraw_auditor_bond(who: AccountId) -> DispatchResult {
        let record = Auditors::<T>::get(&who).ok_or(Error::<T>::NotAuditor)?;
        ensure!(record.leaves_at.is_some_and(|until| until < Self::now()), Error::<T>::StillBonded);
        ensure!(record.attestations == 0, Error::<T>::HasAttestations);
        Self::release(&who, HoldReason::AuditorBond, record.bond)?;
        Auditors::<T>::remove(&who);
        Self::deposit_event(Event::AuditorLeft { who, bond: record.bond });
        Ok(())
    }

    /// Fails with `NotAuditor` unless an account may attest.
    pub(crate) fn ensure_auditor(who: &AccountId) -> DispatchResult {
        let half = CurrentParams::<T>::get().auditor_bond / 2;
        let may = Auditors::<T>::get(who).is_some_and(|record| record.leaves_at.is_none() && record.bond >= half);
        ensure!(may, Error::<T>::NotAuditor);
        Ok(())
    }

    /// Changes the record of an auditor, which the attestations that name it say exists.
    pub(crate) fn change_auditor(who: &AccountId, change: impl FnOnce(&mut AuditorRecord)) {
        Auditors::<T>::mutate(who, |record| {
            if let Some(record) = record {
                change(record);
            }
        });
    }
}
