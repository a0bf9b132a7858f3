//! The pods of a task are placed as its layout requires.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{Balance, EndReason, HostFailure, Layout, LeaseState, Survival, TaskId, TaskSpec, TaskState};
use sp_runtime::DispatchError;

use crate::{mock::*, Error, Event, WeightInfo};

/// A service of up to that many pods, each with one device, of which so many are wanted.
fn laid_out(layout: Layout, pods: u16, survival: Survival) -> TaskSpec {
    let mut wanted = TaskSpec { survival, resources: spec().resources, ..service(pods) };
    wanted.placement.layout = layout;
    wanted
}

/// One that runs on the first devices of hosts 10 and 11, of different providers; 12 and 13 are online besides.
fn running_on_two(layout: Layout, survival: Survival) -> TaskId {
    (10..14).for_each(online_host);
    let task = submit_wide(laid_out(layout, 3, survival));
    let leases = assign(task, vec![place(0, 10, &[0]), place(1, 11, &[0])]);
    for (lease, number) in leases.into_iter().zip([10, 11]) {
        assert_ok!(Tasks::report_started(host_origin(number), lease));
    }
    task
}

#[test]
fn pods_that_come_together_lie_as_the_layout_says() {
    let host_repeated: DispatchError = Error::<Test>::HostRepeated.into();
    let provider_repeated: DispatchError = Error::<Test>::ProviderRepeated.into();
    // Hosts 10 and 12 belong to one provider.
    for (layout, on_one_host, on_one_provider) in [
        (Layout::Any, None, None),
        (Layout::Packed, None, None),
        (Layout::Hosts, Some(host_repeated), None),
        (Layout::Providers, Some(provider_repeated), Some(provider_repeated)),
    ] {
        for ((number, device), refused) in [((10, 1), on_one_host), ((12, 0), on_one_provider), ((11, 0), None)] {
            on_chain(|| {
                (10..13).for_each(online_host);
                let task = submit_wide(laid_out(layout, 2, Survival::Restart));
                let pods = placed(vec![place(0, 10, &[0]), place(1, number, &[device])]);
                assert_eq!(try_assign(signed(SCHEDULER), task, pods), refused.map_or(Ok(()), Err), "{layout:?}");
                assert_eq!(record(task).leases.len(), if refused.is_none() { 2 } else { 0 });
            });
        }
    }
}

#[test]
fn a_pod_that_comes_later_lies_beside_those_that_live() {
    on_chain(|| {
        let task = running_on_two(Layout::Hosts, Survival::Restart);
        let on = |number| placed(vec![place(2, number, &[1])]);
        assert_noop!(try_assign(signed(SCHEDULER), task, on(11)), Error::<Test>::HostRepeated);
        assert_noop!(try_assign(signed(TENANT), task, on(10)), Error::<Test>::HostRepeated);
        assert_ok!(try_assign(signed(SCHEDULER), task, on(12)));
    });
}

#[test]
fn a_pod_that_is_lost_leaves_its_host_to_the_one_that_replaces_it() {
    on_chain(|| {
        let task = running_on_two(Layout::Providers, Survival::Restart);
        let lost = leases_of(task)[0];
        assert_noop!(
            try_assign(signed(SCHEDULER), task, placed(vec![place(2, 12, &[0])])),
            Error::<Test>::ProviderRepeated
        );
        assert_ok!(Tasks::report_failed(host_origin(10), lost, HostFailure::DriverError));
        assert_ok!(try_assign(signed(SCHEDULER), task, placed(vec![place(0, 10, &[0])])));
    });
}

#[test]
fn a_pod_is_not_moved_beside_another() {
    on_chain(|| {
        let task = running_on_two(Layout::Hosts, Survival::Move);
        let lease = leases_of(task)[0];
        let to = |number, device: u8| {
            let devices = vec![device].try_into().expect("one fits");
            Tasks::move_pod(signed(TENANT), lease, host(number), devices, Balance::MAX)
        };
        assert_noop!(to(11, 1), Error::<Test>::HostRepeated);
        assert_ok!(to(12, 0));
        assert_eq!(record(task).leases[0].host, host(12));
    });
}

#[test]
fn a_pod_may_be_moved_to_another_host_of_the_provider_it_leaves() {
    on_chain(|| {
        let task = running_on_two(Layout::Providers, Survival::Move);
        let lease = leases_of(task)[0];
        let device = || vec![0].try_into().expect("one fits");
        let to = |number| Tasks::move_pod(signed(TENANT), lease, host(number), device(), Balance::MAX);
        // 13 belongs to the provider of 11.
        assert_noop!(to(13), Error::<Test>::ProviderRepeated);
        assert_ok!(to(12));
    });
}

#[test]
fn no_standby_is_named_where_another_pod_is() {
    on_chain(|| {
        let task = running_on_two(Layout::Hosts, Survival::Standby);
        let leases = leases_of(task);
        let name = |number, device: u8| {
            let devices = vec![device].try_into().expect("one fits");
            Tasks::name_standby(signed(SCHEDULER), leases[0], host(number), devices, Balance::MAX)
        };
        assert_noop!(name(11, 1), Error::<Test>::HostRepeated);
        assert_ok!(name(13, 0));
        assert_noop!(name(13, 1), Error::<Test>::StandbyStands);
        assign(task, vec![place(2, 13, &[1])]);
        // Now it would break the layout.
        assert_noop!(name(13, 0), Error::<Test>::HostRepeated);
    });
}

#[test]
fn a_standby_where_another_pod_is_by_then_takes_nothing_over() {
    on_chain(|| {
        let task = running_on_two(Layout::Hosts, Survival::Standby);
        let leases = leases_of(task);
        let devices = vec![0].try_into().expect("one fits");
        assert_ok!(Tasks::name_standby(signed(SCHEDULER), leases[0], host(13), devices, Balance::MAX));
        assign(task, vec![place(2, 13, &[1])]);
        task_events();
        assert_ok!(Tasks::report_failed(host_origin(10), leases[0], HostFailure::DriverError));
        let Some(Event::PodLost { state, .. }) = task_events().pop() else { panic!() };
        assert_eq!((state, leases_of(task).len()), (TaskState::Running, 2));
    });
}

#[test]
fn what_has_ended_is_in_nobodys_way() {
    on_chain(|| {
        (10..12).for_each(online_host);
        let mut gang = TaskSpec { survival: Survival::Move, pods_min: 2, pods_max: 2, ..spec() };
        gang.placement.layout = Layout::Hosts;
        let task = submit(gang);
        let leases = assign(task, vec![place(0, 10, &[0]), place(1, 11, &[0])]);
        for (lease, number) in leases.iter().zip([10, 11]) {
            assert_ok!(Tasks::report_started(host_origin(number), *lease));
        }
        work(1_000);
        assert_ok!(Tasks::report_result(host_origin(11), leases[1], result(1_000)));
        assert_eq!(lease(leases[1]).state, LeaseState::Ended(EndReason::Completed));
        let device = vec![0].try_into().expect("one fits");
        assert_ok!(Tasks::move_pod(signed(TENANT), leases[0], host(11), device, Balance::MAX));
    });
}

#[test]
fn who_is_compared_with_others_pays_for_looking_them_up() {
    on_chain(|| {
        (10..12).for_each(online_host);
        for (layout, device, leases) in [(Layout::Providers, 0, 2), (Layout::Hosts, 1, 1)] {
            let task = submit_wide(laid_out(layout, 2, Survival::Restart));
            assign(task, vec![place(0, 10, &[device])]);
            let later = Tasks::assign(signed(SCHEDULER), task, placed(vec![place(1, 11, &[device])]));
            let charged = later.expect("it fits").actual_weight;
            assert_eq!(charged, Some(<() as WeightInfo>::assign(leases)), "{layout:?}");
        }
    });
}

#[test]
fn a_batch_looks_up_no_more_than_was_paid_for() {
    on_chain(|| {
        (10..12).for_each(online_host);
        let mut small = laid_out(Layout::Providers, 2, Survival::Restart);
        small.resources =
            gantry_primitives::Resources { cpu_milli: 1, memory_mib: 1, disk_gib: 0, ..gang(1).resources };
        // Each has one pod and gets another; what is left over is for one task of the most pods.
        let tasks: Vec<TaskId> = (0..17)
            .map(|_| {
                let task = submit_wide(small.clone());
                assign(task, vec![place(0, 10, &[])]);
                task
            })
            .collect();
        task_events();
        let batch: Vec<_> = tasks.iter().map(|task| (*task, placed(vec![place(1, 11, &[])]))).collect();
        assert_ok!(Tasks::assign_batch(signed(SCHEDULER), batch.try_into().expect("few")));
        assert!(task_events().contains(&Event::ItemRefused {
            index: 16,
            task: tasks[16],
            error: Error::<Test>::BatchTooHeavy.into()
        }));
        assert!(tasks[..16].iter().all(|task| leases_of(*task).len() == 2));
    });
}
