use frame_support::{assert_noop, assert_ok};

use crate::{mock::*, Error, Event};

#[test]
fn a_tenant_rates_each_lease_of_a_settled_task_once() {
    on_chain(|| {
        let (task, lease) = reported(60_000);
        assert_noop!(Tasks::rate(signed(TENANT), lease, 5), Error::<Test>::NotSettled);
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_noop!(Tasks::rate(signed(OTHER_TENANT), lease, 5), Error::<Test>::NotTenant);
        assert_noop!(Tasks::rate(signed(TENANT), lease, 0), Error::<Test>::StarsInvalid);
        assert_noop!(Tasks::rate(signed(TENANT), lease, 6), Error::<Test>::StarsInvalid);
        let before = Reputation::host_priority_ppm(&host(10));
        assert_ok!(Tasks::rate(signed(TENANT), lease, 1));
        assert!(Reputation::host_priority_ppm(&host(10)) < before);
        assert!(task_events().contains(&Event::Rated { task, lease, stars: 1 }));
        assert_noop!(Tasks::rate(signed(TENANT), lease, 5), Error::<Test>::AlreadyRated);
    });
}

#[test]
fn nobody_rates_without_a_lease_or_its_own_host() {
    on_chain(|| {
        assert_noop!(Tasks::rate(signed(TENANT), 0, 5), Error::<Test>::NoSuchTask);
        assert_ok!(register(TENANT, 12, hardware()));
        assert_ok!(Hosts::heartbeat(host_origin(12)));
        let task = submit(gang(1));
        assert_noop!(Tasks::rate(signed(TENANT), task << 24, 5), Error::<Test>::NoSuchLease);
        let lease = start_on(task, &[12])[0];
        assert_ok!(Tasks::report_result(host_origin(12), lease, result(0)));
        assert_ok!(Tasks::accept_result(signed(TENANT), task));
        assert_ok!(Tasks::settle(signed(TENANT), task));
        assert_noop!(Tasks::rate(signed(TENANT), lease, 5), Error::<Test>::OwnHost);
        assert_eq!(pallet_gantry_reputation::HostScores::<Test>::get(host(12)), None, "it proves nothing about itself");
    });
}
