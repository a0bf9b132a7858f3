use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    EndReason, HostFailure, IndexTag, LeaseState, Preemption, TaskId, TaskSpec, TaskState, UpTo, MAX_VICTIMS,
};

use crate::{mock::*, Error, Event};

/// A task of that priority that waits.
fn waiting(priority: u8) -> TaskId {
    submit(TaskSpec { priority, ..spec() })
}

/// A spot task that runs on the first device of host 10, which is brought online.
fn running_spot(spec: TaskSpec) -> TaskId {
    online_host(10);
    let task = submit(spec);
    let lease = assign(task, vec![place(0, 10, &[0])])[0];
    assert_ok!(Tasks::report_started(host_origin(10), lease));
    task
}

fn victims(tasks: &[TaskId]) -> UpTo<TaskId, MAX_VICTIMS> {
    tasks.to_vec().try_into().expect("few")
}

fn preempt(wanting: TaskId, tasks: &[TaskId]) -> frame_support::dispatch::DispatchResult {
    Tasks::preempt(signed(SCHEDULER), wanting, victims(tasks))
}

#[test]
fn a_spot_job_leaves_after_its_notice_is_paid_until_then_and_runs_again() {
    on_chain(|| {
        let task = running_spot(spot());
        let lease_id = leases_of(task)[0];
        let wanting = waiting(1);
        work(HOUR / 4 - LEAVE_WITHIN);
        task_events();
        assert_ok!(preempt(wanting, &[task]));
        let ends_at = Hosts::now() + LEAVE_WITHIN;
        assert_eq!(task_events(), [Event::PreemptionNoticed { task, wanting, ends_at }]);
        assert_eq!(
            (record(task).state, record(task).preemption),
            (TaskState::Running, Some(Preemption { wanting, ends_at }))
        );
        work(LEAVE_WITHIN - 1);
        assert_noop!(Tasks::finish_preemption(signed(ANYONE), task), Error::<Test>::NoticeNotOver);
        work(1);
        task_events();
        assert_ok!(Tasks::finish_preemption(signed(ANYONE), task));
        let bill = bill_of(lease_id, RATE / 4, RATE / 40, RATE - RATE / 4);
        let state = TaskState::Queued;
        assert_eq!(task_events(), [Event::Preempted { task, wanting, bills: vec![bill], state }]);
        assert!(is_listed(IndexTag::Queued, task));
        assert_eq!((record(task).failures(), record(task).generation, record(task).leases.len()), (0, 1, 0));
        assert_eq!(host_record(10).free, host_record(10).total);

        let room = assign(wanting, vec![place(0, 10, &[0])]);
        assert_ok!(Tasks::report_started(host_origin(10), room[0]));
        let again = assign(task, vec![place(0, 10, &[1])])[0];
        assert_ok!(Tasks::report_started(host_origin(10), again));
        assert_eq!((record(task).state, record(task).preemption), (TaskState::Running, None));
    });
}

#[test]
fn nobody_leaves_for_a_task_of_the_same_or_a_lower_priority() {
    on_chain(|| {
        let task = running_spot(TaskSpec { priority: 5, ..spot() });
        for priority in [0, 4, 5] {
            let wanting = waiting(priority);
            assert_noop!(preempt(wanting, &[task]), Error::<Test>::PriorityNotLower);
        }
        assert_ok!(preempt(waiting(6), &[task]));
    });
}

#[test]
fn only_running_spot_tasks_leave_and_each_is_told_once() {
    on_chain(|| {
        let ordinary = running_spot(spec());
        let wanting = waiting(9);
        assert_noop!(preempt(wanting, &[ordinary]), Error::<Test>::NotSpot);
        let task = submit(spot());
        assert_noop!(preempt(wanting, &[task]), Error::<Test>::NotRunning);
        let lease = assign(task, vec![place(0, 10, &[1])])[0];
        assert_noop!(preempt(wanting, &[task]), Error::<Test>::NotRunning);
        assert_noop!(Tasks::finish_preemption(signed(ANYONE), task), Error::<Test>::NotRunning);
        assert_ok!(Tasks::report_started(host_origin(10), lease));
        assert_noop!(Tasks::finish_preemption(signed(ANYONE), task), Error::<Test>::NotNoticed);
        for wrong in [&[][..], &[task, task]] {
            assert_noop!(preempt(wanting, wrong), Error::<Test>::VictimsInvalid);
        }
        assert_noop!(preempt(wanting, &[task, ordinary]), Error::<Test>::NotSpot);
        assert_noop!(preempt(wanting, &[99]), Error::<Test>::NoSuchTask);
        assert_ok!(preempt(wanting, &[task]));
        assert_noop!(preempt(wanting, &[task]), Error::<Test>::AlreadyNoticed);
        let other = waiting(9);
        assert_noop!(preempt(other, &[task]), Error::<Test>::AlreadyNoticed);
    });
}

#[test]
fn only_bonded_schedulers_tell_tasks_to_leave_and_only_for_tasks_that_wait() {
    on_chain(|| {
        let task = running_spot(spot());
        let wanting = waiting(1);
        for stranger in [TENANT, ANYONE, NOBODY] {
            let refused = Tasks::preempt(signed(stranger), wanting, victims(&[task]));
            assert_noop!(refused, Error::<Test>::NotScheduler);
        }
        assign(wanting, vec![place(0, 10, &[1])]);
        assert_noop!(preempt(wanting, &[task]), Error::<Test>::NotQueued);
        let hasty = submit(TaskSpec { priority: 1, deadline: Some(Hosts::now() + LEAVE_WITHIN - 1), ..spec() });
        assert_noop!(preempt(hasty, &[task]), Error::<Test>::DeadlinePassed);
    });
}

#[test]
fn who_had_to_leave_makes_nobody_leave_before_it_runs_again() {
    on_chain(|| {
        let first = running_spot(TaskSpec { priority: 5, ..spot() });
        let second = submit(spot());
        let lease = assign(second, vec![place(0, 10, &[1])])[0];
        assert_ok!(Tasks::report_started(host_origin(10), lease));
        let wanting = waiting(9);
        assert_ok!(preempt(wanting, &[first]));
        work(LEAVE_WITHIN);
        assert_ok!(Tasks::finish_preemption(signed(ANYONE), first));
        assert_noop!(preempt(first, &[second]), Error::<Test>::WasPreempted);
        assign(wanting, vec![place(0, 10, &[0])]);
        assert_ok!(Tasks::cancel(signed(TENANT), wanting));
        let again = assign(first, vec![place(0, 10, &[0])])[0];
        assert_ok!(Tasks::report_started(host_origin(10), again));
        let reason = HostFailure::DriverError;
        assert_ok!(Tasks::report_failed(host_origin(10), again, reason));
        assert_ok!(preempt(first, &[second]));
    });
}

#[test]
fn a_notice_is_void_once_nobody_waits_for_the_room() {
    on_chain(|| {
        let task = running_spot(spot());
        let wanting = waiting(1);
        assert_ok!(preempt(wanting, &[task]));
        assert_ok!(Tasks::cancel(signed(TENANT), wanting));
        task_events();
        assert_ok!(Tasks::finish_preemption(signed(ANYONE), task));
        assert_eq!(task_events(), [Event::PreemptionWithdrawn { task, wanting }]);
        assert_eq!((record(task).state, record(task).preemption), (TaskState::Running, None));
        assert_ok!(preempt(waiting(1), &[task]));
    });
}

#[test]
fn a_spot_job_may_end_within_its_notice() {
    on_chain(|| {
        let task = running_spot(spot());
        let lease = leases_of(task)[0];
        assert_ok!(preempt(waiting(1), &[task]));
        work(1_000);
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(1_000)));
        assert_eq!(record(task).state, TaskState::Reported);
        work(LEAVE_WITHIN);
        assert_noop!(Tasks::finish_preemption(signed(ANYONE), task), Error::<Test>::NotRunning);
    });
}

#[test]
fn every_pod_of_a_spot_service_leaves_and_its_deadline_counts_no_more() {
    on_chain(|| {
        online_host(10);
        let task = submit_wide(TaskSpec { spot: true, ..service(2) });
        let leases = start_on(task, &[10, 10]);
        assert_ok!(preempt(waiting(1), &[task]));
        work(LEAVE_WITHIN);
        assert_ok!(Tasks::finish_preemption(signed(ANYONE), task));
        assert_eq!(bill(leases[0]).paid, bill(leases[1]).paid);
        assert!(bill(leases[0]).paid > 0);
        assert_eq!((record(task).state, record(task).pods_wanted), (TaskState::Queued, 2));
        start_on(task, &[10, 10]);
    });
}

#[test]
fn a_spot_job_that_had_to_leave_is_placed_again_after_its_deadline() {
    on_chain(|| {
        let task = running_spot(TaskSpec { deadline: Some(START + 100), ..spot() });
        assert_ok!(preempt(waiting(1), &[task]));
        work(LEAVE_WITHIN);
        assert_ok!(Tasks::finish_preemption(signed(ANYONE), task));
        assert_noop!(Tasks::expire(signed(ANYONE), task), Error::<Test>::DeadlineNotPassed);
        assign(task, vec![place(0, 10, &[0])]);
    });
}

#[test]
fn a_spot_rental_that_has_to_leave_is_over_and_keeps_its_data() {
    on_chain(|| {
        let task = running_spot(TaskSpec { spot: true, ..rental() });
        let lease_id = leases_of(task)[0];
        work(HOUR / 2 - LEAVE_WITHIN);
        assert_ok!(preempt(waiting(1), &[task]));
        work(LEAVE_WITHIN);
        assert_ok!(Tasks::finish_preemption(signed(ANYONE), task));
        assert_eq!(record(task).state, TaskState::Reported);
        assert!(matches!(lease(lease_id).state, LeaseState::Retained(_)));
        assert_eq!(host_record(10).devices[0].milli_free, 1_000);
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(lease_id).paid, RATE / 2);
    });
}

#[test]
fn a_task_whose_results_are_compared_cannot_be_spot() {
    on_chain(|| {
        let spec = TaskSpec { spot: true, ..redundant() };
        assert_noop!(Tasks::submit(signed(TENANT), spec, manifest()), Error::<Test>::ReplicasNotSpot);
    });
}

#[test]
fn who_leaves_is_paid_pro_rata_whatever_its_unit() {
    assert_eq!(
        EndReason::Preempted.billing(gantry_primitives::TaskKind::Job),
        EndReason::Reclaimed.billing(gantry_primitives::TaskKind::Job)
    );
}
