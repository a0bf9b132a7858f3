//! Extending leases and topping up deposits.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    BillingUnit::{Hour, Second},
    TaskKind::{Rental, Service},
};
use pallet_gantry_billing::Error as BillingError;

use crate::{mock::*, Error, Event};

#[test]
fn a_tenant_buys_more_time_at_the_rate_of_its_lease() {
    on_chain(|| {
        open(1, Service, Second, 2 * HOUR);
        change_host(|host| host.ask.cpu_core_per_hour = 7 * RATE);
        assert_ok!(Leases::extend(signed(TENANT), 1, HOUR));
        assert_eq!(lease(1).escrow.deposit, 3 * RATE);
        assert_eq!(events(), [Event::Extended { lease: 1, amount: RATE, ends_at: START + 3 * HOUR }]);
    });
}

#[test]
fn a_top_up_is_time_too() {
    on_chain(|| {
        open(1, Rental, Second, HOUR);
        assert_ok!(Leases::top_up(signed(TENANT), 1, RATE / 2));
        assert_eq!(events(), [Event::ToppedUp { lease: 1, amount: RATE / 2, depletes_at: START + 3 * HOUR / 2 }]);
        assert_eq!(lease(1).ends_at(0), Some(START + 3 * HOUR / 2));
    });
}

#[test]
fn a_lease_that_was_lengthened_ends_at_its_new_time_and_not_before() {
    on_chain(|| {
        open(1, Rental, Second, HOUR);
        assert_ok!(Leases::extend(signed(TENANT), 1, HOUR));
        advance(HOUR + 6_000);
        next_block();
        assert!(lease(1).state.is_live());
        advance(HOUR);
        next_block();
        assert!(!lease(1).state.is_live());
        assert_eq!(lease(1).escrow.paid, 2 * RATE);
    });
}

#[test]
fn more_time_of_a_lease_that_costs_nothing_costs_nothing() {
    on_chain(|| {
        open_at(1, Service, Second, HOUR, 0);
        assert_ok!(Leases::extend(signed(TENANT), 1, HOUR));
        assert_eq!(events(), [Event::Extended { lease: 1, amount: 0, ends_at: START + 2 * HOUR }]);
        assert_ok!(Leases::extend(signed(TENANT), 1, u64::MAX));
        assert_ok!(Leases::top_up(signed(TENANT), 1, GTY));
    });
}

#[test]
fn nobody_but_the_tenant_lengthens_a_lease() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        for who in [PROVIDER, ANYONE] {
            assert_noop!(Leases::extend(signed(who), 1, HOUR), Error::<Test>::NotTenant);
            assert_noop!(Leases::top_up(signed(who), 1, GTY), Error::<Test>::NotTenant);
        }
    });
}

#[test]
fn zero_too_much_and_more_than_there_is_are_refused() {
    on_chain(|| {
        open(1, Service, Hour, HOUR);
        assert_noop!(Leases::extend(signed(TENANT), 1, 0), Error::<Test>::DurationIsZero);
        assert_noop!(Leases::top_up(signed(TENANT), 1, 0), Error::<Test>::AmountIsZero);
        assert_noop!(Leases::extend(signed(TENANT), 1, u64::MAX), BillingError::<Test>::TenantCannotPay);
        assert_noop!(Leases::top_up(signed(TENANT), 1, u128::MAX), BillingError::<Test>::TenantCannotPay);
        open_at(2, Service, Hour, 1, 10u128.pow(20));
        assert_noop!(Leases::extend(signed(TENANT), 2, u64::MAX), Error::<Test>::CostTooHigh);
    });
}

#[test]
fn an_ended_lease_gets_no_more_time() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        advance(HOUR + 6_000);
        next_block();
        assert_noop!(Leases::extend(signed(TENANT), 1, HOUR), Error::<Test>::LeaseNotRunning);
        assert_noop!(Leases::top_up(signed(TENANT), 1, GTY), Error::<Test>::LeaseNotRunning);
    });
}

#[test]
fn a_lease_whose_provider_gave_notice_gets_no_more_time() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        assert_ok!(Leases::reclaim(signed(PROVIDER), 1));
        assert_noop!(Leases::extend(signed(TENANT), 1, HOUR), Error::<Test>::ReclaimNoticed);
        assert_noop!(Leases::top_up(signed(TENANT), 1, GTY), Error::<Test>::ReclaimNoticed);
    });
}
