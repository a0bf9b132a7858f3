//! Properties of tasks, leases and coins under attacks and failures.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{BillingUnit, HostFailure, LeaseId, LeaseState, PodPlacement, TaskId, TaskState};
use pallet_gantry_hosts::Error as HostsError;

use crate::{mock::*, Error};

fn place_by(scheduler: u8, task: TaskId, pods: Vec<PodPlacement>) -> frame_support::dispatch::DispatchResult {
    try_assign(signed(scheduler), task, placed(pods))
}

/// So many leases of one-hour services with 16 pods each, all started on host 10 at once.
fn many_leases(tasks: usize) -> Vec<LeaseId> {
    assert_ok!(register(PROVIDER, 10, great_hardware()));
    assert_ok!(Hosts::heartbeat(host_origin(10)));
    let mut crowd = service(16);
    crowd.max_rate_per_hour = GTY / 5;
    let tasks: Vec<_> = (0..tasks).map(|_| submit_wide(crowd.clone())).collect();
    tasks.iter().flat_map(|task| start_on(*task, &[10; 16])).collect()
}

#[test]
fn what_a_host_says_counts_once_and_in_order() {
    on_chain(|| {
        let (task, old) = assigned();
        assert_noop!(Tasks::report_result(host_origin(10), old, result(1)), Error::<Test>::LeaseNotActive);
        assert_ok!(Tasks::report_started(host_origin(10), old));
        assert_ok!(Tasks::report_failed(host_origin(10), old, HostFailure::DriverError));
        let new = assign(task, vec![place(0, 10, &[0])])[0];
        // What was said of the attempt before is not taken for this one.
        assert_noop!(Tasks::report_started(host_origin(10), old), Error::<Test>::NoSuchLease);
        assert_noop!(Tasks::report_result(host_origin(10), old, result(1)), Error::<Test>::NoSuchLease);
        assert_noop!(Tasks::requeue(signed(ANYONE), old), Error::<Test>::NoSuchLease);
        assert_eq!(lease(new).state, LeaseState::Pending);
    });
}

#[test]
fn an_assignment_counts_once() {
    on_chain(|| {
        let (task, _) = assigned();
        assert_noop!(place_by(SCHEDULER, task, vec![place(0, 10, &[1])]), Error::<Test>::NotQueued);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        assert_noop!(place_by(SCHEDULER, task, vec![place(0, 10, &[1])]), Error::<Test>::NotQueued);
    });
}

#[test]
fn a_scheduler_cannot_fill_a_host_beyond_what_it_has() {
    on_chain(|| {
        online_host(10);
        for _ in 0..4 {
            assign(submit(gang(1)), vec![place(0, 10, &[])]);
        }
        let task = submit(gang(1));
        assert_noop!(place_by(SCHEDULER, task, vec![place(0, 10, &[])]), HostsError::<Test>::NotEnoughCpu);
    });
}

#[test]
fn a_scheduler_cannot_place_on_its_own_host_that_is_away() {
    on_chain(|| {
        assert_ok!(register(SCHEDULER, 12, hardware()));
        let task = submit(spec());
        let on_host_12 = || vec![place(0, 12, &[0])];
        assert_noop!(place_by(SCHEDULER, task, on_host_12()), HostsError::<Test>::HostNotOnline);
        assert_ok!(Hosts::heartbeat(host_origin(12)));
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(12)));
        assert_noop!(place_by(SCHEDULER, task, on_host_12()), HostsError::<Test>::HostNotOnline);
    });
}

#[test]
fn a_host_cannot_raise_its_price_above_what_a_task_allows() {
    on_chain(|| {
        online_host(10);
        let task = submit(spec());
        for gpu_per_hour in [2 * GTY, u128::MAX / 2, u128::MAX] {
            let mut dear = ask();
            dear.gpu_per_hour = gpu_per_hour;
            assert_ok!(Hosts::set_ask(signed(PROVIDER), host(10), dear));
            assert!(place_by(SCHEDULER, task, vec![place(0, 10, &[0])]).is_err());
        }
        assert_eq!(host_record(10).free, host_record(10).total, "a refused placement takes nothing");
        let mut closed = ask();
        closed.second_ppm = 0;
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(10), closed));
        assert_noop!(place_by(SCHEDULER, task, vec![place(0, 10, &[0])]), Error::<Test>::UnitNotOffered);
    });
}

#[test]
fn a_result_after_the_time_is_over_is_worth_no_more_than_the_deposit() {
    on_chain(|| {
        let (task, lease_id) = running();
        work(10 * HOUR);
        assert_ok!(Tasks::report_result(host_origin(10), lease_id, result(u64::MAX)));
        assert_ok!(Tasks::accept_result(signed(TENANT), task));
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(lease_id).paid, RATE);
    });
}

#[test]
fn a_tenant_who_cancels_just_before_the_result_pays_for_the_work() {
    on_chain(|| {
        let (task, lease_id) = running();
        work(HOUR - 1_000);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        assert_noop!(Tasks::report_result(host_origin(10), lease_id, result(1)), Error::<Test>::LeaseNotActive);
        assert_eq!(bill(lease_id).paid, RATE * u128::from(HOUR - 1_000) / u128::from(HOUR));
    });
}

#[test]
fn amounts_that_overflow_are_refused_and_dust_is_not_lost() {
    on_chain(|| {
        online_host(10);
        for rate in [u128::MAX, u128::MAX / 2, u128::MAX / u128::from(HOUR) + 1] {
            let mut greatest = spec();
            greatest.max_rate_per_hour = rate;
            assert!(Tasks::submit(signed(TENANT), greatest, manifest()).is_err());
        }
        // A pod that costs one base unit an hour, billed for a millisecond.
        let mut cheap = ask();
        (cheap.gpu_per_hour, cheap.cpu_core_per_hour, cheap.memory_gib_per_hour) = (1, 0, 0);
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(10), cheap));
        for unit in [BillingUnit::Second, BillingUnit::Hour] {
            let mut dust = spec();
            dust.unit = unit;
            let task = submit(dust);
            let lease_id = assign(task, vec![place(0, 10, &[0])])[0];
            assert_ok!(Tasks::report_started(host_origin(10), lease_id));
            advance(1);
            assert_ok!(Tasks::report_result(host_origin(10), lease_id, result(1)));
            assert_ok!(Tasks::accept_result(signed(TENANT), task));
            assert_ok!(Tasks::settle(signed(ANYONE), task));
            assert!(escrow(lease_id).paid <= 1);
        }
    });
}

#[test]
fn a_tenant_that_fills_the_chain_pays_for_each_task_until_it_is_put_away() {
    on_chain(|| {
        let before = Tasks::deposit_held(&account(TENANT));
        assert_ok!(Tasks::submit_array(signed(TENANT), spec(), manifest(), 4_096));
        let one_call = DEPOSIT_BASE + 12 * DEPOSIT_PER_BYTE + 4_096 * DEPOSIT_PER_TASK;
        assert_eq!(Tasks::deposit_held(&account(TENANT)) - before, one_call);
        assert_ok!(Tasks::cancel(signed(TENANT), 0));
        assert_eq!(Tasks::deposit_held(&account(TENANT)) - before, one_call, "calling it off frees no storage");
    });
    let coins = DEPOSIT_BASE + 12 * DEPOSIT_PER_BYTE + 100 * DEPOSIT_PER_TASK + 2 * GTY + ED;
    ExtBuilder { tenant: coins, ..Default::default() }.build_and_execute(|| {
        assert_noop!(Tasks::submit_array(signed(TENANT), spec(), manifest(), 101), Error::<Test>::TenantCannotPay);
        assert_ok!(Tasks::submit_array(signed(TENANT), spec(), manifest(), 100));
    });
}

#[test]
fn a_host_has_so_many_leases_and_no_more() {
    ExtBuilder { tenant: 10_000 * GTY, ..Default::default() }.build_and_execute(|| {
        let leases = many_leases(62);
        assert_ok!(Tasks::submit_array(signed(TENANT), gang(1), manifest(), 64));
        let first = crate::NextTaskId::<Test>::get() - 64;
        let room = 1_024_000 / 1_000 - leases.len() as u64;
        assert_eq!(room, 32, "processor is what the host runs out of first");
        for task in first..first + room {
            assign(task, vec![place(0, 10, &[])]);
        }
        assert!(place_by(SCHEDULER, first + room, vec![place(0, 10, &[])]).is_err());
    });
}

#[test]
fn a_clock_that_jumps_makes_nobody_rich_and_stops_nothing() {
    on_chain(|| {
        let before = total_balance(&account(TENANT));
        let (job, job_lease) = running();
        online_host(12);
        let rental_task = submit(rental());
        let rental_lease = assign(rental_task, vec![place(0, 12, &[0])])[0];
        assert_ok!(Tasks::report_started(host_origin(12), rental_lease));
        // A century, which is longer than anything lasts.
        advance(100 * 365 * 24 * HOUR);
        run_hooks();
        for number in [10, 12] {
            assert_ok!(Hosts::heartbeat(host_origin(number)));
        }
        assert_ok!(Tasks::report_result(host_origin(10), job_lease, result(u64::MAX)));
        assert_eq!(record(job).state, TaskState::Reported);
        work(DISPUTE_WINDOW);
        run_hooks();
        assert_ok!(Tasks::settle(signed(ANYONE), job));
        assert!(before - total_balance(&account(TENANT)) <= 2 * RATE, "at most what was deposited");
    });
}

#[test]
fn a_clock_near_its_end_overflows_nothing() {
    on_chain(|| {
        let (_, lease_id) = running();
        advance(u64::MAX - START - 1_000);
        run_hooks();
        assert!(
            Tasks::expire_lease(signed(ANYONE), lease_id).is_ok() || Tasks::requeue(signed(ANYONE), lease_id).is_ok()
        );
        let task = submit(spec());
        assert_ok!(Tasks::cancel(signed(TENANT), task));
    });
}

#[test]
fn a_provider_cannot_leave_with_what_its_tenants_paid_for() {
    on_chain(|| {
        let (task, lease_id) = rented();
        work(HOUR / 4);
        assert_noop!(Hosts::retire(signed(PROVIDER), host(10)), HostsError::<Test>::HasLiveLeases);
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_noop!(Hosts::retire(signed(PROVIDER), host(10)), HostsError::<Test>::HasLiveLeases);
        assert_ok!(Leases::release_data(signed(TENANT), lease_id));
        assert_ok!(Tasks::report(host_origin(10), lease_id, gantry_primitives::Report::Purged { receipt: [0; 32] }));
        assert_ok!(Hosts::retire(signed(PROVIDER), host(10)));
    });
}

#[test]
fn nothing_is_decided_by_someone_else() {
    on_chain(|| {
        let (task, lease_id) = rented();
        for who in [OTHER_TENANT, PROVIDER, SCHEDULER, ANYONE, NOBODY] {
            assert_noop!(Tasks::cancel(signed(who), task), Error::<Test>::NotTenant);
            assert_noop!(Tasks::end(signed(who), task), Error::<Test>::NotTenant);
            assert!(Leases::suspend(signed(who), lease_id).is_err());
            assert!(Leases::extend(signed(who), lease_id, HOUR).is_err());
            assert_noop!(
                Tasks::set_params(signed(who), crate::Params::default()),
                sp_runtime::DispatchError::BadOrigin
            );
        }
    });
}
