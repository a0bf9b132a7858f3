use frame_support::{
    assert_noop, assert_ok,
    traits::{Get, KeyOwnerProofSystem},
};
use pallet_session::historical;
use sp_runtime::{key_types::DUMMY, DispatchError, Perbill};
use sp_staking::offence::{OffenceDetails, OnOffenceHandler};

use crate::{
    is_valid_slot_ms, mock::*, EpochLength, EpochSlots, Error, Event, MinimumPeriod, RemovalReason, SlotDuration,
    SlotMs, Validators,
};

fn equivocate(who: u8) {
    let details = OffenceDetails { offender: (account(who), ()), reporters: vec![account(9)] };
    List::on_offence(&[details], &[Perbill::from_percent(50)], Session::current_index());
}

fn listed() -> Vec<u8> {
    Validators::<Test>::get().iter().map(|who| who.as_ref() as &[u8]).map(|bytes: &[u8]| bytes[0]).collect()
}

#[test]
fn the_first_validators_are_those_with_keys_at_genesis() {
    on_chain(|| {
        assert_eq!((listed(), validating()), (vec![1, 2, 3, 4], vec![1, 2, 3, 4]));
        assert_eq!(<EpochLength<Test> as Get<u64>>::get(), 20);
        sessions(5);
        assert_eq!(validating(), vec![1, 2, 3, 4]);
    });
}

#[test]
fn an_added_validator_validates_from_the_session_after_the_next_on() {
    on_chain(|| {
        set_keys(5, 5);
        assert_ok!(List::add(RuntimeOrigin::root(), account(5)));
        System::assert_last_event(Event::Added { validator: account(5) }.into());
        sessions(1);
        assert_eq!(validating(), vec![1, 2, 3, 4]);
        sessions(1);
        assert_eq!(validating(), vec![1, 2, 3, 4, 5]);
    });
}

#[test]
fn a_removed_validator_validates_until_the_session_after_the_next() {
    on_chain(|| {
        assert_ok!(List::remove(RuntimeOrigin::root(), account(2)));
        System::assert_last_event(Event::Removed { validator: account(2), reason: RemovalReason::ByAdmin }.into());
        sessions(1);
        assert_eq!(validating(), vec![1, 2, 3, 4]);
        sessions(1);
        assert_eq!(validating(), vec![1, 3, 4]);
    });
}

#[test]
fn nobody_without_session_keys_is_added() {
    on_chain(|| {
        assert_noop!(List::add(RuntimeOrigin::root(), account(5)), Error::<Test>::NoSessionKeys);
        set_keys(5, 5);
        assert_ok!(Session::purge_keys(RuntimeOrigin::signed(account(5))));
        assert_noop!(List::add(RuntimeOrigin::root(), account(5)), Error::<Test>::NoSessionKeys);
    });
}

#[test]
fn the_list_is_changed_by_the_admin_alone_once_each_way_and_within_its_bounds() {
    on_chain(|| {
        assert_noop!(List::add(RuntimeOrigin::signed(account(1)), account(5)), DispatchError::BadOrigin);
        assert_noop!(List::remove(RuntimeOrigin::signed(account(1)), account(2)), DispatchError::BadOrigin);
        assert_noop!(List::add(RuntimeOrigin::root(), account(1)), Error::<Test>::AlreadyListed);
        assert_noop!(List::remove(RuntimeOrigin::root(), account(5)), Error::<Test>::NotListed);
        for who in 5..=7 {
            set_keys(who, who.into());
        }
        assert_ok!(List::add(RuntimeOrigin::root(), account(5)));
        assert_ok!(List::add(RuntimeOrigin::root(), account(6)));
        assert_noop!(List::add(RuntimeOrigin::root(), account(7)), Error::<Test>::TooManyValidators);
        for who in 1..=4 {
            assert_ok!(List::remove(RuntimeOrigin::root(), account(who)));
        }
        assert_noop!(List::remove(RuntimeOrigin::root(), account(5)), Error::<Test>::TooFewValidators);
    });
}

#[test]
fn the_deposit_for_keys_is_held_and_given_back() {
    on_chain(|| {
        set_keys(5, 5);
        assert_eq!(Balances::free_balance(account(5)), 990);
        assert_ok!(Session::purge_keys(RuntimeOrigin::signed(account(5))));
        assert_eq!(Balances::free_balance(account(5)), 1_000);
    });
}

#[test]
fn a_validator_that_purged_its_keys_is_left_out_and_the_last_set_stays_where_nobody_is_left() {
    on_chain(|| {
        assert_ok!(Session::purge_keys(RuntimeOrigin::signed(account(3))));
        sessions(2);
        assert_eq!((listed(), validating()), (vec![1, 2, 3, 4], vec![1, 2, 4]));
        for who in [1, 2, 4] {
            assert_ok!(Session::purge_keys(RuntimeOrigin::signed(account(who))));
        }
        let planned = <List as pallet_session::SessionManager<_>>::new_session(9);
        assert_eq!(planned, None);
    });
}

#[test]
fn the_same_set_is_not_announced_again_but_changed_keys_are() {
    on_chain(|| {
        let announced = || <List as pallet_session::SessionManager<_>>::new_session(2).is_some();
        assert!(!announced());
        set_keys(1, 77);
        assert!(announced());
        sessions(1);
        assert!(!announced());
    });
}

#[test]
fn an_equivocator_is_disabled_at_once_and_gone_from_the_session_after_the_next_on() {
    on_chain(|| {
        equivocate(3);
        System::assert_last_event(Event::Removed { validator: account(3), reason: RemovalReason::Equivocated }.into());
        assert_eq!(Session::disabled_validators(), vec![2]);
        sessions(1);
        assert_eq!((validating(), Session::disabled_validators()), (vec![1, 2, 3, 4], vec![2]));
        sessions(1);
        assert_eq!((validating(), Session::disabled_validators()), (vec![1, 2, 4], vec![]));
    });
}

#[test]
fn less_than_a_third_is_disabled_at_a_time() {
    on_chain(|| {
        equivocate(3);
        equivocate(1);
        assert_eq!(Session::disabled_validators(), vec![2]);
        assert_eq!(listed(), vec![2, 4]);
    });
}

#[test]
fn reporting_the_same_deed_again_changes_nothing() {
    on_chain(|| {
        equivocate(3);
        let (events, list) = (System::events().len(), listed());
        equivocate(3);
        assert_eq!((System::events().len(), listed()), (events, list));
    });
}

#[test]
fn an_equivocator_without_whom_there_are_too_few_stays() {
    on_chain(|| {
        equivocate(1);
        equivocate(2);
        equivocate(3);
        System::assert_last_event(Event::EquivocatorKept { validator: account(3) }.into());
        assert_eq!(listed(), vec![3, 4]);
    });
}

#[test]
fn keys_of_earlier_sessions_can_be_proven_as_long_as_history_is_kept() {
    on_chain(|| {
        sessions(2);
        let key = (DUMMY, codec::Encode::encode(&keys(1).dummy));
        let proof = Historical::prove(key.clone()).expect("1 validates");
        set_keys(1, 77);
        sessions(2);
        assert_eq!(Historical::check_proof(key.clone(), proof.clone()), Some((account(1), ())));
        sessions(3);
        assert_eq!(Historical::check_proof(key, proof), None);
        let (first, end) = historical::StoredRange::<Test>::get().expect("history is kept");
        assert_eq!((first, end), (5, 9));
    });
}

#[test]
fn the_lengths_of_slots_and_epochs_are_those_of_genesis_or_the_defaults() {
    on_chain(|| {
        assert_eq!(<SlotDuration<Test> as Get<u64>>::get(), 300);
        assert_eq!(<MinimumPeriod<Test> as Get<u64>>::get(), 150);
        SlotMs::<Test>::kill();
        EpochSlots::<Test>::kill();
        assert_eq!(<EpochLength<Test> as Get<u64>>::get(), crate::DEFAULT_EPOCH_SLOTS);
        assert_eq!(<SlotDuration<Test> as Get<u64>>::get(), 2_000);
        assert_eq!(<MinimumPeriod<Test> as Get<u64>>::get(), 1_000);
    });
}

#[test]
fn a_slot_is_even_and_between_the_limits() {
    assert_eq!([98, 99, 100, 101, 102].map(is_valid_slot_ms), [false, false, true, false, true]);
    assert_eq!([59_999, 60_000, 60_002].map(is_valid_slot_ms), [false, true, false]);
}
