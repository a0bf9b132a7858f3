//! Retained data of a rental after its end.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    BillingUnit::{Day, Second},
    HostStatus, LeaseState,
    TaskKind::{Rental, Service},
};

use crate::{mock::*, Error, Event};

fn keep(who: u8, lease: u64, ms: u64) -> frame_support::dispatch::DispatchResult {
    Leases::keep(signed(who), lease, ms, STORAGE_RATE)
}

/// What is held for the data of lease 1.
fn held() -> u128 {
    lease(1).escrow.storage.map_or(0, |storage| storage.held)
}

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

/// As [`ended`], and its data is kept for ten hours more. Returns when the time that the tenant pays for begins.
fn retained_longer() -> u64 {
    ended();
    let begins = Leases::now() + RETENTION;
    assert_ok!(keep(TENANT, 1, 10 * HOUR));
    let (rate_per_hour, amount) = (STORAGE_RATE, 10 * STORAGE_RATE);
    assert_eq!(events(), [Event::DataKept { lease: 1, until: begins + 10 * HOUR, rate_per_hour, amount }]);
    begins
}

/// The event about `paid` for storage, of which nobody had a settler's share.
fn storage_paid(paid: u128, refunded: u128) -> Event<Test> {
    let fee = paid / 10;
    Event::StoragePaid { lease: 1, share: paid - fee, fee, scheduler_fee: fee / 5, settler_fee: 0, refunded }
}

#[test]
fn what_a_tenant_pays_for_keeping_data_longer_is_held() {
    on_chain(|| {
        let (tenant, provider) = (total_balance(TENANT), total_balance(PROVIDER));
        retained_longer();
        assert_eq!(held(), 10 * STORAGE_RATE);
        assert_eq!(total_balance(PROVIDER), provider + 9 * RATE / 10, "for the machine alone");
        assert_eq!((total_balance(TENANT), Billing::held(&account(TENANT))), (tenant - RATE, 10 * STORAGE_RATE));
        assert_eq!((lease(1).escrow.paid, lease(1).escrow.deposit), (RATE, RATE));
        advance(RETENTION + GRACE + 9 * HOUR);
        next_block();
        assert!(matches!(lease(1).state, LeaseState::Retained(_)), "the agenda looks again later");
        advance(HOUR + 6_000);
        next_block();
        assert_eq!(lease(1).state, LeaseState::Purged);
    });
}

#[test]
fn a_host_without_a_receipt_gets_nothing_of_what_is_held() {
    on_chain(|| {
        retained_longer();
        let provider = total_balance(PROVIDER);
        advance(RETENTION + 10 * HOUR + GRACE + 6_000);
        next_block();
        assert_eq!(lease(1).state, LeaseState::Purged);
        assert_eq!(events(), [storage_paid(0, 10 * STORAGE_RATE), Event::PurgedWithoutReceipt { lease: 1 }]);
        assert_eq!((total_balance(PROVIDER), held(), Billing::held(&account(TENANT))), (provider, 0, 0));
    });
}

#[test]
fn kept_data_is_paid_pro_rata_and_the_rest_goes_back_when_it_is_released() {
    on_chain(|| {
        let begins = retained_longer();
        let provider = total_balance(PROVIDER);
        advance(begins - Leases::now() + 4 * HOUR);
        assert_ok!(Leases::release_data(signed(TENANT), 1));
        let released = Event::DataReleased { lease: 1 };
        assert_eq!(events(), [storage_paid(4 * STORAGE_RATE, 6 * STORAGE_RATE), released]);
        assert_eq!((total_balance(PROVIDER), held()), (provider + 9 * 4 * STORAGE_RATE / 10, 0));
        assert_eq!(lease(1).escrow.paid, RATE + 4 * STORAGE_RATE);
    });
    on_chain(|| {
        retained_longer();
        assert_ok!(Leases::release_data(signed(TENANT), 1));
        assert_eq!(events()[0], storage_paid(0, 10 * STORAGE_RATE), "the time that costs nothing more is not over");
    });
}

#[test]
fn anyone_settles_kept_data_but_for_what_is_held_back() {
    on_chain(|| {
        let begins = retained_longer();
        advance(begins - Leases::now() + HELD_BACK);
        assert_noop!(Leases::settle(signed(ANYONE), 1), Error::<Test>::NothingDue);
        advance(2 * HOUR);
        change_host(|host| host.status = HostStatus::Offline);
        assert_noop!(Leases::settle(signed(ANYONE), 1), Error::<Test>::NothingDue);
        change_host(|host| host.status = HostStatus::Online);
        assert_ok!(Leases::settle(signed(ANYONE), 1));
        let (share, fee) = (9 * 2 * STORAGE_RATE / 10, 2 * STORAGE_RATE / 10);
        let (scheduler_fee, settler_fee) = (fee / 5, fee / 10);
        assert_eq!(events(), [Event::StoragePaid { lease: 1, share, fee, scheduler_fee, settler_fee, refunded: 0 }]);
        assert_noop!(Leases::settle(signed(ANYONE), 1), Error::<Test>::NothingDue);
        assert_eq!(held(), 8 * STORAGE_RATE);
        advance(2 * HOUR);
        assert_ok!(Leases::release_data(signed(TENANT), 1));
        let paid = 2 * STORAGE_RATE + STORAGE_RATE / 2;
        assert_eq!(events()[0], storage_paid(paid, 8 * STORAGE_RATE - paid), "with what was held back");
    });
    on_chain(|| {
        let begins = retained_longer();
        advance(begins - Leases::now() + 10 * HOUR);
        assert_noop!(Leases::settle(signed(ANYONE), 1), Error::<Test>::NothingDue);
    });
}

#[test]
fn time_that_is_added_is_held_with_the_rest() {
    on_chain(|| {
        let begins = retained_longer();
        advance(begins - Leases::now() + 5 * HOUR);
        change_host(|host| host.ask.storage_gib_per_hour *= 2);
        assert_noop!(keep(TENANT, 1, 5 * HOUR), Error::<Test>::StorageTooDear);
        assert_ok!(Leases::keep(signed(TENANT), 1, 5 * HOUR, 2 * STORAGE_RATE));
        assert_eq!((held(), lease(1).state), (20 * STORAGE_RATE, LeaseState::Retained(begins + 15 * HOUR)));
        advance(HOUR);
        events();
        assert_ok!(Leases::release_data(signed(TENANT), 1));
        assert_eq!(events()[0], storage_paid(8 * STORAGE_RATE, 12 * STORAGE_RATE), "6 of 15 hours");
    });
}

#[test]
fn a_host_that_raises_its_price_before_the_call_gets_no_more_than_the_caller_accepts() {
    on_chain(|| {
        ended();
        change_host(|host| host.ask.storage_gib_per_hour += 1);
        assert_noop!(keep(TENANT, 1, HOUR), Error::<Test>::StorageTooDear);
    });
}

#[test]
fn data_is_not_kept_for_longer_than_the_chain_allows() {
    on_chain(|| {
        ended();
        assert_noop!(keep(TENANT, 1, MAX_KEPT - RETENTION + 1), Error::<Test>::KeptTooLong);
        assert_noop!(keep(TENANT, 1, u64::MAX), Error::<Test>::KeptTooLong);
        assert_noop!(keep(TENANT, 1, 0), Error::<Test>::DurationIsZero);
        assert_ok!(keep(TENANT, 1, MAX_KEPT - RETENTION));
    });
}

#[test]
fn storage_is_never_dearer_than_the_machine_may_be() {
    on_chain(|| {
        ended();
        change_host(|host| host.ask.storage_gib_per_hour = GTY);
        assert_noop!(Leases::keep(signed(TENANT), 1, 1_000, u128::MAX), Error::<Test>::StorageTooDear);
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
        assert_noop!(keep(TENANT, 1, HOUR), Error::<Test>::LeaseNotRetained);
        assert_noop!(Leases::release_data(signed(TENANT), 1), Error::<Test>::LeaseNotRetained);
    });
}

#[test]
fn only_the_data_of_an_ended_rental_is_kept_and_only_for_its_tenant() {
    on_chain(|| {
        ended();
        assert_noop!(keep(PROVIDER, 1, HOUR), Error::<Test>::NotTenant);
        open(2, Service, Second, HOUR);
        assert_noop!(keep(TENANT, 2, HOUR), Error::<Test>::LeaseNotRetained);
        assert_noop!(Leases::release_data(signed(TENANT), 2), Error::<Test>::LeaseNotRetained);
        open(3, Rental, Day, HOUR);
        advance(HOUR + 6_000);
        next_block();
        assert_noop!(keep(TENANT, 3, HOUR), Error::<Test>::StorageNotOffered);
    });
}
