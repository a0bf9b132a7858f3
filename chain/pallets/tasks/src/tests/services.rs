use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{EndReason, FailReason, HostFailure, IndexTag, LeaseState, RequeueReason, TaskState};

use crate::{mock::*, Error, Event};

fn lose_host(number: u8) {
    advance(ABSENCE_LIMIT + 1);
    assert_ok!(Hosts::report_absent(signed(ANYONE), host(number)));
}

#[test]
fn a_service_runs_when_what_was_placed_has_started_and_is_short_of_the_rest() {
    on_chain(|| {
        online_host(10);
        let task = submit_wide(service(3));
        let first = assign(task, vec![place(0, 10, &[])])[0];
        assert_eq!(record(task).state, TaskState::Assigned);
        assert!(is_listed(IndexTag::Short, task));
        assert_ok!(Tasks::report_started(host_origin(10), first));
        assert_eq!(record(task).state, TaskState::Running);
        let leases = assign(task, vec![place(2, 10, &[]), place(1, 10, &[])]);
        assert_eq!(record(task).state, TaskState::Running, "a further pod does not stop the others");
        assert!(!is_listed(IndexTag::Short, task));
        assert_eq!(leases.len(), 3);
        assert_noop!(try_assign(signed(SCHEDULER), task, placed(vec![place(1, 10, &[])])), Error::<Test>::NotQueued);
    });
}

#[test]
fn a_service_begins_with_its_fewest_pods() {
    on_chain(|| {
        online_host(10);
        let mut pair = service(3);
        pair.pods_min = 2;
        let task = submit(pair);
        assert_eq!(record(task).pods_wanted, 2);
        let on = |pods: u8| placed((0..pods).map(|pod| place(pod, 10, &[])).collect());
        for count in [1, 3] {
            assert_noop!(try_assign(signed(SCHEDULER), task, on(count)), Error::<Test>::WrongPodCount);
        }
        start_on(task, &[10, 10]);
        assert_eq!(record(task).state, TaskState::Running);
        assert!(!is_listed(IndexTag::Short, task));
    });
}

#[test]
fn only_a_pod_that_is_missing_is_placed() {
    on_chain(|| {
        online_host(10);
        let task = submit_wide(service(3));
        start_on(task, &[10]);
        let refused = |pods, error: Error<Test>| {
            assert_noop!(try_assign(signed(SCHEDULER), task, placed(pods)), error);
        };
        refused(vec![], Error::WrongPodCount);
        refused(vec![place(0, 10, &[])], Error::PodRepeated);
        refused(vec![place(3, 10, &[])], Error::PodOutOfRange);
        refused(vec![place(1, 10, &[]), place(1, 10, &[])], Error::PodRepeated);
    });
}

#[test]
fn a_lost_pod_of_a_service_is_paid_for_what_it_served_and_replaced() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        let task = submit_wide(service(2));
        let leases = start_on(task, &[10, 11]);
        work(HOUR / 4);
        assert_ok!(Hosts::drain(signed(OTHER_PROVIDER), host(11)));
        lose_host(10);
        task_events();
        assert_ok!(Tasks::requeue(signed(ANYONE), leases[0]));
        let Some(Event::PodLost { reason, bills, failures, state, .. }) = task_events().pop() else { panic!() };
        assert_eq!((reason, failures, state), (RequeueReason::HostLost, 1, TaskState::Running));
        let served = HOUR / 4 - HELD_BACK;
        assert_eq!(bills[0].paid, CPU_RATE * u128::from(served) / u128::from(HOUR), "its last minute is not paid");
        assert_eq!(leases_of(task), [leases[1]], "the other goes on");
        assert!(is_listed(IndexTag::Short, task));

        online_host(12);
        let replaced = assign(task, vec![place(0, 12, &[])]);
        assert_eq!(lease(replaced[0]).generation, 1);
        assert_noop!(Tasks::report_started(host_origin(10), leases[0]), Error::<Test>::NoSuchLease);
        assert_ok!(Tasks::report_started(host_origin(12), replaced[0]));
        assert_eq!(record(task).failures(), 0, "a start makes good");
    });
}

#[test]
fn a_service_whose_last_pod_is_lost_waits_again_and_fails_when_none_ever_starts() {
    on_chain(|| {
        let task = submit_wide(service(2));
        for (number, failures) in [(10, 1), (11, 2)] {
            online_host(number);
            let lease = assign(task, vec![place(0, number, &[])])[0];
            assert_ok!(Tasks::report_failed(host_origin(number), lease, HostFailure::ImageUnavailable));
            assert_eq!(record(task).failures(), failures);
        }
        assert_eq!(record(task).state, TaskState::Failed(FailReason::AttemptsExhausted));
    });
}

#[test]
fn a_service_is_scaled_within_its_spec_by_its_tenant() {
    on_chain(|| {
        online_host(10);
        let task = submit_wide(service(3));
        let leases = start_on(task, &[10, 10, 10]);
        assert_noop!(Tasks::scale(signed(OTHER_TENANT), task, 1), Error::<Test>::NotTenant);
        assert_noop!(Tasks::scale(signed(TENANT), task, 0), Error::<Test>::PodRangeInvalid);
        assert_noop!(Tasks::scale(signed(TENANT), task, 4), Error::<Test>::PodRangeInvalid);
        work(HOUR / 2);
        assert_ok!(Tasks::scale(signed(TENANT), task, 1));
        assert_eq!(leases_of(task), [leases[0]]);
        assert_eq!([bill(leases[1]).paid, bill(leases[2]).paid], [CPU_RATE / 2; 2], "what is given up is paid at once");
        assert_eq!(host_record(10).live_leases, 1);
        assert_ok!(Tasks::scale(signed(TENANT), task, 2));
        assert!(is_listed(IndexTag::Short, task));
        let more = assign(task, vec![place(1, 10, &[])]);
        assert_ne!(more[1], leases[1], "the number of a lease is not used again");
    });
}

#[test]
fn a_service_scaled_while_it_waits_is_placed_as_it_is_wanted_now() {
    on_chain(|| {
        online_host(10);
        let task = submit_wide(service(3));
        assert_eq!(record(task).pods_wanted, 3);
        assert_ok!(Tasks::scale(signed(TENANT), task, 1));
        let two = placed(vec![place(0, 10, &[]), place(1, 10, &[])]);
        assert_noop!(try_assign(signed(SCHEDULER), task, two), Error::<Test>::WrongPodCount);
        assign(task, vec![place(0, 10, &[])]);
        assert!(!is_listed(IndexTag::Short, task));
    });
}

#[test]
fn scaling_away_every_pod_there_is_makes_a_service_wait() {
    on_chain(|| {
        online_host(10);
        let task = submit_wide(service(2));
        let leases = start_on(task, &[10, 10]);
        assert_ok!(Tasks::report_failed(host_origin(10), leases[0], HostFailure::DriverError));
        assert_ok!(Tasks::scale(signed(TENANT), task, 1));
        assert_eq!(record(task).state, TaskState::Queued);
        start_on(task, &[10]);
    });
}

#[test]
fn jobs_and_what_has_ended_are_not_scaled() {
    on_chain(|| {
        let (job, _) = running();
        assert_noop!(Tasks::scale(signed(TENANT), job, 1), Error::<Test>::NotService);
        assert_noop!(Tasks::end(signed(TENANT), job), Error::<Test>::JobsAreCancelled);
        let task = submit(service(1));
        assert_noop!(Tasks::end(signed(TENANT), task), Error::<Test>::NotRunning);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        assert_noop!(Tasks::scale(signed(TENANT), task, 1), Error::<Test>::NotRunning);
    });
}

#[test]
fn an_ended_service_is_paid_after_the_dispute_window() {
    on_chain(|| {
        online_host(10);
        let task = submit_wide(service(2));
        let leases = start_on(task, &[10, 10]);
        work(HOUR / 2);
        assert_noop!(Tasks::end(signed(OTHER_TENANT), task), Error::<Test>::NotTenant);
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_eq!(record(task).state, TaskState::Reported);
        assert_eq!(lease(leases[0]).state, LeaseState::Ended(EndReason::TenantEnded));
        assert_eq!(escrow(leases[0]).paid, 0);
        assert_noop!(Tasks::settle(signed(ANYONE), task), Error::<Test>::DisputeWindowOpen);
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!([escrow(leases[0]).paid, escrow(leases[1]).paid], [CPU_RATE / 2; 2]);
    });
}

#[test]
fn a_service_ends_when_what_was_paid_for_is_over_and_the_chain_sees_to_it() {
    on_chain(|| {
        online_host(10);
        let task = submit(service(1));
        let lease_id = start_on(task, &[10])[0];
        work(HOUR);
        run_hooks();
        // The agenda has buckets of a few seconds.
        work(10_000);
        run_hooks();
        assert_eq!(lease(lease_id).state, LeaseState::Ended(EndReason::Expired));
        assert_eq!(record(task).state, TaskState::Reported);
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(lease_id).paid, CPU_RATE);
    });
}

#[test]
fn a_service_whose_time_is_over_may_be_ended_by_anyone() {
    on_chain(|| {
        online_host(10);
        let task = submit(service(1));
        let lease_id = start_on(task, &[10])[0];
        work(HOUR);
        assert_noop!(Tasks::expire_lease(signed(ANYONE), lease_id), Error::<Test>::LeaseNotDepleted);
        work(1);
        task_events();
        assert_ok!(Tasks::expire_lease(signed(ANYONE), lease_id));
        let reason = EndReason::Expired;
        let state = TaskState::Reported;
        assert_eq!(task_events(), [Event::LeaseEnded { task, lease: lease_id, reason, bills: vec![], state }]);
    });
}

#[test]
fn a_service_goes_on_for_as_long_as_it_is_extended() {
    on_chain(|| {
        online_host(10);
        let task = submit(service(1));
        let lease_id = start_on(task, &[10])[0];
        assert_ok!(Leases::extend(signed(TENANT), lease_id, HOUR));
        work(HOUR + 1);
        run_hooks();
        assert_noop!(Tasks::expire_lease(signed(ANYONE), lease_id), Error::<Test>::LeaseNotDepleted);
        assert_ok!(Leases::settle(signed(ANYONE), lease_id));
        let before = escrow(lease_id).paid;
        assert!(before > 0, "a long service is paid while it runs");
        work(HOUR);
        assert_ok!(Tasks::expire_lease(signed(ANYONE), lease_id));
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(lease_id).paid, 2 * CPU_RATE);
    });
}

#[test]
fn a_service_pod_that_its_provider_wants_back_is_paid_through_the_notice_and_moved() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        let mut long = service(2);
        long.max_duration_ms = 4 * HOUR;
        let task = submit_wide(long);
        let leases = start_on(task, &[10, 11]);
        assert_ok!(Leases::reclaim(signed(PROVIDER), leases[0]));
        work(NOTICE);
        assert_ok!(Leases::finish_reclaim(signed(ANYONE), leases[0]));
        assert_eq!(bill(leases[0]).paid, CPU_RATE, "the notice is an hour");
        assert_eq!((record(task).failures(), record(task).state), (0, TaskState::Running));
        assert!(is_listed(IndexTag::Short, task));
    });
}

#[test]
fn a_service_pod_that_ends_by_itself_is_not_replaced() {
    on_chain(|| {
        online_host(10);
        let task = submit_wide(service(2));
        let leases = start_on(task, &[10, 10]);
        work(1_000);
        assert_ok!(Tasks::report_result(host_origin(10), leases[0], result(1_000)));
        assert_eq!(record(task).state, TaskState::Running);
        assert!(!is_listed(IndexTag::Short, task));
        assert_ok!(Tasks::report_result(host_origin(10), leases[1], result(1_000)));
        assert_eq!(record(task).state, TaskState::Reported);
    });
}

#[test]
fn a_service_that_was_assigned_in_time_is_placed_again_after_its_deadline() {
    on_chain(|| {
        online_host(10);
        let mut hasty = service(1);
        hasty.deadline = Some(START + 100);
        let task = submit(hasty);
        let lease = start_on(task, &[10])[0];
        work(1_000);
        assert_ok!(Tasks::report_failed(host_origin(10), lease, HostFailure::DriverError));
        assert_noop!(Tasks::expire(signed(ANYONE), task), Error::<Test>::DeadlineNotPassed);
        start_on(task, &[10]);
    });
}
