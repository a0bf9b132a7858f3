use codec::Encode;
use frame_support::assert_ok;
use gantry_primitives::{TaskId, TaskKey};

use crate::{mock::*, Archive, ByTenant, Error, Event, Specs};

fn prune(tasks: &[TaskId]) -> Vec<Event<Test>> {
    task_events();
    assert_ok!(Tasks::prune(signed(ANYONE), tasks.to_vec().try_into().expect("few")));
    task_events()
}

fn refused(task: TaskId, error: Error<Test>) {
    assert_eq!(
        prune(&[task]),
        [Event::ItemRefused { index: 0, task, error: error.into() }, Event::BatchDone { accepted: 0, refused: 1 }]
    );
}

#[test]
fn a_final_task_is_put_away_after_a_while_and_leaves_a_digest() {
    on_chain(|| {
        let task = submit(spec());
        refused(task, Error::NotFinal);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        advance(ARCHIVE_AFTER - 1);
        refused(task, Error::TooEarlyToPrune);
        advance(1);
        let last = record(task);
        let digest = sp_io::hashing::blake2_256(&([0u8; 32], task, last).encode());
        assert_eq!(prune(&[task]), [Event::Pruned { task, digest }, Event::BatchDone { accepted: 1, refused: 0 }]);
        let page = Archive::<Test>::get(0);
        assert_eq!((page.digest, page.count), (digest, 1));
        assert_eq!(Tasks::deposit_held(&account(TENANT)), 0);
        assert_eq!(ByTenant::<Test>::iter_keys().count(), 0);
        refused(task, Error::NoSuchTask);
    });
}

#[test]
fn the_spec_of_an_array_stays_until_its_last_task_is_put_away() {
    on_chain(|| {
        assert_ok!(Tasks::submit_array(signed(TENANT), spec(), manifest(), 3));
        for task in [0, 1] {
            assert_ok!(Tasks::cancel(signed(TENANT), task));
        }
        advance(ARCHIVE_AFTER);
        prune(&[0, 1]);
        assert_eq!(Tasks::deposit_held(&account(TENANT)), DEPOSIT_BASE + 12 * DEPOSIT_PER_BYTE + DEPOSIT_PER_TASK);
        assert_ok!(Tasks::cancel(signed(TENANT), 2));
        assert_eq!(Tasks::deposit_held(&account(TENANT)), DEPOSIT_PER_TASK);
        advance(ARCHIVE_AFTER);
        prune(&[2]);
        assert!(!Specs::<Test>::contains_key(TaskKey::from(0)));
    });
}

#[test]
fn a_rental_is_not_put_away_while_its_data_is_kept() {
    on_chain(|| {
        let (task, lease) = rented();
        work(HOUR / 4);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        work(ARCHIVE_AFTER);
        refused(task, Error::DataRetained);
        assert_ok!(Tasks::report(host_origin(10), lease, gantry_primitives::Report::Purged { receipt: [0; 32] }));
        prune(&[task]);
        assert!(!crate::Tasks::<Test>::contains_key(TaskKey::from(task)));
    });
}

#[test]
fn pages_of_the_archive_cover_4096_tasks_each() {
    on_chain(|| {
        assert_ok!(Tasks::submit_array(signed(OTHER_TENANT), spec(), manifest(), 4_096));
        assert_ok!(Tasks::submit(signed(TENANT), spec(), manifest()));
        assert_ok!(Tasks::cancel(signed(OTHER_TENANT), 4_095));
        assert_ok!(Tasks::cancel(signed(TENANT), 4_096));
        advance(ARCHIVE_AFTER);
        prune(&[4_095, 4_096]);
        assert_eq!((Archive::<Test>::get(0).count, Archive::<Test>::get(1).count), (1, 1));
    });
}
