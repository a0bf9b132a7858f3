use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{EndReason, HostFailure, LeaseState, TaskState};

use crate::{mock::*, Error, Event};

#[test]
fn a_task_runs_when_its_last_pod_has_started() {
    on_chain(|| {
        online_host(10);
        let task = submit(gang(2));
        let leases = assign(task, vec![place(0, 10, &[]), place(1, 10, &[])]);
        assert_ok!(Tasks::report_started(host_origin(10), leases[1]));
        assert_eq!(record(task).state, TaskState::Assigned);
        assert_eq!(lease(leases[1]).state, LeaseState::Active);
        assert_ok!(Tasks::report_started(host_origin(10), leases[0]));
        assert_eq!(record(task).state, TaskState::Running);
        assert_eq!(escrow(leases[0]).until, Some(START + HOUR));
    });
}

#[test]
fn a_task_is_reported_when_its_last_pod_has_reported() {
    on_chain(|| {
        online_host(10);
        let task = submit(gang(2));
        let leases = assign(task, vec![place(0, 10, &[]), place(1, 10, &[])]);
        assert_ok!(Tasks::report_started(host_origin(10), leases[0]));
        // The first pod may end before the second has started.
        assert_ok!(Tasks::report_result(host_origin(10), leases[0], result(5)));
        assert_eq!(record(task).state, TaskState::Assigned);
        assert_ok!(Tasks::report_started(host_origin(10), leases[1]));
        assert_eq!(record(task).state, TaskState::Running);
        task_events();
        advance(7);
        assert_ok!(Tasks::report_result(host_origin(10), leases[1], result(7)));
        assert_eq!(record(task).state, TaskState::Reported);
        assert_eq!(record(task).changed_at, START + 7);
        assert_eq!(lease(leases[1]).state, LeaseState::Ended(EndReason::Completed));
        assert_eq!(lease(leases[1]).result, Some(result(7)));
        assert_eq!(
            task_events(),
            [Event::PodReported { task, lease: leases[1], result: result(7), state: TaskState::Reported }]
        );
    });
}

#[test]
fn a_reported_pod_gives_its_resources_back() {
    on_chain(|| {
        reported(10);
        let of_host = host_record(10);
        assert_eq!(of_host.free, of_host.total);
        assert_eq!(of_host.live_leases, 0);
    });
}

#[test]
fn only_the_host_of_a_lease_reports_on_it() {
    on_chain(|| {
        let (_, lease) = assigned();
        online_host(11);
        let error = Error::<Test>::NotHostOfLease;
        assert_noop!(Tasks::report_started(host_origin(11), lease), error);
        assert_noop!(Tasks::report_started(signed(PROVIDER), lease), Error::<Test>::NotHostOfLease);
        assert_noop!(Tasks::report_result(host_origin(11), lease, result(1)), Error::<Test>::NotHostOfLease);
        let failure = HostFailure::DriverError;
        assert_noop!(Tasks::report_failed(host_origin(11), lease, failure), Error::<Test>::NotHostOfLease);
    });
}

#[test]
fn nothing_is_reported_twice() {
    on_chain(|| {
        let (_, lease) = assigned();
        assert_noop!(Tasks::report_result(host_origin(10), lease, result(1)), Error::<Test>::LeaseNotActive);
        assert_ok!(Tasks::report_started(host_origin(10), lease));
        assert_noop!(Tasks::report_started(host_origin(10), lease), Error::<Test>::LeaseNotPending);
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(1)));
        assert_noop!(Tasks::report_result(host_origin(10), lease, result(1)), Error::<Test>::LeaseNotActive);
        let failure = HostFailure::DriverError;
        assert_noop!(Tasks::report_failed(host_origin(10), lease, failure), Error::<Test>::LeaseEnded);
        assert_noop!(Tasks::report_started(host_origin(10), 99 << 24), Error::<Test>::NoSuchTask);
    });
}

#[test]
fn a_suspended_host_still_reports_on_the_leases_it_has() {
    on_chain(|| {
        let (task, lease) = running();
        assert_ok!(Hosts::suspend(RuntimeOrigin::root(), host(10)));
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(1)));
        assert_eq!(record(task).state, TaskState::Reported);
    });
}

#[test]
fn a_host_with_live_leases_does_not_retire() {
    on_chain(|| {
        let (_, lease) = running();
        let error = pallet_gantry_hosts::Error::<Test>::HasLiveLeases;
        assert_noop!(Hosts::retire(signed(PROVIDER), host(10)), error);
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(1)));
        assert_ok!(Hosts::retire(signed(PROVIDER), host(10)));
    });
}
