use frame_support::{assert_noop, assert_ok, dispatch::CheckIfFeeless, traits::fungible::InspectHold};
use gantry_primitives::{
    transitions::{allows, HOST_TRANSITIONS},
    GpuRequest, HostStatus, Resources, SuspendReason,
};
use sp_runtime::DispatchError;

use crate::{mock::*, Call, CurrentParams, Error, Event, HoldReason, Hosts as Records, HostsByProvider, Params};

fn held(who: u8) -> u128 {
    Balances::balance_on_hold(&HoldReason::Bond.into(), &account(who))
}

fn is_free(call: Call<Test>, origin: RuntimeOrigin) -> bool {
    RuntimeCall::from(call).is_feeless(&origin)
}

fn pod(cpu_milli: u32, count: u8, milli: u16) -> Resources {
    let gpus = GpuRequest { count, milli, min_vram_mib: 0, models: Default::default() };
    Resources { cpu_milli, memory_mib: 1, disk_gib: 1, gpus }
}

#[test]
fn a_registered_host_is_bonded_by_its_devices() {
    on_chain(|| {
        assert_ok!(register(PROVIDER, HOST, hardware(2)));
        assert_eq!(held(PROVIDER), 2 * BOND_PER_DEVICE);
        assert_eq!(record().bond, 2 * BOND_PER_DEVICE);
        assert_eq!(record().provider, account(PROVIDER));
        assert_eq!(status(), HostStatus::Verified);
        assert!(HostsByProvider::<Test>::contains_key(account(PROVIDER), host(HOST)));
        System::assert_has_event(Event::Registered { host: host(HOST), provider: account(PROVIDER) }.into());
        assert_ok!(register(PROVIDER, 11, hardware(0)));
        assert_eq!(held(PROVIDER), 3 * BOND_PER_DEVICE, "a host without devices counts as one with one");
    });
}

#[test]
fn a_host_signs_for_one_provider_chain_and_content() {
    on_chain(|| {
        let good = signature(PROVIDER, HOST, &hardware(2));
        let refused = Error::<Test>::BadHostSignature;
        assert_noop!(register_with(ANYONE, HOST, hardware(2), good), refused);
        assert_noop!(register_with(PROVIDER, 11, hardware(2), good), Error::<Test>::BadHostSignature);
        assert_noop!(register_with(PROVIDER, HOST, hardware(1), good), Error::<Test>::BadHostSignature);
        let (endpoint, region) = (bytes("here"), bytes("eu"));
        let signed_by = signed(PROVIDER);
        assert_noop!(
            Hosts::register(signed_by.clone(), host(HOST), hardware(2), bytes("x"), region.clone(), ask(GTY), good),
            Error::<Test>::BadHostSignature
        );
        assert_noop!(
            Hosts::register(signed_by.clone(), host(HOST), hardware(2), endpoint.clone(), bytes("x"), ask(GTY), good),
            Error::<Test>::BadHostSignature
        );
        assert_noop!(
            Hosts::register(signed_by, host(HOST), hardware(2), endpoint, region, ask(GTY - 1), good),
            Error::<Test>::BadHostSignature
        );
        frame_system::BlockHash::<Test>::insert(0, sp_core::H256::repeat_byte(7));
        assert_noop!(register_with(PROVIDER, HOST, hardware(2), good), Error::<Test>::BadHostSignature);
    });
}

#[test]
fn a_key_is_registered_once() {
    on_chain(|| {
        online();
        assert_noop!(register(PROVIDER, HOST, hardware(2)), Error::<Test>::AlreadyRegistered);
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
        assert_noop!(register(PROVIDER, HOST, hardware(2)), Error::<Test>::AlreadyRegistered);
    });
}

#[test]
fn a_machine_without_processor_or_memory_is_refused() {
    on_chain(|| {
        let mut without = hardware(1);
        without.cpu_milli = 0;
        assert_noop!(register(PROVIDER, HOST, without), Error::<Test>::HardwareEmpty);
        let mut without = hardware(1);
        without.memory_mib = 0;
        assert_noop!(register(PROVIDER, HOST, without), Error::<Test>::HardwareEmpty);
    });
}

#[test]
fn simulated_devices_are_registered_only_where_the_chain_allows_them() {
    let mut simulated = hardware(2);
    simulated.devices[1].simulated = true;
    on_chain(|| {
        assert_noop!(register(PROVIDER, HOST, simulated.clone()), Error::<Test>::SimulatedDevicesRefused);
    });
    let mut builder = ExtBuilder::default();
    builder.params.allow_simulated = true;
    builder.build_and_execute(|| {
        assert_ok!(register(PROVIDER, HOST, simulated.clone()));
        assert!(record().devices[1].spec.simulated);
    });
}

#[test]
fn a_provider_who_cannot_pay_the_bond_is_refused() {
    on_chain(|| {
        assert_noop!(register(ANYONE, HOST, hardware(1)), Error::<Test>::ProviderCannotPay);
        assert_noop!(register(NOBODY, HOST, hardware(1)), Error::<Test>::ProviderCannotPay);
    });
}

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
fn a_heartbeat_brings_a_host_online_and_is_free_when_due() {
    on_chain(|| {
        let free = || is_free(Call::heartbeat {}, by_host(HOST));
        assert!(!free(), "who is not registered pays");
        assert_ok!(register(PROVIDER, HOST, hardware(1)));
        assert_eq!(System::providers(&host(HOST)), 1);
        assert!(free(), "the first one is free");
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!((status(), record().last_heartbeat), (HostStatus::Online, START));
        advance(HEARTBEAT_PERIOD / 2 - 1);
        assert!(!free());
        advance(1);
        assert!(free());
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert!(!free());
        assert_noop!(Hosts::heartbeat(signed(PROVIDER)), Error::<Test>::NoSuchHost);
    });
}

#[test]
fn a_new_endpoint_is_free_once_a_period() {
    on_chain(|| {
        online();
        let free = |text| is_free(Call::set_endpoint { endpoint: bytes(text) }, by_host(HOST));
        assert!(!free("here"), "the same endpoint is not free");
        assert!(free("there"));
        assert_ok!(Hosts::set_endpoint(by_host(HOST), bytes("there")));
        assert_eq!(record().endpoint, bytes::<256>("there"));
        System::assert_last_event(Event::EndpointChanged { host: host(HOST) }.into());
        advance(HEARTBEAT_PERIOD - 1);
        assert!(!free("elsewhere"));
        assert_ok!(Hosts::set_endpoint(by_host(HOST), bytes("elsewhere")));
        advance(HEARTBEAT_PERIOD);
        assert!(free("here"));
    });
}

#[test]
fn only_the_provider_commands_its_host() {
    on_chain(|| {
        online();
        assert_noop!(Hosts::set_ask(signed(ANYONE), host(HOST), ask(1)), Error::<Test>::NotProvider);
        assert_noop!(Hosts::drain(signed(ANYONE), host(HOST)), Error::<Test>::NotProvider);
        assert_noop!(Hosts::retire(by_host(HOST), host(HOST)), Error::<Test>::NotProvider);
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(HOST), ask(1)));
        assert_eq!(record().ask, ask(1));
        assert_noop!(Hosts::set_ask(signed(PROVIDER), host(11), ask(1)), Error::<Test>::NoSuchHost);
    });
}

#[test]
fn a_draining_host_stays_so_until_it_is_told_otherwise() {
    on_chain(|| {
        online();
        assert_noop!(Hosts::undrain(signed(PROVIDER), host(HOST)), Error::<Test>::TransitionNotAllowed);
        assert_ok!(Hosts::drain(signed(PROVIDER), host(HOST)));
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Draining);
        assert_noop!(Hosts::reserve(&host(HOST), &pod(1, 0, 0), &[], false), Error::<Test>::HostNotOnline);
        assert_ok!(Hosts::undrain(signed(PROVIDER), host(HOST)));
        assert_eq!(status(), HostStatus::Online);
    });
}

#[test]
fn an_offline_host_does_not_come_back_by_its_provider() {
    on_chain(|| {
        online();
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
        assert_noop!(Hosts::undrain(signed(PROVIDER), host(HOST)), Error::<Test>::TransitionNotAllowed);
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Online);
    });
}

#[test]
fn a_silent_host_is_reported_absent_for_a_bounty() {
    on_chain(|| {
        online();
        advance(ABSENCE_LIMIT);
        assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::NotAbsent);
        advance(1);
        let before = Balances::free_balance(account(ANYONE));
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
        assert_eq!(status(), HostStatus::Offline);
        assert_eq!(Balances::free_balance(account(ANYONE)), before + BOUNTY);
        assert_eq!((record().bond, held(PROVIDER)), (2 * BOND_PER_DEVICE - BOUNTY, 2 * BOND_PER_DEVICE - BOUNTY));
        assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::HostNotOnline);
    });
}

#[test]
fn a_bounty_is_never_more_than_the_bond() {
    on_chain(|| {
        assert_ok!(register(PROVIDER, HOST, hardware(1)));
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
        assert_eq!((record().bond, held(PROVIDER)), (0, 0));
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
    });
}

#[test]
fn a_bounty_that_cannot_be_credited_stays_in_the_bond() {
    let mut builder = ExtBuilder::default();
    builder.params.absence_bounty = ED - 1;
    builder.build_and_execute(|| {
        online();
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Hosts::report_absent(signed(NOBODY), host(HOST)));
        assert_eq!(status(), HostStatus::Offline);
        assert_eq!(held(PROVIDER), 2 * BOND_PER_DEVICE);
    });
}

#[test]
fn a_retired_host_has_its_bond_back_and_does_nothing_more() {
    on_chain(|| {
        online();
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
        assert_eq!((status(), record().bond, held(PROVIDER)), (HostStatus::Retired, 0, 0));
        assert_eq!(System::providers(&host(HOST)), 0);
        assert!(!HostsByProvider::<Test>::contains_key(account(PROVIDER), host(HOST)));
        assert_noop!(Hosts::heartbeat(by_host(HOST)), Error::<Test>::HostRetired);
        assert_noop!(Hosts::set_endpoint(by_host(HOST), bytes("x")), Error::<Test>::HostRetired);
        assert_noop!(Hosts::set_ask(signed(PROVIDER), host(HOST), ask(1)), Error::<Test>::HostRetired);
        assert_noop!(Hosts::retire(signed(PROVIDER), host(HOST)), Error::<Test>::TransitionNotAllowed);
        advance(HEARTBEAT_PERIOD);
        assert!(!is_free(Call::heartbeat {}, by_host(HOST)));
        assert!(!is_free(Call::set_endpoint { endpoint: bytes("x") }, by_host(HOST)));
    });
}

#[test]
fn a_retired_host_that_was_sent_coins_keeps_them() {
    on_chain(|| {
        online();
        assert_ok!(Balances::transfer_keep_alive(signed(PROVIDER), host(HOST), 2 * ED));
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
        assert_eq!(Balances::free_balance(host(HOST)), 2 * ED);
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
        assert_noop!(Hosts::retire(signed(PROVIDER), host(HOST)), Error::<Test>::TransitionNotAllowed);
        assert_ok!(Hosts::unsuspend(RuntimeOrigin::root(), host(HOST)));
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Online);
    });
}

#[test]
fn what_a_lease_takes_is_given_back() {
    on_chain(|| {
        online();
        let half = pod(1_000, 2, 500);
        let (first, second) = (pod(3_000, 1, 500), pod(1, 1, 501));
        assert_ok!(Hosts::reserve(&host(HOST), &half, &[0, 1], false));
        assert_ok!(Hosts::reserve(&host(HOST), &first, &[1], false));
        assert_eq!((record().free.cpu_milli, record().live_leases), (0, 2));
        assert_eq!((record().devices[0].milli_free, record().devices[1].milli_free), (500, 0));
        assert_noop!(Hosts::reserve(&host(HOST), &second, &[0], false), Error::<Test>::NotEnoughCpu);
        assert_ok!(Hosts::release(&host(HOST), &half, &[0, 1]));
        assert_ok!(Hosts::release(&host(HOST), &first, &[1]));
        assert_eq!(record().free, record().total);
    });
}

#[test]
fn no_more_is_given_back_than_was_taken() {
    on_chain(|| {
        online();
        assert_ok!(Hosts::reserve(&host(HOST), &pod(1, 0, 0), &[], false));
        assert_noop!(Hosts::release(&host(HOST), &pod(2, 0, 0), &[]), Error::<Test>::MoreFreeThanTotal);
        assert_noop!(Hosts::release(&host(HOST), &pod(1, 1, 1), &[0]), Error::<Test>::MoreFreeThanTotal);
        assert_ok!(Hosts::release(&host(HOST), &pod(1, 0, 0), &[]));
    });
}

#[test]
fn every_status_change_follows_the_table() {
    on_chain(|| {
        online();
        for _ in 0..2 {
            let _ = Hosts::drain(signed(PROVIDER), host(HOST));
            advance(ABSENCE_LIMIT + 1);
            let _ = Hosts::report_absent(signed(ANYONE), host(HOST));
            let _ = Hosts::suspend(RuntimeOrigin::root(), host(HOST));
            let _ = Hosts::unsuspend(RuntimeOrigin::root(), host(HOST));
            let _ = Hosts::heartbeat(by_host(HOST));
        }
        let mut changes = 0;
        for record in System::events() {
            if let RuntimeEvent::Hosts(Event::StatusChanged { from, to, .. }) = record.event {
                assert!(allows(HOST_TRANSITIONS, from.tag(), to.tag()), "{from:?} to {to:?}");
                changes += 1;
            }
        }
        assert!(changes >= 10, "{changes} changes");
    });
}

#[test]
fn only_root_changes_the_params() {
    on_chain(|| {
        let params = Params { heartbeat_period_ms: 1, ..Default::default() };
        assert_noop!(Hosts::set_params(signed(PROVIDER), params.clone()), DispatchError::BadOrigin);
        assert_ok!(Hosts::set_params(RuntimeOrigin::root(), params.clone()));
        assert_eq!(CurrentParams::<Test>::get(), params);
    });
}

#[test]
fn the_check_of_all_hosts_finds_a_wrong_one() {
    on_chain(|| {
        online();
        let good = record();
        let mut wrong = good.clone();
        wrong.free.cpu_milli += 1;
        Records::<Test>::insert(host(HOST), wrong);
        assert!(Hosts::do_try_state().is_err());
        let mut wrong = good.clone();
        wrong.bond += 1;
        Records::<Test>::insert(host(HOST), wrong);
        assert!(Hosts::do_try_state().is_err());
        Records::<Test>::insert(host(HOST), good);
        HostsByProvider::<Test>::remove(account(PROVIDER), host(HOST));
        assert!(Hosts::do_try_state().is_err());
        HostsByProvider::<Test>::insert(account(PROVIDER), host(HOST), ());
    });
}
