use frame_support::{
    assert_noop, assert_ok, assert_storage_noop,
    dispatch::{CheckIfFeeless, GetDispatchInfo},
    weights::Weight,
};
use gantry_primitives::{HostFailure, IndexTag, LeaseId, PodPlacement, Report, TaskId, TaskState, UpTo, MAX_PODS};

use crate::{mock::*, Error, Event, WeightInfo};

type Assignments = Vec<(TaskId, UpTo<PodPlacement, MAX_PODS>)>;

fn assign_batch(assignments: Assignments) {
    assert_ok!(Tasks::assign_batch(signed(SCHEDULER), assignments.try_into().expect("at most 512")));
}

fn report_batch(number: u8, reports: Vec<(LeaseId, Report)>) {
    assert_ok!(Tasks::report_batch(host_origin(number), reports.try_into().expect("at most 1024")));
}

fn declared_for_assignments(assignments: Assignments) -> Weight {
    let assignments = assignments.try_into().expect("at most 512");
    crate::Call::<Test>::assign_batch { assignments }.get_dispatch_info().call_weight
}

fn declared_for_reports(reports: Vec<(LeaseId, Report)>) -> Weight {
    let reports = reports.try_into().expect("at most 1024");
    crate::Call::<Test>::report_batch { reports }.get_dispatch_info().call_weight
}

fn array(count: u32) -> Vec<TaskId> {
    let first = crate::NextTaskId::<Test>::get();
    assert_ok!(Tasks::submit_array(signed(TENANT), gang(1), manifest(), count));
    (first..first + u64::from(count)).collect()
}

/// So many tasks of an array, assigned to host 10 in one batch; each task with its lease.
fn assigned_array(count: u32) -> (Vec<TaskId>, Vec<LeaseId>) {
    online_host(10);
    let tasks = array(count);
    assign_batch(tasks.iter().map(|task| (*task, placed(vec![place(0, 10, &[])]))).collect());
    let leases = tasks.iter().map(|task| leases_of(*task)[0]).collect();
    (tasks, leases)
}

fn refusals() -> Vec<(u32, TaskId, sp_runtime::DispatchError)> {
    let refused = |event| match event {
        Event::ItemRefused { index, task, error } => Some((index, task, error)),
        _ => None,
    };
    task_events().into_iter().filter_map(refused).collect()
}

#[test]
fn an_array_lives_and_ends_by_batches() {
    on_chain(|| {
        let (tasks, leases) = assigned_array(4);
        report_batch(10, leases.iter().map(|lease| (*lease, Report::Started)).collect());
        assert!(tasks.iter().all(|task| record(*task).state == TaskState::Running));
        work(1_000);
        report_batch(10, leases.iter().map(|lease| (*lease, Report::Result(result(1_000)))).collect());
        work(DISPUTE_WINDOW);
        task_events();
        assert_ok!(Tasks::settle_batch(signed(ANYONE), tasks.clone().try_into().expect("few")));
        let events = task_events();
        assert_eq!(events.len(), 5, "one event for each task and one for the batch");
        assert_eq!(events.last(), Some(&Event::BatchDone { accepted: 4, refused: 0 }));
        assert_eq!(pallet_gantry_billing::TotalEscrowed::<Test>::get(), 0);
        assert_eq!(crate::Manifests::<Test>::iter_keys().count(), 0, "the manifest goes with the last task");
        work(ARCHIVE_AFTER);
        assert_ok!(Tasks::prune(signed(ANYONE), tasks.try_into().expect("few")));
        assert_eq!(crate::Tasks::<Test>::iter_keys().count() + crate::Specs::<Test>::iter_keys().count(), 0);
        assert_eq!(Tasks::deposit_held(&account(TENANT)), 0);
        assert_eq!(crate::Archive::<Test>::get(0).count, 4);
    });
}

#[test]
fn a_batch_says_of_each_item_what_became_of_it() {
    on_chain(|| {
        let (tasks, leases) = assigned_array(3);
        let other = submit(gang(1));
        task_events();
        // The host has room for one more.
        let one = || placed(vec![place(0, 10, &[])]);
        assign_batch(vec![(other, one()), (tasks[0], one()), (99, one())]);
        let not_queued = Error::<Test>::NotQueued.into();
        assert_eq!(refusals(), [(1, tasks[0], not_queued), (2, 99, Error::<Test>::NoSuchTask.into())]);
        let full = submit(gang(1));
        assign_batch(vec![(full, one())]);
        assert_eq!(refusals(), [(0, full, pallet_gantry_hosts::Error::<Test>::NotEnoughCpu.into())]);
        assert!(is_listed(IndexTag::Queued, full));

        report_batch(
            10,
            vec![(leases[0], Report::Started), (leases[0], Report::Started), (leases[1], Report::Started)],
        );
        assert_eq!(refusals(), [(1, tasks[0], Error::<Test>::LeaseNotPending.into())]);
        assert_eq!(record(tasks[1]).state, TaskState::Running, "what comes after a refused item is done");
    });
}

#[test]
fn one_task_may_be_in_a_batch_more_than_once() {
    on_chain(|| {
        online_host(10);
        let task = submit(gang(2));
        let leases = assign(task, vec![place(0, 10, &[]), place(1, 10, &[])]);
        report_batch(10, vec![(leases[0], Report::Started), (leases[1], Report::Started)]);
        assert_eq!(record(task).state, TaskState::Running);
        report_batch(10, vec![(leases[0], Report::Result(result(0))), (leases[1], Report::Result(result(0)))]);
        assert_eq!(record(task).state, TaskState::Reported);
    });
}

#[test]
fn a_refused_gang_of_a_batch_leaves_no_trace() {
    on_chain(|| {
        online_host(10);
        let (crowd, one) = (submit(gang(5)), submit(gang(1)));
        let crowded = placed((0..5).map(|pod| place(pod, 10, &[])).collect());
        let before = (host_record(10), pallet_gantry_billing::TotalEscrowed::<Test>::get());
        assign_batch(vec![(crowd, crowded)]);
        assert_eq!((host_record(10), pallet_gantry_billing::TotalEscrowed::<Test>::get()), before);
        let crowded = placed((0..5).map(|pod| place(pod, 10, &[])).collect());
        assign_batch(vec![(crowd, crowded), (one, placed(vec![place(0, 10, &[])]))]);
        assert_eq!(host_record(10).live_leases, 1);
    });
}

#[test]
fn a_batch_stops_where_the_tenants_coins_do() {
    let pod = CPU_RATE;
    let deposits = DEPOSIT_BASE + 12 * DEPOSIT_PER_BYTE + 3 * DEPOSIT_PER_TASK;
    ExtBuilder { tenant: deposits + 2 * pod + 2 * GTY, ..Default::default() }.build_and_execute(|| {
        online_host(10);
        let tasks = array(3);
        let spare = Balances::free_balance(account(TENANT)) - 2 * pod - ED;
        assert_ok!(Balances::transfer_keep_alive(signed(TENANT), account(ANYONE), spare));
        assign_batch(tasks.iter().map(|task| (*task, placed(vec![place(0, 10, &[])]))).collect());
        let error = pallet_gantry_billing::Error::<Test>::TenantCannotPay.into();
        assert_eq!(refusals(), [(2, tasks[2], error)]);
    });
}

#[test]
fn only_a_bonded_scheduler_assigns_in_batches() {
    on_chain(|| {
        assert_noop!(Tasks::assign_batch(signed(TENANT), Default::default()), Error::<Test>::NotScheduler);
    });
}

#[test]
fn a_batch_of_reports_is_free_where_it_is_no_longer_than_the_list_of_leases() {
    on_chain(|| {
        let (_, leases) = assigned_array(2);
        online_host(11);
        let free = |number: u8, count: usize| {
            let reports = vec![(leases[0], Report::Started); count].try_into().expect("few");
            RuntimeCall::from(crate::Call::report_batch { reports }).is_feeless(&host_origin(number))
        };
        assert_eq!([free(10, 0), free(10, 1), free(10, 2), free(10, 3)], [false, true, true, false]);
        assert!(!free(11, 1), "a host without leases pays");
        assert!(!free(12, 1), "who is no host pays");
        pallet_gantry_hosts::Hosts::<Test>::mutate(host(10), |record| {
            record.as_mut().expect("it is there").bond = FINE;
        });
        assert_eq!([free(10, 1), free(10, 2)], [true, false], "the bond must cover the fines");
        pallet_gantry_hosts::Hosts::<Test>::mutate(host(10), |record| {
            record.as_mut().expect("it is there").bond = HOST_BOND * 2;
        });
    });
}

#[test]
fn each_refused_report_costs_the_host_a_fine() {
    on_chain(|| {
        let (_, leases) = assigned_array(2);
        let (bond, treasury) = (host_record(10).bond, total_balance(&Billing::treasury()));
        report_batch(10, vec![(leases[0], Report::Started), (99, Report::Started), (leases[0], Report::Started)]);
        assert_eq!(host_record(10).bond, bond - 2 * FINE);
        assert_eq!(total_balance(&Billing::treasury()), treasury + 2 * FINE);
    });
}

#[test]
fn a_batch_by_someone_who_is_no_host_is_refused_as_a_whole() {
    on_chain(|| {
        let (_, leases) = assigned_array(1);
        let reports = vec![(leases[0], Report::Started)];
        assert_storage_noop!({
            let sent = Tasks::report_batch(signed(ANYONE), reports.try_into().expect("few"));
            assert_eq!(
                sent.map_err(|refused| refused.error),
                Err(pallet_gantry_hosts::Error::<Test>::NoSuchHost.into())
            );
        });
    });
}

#[test]
fn a_batch_does_no_more_than_was_paid_for() {
    on_chain(|| {
        for number in 10..18 {
            online_host(number);
        }
        let gangs: Vec<_> = (0..2).map(|_| submit(gang(16))).collect();
        for gang in &gangs {
            let hosts: Vec<u8> = (0..16).map(|pod| 10 + pod % 8).collect();
            let leases = start_on(*gang, &hosts);
            for (lease, number) in leases.iter().zip(hosts) {
                assert_ok!(Tasks::report_result(host_origin(number), *lease, result(0)));
            }
        }
        work(DISPUTE_WINDOW);
        task_events();
        assert_ok!(Tasks::settle_batch(signed(ANYONE), gangs.clone().try_into().expect("few")));
        assert_eq!(refusals(), [(1, gangs[1], Error::<Test>::BatchTooHeavy.into())]);
        assert_ok!(Tasks::settle(signed(ANYONE), gangs[1]));
    });
}

#[test]
fn a_batch_costs_by_what_it_did() {
    on_chain(|| {
        let (tasks, _) = assigned_array(4);
        let call = crate::Call::<Test>::settle_batch { tasks: tasks.clone().try_into().expect("few") };
        let before = call.get_dispatch_info().call_weight;
        let done = Tasks::settle_batch(signed(ANYONE), tasks.try_into().expect("few")).expect("it is done");
        assert!(done.actual_weight.expect("it is known").ref_time() < before.ref_time());
    });
}

#[test]
fn a_batch_of_assignments_declares_each_task_and_each_host_once() {
    let pods = |count: u8, host: u8| placed((0..count).map(|pod| place(pod, host, &[])).collect());
    let weight = <() as WeightInfo>::assign_batch;
    let together: Assignments = (0..40).map(|task| (task, pods(1, 10))).collect();
    assert_eq!(declared_for_assignments(together), weight(0, 40, 1 + MAX_PODS));
    let spread: Assignments = (0..40).map(|task| (u64::from(task), pods(1, 10 + task))).collect();
    assert_eq!(declared_for_assignments(spread), weight(0, 40, 40 + MAX_PODS));
    let gangs: Assignments = (0..2).map(|task| (task, pods(16, 10))).collect();
    assert_eq!(declared_for_assignments(gangs), weight(29, 2, 1 + MAX_PODS));
    let repeated: Assignments = (0..40).map(|_| (7, pods(1, 10))).collect();
    assert_eq!(declared_for_assignments(repeated), weight(38, 1, 1 + MAX_PODS));
}

#[test]
fn a_batch_of_reports_declares_each_task_once_and_other_hosts_only_for_failures() {
    let lease = |task, pod| gantry_primitives::lease_id(task, pod, 0);
    let weight = <() as WeightInfo>::report_batch;
    let failed = Report::Failed(HostFailure::DriverError);
    let apart = (0..4).map(|task| (lease(task, 0), Report::Started)).collect();
    assert_eq!(declared_for_reports(apart), weight(0, 4, 1));
    let together: Vec<_> = (0..4).map(|pod| (lease(7, pod), Report::Started)).collect();
    assert_eq!(declared_for_reports(together.clone()), weight(2, 1, 1));
    let failures = [(lease(7, 4), failed), (lease(7, 5), failed)];
    let mixed = together.into_iter().chain(failures).collect();
    assert_eq!(declared_for_reports(mixed), weight(4, 1, 2 + MAX_PODS));
}

#[test]
fn failed_pods_of_a_batch_touch_no_more_leases_of_others_than_were_paid_for() {
    on_chain(|| {
        for number in 10..18 {
            online_host(number);
        }
        let hosts: Vec<u8> = (0..16).map(|pod| 10 + pod % 8).collect();
        let gangs: Vec<_> = (0..2).map(|_| submit(gang(16))).collect();
        let leases: Vec<_> = gangs.iter().map(|gang| start_on(*gang, &hosts)[0]).collect();
        task_events();
        let failed = || Report::Failed(HostFailure::DriverError);
        // Items that are refused leave no more for others.
        let refused = (0..40).map(|_| (99, Report::Started));
        let reports: Vec<_> = refused.chain(leases.iter().map(|lease| (*lease, failed()))).collect();
        let declared = declared_for_reports(reports.clone());
        let done = Tasks::report_batch(host_origin(10), reports.try_into().expect("few")).expect("it is done");
        assert_eq!(refusals().last(), Some(&(41, gangs[1], Error::<Test>::BatchTooHeavy.into())));
        assert_eq!(record(gangs[0]).state, TaskState::Queued);
        assert!(done.actual_weight.expect("it is known").all_lte(declared));
    });
}
