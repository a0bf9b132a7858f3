use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{Capabilities, Layout, Placement, Tier};

use crate::{mock::*, Error, Event};

#[test]
fn what_a_lease_takes_is_given_back() {
    on_chain(|| {
        online();
        let anywhere = Placement::default();
        let half = pod(1_000, 2, 500);
        let (first, second) = (pod(3_000, 1, 500), pod(1, 1, 501));
        assert_ok!(reserve(HOST, &half, &[0, 1], &anywhere));
        assert_ok!(reserve(HOST, &first, &[1], &anywhere));
        assert_eq!((record().free.cpu_milli, record().live_leases), (0, 2));
        assert_eq!((record().devices[0].milli_free, record().devices[1].milli_free), (500, 0));
        assert_noop!(reserve(HOST, &second, &[0], &anywhere), Error::<Test>::NotEnoughCpu);
        assert_ok!(release(HOST, &half, &[0, 1]));
        assert_ok!(release(HOST, &first, &[1]));
        assert_eq!(record().free, record().total);
    });
}

#[test]
fn no_more_is_given_back_than_was_taken() {
    on_chain(|| {
        online();
        assert_ok!(reserve(HOST, &pod(1, 0, 0), &[], &Placement::default()));
        assert_noop!(release(HOST, &pod(2, 0, 0), &[]), Error::<Test>::MoreFreeThanTotal);
        assert_noop!(release(HOST, &pod(1, 1, 1), &[0]), Error::<Test>::MoreFreeThanTotal);
        assert_ok!(release(HOST, &pod(1, 0, 0), &[]));
    });
}

#[test]
fn shares_of_a_device_are_held_by_one_tenant() {
    on_chain(|| {
        online();
        let of = |tenant: u8, milli: u16| {
            let mut record = record();
            Hosts::allocate_in(
                &mut record,
                &host(HOST),
                &pod(1, 1, milli),
                &[0],
                &Placement::default(),
                &account(tenant),
            )
            .map(|()| Hosts::store(&host(HOST), &record))
        };
        assert_ok!(of(ANYONE, 500));
        assert_eq!(record().devices[0].shared_by, Some(account(ANYONE)));
        assert!(matches!(of(PROVIDER, 500), Err(Error::<Test>::DeviceShared)));
        assert!(matches!(of(PROVIDER, 501), Err(Error::<Test>::DeviceBusy)));
        assert_ok!(of(ANYONE, 500));
        assert_ok!(release(HOST, &pod(1, 1, 500), &[0]));
        assert!(matches!(of(PROVIDER, 500), Err(Error::<Test>::DeviceShared)));
        assert_ok!(release(HOST, &pod(1, 1, 500), &[0]));
        assert_eq!(record().devices[0].shared_by, None);
        assert_ok!(of(PROVIDER, 1_000));
        assert_eq!(record().devices[0].shared_by, None);
        assert_ok!(release(HOST, &pod(1, 1, 1_000), &[0]));
        assert_ok!(of(PROVIDER, 1));
        assert_eq!(record().devices[0].shared_by, Some(account(PROVIDER)));
        assert_ok!(release(HOST, &pod(1, 1, 1), &[0]));
    });
}

#[test]
fn what_is_refused_leaves_the_record_as_it_was() {
    on_chain(|| {
        online();
        let before = record();
        let mut record = before.clone();
        let placement = Placement { regions: vec![bytes("us")].try_into().expect("it fits"), ..Default::default() };
        let refused = Hosts::allocate_in(&mut record, &host(HOST), &pod(1, 1, 500), &[0], &placement, &account(ANYONE));
        assert!(matches!(refused, Err(Error::<Test>::RegionNotWanted)));
        let refused = Hosts::allocate_in(
            &mut record,
            &host(HOST),
            &pod(1, 2, 500),
            &[0, 0],
            &Placement::default(),
            &account(ANYONE),
        );
        assert!(matches!(refused, Err(Error::<Test>::DeviceRepeated)));
        record.live_leases = u32::MAX;
        let refused = Hosts::allocate_in(
            &mut record,
            &host(HOST),
            &pod(1, 1, 500),
            &[0],
            &Placement::default(),
            &account(ANYONE),
        );
        assert!(matches!(refused, Err(Error::<Test>::Overflow)));
        record.live_leases = 0;
        assert!(Hosts::release_in(&mut record, &pod(0, 0, 0), &[], Hosts::now()).is_err());
        assert_eq!(record, before);
    });
}

#[test]
fn a_task_has_the_host_it_wants_or_is_told_why_not() {
    on_chain(|| {
        online();
        let refused = |change: fn(&mut Placement)| {
            let mut placement = Placement::default();
            change(&mut placement);
            reserve(HOST, &pod(1, 1, 1), &[0], &placement).expect_err("it is refused")
        };
        let error = |error: Error<Test>| error.into();
        assert_eq!(refused(|p| p.hosts.force_push(host(11))), error(Error::HostNotWanted));
        assert_eq!(refused(|p| p.regions.force_push(bytes("us"))), error(Error::RegionNotWanted));
        assert_eq!(refused(|p| p.providers_allowed.force_push(account(ANYONE))), error(Error::ProviderNotWanted));
        assert_eq!(refused(|p| p.providers_denied.force_push(account(PROVIDER))), error(Error::ProviderNotWanted));
        assert_eq!(refused(|p| p.tiers.force_push(Tier::Datacenter)), error(Error::TierNotWanted));
        assert_eq!(refused(|p| p.min_network_mbps = 1_001), error(Error::NotEnoughNetwork));
        assert_eq!(refused(|p| p.max_latency_ms = 50), error(Error::LatencyTooHigh));
        assert_eq!(refused(|p| p.capabilities.kubernetes = true), error(Error::CapabilityMissing));
        assert_eq!(refused(|p| p.capabilities.sandboxed = true), error(Error::NotSandboxed));
        assert_eq!(refused(|p| p.min_terms.uptime_ppm = 1), error(Error::TermsTooWeak));
        assert_eq!(refused(|p| p.verified_only = true), error(Error::NotAttested));
        assert_ok!(Hosts::set_attested(&host(HOST), 0, true));
        assert_ok!(Hosts::set_network(by_host(HOST), 1_000, 1_000, 20));
        let wanted = Placement {
            hosts: vec![host(HOST)].try_into().expect("it fits"),
            regions: vec![bytes("eu")].try_into().expect("it fits"),
            providers_allowed: vec![account(PROVIDER)].try_into().expect("it fits"),
            providers_denied: vec![account(ANYONE)].try_into().expect("it fits"),
            tiers: vec![Tier::Professional].try_into().expect("it fits"),
            verified_only: true,
            allow_simulated: false,
            min_network_mbps: 1_000,
            max_latency_ms: 20,
            capabilities: Capabilities { docker: true, ..Default::default() },
            layout: Layout::Providers,
            min_terms: Default::default(),
        };
        assert_ok!(reserve(HOST, &pod(1, 1, 1), &[0], &wanted));
        assert_noop!(reserve(HOST, &pod(1, 1, 1), &[1], &wanted), Error::<Test>::NotAttested);
        assert_ok!(release(HOST, &pod(1, 1, 1), &[0]));
    });
}

#[test]
fn a_challenged_device_takes_no_new_lease_and_the_others_do() {
    on_chain(|| {
        online();
        let anywhere = Placement::default();
        assert_ok!(reserve(HOST, &pod(1, 1, 500), &[0], &anywhere));
        assert_ok!(Hosts::set_challenged(&host(HOST), Some(0)));
        System::assert_last_event(Event::DeviceChallenged { host: host(HOST), device: Some(0) }.into());
        assert_noop!(reserve(HOST, &pod(1, 1, 500), &[0], &anywhere), Error::<Test>::DeviceChallenged);
        assert_noop!(reserve(HOST, &pod(1, 2, 500), &[1, 0], &anywhere), Error::<Test>::DeviceChallenged);
        assert_ok!(reserve(HOST, &pod(1, 1, 1_000), &[1], &anywhere));
        assert_ok!(release(HOST, &pod(1, 1, 500), &[0]));
        assert_ok!(Hosts::set_challenged(&host(HOST), None));
        assert_ok!(reserve(HOST, &pod(1, 1, 1_000), &[0], &anywhere));
        assert_noop!(Hosts::set_challenged(&account(ANYONE), None), Error::<Test>::NoSuchHost);
    });
}

#[test]
fn a_host_says_since_when_it_has_offered_what_it_offers() {
    on_chain(|| {
        online();
        // Time passes before each change.
        let stamped_by = |changed: frame_support::dispatch::DispatchResult| {
            assert_ok!(changed);
            let is_now = record().offered_since == Hosts::now();
            advance(1_000);
            is_now
        };
        advance(1_000);
        let half = pod(1_000, 1, 500);
        assert!(!stamped_by(reserve(HOST, &half, &[0], &Placement::default())));
        assert!(stamped_by(release(HOST, &half, &[0])));
        assert!(stamped_by(Hosts::set_ask(signed(PROVIDER), host(HOST), ask(1))));
        assert!(stamped_by(Hosts::set_network(by_host(HOST), 1, 1, 20)));
        assert!(stamped_by(Hosts::set_device_health(by_host(HOST), Default::default())));
        assert!(stamped_by(Hosts::drain(signed(PROVIDER), host(HOST))));
        assert!(stamped_by(Hosts::undrain(signed(PROVIDER), host(HOST))));
        assert!(stamped_by(Hosts::set_attested(&host(HOST), 0, true)));
        assert!(stamped_by(Hosts::set_challenged(&host(HOST), Some(0))));
        assert!(!stamped_by(Hosts::set_endpoint(by_host(HOST), bytes("there"))));
        assert!(!stamped_by(Hosts::heartbeat(by_host(HOST)).map(|_| ()).map_err(|refused| refused.error)));
        advance(2 * HEARTBEAT_PERIOD);
        assert!(stamped_by(Hosts::heartbeat(by_host(HOST)).map(|_| ()).map_err(|refused| refused.error)));
    });
}
