//! The implementation of the calls.

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    rate::{self, storage_rate_per_hour, RateError},
    AccountId, Balance, EndReason, LeaseId, LeaseState, Moment, TaskKind,
};
use sp_runtime::{helpers_128bit::multiply_by_rational_with_rounding, Rounding};

use crate::{
    billing::{self, Ledger, Payees},
    Config, CurrentParams, Error, Event, LeaseStore, Pallet, Params, StoredLease,
};

/// The time in milliseconds that the agenda has for ending a lease before there is a bounty.
pub(crate) const BOUNTY_AFTER_MS: u64 = 60_000;

impl<T: Config> Pallet<T> {
    pub(crate) fn do_extend(tenant: AccountId, id: LeaseId, ms: u64) -> DispatchResult {
        let mut stored = Self::extendable_lease(&tenant, id)?;
        ensure!(ms > 0, Error::<T>::DurationIsZero);
        let amount = rate::deposit(stored.lease.escrow.rate_per_hour, ms).ok_or(Error::<T>::CostTooHigh)?;
        if stored.lease.escrow.rate_per_hour == 0 {
            stored.lease.escrow.until = stored.lease.escrow.until.map(|until| until.saturating_add(ms));
        }
        let ends_at = Self::add_deposit(id, stored, amount)?;
        Self::deposit_event(Event::Extended { lease: id, amount, ends_at });
        Ok(())
    }

    pub(crate) fn do_top_up(tenant: AccountId, id: LeaseId, amount: Balance) -> DispatchResult {
        let stored = Self::extendable_lease(&tenant, id)?;
        ensure!(amount > 0, Error::<T>::AmountIsZero);
        let depletes_at = Self::add_deposit(id, stored, amount)?;
        Self::deposit_event(Event::ToppedUp { lease: id, amount, depletes_at });
        Ok(())
    }

    pub(crate) fn do_suspend(tenant: AccountId, id: LeaseId) -> DispatchResult {
        let stored = Self::running_lease(id)?;
        ensure!(stored.tenant == tenant, Error::<T>::NotTenant);
        ensure!(stored.spec.kind == TaskKind::Rental, Error::<T>::NotRental);
        ensure!(stored.lease.state == LeaseState::Active, Error::<T>::LeaseNotActive);
        let rate_per_hour = Self::storage_rate(&stored)?;
        let resume_rate = Some(stored.lease.escrow.rate_per_hour);
        let (owed, ends_at) = Self::change_rate(id, stored, LeaseState::Suspended, rate_per_hour, resume_rate)?;
        Self::deposit_event(Event::Suspended { lease: id, rate_per_hour, owed, ends_at });
        Ok(())
    }

    pub(crate) fn do_resume(tenant: AccountId, id: LeaseId) -> DispatchResult {
        let stored = Self::running_lease(id)?;
        ensure!(stored.tenant == tenant, Error::<T>::NotTenant);
        let rate_per_hour = stored.lease.resume_rate.ok_or(Error::<T>::LeaseNotSuspended)?;
        let (owed, ends_at) = Self::change_rate(id, stored, LeaseState::Active, rate_per_hour, None)?;
        Self::deposit_event(Event::Resumed { lease: id, rate_per_hour, owed, ends_at });
        Ok(())
    }

    pub(crate) fn do_reclaim(provider: AccountId, id: LeaseId) -> DispatchResult {
        let StoredLease { mut lease, host, .. } = Self::running_lease(id)?;
        ensure!(host.provider == provider, Error::<T>::NotProvider);
        ensure!(lease.reclaim_at.is_none(), Error::<T>::ReclaimNoticed);
        let promised_ms = lease.sla.as_ref().map_or(0, |sla| sla.terms.notice_ms);
        let notice_ms = CurrentParams::<T>::get().reclaim_notice_ms.max(promised_ms);
        let reclaim_at = Self::now().saturating_add(notice_ms);
        lease.reclaim_at = Some(reclaim_at);
        Self::schedule(id, &mut lease, reclaim_at);
        T::LeaseStore::write(id, lease, Ledger::default())?;
        Self::deposit_event(Event::ReclaimNoticed { lease: id, reclaim_at });
        Ok(())
    }

    pub(crate) fn do_finish_reclaim(who: AccountId, id: LeaseId) -> DispatchResult {
        let stored = Self::running_lease(id)?;
        let reclaim_at = stored.lease.reclaim_at.ok_or(Error::<T>::ReclaimNotNoticed)?;
        ensure!(reclaim_at <= Self::now(), Error::<T>::NoticeNotOver);
        T::LeaseStore::end(id, EndReason::Reclaimed, Some(who))
    }

    pub(crate) fn do_settle(who: AccountId, id: LeaseId) -> DispatchResult {
        let stored = T::LeaseStore::read(id)?;
        if let LeaseState::Retained(until) = stored.lease.state {
            return Self::settle_storage(who, id, stored, until);
        }
        let mut stored = Self::ensure_running(stored)?;
        let is_credited = Self::credit_period(id, &mut stored)?;
        let StoredLease { mut lease, tenant, host, downtime_ms, .. } = stored;
        let until = lease.billed_to(Self::now()).saturating_sub(billing::Pallet::<T>::params().held_back_ms);
        ensure!(lease.escrow.since.is_some_and(|since| since < until), Error::<T>::NothingDue);
        let due = lease.escrow.due(until, downtime_ms);
        let settler = billing::Pallet::<T>::settler(who);
        let payees = Payees::for_lease(&lease, &tenant, &host.provider, Some(&settler));
        let mut ledger = Ledger::<T>::default();
        // All or nothing: an amount that cannot be paid now is not divided again later.
        let is_payable = ledger.can_pay_due(&payees, &lease.escrow, due);
        ensure!((due > 0 || is_credited) && is_payable, Error::<T>::NothingDue);
        let (share, fee) = ledger.pay_due(&tenant, &payees, &mut lease.escrow, due);
        T::LeaseStore::write(id, lease, ledger)?;
        let (scheduler_fee, settler_fee) = (fee.scheduler, fee.settler);
        Self::deposit_event(Event::Paid { lease: id, until, share, fee: fee.total(), scheduler_fee, settler_fee });
        Ok(())
    }

    /// Credits the tenant of a running lease for the present period, if it is over. Returns whether anything was
    /// credited.
    fn credit_period(id: LeaseId, stored: &mut StoredLease) -> Result<bool, DispatchError> {
        let (now, downtime_ms) = (Self::now(), stored.downtime_ms);
        let period_ms = billing::Pallet::<T>::params().credit_period_ms;
        let Some(credit) = stored.lease.credit_period(now, downtime_ms, period_ms) else { return Ok(false) };
        let from_bond = T::LeaseStore::compensate(stored, credit.from_bond)?;
        let is_credited = credit.unpaid > 0 || from_bond > 0;
        if is_credited {
            Self::deposit_event(Event::SlaCredited { lease: id, unpaid: credit.unpaid, from_bond });
        }
        Ok(is_credited)
    }

    pub(crate) fn do_close_depleted(who: AccountId, id: LeaseId) -> DispatchResult {
        let StoredLease { mut lease, tenant, host, downtime_ms, .. } = Self::running_lease(id)?;
        let now = Self::now();
        let ends_at = lease.ends_at(downtime_ms).ok_or(Error::<T>::LeaseNotRunning)?;
        ensure!(ends_at <= now, Error::<T>::LeaseNotDepleted);
        let is_party = who == tenant || who == host.provider || who == lease.host;
        if !is_party && ends_at.saturating_add(BOUNTY_AFTER_MS) <= now {
            let settler = billing::Pallet::<T>::settler(who.clone());
            let payees = Payees::for_lease(&lease, &tenant, &host.provider, Some(&settler));
            let due = lease.escrow.due(lease.billed_to(now), downtime_ms);
            let (share_due, fee_due) = lease.escrow.divide(due, payees.settler_ppm());
            let mut ledger = Ledger::<T>::default();
            let depletion_bounty = billing::Pallet::<T>::params().depletion_bounty;
            let bounty = ledger.pay(&tenant, &who, depletion_bounty.min(share_due));
            // Together with its fee, so that only the provider receives less.
            let rounding = Rounding::Down;
            let fee_of_bounty = multiply_by_rational_with_rounding(fee_due.total(), bounty, share_due.max(1), rounding)
                .ok_or(Error::<T>::CostTooHigh)?;
            let fee_of_bounty = lease.escrow.divide_fee(fee_of_bounty, payees.settler_ppm());
            let fee = ledger.pay_fee(&tenant, &payees, fee_of_bounty);
            lease.escrow.pay(bounty, fee);
            T::LeaseStore::write(id, lease, ledger)?;
            let (scheduler_fee, settler_fee, who) = (fee.scheduler, fee.settler, who.clone());
            let fee = fee.total();
            Self::deposit_event(Event::BountyPaid { lease: id, who, bounty, fee, scheduler_fee, settler_fee });
        }
        T::LeaseStore::end(id, EndReason::Depleted, Some(who))
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

    /// Returns a running lease of a service or rental. Its end includes the host's downtime.
    fn running_lease(id: LeaseId) -> Result<StoredLease, DispatchError> {
        Self::ensure_running(T::LeaseStore::read(id)?)
    }

    /// Checks that a lease is a running one of a service or rental, and includes the host's downtime in its end.
    fn ensure_running(mut stored: StoredLease) -> Result<StoredLease, DispatchError> {
        ensure!(stored.spec.kind != TaskKind::Job, Error::<T>::LeaseOfJob);
        let is_running = matches!(stored.lease.state, LeaseState::Active | LeaseState::Suspended);
        ensure!(is_running, Error::<T>::LeaseNotRunning);
        stored.lease.escrow.follow_deposit(stored.downtime_ms);
        Ok(stored)
    }

    /// Returns a running lease of `tenant` that may be extended.
    fn extendable_lease(tenant: &AccountId, id: LeaseId) -> Result<StoredLease, DispatchError> {
        let stored = Self::running_lease(id)?;
        ensure!(stored.tenant == *tenant, Error::<T>::NotTenant);
        ensure!(stored.lease.reclaim_at.is_none(), Error::<T>::ReclaimNoticed);
        Ok(stored)
    }

    /// Returns the present rate of the disk of a lease on its host, in base units per hour. Fails if it is above the
    /// tenant's limit for the whole machine.
    pub(crate) fn storage_rate(stored: &StoredLease) -> Result<Balance, Error<T>> {
        let StoredLease { spec, host, .. } = stored;
        let rate = storage_rate_per_hour(&spec.resources, &host.ask, spec.unit).map_err(|error| match error {
            RateError::NotOffered => Error::StorageNotOffered,
            RateError::Overflow => Error::CostTooHigh,
        })?;
        ensure!(rate <= spec.max_rate_per_hour, Error::StorageTooDear);
        Ok(rate)
    }

    /// Holds `amount` more for a lease, which is extended accordingly. Returns its end.
    fn add_deposit(id: LeaseId, stored: StoredLease, amount: Balance) -> Result<Moment, DispatchError> {
        let StoredLease { mut lease, tenant, downtime_ms, .. } = stored;
        let mut ledger = Ledger::<T>::default();
        ledger.hold(&tenant, amount)?;
        lease.escrow.top_up(amount).ok_or(Error::<T>::CostTooHigh)?;
        lease.escrow.follow_deposit(downtime_ms);
        let ends_at = lease.ends_at(downtime_ms).ok_or(Error::<T>::LeaseNotRunning)?;
        // The agenda processes it at its former end, and reschedules it.
        T::LeaseStore::write(id, lease, ledger)?;
        Ok(ends_at)
    }

    /// Continues a lease in `state` at another rate. Returns the amount owed for the time before, and its end.
    fn change_rate(
        id: LeaseId,
        stored: StoredLease,
        state: LeaseState,
        rate_per_hour: Balance,
        resume_rate: Option<Balance>,
    ) -> Result<(Balance, Moment), DispatchError> {
        let StoredLease { mut lease, downtime_ms, .. } = stored;
        let now = Self::now();
        lease.state = state;
        lease.resume_rate = resume_rate;
        let measured_to = lease.billed_to(now);
        if let Some(sla) = &mut lease.sla {
            match state {
                LeaseState::Active => sla.resume(measured_to, downtime_ms),
                _ => sla.pause(measured_to, downtime_ms),
            }
        }
        lease.escrow.change_rate(rate_per_hour, measured_to, downtime_ms);
        lease.escrow.follow_deposit(downtime_ms);
        let ends_at = lease.ends_at(downtime_ms).ok_or(Error::<T>::LeaseNotRunning)?;
        ensure!(now < ends_at, Error::<T>::DepositUsedUp);
        Self::schedule(id, &mut lease, ends_at);
        let owed = lease.escrow.accrued;
        T::LeaseStore::write(id, lease, Ledger::default())?;
        Ok((owed, ends_at))
    }
}
