use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{BillingUnit::*, Charge, EscrowState, Settlement};
use sp_runtime::DispatchError;

use crate::{mock::*, CurrentParams, Error, Escrows, Event, Params, TotalEscrowed};

fn settlement(paid: u128, fee: u128, refunded: u128) -> Settlement {
    Settlement { paid, fee, refunded }
}

#[test]
fn an_open_escrow_holds_its_deposit() {
    on_chain(|| {
        open(PROVIDER, Second);
        assert_eq!(Billing::held(&account(TENANT)), 2 * GTY);
        assert_eq!(TotalEscrowed::<Test>::get(), 2 * GTY);
        let opened =
            Event::EscrowOpened { lease: LEASE, tenant: account(TENANT), deposit: 2 * GTY, rate_per_hour: GTY };
        System::assert_last_event(opened.into());
    });
}

#[test]
fn a_lease_has_one_escrow() {
    on_chain(|| {
        open(PROVIDER, Second);
        assert_noop!(
            Billing::open(LEASE, account(TENANT), account(PROVIDER), 1, 1, Second),
            Error::<Test>::EscrowExists
        );
        assert_noop!(Billing::close(8, Charge::Nothing), Error::<Test>::NoSuchEscrow);
    });
}

#[test]
fn a_tenant_who_cannot_pay_opens_nothing() {
    on_chain(|| {
        let open = |who, deposit| Billing::open(LEASE, account(who), account(PROVIDER), deposit, GTY, Second);
        assert_noop!(open(TENANT, 10 * GTY), Error::<Test>::TenantCannotPay);
        assert_noop!(open(NOBODY, 1), Error::<Test>::TenantCannotPay);
        assert!(!Billing::can_hold(&account(TENANT), 10 * GTY));
        assert!(Billing::can_hold(&account(TENANT), 10 * GTY - ED));
        assert_ok!(open(TENANT, 10 * GTY - ED));
    });
}

#[test]
fn billing_begins_once() {
    on_chain(|| {
        open(PROVIDER, Second);
        assert_eq!(escrow().depletes_at, None);
        assert_ok!(Billing::start(LEASE, 2 * HOUR, NOW));
        assert_eq!((escrow().started_at, escrow().depletes_at), (Some(NOW), Some(NOW + 2 * HOUR)));
        System::assert_last_event(Event::EscrowStarted { lease: LEASE, depletes_at: NOW + 2 * HOUR }.into());
        assert_noop!(Billing::start(LEASE, HOUR, NOW), Error::<Test>::EscrowHasStarted);
    });
}

#[test]
fn a_closed_escrow_has_paid_provider_treasury_and_tenant() {
    on_chain(|| {
        open(PROVIDER, Second);
        assert_eq!(Billing::close(LEASE, Charge::Time(HOUR)), Ok(settlement(GTY, GTY / 10, GTY)));
        assert_eq!(worth(&account(TENANT)), 9 * GTY);
        assert_eq!(worth(&account(PROVIDER)), GTY + 9 * GTY / 10);
        assert_eq!(worth(&Billing::treasury()), ED + GTY / 10);
        assert_eq!((Billing::held(&account(TENANT)), TotalEscrowed::<Test>::get()), (0, 0));
        assert_eq!(escrow().state, EscrowState::Closed);
        let closed = Event::EscrowClosed { lease: LEASE, paid: GTY, fee: GTY / 10, refunded: GTY };
        System::assert_last_event(closed.into());
    });
}

#[test]
fn an_escrow_is_closed_once() {
    on_chain(|| {
        open(PROVIDER, Second);
        assert_ok!(Billing::close(LEASE, Charge::Everything));
        assert_noop!(Billing::close(LEASE, Charge::Everything), Error::<Test>::EscrowIsClosed);
        assert_noop!(Billing::start(LEASE, HOUR, NOW), Error::<Test>::EscrowIsClosed);
    });
}

#[test]
fn each_charge_costs_what_it_says() {
    let paid = |unit, charge| {
        let mut paid = 0;
        on_chain(|| {
            open(PROVIDER, unit);
            paid = Billing::close(LEASE, charge).expect("it closes").paid;
        });
        paid
    };
    assert_eq!(paid(Second, Charge::Nothing), 0);
    assert_eq!(paid(Hour, Charge::Nothing), 0);
    assert_eq!(paid(Second, Charge::Time(HOUR / 2)), GTY / 2);
    assert_eq!(paid(Hour, Charge::Time(HOUR / 2)), GTY);
    assert_eq!(paid(Hour, Charge::ProRata(HOUR / 2)), GTY / 2);
    assert_eq!(paid(Day, Charge::Time(1)), 2 * GTY, "never more than the deposit");
    assert_eq!(paid(Second, Charge::Time(u64::MAX)), 2 * GTY);
    assert_eq!(paid(Second, Charge::Everything), 2 * GTY);
}

#[test]
fn a_lease_that_costs_nothing_opens_and_closes() {
    on_chain(|| {
        assert_ok!(Billing::open(LEASE, account(TENANT), account(PROVIDER), 0, 0, Second));
        assert_eq!(Billing::close(LEASE, Charge::Everything), Ok(settlement(0, 0, 0)));
    });
}

#[test]
fn a_share_that_the_provider_cannot_be_credited_with_stays_with_the_tenant() {
    on_chain(|| {
        open(NOBODY, Second);
        // A millisecond of the rate, less the fee, is below the existential deposit.
        let owed = GTY / u128::from(HOUR);
        let fee = owed / 10;
        assert_eq!(Billing::close(LEASE, Charge::Time(1)), Ok(settlement(fee, fee, 2 * GTY - fee)));
        assert_eq!(worth(&account(NOBODY)), 0);
    });
}

#[test]
fn a_share_that_makes_an_account_is_paid() {
    on_chain(|| {
        open(NOBODY, Second);
        assert_ok!(Billing::close(LEASE, Charge::Time(HOUR)));
        assert_eq!(worth(&account(NOBODY)), 9 * GTY / 10);
    });
}

#[test]
fn a_fee_that_an_empty_treasury_cannot_be_credited_with_stays_with_the_tenant() {
    on_chain_with_treasury(0, || {
        open(PROVIDER, Second);
        let owed = GTY / u128::from(HOUR);
        let share = owed - owed / 10;
        assert_eq!(Billing::close(LEASE, Charge::Time(1)), Ok(settlement(share, 0, 2 * GTY - share)));
    });
    on_chain_with_treasury(0, || {
        open(PROVIDER, Second);
        assert_ok!(Billing::close(LEASE, Charge::Everything));
        assert_eq!(worth(&Billing::treasury()), 2 * GTY / 10, "a fee above the existential deposit opens its account");
    });
}

#[test]
fn only_root_changes_the_fee_and_never_above_everything() {
    on_chain(|| {
        let params = |fee_ppm| Params { fee_ppm };
        assert_noop!(Billing::set_params(RuntimeOrigin::signed(account(TENANT)), params(1)), DispatchError::BadOrigin);
        assert_noop!(Billing::set_params(RuntimeOrigin::root(), params(1_000_001)), Error::<Test>::FeeTooHigh);
        assert_ok!(Billing::set_params(RuntimeOrigin::root(), params(1_000_000)));
        assert_eq!(CurrentParams::<Test>::get(), params(1_000_000));
        open(PROVIDER, Second);
        assert_eq!(Billing::close(LEASE, Charge::Everything), Ok(settlement(2 * GTY, 2 * GTY, 0)));
    });
}

#[test]
fn the_check_of_all_escrows_finds_a_wrong_one() {
    on_chain(|| {
        open(PROVIDER, Second);
        let good = escrow();
        let mut wrong = good.clone();
        wrong.deposit += 1;
        Escrows::<Test>::insert(LEASE, wrong);
        assert!(Billing::do_try_state().is_err());
        Escrows::<Test>::insert(LEASE, good);
        TotalEscrowed::<Test>::put(1);
        assert!(Billing::do_try_state().is_err());
        TotalEscrowed::<Test>::put(2 * GTY);
    });
}
