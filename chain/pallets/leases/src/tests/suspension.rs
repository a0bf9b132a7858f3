//! Suspending and resuming a rental.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    BillingUnit::{Day, Hour, Second},
    HostStatus, LeaseState,
    TaskKind::{Rental, Service},
};
use sp_runtime::DispatchError;

use crate::{mock::*, Error, Event};

#[test]
fn a_stopped_machine_costs_its_storage_and_lasts_longer() {
    on_chain(|| {
        open(1, Rental, Second, 10 * HOUR);
        advance(2 * HOUR);
        assert_ok!(Leases::suspend(signed(TENANT), 1));
        let ends_at = START + 2 * HOUR + 80 * HOUR;
        let suspended = Event::Suspended { lease: 1, rate_per_hour: STORAGE_RATE, owed: 2 * RATE, ends_at };
        assert_eq!(events(), [suspended]);
        assert_eq!(lease(1).state, LeaseState::Suspended);
        advance(10 * HOUR);
        assert_ok!(Leases::resume(signed(TENANT), 1));
        // Eight hours were left, and one of them went into the storage.
        let ends_at = START + 12 * HOUR + 7 * HOUR;
        assert_eq!(events(), [Event::Resumed { lease: 1, rate_per_hour: RATE, owed: 3 * RATE, ends_at }]);
        assert_eq!((lease(1).state, lease(1).resume_rate), (LeaseState::Active, None));
        advance(7 * HOUR + 6_000);
        next_block();
        assert_eq!(lease(1).escrow.paid, 10 * RATE);
    });
}

#[test]
fn hours_of_either_rate_are_whole() {
    on_chain(|| {
        open(1, Rental, Hour, 10 * HOUR);
        advance(HOUR / 2);
        assert_ok!(Leases::suspend(signed(TENANT), 1));
        advance(HOUR / 4);
        assert_ok!(Leases::resume(signed(TENANT), 1));
        assert_eq!(lease(1).escrow.accrued, RATE + STORAGE_RATE);
    });
}

#[test]
fn a_stopped_machine_whose_deposit_is_used_up_ends_and_its_data_is_kept() {
    on_chain(|| {
        open(1, Rental, Second, HOUR);
        assert_ok!(Leases::suspend(signed(TENANT), 1));
        advance(HOUR + 6_000);
        next_block();
        assert_eq!(lease(1).state, LeaseState::Suspended);
        advance(9 * HOUR);
        next_block();
        assert!(matches!(lease(1).state, LeaseState::Retained(_)));
        assert_eq!(lease(1).escrow.paid, RATE);
    });
}

#[test]
fn a_resume_that_the_host_has_no_room_for_changes_nothing() {
    on_chain(|| {
        open(1, Rental, Second, HOUR);
        assert_ok!(Leases::suspend(signed(TENANT), 1));
        change_host(|host| host.status = HostStatus::Draining);
        assert_noop!(Leases::resume(signed(TENANT), 1), DispatchError::Other("the host is not online"));
    });
}

#[test]
fn a_resume_that_the_deposit_does_not_cover_asks_for_a_top_up() {
    on_chain(|| {
        open(1, Rental, Hour, HOUR);
        assert_noop!(Leases::suspend(signed(TENANT), 1), Error::<Test>::DepositUsedUp);
        assert_ok!(Leases::top_up(signed(TENANT), 1, STORAGE_RATE));
        assert_ok!(Leases::suspend(signed(TENANT), 1));
        assert_noop!(Leases::resume(signed(TENANT), 1), Error::<Test>::DepositUsedUp);
        assert_ok!(Leases::top_up(signed(TENANT), 1, RATE));
        assert_ok!(Leases::resume(signed(TENANT), 1));
    });
}

#[test]
fn only_rentals_are_stopped_and_only_by_their_tenant() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        assert_noop!(Leases::suspend(signed(TENANT), 1), Error::<Test>::NotRental);
        open(2, Rental, Second, HOUR);
        assert_noop!(Leases::suspend(signed(PROVIDER), 2), Error::<Test>::NotTenant);
        assert_noop!(Leases::resume(signed(TENANT), 2), Error::<Test>::LeaseNotSuspended);
        assert_ok!(Leases::suspend(signed(TENANT), 2));
        assert_noop!(Leases::suspend(signed(TENANT), 2), Error::<Test>::LeaseNotActive);
        assert_noop!(Leases::resume(signed(PROVIDER), 2), Error::<Test>::NotTenant);
    });
}

#[test]
fn a_host_that_does_not_offer_the_unit_keeps_no_stopped_machine() {
    on_chain(|| {
        open(1, Rental, Day, 24 * HOUR);
        assert_noop!(Leases::suspend(signed(TENANT), 1), Error::<Test>::StorageNotOffered);
    });
}

#[test]
fn a_host_that_raises_its_storage_price_at_the_last_moment_gets_nothing() {
    on_chain(|| {
        open(1, Rental, Second, HOUR);
        change_host(|host| host.ask.storage_gib_per_hour = GTY);
        assert_noop!(Leases::suspend(signed(TENANT), 1), Error::<Test>::StorageTooDear);
    });
}

#[test]
fn a_host_that_is_away_is_not_paid_for_it_and_the_tenant_has_that_time_later() {
    on_chain(|| {
        open(1, Rental, Second, 2 * HOUR);
        advance(HOUR);
        change_host(|host| {
            host.status = HostStatus::Offline;
            host.last_heartbeat = START + HOUR;
        });
        advance(3 * HOUR);
        next_block();
        assert!(lease(1).state.is_live(), "what was paid for is not over: the host is away");
        change_host(|host| {
            host.status = HostStatus::Online;
            host.downtime_ms = 3 * HOUR;
        });
        advance(HOUR - 1);
        next_block();
        assert!(lease(1).state.is_live());
        advance(6_001);
        next_block();
        assert!(!lease(1).state.is_live());
        assert_eq!(lease(1).escrow.paid, 2 * RATE);
    });
}
