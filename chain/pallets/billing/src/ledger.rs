//! The movements of coins of one extrinsic, for any number of leases: collected in memory, applied once.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::marker::PhantomData;
use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::{Inspect, MutateHold, Unbalanced, UnbalancedHold},
        tokens::{DepositConsequence, Precision, Provenance},
    },
};
use gantry_primitives::{AccountId, Balance, Escrow, Fee, Settlement};

use crate::{Config, Error, HoldReason, Pallet, Payees, TotalEscrowed};

/// Holds, payments and releases of tenants that [`Ledger::commit`] applies. If it is dropped, no coins move.
///
/// The result equals that of the single movements in their order, except that coins which a tenant receives as a
/// provider cannot be held in the same extrinsic.
pub struct Ledger<T> {
    tenants: BTreeMap<AccountId, Movements>,
    /// Accounts that can be credited with any amount at the commit.
    creditable: BTreeSet<AccountId>,
    /// The first payment to each account that does not have the existential deposit: (tenant, receiver). These are made
    /// before all others.
    openings: Vec<(AccountId, AccountId)>,
    _config: PhantomData<T>,
}

/// The movements of one tenant.
#[derive(Default)]
struct Movements {
    held: Balance,
    released: Balance,
    /// The amount that can be held in addition. Computed at the first hold.
    available: Option<Balance>,
    payments: Vec<(AccountId, Balance)>,
}

impl Movements {
    /// Returns the sum of all payments. None on overflow.
    fn paid(&self) -> Option<Balance> {
        self.payments.iter().try_fold(0, |sum: Balance, (_, amount)| sum.checked_add(*amount))
    }

    /// Returns the amount that is released beyond new holds.
    fn net_release(&self) -> Balance {
        self.released.saturating_sub(self.held)
    }
}

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { tenants: BTreeMap::new(), creditable: BTreeSet::new(), openings: Vec::new(), _config: PhantomData }
    }
}

impl<T: Config> Ledger<T> {
    /// Holds `amount` of `tenant` for escrows. Fails with `TenantCannotPay`.
    pub fn hold(&mut self, tenant: &AccountId, amount: Balance) -> DispatchResult {
        if amount == 0 {
            return Ok(());
        }
        let movements = self.movements_of(tenant);
        let available = match movements.available {
            Some(available) => available,
            None => Pallet::<T>::holdable(tenant).saturating_add(movements.released),
        };
        let rest = available.checked_sub(amount).ok_or(Error::<T>::TenantCannotPay)?;
        movements.available = Some(rest);
        movements.held = movements.held.checked_add(amount).ok_or(Error::<T>::Overflow)?;
        Ok(())
    }

    /// Releases `amount` of the coins of `tenant` that are on hold for escrows.
    pub fn release(&mut self, tenant: &AccountId, amount: Balance) {
        if amount == 0 {
            return;
        }
        let movements = self.movements_of(tenant);
        movements.released = movements.released.saturating_add(amount);
        movements.available = movements.available.map(|available| available.saturating_add(amount));
    }

    /// Pays `amount` of the coins on hold of `tenant` to `to`. Returns the paid amount: all of it, or 0 if `to` cannot
    /// be credited (with less than the existential deposit, if the account does not exist). Then it stays with the
    /// tenant, so that no closing can be blocked and no coin is lost.
    pub fn pay(&mut self, tenant: &AccountId, to: &AccountId, amount: Balance) -> Balance {
        if amount == 0 {
            return 0;
        }
        if !self.creditable.contains(to) {
            if !can_deposit::<T>(to, 1) {
                if !can_deposit::<T>(to, amount) {
                    return 0;
                }
                self.openings.push((tenant.clone(), to.clone()));
            }
            self.creditable.insert(to.clone());
        }
        let movements = self.movements_of(tenant);
        match movements.payments.iter_mut().find(|(receiver, _)| receiver == to) {
            // Cannot overflow: payments were on hold, and the total issuance fits its type.
            Some((_, sum)) => *sum = sum.saturating_add(amount),
            None => movements.payments.push((to.clone(), amount)),
        }
        amount
    }

    /// Whether `to` could be credited with `amount`.
    pub fn can_credit(&self, to: &AccountId, amount: Balance) -> bool {
        self.creditable.contains(to) || can_deposit::<T>(to, amount)
    }

    /// Whether all of `due` can be paid out of an escrow: its provider and the treasury can be credited.
    pub fn can_pay_due(&self, payees: &Payees, escrow: &Escrow, due: Balance) -> bool {
        let (share, Fee { treasury, .. }) = escrow.divide(due, payees.settler_ppm());
        (share == 0 || self.can_credit(&payees.provider, share))
            && (treasury == 0 || self.can_credit(&Pallet::<T>::treasury(), treasury))
    }

    /// Pays a fee to scheduler, settler and treasury. The share of an account that cannot be credited goes to the
    /// treasury. Returns the fee as it was paid.
    pub fn pay_fee(&mut self, tenant: &AccountId, payees: &Payees, due: Fee) -> Fee {
        let scheduler = payees.scheduler.as_ref().map_or(0, |who| self.pay(tenant, who, due.scheduler));
        let settler = payees.settler_account().map_or(0, |who| self.pay(tenant, who, due.settler));
        let rest = due.total().saturating_sub(scheduler).saturating_sub(settler);
        let treasury = match rest {
            0 => 0,
            _ => self.pay(tenant, &Pallet::<T>::treasury(), rest),
        };
        Fee { treasury, scheduler, settler }
    }

    /// Pays `due` out of an escrow: its fee, and the rest to the provider. Returns the provider's share and the fee, as
    /// they were paid.
    pub fn pay_due(
        &mut self,
        tenant: &AccountId,
        payees: &Payees,
        escrow: &mut Escrow,
        due: Balance,
    ) -> (Balance, Fee) {
        let (share, fee) = self.pay_divided(tenant, payees, escrow, due);
        escrow.pay(share, fee);
        (share, fee)
    }

    /// Divides `due` by the fee of an escrow, and pays the parts. The caller updates the escrow. Returns the provider's
    /// share and the fee, as they were paid.
    pub(crate) fn pay_divided(
        &mut self,
        tenant: &AccountId,
        payees: &Payees,
        escrow: &Escrow,
        due: Balance,
    ) -> (Balance, Fee) {
        let (share_due, fee_due) = escrow.divide(due, payees.settler_ppm());
        let share = self.pay(tenant, &payees.provider, share_due);
        let fee = self.pay_fee(tenant, payees, fee_due);
        (share, fee)
    }

    /// Pays the amount owed by a stopped escrow and releases the rest to the tenant. Does nothing if the escrow is
    /// closed.
    pub fn close(&mut self, tenant: &AccountId, payees: &Payees, escrow: &mut Escrow) -> Settlement {
        let (settlement, refunded) = self.roll_over(tenant, payees, escrow);
        self.release(tenant, refunded);
        Settlement { refunded, ..settlement }
    }

    /// Pays the amount owed by a stopped escrow, and closes it. Returns the settlement, and the rest: it stays on hold
    /// as the deposit of the escrow that continues this one.
    pub fn roll_over(&mut self, tenant: &AccountId, payees: &Payees, escrow: &mut Escrow) -> (Settlement, Balance) {
        if escrow.open {
            let due = escrow.accrued.saturating_sub(escrow.paid);
            self.pay_due(tenant, payees, escrow, due);
        }
        let left = escrow.close();
        let Escrow { paid, fee, scheduler_fee, settler_fee, .. } = *escrow;
        (Settlement { paid, fee, scheduler_fee, settler_fee, refunded: 0 }, left)
    }

    /// Applies the movements. The hold of a tenant changes once for all its payments. This equals a `transfer_on_hold`
    /// for each payment, with the same events; that would read and write the tenant's account and its holds for each
    /// receiver.
    pub fn commit(self) -> DispatchResult {
        let reason = HoldReason::Escrow.into();
        let (mut added, mut removed): (Balance, Balance) = (0, 0);
        for (tenant, movements) in &self.tenants {
            let more = movements.held.saturating_sub(movements.released);
            if more > 0 {
                T::Currency::hold(&reason, tenant, more).map_err(|_| Error::<T>::TenantCannotPay)?;
            }
            let paid = movements.paid().ok_or(Error::<T>::Overflow)?;
            let out = paid.checked_add(movements.net_release()).ok_or(Error::<T>::Overflow)?;
            if out > 0 {
                T::Currency::decrease_balance_on_hold(&reason, tenant, out, Precision::Exact)?;
            }
            added = added.checked_add(movements.held).ok_or(Error::<T>::Overflow)?;
            removed = removed
                .checked_add(movements.released)
                .and_then(|sum| sum.checked_add(paid))
                .ok_or(Error::<T>::Overflow)?;
        }
        let is_opening = |tenant, to| self.openings.iter().any(|(by, opened)| by == tenant && opened == to);
        for opening in [true, false] {
            for (tenant, movements) in &self.tenants {
                for (to, amount) in movements.payments.iter().filter(|(to, _)| is_opening(tenant, to) == opening) {
                    T::Currency::increase_balance(to, *amount, Precision::Exact)?;
                    T::Currency::done_transfer_on_hold(&reason, tenant, to, *amount);
                }
            }
        }
        for (tenant, movements) in &self.tenants {
            let less = movements.net_release();
            if less > 0 {
                T::Currency::increase_balance(tenant, less, Precision::Exact)?;
                T::Currency::done_release(&reason, tenant, less);
            }
        }
        if added != removed {
            TotalEscrowed::<T>::try_mutate(|total| {
                *total =
                    total.checked_add(added).and_then(|sum| sum.checked_sub(removed)).ok_or(Error::<T>::Overflow)?;
                Ok::<_, DispatchError>(())
            })?;
        }
        Ok(())
    }

    fn movements_of(&mut self, tenant: &AccountId) -> &mut Movements {
        // The key is cloned only once for each tenant.
        if !self.tenants.contains_key(tenant) {
            self.tenants.insert(tenant.clone(), Movements::default());
        }
        self.tenants.get_mut(tenant).expect("it was put there if it was not; qed")
    }
}

fn can_deposit<T: Config>(to: &AccountId, amount: Balance) -> bool {
    T::Currency::can_deposit(to, amount, Provenance::Extant) == DepositConsequence::Success
}
