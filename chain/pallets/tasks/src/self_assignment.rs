//! Proof that a scheduler favoured a host of its own, and the penalty.
//!
//! The proof concerns the only pod of a task that a scheduler assigned to a host of its own with `assign`. The other
//! host must have been as good at that time, and the scheduler must have known it: its offer has not changed and no
//! capacity has become free since `offer_known_ms` before the assignment, so a pod that fits now fitted then. Pods of a
//! gang are excluded, because a more expensive host may be the only one that fits all of them. So are migrated pods,
//! standbys and preemption notices, whose hosts were chosen earlier or for another reason.

use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::{Inspect, MutateHold},
        tokens::{DepositConsequence, Fortitude, Precision, Provenance, Restriction},
    },
};
use gantry_primitives::{rate::PPM, AccountId, Balance, HostId, LeaseId, Moment};

use crate::{
    assignment::Assigner,
    billing,
    changes::{LoadedTask, TaskChanges},
    reputation, Config, CurrentParams, Error, Event, HoldReason, LeavingScheduler, LeavingSchedulers, Pallet,
    PunishedUntil, Schedulers,
};

/// The other host must be cheaper by at least this fraction of the rate: one part in ten.
const MIN_SAVING_PARTS: Balance = 10;

impl<T: Config> Pallet<T> {
    pub(crate) fn do_report_self_assignment(lease: LeaseId, host: &HostId, devices: &[u8]) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (mut loaded, position) = changes.load_lease(lease)?;
        let lease_record = &mut loaded.record.leases[position];
        let score_ppm = lease_record.self_assigned_ppm.take().ok_or(Error::<T>::NotSelfAssigned)?;
        let who = lease_record.assigned_by.clone().ok_or(Error::<T>::NotSelfAssigned)?;
        let (at, rate_per_hour) =
            (lease_record.created_at, lease_record.resume_rate.unwrap_or(lease_record.escrow.rate_per_hour));
        ensure!(lease_record.host != *host, Error::<T>::SameHost);
        let params = CurrentParams::<T>::get();
        ensure!(changes.now <= at.saturating_add(params.evidence_ms), Error::<T>::EvidenceTooOld);
        ensure!(PunishedUntil::<T>::get(&who).is_none_or(|until| until < at), Error::<T>::AlreadyPunished);

        ensure!(!loaded.record.excludes(host), Error::<T>::HostRefusedTask);
        ensure!(changes.is_healthy(host)?, Error::<T>::HostDeteriorates);
        changes.ensure_fits(lease, host, &loaded.spec_record, devices)?;
        let other_rate = changes.rate_at(loaded.spec(), host, devices, Balance::MAX)?;
        let is_cheaper = other_rate < rate_per_hour
            && other_rate <= rate_per_hour.saturating_sub(rate_per_hour.div_ceil(MIN_SAVING_PARTS));
        ensure!(is_cheaper, Error::<T>::NotCheaper);
        let was_known = |since: Moment| since < at && since.saturating_add(params.offer_known_ms) <= at;
        let is_as_good =
            changes.score_of(host) >= score_ppm && was_known(reputation::Pallet::<T>::host_scored_at(host));
        ensure!(is_as_good, Error::<T>::NotAsGood);
        ensure!(was_known(changes.host(host)?.record.offered_since), Error::<T>::OfferTooRecent);

        let tenant = loaded.record.tenant.clone();
        changes.store(loaded);
        changes.commit()?;
        PunishedUntil::<T>::insert(&who, at);
        let (to_tenant, to_treasury) = Self::take_penalty(&who, &tenant)?;
        Self::deposit_event(Event::SchedulerPunished { who, lease, cheaper: host.clone(), to_tenant, to_treasury });
        Ok(())
    }

    /// Takes the penalty from the bond of a scheduler: half for the tenant, the rest for the treasury, each if the
    /// account can be credited. A scheduler with less than half of the required bond starts to unbond.
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

    /// Moves a part of the bond of a scheduler to the free balance of `to`. Returns the moved amount: 0 if `to` cannot
    /// be credited.
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

impl<T: Config> TaskChanges<T> {
    /// Returns the scheduler that is accountable for the choice of the host. None if the choice was not free.
    pub(crate) fn accountable_scheduler<'a>(assigner: &Assigner<'a>, loaded: &LoadedTask) -> Option<&'a AccountId> {
        let Assigner::Scheduler(who) = assigner else { return None };
        let is_free =
            loaded.record.pods_wanted == 1 && !loaded.spec().is_redundant() && loaded.spec().data_from.is_none();
        Some(*who).filter(|who| is_free && **who != loaded.record.tenant)
    }

    pub(crate) fn is_owned_by(&mut self, host: &HostId, who: &AccountId) -> bool {
        self.host(host).is_ok_and(|entry| entry.record.provider == *who)
    }

    pub(crate) fn score_of(&self, host: &HostId) -> u32 {
        reputation::Pallet::<T>::host_priority_ppm(host)
    }
}
