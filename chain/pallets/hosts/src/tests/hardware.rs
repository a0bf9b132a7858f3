use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{DeviceIndices, Fault, HardwareSpec, HostStatus, Placement, SuspendReason, Tier};

use super::is_free;
use crate::{mock::*, Call, Error, Event};

fn devices(indices: &[u8]) -> DeviceIndices {
    indices.to_vec().try_into().expect("they fit")
}

#[test]
fn a_device_out_of_order_takes_nothing_new() {
    on_chain(|| {
        online();
        let (part, anywhere) = (pod(1, 1, 100), Placement::default());
        assert_ok!(reserve(HOST, &part, &[0], &anywhere));
        assert_ok!(Hosts::set_device_health(by_host(HOST), devices(&[0])));
        let unhealthy = devices(&[0]);
        System::assert_last_event(Event::DeviceHealthChanged { host: host(HOST), unhealthy }.into());
        assert_noop!(reserve(HOST, &part, &[0], &anywhere), Error::<Test>::DeviceUnhealthy);
        assert_ok!(reserve(HOST, &part, &[1], &anywhere));
        assert_ok!(release(HOST, &part, &[0]));
        assert_ok!(release(HOST, &part, &[1]));
        assert_ok!(Hosts::set_device_health(by_host(HOST), devices(&[])));
        assert_ok!(reserve(HOST, &part, &[0], &anywhere));
        assert_ok!(release(HOST, &part, &[0]));
        assert_noop!(Hosts::set_device_health(by_host(HOST), devices(&[2])), Error::<Test>::NoSuchDevice);
        assert_noop!(Hosts::set_device_health(signed(PROVIDER), devices(&[0])), Error::<Test>::NoSuchHost);
    });
}

#[test]
fn a_change_of_health_is_free_once_a_period() {
    on_chain(|| {
        online();
        let free = |indices| is_free(Call::set_device_health { unhealthy: devices(indices) }, by_host(HOST));
        assert!(!free(&[]), "nothing changes");
        assert!(!free(&[2]), "there is no such device");
        assert!(!free(&[0, 2]));
        assert!(free(&[1]));
        assert_ok!(Hosts::set_device_health(by_host(HOST), devices(&[0, 1])));
        assert!(!free(&[0]));
        advance(HEARTBEAT_PERIOD - 1);
        assert!(!free(&[]));
        advance(1);
        assert!(free(&[]) && !free(&[0, 1]) && !free(&[1, 0, 0]));
    });
}

#[test]
fn a_measured_network_is_what_placements_ask_for() {
    on_chain(|| {
        online();
        let placement = Placement { min_network_mbps: 2_000, ..Placement::default() };
        let part = pod(1, 0, 0);
        assert_noop!(reserve(HOST, &part, &[], &placement), Error::<Test>::NotEnoughNetwork);
        assert_ok!(Hosts::set_network(by_host(HOST), 3_000, 2_000, 0));
        let (down_mbps, up_mbps) = (3_000, 2_000);
        System::assert_last_event(
            Event::NetworkMeasured { host: host(HOST), down_mbps, up_mbps, latency_ms: 0 }.into(),
        );
        assert_ok!(reserve(HOST, &part, &[], &placement));
        let near = Placement { max_latency_ms: 30, ..placement };
        assert_noop!(reserve(HOST, &part, &[], &near), Error::<Test>::LatencyTooHigh);
        assert_ok!(Hosts::set_network(by_host(HOST), 3_000, 2_000, 31));
        assert_noop!(reserve(HOST, &part, &[], &near), Error::<Test>::LatencyTooHigh);
        assert_ok!(Hosts::set_network(by_host(HOST), 3_000, 2_000, 30));
        assert_ok!(reserve(HOST, &part, &[], &near));
        assert_ok!(release(HOST, &part, &[]));
        assert_ok!(release(HOST, &part, &[]));
        assert_noop!(Hosts::set_network(signed(PROVIDER), 1, 1, 1), Error::<Test>::NoSuchHost);
    });
}

#[test]
fn a_measured_network_is_told_free_of_charge_where_it_differs_and_once_a_period() {
    on_chain(|| {
        online();
        let free_after = |down_mbps, up_mbps, latency_ms| {
            is_free(Call::set_network { down_mbps, up_mbps, latency_ms }, by_host(HOST))
        };
        let free = |down_mbps, up_mbps| free_after(down_mbps, up_mbps, 40);
        assert_ok!(Hosts::set_network(by_host(HOST), 1_000, 100, 40));
        assert!(!free(5_000, 5_000), "the period is not over");
        advance(HEARTBEAT_PERIOD);
        assert!(!free(1_000, 100) && !free(1_100, 90), "a tenth is no difference");
        assert!(!free_after(1_000, 100, 44) && free_after(1_000, 100, 45) && free_after(1_000, 100, 0));
        assert!(free(1_101, 100) && free(1_000, 89) && free(0, 0) && free(u32::MAX, u32::MAX));
    });
}

#[test]
fn changed_hardware_is_registered_as_it_is_and_verified_anew() {
    let mut builder = ExtBuilder::default();
    builder.params.verification_required = true;
    builder.build_and_execute(|| {
        assert_ok!(register(PROVIDER, HOST, hardware(2)));
        assert_ok!(Hosts::mark_verified(&host(HOST)));
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_ok!(Hosts::set_attested(&host(HOST), 0, true));
        let mut more =
            HardwareSpec { tier: Tier::Datacenter, cpu_milli: 9_000, answers_challenges: false, ..hardware(3) };
        more.capabilities.mig = true;
        (more.network_mbps_down, more.network_mbps_up) = (7, 8);
        assert_ok!(change_hardware(more));
        let record = record();
        assert_eq!((record.status, record.generation, record.tier), (HostStatus::Unverified, 1, Tier::Datacenter));
        assert!(!record.answers_challenges);
        assert_eq!((record.total.cpu_milli, record.free, record.devices.len()), (9_000, record.total, 3));
        assert_eq!((record.capabilities.mig, record.network_mbps_down, record.network_mbps_up), (true, 7, 8));
        assert!(record.devices.iter().all(|device| !device.attested));
        assert_eq!((record.bond, record.bond_required, held(PROVIDER)), (60 * GTY, 60 * GTY, 60 * GTY));
        let bond_required = 60 * GTY;
        System::assert_last_event(Event::HardwareChanged { host: host(HOST), generation: 1, bond_required }.into());
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Unverified);
        assert_ok!(Hosts::mark_verified(&host(HOST)));
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Online);
    });
}

#[test]
fn where_none_is_verified_changed_hardware_may_come_online_at_once() {
    on_chain(|| {
        online();
        assert_ok!(change_hardware(hardware(1)));
        assert_eq!(status(), HostStatus::Verified);
    });
}

#[test]
fn less_hardware_keeps_the_bond_and_needs_less_of_it() {
    on_chain(|| {
        online();
        assert_ok!(change_hardware(hardware(1)));
        assert_eq!((record().bond, record().bond_required), (2 * BOND_PER_DEVICE, BOND_PER_DEVICE));
        assert_ok!(change_hardware(hardware(2)));
        assert_eq!((record().bond, record().bond_required), (2 * BOND_PER_DEVICE, 2 * BOND_PER_DEVICE));
    });
}

#[test]
fn a_signature_for_changed_hardware_is_good_for_one_change_of_one_host() {
    on_chain(|| {
        online();
        let change =
            |number, hardware, signature| Hosts::change_hardware(signed(PROVIDER), host(number), hardware, signature);
        let (one, two) = (hardware(1), hardware(2));
        let first = hardware_signature(PROVIDER, HOST, 1, &one);
        assert_noop!(change(HOST, two.clone(), first), Error::<Test>::BadHostSignature);
        assert_ok!(register(PROVIDER, 11, two.clone()));
        assert_noop!(change(11, one.clone(), first), Error::<Test>::BadHostSignature);
        assert_noop!(change(12, one.clone(), first), Error::<Test>::NoSuchHost);
        let by_registration = signature(PROVIDER, HOST, &one);
        assert_noop!(change(HOST, one.clone(), by_registration), Error::<Test>::BadHostSignature);
        let for_another = hardware_signature(ANYONE, HOST, 1, &one);
        assert_noop!(change(HOST, one.clone(), for_another), Error::<Test>::BadHostSignature);
        assert_noop!(
            Hosts::change_hardware(signed(ANYONE), host(HOST), one.clone(), first),
            Error::<Test>::NotProvider
        );
        assert_ok!(change(HOST, one.clone(), first));
        assert_ok!(change(HOST, two.clone(), hardware_signature(PROVIDER, HOST, 2, &two)));
        assert_noop!(change(HOST, one.clone(), first), Error::<Test>::BadHostSignature);
        frame_system::BlockHash::<Test>::insert(0, sp_core::H256::repeat_byte(7));
        let third = hardware_signature(PROVIDER, HOST, 3, &one);
        frame_system::BlockHash::<Test>::insert(0, sp_core::H256::repeat_byte(8));
        assert_noop!(change(HOST, one, third), Error::<Test>::BadHostSignature);
    });
}

#[test]
fn hardware_is_changed_only_where_nobody_uses_it() {
    on_chain(|| {
        online();
        assert_ok!(reserve(HOST, &pod(1, 0, 0), &[], &Placement::default()));
        assert_noop!(change_hardware(hardware(1)), Error::<Test>::HasLiveLeases);
        assert_ok!(release(HOST, &pod(1, 0, 0), &[]));
        assert_noop!(change_hardware(HardwareSpec { cpu_milli: 0, ..hardware(1) }), Error::<Test>::HardwareEmpty);
        let mut simulated = hardware(1);
        simulated.devices[0].simulated = true;
        assert_noop!(change_hardware(simulated), Error::<Test>::SimulatedDevicesRefused);
        assert_ok!(change_hardware(hardware(1)));
    });
}

#[test]
fn a_provider_who_cannot_pay_for_more_hardware_keeps_what_it_has() {
    on_chain(|| {
        assert_ok!(register(SMALL_PROVIDER, 11, hardware(1)));
        let more = hardware(2);
        let signature = hardware_signature(SMALL_PROVIDER, 11, 1, &more);
        let change = || Hosts::change_hardware(signed(SMALL_PROVIDER), host(11), more.clone(), signature);
        assert_noop!(change(), Error::<Test>::ProviderCannotPay);
    });
}

#[test]
fn changed_hardware_is_no_way_out_of_a_suspension() {
    on_chain(|| {
        online();
        assert_ok!(Hosts::suspend(RuntimeOrigin::root(), host(HOST)));
        assert_noop!(change_hardware(hardware(2)), Error::<Test>::SuspendedByRoot);
        assert_ok!(Hosts::unsuspend(RuntimeOrigin::root(), host(HOST)));
        for reason in [SuspendReason::FailedChallenge, SuspendReason::HardwareChanged] {
            assert_ok!(Hosts::suspend_for(&host(HOST), reason));
            assert_ok!(change_hardware(hardware(2)));
            assert_eq!(status(), HostStatus::Unverified, "it must prove what it is, whether others must or not");
            assert_ok!(Hosts::mark_verified(&host(HOST)));
        }
        for _ in 0..2 {
            slash_for_fault(Fault::WrongResult, 0);
        }
        assert_eq!(status(), HostStatus::Suspended(SuspendReason::Slashed));
        assert_ok!(change_hardware(hardware(2)));
        assert_eq!(status(), HostStatus::Verified, "its bond is whole again");
        assert!(record().bond >= record().bond_required);
    });
}
