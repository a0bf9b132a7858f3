//! Changes of balances with one read and one write of the account.
//!
//! The balances pallet reads an account eight times for one credit or debit: for its balance, for what may be taken, for
//! its references and to write it. Fees and escrows make up to eleven of them in one extrinsic. [`Coins`] does what the
//! pallet does, with the same events, where a change leaves the account's references as they are; every other change is
//! made by the pallet itself (docs/adr/0088).

use crate::{AccountId, Balance, Balances, Runtime, RuntimeHoldReason};
use frame_support::{
    dispatch::DispatchResult,
    traits::{
        fungible::{Balanced, Dust, Inspect, InspectHold, MutateHold, Unbalanced, UnbalancedHold},
        tokens::{DepositConsequence, Fortitude, Precision, Preservation, Provenance, WithdrawConsequence},
    },
};
use frame_system::{Account, AccountInfo};
use pallet_balances::{AccountData, Holds};
use sp_runtime::DispatchError;

type Record = AccountInfo<<Runtime as frame_system::Config>::Nonce, AccountData<Balance>>;

/// The chain's coins, as [`Balances`] keeps them.
pub struct Coins;

fn existential_deposit() -> Balance {
    <Runtime as pallet_balances::Config>::ExistentialDeposit::get()
}

/// The record of an account that exists by its own coins. With another free balance that is not below the existential
/// deposit its references stay as they are. None for any other account.
fn self_sufficient(who: &AccountId) -> Option<Record> {
    let record = Account::<Runtime>::get(who);
    let is_counted = record.consumers > 0 || (record.data.reserved == 0 && record.data.frozen == 0);
    let provides = record.providers > 0 && record.data.free >= existential_deposit();
    (record.data.flags.is_new_logic() && is_counted && provides).then_some(record)
}

/// Returns the free balance after `amount` is taken, if the strictest checks allow it.
fn free_after(data: &AccountData<Balance>, amount: Balance) -> Option<Balance> {
    let frozen = data.frozen.saturating_sub(data.reserved);
    data.free.checked_sub(amount).filter(|free| *free >= existential_deposit().max(frozen))
}

impl Inspect<AccountId> for Coins {
    type Balance = Balance;

    fn total_issuance() -> Balance {
        <Balances as Inspect<_>>::total_issuance()
    }

    fn active_issuance() -> Balance {
        <Balances as Inspect<_>>::active_issuance()
    }

    fn minimum_balance() -> Balance {
        existential_deposit()
    }

    fn total_balance(who: &AccountId) -> Balance {
        <Balances as Inspect<_>>::total_balance(who)
    }

    fn balance(who: &AccountId) -> Balance {
        <Balances as Inspect<_>>::balance(who)
    }

    fn reducible_balance(who: &AccountId, preservation: Preservation, force: Fortitude) -> Balance {
        <Balances as Inspect<_>>::reducible_balance(who, preservation, force)
    }

    fn can_deposit(who: &AccountId, amount: Balance, provenance: Provenance) -> DepositConsequence {
        <Balances as Inspect<_>>::can_deposit(who, amount, provenance)
    }

    fn can_withdraw(who: &AccountId, amount: Balance) -> WithdrawConsequence<Balance> {
        let fits = self_sufficient(who).and_then(|record| free_after(&record.data, amount));
        match fits {
            Some(_) => WithdrawConsequence::Success,
            None => <Balances as Inspect<_>>::can_withdraw(who, amount),
        }
    }
}

impl Unbalanced<AccountId> for Coins {
    fn handle_dust(Dust(amount): Dust<AccountId, Self>) {
        <Balances as Unbalanced<_>>::handle_raw_dust(amount);
    }

    fn write_balance(who: &AccountId, amount: Balance) -> Result<Option<Balance>, DispatchError> {
        <Balances as Unbalanced<_>>::write_balance(who, amount)
    }

    fn set_total_issuance(amount: Balance) {
        <Balances as Unbalanced<_>>::set_total_issuance(amount);
    }

    fn decrease_balance(
        who: &AccountId,
        amount: Balance,
        precision: Precision,
        preservation: Preservation,
        force: Fortitude,
    ) -> Result<Balance, DispatchError> {
        if let Some(mut record) = self_sufficient(who) {
            if let Some(free) = free_after(&record.data, amount) {
                record.data.free = free;
                Account::<Runtime>::insert(who, record);
                return Ok(amount);
            }
        }
        <Balances as Unbalanced<_>>::decrease_balance(who, amount, precision, preservation, force)
    }

    fn increase_balance(who: &AccountId, amount: Balance, precision: Precision) -> Result<Balance, DispatchError> {
        if let Some(mut record) = self_sufficient(who) {
            let free = record.data.free.checked_add(amount);
            if let Some(free) = free.filter(|free| free.checked_add(record.data.reserved).is_some()) {
                record.data.free = free;
                Account::<Runtime>::insert(who, record);
                return Ok(amount);
            }
        }
        <Balances as Unbalanced<_>>::increase_balance(who, amount, precision)
    }
}

impl Balanced<AccountId> for Coins {
    type OnDropCredit = <Balances as Balanced<AccountId>>::OnDropCredit;
    type OnDropDebt = <Balances as Balanced<AccountId>>::OnDropDebt;

    fn done_deposit(who: &AccountId, amount: Balance) {
        <Balances as Balanced<_>>::done_deposit(who, amount);
    }

    fn done_withdraw(who: &AccountId, amount: Balance) {
        <Balances as Balanced<_>>::done_withdraw(who, amount);
    }

    fn done_issue(amount: Balance) {
        <Balances as Balanced<AccountId>>::done_issue(amount);
    }

    fn done_rescind(amount: Balance) {
        <Balances as Balanced<AccountId>>::done_rescind(amount);
    }
}

impl InspectHold<AccountId> for Coins {
    type Reason = RuntimeHoldReason;

    fn total_balance_on_hold(who: &AccountId) -> Balance {
        <Balances as InspectHold<_>>::total_balance_on_hold(who)
    }

    fn reducible_total_balance_on_hold(who: &AccountId, force: Fortitude) -> Balance {
        <Balances as InspectHold<_>>::reducible_total_balance_on_hold(who, force)
    }

    fn balance_on_hold(reason: &RuntimeHoldReason, who: &AccountId) -> Balance {
        <Balances as InspectHold<_>>::balance_on_hold(reason, who)
    }

    fn hold_available(reason: &RuntimeHoldReason, who: &AccountId) -> bool {
        <Balances as InspectHold<_>>::hold_available(reason, who)
    }
}

impl UnbalancedHold<AccountId> for Coins {
    /// Where this reason holds coins before and after, the account's references stay as they are.
    fn set_balance_on_hold(reason: &RuntimeHoldReason, who: &AccountId, amount: Balance) -> DispatchResult {
        let record = Account::<Runtime>::get(who);
        let is_steady = record.data.flags.is_new_logic() && record.providers > 0 && record.consumers > 0;
        if is_steady && amount > 0 {
            let mut holds = Holds::<Runtime>::get(who);
            let of_reason = holds.iter_mut().find(|hold| hold.id == *reason);
            let reserved = of_reason.and_then(|hold| {
                let others = record.data.reserved.checked_sub(hold.amount)?;
                hold.amount = amount;
                others.checked_add(amount)
            });
            if let Some(reserved) = reserved {
                Account::<Runtime>::insert(who, Record { data: AccountData { reserved, ..record.data }, ..record });
                Holds::<Runtime>::insert(who, holds);
                return Ok(());
            }
        }
        <Balances as UnbalancedHold<_>>::set_balance_on_hold(reason, who, amount)
    }
}

impl MutateHold<AccountId> for Coins {
    fn done_hold(reason: &RuntimeHoldReason, who: &AccountId, amount: Balance) {
        <Balances as MutateHold<_>>::done_hold(reason, who, amount);
    }

    fn done_release(reason: &RuntimeHoldReason, who: &AccountId, amount: Balance) {
        <Balances as MutateHold<_>>::done_release(reason, who, amount);
    }

    fn done_burn_held(reason: &RuntimeHoldReason, who: &AccountId, amount: Balance) {
        <Balances as MutateHold<_>>::done_burn_held(reason, who, amount);
    }

    fn done_transfer_on_hold(reason: &RuntimeHoldReason, from: &AccountId, to: &AccountId, amount: Balance) {
        <Balances as MutateHold<_>>::done_transfer_on_hold(reason, from, to, amount);
    }

    fn done_transfer_and_hold(reason: &RuntimeHoldReason, from: &AccountId, to: &AccountId, amount: Balance) {
        <Balances as MutateHold<_>>::done_transfer_and_hold(reason, from, to, amount);
    }
}
