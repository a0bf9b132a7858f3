//! Effects of the agenda of leases on tasks, block by block.

use frame_support::{assert_ok, traits::OnInitialize};
use gantry_primitives::{EndReason, HardwareSpec, LeaseId, LeaseState, Report, TaskId, TaskState};

use crate::{mock::*, Event};

/// A thousand rentals on five great hosts, all started in the same block.
fn a_thousand() -> Vec<(TaskId, LeaseId)> {
    let mut rented = Vec::new();
    for number in 10..15 {
        let great = HardwareSpec {
            cpu_milli: 200_000,
            memory_mib: 204_800,
            disk_gib: 2_000,
            devices: Default::default(),
            ..hardware()
        };
        assert_ok!(register(provider_of(number), number, great));
        assert_ok!(Hosts::heartbeat(host_origin(number)));
        for _ in 0..200 {
            let mut spec = rental();
            spec.resources.gpus.count = 0;
            spec.resources.disk_gib = 10;
            let task = submit(spec);
            let lease = assign(task, vec![place(0, number, &[])])[0];
            assert_ok!(Tasks::report_started(host_origin(number), lease));
            rented.push((task, lease));
        }
    }
    rented
}

fn live(rented: &[(TaskId, LeaseId)]) -> usize {
    rented.iter().filter(|(_, id)| lease(*id).state.is_live()).count()
}

#[test]
fn a_thousand_rentals_that_are_over_at_once_end_over_several_blocks_and_none_is_lost() {
    let builder = ExtBuilder { tenant: 10_000 * GTY, ..Default::default() };
    builder.build_and_execute(|| {
        let rented = a_thousand();
        work(HOUR);
        advance(6_000);
        let mut left = rented.len();
        let mut blocks = 0;
        while left > 0 {
            System::reset_events();
            advance(2_000);
            Leases::on_initialize(System::block_number());
            let still = live(&rented);
            assert!(still < left, "each block ends some");
            let ended = task_events().len();
            assert_eq!(ended, left - still, "and says so of each");
            left = still;
            blocks += 1;
        }
        assert!(blocks > 2, "they do not fit one block");
        for (task, id) in &rented {
            assert_eq!(record(*task).state, TaskState::Reported);
            assert!(matches!(lease(*id).state, LeaseState::Retained(_)));
        }
        // And once more when their data is to be purged.
        work(RETENTION);
        advance(GRACE + 6_000);
        while rented.iter().any(|(_, id)| lease(*id).state != LeaseState::Purged) {
            advance(2_000);
            Leases::on_initialize(System::block_number());
        }
        assert!((10..15).all(|number| host_record(number).live_leases == 0));
    });
}

#[test]
fn the_chain_ends_a_rental_by_itself_when_its_time_is_over() {
    on_chain(|| {
        let (task, id) = rented();
        work(HOUR);
        task_events();
        advance(6_000);
        run_hooks();
        let ended = Event::LeaseEnded {
            task,
            lease: id,
            reason: EndReason::Expired,
            bills: vec![],
            state: TaskState::Reported,
        };
        assert_eq!(task_events(), [ended]);
    });
}

#[test]
fn a_lease_that_went_another_way_before_its_time_is_left_alone() {
    on_chain(|| {
        let (task, id) = rented();
        work(HOUR / 4);
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_ok!(Leases::release_data(signed(TENANT), id));
        assert_ok!(Tasks::report(host_origin(10), id, Report::Purged { receipt: [1; 32] }));
        task_events();
        work(2 * HOUR);
        run_hooks();
        assert_eq!((task_events(), lease(id).state), (vec![], LeaseState::Purged));
    });
}
