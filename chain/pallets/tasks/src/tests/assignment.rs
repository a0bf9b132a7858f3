use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{Ask, IndexTag, LeaseState, PodPlacement, TaskId, TaskSpec, TaskState};
use pallet_gantry_hosts::Error as HostsError;
use sp_runtime::DispatchError;

use crate::{mock::*, Error, Event};

fn refused(task: TaskId, pods: Vec<PodPlacement>, error: impl Into<DispatchError>) {
    assert_noop!(try_assign(signed(SCHEDULER), task, placed(pods)), error.into());
}

fn refused_spec(change: impl FnOnce(&mut TaskSpec), error: impl Into<DispatchError>) {
    let mut spec = spec();
    change(&mut spec);
    let task = submit(spec);
    refused(task, vec![place(0, 10, &[0])], error);
}

#[test]
fn an_assigned_task_has_a_lease_and_an_escrow_for_each_pod() {
    on_chain(|| {
        let (task, lease_id) = assigned();
        assert_eq!(record(task).state, TaskState::Assigned);
        let opened = lease(lease_id);
        assert_eq!(opened.state, LeaseState::Pending);
        assert_eq!((opened.pod, opened.generation), (0, 0));
        assert_eq!(lease_id, gantry_primitives::lease_id(task, 0, 0));
        assert_eq!(opened.host, host(10));
        assert_eq!(opened.escrow.rate_per_hour, RATE);
        assert!(escrow(lease_id).open);
        assert_eq!(escrow(lease_id).deposit, RATE);
        assert_eq!(Billing::held(&account(TENANT)), RATE);
        let of_host = host_record(10);
        assert_eq!((of_host.free.cpu_milli, of_host.free.memory_mib, of_host.free.disk_gib), (3_000, 3_072, 99));
        assert_eq!((of_host.devices[0].milli_free, of_host.devices[1].milli_free), (0, 1_000));
        assert_eq!(of_host.live_leases, 1);
        let events = task_events();
        let leases = vec![(lease_id, host(10), RATE, RATE)];
        assert_eq!(events.last(), Some(&Event::Assigned { task, generation: 0, leases, state: TaskState::Assigned }));
        assert!(is_listed(IndexTag::Assigned, task) && !is_listed(IndexTag::Queued, task));
    });
}

#[test]
fn the_loser_of_a_race_is_told_so() {
    on_chain(|| {
        let (task, _) = assigned();
        refused(task, vec![place(0, 10, &[1])], Error::<Test>::NotQueued);
        refused(99, vec![place(0, 10, &[1])], Error::<Test>::NoSuchTask);
    });
}

#[test]
fn a_lease_names_the_scheduler_that_opened_it() {
    on_chain(|| {
        online_host(10);
        let tasks: Vec<_> = (0..4).map(|_| submit(gang(1))).collect();
        let pods = || placed(vec![place(0, 10, &[])]);
        let assigned_by = |task| lease(leases_of(task)[0]).assigned_by;
        assert_ok!(try_assign(signed(SCHEDULER), tasks[0], pods()));
        assert_eq!(assigned_by(tasks[0]), Some(account(SCHEDULER)));
        let batch = vec![(tasks[1], pods())].try_into().expect("one fits");
        assert_ok!(Tasks::assign_batch(signed(SCHEDULER), batch));
        assert_eq!(assigned_by(tasks[1]), Some(account(SCHEDULER)));
        assert_ok!(try_assign(signed(TENANT), tasks[2], pods()));
        assert_eq!(assigned_by(tasks[2]), None);
        // A tenant that is a scheduler, too, places its own task as its tenant.
        assert_ok!(Tasks::bond_scheduler(signed(TENANT)));
        assert_ok!(try_assign(signed(TENANT), tasks[3], pods()));
        assert_eq!(assigned_by(tasks[3]), None);
    });
}

#[test]
fn only_a_bonded_scheduler_or_the_tenant_assigns() {
    on_chain(|| {
        online_host(10);
        let task = submit(spec());
        let pods = || placed(vec![place(0, 10, &[0])]);
        assert_noop!(try_assign(signed(ANYONE), task, pods()), Error::<Test>::NotSchedulerOrTenant);
        assert_noop!(try_assign(signed(OTHER_TENANT), task, pods()), Error::<Test>::NotSchedulerOrTenant);
        assert_ok!(try_assign(signed(TENANT), task, pods()));
    });
}

#[test]
fn a_host_that_is_not_online_takes_nothing() {
    on_chain(|| {
        let task = submit(spec());
        let pods = || vec![place(0, 10, &[0])];
        refused(task, pods(), HostsError::<Test>::NoSuchHost);
        assert_ok!(register(PROVIDER, 10, hardware()));
        refused(task, pods(), HostsError::<Test>::HostNotOnline);
        assert_ok!(Hosts::heartbeat(host_origin(10)));
        assert_ok!(Hosts::drain(signed(PROVIDER), host(10)));
        refused(task, pods(), HostsError::<Test>::HostNotOnline);
        assert_ok!(Hosts::undrain(signed(PROVIDER), host(10)));
        assert_ok!(Hosts::suspend(RuntimeOrigin::root(), host(10)));
        refused(task, pods(), HostsError::<Test>::HostNotOnline);
    });
}

#[test]
fn a_pod_that_does_not_fit_is_refused_by_name() {
    on_chain(|| {
        online_host(10);
        refused_spec(|spec| spec.resources.cpu_milli = 4_001, HostsError::<Test>::NotEnoughCpu);
        refused_spec(|spec| spec.resources.memory_mib = 4_097, HostsError::<Test>::NotEnoughMemory);
        refused_spec(|spec| spec.resources.disk_gib = 101, HostsError::<Test>::NotEnoughDisk);
        refused_spec(|spec| spec.resources.gpus.count = 2, HostsError::<Test>::WrongDeviceCount);
        refused_spec(|spec| spec.resources.gpus.min_vram_mib = 24_001, HostsError::<Test>::NotEnoughVram);
        let models = vec![bytes("H100")].try_into().expect("one fits");
        refused_spec(|spec| spec.resources.gpus.models = models, HostsError::<Test>::WrongModel);
        let task = submit(spec());
        refused(task, vec![place(0, 10, &[2])], HostsError::<Test>::NoSuchDevice);
        let mut two = spec();
        two.resources.gpus.count = 2;
        refused(submit(two), vec![place(0, 10, &[1, 1])], HostsError::<Test>::DeviceRepeated);
        assign(task, vec![place(0, 10, &[0])]);
        refused(submit(spec()), vec![place(0, 10, &[0])], HostsError::<Test>::DeviceBusy);
    });
}

#[test]
fn shares_of_a_device_are_held_by_one_tenant_from_its_first_to_its_last() {
    on_chain(|| {
        online_host(10);
        let half = || {
            let mut half = spec();
            half.resources.gpus.milli = 500;
            half.placement.capabilities.shares = true;
            half
        };
        let (first, second) = (submit(half()), submit(half()));
        assert_ok!(Tasks::submit(signed(OTHER_TENANT), half(), manifest()));
        let others = second + 1;
        let on_host_10 = || vec![place(0, 10, &[0])];
        assign(first, on_host_10());
        assert_eq!(host_record(10).devices[0].shared_by, Some(account(TENANT)));
        refused(others, on_host_10(), HostsError::<Test>::DeviceShared);
        assign(second, on_host_10());
        refused(others, on_host_10(), HostsError::<Test>::DeviceBusy);
        assert_ok!(Tasks::cancel(signed(TENANT), first));
        refused(others, on_host_10(), HostsError::<Test>::DeviceShared);
        assert_ok!(Tasks::cancel(signed(TENANT), second));
        assign(others, on_host_10());
        assert_eq!(host_record(10).devices[0].shared_by, Some(account(OTHER_TENANT)));
    });
}

#[test]
fn a_simulated_device_is_taken_only_where_the_task_allows_it() {
    on_chain(|| {
        let mut simulated = hardware();
        simulated.devices[0].simulated = true;
        assert_ok!(register(PROVIDER, 10, simulated));
        assert_ok!(Hosts::heartbeat(host_origin(10)));
        refused_spec(|_| (), HostsError::<Test>::SimulatedNotAllowed);
        let mut allowing = spec();
        allowing.placement.allow_simulated = true;
        let task = submit(allowing);
        assign(task, vec![place(0, 10, &[0])]);
    });
}

#[test]
fn a_task_goes_only_where_it_wants_to() {
    on_chain(|| {
        online_host(10);
        let elsewhere = vec![bytes("us")].try_into().expect("one fits");
        refused_spec(|spec| spec.placement.regions = elsewhere, HostsError::<Test>::RegionNotWanted);
        let others = vec![host(11)].try_into().expect("one fits");
        refused_spec(|spec| spec.placement.hosts = others, HostsError::<Test>::HostNotWanted);
        let mut picky = spec();
        picky.placement.regions = vec![bytes("us"), bytes("eu")].try_into().expect("two fit");
        picky.placement.hosts = vec![host(11), host(10)].try_into().expect("two fit");
        let task = submit(picky);
        assign(task, vec![place(0, 10, &[0])]);
    });
}

#[test]
fn a_host_that_asks_for_too_much_is_refused() {
    on_chain(|| {
        online_host(10);
        refused_spec(|spec| spec.max_rate_per_hour = RATE - 1, Error::<Test>::RateTooHigh);
        let mut enough = spec();
        enough.max_rate_per_hour = RATE;
        let task = submit(enough);
        assign(task, vec![place(0, 10, &[0])]);
    });
}

#[test]
fn a_new_ask_changes_no_open_lease() {
    on_chain(|| {
        let (_, lease_id) = assigned();
        let mut dearer = ask();
        dearer.gpu_per_hour *= 100;
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(10), dearer));
        assert_eq!(escrow(lease_id).rate_per_hour, RATE);
    });
}

#[test]
fn a_task_past_its_deadline_is_not_assigned() {
    on_chain(|| {
        online_host(10);
        let mut hasty = spec();
        hasty.deadline = Some(START + 100);
        let (first, second) = (submit(hasty.clone()), submit(hasty));
        advance(100);
        assign(first, vec![place(0, 10, &[0])]);
        advance(1);
        refused(second, vec![place(0, 10, &[1])], Error::<Test>::DeadlinePassed);
    });
}

#[test]
fn a_tenant_who_spent_its_coins_is_not_assigned() {
    on_chain(|| {
        online_host(10);
        let task = submit(spec());
        let left = Balances::free_balance(account(TENANT)) - RATE;
        assert_ok!(Balances::transfer_keep_alive(signed(TENANT), account(ANYONE), left));
        refused(task, vec![place(0, 10, &[0])], pallet_gantry_billing::Error::<Test>::TenantCannotPay);
    });
}

#[test]
fn a_gang_is_placed_as_a_whole_or_not_at_all() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        // Four pods fit on a host, so the fifth on the same one does not.
        let task = submit(gang(5));
        let crowded = (0..5).map(|pod| place(pod, 10, &[])).collect();
        refused(task, crowded, HostsError::<Test>::NotEnoughCpu);
        let spread =
            vec![place(4, 11, &[]), place(1, 10, &[]), place(0, 11, &[]), place(3, 10, &[]), place(2, 10, &[])];
        let leases = assign(task, spread);
        assert_eq!(leases.len(), 5);
        let pods: Vec<_> = leases.iter().map(|id| (lease(*id).pod, lease(*id).host)).collect();
        assert_eq!(
            pods,
            [(0, host(11)), (1, host(10)), (2, host(10)), (3, host(10)), (4, host(11))],
            "leases are in the order of the pods"
        );
        assert_eq!((host_record(10).live_leases, host_record(11).live_leases), (3, 2));
        let without_devices = CPU_RATE;
        assert_eq!(Billing::held(&account(TENANT)), 5 * without_devices);
    });
}

#[test]
fn pods_are_numbered_without_gap_or_repeat() {
    on_chain(|| {
        online_host(10);
        let mut elastic = gang(2);
        elastic.pods_max = 3;
        let task = submit(elastic);
        refused(task, vec![], Error::<Test>::WrongPodCount);
        refused(task, vec![place(0, 10, &[])], Error::<Test>::WrongPodCount);
        let four = (0..4).map(|pod| place(pod, 10, &[])).collect();
        refused(task, four, Error::<Test>::WrongPodCount);
        refused(task, vec![place(0, 10, &[]), place(2, 10, &[])], Error::<Test>::PodOutOfRange);
        refused(task, vec![place(1, 10, &[]), place(1, 10, &[])], Error::<Test>::PodRepeated);
        assign(task, vec![place(0, 10, &[]), place(1, 10, &[])]);
    });
}

#[test]
fn a_pod_is_not_placed_at_a_higher_rate_than_the_scheduler_planned_with() {
    on_chain(|| {
        online_host(10);
        let task = submit(spec());
        let planned = |rate_per_hour| vec![PodPlacement { rate_per_hour, ..place(0, 10, &[0]) }];
        refused(task, planned(RATE - 1), Error::<Test>::RateAbovePlan);
        refused(task, planned(0), Error::<Test>::RateAbovePlan);
        assign(task, planned(RATE));
        assert_eq!(lease(leases_of(task)[0]).escrow.rate_per_hour, RATE);
    });
}

#[test]
fn a_provider_that_raises_its_price_after_the_plan_gets_neither_the_pod_nor_more_coins() {
    on_chain(|| {
        online_host(10);
        let (single, of_batch) = (submit(spec()), submit(spec()));
        let planned = || vec![PodPlacement { rate_per_hour: RATE, ..place(0, 10, &[0]) }];
        // Still within the price limit of the tasks.
        let raised = Ask { gpu_per_hour: 3 * GTY / 2, ..ask() };
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(10), raised));
        refused(single, planned(), Error::<Test>::RateAbovePlan);
        let batch = vec![(of_batch, placed(planned()))].try_into().expect("one fits");
        task_events();
        assert_ok!(Tasks::assign_batch(signed(SCHEDULER), batch));
        let error = Error::<Test>::RateAbovePlan.into();
        let refused_item = Event::ItemRefused { index: 0, task: of_batch, error };
        assert_eq!(task_events(), [refused_item, Event::BatchDone { accepted: 0, refused: 1 }]);
        assert_eq!(host_record(10).free, host_record(10).total);
        assert_eq!(Billing::held(&account(TENANT)), 0);
        // A lower price is no reason to refuse.
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(10), Ask { gpu_per_hour: 1, ..ask() }));
        assign(single, planned());
    });
}
