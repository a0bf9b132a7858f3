//! Jobs whose work another host repeats if the chain draws it.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{FailReason, HostFailure, LeaseId, TaskId, TaskKind, TaskSpec, TaskState, VerificationPolicy};

use crate::{mock::*, CurrentParams, Error, Event, Params};

/// What the first host of an audited job gets an hour.
const FIRST_RATE: u128 = CPU_RATE + CPU_RATE / 20;

/// A running [`audited`] job on host 10, and host 11 of another provider.
fn running_audit() -> (TaskId, LeaseId) {
    online_host(10);
    online_host(11);
    let task = submit(audited());
    let lease = start_on(task, &[10])[0];
    (task, lease)
}

/// The first host has committed its result after `ms`, and host 11 repeats the work.
fn repeated(ms: u64) -> (TaskId, [LeaseId; 2]) {
    let (task, first) = running_audit();
    work(ms);
    assert_ok!(Tasks::end_committed_pod(first));
    assert_ok!(Tasks::request_extra_pod(task));
    let second = assign(task, vec![place(1, 11, &[])])[1];
    assert_ok!(Tasks::report_started(host_origin(11), second));
    (task, [first, second])
}

#[test]
fn jobs_of_one_pod_are_audited_where_the_chain_compares_results() {
    on_chain(|| {
        let send = |spec: TaskSpec| Tasks::submit(signed(TENANT), spec, manifest());
        let offer = |max_replicas| {
            let params = Params { max_replicas, ..CurrentParams::<Test>::get() };
            assert_ok!(Tasks::set_params(RuntimeOrigin::root(), params));
        };
        offer(1);
        assert_noop!(send(audited()), Error::<Test>::ReplicasNotOffered);
        offer(2);
        assert_ok!(send(audited()));
        let invalid = Error::<Test>::ReplicasInvalid;
        assert_noop!(send(TaskSpec { verification: VerificationPolicy::Audit, ..gang(2) }), invalid);
        assert_noop!(send(TaskSpec { kind: TaskKind::Service, ..audited() }), Error::<Test>::ReplicasInvalid);
        assert_noop!(send(TaskSpec { spot: true, ..audited() }), Error::<Test>::ReplicasNotSpot);
    });
}

#[test]
fn the_first_host_gets_a_surcharge_within_the_limit_and_the_plan() {
    on_chain(|| {
        online_host(10);
        let poor = submit(TaskSpec { max_rate_per_hour: FIRST_RATE - 1, ..audited() });
        let at = |rate_per_hour| {
            let mut pod = place(0, 10, &[]);
            pod.rate_per_hour = rate_per_hour;
            placed(vec![pod])
        };
        assert_noop!(try_assign(signed(SCHEDULER), poor, at(u128::MAX)), Error::<Test>::RateTooHigh);
        let task = submit(audited());
        assert_noop!(try_assign(signed(SCHEDULER), task, at(FIRST_RATE - 1)), Error::<Test>::RateAbovePlan);
        assert_ok!(try_assign(signed(SCHEDULER), task, at(FIRST_RATE)));
        assert_eq!(escrow(leases_of(task)[0]).rate_per_hour, FIRST_RATE);
    });
}

#[test]
fn the_tenant_pays_once_and_the_first_host_pays_the_other() {
    on_chain(|| {
        let (task, [first, second]) = repeated(60_000);
        assert_eq!(escrow(second).rate_per_hour, CPU_RATE, "no surcharge");
        work(60_000);
        assert_ok!(Tasks::end_committed_pod(second));
        assert_ok!(Tasks::complete_pod(first, result(60_000)));
        assert_ok!(Tasks::complete_pod(second, result(60_000)));
        let (price, cost) = (escrow(first).accrued, escrow(second).accrued);
        assert_eq!((price, cost), (FIRST_RATE / 60, CPU_RATE / 60));
        let fees = Tasks::treasury_fees(task, &[first, second]);
        let alone = Tasks::treasury_fees(task, &[second]);
        assert!(alone < fees && fees < 2 * alone, "the treasury gets its fee of one price: {alone}, {fees}");
        assert_ok!(Tasks::mark_verified(task));
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!((escrow(first).paid, escrow(second).paid), (price - cost, cost));
    });
}

#[test]
fn where_the_first_host_is_wrong_the_others_are_paid_by_the_tenant() {
    on_chain(|| {
        let (task, [first, second]) = repeated(60_000);
        work(60_000);
        assert_ok!(Tasks::end_committed_pod(second));
        assert_ok!(Tasks::complete_pod(first, result(60_000)));
        assert_ok!(Tasks::complete_pod(second, result(60_000)));
        let cost = escrow(second).accrued;
        assert_ok!(Tasks::void_pod(first));
        assert_ok!(Tasks::mark_verified(task));
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!((escrow(first).paid, escrow(second).paid), (0, cost));
    });
}

#[test]
fn who_repeats_the_work_is_of_another_provider_and_asks_for_no_more_than_the_first_gets() {
    on_chain(|| {
        let (task, first) = running_audit();
        online_host(12);
        work(1_000);
        assert_noop!(try_assign(signed(SCHEDULER), task, placed(vec![place(1, 11, &[])])), Error::<Test>::NotQueued);
        assert_ok!(Tasks::end_committed_pod(first));
        assert_ok!(Tasks::request_extra_pod(task));
        let same_provider = placed(vec![place(1, 12, &[])]);
        assert_noop!(try_assign(signed(SCHEDULER), task, same_provider), Error::<Test>::ProviderRepeated);
        let dear = gantry_primitives::Ask {
            cpu_core_per_hour: 2 * host_record(11).ask.cpu_core_per_hour,
            ..host_record(11).ask
        };
        assert_ok!(Hosts::set_ask(signed(OTHER_PROVIDER), host(11), dear));
        let other = placed(vec![place(1, 11, &[])]);
        assert_noop!(try_assign(signed(SCHEDULER), task, other), Error::<Test>::AuditTooExpensive);
    });
}

#[test]
fn a_result_that_nobody_repeats_is_reported_and_may_be_disputed() {
    on_chain(|| {
        let (task, first) = running_audit();
        work(60_000);
        assert_noop!(Tasks::mark_reported(task), Error::<Test>::PodsStillRun);
        assert_ok!(Tasks::end_committed_pod(first));
        assert_noop!(Tasks::mark_reported(task), Error::<Test>::NothingRight);
        assert_ok!(Tasks::complete_pod(first, result(60_000)));
        assert_ok!(Tasks::mark_reported(task));
        System::assert_last_event(Event::NotRepeated { task }.into());
        assert_eq!(record(task).state, TaskState::Reported);
        assert_ok!(Tasks::mark_disputed(task, &[first]));
        assert_ok!(Tasks::resolve_dispute(task, &[first], None, true));
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(first).paid, FIRST_RATE / 60);
        let other = submit(gang(1));
        assert_noop!(Tasks::mark_reported(other), Error::<Test>::NotRedundant);
    });
}

#[test]
fn a_pod_that_nobody_waits_for_is_not_wanted_any_more() {
    on_chain(|| {
        let (task, first) = running_audit();
        work(60_000);
        assert_ok!(Tasks::end_committed_pod(first));
        assert_ok!(Tasks::request_extra_pod(task));
        assert_ok!(Tasks::end_other_pods(task, &[first]));
        assert_eq!(record(task).pods_wanted, 1);
        assert_noop!(try_assign(signed(SCHEDULER), task, placed(vec![place(1, 11, &[])])), Error::<Test>::NotQueued);
    });
}

#[test]
fn refusals_to_repeat_the_work_do_not_fail_the_job() {
    on_chain(|| {
        let (task, [first, mut second]) = repeated(60_000);
        CurrentParams::<Test>::mutate(|params| params.max_refusals = 1);
        assert_ok!(Tasks::report_failed(host_origin(11), second, HostFailure::DriverError));
        assert_eq!(record(task).state, TaskState::Running);
        online_host(13);
        second = assign(task, vec![place(1, 13, &[])])[1];
        assert_ok!(Tasks::report_failed(host_origin(13), second, HostFailure::ImageUnavailable));
        assert_eq!((record(task).state, record(task).leases.len()), (TaskState::Running, 1));
        assert_ok!(Tasks::end_other_pods(task, &[first]));
        assert_ok!(Tasks::complete_pod(first, result(60_000)));
        assert_ok!(Tasks::mark_reported(task));
        assert_ok!(Tasks::settle(signed(ANYONE), task).map(|_| ()).or_else(|_| {
            work(DISPUTE_WINDOW);
            Tasks::settle(signed(ANYONE), task).map(|_| ())
        }));
        assert!(escrow(first).paid > 0);
    });
}

#[test]
fn a_first_pod_that_is_refused_too_often_fails_the_job() {
    on_chain(|| {
        online_host(10);
        CurrentParams::<Test>::mutate(|params| params.max_refusals = 1);
        let task = submit(audited());
        let lease = assign(task, vec![place(0, 10, &[])])[0];
        assert_ok!(Tasks::report_failed(host_origin(10), lease, HostFailure::DriverError));
        assert_eq!(record(task).state, TaskState::Failed(FailReason::AttemptsExhausted));
    });
}
