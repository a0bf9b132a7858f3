//! Histories of release 1, migrated and then lived on by today's calls.

use codec::Encode;
use frame_support::{
    assert_noop, assert_ok,
    migrations::{SteppedMigration, SteppedMigrationError},
    pallet_prelude::StorageVersion,
    weights::{Weight, WeightMeter},
};
use gantry_primitives::{
    ids::TASKS_PER_PAGE, lease_id, EndReason, HostId, Lease, LeaseId, LeaseState, PodPlacement, PodResult, TaskId,
    TaskKey, TaskRecord, TaskState, Usage,
};

use super::{weights, Books, Cursor, From1};
use crate::{
    mock::*,
    release_1 as old,
    v1::{
        self,
        hosts::HostStatus,
        tasks::{BillingUnit, TaskState as OldState},
    },
};

/// Runs a test on a chain of release 1.
fn on_release_1(test: impl FnOnce()) {
    chain().execute_with(|| {
        old::genesis();
        test();
    });
}

/// Migrates with so much weight in each block, while the clock jumps. Checks that all is carried over and returns how
/// many blocks it took.
fn migrate(weight: Weight) -> u32 {
    migrate_with(weight, 1_000_000_000)
}

/// As [`migrate`], with blocks so many milliseconds apart.
fn migrate_with(weight: Weight, apart_ms: u64) -> u32 {
    let before = Books::of_release_1::<Test>().expect("a state of release 1");
    let mut cursor: Option<Cursor> = None;
    for block in 1..100_000u32 {
        let mut meter = WeightMeter::with_limit(weight);
        cursor = From1::<Test>::transactional_step(cursor, &mut meter).expect("no step fails");
        if cursor.is_none() {
            before.ensure_carried_over::<Test>().expect("everything is carried over");
            check_everything();
            return block;
        }
        advance(apart_ms);
    }
    panic!("the migration has no end");
}

/// As much as all of a test's state needs.
const PLENTY: Weight = Weight::from_parts(1_000_000_000_000, u64::MAX);

fn record(task: TaskId) -> TaskRecord {
    pallet_gantry_tasks::Tasks::<Test>::get(TaskKey::from(task)).expect("the task exists")
}

fn lease_of(task: TaskId, pod: usize) -> (LeaseId, Lease) {
    let lease = record(task).leases[pod].clone();
    (lease_id(task, lease.pod, lease.generation), lease)
}

fn result(wall_ms: u64) -> PodResult {
    PodResult { digest: [9; 32], exit_code: 0, usage: Usage { wall_ms, cpu_ms: 1, memory_peak_mib: 1 } }
}

fn by_host(host: &HostId) -> RuntimeOrigin {
    RuntimeOrigin::signed(host.clone())
}

/// One task in each state, in the order of `OldState`, beginning with a host of each provider.
fn one_of_each() -> Vec<HostId> {
    let hosts = vec![old::host(100, PROVIDER), old::host(101, OTHER_PROVIDER)];
    for task in 0..10 {
        assert_eq!(old::submit(TENANT, 1, task % 2 == 0, BillingUnit::Second), task);
    }
    for task in [1, 2, 3, 4, 5] {
        assert!(old::assign(task, &hosts[..1]));
    }
    let first = |task| old::task(task).leases[0];
    for task in [2, 3, 4, 5] {
        old::start(first(task));
    }
    advance(5_000);
    for task in [3, 4, 5] {
        old::report(first(task), 4_000);
    }
    old::accept(4);
    old::accept(5);
    old::settle(5);
    old::expire(6);
    old::cancel(7);
    for _ in 0..old::MAX_ATTEMPTS {
        assert!(old::assign(8, &hosts[1..]));
        old::fail(first(8));
    }
    assert!(old::assign(9, &hosts[1..]));
    old::fail(first(9));
    assert!(old::assign(9, &hosts));
    old::start(first(9));
    hosts
}

#[test]
fn a_task_in_each_state_is_carried_over() {
    on_release_1(|| {
        let hosts = one_of_each();
        let retired = old::host(102, PROVIDER);
        old::set_status(&retired, HostStatus::Retired);
        old::set_status(&hosts[1], HostStatus::Draining);
        migrate(PLENTY);
        let states: Vec<_> = (0..10).map(|task| record(task).state).collect();
        assert_eq!(
            states,
            [
                TaskState::Queued,
                TaskState::Assigned,
                TaskState::Running,
                TaskState::Reported,
                TaskState::Verified,
                TaskState::Settled,
                TaskState::Expired,
                TaskState::Cancelled,
                TaskState::Failed(gantry_primitives::FailReason::AttemptsExhausted),
                TaskState::Running,
            ]
        );
        let (again, lease) = lease_of(9, 0);
        assert_eq!((again, lease.state), (lease_id(9, 0, 1), LeaseState::Active));
        let host = pallet_gantry_hosts::Hosts::<Test>::get(&hosts[0]).expect("the host exists");
        assert_eq!((host.bond_required, host.bond), (2 * old::BOND, 2 * old::BOND));
        assert_eq!((host.ask.storage_gib_per_hour, host.ask.day_ppm), (7, 1_000_000));
        assert!(host.capabilities.docker && host.devices.iter().all(|device| device.healthy));
    });
}

#[test]
fn the_versions_of_all_pallets_are_written() {
    on_release_1(|| {
        assert_eq!(StorageVersion::get::<Tasks>(), StorageVersion::new(0));
        migrate(PLENTY);
        for version in [
            StorageVersion::get::<Hosts>(),
            StorageVersion::get::<Tasks>(),
            StorageVersion::get::<Leases>(),
            StorageVersion::get::<Billing>(),
            StorageVersion::get::<Reputation>(),
        ] {
            assert_eq!(version, StorageVersion::new(1));
        }
    });
}

#[test]
fn params_of_release_1_stay_in_force() {
    on_release_1(|| {
        migrate(PLENTY);
        let hosts = pallet_gantry_hosts::CurrentParams::<Test>::get();
        assert_eq!((hosts.bond_consumer, hosts.absence_limit_ms), (old::BOND, 30_000));
        let tasks = pallet_gantry_tasks::CurrentParams::<Test>::get();
        assert_eq!((tasks.start_timeout_ms, tasks.dispute_window_ms, tasks.max_attempts), (60_000, 6_000, 3));
        assert_eq!(pallet_gantry_billing::CurrentParams::<Test>::get().fee_ppm, old::FEE_PPM);
    });
}

#[test]
fn a_chain_that_never_was_release_1_is_left_alone() {
    chain().execute_with(|| {
        let root = sp_io::storage::root(Default::default());
        let mut meter = WeightMeter::with_limit(PLENTY);
        assert_eq!(From1::<Test>::transactional_step(None, &mut meter), Ok(None));
        assert_eq!(sp_io::storage::root(Default::default()), root);
    });
}

#[test]
fn a_migrated_chain_is_not_migrated_again() {
    on_release_1(|| {
        one_of_each();
        migrate(PLENTY);
        let root = sp_io::storage::root(Default::default());
        let mut meter = WeightMeter::with_limit(PLENTY);
        assert_eq!(From1::<Test>::transactional_step(None, &mut meter), Ok(None));
        assert_eq!(sp_io::storage::root(Default::default()), root);
    });
}

#[test]
fn a_block_without_room_is_told_how_much_is_needed() {
    on_release_1(|| {
        let required = weights::largest_item();
        let mut meter = WeightMeter::with_limit(required - Weight::from_parts(1, 0));
        assert_eq!(From1::<Test>::step(None, &mut meter), Err(SteppedMigrationError::InsufficientWeight { required }));
    });
}

#[test]
fn room_for_one_item_a_block_is_enough() {
    on_release_1(|| {
        let hosts = one_of_each();
        for number in 0..2 * TASKS_PER_PAGE {
            let task = old::submit(OTHER_TENANT, 1, false, BillingUnit::Hour);
            if number % 16 == 0 {
                assert!(old::assign(task, &hosts));
            }
        }
        let blocks = migrate(weights::largest_item());
        assert!(blocks > 50, "it took {blocks} blocks");
    });
}

#[test]
fn no_block_takes_more_than_its_share() {
    on_release_1(|| {
        one_of_each();
        let share = weights::largest_item();
        let mut cursor = None;
        loop {
            let mut meter = WeightMeter::with_limit(share);
            cursor = From1::<Test>::transactional_step(cursor, &mut meter).expect("no step fails");
            assert!(meter.consumed().all_lte(share));
            if cursor.is_none() {
                break;
            }
        }
    });
}

#[test]
fn a_pending_lease_starts_and_is_paid_by_todays_calls() {
    on_release_1(|| {
        let hosts = one_of_each();
        migrate(PLENTY);
        let (lease, _) = lease_of(1, 0);
        assert_ok!(Tasks::report_started(by_host(&hosts[0]), lease));
        advance(9_000);
        assert_ok!(Tasks::report_result(by_host(&hosts[0]), lease, result(9_000)));
        assert_ok!(Tasks::accept_result(signed(TENANT), 1));
        assert_ok!(Tasks::settle(signed(ANYONE), 1));
        assert_eq!(record(1).state, TaskState::Settled);
        let rate = record(1).leases[0].escrow.rate_per_hour;
        assert_eq!(record(1).leases[0].escrow.paid, rate * 9_000 / 3_600_000);
        check_everything();
    });
}

#[test]
fn what_ran_under_release_1_is_billed_from_its_start() {
    for unit in [BillingUnit::Second, BillingUnit::Hour, BillingUnit::Day] {
        on_release_1(|| {
            let host = old::host(100, PROVIDER);
            let task = old::submit(TENANT, 1, true, unit);
            assert!(old::assign(task, core::slice::from_ref(&host)));
            old::start(old::task(task).leases[0]);
            advance(1_000_000);
            old::heartbeat(&host);
            migrate(PLENTY);
            // Time in which a host is silent past the absence limit is not billed by release 2.
            for _ in 0..25 {
                advance(20_000);
                assert_ok!(Hosts::heartbeat(by_host(&host)));
            }
            let (lease, _) = lease_of(task, 0);
            assert_ok!(Tasks::report_result(by_host(&host), lease, result(1_400_000)));
            assert_ok!(Tasks::accept_result(signed(TENANT), task));
            assert_ok!(Tasks::settle(signed(ANYONE), task));
            let escrow = &record(task).leases[0].escrow;
            let unit_ms = match unit {
                BillingUnit::Second => 1_400_000,
                _ => 3_600_000,
            };
            let due = (escrow.rate_per_hour * unit_ms / 3_600_000).min(escrow.deposit);
            assert_eq!((escrow.paid, escrow.open), (due, false), "by {unit:?}");
            check_everything();
        });
    }
}

#[test]
fn what_was_reported_to_release_1_is_paid_as_it_would_have_paid() {
    on_release_1(|| {
        one_of_each();
        let due: Vec<_> = [3, 4].map(|task| old::owed(old::task(task).leases[0])).to_vec();
        migrate(PLENTY);
        advance(6_000);
        // Task 3 waits for nothing but the end of the dispute window.
        assert_ok!(Tasks::settle(signed(ANYONE), 3));
        assert_ok!(Tasks::settle(signed(ANYONE), 4));
        assert_eq!([3, 4].map(|task| record(task).leases[0].escrow.paid).to_vec(), due);
        check_everything();
    });
}

#[test]
fn a_waiting_task_is_assigned_under_a_number_that_no_lease_had() {
    on_release_1(|| {
        let host = old::host(100, PROVIDER);
        let task = old::submit(TENANT, 1, false, BillingUnit::Second);
        assert!(old::assign(task, core::slice::from_ref(&host)));
        old::fail(old::task(task).leases[0]);
        migrate(PLENTY);
        let placement = PodPlacement { pod: 0, host: host.clone(), devices: Default::default() };
        assert_ok!(Tasks::assign(signed(SCHEDULER), task, vec![placement].try_into().expect("one fits")));
        let (lease, _) = lease_of(task, 0);
        assert_ne!(lease, lease_id(task, 0, 0), "the first attempt had that one");
        // Two more failures, and the three attempts that release 1 allowed are used up.
        let refusal = gantry_primitives::HostFailure::DriverError;
        assert_ok!(Tasks::report_failed(by_host(&host), lease, refusal));
        assert_eq!(record(task).failures, 2);
        check_everything();
    });
}

#[test]
fn a_host_is_not_absent_because_of_the_pause() {
    on_release_1(|| {
        let hosts = [old::host(100, PROVIDER), old::host(101, PROVIDER)];
        for _ in 0..TASKS_PER_PAGE {
            old::submit(TENANT, 1, false, BillingUnit::Second);
        }
        advance(31_000);
        old::heartbeat(&hosts[0]);
        assert!(migrate_with(weights::largest_item(), 5_000) > 12, "the pause is longer than the limit");
        assert_noop!(
            Hosts::report_absent(signed(ANYONE), hosts[0].clone()),
            pallet_gantry_hosts::Error::<Test>::NotAbsent
        );
        // This one was silent for too long before.
        assert_ok!(Hosts::report_absent(signed(ANYONE), hosts[1].clone()));
    });
}

#[test]
fn a_gang_on_its_way_is_completed_by_todays_calls() {
    on_release_1(|| {
        let hosts = [old::host(100, PROVIDER), old::host(101, OTHER_PROVIDER)];
        let task = old::submit(TENANT, 3, true, BillingUnit::Second);
        assert!(old::assign(task, &hosts));
        let leases = old::task(task).leases;
        old::start(leases[0]);
        advance(10);
        old::start(leases[1]);
        old::start(leases[2]);
        advance(7_000);
        old::report(leases[1], 6_000);
        migrate(PLENTY);
        assert_eq!(record(task).state, TaskState::Running);
        let (first, second, third) = (lease_of(task, 0), lease_of(task, 1), lease_of(task, 2));
        assert_eq!(second.1.state, LeaseState::Ended(EndReason::Completed));
        assert_ok!(Tasks::report_result(by_host(&hosts[0]), first.0, result(6_000)));
        assert_ok!(Tasks::report_result(by_host(&hosts[0]), third.0, result(6_000)));
        assert_ok!(Tasks::accept_result(signed(TENANT), task));
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        let paid: Vec<_> = record(task).leases.iter().map(|lease| lease.escrow.paid).collect();
        assert_eq!(paid, [paid[0]; 3]);
        check_everything();
    });
}

#[test]
fn an_old_task_is_cancelled_and_its_pods_are_paid() {
    on_release_1(|| {
        one_of_each();
        migrate(PLENTY);
        for task in [0, 1, 2, 9] {
            assert_ok!(Tasks::cancel(signed(TENANT), task));
            assert_eq!(record(task).state, TaskState::Cancelled);
        }
        assert_eq!(pallet_gantry_leases::ByHost::<Test>::iter_keys().count(), 0);
        check_everything();
    });
}

/// A history of release 1.
fn history(dice: &mut Dice, moves: u32) {
    let hosts: Vec<_> = (0..6).map(|number| old::host(100 + number, PROVIDER + number % 2)).collect();
    for _ in 0..moves {
        advance(dice.below(20_000));
        let tasks = pallet_gantry_tasks::NextTaskId::<Test>::get();
        if tasks == 0 || dice.below(4) == 0 {
            let unit = [BillingUnit::Second, BillingUnit::Hour, BillingUnit::Day][dice.below(3) as usize];
            let pods = if dice.below(4) == 0 { 3 } else { 1 };
            old::submit(TENANT + dice.below(2) as u8, pods, pods == 1 && dice.below(2) == 0, unit);
            continue;
        }
        let task = dice.below(tasks);
        let record = old::task(task);
        let pod = record.leases.get(dice.below(record.leases.len().max(1) as u64) as usize).copied();
        match (record.state, pod) {
            (OldState::Queued, _) if dice.below(12) == 0 => old::expire(task),
            (OldState::Queued, _) => {
                let host = dice.below(6) as usize;
                // The three pods of a gang on three hosts, so that there is room for all or none.
                let places: Vec<_> = (0..3).map(|place| hosts[(host + place) % 6].clone()).collect();
                let _ = old::assign(task, &places);
            }
            (OldState::Assigned | OldState::Running, Some(lease)) => match old::lease(lease).state {
                _ if dice.below(12) == 0 => old::cancel(task),
                v1::leases::LeaseState::Pending if dice.below(5) > 0 => old::start(lease),
                v1::leases::LeaseState::Active if dice.below(5) > 0 => old::report(lease, dice.below(40_000)),
                v1::leases::LeaseState::Pending | v1::leases::LeaseState::Active => old::fail(lease),
                _ => {}
            },
            (OldState::Reported, _) => old::accept(task),
            (OldState::Verified, _) if dice.below(3) > 0 => old::settle(task),
            _ => {}
        }
    }
}

#[test]
fn any_history_is_carried_over_in_blocks_of_any_size() {
    for seed in 0..24 {
        on_release_1(|| {
            let mut dice = Dice(seed);
            history(&mut dice, 600);
            let share = weights::largest_item();
            migrate(share.saturating_mul(1 + dice.below(20)));
        });
    }
}

#[test]
fn the_state_of_release_1_is_encoded_as_it_was() {
    // The first bytes of what its runtime stored for a state, a unit and a reason: numbers of variants.
    assert_eq!(OldState::Failed(v1::tasks::FailReason::DurationExceeded).encode(), [9, 1]);
    assert_eq!(v1::tasks::TaskStateTag::Failed.encode(), [9]);
    assert_eq!(v1::leases::LeaseState::Ended(v1::leases::EndReason::GangAborted).encode(), [3, 6]);
    assert_eq!(HostStatus::Retired.encode(), [6]);
}
