//! What the calls do: read, ensure, write, emit.

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    rate::{self, storage_rate_per_hour, RateError},
    AccountId, Balance, EndReason, LeaseId, LeaseState, Moment, TaskKind,
};
use sp_runtime::{helpers_128bit::multiply_by_rational_with_rounding, Rounding};

use crate::{
    billing::{self, Ledger, Payees},
    Config, CurrentParams, Error, Event, Keeper, Kept, Pallet, Params,
};

/// The agenda has so long to end a lease before there is a bounty for it.
pub(crate) const BOUNTY_AFTER_MS: u64 = 60_000;

impl<T: Config> Pallet<T> {
    pub(crate) fn do_extend(tenant: AccountId, id: LeaseId, ms: u64) -> DispatchResult {
        let mut kept = Self::lengthenable(&tenant, id)?;
        ensure!(ms > 0, Error::<T>::DurationIsZero);
        let amount = rate::deposit(kept.lease.escrow.rate_per_hour, ms).ok_or(Error::<T>::CostTooHigh)?;
        if kept.lease.escrow.rate_per_hour == 0 {
            kept.lease.escrow.until = kept.lease.escrow.until.map(|until| until.saturating_add(ms));
        }
        let ends_at = Self::deposit_more(id, kept, amount)?;
        Self::deposit_event(Event::Extended { lease: id, amount, ends_at });
        Ok(())
    }

    pub(crate) fn do_top_up(tenant: AccountId, id: LeaseId, amount: Balance) -> DispatchResult {
        let kept = Self::lengthenable(&tenant, id)?;
        ensure!(amount > 0, Error::<T>::AmountIsZero);
        let depletes_at = Self::deposit_more(id, kept, amount)?;
        Self::deposit_event(Event::ToppedUp { lease: id, amount, depletes_at });
        Ok(())
    }

    pub(crate) fn do_suspend(tenant: AccountId, id: LeaseId) -> DispatchResult {
        let kept = Self::running(id)?;
        ensure!(kept.tenant == tenant, Error::<T>::NotTenant);
        ensure!(kept.spec.kind == TaskKind::Rental, Error::<T>::NotRental);
        ensure!(kept.lease.state == LeaseState::Active, Error::<T>::LeaseNotActive);
        let rate_per_hour = Self::storage_rate(&kept)?;
        let resume_rate = Some(kept.lease.escrow.rate_per_hour);
        let (owed, ends_at) = Self::change_rate(id, kept, LeaseState::Suspended, rate_per_hour, resume_rate)?;
        Self::deposit_event(Event::Suspended { lease: id, rate_per_hour, owed, ends_at });
        Ok(())
    }

    pub(crate) fn do_resume(tenant: AccountId, id: LeaseId) -> DispatchResult {
        let kept = Self::running(id)?;
        ensure!(kept.tenant == tenant, Error::<T>::NotTenant);
        let rate_per_hour = kept.lease.resume_rate.ok_or(Error::<T>::LeaseNotSuspended)?;
        let (owed, ends_at) = Self::change_rate(id, kept, LeaseState::Active, rate_per_hour, None)?;
        Self::deposit_event(Event::Resumed { lease: id, rate_per_hour, owed, ends_at });
        Ok(())
    }

    pub(crate) fn do_reclaim(provider: AccountId, id: LeaseId) -> DispatchResult {
        let Kept { mut lease, host, .. } = Self::running(id)?;
        ensure!(host.provider == provider, Error::<T>::NotProvider);
        ensure!(lease.reclaim_at.is_none(), Error::<T>::ReclaimNoticed);
        let reclaim_at = Self::now().saturating_add(CurrentParams::<T>::get().reclaim_notice_ms);
        lease.reclaim_at = Some(reclaim_at);
        Self::schedule(id, &mut lease, reclaim_at);
        T::Keeper::write(id, lease, Ledger::default())?;
        Self::deposit_event(Event::ReclaimNoticed { lease: id, reclaim_at });
        Ok(())
    }

    pub(crate) fn do_finish_reclaim(who: AccountId, id: LeaseId) -> DispatchResult {
        let kept = Self::running(id)?;
        let reclaim_at = kept.lease.reclaim_at.ok_or(Error::<T>::ReclaimNotNoticed)?;
        ensure!(reclaim_at <= Self::now(), Error::<T>::NoticeNotOver);
        T::Keeper::end(id, EndReason::Reclaimed, Some(who))
    }

    pub(crate) fn do_settle(who: AccountId, id: LeaseId) -> DispatchResult {
        let kept = T::Keeper::read(id)?;
        if let LeaseState::Retained(until) = kept.lease.state {
            return Self::settle_storage(who, id, kept, until);
        }
        let Kept { mut lease, tenant, host, downtime_ms, .. } = Self::ensure_running(kept)?;
        let until = lease.billed_to(Self::now()).saturating_sub(billing::Pallet::<T>::params().held_back_ms);
        ensure!(lease.escrow.since.is_some_and(|since| since < until), Error::<T>::NothingDue);
        let due = lease.escrow.due(until, downtime_ms);
        let settler = billing::Pallet::<T>::settler(who);
        let payees = Payees::of(&lease, &tenant, &host.provider, Some(&settler));
        let mut ledger = Ledger::<T>::default();
        // All of it or nothing: what cannot be paid yet is not divided anew with what is due later.
        ensure!(due > 0 && ledger.can_pay_due(&payees, &lease.escrow, due), Error::<T>::NothingDue);
        let (share, fee) = ledger.pay_due(&tenant, &payees, &mut lease.escrow, due);
        T::Keeper::write(id, lease, ledger)?;
        let (scheduler_fee, settler_fee) = (fee.scheduler, fee.settler);
        Self::deposit_event(Event::Paid { lease: id, until, share, fee: fee.total(), scheduler_fee, settler_fee });
        Ok(())
    }

    pub(crate) fn do_close_depleted(who: AccountId, id: LeaseId) -> DispatchResult {
        let Kept { mut lease, tenant, host, downtime_ms, .. } = Self::running(id)?;
        let now = Self::now();
        let ends_at = lease.ends_at(downtime_ms).ok_or(Error::<T>::LeaseNotRunning)?;
        ensure!(ends_at <= now, Error::<T>::LeaseNotDepleted);
        let is_party = who == tenant || who == host.provider || who == lease.host;
        if !is_party && ends_at.saturating_add(BOUNTY_AFTER_MS) <= now {
            let settler = billing::Pallet::<T>::settler(who.clone());
            let payees = Payees::of(&lease, &tenant, &host.provider, Some(&settler));
            let due = lease.escrow.due(lease.billed_to(now), downtime_ms);
            let (share_due, fee_due) = lease.escrow.divide(due, payees.settler_ppm());
            let mut ledger = Ledger::<T>::default();
            let depletion_bounty = billing::Pallet::<T>::params().depletion_bounty;
            let bounty = ledger.pay(&tenant, &who, depletion_bounty.min(share_due));
            // With the fee for it, so that it is the provider alone who has less.
            let rounding = Rounding::Down;
            let fee_of_bounty = multiply_by_rational_with_rounding(fee_due.total(), bounty, share_due.max(1), rounding)
                .ok_or(Error::<T>::CostTooHigh)?;
            let fee_of_bounty = lease.escrow.divide_fee(fee_of_bounty, payees.settler_ppm());
            let fee = ledger.pay_fee(&tenant, &payees, fee_of_bounty);
            lease.escrow.pay(bounty, fee);
            T::Keeper::write(id, lease, ledger)?;
            let (scheduler_fee, settler_fee, who) = (fee.scheduler, fee.settler, who.clone());
            let fee = fee.total();
            Self::deposit_event(Event::BountyPaid { lease: id, who, bounty, fee, scheduler_fee, settler_fee });
        }
        T::Keeper::end(id, EndReason::Depleted, Some(who))
    }

    pub(crate) fn do_set_params(params: Params) -> DispatchResult {
        Self::ensure_sound(&params)?;
        CurrentParams::<T>::put(params);
        Self::deposit_event(Event::ParamsChanged);
        Ok(())
    }

    pub(crate) fn ensure_sound(params: &Params) -> Result<(), Error<T>> {
        ensure!(params.reclaim_notice_ms > 0, Error::<T>::ReclaimNoticeIsZero);
        ensure!(params.retention_ms > 0, Error::<T>::RetentionIsZero);
        ensure!(params.purge_grace_ms > 0, Error::<T>::PurgeGraceIsZero);
        ensure!(params.retention_ms <= params.max_kept_ms, Error::<T>::RetentionTooLong);
        Ok(())
    }

    /// A running lease of a service or rental. The host's downtime has moved its end already.
    fn running(id: LeaseId) -> Result<Kept, DispatchError> {
        Self::ensure_running(T::Keeper::read(id)?)
    }

    /// A lease that was read already, where it is a running one of a service or rental.
    fn ensure_running(mut kept: Kept) -> Result<Kept, DispatchError> {
        ensure!(kept.spec.kind != TaskKind::Job, Error::<T>::LeaseOfJob);
        let is_running = matches!(kept.lease.state, LeaseState::Active | LeaseState::Suspended);
        ensure!(is_running, Error::<T>::LeaseNotRunning);
        kept.lease.escrow.follow_deposit(kept.downtime_ms);
        Ok(kept)
    }

    /// A running lease of `tenant` that may get more time.
    fn lengthenable(tenant: &AccountId, id: LeaseId) -> Result<Kept, DispatchError> {
        let kept = Self::running(id)?;
        ensure!(kept.tenant == *tenant, Error::<T>::NotTenant);
        ensure!(kept.lease.reclaim_at.is_none(), Error::<T>::ReclaimNoticed);
        Ok(kept)
    }

    /// What the disk of a lease costs an hour on its host now. A host that has raised its price above what the tenant
    /// pays at most for the whole machine gets nothing.
    pub(crate) fn storage_rate(kept: &Kept) -> Result<Balance, Error<T>> {
        let Kept { spec, host, .. } = kept;
        let rate = storage_rate_per_hour(&spec.resources, &host.ask, spec.unit).map_err(|error| match error {
            RateError::NotOffered => Error::StorageNotOffered,
            RateError::Overflow => Error::CostTooHigh,
        })?;
        ensure!(rate <= spec.max_rate_per_hour, Error::StorageTooDear);
        Ok(rate)
    }

    /// Holds `amount` more for a lease, which goes on for as long as that lasts. Returns when it is over.
    fn deposit_more(id: LeaseId, kept: Kept, amount: Balance) -> Result<Moment, DispatchError> {
        let Kept { mut lease, tenant, downtime_ms, .. } = kept;
        let mut ledger = Ledger::<T>::default();
        ledger.hold(&tenant, amount)?;
        lease.escrow.top_up(amount).ok_or(Error::<T>::CostTooHigh)?;
        lease.escrow.follow_deposit(downtime_ms);
        let ends_at = lease.ends_at(downtime_ms).ok_or(Error::<T>::LeaseNotRunning)?;
        // The agenda looks at it when it would have been over, and then again.
        T::Keeper::write(id, lease, ledger)?;
        Ok(ends_at)
    }

    /// The lease goes on in `state` at another rate. Returns what is owed for the time before, and when it is over.
    fn change_rate(
        id: LeaseId,
        kept: Kept,
        state: LeaseState,
        rate_per_hour: Balance,
        resume_rate: Option<Balance>,
    ) -> Result<(Balance, Moment), DispatchError> {
        let Kept { mut lease, downtime_ms, .. } = kept;
        let now = Self::now();
        lease.state = state;
        lease.resume_rate = resume_rate;
        lease.escrow.change_rate(rate_per_hour, lease.billed_to(now), downtime_ms);
        lease.escrow.follow_deposit(downtime_ms);
        let ends_at = lease.ends_at(downtime_ms).ok_or(Error::<T>::LeaseNotRunning)?;
        ensure!(now < ends_at, Error::<T>::DepositUsedUp);
        Self::schedule(id, &mut lease, ends_at);
        let owed = lease.escrow.accrued;
        T::Keeper::write(id, lease, Ledger::default())?;
        Ok((owed, ends_at))
    }
}
