use frame_support::{assert_noop, assert_ok};
use gantry_primitives::HostStatus;

use super::is_free;
use crate::{mock::*, Call, Error, Event};

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
        assert_noop!(reserve(HOST, &pod(1, 0, 0), &[], &Default::default()), Error::<Test>::HostNotOnline);
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
fn time_away_is_counted_when_the_host_is_back() {
    on_chain(|| {
        online();
        advance(ABSENCE_LIMIT);
        assert_eq!(Hosts::downtime_ms(&record()), 0, "it may be silent for so long");
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(record().downtime_ms, 0);
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
        advance(1_000);
        assert_eq!(record().downtime_ms, 0);
        assert_eq!(Hosts::downtime_ms(&record()), ABSENCE_LIMIT + 1_001);
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!((record().downtime_ms, record().last_heartbeat), (ABSENCE_LIMIT + 1_001, Hosts::now()));
        assert_eq!(Hosts::downtime_ms(&record()), ABSENCE_LIMIT + 1_001);
    });
}

#[test]
fn an_absence_that_nobody_reported_is_counted_all_the_same() {
    on_chain(|| {
        online();
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(record().downtime_ms, ABSENCE_LIMIT + 1);
        assert_eq!(record().bond, 2 * BOND_PER_DEVICE, "it costs nothing of the bond");
    });
}

#[test]
fn the_time_before_the_first_heartbeat_is_no_absence() {
    on_chain(|| {
        assert_ok!(register(PROVIDER, HOST, hardware(1)));
        advance(10 * ABSENCE_LIMIT);
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(record().downtime_ms, 0);
    });
}

#[test]
fn a_host_is_lost_once_it_is_offline_or_silent_where_nobody_can_report_it() {
    on_chain(|| {
        online();
        advance(ABSENCE_LIMIT + 1);
        assert!(Hosts::is_silent(&record()) && !Hosts::is_lost(&record()), "it must be reported first");
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
        assert!(Hosts::is_lost(&record()));
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert!(!Hosts::is_lost(&record()));
        assert_ok!(Hosts::suspend(RuntimeOrigin::root(), host(HOST)));
        assert!(!Hosts::is_lost(&record()));
        advance(ABSENCE_LIMIT + 1);
        assert!(Hosts::is_lost(&record()));
        assert_eq!(Hosts::provider_of(&host(HOST)), Ok(account(PROVIDER)));
        assert_eq!(Hosts::provider_of(&host(11)), Err(Error::<Test>::NoSuchHost.into()));
    });
}
