//! Deadlines that an account must meet by a call do not pass while the chain makes no blocks.

use frame_support::{assert_noop, assert_ok, traits::OnInitialize};

use crate::{mock::*, Error};

/// The chain makes no blocks for so long; then one begins.
fn halt(ms: u64) {
    let resumed_at = Hosts::now() + ms;
    SlotTime::set(resumed_at);
    Hosts::on_initialize(1);
    pallet_timestamp::Now::<Test>::put(resumed_at);
}

#[test]
fn a_pod_has_the_rest_of_its_start_timeout_after_a_halt() {
    on_chain(|| {
        let (_, lease) = assigned();
        halt(ABSENCE_LIMIT + START_TIMEOUT);
        let refused = Tasks::requeue(signed(ANYONE), lease).expect_err("neither the pod nor its host is late");
        assert_eq!(refused.error, Error::<Test>::LeaseNotStuck.into());
        assert_ok!(Tasks::report_started(host_origin(10), lease));
    });
}

#[test]
fn a_tenant_has_the_rest_of_the_dispute_window_after_a_halt() {
    on_chain(|| {
        let (task, _) = reported(10);
        advance(DISPUTE_WINDOW - 1);
        halt(ABSENCE_LIMIT + 1);
        assert_noop!(Tasks::settle(signed(ANYONE), task), Error::<Test>::DisputeWindowOpen);
        assert_ok!(Tasks::mark_disputed(task, &leases_of(task)));
        assert_ok!(Tasks::resolve_dispute(task, &leases_of(task), None, true));
    });
}
