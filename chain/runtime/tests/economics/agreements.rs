//! Strategies of tenants and providers with agreements. As in strategies.rs, a strategy plays one round and returns the cost
//! of the work that it did.

use frame_support::{assert_ok, traits::Hooks};
use gantry_primitives::{BillingUnit, HostFailure, LeaseId, TaskKind};
use gantry_runtime::{Agreements, Hosts, Runtime, System, Tasks};
use pallet_gantry_agreements::{NextOfferId, OfferId, OfferState, OfferTerms, Offers, Place};

use super::{setup::*, strategies::*};

/// Every host but that of the cheat.
const OTHERS: [u8; 6] = [12, 14, 15, 16, 17, 18];

/// An agreement of a tenant about an hour on a host, which begins within two hours.
fn agree(tenant: u8, provider: u8, number: u8) -> OfferId {
    let offer = NextOfferId::<Runtime>::get();
    let terms = OfferTerms {
        hosts: vec![host(number)].try_into().expect("one fits"),
        resources: job().resources,
        allow_simulated: false,
        rate_per_hour: RATE,
        unit: BillingUnit::Second,
        duration_ms: HOUR,
        start_from: now(),
        start_until: now() + 2 * HOUR,
    };
    assert_ok!(Agreements::propose(signed(tenant), account(provider), Box::new(terms), now() + HOUR));
    let place = Place { host: host(number), devices: vec![0].try_into().expect("one fits") };
    assert_ok!(Agreements::accept(signed(provider), offer, Some(place)));
    offer
}

/// Begins the lease of an agreement of the honest tenant.
fn begin(offer: OfferId) -> LeaseId {
    let manifest = b"services: {}".to_vec().try_into().expect("it fits");
    assert_ok!(Agreements::begin(signed(TENANT), offer, Box::new(spec(TaskKind::Service, 1)), manifest));
    match Offers::<Runtime>::get(offer).expect("it is kept").state {
        OfferState::Begun { lease, .. } => lease,
        state => panic!("{state:?}"),
    }
}

/// The time for the begin passes, and the agenda closes the agreement.
fn miss_the_begin(offer: OfferId) {
    wait(2 * HOUR + MINUTE, &HOSTS);
    Agreements::on_initialize(System::block_number());
    assert!(!Offers::<Runtime>::contains_key(offer));
}

fn task_of(lease: LeaseId) -> u64 {
    gantry_primitives::lease_parts(lease).0
}

/// Runs the pod of an agreement for the agreed time.
pub fn keep_an_agreement() -> i128 {
    let offer = agree(TENANT, CHEATS[0], CHEAT);
    let lease = begin(offer);
    assert_ok!(Tasks::report_started(by_host(CHEAT), lease));
    pass(HOUR + 1, &HOSTS);
    assert_ok!(Tasks::expire_lease(signed(39), lease));
    assert_ok!(Agreements::conclude(signed(39), offer));
    paid(task_of(lease));
    cost(HOUR)
}

/// Has a place of a competitor reserved, and begins nothing.
pub fn lock_a_place() -> i128 {
    let offer = agree(CHEATS[0], 2, HONEST);
    miss_the_begin(offer);
    0
}

/// Is away when the tenant wants to begin, and returns before the time for the begin is over.
pub fn hide_from_the_begin() -> i128 {
    let offer = agree(TENANT, CHEATS[0], CHEAT);
    pass(absence_limit_ms() + 1, &OTHERS);
    assert_ok!(Agreements::report_unavailable(signed(TENANT), offer));
    assert_ok!(Hosts::heartbeat(by_host(CHEAT)));
    miss_the_begin(offer);
    0
}

/// Refuses the pod of an agreement with a reason that blames the tenant.
pub fn refuse_an_agreed_pod() -> i128 {
    let offer = agree(TENANT, CHEATS[0], CHEAT);
    let lease = begin(offer);
    refuse(CHEAT, lease, HostFailure::ResourcesUnavailable);
    assert_ok!(Agreements::conclude(signed(39), offer));
    assert_ok!(Tasks::cancel(signed(TENANT), task_of(lease)));
    0
}

/// Runs the pod of an agreement for half of the time, and leaves.
pub fn leave_an_agreement() -> i128 {
    let offer = agree(TENANT, CHEATS[0], CHEAT);
    let lease = begin(offer);
    assert_ok!(Tasks::report_started(by_host(CHEAT), lease));
    pass(HOUR / 2, &HOSTS);
    pass(absence_limit_ms() + 1, &OTHERS);
    assert_ok!(Hosts::report_absent(signed(39), host(CHEAT)));
    assert_ok!(Tasks::requeue(signed(39), lease));
    assert_ok!(Agreements::conclude(signed(39), offer));
    assert_ok!(Tasks::cancel(signed(TENANT), task_of(lease)));
    assert_ok!(Hosts::heartbeat(by_host(CHEAT)));
    cost(HOUR / 2)
}
