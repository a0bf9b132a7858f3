use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    EndReason, FailReason, HostFailure, HostStatus, IndexTag, LeaseState, RequeueReason, TaskKey, TaskState,
    VerificationPolicy,
};

use crate::{mock::*, Error, Event, Manifests};

fn lose_host(number: u8) {
    advance(ABSENCE_LIMIT + 1);
    assert_ok!(Hosts::report_absent(signed(ANYONE), host(number)));
}

#[test]
fn a_refused_task_waits_again_and_then_fails() {
    on_chain(|| {
        let (task, lease_id) = assigned();
        task_events();
        let failure = HostFailure::ImageUnavailable;
        assert_ok!(Tasks::report_failed(host_origin(10), lease_id, failure));
        assert_eq!(record(task).state, TaskState::Queued);
        assert_eq!((record(task).failures(), record(task).leases.len()), (1, 0));
        let reason = RequeueReason::HostRefused(failure);
        assert_eq!(
            task_events(),
            [Event::Requeued {
                task,
                lease: lease_id,
                reason,
                bills: vec![bill_of(lease_id, RATE / 6, RATE / 6, RATE - RATE / 6)],
                failures: 1,
                state: TaskState::Queued
            }]
        );
        online_host(11);
        let second = assign(task, vec![place(0, 11, &[1])])[0];
        assert_eq!(lease(second).generation, 1);
        assert_ok!(Tasks::report_failed(host_origin(11), second, failure));
        assert_eq!(record(task).state, TaskState::Failed(FailReason::AttemptsExhausted));
        assert_eq!(leases_of(task), [second], "a final task keeps its last leases");
        assert_eq!(Tasks::deposit_held(&account(TENANT)), DEPOSIT_PER_TASK);
        assert_eq!(Manifests::<Test>::get(TaskKey::from(task)), None);
    });
}

#[test]
fn a_pod_that_does_not_start_in_time_is_moved() {
    on_chain(|| {
        let (task, lease_id) = assigned();
        advance(START_TIMEOUT);
        assert_noop!(Tasks::requeue(signed(ANYONE), lease_id), Error::<Test>::LeaseNotStuck);
        advance(1);
        assert_ok!(Tasks::requeue(signed(ANYONE), lease_id));
        assert_eq!(record(task).state, TaskState::Queued);
        assert_noop!(Tasks::requeue(signed(ANYONE), lease_id), Error::<Test>::NoSuchLease);
    });
}

#[test]
fn a_started_pod_is_not_late() {
    on_chain(|| {
        let (_, lease_id) = running();
        advance(START_TIMEOUT + 1);
        assert_noop!(Tasks::requeue(signed(ANYONE), lease_id), Error::<Test>::LeaseNotStuck);
    });
}

#[test]
fn the_task_of_a_lost_host_waits_again() {
    on_chain(|| {
        let (task, lease_id) = running();
        lose_host(10);
        assert_ok!(Tasks::requeue(signed(ANYONE), lease_id));
        assert_eq!(record(task).state, TaskState::Queued);
        let of_host = host_record(10);
        assert_eq!((of_host.free, of_host.live_leases), (of_host.total, 0));
    });
}

#[test]
fn a_host_that_returns_in_time_keeps_its_leases() {
    on_chain(|| {
        let (task, lease_id) = running();
        lose_host(10);
        assert_ok!(Hosts::heartbeat(host_origin(10)));
        assert_eq!(host_record(10).status, HostStatus::Online);
        assert_noop!(Tasks::requeue(signed(ANYONE), lease_id), Error::<Test>::LeaseNotStuck);
        assert_ok!(Tasks::report_result(host_origin(10), lease_id, result(1)));
        assert_eq!(record(task).state, TaskState::Reported);
    });
}

#[test]
fn a_suspended_host_that_falls_silent_is_lost_too() {
    on_chain(|| {
        let (task, lease_id) = running();
        assert_ok!(Hosts::suspend(RuntimeOrigin::root(), host(10)));
        assert_noop!(Tasks::requeue(signed(ANYONE), lease_id), Error::<Test>::LeaseNotStuck);
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Tasks::requeue(signed(ANYONE), lease_id));
        assert_eq!(record(task).state, TaskState::Queued);
    });
}

#[test]
fn a_gang_ends_when_one_of_its_pods_does() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        let task = submit(gang(4));
        let pods = vec![place(0, 10, &[]), place(1, 11, &[]), place(2, 11, &[]), place(3, 11, &[])];
        let leases = assign(task, pods);
        assert_ok!(Tasks::report_started(host_origin(11), leases[1]));
        assert_ok!(Tasks::report_started(host_origin(11), leases[2]));
        advance(10);
        assert_ok!(Tasks::report_result(host_origin(11), leases[2], result(10)));
        assert_ok!(Tasks::report_failed(host_origin(10), leases[0], HostFailure::DriverError));
        assert_eq!(record(task).state, TaskState::Queued);
        online_host(13);
        let again = assign(task, vec![place(0, 13, &[]), place(1, 11, &[]), place(2, 11, &[]), place(3, 11, &[])]);
        assert_ok!(Tasks::report_failed(host_origin(13), again[0], HostFailure::DriverError));
        let states: Vec<_> = again.iter().map(|id| lease(*id).state).collect();
        let aborted = LeaseState::Ended(EndReason::GangAborted);
        let refused = LeaseState::Ended(EndReason::HostRefused(HostFailure::DriverError));
        assert_eq!(states, [refused, aborted, aborted, aborted]);
        assert_eq!(record(task).state, TaskState::Failed(FailReason::AttemptsExhausted));
    });
}

#[test]
fn a_job_whose_host_reports_no_result_in_time_fails() {
    on_chain(|| {
        let (task, lease_id) = running();
        work(HOUR);
        work(REPORT_GRACE - 1);
        assert_noop!(Tasks::expire_lease(signed(ANYONE), lease_id), Error::<Test>::LeaseNotDepleted);
        advance(1);
        let bond = host_record(10).bond;
        assert_ok!(Tasks::expire_lease(signed(ANYONE), lease_id));
        assert_eq!(record(task).state, TaskState::Failed(FailReason::DurationExceeded));
        assert_eq!(lease(lease_id).state, LeaseState::Ended(EndReason::DurationExceeded));
        assert!(host_record(10).bond < bond, "the host is slashed");
        assert_noop!(Tasks::expire_lease(signed(ANYONE), lease_id), Error::<Test>::LeaseNotActive);
    });
}

#[test]
fn a_result_is_accepted_until_the_grace_is_over() {
    on_chain(|| {
        let (task, lease_id) = running();
        work(HOUR);
        work(REPORT_GRACE - 1);
        assert_ok!(Tasks::report_result(host_origin(10), lease_id, result(2 * HOUR)));
        assert_eq!(record(task).state, TaskState::Reported);
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(lease_id).paid, RATE, "an hour, which is what the tenant deposited for");
    });
}

#[test]
fn the_other_pods_of_a_job_go_on_where_one_has_no_result() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        let task = submit(gang(2));
        let leases = assign(task, vec![place(0, 10, &[]), place(1, 11, &[])]);
        assert_ok!(Tasks::report_started(host_origin(10), leases[0]));
        advance(60_000);
        assert_ok!(Tasks::report_started(host_origin(11), leases[1]));
        work(HOUR - 60_000);
        work(REPORT_GRACE);
        assert_noop!(Tasks::expire_lease(signed(ANYONE), leases[1]), Error::<Test>::LeaseNotDepleted);
        assert_ok!(Tasks::expire_lease(signed(ANYONE), leases[0]));
        assert_eq!(record(task).state, TaskState::Running);
        assert_ok!(Tasks::report_result(host_origin(11), leases[1], result(HOUR)));
        assert_eq!(record(task).state, TaskState::Reported, "what the other reported may be disputed");
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!((escrow(leases[0]).paid, escrow(leases[1]).paid), (0, CPU_RATE));
    });
}

#[test]
fn a_replica_without_a_result_is_placed_again_and_not_paid() {
    on_chain(|| {
        let mut replicated = gang(2);
        replicated.verification = VerificationPolicy::Redundant { replicas: 2 };
        online_host(10);
        online_host(11);
        let task = submit(replicated);
        let leases = assign(task, vec![place(0, 10, &[]), place(1, 11, &[])]);
        for (lease, host) in leases.iter().zip([10, 11]) {
            assert_ok!(Tasks::report_started(host_origin(host), *lease));
        }
        work(HOUR + REPORT_GRACE + 1);
        assert_ok!(Tasks::end_committed_pod(leases[1]));
        assert_ok!(Tasks::expire_lease(signed(ANYONE), leases[0]));
        assert_eq!((record(task).state, leases_of(task)), (TaskState::Running, vec![leases[1]]));
        assert_eq!(bill(leases[0]).paid, 0);
    });
}

#[test]
fn a_lost_host_is_not_paid_for_its_silence() {
    on_chain(|| {
        let (_, lease_id) = running();
        advance(HOUR + REPORT_GRACE + 1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(10)));
        assert_noop!(Tasks::expire_lease(signed(ANYONE), lease_id), Error::<Test>::HostIsLost);
        assert_ok!(Tasks::requeue(signed(ANYONE), lease_id));
        assert_eq!(bill(lease_id).paid, 0);
    });
}

#[test]
fn a_job_is_paid_for_what_its_host_measured_also_where_the_host_was_silent() {
    on_chain(|| {
        let (_, lease_id) = running();
        advance(HOUR / 2);
        assert_eq!(lease(lease_id).escrow.owed(Hosts::now(), Hosts::downtime_ms(&host_record(10))), 0);
        assert_ok!(Tasks::report_result(host_origin(10), lease_id, result(HOUR / 4)));
        let escrow = lease(lease_id).escrow;
        assert_eq!(escrow.accrued, escrow.rate_per_hour / 4);
    });
}

#[test]
fn a_tenant_calls_off_its_task_before_it_is_reported() {
    on_chain(|| {
        let waiting = submit(spec());
        assert_noop!(Tasks::cancel(signed(OTHER_TENANT), waiting), Error::<Test>::NotTenant);
        assert_ok!(Tasks::cancel(signed(TENANT), waiting));
        assert_eq!(record(waiting).state, TaskState::Cancelled);
        assert_noop!(Tasks::cancel(signed(TENANT), waiting), Error::<Test>::TransitionNotAllowed);
        let (task, lease_id) = running();
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        assert_eq!(record(task).state, TaskState::Cancelled);
        assert_eq!(lease(lease_id).state, LeaseState::Ended(EndReason::Cancelled));
        assert_eq!(Tasks::deposit_held(&account(TENANT)), 2 * DEPOSIT_PER_TASK);
    });
}

#[test]
fn a_reported_task_is_not_called_off() {
    on_chain(|| {
        let (task, _) = reported(10);
        assert_noop!(Tasks::cancel(signed(TENANT), task), Error::<Test>::TransitionNotAllowed);
    });
}

#[test]
fn a_task_that_waits_past_its_deadline_expires() {
    on_chain(|| {
        let mut hasty = spec();
        hasty.deadline = Some(START + 100);
        let (task, patient) = (submit(hasty), submit(spec()));
        advance(100);
        assert_noop!(Tasks::expire(signed(ANYONE), task), Error::<Test>::DeadlineNotPassed);
        advance(1);
        assert_ok!(Tasks::expire(signed(ANYONE), task));
        assert_eq!(record(task).state, TaskState::Expired);
        assert_eq!(Manifests::<Test>::get(TaskKey::from(task)), None);
        assert_noop!(Tasks::expire(signed(ANYONE), task), Error::<Test>::NotQueued);
        assert_noop!(Tasks::expire(signed(ANYONE), patient), Error::<Test>::DeadlineNotPassed);
    });
}

#[test]
fn a_tenant_accepts_a_result_and_anyone_settles_it() {
    on_chain(|| {
        let (task, lease_id) = running();
        assert_noop!(Tasks::accept_result(signed(TENANT), task), Error::<Test>::NotReported);
        assert_noop!(Tasks::settle(signed(ANYONE), task), Error::<Test>::NotSettleable);
        assert_ok!(Tasks::report_result(host_origin(10), lease_id, result(10)));
        assert_noop!(Tasks::accept_result(signed(OTHER_TENANT), task), Error::<Test>::NotTenant);
        assert_noop!(Tasks::settle(signed(ANYONE), task), Error::<Test>::DisputeWindowOpen);
        assert_ok!(Tasks::accept_result(signed(TENANT), task));
        assert_eq!(record(task).state, TaskState::Verified);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(record(task).state, TaskState::Settled);
        assert!(!is_listed(IndexTag::Verified, task));
        assert_noop!(Tasks::settle(signed(ANYONE), task), Error::<Test>::NotSettleable);
    });
}

#[test]
fn a_result_that_nobody_disputes_is_settled_after_the_window() {
    on_chain(|| {
        let (task, _) = reported(10);
        advance(DISPUTE_WINDOW - 1);
        assert_noop!(Tasks::settle(signed(ANYONE), task), Error::<Test>::DisputeWindowOpen);
        advance(1);
        task_events();
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert!(matches!(task_events()[..], [Event::Settled { .. }]));
        assert_eq!(record(task).state, TaskState::Settled);
    });
}

#[test]
fn conduct_is_written_down() {
    on_chain(|| {
        let score = || Reputation::host_priority_ppm(&host(10));
        let (task, lease_id) = assigned();
        let unknown = score();
        assert_ok!(Tasks::report_started(host_origin(10), lease_id));
        assert_eq!(score(), unknown, "nothing is paid yet");
        work(HOUR / 4);
        assert_ok!(Tasks::report_result(host_origin(10), lease_id, result(HOUR / 4)));
        let started = score();
        assert!(started > unknown, "it started soon, and was there");
        assert_ok!(Tasks::accept_result(signed(TENANT), task));
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        let completed = score();
        assert!(completed > started);

        let refused = assign(submit(spec()), vec![place(0, 10, &[0])])[0];
        assert_ok!(Tasks::report_failed(host_origin(10), refused, HostFailure::DriverError));
        let after_refusal = score();
        assert!(after_refusal < completed);
        let broken = assign(submit(spec()), vec![place(0, 10, &[0])])[0];
        assert_ok!(Tasks::report_failed(host_origin(10), broken, HostFailure::ManifestInvalid));
        assert_eq!(score(), after_refusal, "a tenant's fault does not count");
    });
}
