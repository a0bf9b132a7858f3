use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{Ask, Fault, GpuPrice, HostStatus, SlaTerms, Tier, MAX_UNIT_PPM};

use crate::{mock::*, Error, Event, HostsByProvider};

#[test]
fn a_registered_host_is_bonded_by_its_devices() {
    on_chain(|| {
        assert_ok!(register(PROVIDER, HOST, hardware(2)));
        assert_eq!(held(PROVIDER), 2 * BOND_PER_DEVICE);
        assert_eq!((record().bond, record().bond_required), (2 * BOND_PER_DEVICE, 2 * BOND_PER_DEVICE));
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
        advance(UNBONDING);
        assert_ok!(Hosts::withdraw_bond(signed(PROVIDER), host(HOST)));
        assert_noop!(register(PROVIDER, HOST, hardware(2)), Error::<Test>::AlreadyRegistered);
        assert_noop!(register(SMALL_PROVIDER, HOST, hardware(1)), Error::<Test>::AlreadyRegistered);
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
fn a_signature_for_one_network_is_refused_on_another() {
    let hardware = hardware(1);
    let elsewhere = std::cell::Cell::new([0; 64]);
    on_chain(|| elsewhere.set(signature(PROVIDER, HOST, &hardware)));
    on_chain(|| {
        frame_system::BlockHash::<Test>::insert(0, sp_core::H256::repeat_byte(1));
        let refused = register_with(PROVIDER, HOST, hardware.clone(), elsewhere.get());
        assert_noop!(refused, Error::<Test>::BadHostSignature);
        assert_ok!(register(PROVIDER, HOST, hardware.clone()));
    });
}

#[test]
fn each_field_of_the_hardware_is_signed_for() {
    on_chain(|| {
        let good = signature(PROVIDER, HOST, &hardware(1));
        let mut others = [const { None }; 9].map(|_: Option<()>| hardware(1));
        others[0].tier = Tier::Consumer;
        others[1].capabilities.kvm = true;
        others[2].cpu_milli += 1;
        others[3].memory_mib += 1;
        others[4].disk_gib += 1;
        others[5].network_mbps_down += 1;
        others[6].network_mbps_up += 1;
        others[7].devices[0].vram_mib += 1;
        others[8].answers_challenges = false;
        for other in others {
            assert_noop!(register_with(PROVIDER, HOST, other, good), Error::<Test>::BadHostSignature);
        }
        assert_ok!(register_with(PROVIDER, HOST, hardware(1), good));
    });
}

#[test]
fn the_bond_goes_by_the_tier() {
    on_chain(|| {
        for (number, tier, bond) in [(10, Tier::Consumer, 2), (11, Tier::Professional, 5), (12, Tier::Datacenter, 20)] {
            assert_ok!(register(PROVIDER, number, gantry_primitives::HardwareSpec { tier, ..hardware(3) }));
            let record = Hosts::host(&host(number)).expect("it is registered");
            assert_eq!((record.tier, record.bond), (tier, 3 * bond * GTY));
        }
    });
}

#[test]
fn a_provider_whose_hosts_were_at_fault_posts_more() {
    on_chain(|| {
        online();
        assert_eq!(Hosts::bond_needed(account(PROVIDER), hardware(2)), Some(2 * BOND_PER_DEVICE));
        slash_for_fault(Fault::FailedChallenge, 0);
        assert_eq!(Hosts::bond_needed(account(PROVIDER), hardware(2)), Some(2 * BOND_PER_DEVICE * 5 / 4));
        assert_ok!(register(PROVIDER, 11, hardware(2)));
        let record = Hosts::host(&host(11)).expect("it is registered");
        assert_eq!(record.bond_required, 2 * BOND_PER_DEVICE * 5 / 4);
        assert_ok!(register(SMALL_PROVIDER, 12, hardware(1)));
        assert_eq!(held(SMALL_PROVIDER), BOND_PER_DEVICE, "another provider does not");
    });
}

#[test]
fn what_was_registered_is_what_is_kept() {
    on_chain(|| {
        assert_ok!(register(PROVIDER, HOST, hardware(1)));
        let record = record();
        assert!(record.capabilities.docker && !record.capabilities.kvm);
        assert_eq!((record.network_mbps_down, record.network_mbps_up), (1_000, 1_000));
        assert_eq!((record.registered_at, record.last_heartbeat, record.downtime_ms), (START, 0, 0));
        assert!(record.devices.iter().all(|device| device.healthy && !device.attested));
        assert_eq!((record.generation, record.status), (0, HostStatus::Verified));
    });
}

#[test]
fn a_price_list_that_contradicts_itself_is_refused() {
    on_chain(|| {
        online();
        let price = |model: &str, per_hour| GpuPrice { model: bytes(model), per_hour };
        let set = |ask: Ask| Hosts::set_ask(signed(PROVIDER), host(HOST), ask);
        let mut twice = ask(1);
        twice.gpu = vec![price("L4", 1), price("T4", 2), price("L4", 3)].try_into().expect("they fit");
        assert_noop!(set(twice.clone()), Error::<Test>::AskModelRepeated);
        twice.gpu.truncate(2);
        assert_ok!(set(twice));
        let changes: [fn(&mut Ask, u32); 3] =
            [|ask, ppm| ask.second_ppm = ppm, |ask, ppm| ask.hour_ppm = ppm, |ask, ppm| ask.day_ppm = ppm];
        for change in changes {
            let mut dear = ask(1);
            change(&mut dear, MAX_UNIT_PPM + 1);
            assert_noop!(set(dear.clone()), Error::<Test>::AskFactorTooGreat);
            change(&mut dear, MAX_UNIT_PPM);
            assert_ok!(set(dear));
        }
    });
}

#[test]
fn terms_above_the_bounds_are_refused() {
    on_chain(|| {
        online();
        let set = |change: fn(&mut SlaTerms)| {
            let mut new = ask(1);
            change(&mut new.terms);
            Hosts::set_ask(signed(PROVIDER), host(HOST), new)
        };
        assert_noop!(set(|terms| terms.uptime_ppm = 1_000_001), Error::<Test>::TermsInvalid);
        assert_noop!(set(|terms| terms.penalty_ppm = 500_001), Error::<Test>::TermsInvalid);
        assert_noop!(set(|terms| terms.notice_ms = 1_000_000_001), Error::<Test>::TermsInvalid);
        let most = SlaTerms { uptime_ppm: 1_000_000, start_ms: 1, notice_ms: 1_000_000_000, penalty_ppm: 500_000 };
        let new = Ask { terms: most, ..ask(1) };
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(HOST), new.clone()));
        assert_eq!(record().ask, new);
    });
}
