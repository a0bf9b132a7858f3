//! Opening, starting and closing escrows: the only places where the coins of leases move.

use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::{Inspect, InspectHold, MutateHold},
        tokens::{DepositConsequence, Fortitude, Precision, Provenance, Restriction},
    },
};
use gantry_primitives::{
    rate, AccountId, Balance, BillingUnit, Charge, Escrow, EscrowState, LeaseId, Moment, Settlement,
};
use sp_runtime::traits::AccountIdConversion;

use crate::{Config, CurrentParams, Error, Escrows, Event, HoldReason, Pallet, TotalEscrowed, TREASURY};

impl<T: Config> Pallet<T> {
    /// The account to which the protocol fee goes.
    pub fn treasury() -> AccountId {
        TREASURY.into_account_truncating()
    }

    /// The escrow of a lease, or `NoSuchEscrow`.
    pub fn escrow(lease: LeaseId) -> Result<Escrow, DispatchError> {
        Escrows::<T>::get(lease).ok_or_else(|| Error::<T>::NoSuchEscrow.into())
    }

    /// Whether `amount` could be held on the account of `tenant` now.
    pub fn can_hold(tenant: &AccountId, amount: Balance) -> bool {
        T::Currency::can_hold(&HoldReason::Escrow.into(), tenant, amount)
    }

    /// Holds `deposit` of `tenant` for a lease.
    pub fn open(
        lease: LeaseId,
        tenant: AccountId,
        provider: AccountId,
        deposit: Balance,
        rate_per_hour: Balance,
        unit: BillingUnit,
    ) -> DispatchResult {
        ensure!(!Escrows::<T>::contains_key(lease), Error::<T>::EscrowExists);
        let total = TotalEscrowed::<T>::get().checked_add(deposit).ok_or(Error::<T>::Overflow)?;
        if deposit > 0 {
            T::Currency::hold(&HoldReason::Escrow.into(), &tenant, deposit).map_err(|_| Error::<T>::TenantCannotPay)?;
        }
        TotalEscrowed::<T>::put(total);
        Self::deposit_event(Event::EscrowOpened { lease, tenant: tenant.clone(), deposit, rate_per_hour });
        let escrow = Escrow {
            tenant,
            provider,
            deposit,
            rate_per_hour,
            unit,
            started_at: None,
            depletes_at: None,
            paid: 0,
            fee: 0,
            state: EscrowState::Open,
        };
        Escrows::<T>::insert(lease, escrow);
        Ok(())
    }

    /// Billing of a lease begins now, for at most `max_duration_ms`.
    pub fn start(lease: LeaseId, max_duration_ms: u64, now: Moment) -> DispatchResult {
        let mut escrow = Self::open_escrow(lease)?;
        ensure!(escrow.started_at.is_none(), Error::<T>::EscrowHasStarted);
        let depletes_at = rate::depletes_at(now, max_duration_ms);
        escrow.started_at = Some(now);
        escrow.depletes_at = Some(depletes_at);
        Escrows::<T>::insert(lease, escrow);
        Self::deposit_event(Event::EscrowStarted { lease, depletes_at });
        Ok(())
    }

    /// Pays what is owed for a lease and gives the rest of the deposit back to the tenant.
    ///
    /// A part that its receiver cannot be credited with (less than the existential deposit, to an account that does
    /// not exist) stays with the tenant, so that no close can be blocked and no coin is lost.
    pub fn close(lease: LeaseId, charge: Charge) -> Result<Settlement, DispatchError> {
        let mut escrow = Self::open_escrow(lease)?;
        let Escrow { deposit, rate_per_hour, unit, .. } = escrow;
        let owed = match charge {
            Charge::Nothing => 0,
            Charge::Time(ms) => rate::owed(unit, deposit, rate_per_hour, ms),
            Charge::ProRata(ms) => rate::owed_pro_rata(deposit, rate_per_hour, ms),
            Charge::Everything => deposit,
        };
        let fee_due = rate::fee(owed, CurrentParams::<T>::get().fee_ppm);
        let share_due = owed.checked_sub(fee_due).ok_or(Error::<T>::Overflow)?;
        let share = Self::pay(&escrow.tenant, &escrow.provider, share_due)?;
        let fee = Self::pay(&escrow.tenant, &Self::treasury(), fee_due)?;
        let paid = share.checked_add(fee).ok_or(Error::<T>::Overflow)?;
        let refunded = deposit.checked_sub(paid).ok_or(Error::<T>::Overflow)?;
        if refunded > 0 {
            T::Currency::release(&HoldReason::Escrow.into(), &escrow.tenant, refunded, Precision::Exact)?;
        }
        let total = TotalEscrowed::<T>::get().checked_sub(deposit).ok_or(Error::<T>::Overflow)?;
        TotalEscrowed::<T>::put(total);
        escrow.paid = paid;
        escrow.fee = fee;
        escrow.state = EscrowState::Closed;
        Escrows::<T>::insert(lease, escrow);
        Self::deposit_event(Event::EscrowClosed { lease, paid, fee, refunded });
        Ok(Settlement { paid, fee, refunded })
    }

    /// What is held of `tenant` for its open escrows.
    pub fn held(tenant: &AccountId) -> Balance {
        T::Currency::balance_on_hold(&HoldReason::Escrow.into(), tenant)
    }

    fn open_escrow(lease: LeaseId) -> Result<Escrow, DispatchError> {
        let escrow = Self::escrow(lease)?;
        ensure!(escrow.state == EscrowState::Open, Error::<T>::EscrowIsClosed);
        Ok(escrow)
    }

    /// Moves `amount` out of what is held of `tenant`. Returns what was moved: all of it, or nothing where `to`
    /// cannot be credited with it.
    fn pay(tenant: &AccountId, to: &AccountId, amount: Balance) -> Result<Balance, DispatchError> {
        if amount == 0 || T::Currency::can_deposit(to, amount, Provenance::Extant) != DepositConsequence::Success {
            return Ok(0);
        }
        // By force: locks on the tenant's account must not keep a provider from being paid.
        T::Currency::transfer_on_hold(
            &HoldReason::Escrow.into(),
            tenant,
            to,
            amount,
            Precision::Exact,
            Restriction::Free,
            Fortitude::Force,
        )
    }
}
