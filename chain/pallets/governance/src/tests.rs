use frame_support::{assert_noop, assert_ok};
use frame_system::Call as SystemCall;
use sp_runtime::{
    traits::{BlakeTwo256, Hash},
    DispatchError,
};

use crate::{mock::*, Call, CurrentParams, Error, Event, NextEnactmentId, Params};

/// A call that only root may make, and whose effect can be seen.
fn write(value: u8) -> Box<RuntimeCall> {
    Box::new(SystemCall::set_storage { items: vec![(b"key".to_vec(), vec![value])] }.into())
}

fn written() -> Option<Vec<u8>> {
    sp_io::storage::get(b"key").map(|value| value.to_vec())
}

#[test]
fn a_decision_is_carried_out_as_root_after_the_delay_and_not_before() {
    on_chain(|| {
        let call = write(1);
        assert_ok!(Governance::enact(RuntimeOrigin::signed(ENACTER), call.clone()));
        let at = 1 + u64::from(DELAY) + 1;
        System::assert_last_event(Event::Enacting { id: 0, call_hash: BlakeTwo256::hash_of(&call), at }.into());
        run_to(at - 1);
        assert_eq!(written(), None);
        run_to(at);
        assert_eq!(written(), Some(vec![1]));
        assert_noop!(Governance::cancel(RuntimeOrigin::signed(CANCELLER), 0), Error::<Test>::NotPending);
    });
}

#[test]
fn decisions_of_any_size_wait_side_by_side() {
    on_chain(|| {
        let large = Box::new(SystemCall::set_storage { items: vec![(b"large".to_vec(), vec![1; 50_000])] }.into());
        assert_ok!(Governance::enact(RuntimeOrigin::signed(ENACTER), large));
        assert_ok!(Governance::enact(RuntimeOrigin::signed(ENACTER), write(1)));
        assert_eq!(NextEnactmentId::<Test>::get(), 2);
        run_to(20);
        assert_eq!(written(), Some(vec![1]));
        assert_eq!(sp_io::storage::get(b"large").map(|value| value.len()), Some(50_000));
    });
}

#[test]
fn a_cancelled_decision_is_never_carried_out() {
    on_chain(|| {
        assert_ok!(Governance::enact(RuntimeOrigin::signed(ENACTER), write(1)));
        assert_ok!(Governance::cancel(RuntimeOrigin::signed(CANCELLER), 0));
        System::assert_last_event(Event::Cancelled { id: 0 }.into());
        run_to(20);
        assert_eq!(written(), None);
        assert_noop!(Governance::cancel(RuntimeOrigin::signed(CANCELLER), 0), Error::<Test>::NotPending);
        assert_noop!(Governance::cancel(RuntimeOrigin::signed(CANCELLER), 7), Error::<Test>::NotPending);
    });
}

#[test]
fn only_the_named_origins_decide_and_cancel() {
    on_chain(|| {
        assert_noop!(Governance::enact(RuntimeOrigin::signed(CANCELLER), write(1)), DispatchError::BadOrigin);
        assert_noop!(Governance::enact(RuntimeOrigin::none(), write(1)), DispatchError::BadOrigin);
        assert_ok!(Governance::enact(RuntimeOrigin::signed(ENACTER), write(1)));
        assert_noop!(Governance::cancel(RuntimeOrigin::signed(ENACTER), 0), DispatchError::BadOrigin);
    });
}

#[test]
fn a_call_that_no_block_could_carry_out_is_refused_at_once() {
    on_chain(|| {
        let heavy = Box::new(SystemCall::set_code { code: vec![] }.into());
        assert_noop!(Governance::enact(RuntimeOrigin::signed(ENACTER), heavy), Error::<Test>::CallTooHeavy);
    });
}

#[test]
fn the_delay_is_shortened_only_after_the_delay() {
    on_chain(|| {
        let params = Params { delay_blocks: 0 };
        for who in [ENACTER, CANCELLER] {
            let refused = Governance::set_params(RuntimeOrigin::signed(who), params.clone());
            assert_noop!(refused, DispatchError::BadOrigin);
        }
        let shorten = Box::new(Call::set_params { params: params.clone() }.into());
        assert_ok!(Governance::enact(RuntimeOrigin::signed(ENACTER), shorten));
        run_to(6);
        assert_eq!(CurrentParams::<Test>::get().delay_blocks, DELAY);
        run_to(7);
        assert_eq!(CurrentParams::<Test>::get(), params);
        assert_ok!(Governance::enact(RuntimeOrigin::signed(ENACTER), write(1)));
        run_to(8);
        assert_eq!(written(), Some(vec![1]));
    });
}

#[test]
fn ids_do_not_start_again() {
    on_chain(|| {
        NextEnactmentId::<Test>::put(u32::MAX);
        assert_noop!(Governance::enact(RuntimeOrigin::signed(ENACTER), write(1)), Error::<Test>::Overflow);
    });
}
