//! Retention of data after the end of a rental, and its price.
//!
//! Data is retained for a period at no further cost. For more time the tenant holds coins at a price that the call
//! fixes. They are paid to the host as the time passes: when an account settles the lease, when the tenant releases the
//! data or another rental takes it over, and the rest with the host's receipt of the purge. A host that loses the data,
//! or sends no receipt, gets nothing of the coins that are still held.

use frame_support::pallet_prelude::*;
use gantry_primitives::{rate, AccountId, Balance, HostStatus, Lease, LeaseId, LeaseState, Moment, StorageDeposit};

use crate::{
    billing::{self, Ledger, Payees},
    Config, CurrentParams, Error, Event, LeaseStore, Pallet, StoredLease,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_keep(tenant: AccountId, id: LeaseId, ms: u64, max_rate_per_hour: Balance) -> DispatchResult {
        let stored = Self::retained_lease(&tenant, id)?;
        ensure!(ms > 0, Error::<T>::DurationIsZero);
        let LeaseState::Retained(kept_until) = stored.lease.state else {
            return Err(Error::<T>::LeaseNotRetained.into());
        };
        let (now, params) = (Self::now(), CurrentParams::<T>::get());
        ensure!(now <= kept_until, Error::<T>::LeaseNotRetained);
        let until = kept_until.saturating_add(ms);
        ensure!(until <= now.saturating_add(params.max_kept_ms), Error::<T>::KeptTooLong);
        let rate_per_hour = Self::storage_rate(&stored)?;
        ensure!(rate_per_hour <= max_rate_per_hour, Error::<T>::StorageTooDear);
        let amount = rate::deposit(rate_per_hour, ms).ok_or(Error::<T>::CostTooHigh)?;
        let StoredLease { mut lease, .. } = stored;
        let mut ledger = Ledger::<T>::default();
        ledger.hold(&tenant, amount)?;
        // Begins at the end of the free period. Time that is added to paid time is paid together with it, at one rate.
        let storage = lease.escrow.storage.get_or_insert(StorageDeposit { held: 0, since: kept_until });
        storage.held = storage.held.checked_add(amount).ok_or(Error::<T>::CostTooHigh)?;
        lease.state = LeaseState::Retained(until);
        T::LeaseStore::write(id, lease, ledger)?;
        Self::deposit_event(Event::DataKept { lease: id, until, rate_per_hour, amount });
        Ok(())
    }

    pub(crate) fn do_release_data(tenant: AccountId, id: LeaseId) -> DispatchResult {
        let StoredLease { mut lease, host, .. } = Self::retained_lease(&tenant, id)?;
        let now = Self::now();
        let LeaseState::Retained(until) = lease.state else { return Err(Error::<T>::LeaseNotRetained.into()) };
        ensure!(now < until, Error::<T>::LeaseNotRetained);
        let mut ledger = Ledger::<T>::default();
        Self::end_storage(id, &mut lease, &tenant, &host.provider, &mut ledger, now);
        Self::retain_until(id, &mut lease, now);
        T::LeaseStore::write(id, lease, ledger)?;
        Self::deposit_event(Event::DataReleased { lease: id });
        Ok(())
    }

    /// Pays for the time for which data was retained, except for the last period, which is held back. After the end,
    /// the rest is paid with the receipt of the purge. An offline host cannot prove that it has the data.
    pub(crate) fn settle_storage(who: AccountId, id: LeaseId, stored: StoredLease, until: Moment) -> DispatchResult {
        let StoredLease { mut lease, tenant, host, .. } = stored;
        let now = Self::now();
        let storage = lease.escrow.storage.ok_or(Error::<T>::NothingDue)?;
        let paid_until = now.saturating_sub(billing::Pallet::<T>::params().held_back_ms);
        let is_due = now < until && storage.since < paid_until && host.status != HostStatus::Offline;
        ensure!(is_due, Error::<T>::NothingDue);
        let due = storage.due(until, paid_until);
        let settler = billing::Pallet::<T>::settler(who);
        let payees = Payees::for_lease(&lease, &tenant, &host.provider, Some(&settler));
        let mut ledger = Ledger::<T>::default();
        ensure!(due > 0 && ledger.can_pay_due(&payees, &lease.escrow, due), Error::<T>::NothingDue);
        let (share, fee) = ledger.pay_storage(&tenant, &payees, &mut lease.escrow, due);
        if let Some(storage) = &mut lease.escrow.storage {
            storage.since = paid_until;
        }
        T::LeaseStore::write(id, lease, ledger)?;
        let (scheduler_fee, settler_fee, fee) = (fee.scheduler, fee.settler, fee.total());
        Self::deposit_event(Event::StoragePaid { lease: id, share, fee, scheduler_fee, settler_fee, refunded: 0 });
        Ok(())
    }

    /// Ends the retention of data: pays the amount due until `kept_until`, and releases the rest to the tenant. Does
    /// nothing if no coins are held for storage. The caller stores the lease and commits the ledger.
    pub fn end_storage(
        id: LeaseId,
        lease: &mut Lease,
        tenant: &AccountId,
        provider: &AccountId,
        ledger: &mut Ledger<T>,
        kept_until: Moment,
    ) {
        let (Some(storage), LeaseState::Retained(until)) = (lease.escrow.storage, lease.state) else { return };
        let payees = Payees::for_lease(lease, tenant, provider, None);
        let due = storage.due(until, kept_until);
        let (share, fee) = ledger.pay_storage(tenant, &payees, &mut lease.escrow, due);
        let refunded = ledger.release_storage(tenant, &mut lease.escrow);
        let (scheduler_fee, settler_fee, fee) = (fee.scheduler, fee.settler, fee.total());
        Self::deposit_event(Event::StoragePaid { lease: id, share, fee, scheduler_fee, settler_fee, refunded });
    }

    /// Refunds all coins that are still held for storage, because the data was lost or there is no receipt of its
    /// purge. Does nothing if no coins are held. The caller stores the lease and commits the ledger.
    pub fn refund_storage(id: LeaseId, lease: &mut Lease, tenant: &AccountId, ledger: &mut Ledger<T>) {
        if lease.escrow.storage.is_some() {
            let refunded = ledger.release_storage(tenant, &mut lease.escrow);
            let (share, fee, scheduler_fee, settler_fee) = (0, 0, 0, 0);
            Self::deposit_event(Event::StoragePaid { lease: id, share, fee, scheduler_fee, settler_fee, refunded });
        }
    }

    /// Retains the data of an ended rental from `now` on for `retention_ms`, but at most for the time for which the
    /// amount owed for the lease would pay its disk: else a rental of seconds would occupy a disk for days. If the host
    /// failed, the whole period applies. The caller stores the lease.
    ///
    /// `storage_rate` is the price of the disk in base units per hour, or None if the host does not offer storage. A
    /// host cannot shorten the period by a price above the rate of the lease.
    pub fn retain(id: LeaseId, lease: &mut Lease, storage_rate: Option<Balance>, now: Moment) {
        let retention_ms = CurrentParams::<T>::get().retention_ms;
        let rate = storage_rate.map_or(lease.escrow.rate_per_hour, |rate| rate.min(lease.escrow.rate_per_hour));
        let hosts_failure = matches!(lease.state, LeaseState::Ended(reason) if reason.is_hosts_failure());
        let paid_ms = match rate {
            _ if hosts_failure => u64::MAX,
            0 => u64::MAX,
            rate => rate::time_paid_ms(lease.escrow.accrued, rate),
        };
        Self::retain_until(id, lease, now.saturating_add(retention_ms.min(paid_ms)));
    }

    fn retain_until(id: LeaseId, lease: &mut Lease, until: Moment) {
        lease.state = LeaseState::Retained(until);
        Self::schedule(id, lease, until.saturating_add(CurrentParams::<T>::get().purge_grace_ms));
    }

    /// Returns a lease of `tenant` whose data is retained.
    fn retained_lease(tenant: &AccountId, id: LeaseId) -> Result<StoredLease, DispatchError> {
        let stored = T::LeaseStore::read(id)?;
        ensure!(stored.tenant == *tenant, Error::<T>::NotTenant);
        ensure!(matches!(stored.lease.state, LeaseState::Retained(_)), Error::<T>::LeaseNotRetained);
        Ok(stored)
    }
}
