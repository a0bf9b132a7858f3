mod agenda;
mod extension;
mod random;
mod retention;
mod searching;
mod suspension;
mod termination;

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{BillingUnit::Second, LeaseId, TaskKind::*};
use sp_runtime::{BuildStorage, DispatchError};

use crate::{mock::*, ByHost, CurrentParams, Error, Params, MAX_LEASES_PER_HOST};

#[test]
fn the_list_of_a_host_is_in_order_and_has_each_lease_once() {
    on_chain(|| {
        let host = account(HOST);
        let mut list = Leases::leases_of(&host);
        for id in [5, 3, 9, 3, 5] {
            assert_ok!(Leases::list_add(&mut list, id));
        }
        assert_eq!(list.to_vec(), [3, 5, 9]);
        assert!(Leases::list_remove(&mut list, 5) && !Leases::list_remove(&mut list, 5));
        Leases::store_list(&host, &list);
        assert_eq!(Leases::leases_of(&host).to_vec(), [3, 9]);
        Leases::store_list(&host, &Default::default());
        assert!(!ByHost::<Test>::contains_key(&host), "a list with nothing on it takes no room");
    });
}

#[test]
fn a_host_has_so_many_leases_and_no_more() {
    on_chain(|| {
        let mut list = Leases::leases_of(&account(HOST));
        for id in 0..LeaseId::from(MAX_LEASES_PER_HOST) {
            assert_ok!(Leases::list_add(&mut list, id));
        }
        assert_eq!(Leases::list_add(&mut list, 5_000), Err(Error::<Test>::TooManyLeasesOnHost.into()));
        assert_ok!(Leases::list_add(&mut list, 7));
    });
}

#[test]
fn leases_of_jobs_are_left_to_the_task() {
    on_chain(|| {
        open(1, Job, Second, HOUR);
        advance(2 * HOUR);
        assert_noop!(Leases::extend(signed(TENANT), 1, HOUR), Error::<Test>::LeaseOfJob);
        assert_noop!(Leases::top_up(signed(TENANT), 1, GTY), Error::<Test>::LeaseOfJob);
        assert_noop!(Leases::suspend(signed(TENANT), 1), Error::<Test>::LeaseOfJob);
        assert_noop!(Leases::resume(signed(TENANT), 1), Error::<Test>::LeaseOfJob);
        assert_noop!(Leases::reclaim(signed(PROVIDER), 1), Error::<Test>::LeaseOfJob);
        assert_noop!(Leases::finish_reclaim(signed(ANYONE), 1), Error::<Test>::LeaseOfJob);
        assert_noop!(Leases::settle(signed(ANYONE), 1), Error::<Test>::LeaseOfJob);
        assert_noop!(Leases::close_depleted(signed(ANYONE), 1), Error::<Test>::LeaseOfJob);
    });
}

#[test]
fn a_lease_that_is_not_there_is_what_its_keeper_says() {
    on_chain(|| {
        assert_noop!(Leases::extend(signed(TENANT), 1, HOUR), DispatchError::CannotLookup);
        assert_noop!(Leases::keep(signed(TENANT), 1, HOUR, RATE), DispatchError::CannotLookup);
    });
}

fn with(change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Params::default();
    change(&mut params);
    params
}

#[test]
fn only_root_changes_the_periods_and_each_wrong_one_has_its_name() {
    on_chain(|| {
        let set = |change: fn(&mut Params)| Leases::set_params(RuntimeOrigin::root(), with(change));
        assert_noop!(Leases::set_params(signed(TENANT), Params::default()), DispatchError::BadOrigin);
        assert_noop!(set(|params| params.reclaim_notice_ms = 0), Error::<Test>::ReclaimNoticeIsZero);
        assert_noop!(set(|params| params.retention_ms = 0), Error::<Test>::RetentionIsZero);
        assert_noop!(set(|params| params.purge_grace_ms = 0), Error::<Test>::PurgeGraceIsZero);
        assert_noop!(set(|params| params.max_kept_ms = params.retention_ms - 1), Error::<Test>::RetentionTooLong);
        assert_ok!(set(|params| params.retention_ms = 5));
        assert_eq!(CurrentParams::<Test>::get(), with(|params| params.retention_ms = 5));
        assert_eq!(events(), [crate::Event::ParamsChanged]);
    });
}

#[test]
#[should_panic(expected = "RetentionIsZero")]
fn a_chain_does_not_start_with_wrong_periods() {
    let leases = crate::GenesisConfig { params: with(|params| params.retention_ms = 0), ..Default::default() };
    let _ = RuntimeGenesisConfig { leases, ..Default::default() }.build_storage();
}

#[test]
fn the_check_finds_what_is_wrong() {
    on_chain(|| {
        open(1, Rental, Second, HOUR);
        let is_wrong = || Leases::do_try_state().is_err();
        let good = ByHost::<Test>::get(account(HOST));
        ByHost::<Test>::insert(account(HOST), crate::HostLeases::default());
        assert!(is_wrong(), "an empty list");
        ByHost::<Test>::insert(account(HOST), crate::HostLeases::truncate_from(vec![2, 1]));
        assert!(is_wrong(), "a list out of order");
        ByHost::<Test>::insert(account(HOST), good);
        let bucket = crate::AgendaPages::<Test>::iter_keys().next().expect("there is one");
        crate::AgendaPages::<Test>::insert(bucket, 2);
        assert!(is_wrong(), "a page that is not there");
        crate::AgendaPages::<Test>::insert(bucket, 1);
        crate::AgendaEmptied::<Test>::put(bucket);
        assert!(is_wrong(), "an entry that no search finds");
        crate::AgendaEmptied::<Test>::kill();
        CurrentParams::<Test>::put(with(|params| params.retention_ms = 0));
        assert!(is_wrong(), "a period that is not sound");
        CurrentParams::<Test>::put(Params::default());
    });
}
