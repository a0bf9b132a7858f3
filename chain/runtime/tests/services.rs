//! SLA terms and service checks on the real runtime.

#[allow(dead_code, reason = "challenges.rs uses the rest")]
#[path = "economics/ballots.rs"]
mod ballots;
mod common;
#[allow(dead_code, reason = "the strategies of economics.rs use the rest")]
#[path = "economics/setup.rs"]
mod setup;

use ballots::*;
use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    Ask, Balance, LeaseId, Matter, ServiceOutcome, SlaTerms, TaskId, TaskKind, TaskSpec, TaskState, Vote,
};
use gantry_runtime::{Billing, Hosts, Leases, Runtime, RuntimeEvent, System, Tasks, Verification, GTY};
use pallet_gantry_verification::{CurrentParams, Error, Event};
use setup::*;

const TENANT: u8 = 1;
const PROVIDER: u8 = 2;
const HOST: u8 = 12;
const VERIFIERS: core::ops::Range<u8> = 50..71;
const VERIFIER: u8 = 50;
const DAY: u64 = 24 * HOUR;

/// Plays on a chain with verifiers and a service that has run for `ms` on one host of a provider.
fn with_a_service(terms: SlaTerms, ms: u64, game: impl FnOnce(TaskId, LeaseId)) {
    play(|| {
        join(PROVIDER, HOST);
        assert_ok!(Hosts::set_ask(signed(PROVIDER), host(HOST), Ask { terms, ..ask() }));
        VERIFIERS.for_each(|who| assert_ok!(Verification::bond_verifier(signed(who))));
        System::set_block_number(System::block_number() + 1);
        let spec = TaskSpec { max_duration_ms: 30 * DAY, ..spec(TaskKind::Service, 1) };
        let (task, leases) = start(TENANT, spec, &[HOST]);
        pass(ms, &[HOST]);
        game(task, leases[0]);
        check();
    });
}

/// The service is checked by `opener`, and all members of both committees give this answer. Returns what becomes of it.
fn checked(opener: u8, lease: LeaseId, answer: Vote) -> ServiceOutcome {
    assert_ok!(Verification::open_service_check(signed(opener), lease));
    draw_committees();
    let matter = Matter::Service(lease);
    for _ in 0..2 {
        vote(matter, |_| Some(answer));
    }
    let closed = System::read_events_no_consensus().filter_map(|record| match record.event {
        RuntimeEvent::Verification(Event::ServiceCheckClosed { outcome, .. }) => Some(outcome),
        _ => None,
    });
    closed.last().expect("the check was closed")
}

fn price(ms: u64) -> Balance {
    RATE * Balance::from(ms) / Balance::from(HOUR)
}

fn bond() -> Balance {
    Hosts::host(&host(HOST)).expect("it is registered").bond
}

#[test]
fn a_host_that_serves_nothing_is_not_paid_for_it_and_loses_some_bond() {
    with_a_service(SlaTerms::default(), DAY / 2, |task, lease| {
        let (before, provider, tenant) = (bond(), total_balance(PROVIDER), total_balance(TENANT));
        assert_eq!(checked(TENANT, lease, Vote::No), ServiceOutcome::NotServed);
        assert_eq!((record(task).state, record(task).leases.len()), (TaskState::Queued, 0));
        assert_eq!(record(task).failures(), 1);
        assert!(bond() < before);
        assert!(total_balance(PROVIDER) < provider, "it was paid nothing: it ran for less than what is held back");
        assert_eq!(total_balance(TENANT), tenant, "the host pays the committees");
    });
}

#[test]
fn a_tenant_that_closes_its_port_pays_for_all_of_the_time() {
    with_a_service(SlaTerms::default(), DAY / 2, |task, lease| {
        let (before, provider, tenant) = (bond(), total_balance(PROVIDER), total_balance(TENANT));
        assert_eq!(checked(TENANT, lease, Vote::PodRefused), ServiceOutcome::PodRefused);
        assert_eq!((record(task).state, record(task).failures()), (TaskState::Queued, 0));
        assert_eq!((bond(), total_balance(PROVIDER)), (before, provider));
        assert!(tenant - total_balance(TENANT) >= price(DAY / 2), "and for the check");
    });
}

#[test]
fn a_served_pod_runs_on_and_its_tenant_has_paid_for_the_check() {
    with_a_service(SlaTerms::default(), HOUR, |task, lease| {
        let tenant = total_balance(TENANT);
        assert_eq!(checked(TENANT, lease, Vote::Yes), ServiceOutcome::Served);
        assert_eq!(record(task).state, TaskState::Running);
        assert_eq!(tenant - total_balance(TENANT), CurrentParams::<Runtime>::get().service_fee);
    });
}

#[test]
fn a_verifier_opens_a_check_once_the_lease_has_paid_for_it() {
    with_a_service(SlaTerms::default(), 2 * DAY, |_, lease| {
        let open = || Verification::open_service_check(signed(VERIFIER), lease);
        assert_noop!(open(), Error::<Runtime>::FeesTooLow);
        assert_ok!(Leases::settle(signed(39), lease));
        let paid = Tasks::lease(lease).expect("it is open").0.escrow.treasury_fee();
        assert!(paid / 2 >= 2 * CurrentParams::<Runtime>::get().service_fee, "{paid}");
        let treasury = treasury_balance();
        assert_eq!(checked(VERIFIER, lease, Vote::No), ServiceOutcome::NotServed);
        assert_eq!(treasury_balance(), treasury + slash(), "the host pays the committees back");
    });
}

fn treasury_balance() -> Balance {
    let treasury = Billing::treasury();
    <gantry_runtime::Balances as frame_support::traits::fungible::Inspect<_>>::total_balance(&treasury)
}

/// What the bond of the host paid to the treasury for its fault.
fn slash() -> Balance {
    let slashed = System::read_events_no_consensus().filter_map(|record| match record.event {
        RuntimeEvent::Hosts(pallet_gantry_hosts::Event::Slashed { amount, .. }) => Some(amount),
        _ => None,
    });
    slashed.last().expect("the host was slashed")
}

#[test]
fn broken_terms_are_credited_with_the_end_of_the_lease() {
    let terms = SlaTerms { uptime_ppm: 999_000, start_ms: 0, notice_ms: HOUR, penalty_ppm: 500_000 };
    with_a_service(terms, 2 * DAY, |_, lease| {
        let tenant = total_balance(TENANT);
        assert_eq!(checked(TENANT, lease, Vote::No), ServiceOutcome::NotServed);
        let credited = System::read_events_no_consensus().filter_map(|record| match record.event {
            RuntimeEvent::Tasks(pallet_gantry_tasks::Event::SlaCredited { unpaid, from_bond, .. }) => {
                Some((unpaid, from_bond))
            }
            _ => None,
        });
        let (unpaid, from_bond) = credited.last().expect("the terms were broken");
        assert_eq!(from_bond, 0, "nothing was paid before");
        // A day and the time of the check are held back; half of the rest is credited.
        let cost = tenant - total_balance(TENANT);
        assert!(unpaid.abs_diff(cost) <= 1 && cost > price(DAY) / 3, "{unpaid} {cost}");
        assert!(cost <= price(DAY + HOUR) / 2);
    });
}

#[test]
fn production_pays_no_host_for_time_in_which_it_served_nothing() {
    play(|| {
        let params = CurrentParams::<Runtime>::get();
        let committees = 2 * (params.challenge_commit_ms + params.challenge_reveal_ms);
        assert!(params.service_window_ms + committees <= Billing::params().held_back_ms);
        assert!(params.minority_penalty >= params.service_fee && params.service_fee >= GTY / 100);
    });
}
