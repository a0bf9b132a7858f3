use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    Ask, EndReason, HostFailure, IndexTag, LeaseId, LeaseState, Report, TaskId, TaskSpec, TaskState,
};

use crate::{mock::*, Error, Event};

/// A [`rented`] machine whose tenant has ended it after `ms`.
fn ended(ms: u64) -> (TaskId, LeaseId) {
    let (task, lease) = rented();
    work(ms);
    assert_ok!(Tasks::end(signed(TENANT), task));
    (task, lease)
}

/// For how long the disk of a rental is kept that has cost so much.
fn kept_for(paid: u128) -> u64 {
    gantry_primitives::rate::time_paid_ms(paid, 20 * STORAGE_RATE)
}

#[test]
fn data_is_kept_for_as_long_as_what_was_paid_would_pay_for_its_disk() {
    on_chain(|| {
        online_host(10);
        let task = submit(TaskSpec { max_duration_ms: 6 * HOUR, ..rental() });
        let lease_id = assign(task, vec![place(0, 10, &[0])])[0];
        assert_ok!(Tasks::report_started(host_origin(10), lease_id));
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_eq!(lease(lease_id).state, LeaseState::Retained(Hosts::now()), "a rental of no time keeps no disk");
        let task = submit(TaskSpec { max_duration_ms: 6 * HOUR, ..rental() });
        let lease_id = assign(task, vec![place(0, 10, &[1])])[0];
        assert_ok!(Tasks::report_started(host_origin(10), lease_id));
        work(5 * HOUR);
        assert!(kept_for(5 * RATE) > RETENTION);
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_eq!(lease(lease_id).state, LeaseState::Retained(Hosts::now() + RETENTION), "and none for longer");
    });
}

#[test]
fn a_host_cannot_shorten_the_retention_below_the_time_of_the_lease() {
    on_chain(|| {
        let (task, lease_id) = rented();
        work(HOUR / 2);
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(10), Ask { storage_gib_per_hour: 1_000 * GTY, ..ask() }));
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_eq!(lease(lease_id).state, LeaseState::Retained(Hosts::now() + HOUR / 2));
    });
}

#[test]
fn where_the_host_failed_data_is_kept_for_the_whole_time() {
    on_chain(|| {
        let (_, lease_id) = rented();
        work(1_000);
        assert_ok!(Tasks::report_failed(host_origin(10), lease_id, HostFailure::DriverError));
        assert_eq!(lease(lease_id).state, LeaseState::Retained(Hosts::now() + RETENTION));
    });
}

fn purged() -> Report {
    Report::Purged { receipt: [5; 32] }
}

#[test]
fn the_data_of_an_ended_rental_is_kept_and_holds_its_disk() {
    on_chain(|| {
        let (task, lease_id) = ended(HOUR / 2);
        assert_eq!(record(task).state, TaskState::Reported);
        let until = Hosts::now() + kept_for(RATE / 2);
        assert_eq!(lease(lease_id).state, LeaseState::Retained(until));
        let of_host = host_record(10);
        assert_eq!((of_host.free.disk_gib, of_host.free.cpu_milli), (80, 4_000));
        assert_eq!((of_host.devices[0].milli_free, of_host.live_leases), (1_000, 1));
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(lease_id).paid, RATE / 2);
        assert!(matches!(lease(lease_id).state, LeaseState::Retained(_)), "settlement does not end the retention");
    });
}

#[test]
fn a_host_purges_data_with_a_receipt_when_its_time_is_over() {
    on_chain(|| {
        let (task, lease_id) = ended(1_000);
        assert_noop!(Tasks::report(host_origin(10), lease_id, purged()), Error::<Test>::DataStillKept);
        work(RETENTION);
        assert_noop!(Tasks::report(host_origin(11), lease_id, purged()), Error::<Test>::NotHostOfLease);
        task_events();
        assert_ok!(Tasks::report(host_origin(10), lease_id, purged()));
        assert_eq!(task_events(), [Event::Purged { task, lease: lease_id, receipt: [5; 32] }]);
        assert_eq!(lease(lease_id).state, LeaseState::Purged);
        assert_eq!((host_record(10).free.disk_gib, host_record(10).live_leases), (100, 0));
        assert_noop!(Tasks::report(host_origin(10), lease_id, purged()), Error::<Test>::DataNotRetained);
    });
}

#[test]
fn a_tenant_may_give_its_data_up_early() {
    on_chain(|| {
        let (_, lease_id) = ended(1_000);
        assert_ok!(Leases::release_data(signed(TENANT), lease_id));
        assert_ok!(Tasks::report(host_origin(10), lease_id, purged()));
    });
}

#[test]
fn data_that_no_receipt_comes_for_is_forgotten_after_a_while() {
    on_chain(|| {
        let (_, lease_id) = ended(1_000);
        work(RETENTION + GRACE);
        run_hooks();
        work(10_000);
        run_hooks();
        assert_eq!(lease(lease_id).state, LeaseState::Purged);
        assert_eq!(host_record(10).free.disk_gib, 100);
    });
}

#[test]
fn a_host_that_loses_data_says_so_and_is_slashed() {
    on_chain(|| {
        let (task, lease_id) = ended(1_000);
        let bond = host_record(10).bond;
        assert_ok!(Tasks::report(host_origin(10), lease_id, Report::DataLost));
        assert_eq!(lease(lease_id).state, LeaseState::Purged);
        assert!(host_record(10).bond < bond);
        assert!(task_events().contains(&Event::DataLost { task, lease: lease_id }));
    });
}

#[test]
fn a_new_rental_takes_over_the_data_of_an_old_one() {
    on_chain(|| {
        let (old_task, old) = ended(1_000);
        let mut next = rental();
        next.data_from = Some(old);
        // All the disk that is left beside the retained data would not do: the new machine takes it over.
        next.resources.disk_gib = 100;
        let task = submit(next);
        task_events();
        let new = assign(task, vec![place(0, 10, &[1])])[0];
        assert_eq!(lease(old).state, LeaseState::Ended(EndReason::DataMoved));
        assert_eq!((host_record(10).free.disk_gib, host_record(10).live_leases), (0, 1));
        assert!(task_events().contains(&Event::DataMoved { from: old, to: new }));
        assert_noop!(Tasks::report(host_origin(10), old, purged()), Error::<Test>::DataNotRetained);
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), old_task));
    });
}

#[test]
fn data_is_taken_over_by_its_tenant_on_its_host_while_it_is_there() {
    on_chain(|| {
        let (_, old) = ended(1_000);
        online_host(11);
        let mut next = rental();
        next.data_from = Some(old);
        let task = submit(next.clone());
        let elsewhere = placed(vec![place(0, 11, &[0])]);
        assert_noop!(try_assign(signed(SCHEDULER), task, elsewhere), Error::<Test>::DataElsewhere);
        let too_small = placed(vec![place(0, 10, &[])]);
        assert_noop!(
            try_assign(signed(SCHEDULER), task, too_small),
            pallet_gantry_hosts::Error::<Test>::WrongDeviceCount
        );
        let strangers = crate::NextTaskId::<Test>::get();
        assert_ok!(Tasks::submit(signed(OTHER_TENANT), next, manifest()));
        let on_host_10 = || placed(vec![place(0, 10, &[0])]);
        assert_noop!(try_assign(signed(SCHEDULER), strangers, on_host_10()), Error::<Test>::NotTenant);
        assert_ok!(Leases::release_data(signed(TENANT), old));
        assert_ok!(Tasks::report(host_origin(10), old, purged()));
        assert_noop!(try_assign(signed(SCHEDULER), task, on_host_10()), Error::<Test>::DataNotRetained);
    });
}

#[test]
fn data_whose_retention_has_run_out_are_not_taken_over() {
    for (before_its_end, taken) in [(1, true), (0, false)] {
        on_chain(|| {
            let (_, old) = ended(1_000);
            let LeaseState::Retained(until) = lease(old).state else { panic!() };
            let mut next = rental();
            next.data_from = Some(old);
            let task = submit(next);
            work(until - Hosts::now() - before_its_end);
            // The host may delete them from that moment, and says so afterwards.
            assert_eq!(lease(old).state, LeaseState::Retained(until));
            let on_host_10 = placed(vec![place(0, 10, &[0])]);
            if taken {
                assert_ok!(try_assign(signed(SCHEDULER), task, on_host_10));
            } else {
                assert_noop!(try_assign(signed(SCHEDULER), task, on_host_10), Error::<Test>::DataNotRetained);
            }
        });
    }
}

#[test]
fn a_stopped_machine_keeps_its_disk_at_the_storage_price() {
    on_chain(|| {
        let (task, lease_id) = rented();
        work(HOUR / 4);
        assert_ok!(Leases::suspend(signed(TENANT), lease_id));
        assert_eq!((host_record(10).free.disk_gib, host_record(10).free.cpu_milli), (80, 4_000));
        assert_eq!(record(task).state, TaskState::Running);
        work(HOUR / 4);
        assert_ok!(Leases::resume(signed(TENANT), lease_id));
        assert_eq!((host_record(10).free.cpu_milli, host_record(10).devices[0].milli_free), (3_000, 0));
        work(HOUR / 4);
        assert_ok!(Tasks::end(signed(TENANT), task));
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(lease_id).paid, RATE / 4 + 20 * STORAGE_RATE / 4 + RATE / 4);
    });
}

#[test]
fn a_stopped_machine_whose_place_was_taken_does_not_start() {
    on_chain(|| {
        let (_, lease_id) = rented();
        assert_ok!(Leases::suspend(signed(TENANT), lease_id));
        assign(submit(spec()), vec![place(0, 10, &[0])]);
        assert_noop!(Leases::resume(signed(TENANT), lease_id), pallet_gantry_hosts::Error::<Test>::DeviceBusy);
    });
}

#[test]
fn a_stopped_machine_is_ended_like_any_other() {
    on_chain(|| {
        let (task, lease_id) = rented();
        assert_ok!(Leases::suspend(signed(TENANT), lease_id));
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert!(matches!(lease(lease_id).state, LeaseState::Retained(_)));
        assert_eq!(record(task).state, TaskState::Reported);
    });
}

#[test]
fn a_rental_whose_host_is_lost_ends_and_its_data_is_to_be_kept() {
    on_chain(|| {
        let (task, lease_id) = rented();
        work(HOUR / 4);
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(10)));
        let bond = host_record(10).bond;
        assert_ok!(Tasks::requeue(signed(ANYONE), lease_id));
        assert!(host_record(10).bond < bond, "the host is slashed");
        assert_eq!(record(task).state, TaskState::Reported, "what it costs may be disputed");
        assert!(matches!(lease(lease_id).state, LeaseState::Retained(_)));
        let attempts: Vec<_> = record(task).attempts.into_iter().map(|known| (known.host, known.refused)).collect();
        assert_eq!(attempts, [(host(10), false)], "the state of the lease does not contain the reason");
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        assert_eq!(escrow(lease_id).paid, RATE / 4, "its silence is not paid");
    });
}

#[test]
fn a_host_that_gives_a_started_rental_up_is_to_blame_whatever_it_says() {
    for failure in [HostFailure::ImageInvalid, HostFailure::ImageUnavailable, HostFailure::DriverError] {
        on_chain(|| {
            let (task, lease_id) = rented();
            work(HOUR / 4);
            let bond = host_record(10).bond;
            assert_ok!(Tasks::report_failed(host_origin(10), lease_id, failure));
            assert!(host_record(10).bond < bond, "{failure:?}");
            assert_eq!(record(task).state, TaskState::Reported, "{failure:?}: it is not paid at once");
            assert!(matches!(lease(lease_id).state, LeaseState::Retained(_)), "{failure:?}: the data is to be kept");
            let score = pallet_gantry_reputation::HostScores::<Test>::get(host(10)).unwrap_or_default();
            assert!(score.completed.negative > 0, "{failure:?}");
        });
    }
}

#[test]
fn a_rental_that_its_provider_wants_back_ends_and_keeps_its_data() {
    on_chain(|| {
        online_host(10);
        let mut long = rental();
        long.max_duration_ms = 4 * HOUR;
        let task = submit(long);
        let lease_id = assign(task, vec![place(0, 10, &[0])])[0];
        assert_ok!(Tasks::report_started(host_origin(10), lease_id));
        assert_ok!(Leases::reclaim(signed(PROVIDER), lease_id));
        work(NOTICE);
        assert_ok!(Leases::finish_reclaim(signed(ANYONE), lease_id));
        assert_eq!(record(task).state, TaskState::Reported);
        assert!(matches!(lease(lease_id).state, LeaseState::Retained(_)));
    });
}

#[test]
fn a_cancelled_rental_keeps_its_data_too() {
    on_chain(|| {
        let (task, lease_id) = rented();
        work(HOUR / 4);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        assert!(matches!(lease(lease_id).state, LeaseState::Retained(_)));
        assert_ok!(Leases::release_data(signed(TENANT), lease_id));
    });
}

#[test]
fn a_rental_that_never_started_has_no_data_to_keep() {
    on_chain(|| {
        online_host(10);
        let task = submit(rental());
        let lease_id = assign(task, vec![place(0, 10, &[0])])[0];
        assert_ok!(Tasks::report_failed(host_origin(10), lease_id, HostFailure::DriverError));
        assert!(is_listed(IndexTag::Queued, task));
        assert_eq!(host_record(10).free, host_record(10).total);
    });
}
