//! The coins that one extrinsic moves, however many leases it touches: gathered in memory, moved once.

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

/// What is to be held of, paid by and given back to tenants when [`Ledger::commit`] is called. Dropped without it,
/// nothing moves.
///
/// It comes to what each movement by itself would come to, in the order they were made; only what a tenant receives
/// as a provider cannot be held in the same extrinsic.
pub struct Ledger<T> {
    tenants: BTreeMap<AccountId, Sheet>,
    /// Who can be credited with any amount when this is committed.
    creditable: BTreeSet<AccountId>,
    /// The first payment to each account without the existential deposit: (tenant, receiver). It is made before all
    /// others.
    openings: Vec<(AccountId, AccountId)>,
    _config: PhantomData<T>,
}

/// The movements of one tenant.
#[derive(Default)]
struct Sheet {
    held: Balance,
    released: Balance,
    /// What else could be held; known from the first hold on.
    available: Option<Balance>,
    payments: Vec<(AccountId, Balance)>,
}

impl Sheet {
    /// The sum of all payments; None where it overflows.
    fn paid(&self) -> Option<Balance> {
        self.payments.iter().try_fold(0, |sum: Balance, (_, amount)| sum.checked_add(*amount))
    }

    /// What is released beyond what is held anew.
    fn given_back(&self) -> Balance {
        self.released.saturating_sub(self.held)
    }
}

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { tenants: BTreeMap::new(), creditable: BTreeSet::new(), openings: Vec::new(), _config: PhantomData }
    }
}

impl<T: Config> Ledger<T> {
    /// Holds `amount` of `tenant` for escrows, or `TenantCannotPay`.
    pub fn hold(&mut self, tenant: &AccountId, amount: Balance) -> DispatchResult {
        if amount == 0 {
            return Ok(());
        }
        let sheet = self.sheet(tenant);
        let available = match sheet.available {
            Some(available) => available,
            None => Pallet::<T>::holdable(tenant).saturating_add(sheet.released),
        };
        let rest = available.checked_sub(amount).ok_or(Error::<T>::TenantCannotPay)?;
        sheet.available = Some(rest);
        sheet.held = sheet.held.checked_add(amount).ok_or(Error::<T>::Overflow)?;
        Ok(())
    }

    /// Gives `amount` of what is held for escrows back to `tenant`.
    pub fn release(&mut self, tenant: &AccountId, amount: Balance) {
        if amount == 0 {
            return;
        }
        let sheet = self.sheet(tenant);
        sheet.released = sheet.released.saturating_add(amount);
        sheet.available = sheet.available.map(|available| available.saturating_add(amount));
    }

    /// Pays `amount` of what is held of `tenant` to `to`. Returns what is paid: all of it, or nothing where `to`
    /// cannot be credited with it (less than the existential deposit, to an account that does not exist). Then it
    /// stays with the tenant, so that no close can be blocked and no coin is lost.
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
        let sheet = self.sheet(tenant);
        match sheet.payments.iter_mut().find(|(receiver, _)| receiver == to) {
            // Cannot overflow: what is paid was held, and all coins together fit.
            Some((_, sum)) => *sum = sum.saturating_add(amount),
            None => sheet.payments.push((to.clone(), amount)),
        }
        amount
    }

    /// Whether `to` could be credited with `amount`.
    pub fn can_credit(&self, to: &AccountId, amount: Balance) -> bool {
        self.creditable.contains(to) || can_deposit::<T>(to, amount)
    }

    /// Whether all of `due` could be paid out of an escrow: its provider and the treasury could be credited.
    pub fn can_pay_due(&self, payees: &Payees, escrow: &Escrow, due: Balance) -> bool {
        let (share, Fee { treasury, .. }) = escrow.divide(due, payees.settler_ppm());
        (share == 0 || self.can_credit(&payees.provider, share))
            && (treasury == 0 || self.can_credit(&Pallet::<T>::treasury(), treasury))
    }

    /// Pays a fee to scheduler, settler and treasury. A share that nobody can be credited with goes to the treasury.
    /// Returns what was paid.
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

    /// Pays `due` by the fee of an escrow, which the caller updates. Returns the provider's share and the fee, as they were
    /// paid.
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

    /// Pays what a stopped escrow owes and gives the rest back to the tenant. Nothing happens to a closed one.
    pub fn close(&mut self, tenant: &AccountId, payees: &Payees, escrow: &mut Escrow) -> Settlement {
        let (settlement, refunded) = self.carry_on(tenant, payees, escrow);
        self.release(tenant, refunded);
        Settlement { refunded, ..settlement }
    }

    /// Pays what a stopped escrow owes, and closes it. Returns besides what is left of it: it stays held, as the deposit
    /// of the escrow by which this one goes on.
    pub fn carry_on(&mut self, tenant: &AccountId, payees: &Payees, escrow: &mut Escrow) -> (Settlement, Balance) {
        if escrow.open {
            let due = escrow.accrued.saturating_sub(escrow.paid);
            self.pay_due(tenant, payees, escrow, due);
        }
        let left = escrow.close();
        let Escrow { paid, fee, scheduler_fee, settler_fee, .. } = *escrow;
        (Settlement { paid, fee, scheduler_fee, settler_fee, refunded: 0 }, left)
    }

    /// Moves the coins. The hold of a tenant changes once for all its payments, which come to the same as a
    /// `transfer_on_hold` for each, with the same events: a transfer would read and write the tenant's account and its
    /// holds anew for each receiver.
    pub fn commit(self) -> DispatchResult {
        let reason = HoldReason::Escrow.into();
        let (mut added, mut removed): (Balance, Balance) = (0, 0);
        for (tenant, sheet) in &self.tenants {
            let more = sheet.held.saturating_sub(sheet.released);
            if more > 0 {
                T::Currency::hold(&reason, tenant, more).map_err(|_| Error::<T>::TenantCannotPay)?;
            }
            let paid = sheet.paid().ok_or(Error::<T>::Overflow)?;
            let out = paid.checked_add(sheet.given_back()).ok_or(Error::<T>::Overflow)?;
            if out > 0 {
                T::Currency::decrease_balance_on_hold(&reason, tenant, out, Precision::Exact)?;
            }
            added = added.checked_add(sheet.held).ok_or(Error::<T>::Overflow)?;
            removed = removed
                .checked_add(sheet.released)
                .and_then(|sum| sum.checked_add(paid))
                .ok_or(Error::<T>::Overflow)?;
        }
        let is_opening = |tenant, to| self.openings.iter().any(|(by, opened)| by == tenant && opened == to);
        for opening in [true, false] {
            for (tenant, sheet) in &self.tenants {
                for (to, amount) in sheet.payments.iter().filter(|(to, _)| is_opening(tenant, to) == opening) {
                    T::Currency::increase_balance(to, *amount, Precision::Exact)?;
                    T::Currency::done_transfer_on_hold(&reason, tenant, to, *amount);
                }
            }
        }
        for (tenant, sheet) in &self.tenants {
            let less = sheet.given_back();
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

    fn sheet(&mut self, tenant: &AccountId) -> &mut Sheet {
        // Cloned only where there is none, which is once for each tenant.
        if !self.tenants.contains_key(tenant) {
            self.tenants.insert(tenant.clone(), Sheet::default());
        }
        self.tenants.get_mut(tenant).expect("it was put there if it was not; qed")
    }
}

fn can_deposit<T: Config>(to: &AccountId, amount: Balance) -> bool {
    T::Currency::can_deposit(to, amount, Provenance::Extant) == DepositConsequence::Success
}
