use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    transitions::{allows, HOST_TRANSITIONS},
    HostRecord, HostStatus, SuspendReason,
};
use sp_runtime::DispatchError;

use crate::{mock::*, CurrentParams, EndpointChangedAt, Error, Event, Hosts as Records, HostsByProvider, Params};

#[test]
fn a_host_that_must_be_verified_waits_for_it() {
    let mut builder = ExtBuilder::default();
    builder.params.verification_required = true;
    builder.build_and_execute(|| {
        assert_ok!(register(PROVIDER, HOST, hardware(1)));
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Unverified);
        assert_noop!(Hosts::verify(signed(PROVIDER), host(HOST)), DispatchError::BadOrigin);
        assert_ok!(Hosts::verify(RuntimeOrigin::root(), host(HOST)));
        assert_noop!(Hosts::verify(RuntimeOrigin::root(), host(HOST)), Error::<Test>::TransitionNotAllowed);
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Online);
    });
}

#[test]
fn root_suspends_and_the_next_heartbeat_after_it_ends_brings_the_host_back() {
    on_chain(|| {
        online();
        assert_noop!(Hosts::suspend(signed(PROVIDER), host(HOST)), DispatchError::BadOrigin);
        assert_noop!(Hosts::unsuspend(RuntimeOrigin::root(), host(HOST)), Error::<Test>::TransitionNotAllowed);
        assert_ok!(Hosts::suspend(RuntimeOrigin::root(), host(HOST)));
        assert_eq!(status(), HostStatus::Suspended(SuspendReason::ByRoot));
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Suspended(SuspendReason::ByRoot));
        assert_ok!(Hosts::unsuspend(RuntimeOrigin::root(), host(HOST)));
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Online);
    });
}

#[test]
fn every_status_change_follows_the_table() {
    on_chain(|| {
        online();
        for _ in 0..2 {
            let _ = change_hardware(hardware(2));
            let _ = Hosts::heartbeat(by_host(HOST));
            let _ = Hosts::drain(signed(PROVIDER), host(HOST));
            advance(ABSENCE_LIMIT + 1);
            let _ = Hosts::report_absent(signed(ANYONE), host(HOST));
            let _ = Hosts::suspend(RuntimeOrigin::root(), host(HOST));
            let _ = Hosts::unsuspend(RuntimeOrigin::root(), host(HOST));
            let _ = Hosts::heartbeat(by_host(HOST));
        }
        let _ = Hosts::retire(signed(PROVIDER), host(HOST));
        advance(UNBONDING);
        let _ = Hosts::withdraw_bond(signed(PROVIDER), host(HOST));
        let mut changes = 0;
        for record in System::events() {
            if let RuntimeEvent::Hosts(Event::StatusChanged { from, to, .. }) = record.event {
                assert!(allows(HOST_TRANSITIONS, from.tag(), to.tag()), "{from:?} to {to:?}");
                changes += 1;
            }
        }
        assert!(changes >= 16, "{changes} changes");
    });
}

#[test]
fn a_device_is_attested_and_no_longer() {
    on_chain(|| {
        online();
        for attested in [true, false] {
            assert_ok!(Hosts::set_attested(&host(HOST), 1, attested));
            assert_eq!((record().devices[0].attested, record().devices[1].attested), (false, attested));
            System::assert_last_event(Event::DeviceAttested { host: host(HOST), device: 1, attested }.into());
        }
        assert_noop!(Hosts::set_attested(&host(HOST), 2, true), Error::<Test>::NoSuchDevice);
        assert_noop!(Hosts::set_attested(&host(11), 0, true), Error::<Test>::NoSuchHost);
    });
}

#[test]
fn who_passes_a_challenge_is_verified_and_who_fails_one_is_suspended() {
    on_chain(|| {
        online();
        assert_ok!(Hosts::mark_verified(&host(HOST)));
        assert_eq!(status(), HostStatus::Online, "nothing changes for who is verified");
        assert_ok!(Hosts::suspend_for(&host(HOST), SuspendReason::FailedChallenge));
        assert_noop!(
            Hosts::suspend_for(&host(HOST), SuspendReason::HardwareChanged),
            Error::<Test>::TransitionNotAllowed
        );
        assert_ok!(Hosts::mark_verified(&host(HOST)));
        assert_eq!(status(), HostStatus::Verified);
        assert_ok!(Hosts::suspend(RuntimeOrigin::root(), host(HOST)));
        assert_noop!(Hosts::mark_verified(&host(HOST)), Error::<Test>::TransitionNotAllowed);
        assert_noop!(Hosts::mark_verified(&host(11)), Error::<Test>::NoSuchHost);
    });
}

#[test]
fn only_root_changes_the_params_and_only_to_sound_ones() {
    on_chain(|| {
        let good = Params { heartbeat_period_ms: 1, ..Default::default() };
        assert_noop!(Hosts::set_params(signed(PROVIDER), good.clone()), DispatchError::BadOrigin);
        let set = |change: fn(&mut Params)| {
            let mut params = Params::default();
            change(&mut params);
            Hosts::set_params(RuntimeOrigin::root(), params)
        };
        assert_noop!(set(|params| params.heartbeat_period_ms = 0), Error::<Test>::HeartbeatPeriodZero);
        assert_noop!(set(|params| params.absence_limit_ms = 1), Error::<Test>::AbsenceLimitTooShort);
        assert_noop!(set(|params| params.unbonding_ms = u64::MAX), Error::<Test>::PeriodTooLong);
        assert_noop!(set(|params| params.bond_consumer = u128::MAX), Error::<Test>::BondTooGreat);
        assert_noop!(set(|params| params.absence_bounty = u128::MAX), Error::<Test>::AbsenceBountyTooGreat);
        assert_ok!(Hosts::set_params(RuntimeOrigin::root(), good.clone()));
        assert_eq!(CurrentParams::<Test>::get(), good);
    });
}

#[test]
#[should_panic(expected = "HeartbeatPeriodZero")]
fn a_chain_does_not_start_with_params_that_would_be_refused() {
    let mut builder = ExtBuilder::default();
    builder.params.heartbeat_period_ms = 0;
    builder.build_and_execute(|| ());
}

#[test]
fn the_greatest_bond_that_params_allow_can_be_computed() {
    let mut builder = ExtBuilder::default();
    builder.params.bond_professional = u128::MAX / 1_000_000_000;
    builder.build_and_execute(|| {
        assert_noop!(register(PROVIDER, HOST, hardware(16)), Error::<Test>::ProviderCannotPay);
    });
}

#[test]
fn the_check_of_all_hosts_finds_a_wrong_one() {
    on_chain(|| {
        online();
        let good = record();
        let found = |change: fn(&mut HostRecord)| {
            let mut wrong = good.clone();
            change(&mut wrong);
            Records::<Test>::insert(host(HOST), wrong);
            assert!(Hosts::do_try_state().is_err());
        };
        found(|record| record.free.cpu_milli += 1);
        found(|record| record.free.cpu_milli -= 1);
        found(|record| record.devices[0].milli_free -= 1);
        found(|record| record.bond += 1);
        found(|record| record.bond_required = 3 * record.bond);
        found(|record| record.status = HostStatus::Retired);
        found(|record| record.last_heartbeat += 1);
        found(|record| record.downtime_ms += 1);
        found(|record| record.ask.hour_ppm = u32::MAX);
        found(|record| {
            record.live_leases = 1;
            record.status = HostStatus::Retiring(0);
        });
        Records::<Test>::insert(host(HOST), &good);
        assert_ok!(Hosts::do_try_state());
        EndpointChangedAt::<Test>::insert(host(11), 1);
        assert!(Hosts::do_try_state().is_err());
        EndpointChangedAt::<Test>::remove(host(11));
        CurrentParams::<Test>::mutate(|params| params.heartbeat_period_ms = 0);
        assert!(Hosts::do_try_state().is_err());
        CurrentParams::<Test>::mutate(|params| params.heartbeat_period_ms = 1);
        HostsByProvider::<Test>::remove(account(PROVIDER), host(HOST));
        assert!(Hosts::do_try_state().is_err());
        HostsByProvider::<Test>::insert(account(PROVIDER), host(HOST), ());
    });
}
