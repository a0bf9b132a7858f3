//! Payment of a tenant for longer retention of data: held in advance, paid over time.

use frame_support::assert_ok;
use gantry_primitives::{Balance, LeaseId, LeaseState, Moment, Report, TaskId};

use crate::mock::*;

/// What the disk of a [`rental`] costs an hour.
const RATE_PER_HOUR: Balance = 20 * STORAGE_RATE;

/// A rental of half an hour that has ended and is settled, and whose data is kept for ten hours more than the lease pays for.
/// Returns when that time begins.
fn kept() -> (TaskId, LeaseId, Moment) {
    let (task, lease_id) = rented();
    work(HOUR / 2);
    assert_ok!(Tasks::end(signed(TENANT), task));
    work(DISPUTE_WINDOW);
    assert_ok!(Tasks::settle(signed(ANYONE), task));
    let LeaseState::Retained(begins) = lease(lease_id).state else { panic!("its data is kept") };
    assert_ok!(Leases::keep(signed(TENANT), lease_id, 10 * HOUR, RATE_PER_HOUR));
    assert_eq!(Billing::held(&account(TENANT)), 10 * RATE_PER_HOUR);
    (task, lease_id, begins)
}

/// What the provider gets while `deed` happens.
fn earned(deed: impl FnOnce()) -> Balance {
    let before = total_balance(&account(PROVIDER));
    deed();
    total_balance(&account(PROVIDER)) - before
}

fn nothing_is_held(lease_id: LeaseId) {
    assert_eq!((escrow(lease_id).storage, Billing::held(&account(TENANT))), (None, 0));
}

#[test]
fn the_rest_of_what_is_held_is_paid_with_the_receipt_of_the_purge() {
    on_chain(|| {
        let (_, lease_id, begins) = kept();
        let paid = escrow(lease_id).paid;
        work(begins + 10 * HOUR - Hosts::now());
        let got = earned(|| {
            assert_ok!(Tasks::report(host_origin(10), lease_id, Report::Purged { receipt: [5; 32] }));
        });
        assert_eq!((got, escrow(lease_id).paid - paid), (9 * RATE_PER_HOUR, 10 * RATE_PER_HOUR));
        nothing_is_held(lease_id);
    });
}

#[test]
fn a_host_that_loses_data_gets_nothing_of_what_is_held() {
    on_chain(|| {
        let (_, lease_id, begins) = kept();
        work(begins + 5 * HOUR - Hosts::now());
        let tenant = total_balance(&account(TENANT));
        let before = total_balance(&account(PROVIDER));
        assert_ok!(Tasks::report(host_origin(10), lease_id, Report::DataLost));
        assert!(total_balance(&account(PROVIDER)) < before, "its bond is slashed, and it is paid nothing");
        assert_eq!(total_balance(&account(TENANT)), tenant, "what was held is free again");
        nothing_is_held(lease_id);
    });
}

#[test]
fn a_tenant_that_takes_its_data_over_has_the_rest_back() {
    on_chain(|| {
        let (_, lease_id, begins) = kept();
        work(begins + 4 * HOUR - Hosts::now());
        let mut next = rental();
        next.data_from = Some(lease_id);
        let task = submit(next);
        let got = earned(|| {
            assign(task, vec![place(0, 10, &[0])]);
        });
        assert_eq!(got, 9 * 4 * RATE_PER_HOUR / 10);
        assert_eq!((escrow(lease_id).storage, Billing::held(&account(TENANT))), (None, RATE));
    });
}

#[test]
fn settling_the_task_leaves_what_is_held_for_its_data() {
    on_chain(|| {
        let (task, lease_id) = rented();
        work(HOUR / 2);
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_ok!(Leases::keep(signed(TENANT), lease_id, HOUR, RATE_PER_HOUR));
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!((bill(lease_id).paid, bill(lease_id).refunded), (RATE / 2, RATE / 2));
        assert_eq!(Billing::held(&account(TENANT)), RATE_PER_HOUR);
        assert_ok!(Leases::release_data(signed(TENANT), lease_id));
        nothing_is_held(lease_id);
    });
}
