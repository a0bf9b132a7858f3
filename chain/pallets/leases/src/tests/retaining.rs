//! What becomes of the data of a rental after its end.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    BillingUnit::{Day, Second},
    LeaseState,
    TaskKind::{Rental, Service},
};

use crate::{mock::*, Error, Event};

/// A rental of an hour that is over; its data is kept from now on.
fn ended() {
    open(1, Rental, Second, HOUR);
    advance(HOUR + 6_000);
    next_block();
    assert_eq!(lease(1).state, LeaseState::Retained(Leases::now() + RETENTION));
    events();
}

#[test]
fn data_is_kept_for_the_period_and_then_the_host_has_its_disk_back() {
    on_chain(|| {
        ended();
        assert_eq!(Leases::leases_of(&account(HOST)).to_vec(), [1]);
        advance(RETENTION + GRACE - 1);
        next_block();
        assert!(matches!(lease(1).state, LeaseState::Retained(_)));
        advance(6_001);
        next_block();
        assert_eq!(lease(1).state, LeaseState::Purged);
        assert_eq!(events(), [Event::PurgedWithoutReceipt { lease: 1 }]);
        assert!(Leases::leases_of(&account(HOST)).is_empty());
    });
}

#[test]
fn a_tenant_pays_at_once_for_keeping_data_longer() {
    on_chain(|| {
        ended();
        let until = Leases::now() + RETENTION + 10 * HOUR;
        let (tenant, provider) = (worth(TENANT), worth(PROVIDER));
        assert_ok!(Leases::keep(signed(TENANT), 1, 10 * HOUR));
        let (share, fee) = (9 * STORAGE_RATE, STORAGE_RATE);
        assert_eq!(events(), [Event::DataKept { lease: 1, until, share, fee }]);
        assert_eq!((worth(TENANT), worth(PROVIDER)), (tenant - 10 * STORAGE_RATE, provider + share));
        assert_eq!((lease(1).escrow.paid, lease(1).escrow.deposit), (2 * RATE, 2 * RATE));
        advance(RETENTION + GRACE + 9 * HOUR);
        next_block();
        assert!(matches!(lease(1).state, LeaseState::Retained(_)), "the agenda looks again later");
        advance(HOUR + 6_000);
        next_block();
        assert_eq!(lease(1).state, LeaseState::Purged);
    });
}

#[test]
fn data_is_not_kept_for_longer_than_the_chain_allows() {
    on_chain(|| {
        ended();
        assert_noop!(Leases::keep(signed(TENANT), 1, MAX_KEPT - RETENTION + 1), Error::<Test>::KeptTooLong);
        assert_noop!(Leases::keep(signed(TENANT), 1, u64::MAX), Error::<Test>::KeptTooLong);
        assert_noop!(Leases::keep(signed(TENANT), 1, 0), Error::<Test>::DurationIsZero);
        assert_ok!(Leases::keep(signed(TENANT), 1, MAX_KEPT - RETENTION));
    });
}

#[test]
fn time_that_is_too_cheap_to_be_paid_or_too_dear_is_not_had() {
    on_chain(|| {
        ended();
        change_host(|host| host.ask.storage_gib_per_hour = GTY);
        assert_noop!(Leases::keep(signed(TENANT), 1, 1_000), Error::<Test>::StorageTooDear);
        change_host(|host| {
            host.ask.storage_gib_per_hour = STORAGE_RATE / 100;
            host.provider = account(NOBODY);
        });
        assert_noop!(Leases::keep(signed(TENANT), 1, 1_000), Error::<Test>::AmountTooSmall);
    });
}

#[test]
fn a_tenant_lets_its_data_go_before_the_period_is_over() {
    on_chain(|| {
        ended();
        assert_noop!(Leases::release_data(signed(PROVIDER), 1), Error::<Test>::NotTenant);
        assert_ok!(Leases::release_data(signed(TENANT), 1));
        assert_eq!(lease(1).state, LeaseState::Retained(Leases::now()));
        assert_noop!(Leases::release_data(signed(TENANT), 1), Error::<Test>::LeaseNotRetained);
        assert_eq!(events(), [Event::DataReleased { lease: 1 }]);
        advance(GRACE + 6_000);
        next_block();
        assert_eq!(lease(1).state, LeaseState::Purged);
    });
}

#[test]
fn data_that_may_be_purged_is_not_kept_any_more() {
    on_chain(|| {
        ended();
        advance(RETENTION + 1);
        assert_noop!(Leases::keep(signed(TENANT), 1, HOUR), Error::<Test>::LeaseNotRetained);
        assert_noop!(Leases::release_data(signed(TENANT), 1), Error::<Test>::LeaseNotRetained);
    });
}

#[test]
fn only_the_data_of_an_ended_rental_is_kept_and_only_for_its_tenant() {
    on_chain(|| {
        ended();
        assert_noop!(Leases::keep(signed(PROVIDER), 1, HOUR), Error::<Test>::NotTenant);
        open(2, Service, Second, HOUR);
        assert_noop!(Leases::keep(signed(TENANT), 2, HOUR), Error::<Test>::LeaseNotRetained);
        assert_noop!(Leases::release_data(signed(TENANT), 2), Error::<Test>::LeaseNotRetained);
        open(3, Rental, Day, HOUR);
        advance(HOUR + 6_000);
        next_block();
        assert_noop!(Leases::keep(signed(TENANT), 3, HOUR), Error::<Test>::StorageNotOffered);
    });
}
