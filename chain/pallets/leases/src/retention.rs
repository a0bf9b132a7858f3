//! Data that is kept after the end of a rental, and what its tenant pays for that.
//!
//! Data is kept for a while at no further cost. For more time the tenant has coins held at a price fixed by the call. They are
//! paid to the host as the time passes: when someone settles the lease, when the tenant lets the data go or takes it over, and
//! the rest with the host's receipt of the purge. A host that loses the data, or sends no receipt, gets nothing of what is
//! still held.

use frame_support::pallet_prelude::*;
use gantry_primitives::{rate, AccountId, Balance, HostStatus, Lease, LeaseId, LeaseState, Moment, StorageDeposit};

use crate::{
    billing::{self, Ledger, Payees},
    Config, CurrentParams, Error, Event, Keeper, Kept, Pallet,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_keep(tenant: AccountId, id: LeaseId, ms: u64, max_rate_per_hour: Balance) -> DispatchResult {
        let kept = Self::retained(&tenant, id)?;
        ensure!(ms > 0, Error::<T>::DurationIsZero);
        let LeaseState::Retained(kept_until) = kept.lease.state else {
            return Err(Error::<T>::LeaseNotRetained.into());
        };
        let (now, params) = (Self::now(), CurrentParams::<T>::get());
        ensure!(now <= kept_until, Error::<T>::LeaseNotRetained);
        let until = kept_until.saturating_add(ms);
        ensure!(until <= now.saturating_add(params.max_kept_ms), Error::<T>::KeptTooLong);
        let rate_per_hour = Self::storage_rate(&kept)?;
        ensure!(rate_per_hour <= max_rate_per_hour, Error::<T>::StorageTooDear);
        let amount = rate::deposit(rate_per_hour, ms).ok_or(Error::<T>::CostTooHigh)?;
        let Kept { mut lease, .. } = kept;
        let mut ledger = Ledger::<T>::default();
        ledger.hold(&tenant, amount)?;
        // Begins where the time that costs nothing more ends. Time that is added to paid time is paid with it, by one rate.
        let storage = lease.escrow.storage.get_or_insert(StorageDeposit { held: 0, since: kept_until });
        storage.held = storage.held.checked_add(amount).ok_or(Error::<T>::CostTooHigh)?;
        lease.state = LeaseState::Retained(until);
        T::Keeper::write(id, lease, ledger)?;
        Self::deposit_event(Event::DataKept { lease: id, until, rate_per_hour, amount });
        Ok(())
    }

    pub(crate) fn do_release_data(tenant: AccountId, id: LeaseId) -> DispatchResult {
        let Kept { mut lease, host, .. } = Self::retained(&tenant, id)?;
        let now = Self::now();
        let LeaseState::Retained(until) = lease.state else { return Err(Error::<T>::LeaseNotRetained.into()) };
        ensure!(now < until, Error::<T>::LeaseNotRetained);
        let mut ledger = Ledger::<T>::default();
        Self::end_storage(id, &mut lease, &tenant, &host.provider, &mut ledger, now);
        Self::retain_until(id, &mut lease, now);
        T::Keeper::write(id, lease, ledger)?;
        Self::deposit_event(Event::DataReleased { lease: id });
        Ok(())
    }

    /// Pays for the time for which data was kept, but for the last period that is held back. Once the time is over, the
    /// rest is paid with the receipt of the purge. A host that is away cannot show that it has the data.
    pub(crate) fn settle_storage(who: AccountId, id: LeaseId, kept: Kept, until: Moment) -> DispatchResult {
        let Kept { mut lease, tenant, host, .. } = kept;
        let now = Self::now();
        let storage = lease.escrow.storage.ok_or(Error::<T>::NothingDue)?;
        let paid_until = now.saturating_sub(billing::Pallet::<T>::params().held_back_ms);
        let is_due = now < until && storage.since < paid_until && host.status != HostStatus::Offline;
        ensure!(is_due, Error::<T>::NothingDue);
        let due = storage.due(until, paid_until);
        let settler = billing::Pallet::<T>::settler(who);
        let payees = Payees::of(&lease, &tenant, &host.provider, Some(&settler));
        let mut ledger = Ledger::<T>::default();
        ensure!(due > 0 && ledger.can_pay_due(&payees, &lease.escrow, due), Error::<T>::NothingDue);
        let (share, fee) = ledger.pay_storage(&tenant, &payees, &mut lease.escrow, due);
        if let Some(storage) = &mut lease.escrow.storage {
            storage.since = paid_until;
        }
        T::Keeper::write(id, lease, ledger)?;
        let (scheduler_fee, settler_fee, fee) = (fee.scheduler, fee.settler, fee.total());
        Self::deposit_event(Event::StoragePaid { lease: id, share, fee, scheduler_fee, settler_fee, refunded: 0 });
        Ok(())
    }

    /// Data is no longer kept: what is due for the time until `kept_until` is paid, and the rest goes back to the tenant.
    /// Nothing happens where nothing is held for storage. The caller stores the lease and commits the ledger.
    pub fn end_storage(
        id: LeaseId,
        lease: &mut Lease,
        tenant: &AccountId,
        provider: &AccountId,
        ledger: &mut Ledger<T>,
        kept_until: Moment,
    ) {
        let (Some(storage), LeaseState::Retained(until)) = (lease.escrow.storage, lease.state) else { return };
        let payees = Payees::of(lease, tenant, provider, None);
        let due = storage.due(until, kept_until);
        let (share, fee) = ledger.pay_storage(tenant, &payees, &mut lease.escrow, due);
        let refunded = ledger.release_storage(tenant, &mut lease.escrow);
        let (scheduler_fee, settler_fee, fee) = (fee.scheduler, fee.settler, fee.total());
        Self::deposit_event(Event::StoragePaid { lease: id, share, fee, scheduler_fee, settler_fee, refunded });
    }

    /// Data was lost, or there is no receipt of its purge: all that is still held for storage goes back to the tenant.
    /// Nothing happens where nothing is held. The caller stores the lease and commits the ledger.
    pub fn refund_storage(id: LeaseId, lease: &mut Lease, tenant: &AccountId, ledger: &mut Ledger<T>) {
        if lease.escrow.storage.is_some() {
            let refunded = ledger.release_storage(tenant, &mut lease.escrow);
            let (share, fee, scheduler_fee, settler_fee) = (0, 0, 0, 0);
            Self::deposit_event(Event::StoragePaid { lease: id, share, fee, scheduler_fee, settler_fee, refunded });
        }
    }

    /// The data of an ended rental is kept from `now` on for `retention_ms`, but for no longer than what the tenant owes
    /// for the lease would pay for its disk: else a rental of seconds would hold a disk for days. Where the host
    /// failed, it is kept for the whole time. The caller stores the lease.
    ///
    /// `storage_rate`: the price of the disk in base units an hour; None where the host does not offer storage. A host
    /// cannot shorten the time below that of the lease by a higher price.
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

    /// A lease of `tenant` whose data is kept.
    fn retained(tenant: &AccountId, id: LeaseId) -> Result<Kept, DispatchError> {
        let kept = T::Keeper::read(id)?;
        ensure!(kept.tenant == *tenant, Error::<T>::NotTenant);
        ensure!(matches!(kept.lease.state, LeaseState::Retained(_)), Error::<T>::LeaseNotRetained);
        Ok(kept)
    }
}
