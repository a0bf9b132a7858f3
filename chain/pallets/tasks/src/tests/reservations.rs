//! Tasks that are opened on exactly one place, at an agreed rate.

use frame_support::{assert_noop, assert_storage_noop};
use gantry_primitives::{HostId, LeaseId, LeaseState, TaskSpec};
use sp_runtime::DispatchError;

use crate::mock::*;

const AGREED_RATE: u128 = 3 * RATE;

fn submit_on_10(spec: TaskSpec, rate_per_hour: u128) -> Result<LeaseId, DispatchError> {
    let devices = vec![0].try_into().expect("one fits");
    let open = || Tasks::submit_at_rate(&account(TENANT), spec, manifest(), host(10), devices, rate_per_hour);
    frame_support::storage::with_storage_layer(open)
}

fn expensive() -> TaskSpec {
    TaskSpec { max_rate_per_hour: AGREED_RATE, ..rental() }
}

#[test]
fn the_lease_costs_the_agreed_rate_whatever_the_host_asks() {
    on_chain(|| {
        online_host(10);
        for rate_per_hour in [AGREED_RATE, 0] {
            let opened = submit_on_10(expensive(), rate_per_hour).expect("it fits");
            let lease = lease(opened);
            assert_eq!((lease.state, lease.escrow.rate_per_hour), (LeaseState::Pending, rate_per_hour));
            assert_eq!((lease.host, lease.devices.to_vec()), (host(10), vec![0]));
            assert_eq!((lease.assigned_by, lease.self_assigned_ppm), (None, None));
            frame_support::assert_ok!(Tasks::cancel(signed(TENANT), gantry_primitives::lease_parts(opened).0));
        }
    });
}

#[test]
fn nothing_is_submitted_where_the_lease_cannot_be_opened() {
    on_chain(|| {
        online_host(10);
        let refused = |spec, rate| {
            assert_storage_noop!(assert!(submit_on_10(spec, rate).is_err()));
        };
        refused(expensive(), AGREED_RATE + 1);
        refused(gang(2), RATE);
        let elsewhere = |hosts: Vec<HostId>| {
            let mut spec = expensive();
            spec.placement.hosts = hosts.try_into().expect("few");
            spec
        };
        refused(elsewhere(vec![host(11)]), AGREED_RATE);
        submit_on_10(expensive(), AGREED_RATE).expect("the device is free");
        let again = || submit_on_10(expensive(), AGREED_RATE).map(drop);
        assert_noop!(again(), pallet_gantry_hosts::Error::<Test>::DeviceBusy);
    });
}
