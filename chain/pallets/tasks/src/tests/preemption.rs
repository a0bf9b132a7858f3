use frame_support::{assert_noop, assert_ok, dispatch::DispatchResult};
use gantry_primitives::{
    Ask, EndReason, HostFailure, IndexTag, LeaseState, NoticeState, PodPlacement, Preemption, PreemptionNotice, TaskId,
    TaskKey, TaskSpec, TaskState, UpTo, MAX_VICTIMS,
};

use crate::{mock::*, Error, Event, PreemptionNotices, WeightInfo};

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

/// A further [`spot`] task, that runs on this device of host 10.
fn another_spot(device: u8) -> TaskId {
    let task = submit(spot());
    let lease = assign(task, vec![place(0, 10, &[device])])[0];
    assert_ok!(Tasks::report_started(host_origin(10), lease));
    task
}

fn victims(tasks: &[TaskId]) -> UpTo<TaskId, MAX_VICTIMS> {
    tasks.to_vec().try_into().expect("few")
}

/// Why a notice for a task with this placement is refused, without the weight.
fn preempt_for(wanting: TaskId, tasks: &[TaskId], pods: Vec<PodPlacement>) -> DispatchResult {
    let told = Tasks::preempt(signed(SCHEDULER), wanting, victims(tasks), placed(pods));
    told.map(|_| ()).map_err(|refused| refused.error)
}

/// The same where it is to be placed on the first device of host 10.
fn preempt(wanting: TaskId, tasks: &[TaskId]) -> DispatchResult {
    preempt_for(wanting, tasks, vec![place(0, 10, &[0])])
}

fn finish(wanting: TaskId) -> DispatchResult {
    Tasks::finish_preemption(signed(ANYONE), wanting).map(|_| ()).map_err(|refused| refused.error)
}

fn notice_of(wanting: TaskId) -> Option<PreemptionNotice> {
    PreemptionNotices::<Test>::get(TaskKey::from(wanting))
}

/// Whether there is no notice in favour of the task, and the victim runs without one.
fn is_void(wanting: TaskId, victim: TaskId) -> bool {
    let of = record(victim);
    notice_of(wanting).is_none() && of.state == TaskState::Running && of.preemption.is_none()
}

#[test]
fn a_spot_job_leaves_after_its_notice_is_paid_until_then_and_the_waiting_task_is_assigned_in_its_place() {
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
        assert_eq!(
            (record(wanting).state, record(wanting).notice),
            (TaskState::Queued, NoticeState::Standing(ends_at))
        );
        let pods = placed(vec![place(0, 10, &[0])]);
        let notice = PreemptionNotice { victims: victims(&[task]), pods, scheduler: account(SCHEDULER), ends_at };
        assert_eq!(notice_of(wanting), Some(notice));
        work(LEAVE_WITHIN - 1);
        assert_noop!(finish(wanting), Error::<Test>::NoticeNotOver);
        work(1);
        task_events();
        assert_ok!(finish(wanting));
        let bill = bill_of(lease_id, RATE / 4, RATE / 40, RATE - RATE / 4);
        let placed = leases_of(wanting)[0];
        assert_eq!(
            task_events(),
            [
                Event::Preempted { task, wanting, bills: vec![bill], state: TaskState::Queued },
                Event::Assigned {
                    task: wanting,
                    generation: 0,
                    leases: vec![(placed, host(10), RATE, RATE)],
                    state: TaskState::Assigned
                },
            ]
        );
        assert!(is_listed(IndexTag::Queued, task));
        assert_eq!((record(task).failures(), record(task).generation, record(task).leases.len()), (0, 1, 0));
        assert_eq!((record(wanting).notice, notice_of(wanting)), (NoticeState::Absent, None));
        assert_eq!(lease(placed).assigned_by, Some(account(SCHEDULER)));
        assert_noop!(finish(wanting), Error::<Test>::NotNoticed);

        assert_ok!(Tasks::report_started(host_origin(10), placed));
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
        let at = || vec![place(0, 10, &[1])];
        assert_noop!(preempt_for(wanting, &[task], at()), Error::<Test>::NotRunning);
        let lease = assign(task, at())[0];
        assert_noop!(preempt_for(wanting, &[task], at()), Error::<Test>::NotRunning);
        assert_noop!(finish(wanting), Error::<Test>::NotNoticed);
        assert_ok!(Tasks::report_started(host_origin(10), lease));
        for wrong in [&[][..], &[task, task]] {
            assert_noop!(preempt_for(wanting, wrong, at()), Error::<Test>::VictimsInvalid);
        }
        assert_noop!(preempt_for(wanting, &[task, ordinary], at()), Error::<Test>::NotSpot);
        assert_noop!(preempt_for(wanting, &[99], at()), Error::<Test>::NoSuchTask);
        assert_ok!(preempt_for(wanting, &[task], at()));
        assert_noop!(preempt_for(wanting, &[task], at()), Error::<Test>::NoticeStands);
        let other = waiting(9);
        assert_noop!(preempt_for(other, &[task], at()), Error::<Test>::AlreadyNoticed);
    });
}

#[test]
fn only_bonded_schedulers_tell_tasks_to_leave_and_only_for_tasks_that_wait() {
    on_chain(|| {
        let task = running_spot(spot());
        let wanting = waiting(1);
        for stranger in [TENANT, ANYONE, NOBODY] {
            let pods = placed(vec![place(0, 10, &[0])]);
            let refused = Tasks::preempt(signed(stranger), wanting, victims(&[task]), pods);
            assert_noop!(refused.map(|_| ()).map_err(|refused| refused.error), Error::<Test>::NotScheduler);
        }
        assign(wanting, vec![place(0, 10, &[1])]);
        assert_noop!(preempt(wanting, &[task]), Error::<Test>::NotQueued);
        let hasty = submit(TaskSpec { priority: 1, deadline: Some(Hosts::now() + LEAVE_WITHIN - 1), ..spec() });
        assert_noop!(preempt(hasty, &[task]), Error::<Test>::DeadlinePassed);
    });
}

#[test]
fn nobody_leaves_for_a_task_that_cannot_be_placed() {
    on_chain(|| {
        let task = running_spot(spot());
        let refused = |spec: TaskSpec, pods: Vec<PodPlacement>, error: sp_runtime::DispatchError| {
            let wanting = submit(TaskSpec { priority: 255, ..spec });
            assert_noop!(preempt_for(wanting, &[task], pods), error);
        };
        let on_host_10 = || vec![place(0, 10, &[0])];
        let mut too_large = spec();
        too_large.resources.cpu_milli = 1_000_000;
        refused(too_large, on_host_10(), pallet_gantry_hosts::Error::<Test>::NotEnoughCpu.into());
        let mut two_devices = spec();
        two_devices.resources.gpus.count = 2;
        refused(two_devices.clone(), on_host_10(), pallet_gantry_hosts::Error::<Test>::WrongDeviceCount.into());
        let poor = TaskSpec { max_rate_per_hour: RATE - 1, ..spec() };
        refused(poor, on_host_10(), Error::<Test>::RateTooHigh.into());
        let planned = vec![PodPlacement { rate_per_hour: RATE - 1, ..place(0, 10, &[0]) }];
        refused(spec(), planned, Error::<Test>::RateAbovePlan.into());
        refused(gang(2), on_host_10(), Error::<Test>::WrongPodCount.into());
        refused(spec(), vec![], Error::<Test>::VictimElsewhere.into());
        // The other device is held by a task that stays.
        assign(submit(spec()), vec![place(0, 10, &[1])]);
        let both = vec![place(0, 10, &[0, 1])];
        refused(two_devices, both, pallet_gantry_hosts::Error::<Test>::DeviceBusy.into());
        assert_eq!((record(task).preemption, host_record(10).live_leases), (None, 2));
    });
}

#[test]
fn nobody_leaves_for_a_task_whose_tenant_cannot_pay() {
    ExtBuilder { tenant: 40 * GTY, ..Default::default() }.build_and_execute(|| {
        let task = running_spot(spot());
        let wanting = submit(TaskSpec { priority: 9, max_rate_per_hour: 20 * GTY, ..spec() });
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(10), Ask { gpu_per_hour: 15 * GTY, ..ask() }));
        let free = Balances::free_balance(account(TENANT));
        assert_ok!(Balances::transfer_allow_death(signed(TENANT), account(ANYONE), free - 10 * GTY));
        assert_noop!(preempt(wanting, &[task]), pallet_gantry_billing::Error::<Test>::TenantCannotPay);
        assert_eq!(record(task).preemption, None);
    });
}

#[test]
fn nobody_leaves_for_a_task_that_fits_beside_them_or_is_placed_elsewhere() {
    on_chain(|| {
        let task = running_spot(spot());
        online_host(11);
        let wanting = waiting(9);
        let free_device = vec![place(0, 10, &[1])];
        assert_noop!(preempt_for(wanting, &[task], free_device), Error::<Test>::FitsWithoutVictims);
        let elsewhere = vec![place(0, 11, &[0])];
        assert_noop!(preempt_for(wanting, &[task], elsewhere), Error::<Test>::VictimElsewhere);
    });
}

#[test]
fn a_task_that_does_not_fit_when_the_notice_is_over_makes_nobody_leave() {
    on_chain(|| {
        let task = running_spot(spot());
        let wanting = waiting(255);
        let planned = || vec![PodPlacement { rate_per_hour: RATE, ..place(0, 10, &[0]) }];
        assert_ok!(preempt_for(wanting, &[task], planned()));
        // Its provider raises the price meanwhile.
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(10), Ask { gpu_per_hour: 3 * GTY / 2, ..ask() }));
        work(LEAVE_WITHIN);
        let before = record(task).leases;
        task_events();
        assert_ok!(finish(wanting));
        let error = Error::<Test>::RateAbovePlan.into();
        assert_eq!(
            task_events(),
            [Event::PreemptionWithdrawn { task, wanting }, Event::PreemptionFailed { task: wanting, error }]
        );
        assert!(is_void(wanting, task));
        assert_eq!((record(task).leases, record(wanting).state), (before, TaskState::Queued));
        let until = Hosts::now() + LEAVE_WITHIN;
        assert_eq!(record(wanting).notice, NoticeState::Withdrawn(until));

        // It does not tell them again at once, and does so later if it fits.
        let anew = || vec![place(0, 10, &[0])];
        work(LEAVE_WITHIN - 1);
        assert_noop!(preempt_for(wanting, &[task], anew()), Error::<Test>::NoticeTooSoon);
        work(1);
        assert_noop!(preempt_for(wanting, &[task], planned()), Error::<Test>::RateAbovePlan);
        assert_ok!(preempt_for(wanting, &[task], anew()));
        work(LEAVE_WITHIN);
        assert_ok!(finish(wanting));
        assert_eq!((record(task).state, record(wanting).state), (TaskState::Queued, TaskState::Assigned));
    });
}

#[test]
fn either_all_victims_leave_or_none() {
    on_chain(|| {
        let first = running_spot(spot());
        let second = another_spot(1);
        let mut both = spec();
        both.resources.gpus.count = 2;
        both.max_rate_per_hour = 4 * GTY;
        let wanting = submit(TaskSpec { priority: 1, ..both });
        let on_host_10 = || vec![place(0, 10, &[0, 1])];
        // One of two is not enough.
        let error = pallet_gantry_hosts::Error::<Test>::DeviceBusy;
        assert_noop!(preempt_for(wanting, &[first], on_host_10()), error);
        assert_ok!(preempt_for(wanting, &[first, second], on_host_10()));
        work(LEAVE_WITHIN);
        // The host says that a device is out of order.
        assert_ok!(Hosts::set_device_health(host_origin(10), vec![1].try_into().expect("one fits")));
        assert_ok!(finish(wanting));
        assert!(is_void(wanting, first) && is_void(wanting, second));
        work(LEAVE_WITHIN.max(HEARTBEAT_PERIOD));
        assert_ok!(Hosts::set_device_health(host_origin(10), Default::default()));
        assert_ok!(preempt_for(wanting, &[first, second], on_host_10()));
        work(LEAVE_WITHIN);
        assert_ok!(finish(wanting));
        for victim in [first, second] {
            assert_eq!(record(victim).state, TaskState::Queued);
        }
        assert_eq!(record(wanting).state, TaskState::Assigned);
    });
}

#[test]
fn a_victim_that_ends_within_the_notice_is_not_needed() {
    on_chain(|| {
        let first = running_spot(spot());
        let second = another_spot(1);
        let mut both = spec();
        both.resources.gpus.count = 2;
        both.max_rate_per_hour = 4 * GTY;
        let wanting = submit(TaskSpec { priority: 1, ..both });
        assert_ok!(preempt_for(wanting, &[first, second], vec![place(0, 10, &[0, 1])]));
        work(1_000);
        assert_ok!(Tasks::report_result(host_origin(10), leases_of(first)[0], result(1_000)));
        assert_eq!(record(first).state, TaskState::Reported);
        work(LEAVE_WITHIN);
        assert_ok!(finish(wanting));
        assert_eq!((record(first).state, record(second).state), (TaskState::Reported, TaskState::Queued));
        assert_eq!(record(wanting).state, TaskState::Assigned);
    });
}

#[test]
fn who_had_to_leave_makes_nobody_leave_before_it_runs_again() {
    on_chain(|| {
        let first = running_spot(TaskSpec { priority: 5, ..spot() });
        let second = another_spot(1);
        let wanting = waiting(9);
        assert_ok!(preempt(wanting, &[first]));
        work(LEAVE_WITHIN);
        assert_ok!(finish(wanting));
        let on_host_10 = || vec![place(0, 10, &[1])];
        assert_noop!(preempt_for(first, &[second], on_host_10()), Error::<Test>::WasPreempted);
        assert_ok!(Tasks::cancel(signed(TENANT), wanting));
        let again = assign(first, vec![place(0, 10, &[0])])[0];
        assert_ok!(Tasks::report_started(host_origin(10), again));
        assert_ok!(Tasks::report_failed(host_origin(10), again, HostFailure::DriverError));
        online_host(11);
        let third = submit(spot());
        let lease = assign(third, vec![place(0, 11, &[0])])[0];
        assert_ok!(Tasks::report_started(host_origin(11), lease));
        assert_ok!(preempt_for(first, &[third], vec![place(0, 11, &[0])]));
    });
}

#[test]
fn a_notice_is_void_once_the_task_waits_no_more() {
    on_chain(|| {
        let task = running_spot(spot());
        let ways: [fn(TaskId); 3] = [
            |wanting| {
                assert_ok!(Tasks::cancel(signed(TENANT), wanting));
            },
            |wanting| {
                assign(wanting, vec![place(0, 10, &[1])]);
                assert_ok!(Tasks::cancel(signed(TENANT), wanting));
            },
            |wanting| {
                work(HOUR / 2 + 1);
                assert_ok!(Tasks::expire(signed(ANYONE), wanting));
            },
        ];
        for end in ways {
            let deadline = Some(Hosts::now() + HOUR / 2);
            let wanting = submit(TaskSpec { priority: 1, deadline, ..spec() });
            assert_ok!(preempt(wanting, &[task]));
            task_events();
            end(wanting);
            assert!(task_events().contains(&Event::PreemptionWithdrawn { task, wanting }));
            assert!(is_void(wanting, task));
            assert_eq!(record(wanting).notice, NoticeState::Absent);
            assert_noop!(finish(wanting), Error::<Test>::NotNoticed);
        }
        assert_ok!(preempt(waiting(1), &[task]));
    });
}

#[test]
fn a_batch_pays_for_the_notices_that_it_withdraws() {
    on_chain(|| {
        let task = running_spot(spot());
        let wanting = waiting(1);
        assert_ok!(preempt(wanting, &[task]));
        let batch = vec![(wanting, placed(vec![place(0, 10, &[1])]))].try_into().expect("one fits");
        assert_ok!(Tasks::assign_batch(signed(SCHEDULER), batch));
        assert_eq!(record(wanting).state, TaskState::Assigned);
        assert!(is_void(wanting, task));
    });
}

#[test]
fn a_spot_job_may_end_within_its_notice() {
    on_chain(|| {
        let task = running_spot(spot());
        let lease = leases_of(task)[0];
        let wanting = waiting(1);
        assert_ok!(preempt(wanting, &[task]));
        work(1_000);
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(1_000)));
        assert_eq!(record(task).state, TaskState::Reported);
        // The room is free: nobody waits for the end of the notice.
        assign(wanting, vec![place(0, 10, &[0])]);
        assert_eq!((record(wanting).state, notice_of(wanting)), (TaskState::Assigned, None));
    });
}

#[test]
fn every_pod_of_a_spot_service_leaves_and_its_deadline_counts_no_more() {
    on_chain(|| {
        online_host(10);
        let task = submit_wide(TaskSpec { spot: true, ..service(2) });
        let leases = start_on(task, &[10, 10]);
        let mut large = spec();
        large.resources.cpu_milli = 4_000;
        let wanting = submit(TaskSpec { priority: 1, ..large });
        assert_ok!(preempt(wanting, &[task]));
        work(LEAVE_WITHIN);
        assert_ok!(finish(wanting));
        assert_eq!(bill(leases[0]).paid, bill(leases[1]).paid);
        assert!(bill(leases[0]).paid > 0);
        assert_eq!((record(task).state, record(task).pods_wanted), (TaskState::Queued, 2));
        online_host(11);
        start_on(task, &[11, 11]);
    });
}

#[test]
fn a_spot_job_that_had_to_leave_is_placed_again_after_its_deadline() {
    on_chain(|| {
        let task = running_spot(TaskSpec { deadline: Some(START + 100), ..spot() });
        let wanting = waiting(1);
        assert_ok!(preempt(wanting, &[task]));
        work(LEAVE_WITHIN);
        assert_ok!(finish(wanting));
        assert_noop!(Tasks::expire(signed(ANYONE), task), Error::<Test>::DeadlineNotPassed);
        assign(task, vec![place(0, 10, &[1])]);
    });
}

#[test]
fn a_spot_rental_that_has_to_leave_is_over_and_keeps_its_data() {
    on_chain(|| {
        let task = running_spot(TaskSpec { spot: true, ..rental() });
        let lease_id = leases_of(task)[0];
        work(HOUR / 2 - LEAVE_WITHIN);
        let wanting = waiting(1);
        assert_ok!(preempt(wanting, &[task]));
        work(LEAVE_WITHIN);
        assert_ok!(finish(wanting));
        assert_eq!(record(task).state, TaskState::Reported);
        assert!(matches!(lease(lease_id).state, LeaseState::Retained(_)));
        assert_eq!(lease(leases_of(wanting)[0]).devices.to_vec(), [0]);
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(lease_id).paid, RATE / 2);
    });
}

#[test]
fn the_disk_of_a_rental_that_leaves_is_not_free() {
    on_chain(|| {
        let task = running_spot(TaskSpec { spot: true, ..rental() });
        let mut large = spec();
        large.resources.disk_gib = 81;
        let wanting = submit(TaskSpec { priority: 1, ..large });
        assert_noop!(preempt(wanting, &[task]), pallet_gantry_hosts::Error::<Test>::NotEnoughDisk);
    });
}

#[test]
fn a_notice_costs_what_it_was_about() {
    on_chain(|| {
        let task = running_spot(spot());
        let wanting = waiting(1);
        let weight = <Test as crate::Config>::WeightInfo::preempt(2);
        let told = Tasks::preempt(signed(SCHEDULER), wanting, victims(&[task]), placed(vec![place(0, 10, &[0])]));
        assert_eq!(told.expect("it may be told").actual_weight, Some(weight));
        work(LEAVE_WITHIN);
        let weight = <Test as crate::Config>::WeightInfo::finish_preemption(2);
        let finished = Tasks::finish_preemption(signed(ANYONE), wanting);
        assert_eq!(finished.expect("its notice is over").actual_weight, Some(weight));
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
