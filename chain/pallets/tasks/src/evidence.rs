//! Proof that a scheduler favoured a host of its own, and what it costs the scheduler.
//!
//! It is about the only pod of a task that a scheduler placed by `assign` on a host of its own. The other host must have been
//! as good then, and known to be: what fits there now fitted then and for `offer_known_ms` before, because nothing of its
//! offer has changed and no capacity has become free since. Pods of a gang are left out, for which a dearer host may be the only one with room for all; so are moved pods,
//! standbys and notices of preemption, whose places were chosen earlier or for another reason.

use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::{Inspect, MutateHold},
        tokens::{DepositConsequence, Fortitude, Precision, Provenance, Restriction},
    },
};
use gantry_primitives::{rate::PPM, AccountId, Balance, HostId, LeaseId, Moment};

use crate::{
    assigning::Assigner,
    billing,
    desk::{Case, Desk},
    reputation, Config, CurrentParams, Error, Event, HoldReason, LeavingScheduler, LeavingSchedulers, Pallet,
    PunishedUntil, Schedulers,
};

/// The other host must cost less by one part in so many, at least.
const SAVING: Balance = 10;

impl<T: Config> Pallet<T> {
    pub(crate) fn do_report_self_assignment(lease: LeaseId, host: &HostId, devices: &[u8]) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let (mut case, place) = desk.open_lease(lease)?;
        let of = &mut case.record.leases[place];
        let score_ppm = of.self_assigned_ppm.take().ok_or(Error::<T>::NotSelfAssigned)?;
        let who = of.assigned_by.clone().ok_or(Error::<T>::NotSelfAssigned)?;
        let (at, rate_per_hour) = (of.created_at, of.resume_rate.unwrap_or(of.escrow.rate_per_hour));
        ensure!(of.host != *host, Error::<T>::SameHost);
        let params = CurrentParams::<T>::get();
        ensure!(desk.now <= at.saturating_add(params.evidence_ms), Error::<T>::EvidenceTooOld);
        ensure!(PunishedUntil::<T>::get(&who).is_none_or(|until| until < at), Error::<T>::AlreadyPunished);

        ensure!(!case.record.excludes(host), Error::<T>::HostRefusedTask);
        ensure!(desk.is_in_order(host)?, Error::<T>::HostDeteriorates);
        desk.ensure_fits(lease, host, &case.shared, devices)?;
        let there = desk.rate_at(case.spec(), host, devices, Balance::MAX)?;
        let is_cheaper = there < rate_per_hour && there <= rate_per_hour.saturating_sub(rate_per_hour.div_ceil(SAVING));
        ensure!(is_cheaper, Error::<T>::NotCheaper);
        let was_known = |since: Moment| since < at && since.saturating_add(params.offer_known_ms) <= at;
        let is_as_good = desk.score_of(host) >= score_ppm && was_known(reputation::Pallet::<T>::host_scored_at(host));
        ensure!(is_as_good, Error::<T>::NotAsGood);
        ensure!(was_known(desk.host(host)?.record.offered_since), Error::<T>::OfferTooRecent);

        let tenant = case.record.tenant.clone();
        desk.put(case);
        desk.commit()?;
        PunishedUntil::<T>::insert(&who, at);
        let (to_tenant, to_treasury) = Self::take_penalty(&who, &tenant)?;
        Self::deposit_event(Event::SchedulerPunished { who, lease, cheaper: host.clone(), to_tenant, to_treasury });
        Ok(())
    }

    /// Takes the penalty from the bond of a scheduler: half of it for the tenant, the rest for the treasury, each where it can
    /// be credited. With less than half of the bond that is asked for it is no scheduler any more.
    fn take_penalty(who: &AccountId, tenant: &AccountId) -> Result<(Balance, Balance), DispatchError> {
        let params = CurrentParams::<T>::get();
        let leaving = LeavingSchedulers::<T>::get(who);
        let bond = Schedulers::<T>::get(who).or(leaving.map(|leaving| leaving.bond)).ok_or(Error::<T>::NotScheduler)?;
        let penalty = params.scheduler_bond.saturating_mul(params.scheduler_penalty_ppm.into()) / PPM;
        let penalty = penalty.min(bond);
        let to_tenant = Self::move_bond(who, tenant, penalty / 2);
        let to_treasury = Self::move_bond(who, &billing::Pallet::<T>::treasury(), penalty - penalty / 2);
        // Both together are at most the bond.
        let bond = bond.saturating_sub(to_tenant).saturating_sub(to_treasury);
        match leaving {
            Some(leaving) => LeavingSchedulers::<T>::insert(who, LeavingScheduler { bond, ..leaving }),
            None if bond < params.scheduler_bond.div_ceil(2) => Self::begin_unbonding(who.clone(), bond),
            None => Schedulers::<T>::insert(who, bond),
        }
        Ok((to_tenant, to_treasury))
    }

    /// Moves a part of the bond of a scheduler to the free coins of `to`. Returns how much: nothing where `to` cannot be
    /// credited with it.
    fn move_bond(who: &AccountId, to: &AccountId, amount: Balance) -> Balance {
        let can_credit = <T as Config>::Currency::can_deposit(to, amount, Provenance::Extant);
        if amount == 0 || can_credit != DepositConsequence::Success {
            return 0;
        }
        <T as Config>::Currency::transfer_on_hold(
            &HoldReason::SchedulerBond.into(),
            who,
            to,
            amount,
            Precision::Exact,
            Restriction::Free,
            Fortitude::Force,
        )
        .unwrap_or(0)
    }
}

impl<T: Config> Desk<T> {
    /// The scheduler that answers for the host of the pod that it places; none where the choice was not free.
    pub(crate) fn who_answers<'a>(assigner: &Assigner<'a>, case: &Case) -> Option<&'a AccountId> {
        let Assigner::Scheduler(who) = assigner else { return None };
        let is_free = case.record.pods_wanted == 1 && !case.spec().is_redundant() && case.spec().data_from.is_none();
        Some(*who).filter(|who| is_free && **who != case.record.tenant)
    }

    pub(crate) fn belongs_to(&mut self, host: &HostId, who: &AccountId) -> bool {
        self.host(host).is_ok_and(|entry| entry.record.provider == *who)
    }

    pub(crate) fn score_of(&self, host: &HostId) -> u32 {
        reputation::Pallet::<T>::host_priority_ppm(host)
    }
}
