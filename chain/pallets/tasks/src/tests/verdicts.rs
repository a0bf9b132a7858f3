use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{EndReason, FailReason, HostFailure, IndexTag, LeaseId, LeaseState, TaskId, TaskState, Vote};

use crate::{mock::*, Error, Event};

/// A running [`redundant`] job on hosts 10 and 11, of different providers.
fn replicas() -> (TaskId, Vec<LeaseId>) {
    online_host(10);
    online_host(11);
    let task = submit(redundant());
    let leases = start_on(task, &[10, 11]);
    (task, leases)
}

#[test]
fn replicas_run_on_hosts_of_different_providers() {
    on_chain(|| {
        online_host(10);
        online_host(12);
        let task = submit(redundant());
        let one_provider = placed(vec![place(0, 10, &[]), place(1, 12, &[])]);
        assert_noop!(try_assign(signed(SCHEDULER), task, one_provider), Error::<Test>::ProviderRepeated);
        online_host(11);
        start_on(task, &[10, 11]);
    });
}

#[test]
fn the_results_of_replicas_are_not_reported_but_revealed() {
    on_chain(|| {
        let (task, leases) = replicas();
        work(1_000);
        let report = Tasks::report_result(host_origin(10), leases[0], result(1_000));
        assert_eq!(report, Err(Error::<Test>::ResultsAreCompared.into()));
        assert_ok!(Tasks::complete_pod(leases[0], result(1_000)));
        assert_ok!(Tasks::complete_pod(leases[1], result(1_000)));
        assert_eq!(record(task).state, TaskState::Running, "they wait to be compared");
        assert_noop!(Tasks::settle(signed(ANYONE), task), Error::<Test>::NotSettleable);
        assert_ok!(Tasks::mark_verified(task));
        assert_eq!(record(task).state, TaskState::Verified);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert!(escrow(leases[0]).paid > 0 && escrow(leases[1]).paid > 0);
    });
}

#[test]
fn a_wrong_replica_and_one_that_never_came_are_not_paid() {
    on_chain(|| {
        let (task, leases) = replicas();
        work(1_000);
        assert_ok!(Tasks::complete_pod(leases[0], result(1_000)));
        assert_ok!(Tasks::complete_pod(leases[1], result(1_000)));
        assert_ok!(Tasks::request_extra_pod(task));
        assert!(is_listed(IndexTag::Short, task));
        assert_ok!(register(SCHEDULER, 13, hardware()));
        assert_ok!(Hosts::heartbeat(host_origin(13)));
        let third = assign(task, vec![place(2, 13, &[])])[2];
        assert_ok!(Tasks::report_started(host_origin(13), third));
        work(1_000);
        assert_ok!(Tasks::complete_pod(third, result(1_000)));
        assert_ok!(Tasks::void_pod(leases[1]));
        assert_ok!(Tasks::mark_verified(task));
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert!(escrow(leases[0]).paid > 0 && escrow(third).paid > 0);
        assert_eq!(escrow(leases[1]).paid, 0);
        assert_eq!(lease(leases[1]).state, LeaseState::Ended(EndReason::DisputeLost));
    });
}

#[test]
fn a_committed_replica_is_billed_no_further_and_revealed_later() {
    on_chain(|| {
        let (task, leases) = replicas();
        work(60_000);
        assert_noop!(Tasks::can_commit(leases[0], &host(11)), Error::<Test>::NotHostOfLease);
        assert_ok!(Tasks::can_commit(leases[0], &host(10)));
        assert_ok!(Tasks::end_committed_pod(leases[0]));
        assert_noop!(Tasks::can_commit(leases[0], &host(10)), Error::<Test>::LeaseNotActive);
        assert_eq!(host_record(10).live_leases, 0, "its host has its resources back");
        assert_eq!(Tasks::replicas_of(task), Some(2));
        assert!(Tasks::is_current(leases[0]) && Tasks::has_other_pods(task, &leases[..1]));
        work(60_000);
        assert_ok!(Tasks::end_committed_pod(leases[1]));
        assert!(!Tasks::has_other_pods(task, &[]));
        assert_noop!(Tasks::mark_verified(task), Error::<Test>::NothingRight);
        assert_ok!(Tasks::complete_pod(leases[0], result(30_000)));
        assert_noop!(Tasks::complete_pod(leases[0], result(30_000)), Error::<Test>::LeaseNotActive);
        assert_ok!(Tasks::complete_pod(leases[1], result(HOUR)));
        assert_ok!(Tasks::mark_verified(task));
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        let minute = CPU_RATE / 60;
        assert_eq!([escrow(leases[0]).paid, escrow(leases[1]).paid], [minute / 2, 2 * minute]);
    });
}

#[test]
fn nobody_waits_for_a_replica_that_does_not_commit() {
    on_chain(|| {
        let (task, leases) = replicas();
        work(1_000);
        assert_ok!(Tasks::complete_pod(leases[0], result(1_000)));
        assert_noop!(Tasks::mark_verified(task), Error::<Test>::PodsStillRun);
        assert_ok!(Tasks::end_other_pods(task, &leases[..1]));
        assert!(!Tasks::is_current(leases[1]));
        assert_ok!(Tasks::mark_verified(task));
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(leases[1]).paid, 0);
    });
}

#[test]
fn replicas_that_do_not_agree_cost_the_tenant_nothing() {
    on_chain(|| {
        let (task, leases) = replicas();
        work(1_000);
        assert_ok!(Tasks::complete_pod(leases[0], result(1_000)));
        assert_ok!(Tasks::fail_without_agreement(task));
        assert_eq!(record(task).state, TaskState::Failed(FailReason::NoAgreement));
        assert_eq!([bill(leases[0]).paid, bill(leases[1]).paid], [0, 0]);
    });
}

#[test]
fn a_further_replica_has_devices_of_the_same_model() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        let mut wanted = redundant();
        wanted.resources.gpus.count = 1;
        let task = submit(wanted);
        let leases = assign(task, vec![place(0, 10, &[0]), place(1, 11, &[0])]);
        for (number, lease) in [10, 11].into_iter().zip(&leases) {
            assert_ok!(Tasks::report_started(host_origin(number), *lease));
        }
        assert_ok!(Tasks::request_extra_pod(task));
        let mut other = hardware();
        other.devices[0].model = bytes("H100");
        assert_ok!(register(SCHEDULER, 13, other));
        assert_ok!(Hosts::heartbeat(host_origin(13)));
        let differs = placed(vec![place(2, 13, &[0])]);
        assert_noop!(try_assign(signed(SCHEDULER), task, differs), Error::<Test>::ModelDiffers);
        assign(task, vec![place(2, 13, &[1])]);
    });
}

#[test]
fn a_lost_replica_is_replaced_while_the_others_go_on() {
    on_chain(|| {
        let (task, leases) = replicas();
        assert_ok!(Tasks::report_failed(host_origin(11), leases[1], HostFailure::DriverError));
        assert_eq!(record(task).state, TaskState::Running);
        assert!(is_listed(IndexTag::Short, task));
        assert_eq!(bill(leases[1]).paid, 0);
        assert_ok!(register(SCHEDULER, 13, hardware()));
        assert_ok!(Hosts::heartbeat(host_origin(13)));
        let again = assign(task, vec![place(1, 13, &[])])[1];
        assert_ok!(Tasks::report_failed(host_origin(13), again, HostFailure::DriverError));
        assert_eq!(record(task).state, TaskState::Failed(FailReason::AttemptsExhausted));
    });
}

#[test]
fn replicas_that_nobody_compares_may_be_called_off() {
    on_chain(|| {
        let (task, leases) = replicas();
        work(1_000);
        assert_ok!(Tasks::complete_pod(leases[0], result(1_000)));
        assert_ok!(Tasks::complete_pod(leases[1], result(1_000)));
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        assert!(bill(leases[0]).paid > 0, "what was done is paid");
    });
}

#[test]
fn what_is_for_replicas_is_refused_for_others() {
    on_chain(|| {
        let (task, lease) = running();
        let error = Error::<Test>::NotRedundant;
        assert_noop!(Tasks::complete_pod(lease, result(1)), error);
        assert_noop!(Tasks::request_extra_pod(task), Error::<Test>::NotRedundant);
        assert_noop!(Tasks::mark_verified(task), Error::<Test>::NotRedundant);
    });
}

#[test]
fn a_result_is_disputed_within_its_window() {
    on_chain(|| {
        let (task, _) = running();
        assert_noop!(Tasks::mark_disputed(task, &leases_of(task)), Error::<Test>::NotReported);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        let late = reported_on(11);
        work(DISPUTE_WINDOW);
        assert_noop!(Tasks::mark_disputed(late, &leases_of(late)), Error::<Test>::DisputeWindowClosed);
        let task = reported_on(12);
        assert_ok!(Tasks::mark_disputed(task, &leases_of(task)));
        assert_eq!(record(task).state, TaskState::Disputed);
        assert!(is_listed(IndexTag::Disputed, task));
        work(2 * DISPUTE_WINDOW);
        assert_noop!(Tasks::settle(signed(ANYONE), task), Error::<Test>::NotSettleable);
        assert_noop!(Tasks::accept_result(signed(TENANT), task), Error::<Test>::NotReported);
        assert_noop!(Tasks::cancel(signed(TENANT), task), Error::<Test>::TransitionNotAllowed);
    });
}

/// A task that host `number`, brought online, has reported after a minute.
fn reported_on(number: u8) -> TaskId {
    online_host(number);
    let task = submit(gang(1));
    let lease = start_on(task, &[number])[0];
    work(60_000);
    assert_ok!(Tasks::report_result(host_origin(number), lease, result(60_000)));
    task
}

#[test]
fn a_dispute_that_is_upheld_costs_the_tenant_nothing() {
    on_chain(|| {
        let before = total_balance(&account(TENANT));
        let task = reported_on(10);
        let lease_id = leases_of(task)[0];
        assert_noop!(Tasks::resolve_dispute(task, &leases_of(task), Some(Vote::Yes), true), Error::<Test>::NotDisputed);
        assert_ok!(Tasks::mark_disputed(task, &leases_of(task)));
        task_events();
        assert_ok!(Tasks::resolve_dispute(task, &leases_of(task), Some(Vote::Yes), true));
        assert!(matches!(task_events()[..], [Event::DisputeResolved { upheld: true, .. }]));
        assert_eq!(record(task).state, TaskState::Failed(FailReason::DisputeLost));
        assert_eq!((escrow(lease_id).paid, total_balance(&account(TENANT))), (0, before));
    });
}

#[test]
fn a_dispute_that_is_upheld_concerns_the_leases_that_it_names() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        let task = submit(gang(2));
        let leases = assign(task, vec![place(0, 10, &[]), place(1, 11, &[])]);
        for (lease, host) in leases.iter().zip([10, 11]) {
            assert_ok!(Tasks::report_started(host_origin(host), *lease));
        }
        work(60_000);
        for (lease, host) in leases.iter().zip([10, 11]) {
            assert_ok!(Tasks::report_result(host_origin(host), *lease, result(60_000)));
        }
        assert_noop!(Tasks::mark_disputed(task, &[leases[0], leases[1] + 1]), Error::<Test>::NoSuchLease);
        assert_ok!(Tasks::mark_disputed(task, &leases[..1]));
        assert_ok!(Tasks::resolve_dispute(task, &leases[..1], Some(Vote::Yes), true));
        assert_eq!(record(task).state, TaskState::Verified, "the result of the other pod stands");
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(leases[0]).paid, 0);
        assert!(escrow(leases[1]).paid > 0);
        let verified = |number| {
            pallet_gantry_reputation::HostScores::<Test>::get(host(number)).unwrap_or_default().verified.negative
        };
        assert!(verified(10) > 0);
        assert_eq!(verified(11), 0);
    });
}

#[test]
fn a_verdict_counts_for_or_against_the_hosts_and_a_tenant_that_complained() {
    use Vote::{No, Yes};
    for (verdict, by_tenant) in [(Some(Yes), true), (Some(No), true), (Some(No), false), (None, true)] {
        on_chain(|| {
            let task = reported_on(10);
            assert_ok!(Tasks::mark_disputed(task, &leases_of(task)));
            assert_ok!(Tasks::resolve_dispute(task, &leases_of(task), verdict, by_tenant));
            let found = pallet_gantry_reputation::HostScores::<Test>::get(host(10)).unwrap_or_default().verified;
            let said =
                pallet_gantry_reputation::TenantScores::<Test>::get(account(TENANT)).unwrap_or_default().disputes;
            let is = |wanted| verdict == Some(wanted);
            assert_eq!((found.positive > 0, found.negative > 0), (is(No), is(Yes)));
            let (won, lost) = (by_tenant && is(Yes), by_tenant && is(No));
            assert_eq!((said.positive > 0, said.negative > 0), (won, lost));
        });
    }
}

#[test]
fn a_dispute_that_is_not_upheld_leaves_the_result_as_it_is() {
    on_chain(|| {
        let task = reported_on(10);
        assert_ok!(Tasks::mark_disputed(task, &leases_of(task)));
        assert_ok!(Tasks::resolve_dispute(task, &leases_of(task), Some(Vote::No), true));
        assert_eq!(record(task).state, TaskState::Verified);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert!(escrow(leases_of(task)[0]).paid > 0);
    });
}
