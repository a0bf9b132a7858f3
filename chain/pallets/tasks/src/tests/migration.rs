use frame_support::{
    assert_noop, assert_ok,
    dispatch::{CheckIfFeeless, DispatchResult},
};
use gantry_primitives::{
    Ask, Balance, BillingUnit, Conduct, DeviceIndices, EndReason, FailReason, HostFailure, LeaseId, LeaseState,
    PodCheckpoint, Report, RequeueReason, StandbyPlace, Survival, TaskId, TaskKind, TaskSpec, TaskState, Vote,
};

use crate::{mock::*, Error, Event, WeightInfo};

fn with(survival: Survival) -> TaskSpec {
    TaskSpec { survival, ..spec() }
}

/// A task of that spec that runs on the first device of host 10, with hosts 11, 12 and 13 online besides.
fn running_on_10(spec: TaskSpec) -> (TaskId, LeaseId) {
    (10..14).for_each(online_host);
    let task = submit(spec);
    let lease = assign(task, vec![place(0, 10, &[0])])[0];
    assert_ok!(Tasks::report_started(host_origin(10), lease));
    (task, lease)
}

fn service_on_device() -> TaskSpec {
    TaskSpec { kind: TaskKind::Service, ..spec() }
}

fn devices(places: &[u8]) -> DeviceIndices {
    places.to_vec().try_into().expect("few")
}

fn name(lease: LeaseId, number: u8) -> DispatchResult {
    Tasks::name_standby(signed(SCHEDULER), lease, host(number), devices(&[0]), Balance::MAX)
}

fn move_to(who: u8, lease: LeaseId, number: u8) -> DispatchResult {
    Tasks::move_pod(signed(who), lease, host(number), devices(&[0]), Balance::MAX)
}

/// As [`running_on_10`], and host 11 is the standby.
fn with_standby(spec: TaskSpec) -> (TaskId, LeaseId) {
    let (task, lease) = running_on_10(spec);
    assert_ok!(name(lease, 11));
    (task, lease)
}

#[test]
fn each_naming_of_a_standby_is_counted_for_its_host() {
    on_chain(|| {
        let count = |number| pallet_gantry_hosts::StandbyNamings::<Test>::get(host(number));
        let (_, lease) = with_standby(with(Survival::Standby));
        assert_eq!((count(10), count(11)), (0, 1));
        assert!(name(lease, 12).is_err(), "the standby stands");
        assert_eq!((count(11), count(12)), (1, 0));
        lose_host_10();
        assert_eq!((count(11), count(12)), (1, 0), "a use of the standby is no naming");
    });
}

/// Host 10 falls silent and is reported; the others say that they are there.
fn lose_host_10() {
    while !Hosts::is_silent(&host_record(10)) {
        advance(HEARTBEAT_PERIOD);
        for number in (10..14).filter(|number| *number != 10) {
            assert_ok!(Hosts::heartbeat(host_origin(number)));
        }
    }
    assert_ok!(Hosts::report_absent(signed(ANYONE), host(10)));
}

fn held() -> u128 {
    Billing::held(&account(TENANT))
}

#[test]
fn a_pod_whose_host_is_lost_goes_on_at_its_standby_with_what_is_left_of_its_deposit() {
    on_chain(|| {
        let (task, from) = with_standby(with(Survival::Standby));
        assert_eq!(
            lease(from).standby,
            Some(StandbyPlace { host: host(11), devices: devices(&[0]), rate_per_hour: Balance::MAX })
        );
        assert_eq!(host_record(11).free, host_record(11).total, "a standby holds no room");
        lose_host_10();
        task_events();
        assert_ok!(Tasks::requeue(signed(ANYONE), from));
        let to = leases_of(task)[0];
        assert_eq!(
            task_events(),
            [Event::LeaseMoved {
                task,
                from,
                to,
                host: host(11),
                rate_per_hour: RATE,
                deposit: RATE,
                bill: bill_of(from, 0, 0, 0),
                reason: EndReason::HostLost,
            }]
        );
        assert_eq!((record(task).state, record(task).failures(), record(task).generation), (TaskState::Running, 1, 1));
        let on = lease(to);
        assert_eq!((on.state, on.generation, on.standby), (LeaseState::Pending, 1, None));
        assert_eq!((held(), host_record(10).live_leases, host_record(11).live_leases), (RATE, 0, 1));
        assert_ok!(Tasks::report_started(host_origin(11), to));
        work(HOUR / 2);
        assert_ok!(Tasks::report_result(host_origin(11), to, result(HOUR / 2)));
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(bill(to), bill_of(to, RATE / 2, RATE / 20, RATE / 2));
        assert_eq!(held(), 0);
    });
}

#[test]
fn the_lease_at_a_standby_has_the_scheduler_of_the_lease_before_and_a_moved_one_its_own() {
    on_chain(|| {
        let (task, from) = with_standby(with(Survival::Standby));
        assert_eq!(lease(from).assigned_by, Some(account(SCHEDULER)));
        lose_host_10();
        assert_ok!(Tasks::requeue(signed(ANYONE), from));
        let at_standby = leases_of(task)[0];
        assert_eq!(lease(at_standby).assigned_by, Some(account(SCHEDULER)));
        assert_ok!(move_to(TENANT, at_standby, 12));
        let moved = leases_of(task)[0];
        assert_eq!(lease(moved).assigned_by, None, "its tenant placed it");
        assert_ok!(Hosts::drain(signed(PROVIDER), host(12)));
        assert_ok!(move_to(SCHEDULER, moved, 13));
        assert_eq!(lease(leases_of(task)[0]).assigned_by, Some(account(SCHEDULER)));
    });
}

#[test]
fn a_start_at_a_standby_is_charged_as_what_it_is() {
    on_chain(|| {
        let (_, lost) = with_standby(with(Survival::Standby));
        lose_host_10();
        let charged = Tasks::requeue(signed(ANYONE), lost).expect("its host is lost").actual_weight;
        assert!(charged.expect("it is known").all_gte(<() as WeightInfo>::take_over(1)));
    });
}

#[test]
fn a_tenant_moves_a_pod_at_any_time_and_what_is_left_goes_on_with_it() {
    on_chain(|| {
        let (task, from) = running_on_10(with(Survival::Move));
        work(HOUR / 4);
        task_events();
        let wealth = total_balance(&account(TENANT));
        assert_ok!(move_to(TENANT, from, 12));
        let to = leases_of(task)[0];
        let left = RATE - RATE / 4;
        assert_eq!(
            task_events(),
            [Event::LeaseMoved {
                task,
                from,
                to,
                host: host(12),
                rate_per_hour: RATE,
                deposit: left,
                bill: bill_of(from, RATE / 4, RATE / 40, 0),
                reason: EndReason::Moved,
            }]
        );
        assert_eq!((total_balance(&account(TENANT)), held()), (wealth - RATE / 4, left));
        assert_eq!((escrow(to).deposit, escrow(to).paid, record(task).failures()), (left, 0, 0));
        assert_noop!(Tasks::report_started(host_origin(10), from), Error::<Test>::NoSuchLease);
        assert_ok!(Tasks::report_started(host_origin(12), to));
        work(HOUR / 4);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        assert_eq!((bill(to).paid, bill(to).refunded, held()), (RATE / 4, RATE / 2, 0));
    });
}

#[test]
fn a_job_of_several_pods_keeps_the_others() {
    on_chain(|| {
        (10..14).for_each(online_host);
        let task = submit(TaskSpec { survival: Survival::Standby, ..gang(3) });
        let leases = start_on(task, &[10, 11, 12]);
        assert_ok!(Tasks::name_standby(signed(TENANT), leases[0], host(13), devices(&[]), Balance::MAX));
        lose_host_10();
        assert_ok!(Tasks::requeue(signed(ANYONE), leases[0]));
        let now = leases_of(task);
        assert_eq!((now.len(), now[1], now[2]), (3, leases[1], leases[2]));
        assert_eq!((lease(now[0]).host, lease(now[0]).pod), (host(13), 0));
        assert_eq!(record(task).state, TaskState::Running);
        work(1_000);
        assert_ok!(Tasks::report_result(host_origin(11), now[1], result(1_000)));
        assert_ok!(Tasks::report_result(host_origin(12), now[2], result(1_000)));
        assert_eq!(record(task).state, TaskState::Running, "one pod waits for its start");
        assert_ok!(Tasks::report_started(host_origin(13), now[0]));
        assert_ok!(Tasks::report_result(host_origin(13), now[0], result(0)));
        assert_eq!(record(task).state, TaskState::Reported);
    });
}

#[test]
fn a_scheduler_moves_a_pod_only_while_its_host_deteriorates() {
    on_chain(|| {
        let (_, from) = running_on_10(with(Survival::Move));
        assert_noop!(move_to(SCHEDULER, from, 12), Error::<Test>::HostInOrder);
        assert_noop!(move_to(ANYONE, from, 12), Error::<Test>::NotSchedulerOrTenant);
        assert_ok!(Hosts::set_device_health(host_origin(10), devices(&[1])));
        assert_noop!(move_to(SCHEDULER, from, 12), Error::<Test>::HostInOrder);
        assert_ok!(Hosts::drain(signed(PROVIDER), host(10)));
        assert_ok!(move_to(SCHEDULER, from, 12));
    });
}

#[test]
fn each_sign_that_a_host_deteriorates_lets_a_scheduler_move_its_pods() {
    let moves = |worsen: fn(LeaseId) -> DispatchResult| {
        on_chain(|| {
            let (_, from) = running_on_10(TaskSpec { survival: Survival::Move, ..service_on_device() });
            assert_noop!(move_to(SCHEDULER, from, 12), Error::<Test>::HostInOrder);
            assert_ok!(worsen(from));
            assert_ok!(move_to(SCHEDULER, from, 12));
        });
    };
    moves(|_| Hosts::drain(signed(PROVIDER), host(10)));
    moves(|_| Hosts::suspend(RuntimeOrigin::root(), host(10)));
    moves(|_| Hosts::set_device_health(host_origin(10), devices(&[0])));
    moves(|from| Leases::reclaim(signed(PROVIDER), from));
    moves(|_| {
        advance(2 * HEARTBEAT_PERIOD + 1);
        Hosts::heartbeat(host_origin(12)).map(|_| ()).map_err(|refused| refused.error)
    });
    moves(|_| {
        for conduct in [Conduct::NotStarted, Conduct::NotCompleted, Conduct::Rated(1)] {
            Reputation::observe_host(&host(10), conduct, 20, 100 * GTY, Hosts::now());
        }
        Ok(())
    });
}

#[test]
fn a_pod_goes_to_no_host_that_deteriorates_or_has_no_room_or_asks_for_too_much() {
    on_chain(|| {
        let (_, from) = running_on_10(with(Survival::Move));
        assert_noop!(move_to(TENANT, from, 10), Error::<Test>::SameHost);
        assert_noop!(move_to(TENANT, from, 99), pallet_gantry_hosts::Error::<Test>::NoSuchHost);
        assert_ok!(Hosts::drain(signed(PROVIDER), host(12)));
        assert_noop!(move_to(TENANT, from, 12), Error::<Test>::HostDeteriorates);
        let mut dear = ask();
        dear.gpu_per_hour = 3 * GTY;
        assert_ok!(Hosts::set_ask(signed(OTHER_PROVIDER), host(11), dear));
        assert_noop!(move_to(TENANT, from, 11), Error::<Test>::RateTooHigh);
        assign(submit(spec()), vec![place(0, 13, &[0])]);
        assert_noop!(move_to(TENANT, from, 13), pallet_gantry_hosts::Error::<Test>::DeviceBusy);
    });
}

#[test]
fn a_host_that_deteriorates_sells_no_whole_unit_and_one_in_order_does() {
    let hourly = || TaskSpec { unit: BillingUnit::Hour, max_duration_ms: 4 * HOUR, ..with(Survival::Move) };
    on_chain(|| {
        let (_, from) = running_on_10(hourly());
        work(HOUR / 2);
        assert_ok!(move_to(TENANT, from, 12));
        assert_eq!(bill(from).paid, RATE);
    });
    on_chain(|| {
        let (_, from) = running_on_10(hourly());
        work(HOUR / 2);
        assert_ok!(Hosts::drain(signed(PROVIDER), host(10)));
        assert_ok!(move_to(SCHEDULER, from, 12));
        assert_eq!(bill(from).paid, RATE / 2);
    });
}

#[test]
fn a_lease_whose_deposit_is_used_up_does_not_go_on_elsewhere() {
    on_chain(|| {
        let (task, from) = with_standby(TaskSpec { survival: Survival::Standby, ..spec() });
        work(HOUR);
        assert_noop!(move_to(TENANT, from, 12), Error::<Test>::DepositUsedUp);
        work(REPORT_GRACE);
        assert_ok!(Tasks::expire_lease(signed(ANYONE), from));
        assert_eq!(record(task).state, TaskState::Failed(FailReason::DurationExceeded));
    });
}

#[test]
fn a_task_that_does_not_ask_for_it_is_neither_moved_nor_taken_over() {
    on_chain(|| {
        let (_, lease) = running_on_10(spec());
        assert_noop!(move_to(TENANT, lease, 12), Error::<Test>::NotMovable);
        assert_noop!(name(lease, 11), Error::<Test>::NoStandbyWanted);
        let movable = assign(submit(with(Survival::Move)), vec![place(0, 12, &[0])])[0];
        assert_noop!(name(movable, 11), Error::<Test>::NoStandbyWanted);
    });
}

#[test]
fn rentals_and_replicas_stay_where_they_are() {
    on_chain(|| {
        for survival in [Survival::Move, Survival::Standby] {
            for spec in [TaskSpec { survival, ..rental() }, TaskSpec { survival, ..redundant() }] {
                let error = Error::<Test>::SurvivalInvalid;
                assert_noop!(Tasks::submit(signed(TENANT), spec, manifest()), error);
            }
        }
    });
}

#[test]
fn a_standby_belongs_to_another_provider_is_in_order_and_fits() {
    on_chain(|| {
        let (_, lease) = running_on_10(with(Survival::Standby));
        assert_noop!(name(lease, 10), Error::<Test>::StandbyOfSameProvider);
        assert_noop!(name(lease, 12), Error::<Test>::StandbyOfSameProvider);
        assert_noop!(name(lease, 99), pallet_gantry_hosts::Error::<Test>::NoSuchHost);
        let by_anyone = Tasks::name_standby(signed(ANYONE), lease, host(11), devices(&[0]), Balance::MAX);
        assert_noop!(by_anyone, Error::<Test>::NotSchedulerOrTenant);
        let too_many = Tasks::name_standby(signed(TENANT), lease, host(11), devices(&[0, 1]), Balance::MAX);
        assert_noop!(too_many, pallet_gantry_hosts::Error::<Test>::WrongDeviceCount);
        assert_ok!(Hosts::drain(signed(OTHER_PROVIDER), host(11)));
        assert_noop!(name(lease, 11), Error::<Test>::HostDeteriorates);
        task_events();
        assert_ok!(name(lease, 13));
        assert_eq!(task_events(), [Event::StandbyNamed { lease, host: host(13) }]);
    });
}

#[test]
fn a_standby_stands_until_it_is_out_of_order_or_has_no_room() {
    on_chain(|| {
        let (_, lease_id) = with_standby(with(Survival::Standby));
        assert_noop!(name(lease_id, 13), Error::<Test>::StandbyStands);
        assign(submit(spec()), vec![place(0, 11, &[0])]);
        assert_ok!(name(lease_id, 13));
        assert_ok!(Hosts::drain(signed(OTHER_PROVIDER), host(13)));
        let other = Tasks::name_standby(signed(TENANT), lease_id, host(11), devices(&[1]), Balance::MAX);
        assert_ok!(other);
        assert_eq!(lease(lease_id).standby.map(|standby| standby.host), Some(host(11)));
    });
}

#[test]
fn where_the_standby_has_no_room_the_task_waits_again() {
    on_chain(|| {
        let (task, from) = with_standby(with(Survival::Standby));
        assign(submit(spec()), vec![place(0, 11, &[0])]);
        lose_host_10();
        task_events();
        assert_ok!(Tasks::requeue(signed(ANYONE), from));
        let bills = vec![bill_of(from, 0, 0, RATE)];
        let reason = RequeueReason::HostLost;
        let state = TaskState::Queued;
        assert_eq!(task_events(), [Event::Requeued { task, lease: from, reason, bills, failures: 1, state }]);
    });
}

#[test]
fn what_has_failed_too_often_is_not_taken_over() {
    on_chain(|| {
        let (task, from) = with_standby(with(Survival::Standby));
        assert_ok!(Tasks::report_failed(host_origin(10), from, HostFailure::DriverError));
        let to = leases_of(task)[0];
        assert_eq!((record(task).failures(), lease(to).host), (1, host(11)));
        assert_ok!(name(to, 12));
        assert_ok!(Tasks::report_failed(host_origin(11), to, HostFailure::DriverError));
        assert_eq!(record(task).state, TaskState::Failed(FailReason::AttemptsExhausted));
        assert_eq!(held(), 0);
    });
}

#[test]
fn a_standby_that_does_not_start_in_time_is_to_blame_itself() {
    on_chain(|| {
        let (task, from) = with_standby(with(Survival::Standby));
        assert_ok!(Tasks::report_failed(host_origin(10), from, HostFailure::ImageUnavailable));
        work(START_TIMEOUT + 1);
        let bond = host_record(11).bond;
        assert_ok!(Tasks::requeue(signed(ANYONE), leases_of(task)[0]));
        assert!(host_record(11).bond < bond);
        assert_eq!((record(task).failures(), held()), (2, 0));
    });
}

#[test]
fn a_pod_of_a_service_goes_on_when_its_provider_takes_the_host_back() {
    on_chain(|| {
        (10..14).for_each(online_host);
        let task = submit_wide(TaskSpec { survival: Survival::Standby, max_duration_ms: 10 * HOUR, ..service(2) });
        let leases = start_on(task, &[10, 12]);
        assert_ok!(Tasks::name_standby(signed(SCHEDULER), leases[0], host(11), devices(&[]), Balance::MAX));
        assert_ok!(Leases::reclaim(signed(PROVIDER), leases[0]));
        work(NOTICE);
        assert_ok!(Leases::finish_reclaim(signed(ANYONE), leases[0]));
        let now = leases_of(task);
        assert_eq!((lease(now[0]).host, now[1], record(task).failures()), (host(11), leases[1], 0));
        assert_ok!(Tasks::report_started(host_origin(11), now[0]));
        assert_eq!((record(task).state, lease(now[0]).reclaim_at), (TaskState::Running, None));
    });
}

#[test]
fn failures_that_a_host_reports_in_a_batch_are_taken_over_each() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        let spec = TaskSpec { survival: Survival::Standby, ..gang(1) };
        let tasks = [submit(spec.clone()), submit(spec.clone()), submit(spec)];
        let leases = tasks.map(|task| start_on(task, &[10])[0]);
        for lease in &leases[..2] {
            assert_ok!(Tasks::name_standby(signed(SCHEDULER), *lease, host(11), devices(&[]), Balance::MAX));
        }
        let reports: Vec<_> = leases.iter().map(|lease| (*lease, Report::Failed(HostFailure::ImageInvalid))).collect();
        assert_ok!(Tasks::report_batch(host_origin(10), reports.try_into().expect("few")));
        let states = tasks.map(|task| record(task).state);
        assert_eq!(states, [TaskState::Running, TaskState::Running, TaskState::Queued]);
        assert_eq!(host_record(11).live_leases, 2);
    });
}

#[test]
fn a_spot_task_that_was_told_to_leave_is_neither_moved_nor_taken_over() {
    on_chain(|| {
        let (task, from) = with_standby(TaskSpec { survival: Survival::Standby, ..spot() });
        let wanting = submit(TaskSpec { priority: 1, ..spec() });
        let (victims, pods) = (vec![task].try_into().expect("one"), placed(vec![place(0, 10, &[0])]));
        assert_ok!(Tasks::preempt(signed(SCHEDULER), wanting, victims, pods));
        assert_noop!(move_to(TENANT, from, 12), Error::<Test>::AlreadyNoticed);
        assert_ok!(Tasks::report_failed(host_origin(10), from, HostFailure::ImageInvalid));
        assert_eq!(record(task).state, TaskState::Queued);
    });
}

#[test]
fn only_what_the_last_host_did_can_be_disputed() {
    on_chain(|| {
        let (task, from) = running_on_10(with(Survival::Move));
        work(HOUR / 4);
        assert_ok!(move_to(TENANT, from, 12));
        let to = leases_of(task)[0];
        assert_ok!(Tasks::report_started(host_origin(12), to));
        work(HOUR / 4);
        assert_ok!(Tasks::report_result(host_origin(12), to, result(HOUR / 4)));
        assert_ok!(Tasks::mark_disputed(task, &leases_of(task)));
        assert_ok!(Tasks::resolve_dispute(task, &leases_of(task), Some(Vote::Yes), true));
        assert_eq!((bill(from).paid, bill(to).paid, held()), (RATE / 4, 0, 0));
        assert_eq!(record(task).state, TaskState::Failed(FailReason::DisputeLost));
    });
}

#[test]
fn a_checkpoint_outlives_its_lease_and_goes_when_its_task_is_put_away() {
    on_chain(|| {
        let (task, from) = running_on_10(spec());
        task_events();
        assert_ok!(Tasks::report(host_origin(10), from, Report::Checkpoint { digest: [7; 32], bytes: 5 }));
        assert_eq!(task_events(), [Event::Checkpointed { lease: from, digest: [7; 32], bytes: 5 }]);
        let kept =
            |digest| [PodCheckpoint { pod: 0, digest: [digest; 32], bytes: 5, host: host(10), at: Hosts::now() }];
        assert_eq!(record(task).checkpoints[..], kept(7));
        work(CHECKPOINT_MIN);
        assert_ok!(Tasks::report(host_origin(10), from, Report::Checkpoint { digest: [8; 32], bytes: 5 }));
        let last = kept(8);
        assert_eq!(record(task).checkpoints[..], last);
        assert_ok!(Tasks::report_failed(host_origin(10), from, HostFailure::ImageInvalid));
        assert_eq!((record(task).state, &record(task).checkpoints[..]), (TaskState::Queued, &last[..]));
        assign(task, vec![place(0, 12, &[0])]);
        assert_eq!(record(task).checkpoints[..], last);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        work(ARCHIVE_AFTER);
        assert_ok!(Tasks::prune(signed(ANYONE), vec![task].try_into().expect("one")));
        assert_eq!(crate::Tasks::<Test>::iter_keys().count(), 0);
    });
}

#[test]
fn a_host_reports_checkpoints_of_pods_that_run_on_it_now_and_then_and_pays_nothing() {
    on_chain(|| {
        (10..12).for_each(online_host);
        let lease = assign(submit(spec()), vec![place(0, 10, &[0])])[0];
        let report =
            |number| Tasks::report(host_origin(number), lease, Report::Checkpoint { digest: [1; 32], bytes: 1 });
        let is_free = |number| {
            let call = crate::Call::<Test>::report { lease, report: Report::Checkpoint { digest: [1; 32], bytes: 1 } };
            RuntimeCall::from(call).is_feeless(&host_origin(number))
        };
        assert_noop!(report(10), Error::<Test>::LeaseNotActive);
        assert_ok!(Tasks::report_started(host_origin(10), lease));
        assert_noop!(report(11), Error::<Test>::NotHostOfLease);
        assert_eq!((is_free(10), is_free(11)), (true, false));
        assert_ok!(report(10));
        work(CHECKPOINT_MIN - 1);
        assert_noop!(report(10), Error::<Test>::CheckpointTooSoon);
        assert!(!is_free(10));
        work(1);
        assert!(is_free(10));
        assert_ok!(report(10));
    });
}

#[test]
fn replicas_have_no_checkpoints_of_others_to_go_on_from() {
    on_chain(|| {
        (10..12).for_each(online_host);
        let leases = start_on(submit(redundant()), &[10, 11]);
        let report = Tasks::report(host_origin(10), leases[0], Report::Checkpoint { digest: [1; 32], bytes: 1 });
        assert_noop!(report, Error::<Test>::ResultsAreCompared);
    });
}

#[test]
fn a_service_that_is_scaled_down_forgets_the_checkpoints_of_pods_that_are_gone() {
    on_chain(|| {
        (10..12).for_each(online_host);
        let task = submit_wide(service(2));
        let leases = start_on(task, &[10, 11]);
        assert_ok!(Tasks::report(host_origin(11), leases[1], Report::Checkpoint { digest: [1; 32], bytes: 1 }));
        assert_ok!(Tasks::report(host_origin(10), leases[0], Report::Checkpoint { digest: [0; 32], bytes: 1 }));
        assert_eq!(record(task).checkpoints.iter().map(|kept| kept.pod).collect::<Vec<_>>(), [0, 1]);
        assert_ok!(Tasks::scale(signed(TENANT), task, 1));
        assert_eq!(record(task).checkpoints.iter().map(|kept| kept.pod).collect::<Vec<_>>(), [0]);
    });
}

#[test]
fn a_pod_that_moves_often_costs_its_deposit_at_most_and_each_coin_is_accounted_for() {
    for run in 0..20 {
        on_chain(|| {
            let mut rng = SplitMix64(run);
            let (task, mut lease_id) = running_on_10(TaskSpec { max_duration_ms: 24 * HOUR, ..with(Survival::Move) });
            let deposit = escrow(lease_id).deposit;
            let mut paid = 0;
            let mut number = 10;
            for _ in 0..6 {
                work(1 + rng.below(5 * HOUR));
                let next = [10, 11, 12, 13][rng.below(4) as usize];
                if next == number || move_to(TENANT, lease_id, next).is_err() {
                    continue;
                }
                paid += bill(lease_id).paid;
                (number, lease_id) = (next, leases_of(task)[0]);
                assert_eq!((escrow(lease_id).deposit, held()), (deposit - paid, deposit - paid));
                assert_ok!(Tasks::report_started(host_origin(number), lease_id));
            }
            assert_ok!(Tasks::cancel(signed(TENANT), task));
            let last = bill(lease_id);
            assert_eq!((paid + last.paid + last.refunded, held()), (deposit, 0));
        });
    }
}

/// The provider of host 11 raises its price, which stays within the limit of [`spec`].
fn raise_price_of_host_11() {
    let raised = Ask { gpu_per_hour: 3 * GTY / 2, ..ask() };
    assert_ok!(Hosts::set_ask(signed(OTHER_PROVIDER), host(11), raised));
}

#[test]
fn a_pod_does_not_go_to_a_standby_that_has_become_dearer_and_another_may_be_named() {
    on_chain(|| {
        let (task, lease_id) = running_on_10(with(Survival::Standby));
        let named = |number, rate| Tasks::name_standby(signed(SCHEDULER), lease_id, host(number), devices(&[0]), rate);
        assert_noop!(named(11, RATE - 1), Error::<Test>::RateAbovePlan);
        assert_ok!(named(11, RATE));
        assert_noop!(named(13, RATE), Error::<Test>::StandbyStands);
        raise_price_of_host_11();
        assert_ok!(named(13, RATE));
        assert_noop!(named(11, 2 * RATE), Error::<Test>::StandbyStands);
        assert_eq!(lease(lease_id).standby.map(|standby| standby.host), Some(host(13)));
        lose_host_10();
        assert_ok!(Tasks::requeue(signed(ANYONE), lease_id));
        assert_eq!(lease(leases_of(task)[0]).host, host(13));
    });
}

#[test]
fn a_pod_whose_standby_has_become_dearer_waits_again() {
    on_chain(|| {
        let (task, lease_id) = running_on_10(with(Survival::Standby));
        assert_ok!(Tasks::name_standby(signed(SCHEDULER), lease_id, host(11), devices(&[0]), RATE));
        raise_price_of_host_11();
        lose_host_10();
        assert_ok!(Tasks::requeue(signed(ANYONE), lease_id));
        assert_eq!((record(task).state, record(task).leases.len()), (TaskState::Queued, 0));
    });
}

#[test]
fn a_pod_is_not_moved_to_a_host_that_asks_for_more_than_planned() {
    on_chain(|| {
        let (task, lease_id) = running_on_10(with(Survival::Move));
        raise_price_of_host_11();
        let moved = |rate| Tasks::move_pod(signed(TENANT), lease_id, host(11), devices(&[0]), rate);
        assert_noop!(moved(RATE), Error::<Test>::RateAbovePlan);
        assert_ok!(moved(RATE + GTY / 2));
        assert_eq!(lease(leases_of(task)[0]).escrow.rate_per_hour, RATE + GTY / 2);
    });
}
