mod fees;

use frame_support::{
    assert_ok, assert_storage_noop,
    traits::{
        fungible::{Inspect, InspectHold, MutateHold},
        tokens::{Fortitude, Precision, Preservation, Provenance, Restriction},
    },
};
use gantry_primitives::{AccountId, Balance, BillingUnit, Escrow, Fee, Settlement};

use crate::{mock::*, Error, HoldReason, Ledger, Payees, TotalEscrowed};

type Coins = Ledger<Test>;

/// An escrow of [`TENANT`] that owes `owed` of the two coins that are held for it.
fn owing(owed: Balance) -> Escrow {
    let mut ledger = Coins::default();
    assert_ok!(ledger.hold(&account(TENANT), 2 * GTY));
    assert_ok!(ledger.commit());
    let escrow = Escrow::new(2 * GTY, GTY, BillingUnit::Second).with_fee(FEE_PPM, SCHEDULER_PPM);
    Escrow { accrued: owed, ..escrow }
}

/// A provider alone: all of the fee goes to the treasury.
fn payees(provider: u8) -> Payees {
    Payees { provider: account(provider), scheduler: None, settler: None }
}

/// What goes to a provider, and the fee to the treasury alone.
fn settlement(paid: Balance, fee: Balance, refunded: Balance) -> Settlement {
    Settlement { paid, fee, scheduler_fee: 0, settler_fee: 0, refunded }
}

/// Closes an escrow of [`TENANT`] by itself.
fn close(provider: u8, escrow: &mut Escrow) -> Settlement {
    let mut ledger = Coins::default();
    let closed = ledger.close(&account(TENANT), &payees(provider), escrow);
    assert_ok!(ledger.commit());
    closed
}

#[test]
fn what_is_held_stays_on_the_account_of_the_tenant() {
    on_chain(|| {
        let escrow = owing(0);
        assert_eq!(Billing::held(&account(TENANT)), escrow.held());
        assert_eq!(TotalEscrowed::<Test>::get(), 2 * GTY);
        assert_eq!(total_balance(&account(TENANT)), 10 * GTY);
        let mut ledger = Coins::default();
        ledger.release(&account(TENANT), 2 * GTY);
        assert_ok!(ledger.commit());
    });
}

#[test]
fn a_ledger_that_is_dropped_moves_nothing() {
    on_chain(|| {
        assert_storage_noop!({
            let mut ledger = Coins::default();
            assert_ok!(ledger.hold(&account(TENANT), GTY));
            ledger.release(&account(TENANT), GTY / 2);
            ledger.pay(&account(TENANT), &account(PROVIDER), GTY / 2);
        });
    });
}

#[test]
fn a_tenant_cannot_have_more_held_than_it_has_over_all_holds_of_a_ledger() {
    on_chain(|| {
        let tenant = account(TENANT);
        let mut ledger = Coins::default();
        assert_ok!(ledger.hold(&tenant, 6 * GTY));
        assert_eq!(ledger.hold(&tenant, 4 * GTY), Err(Error::<Test>::TenantCannotPay.into()), "a deposit stays free");
        assert_ok!(ledger.hold(&tenant, 4 * GTY - ED));
        assert_eq!(ledger.hold(&tenant, 1), Err(Error::<Test>::TenantCannotPay.into()));
        ledger.release(&tenant, 1);
        assert_ok!(ledger.hold(&tenant, 1));
        assert_ok!(ledger.commit());
        assert_eq!(Billing::held(&tenant), 10 * GTY - ED);
        assert!(!Billing::can_hold(&tenant, 1));
        assert_eq!(Coins::default().hold(&account(NOBODY), 1), Err(Error::<Test>::TenantCannotPay.into()));
        let mut ledger = Coins::default();
        ledger.release(&tenant, 10 * GTY - ED);
        assert_ok!(ledger.commit());
    });
}

#[test]
fn a_closed_escrow_has_paid_provider_treasury_and_tenant() {
    on_chain(|| {
        let mut escrow = owing(GTY);
        assert_eq!(close(PROVIDER, &mut escrow), settlement(GTY, GTY / 10, GTY));
        assert_eq!(total_balance(&account(TENANT)), 9 * GTY);
        assert_eq!(total_balance(&account(PROVIDER)), GTY + 9 * GTY / 10);
        assert_eq!(total_balance(&Billing::treasury()), ED + GTY / 10);
        assert_eq!((Billing::held(&account(TENANT)), TotalEscrowed::<Test>::get()), (0, 0));
        assert_eq!((escrow.open, escrow.paid, escrow.fee), (false, GTY, GTY / 10));
    });
}

#[test]
fn an_escrow_is_closed_once() {
    on_chain(|| {
        let mut escrow = owing(GTY);
        let first = close(PROVIDER, &mut escrow);
        assert_storage_noop!({
            assert_eq!(close(PROVIDER, &mut escrow), Settlement { refunded: 0, ..first });
        });
    });
}

#[test]
fn what_was_paid_before_the_close_is_not_paid_again() {
    on_chain(|| {
        let mut escrow = owing(GTY);
        let mut ledger = Coins::default();
        let (tenant, provider) = (account(TENANT), account(PROVIDER));
        let paid = ledger.pay_due(&tenant, &payees(PROVIDER), &mut escrow, GTY / 2);
        assert_eq!(paid, (9 * GTY / 20, Fee::of_treasury(GTY / 20)));
        assert_ok!(ledger.commit());
        assert_eq!((escrow.held(), Billing::held(&tenant)), (3 * GTY / 2, 3 * GTY / 2));
        assert_eq!(close(PROVIDER, &mut escrow), settlement(GTY, GTY / 10, GTY));
        assert_eq!(total_balance(&provider), GTY + 9 * GTY / 10);
    });
}

#[test]
fn a_share_that_the_provider_cannot_be_credited_with_stays_with_the_tenant() {
    on_chain(|| {
        let mut escrow = owing(ED);
        assert_eq!(close(NOBODY, &mut escrow), settlement(ED / 10, ED / 10, 2 * GTY - ED / 10));
        assert_eq!(total_balance(&account(NOBODY)), 0);
    });
}

#[test]
fn a_share_that_makes_an_account_is_paid_and_so_are_the_smaller_ones_after_it() {
    on_chain(|| {
        let mut ledger = Coins::default();
        let nobody = account(NOBODY);
        assert_ok!(ledger.hold(&account(TENANT), GTY));
        assert_ok!(ledger.hold(&account(OTHER_TENANT), GTY));
        assert_eq!(ledger.pay(&account(OTHER_TENANT), &nobody, ED - 1), 0);
        assert_eq!(ledger.pay(&account(OTHER_TENANT), &nobody, ED), ED);
        // Comes first in the order of accounts, and is below the existential deposit.
        assert_eq!(ledger.pay(&account(TENANT), &nobody, 1), 1);
        assert_eq!(ledger.pay(&account(OTHER_TENANT), &nobody, 2), 2);
        ledger.release(&account(TENANT), GTY - 1);
        ledger.release(&account(OTHER_TENANT), GTY - ED - 2);
        assert_ok!(ledger.commit());
        assert_eq!(total_balance(&nobody), ED + 3);
        assert_eq!(TotalEscrowed::<Test>::get(), 0);
    });
}

#[test]
fn a_provider_whose_coins_are_all_held_is_paid_only_with_what_makes_an_account() {
    on_chain(|| {
        let provider = account(PROVIDER);
        // A second provider reference lets everything be held.
        System::inc_providers(&provider);
        assert_ok!(Balances::hold(&HoldReason::Escrow.into(), &provider, GTY));
        TotalEscrowed::<Test>::put(GTY);
        let mut escrow = owing(ED);
        assert_eq!(close(PROVIDER, &mut escrow).paid, ED / 10, "the fee alone");
        let mut escrow = owing(2 * ED);
        assert_eq!(close(PROVIDER, &mut escrow).paid, 2 * ED);
        assert_eq!(total_balance(&provider), GTY + 2 * ED - 2 * ED / 10);
    });
}

#[test]
fn a_fee_that_an_empty_treasury_cannot_be_credited_with_stays_with_the_tenant() {
    on_chain_with_treasury(0, || {
        let mut escrow = owing(ED);
        assert_eq!(close(PROVIDER, &mut escrow), settlement(9 * ED / 10, 0, 2 * GTY - 9 * ED / 10));
    });
    on_chain_with_treasury(0, || {
        let mut escrow = owing(2 * GTY);
        close(PROVIDER, &mut escrow);
        assert_eq!(
            total_balance(&Billing::treasury()),
            2 * GTY / 10,
            "a fee above the existential deposit opens its account"
        );
    });
}

#[test]
fn locks_on_a_tenants_coins_do_not_keep_a_provider_from_being_paid() {
    use frame_support::traits::{LockableCurrency, WithdrawReasons};
    on_chain(|| {
        let mut escrow = owing(2 * GTY);
        Balances::set_lock(*b"anything", &account(TENANT), 10 * GTY, WithdrawReasons::all());
        assert_eq!(close(PROVIDER, &mut escrow).paid, 2 * GTY);
        assert_eq!(total_balance(&account(TENANT)), 8 * GTY);
    });
}

/// Often about the existential deposit, at times more than there is.
fn any_amount(rng: &mut SplitMix64) -> Balance {
    match rng.below(4) {
        0 => Balance::from(rng.below(2 * ED as u64)),
        1 => ED - 1 + Balance::from(rng.below(3)),
        2 => Balance::from(rng.below(5 * GTY as u64)),
        _ => Balance::from(rng.below(3)),
    }
}

#[derive(Clone, Debug)]
enum Movement {
    Hold(AccountId, Balance),
    Release(AccountId, Balance),
    Pay(AccountId, AccountId, Balance),
}

fn movements(seed: u64) -> Vec<Movement> {
    let mut rng = SplitMix64(seed);
    let receivers = [PROVIDER, NOBODY, 20, 21, 22];
    (0..60)
        .map(|_| {
            let tenant = account(rng.pick(&[TENANT, OTHER_TENANT]));
            match rng.below(5) {
                0 | 1 => Movement::Hold(tenant, any_amount(&mut rng)),
                2 => Movement::Release(tenant, any_amount(&mut rng)),
                _ => Movement::Pay(tenant, account(rng.pick(&receivers)), any_amount(&mut rng)),
            }
        })
        .collect()
}

/// Makes a movement by itself, by the balances pallet alone. Returns what was moved; nothing where it is refused.
fn singly(movement: &Movement) -> Balance {
    let reason = HoldReason::Escrow.into();
    match movement {
        Movement::Hold(tenant, amount) => {
            if *amount > Balances::reducible_balance(tenant, Preservation::Preserve, Fortitude::Force) {
                return 0;
            }
            assert_ok!(Balances::hold(&reason, tenant, *amount));
            *amount
        }
        Movement::Release(tenant, amount) => Balances::release(&reason, tenant, *amount, Precision::Exact).unwrap(),
        Movement::Pay(tenant, to, amount) => {
            if *amount == 0 || Balances::can_deposit(to, *amount, Provenance::Extant).into_result().is_err() {
                return 0;
            }
            let (exact, free, force) = (Precision::Exact, Restriction::Free, Fortitude::Force);
            Balances::transfer_on_hold(&reason, tenant, to, *amount, exact, free, force).unwrap()
        }
    }
}

fn by_ledger(ledger: &mut Coins, movement: &Movement) -> Balance {
    match movement {
        Movement::Hold(tenant, amount) => ledger.hold(tenant, *amount).map_or(0, |()| *amount),
        Movement::Release(tenant, amount) => {
            ledger.release(tenant, *amount);
            *amount
        }
        Movement::Pay(tenant, to, amount) => ledger.pay(tenant, to, *amount),
    }
}

fn every_account() -> Vec<(AccountId, Balance, Balance)> {
    let mut all: Vec<_> = frame_system::Account::<Test>::iter()
        .map(|(who, info)| (who, info.data.free, info.data.reserved))
        .filter(|(_, free, held)| free + held > 0)
        .collect();
    all.sort();
    all
}

#[test]
fn a_ledger_comes_to_what_each_movement_by_itself_comes_to() {
    for seed in 0..60 {
        // What each movement came to singly; a release or payment of more than is held is left out.
        let mut made = Vec::new();
        let mut singly_accounts = Vec::new();
        new_chain(ED).execute_with(|| {
            for movement in movements(seed) {
                let held = |tenant| Balances::balance_on_hold(&HoldReason::Escrow.into(), tenant);
                let can_be = match &movement {
                    Movement::Hold(..) => true,
                    Movement::Release(tenant, amount) | Movement::Pay(tenant, _, amount) => *amount <= held(tenant),
                };
                if can_be {
                    made.push((singly(&movement), movement));
                }
            }
            singly_accounts = every_account();
        });
        assert!(made.len() > 20, "seed {seed} makes too little");
        on_chain(|| {
            let mut ledger = Coins::default();
            for (step, (moved, movement)) in made.iter().enumerate() {
                // At times in one extrinsic, at times in several.
                if step % 23 == 22 {
                    assert_ok!(core::mem::take(&mut ledger).commit());
                }
                assert_eq!(by_ledger(&mut ledger, movement), *moved, "seed {seed}, step {step}: {movement:?}");
            }
            assert_ok!(ledger.commit());
            assert_eq!(every_account(), singly_accounts, "seed {seed}");
        });
    }
}

#[test]
fn the_check_of_all_holds_finds_a_wrong_total() {
    on_chain(|| {
        let mut escrow = owing(0);
        TotalEscrowed::<Test>::put(1);
        assert!(Billing::do_try_state().is_err());
        TotalEscrowed::<Test>::put(2 * GTY);
        close(PROVIDER, &mut escrow);
    });
}
