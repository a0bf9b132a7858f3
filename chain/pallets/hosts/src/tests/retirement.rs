use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{Fault, HostStatus, SuspendReason};

use super::is_free;
use crate::{mock::*, Call, EndpointChangedAt, Error, Event, HealthChangedAt, HostsByProvider};

#[test]
fn who_leaves_has_its_bond_back_after_the_unbonding_period() {
    on_chain(|| {
        online();
        let before = wealth(PROVIDER);
        assert_noop!(Hosts::withdraw_bond(signed(PROVIDER), host(HOST)), Error::<Test>::TransitionNotAllowed);
        assert_noop!(Hosts::retire(signed(ANYONE), host(HOST)), Error::<Test>::NotProvider);
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
        assert_eq!(status(), HostStatus::Retiring(START + UNBONDING));
        assert_eq!((record().bond, held(PROVIDER)), (2 * BOND_PER_DEVICE, 2 * BOND_PER_DEVICE));
        advance(UNBONDING - 1);
        assert_noop!(Hosts::withdraw_bond(signed(PROVIDER), host(HOST)), Error::<Test>::StillUnbonding);
        advance(1);
        assert_noop!(Hosts::withdraw_bond(signed(ANYONE), host(HOST)), Error::<Test>::NotProvider);
        assert_ok!(Hosts::withdraw_bond(signed(PROVIDER), host(HOST)));
        assert_eq!((status(), record().bond, held(PROVIDER)), (HostStatus::Retired, 0, 0));
        assert_eq!(wealth(PROVIDER), before);
        assert_eq!(System::providers(&host(HOST)), 0);
        assert!(!HostsByProvider::<Test>::contains_key(account(PROVIDER), host(HOST)));
        System::assert_last_event(Event::BondWithdrawn { host: host(HOST), amount: 2 * BOND_PER_DEVICE }.into());
        assert_noop!(Hosts::withdraw_bond(signed(PROVIDER), host(HOST)), Error::<Test>::TransitionNotAllowed);
    });
}

#[test]
fn a_host_that_leaves_does_nothing_more() {
    on_chain(|| {
        online();
        assert_ok!(Hosts::set_endpoint(by_host(HOST), bytes("there")));
        assert_ok!(Hosts::set_device_health(by_host(HOST), vec![0].try_into().expect("it fits")));
        assert_ok!(Hosts::set_network(by_host(HOST), 1, 1, 1));
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
        assert_eq!((EndpointChangedAt::<Test>::iter().count(), HealthChangedAt::<Test>::iter().count()), (0, 0));
        let refuses_all = || {
            let none = Default::default();
            assert_noop!(Hosts::heartbeat(by_host(HOST)), Error::<Test>::HostRetired);
            assert_noop!(Hosts::set_endpoint(by_host(HOST), bytes("x")), Error::<Test>::HostRetired);
            assert_noop!(Hosts::set_device_health(by_host(HOST), none), Error::<Test>::HostRetired);
            assert_noop!(Hosts::set_ask(signed(PROVIDER), host(HOST), ask(1)), Error::<Test>::HostRetired);
            assert_noop!(Hosts::top_up_bond(signed(PROVIDER), host(HOST), GTY), Error::<Test>::HostRetired);
            assert_noop!(change_hardware(hardware(1)), Error::<Test>::HostRetired);
            assert_noop!(Hosts::retire(signed(PROVIDER), host(HOST)), Error::<Test>::TransitionNotAllowed);
            assert_noop!(Hosts::drain(signed(PROVIDER), host(HOST)), Error::<Test>::TransitionNotAllowed);
            assert_noop!(Hosts::suspend(RuntimeOrigin::root(), host(HOST)), Error::<Test>::TransitionNotAllowed);
            assert_noop!(Hosts::verify(RuntimeOrigin::root(), host(HOST)), Error::<Test>::TransitionNotAllowed);
            assert_noop!(Hosts::mark_verified(&host(HOST)), Error::<Test>::TransitionNotAllowed);
            assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::HostNotOnline);
            let placement = Default::default();
            assert_noop!(reserve(HOST, &pod(1, 0, 0), &[], &placement), Error::<Test>::HostNotOnline);
            assert!(!is_free(Call::heartbeat {}, by_host(HOST)));
            assert!(!is_free(Call::set_endpoint { endpoint: bytes("x") }, by_host(HOST)));
            assert!(!is_free(Call::set_device_health { unhealthy: Default::default() }, by_host(HOST)));
        };
        advance(UNBONDING);
        refuses_all();
        assert_ok!(Hosts::withdraw_bond(signed(PROVIDER), host(HOST)));
        refuses_all();
    });
}

#[test]
fn a_host_with_live_leases_does_not_leave() {
    on_chain(|| {
        online();
        assert_ok!(reserve(HOST, &pod(1, 0, 0), &[], &Default::default()));
        assert_noop!(Hosts::retire(signed(PROVIDER), host(HOST)), Error::<Test>::HasLiveLeases);
        assert_ok!(release(HOST, &pod(1, 0, 0), &[]));
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
    });
}

#[test]
fn the_bond_of_a_host_that_leaves_can_still_be_slashed() {
    on_chain(|| {
        online();
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
        let treasury = wealth(TREASURY);
        for _ in 0..2 {
            assert_eq!(slash_for_fault(Fault::WrongResult, 0), 3 * GTY);
        }
        assert_eq!(status(), HostStatus::Retiring(START + UNBONDING), "it stays on its way out");
        advance(UNBONDING);
        assert_ok!(Hosts::withdraw_bond(signed(PROVIDER), host(HOST)));
        System::assert_last_event(Event::BondWithdrawn { host: host(HOST), amount: 4 * GTY }.into());
        assert_eq!(wealth(TREASURY), treasury + 6 * GTY);
        assert_eq!(slash_for_fault(Fault::WrongResult, 0), 0, "of a retired host there is nothing left to take");
    });
}

#[test]
fn who_governance_suspended_does_not_leave_and_who_failed_otherwise_may() {
    on_chain(|| {
        online();
        assert_ok!(Hosts::suspend(RuntimeOrigin::root(), host(HOST)));
        assert_noop!(Hosts::retire(signed(PROVIDER), host(HOST)), Error::<Test>::SuspendedByRoot);
        assert_ok!(Hosts::unsuspend(RuntimeOrigin::root(), host(HOST)));
        assert_ok!(Hosts::suspend_for(&host(HOST), SuspendReason::FailedChallenge));
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
    });
}

#[test]
fn a_retired_host_that_was_sent_coins_keeps_them() {
    on_chain(|| {
        online();
        assert_ok!(Balances::transfer_keep_alive(signed(PROVIDER), host(HOST), 2 * ED));
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
        advance(UNBONDING);
        assert_ok!(Hosts::withdraw_bond(signed(PROVIDER), host(HOST)));
        assert_eq!(Balances::free_balance(host(HOST)), 2 * ED);
    });
}
