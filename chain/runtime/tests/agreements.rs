//! Agreements about leases, and tickets on leases, on the real runtime.

mod common;
#[allow(dead_code, reason = "the strategies of economics.rs use the rest")]
#[path = "economics/setup.rs"]
mod setup;

use frame_support::{assert_noop, assert_ok, dispatch::DispatchResult};
use gantry_primitives::{
    Balance, BillingUnit, HostFailure, HostScore, LeaseId, LeaseState, Moment, TaskKind, TaskSpec, TaskState,
};
use gantry_runtime::{Agreements, Hosts, Leases, Runtime, RuntimeEvent, System, Tasks, GTY};
use pallet_gantry_agreements::{
    Error, Event, NextOfferId, NextTicketId, OfferId, OfferOutcome, OfferState, OfferTerms, Offers, Place, Side,
};
use pallet_gantry_hosts::Error as HostsError;
use setup::*;

const TENANT: u8 = 1;
const PROVIDER: u8 = 2;
const OTHER: u8 = 3;
const HOST: u8 = 12;
const OTHER_HOST: u8 = 13;
/// Half of the ask of the host.
const AGREED_RATE: Balance = GTY;
/// The time from an offer to the latest begin is two hours, and the lease lasts for one.
const BOND: Balance = 3 * GTY;

/// Plays on a chain with one host of the provider.
fn with_a_host(game: impl FnOnce()) {
    play(|| {
        join(PROVIDER, HOST);
        game();
        check();
        assert_eq!(Agreements::do_try_state(), Ok(()));
    });
}

fn terms() -> OfferTerms {
    OfferTerms {
        hosts: vec![host(HOST)].try_into().expect("one fits"),
        resources: job().resources,
        allow_simulated: false,
        rate_per_hour: AGREED_RATE,
        unit: BillingUnit::Second,
        duration_ms: HOUR,
        start_from: now(),
        start_until: now() + 2 * HOUR,
    }
}

fn place() -> Option<Place> {
    Some(Place { host: host(HOST), devices: vec![0].try_into().expect("one fits") })
}

fn propose(terms: OfferTerms) -> OfferId {
    let offer = NextOfferId::<Runtime>::get();
    assert_ok!(Agreements::propose(signed(TENANT), account(PROVIDER), Box::new(terms), now() + HOUR));
    offer
}

fn accepted() -> OfferId {
    let offer = propose(terms());
    assert_ok!(Agreements::accept(signed(PROVIDER), offer, place()));
    offer
}

fn begin(offer: OfferId, spec: TaskSpec) -> DispatchResult {
    let manifest = b"services: {}".to_vec().try_into().expect("it fits");
    Agreements::begin(signed(TENANT), offer, Box::new(spec), manifest)
}

/// An agreement whose pod runs; and its lease.
fn running(kind: TaskKind) -> (OfferId, LeaseId) {
    let offer = accepted();
    assert_ok!(begin(offer, spec(kind, 1)));
    let lease = lease_of(offer);
    assert_ok!(Tasks::report_started(by_host(HOST), lease));
    (offer, lease)
}

fn lease_of(offer: OfferId) -> LeaseId {
    match Offers::<Runtime>::get(offer).expect("it is kept").state {
        OfferState::Begun { lease, .. } => lease,
        state => panic!("{state:?}"),
    }
}

fn task_of(lease: LeaseId) -> u64 {
    gantry_primitives::lease_parts(lease).0
}

fn milli_free() -> u16 {
    Hosts::host(&host(HOST)).expect("it is registered").devices[0].milli_free
}

/// Concludes an agreement. Returns how it ended, and what of a bond went to the other side.
fn concluded(offer: OfferId) -> (OfferOutcome, Balance) {
    assert_ok!(Agreements::conclude(signed(39), offer));
    let find = |record: frame_system::EventRecord<RuntimeEvent, _>| match record.event {
        RuntimeEvent::Agreements(Event::OfferClosed { outcome, compensation, .. }) => Some((outcome, compensation)),
        _ => None,
    };
    System::events().into_iter().rev().find_map(find).expect("an offer was closed")
}

#[test]
fn an_accepted_offer_reserves_its_devices_for_the_tenant_until_the_lease_begins_at_the_agreed_rate() {
    with_a_host(|| {
        let offer = accepted();
        assert_eq!((milli_free(), total_balance(TENANT)), (0, total_balance(OTHER)), "coins are held, not paid");
        let others = submit(OTHER, job());
        let on_it = gantry_primitives::PodPlacement {
            pod: 0,
            host: host(HOST),
            devices: vec![0].try_into().expect("one fits"),
            rate_per_hour: u128::MAX,
        };
        let pods = vec![on_it].try_into().expect("one fits");
        let refused = Tasks::assign(signed(OTHER), others, pods).map_err(|refused| refused.error);
        assert_eq!(refused, Err(HostsError::<Runtime>::DeviceBusy.into()));
        check();
        assert_ok!(begin(offer, spec(TaskKind::Rental, 1)));
        let lease = Tasks::lease(lease_of(offer)).expect("it is open").0;
        assert_eq!((lease.state, lease.escrow.rate_per_hour), (LeaseState::Pending, AGREED_RATE));
        assert_eq!((lease.host, lease.devices.to_vec(), milli_free()), (host(HOST), vec![0], 0));
        assert_eq!(Hosts::host(&host(HOST)).map(|record| record.live_leases), Ok(1));
    });
}

#[test]
fn a_place_is_reserved_only_where_it_is_free_and_released_when_nobody_begins() {
    with_a_host(|| {
        let first = accepted();
        let second = propose(terms());
        let accept = |offer| Agreements::accept(signed(PROVIDER), offer, place());
        assert_noop!(accept(second), HostsError::<Runtime>::DeviceBusy);
        pass(2 * HOUR + 4 * SECOND, &[HOST]);
        use frame_support::traits::Hooks;
        Agreements::on_initialize(System::block_number());
        assert!(!Offers::<Runtime>::contains_key(first) && !Offers::<Runtime>::contains_key(second));
        assert_eq!(milli_free(), 1_000);
    });
}

#[test]
fn a_provider_neither_retires_nor_changes_a_host_with_a_reserved_place() {
    with_a_host(|| {
        accepted();
        assert_noop!(Hosts::retire(signed(PROVIDER), host(HOST)), HostsError::<Runtime>::HasLiveLeases);
    });
}

#[test]
fn a_host_is_unavailable_while_it_is_silent_or_a_reserved_device_is_unhealthy() {
    with_a_host(|| {
        let offer = accepted();
        let report = || Agreements::report_unavailable(signed(TENANT), offer);
        assert_noop!(report(), Error::<Runtime>::HostAvailable);
        let unhealthy = |device: u8| vec![device].try_into().expect("one fits");
        assert_ok!(Hosts::set_device_health(by_host(HOST), unhealthy(1)));
        assert_noop!(report(), Error::<Runtime>::HostAvailable);
        assert_ok!(Hosts::set_device_health(by_host(HOST), unhealthy(0)));
        assert_ok!(report());
        let other = accepted_elsewhere();
        pass(absence_limit_ms() + 1, &[]);
        assert_ok!(Agreements::report_unavailable(signed(TENANT), other));
    });
}

/// An agreement about another host of the provider.
fn accepted_elsewhere() -> OfferId {
    join(PROVIDER, OTHER_HOST);
    let offer = propose(OfferTerms { hosts: vec![host(OTHER_HOST)].try_into().expect("one fits"), ..terms() });
    let place = Place { host: host(OTHER_HOST), devices: vec![0].try_into().expect("one fits") };
    assert_ok!(Agreements::accept(signed(PROVIDER), offer, Some(place)));
    offer
}

#[test]
fn a_tenant_that_ends_the_lease_early_loses_the_rest_of_its_bond() {
    for kind in [TaskKind::Rental, TaskKind::Service] {
        with_a_host(|| {
            let (offer, lease) = running(kind);
            pass(HOUR / 4, &[HOST]);
            assert_noop!(Agreements::conclude(signed(39), offer), Error::<Runtime>::LeaseLives);
            assert_ok!(Tasks::end(signed(TENANT), task_of(lease)));
            pass(MINUTE, &[HOST]);
            assert_eq!(concluded(offer), (OfferOutcome::BrokenBy(Side::Tenant), BOND / 4 * 3), "{kind:?}");
        });
    }
}

#[test]
fn a_tenant_that_stops_its_machine_gives_the_agreement_up() {
    with_a_host(|| {
        let (offer, lease) = running(TaskKind::Rental);
        pass(HOUR / 2, &[HOST]);
        assert_ok!(Leases::suspend(signed(TENANT), lease));
        pass(MINUTE, &[HOST]);
        assert_eq!(concluded(offer), (OfferOutcome::BrokenBy(Side::Tenant), BOND / 2));
    });
}

#[test]
fn a_provider_that_gives_notice_breaks_the_agreement_whoever_ends_the_lease() {
    for (kind, is_ended_by_tenant) in [(TaskKind::Rental, true), (TaskKind::Rental, false), (TaskKind::Service, false)]
    {
        with_a_host(|| {
            let shorter = pallet_gantry_leases::Params {
                reclaim_notice_ms: HOUR / 4,
                ..pallet_gantry_leases::CurrentParams::<Runtime>::get()
            };
            pallet_gantry_leases::CurrentParams::<Runtime>::put(shorter);
            let (offer, lease) = running(kind);
            assert_ok!(Leases::reclaim(signed(PROVIDER), lease));
            if is_ended_by_tenant {
                pass(HOUR / 4, &[HOST]);
                assert_ok!(Tasks::end(signed(TENANT), task_of(lease)));
            }
            assert_eq!(concluded(offer), (OfferOutcome::BrokenBy(Side::Provider), BOND / 4 * 3), "{kind:?}");
        });
    }
}

#[test]
fn a_provider_whose_host_is_lost_loses_the_rest_of_its_bond() {
    for kind in [TaskKind::Rental, TaskKind::Service] {
        with_a_host(|| {
            let (offer, lease) = running(kind);
            pass(absence_limit_ms() + 1, &[]);
            assert_ok!(Hosts::report_absent(signed(39), host(HOST)));
            assert_ok!(Tasks::requeue(signed(39), lease));
            let rest = BOND * Balance::from(HOUR - absence_limit_ms() - 1) / Balance::from(HOUR);
            let (outcome, compensation) = concluded(offer);
            assert_eq!(outcome, OfferOutcome::BrokenBy(Side::Provider), "{kind:?}");
            assert!(compensation.abs_diff(rest) < BOND / 1_000, "{compensation} {rest}");
        });
    }
}

#[test]
fn a_pod_that_never_started_costs_nobody_a_bond() {
    with_a_host(|| {
        let offer = accepted();
        assert_ok!(begin(offer, spec(TaskKind::Rental, 1)));
        let lease = lease_of(offer);
        refuse(HOST, lease, HostFailure::ImageUnavailable);
        assert_eq!(record(task_of(lease)).state, TaskState::Queued);
        assert_eq!(concluded(offer), (OfferOutcome::Kept, 0));
    });
}

#[test]
fn both_sides_are_free_when_the_agreed_time_is_over() {
    with_a_host(|| {
        let (offer, _) = running(TaskKind::Service);
        pass(HOUR, &[HOST]);
        assert_eq!(concluded(offer), (OfferOutcome::Kept, 0));
    });
}

/// The score of the host.
fn score() -> HostScore {
    pallet_gantry_reputation::HostScores::<Runtime>::get(host(HOST)).unwrap_or_default()
}

fn open_ticket(lease: LeaseId) -> u64 {
    let ticket = NextTicketId::<Runtime>::get();
    assert_ok!(Agreements::open_ticket(signed(TENANT), lease, [1; 32]));
    ticket
}

#[test]
fn a_response_to_a_ticket_is_evidence_that_weighs_by_the_fee_that_the_lease_has_paid() {
    with_a_host(|| {
        let long = TaskSpec { max_duration_ms: 100 * HOUR, ..spec(TaskKind::Service, 1) };
        let (_, leases) = start(TENANT, long, &[HOST]);
        pass(90 * HOUR, &[HOST]);
        let before: Moment = score().updated_at;
        let unpaid = open_ticket(leases[0]);
        assert_ok!(Agreements::answer_ticket(signed(PROVIDER), unpaid, [2; 32]));
        assert_eq!((score().updated_at, score().rating.positive), (before, 0), "no fee, no weight");
        pallet_gantry_agreements::Tickets::<Runtime>::mutate(unpaid, |ticket| {
            let ticket = ticket.as_mut().expect("it is kept");
            (ticket.counts, ticket.in_time) = (false, None);
        });
        assert_ok!(Leases::settle(signed(39), leases[0]));
        let paid = open_ticket(leases[0]);
        assert_ok!(Agreements::answer_ticket(signed(PROVIDER), paid, [2; 32]));
        assert!(score().rating.positive > 0 && score().rating.negative == 0);
    });
}

#[test]
fn a_ticket_is_opened_by_the_tenant_of_a_live_lease() {
    with_a_host(|| {
        let (task, leases) = start(TENANT, spec(TaskKind::Service, 1), &[HOST]);
        let open = |who| Agreements::open_ticket(signed(who), leases[0], [1; 32]);
        assert_noop!(open(OTHER), Error::<Runtime>::NotParty);
        assert_ok!(open(TENANT));
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_noop!(open(TENANT), Error::<Runtime>::NoSuchLease);
    });
}
