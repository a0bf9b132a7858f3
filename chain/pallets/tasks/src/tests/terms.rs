//! SLA terms of leases, and what is credited for broken ones.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{Ask, LeaseId, LeaseState, SlaTerms, TaskId, TaskState};

use crate::{mock::*, Error, Event};

const TERMS: SlaTerms = SlaTerms { uptime_ppm: 990_000, start_ms: 10_000, notice_ms: 2 * NOTICE, penalty_ppm: 500_000 };

fn promise(number: u8, terms: SlaTerms) {
    assert_ok!(Hosts::set_ask(signed(provider_of(number)), host(number), Ask { terms, ..ask() }));
}

/// A service that demands [`TERMS`], assigned to host 10, which promises them.
fn assigned_with_terms() -> (TaskId, LeaseId) {
    online_host(10);
    promise(10, TERMS);
    let mut spec = service(1);
    spec.placement.min_terms = TERMS;
    let task = submit(spec);
    let lease = assign(task, vec![place(0, 10, &[])])[0];
    (task, lease)
}

fn running_with_terms() -> (TaskId, LeaseId) {
    let (task, lease) = assigned_with_terms();
    assert_ok!(Tasks::report_started(host_origin(10), lease));
    (task, lease)
}

fn lose_host(number: u8) {
    advance(ABSENCE_LIMIT + 1);
    assert_ok!(Hosts::report_absent(signed(ANYONE), host(number)));
}

fn price(ms: u64) -> u128 {
    CPU_RATE * u128::from(ms) / u128::from(HOUR)
}

/// The credits among the events of this pallet, in their order: what was not paid, and what the bond paid.
fn credits() -> Vec<(u128, u128)> {
    let credited = |event: Event<Test>| match event {
        Event::SlaCredited { unpaid, from_bond, .. } => Some((unpaid, from_bond)),
        _ => None,
    };
    task_events().into_iter().filter_map(credited).collect()
}

#[test]
fn a_host_that_promises_less_than_a_task_demands_is_refused() {
    on_chain(|| {
        online_host(10);
        promise(10, SlaTerms { uptime_ppm: 989_999, ..TERMS });
        let mut spec = service(1);
        spec.placement.min_terms = TERMS;
        let task = submit(spec);
        let pods = || placed(vec![place(0, 10, &[])]);
        let error = pallet_gantry_hosts::Error::<Test>::TermsTooWeak;
        assert_noop!(try_assign(signed(SCHEDULER), task, pods()), error);
        promise(10, TERMS);
        assert_ok!(try_assign(signed(SCHEDULER), task, pods()));
    });
}

#[test]
fn a_lease_keeps_the_terms_with_which_it_was_opened() {
    on_chain(|| {
        let (_, service) = running_with_terms();
        promise(10, SlaTerms::default());
        assert_eq!(lease(service).sla.map(|sla| sla.terms), Some(TERMS));
    });
}

#[test]
fn jobs_and_hosts_without_a_penalty_have_no_terms() {
    on_chain(|| {
        let (_, job) = running();
        assert_eq!(lease(job).sla, None);
        promise(10, SlaTerms { penalty_ppm: 0, ..TERMS });
        let service = start_on(submit(service(1)), &[10])[0];
        assert_eq!(lease(service).sla, None);
    });
}

#[test]
fn the_end_by_a_lost_host_is_credited_up_to_the_penalty() {
    on_chain(|| {
        let (task, lease) = running_with_terms();
        work(HOUR / 4);
        lose_host(10);
        task_events();
        assert_ok!(Tasks::requeue(signed(ANYONE), lease));
        let owed = price(HOUR / 4 - HELD_BACK);
        assert_eq!(credits(), [(owed / 2, 0)]);
        assert!(leases_of(task).is_empty());
        assert_eq!(Billing::held(&account(TENANT)), 0, "the rest of the deposit is back");
    });
}

#[test]
fn downtime_is_credited_at_a_settlement_and_the_bond_pays_what_is_paid_already() {
    on_chain(|| {
        let (_, lease) = running_with_terms();
        work(HOUR / 12);
        lose_host(10);
        assert_ok!(Hosts::heartbeat(host_origin(10)));
        work(CREDIT_PERIOD - HOUR / 12 - 2 * ABSENCE_LIMIT);
        assert_ok!(Leases::settle(signed(ANYONE), lease));
        assert_eq!(self::lease(lease).sla.map(|sla| sla.credited), Some(0), "the period is not over");
        work(2 * ABSENCE_LIMIT);
        let owed = escrow(lease).owed(Hosts::now(), host_record(10).downtime_ms);
        let unpaid = owed - escrow(lease).paid;
        let (bond, tenant) = (host_record(10).bond, total_balance(&account(TENANT)));
        assert_ok!(Leases::settle(signed(ANYONE), lease));
        let from_bond = owed / 2 - unpaid;
        assert!(from_bond > 0);
        let event = pallet_gantry_leases::Event::<Test>::SlaCredited { lease, unpaid, from_bond };
        System::assert_has_event(event.into());
        assert_eq!(host_record(10).bond, bond - from_bond);
        assert_eq!(total_balance(&account(TENANT)), tenant + from_bond);
        assert_eq!(escrow(lease).owed(Hosts::now(), host_record(10).downtime_ms), escrow(lease).paid);
    });
}

#[test]
fn a_late_start_is_credited_when_the_tenant_ends_the_lease() {
    on_chain(|| {
        let (task, lease) = assigned_with_terms();
        advance(25_000);
        assert_ok!(Tasks::report_started(host_origin(10), lease));
        work(HOUR / 2);
        task_events();
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_eq!(credits(), [(price(15_000), 0)]);
        assert_eq!(escrow(lease).accrued, price(HOUR / 2) - price(15_000));
    });
}

#[test]
fn a_lease_that_keeps_its_terms_is_paid_in_full() {
    on_chain(|| {
        let (task, lease) = running_with_terms();
        work(HOUR / 2);
        task_events();
        assert_ok!(Tasks::end(signed(TENANT), task));
        assert_eq!((credits(), escrow(lease).accrued), (vec![], price(HOUR / 2)));
    });
}

#[test]
fn a_promised_notice_delays_a_reclaim() {
    on_chain(|| {
        let (_, lease) = running_with_terms();
        assert_ok!(Leases::reclaim(signed(PROVIDER), lease));
        assert_eq!(self::lease(lease).reclaim_at, Some(Hosts::now() + 2 * NOTICE));
    });
}

/// Half of the service's time has been settled, up to what is held back.
fn settled_half() -> (TaskId, LeaseId) {
    let (task, lease) = running_with_terms();
    work(HOUR / 4);
    assert_ok!(Leases::settle(signed(ANYONE), lease));
    work(HOUR / 4);
    task_events();
    (task, lease)
}

#[test]
fn a_host_that_did_not_serve_loses_what_is_held_back_to_the_tenant_and_some_bond() {
    on_chain(|| {
        let (task, lease) = settled_half();
        let bond = host_record(10).bond;
        assert_ok!(Tasks::end_unserved(lease, false));
        let owed = price(HOUR / 2 - HELD_BACK);
        let Some((unpaid, 0)) = credits().pop() else { panic!("the terms are broken") };
        assert_eq!(unpaid, owed / 2, "downtime and notice together cost the penalty");
        assert!(host_record(10).bond < bond);
        assert_eq!((leases_of(task), record(task).failures()), (vec![], 1));
        assert_eq!(record(task).state, TaskState::Queued);
        assert_noop!(Tasks::end_unserved(lease, false), Error::<Test>::NoSuchLease);
    });
}

#[test]
fn a_pod_that_refuses_costs_host_and_tenant_what_is_held_back_and_nobody_gains() {
    on_chain(|| {
        let (task, lease) = settled_half();
        let (bond, provider) = (host_record(10).bond, total_balance(&account(PROVIDER)));
        let (tenant, treasury) = (total_balance(&account(TENANT)), total_balance(&Billing::treasury()));
        let paid_before = escrow(lease).paid;
        assert_ok!(Tasks::end_unserved(lease, true));
        let rest = price(HOUR / 2) - paid_before;
        assert_eq!(total_balance(&account(TENANT)), tenant - rest, "the tenant pays all of the time");
        let to_provider = price(HOUR / 2 - HELD_BACK) - paid_before;
        let fee = to_provider / 10;
        assert_eq!(total_balance(&account(PROVIDER)), provider + to_provider - fee);
        assert_eq!(total_balance(&Billing::treasury()), treasury + fee + price(HOUR / 2) - price(HOUR / 2 - HELD_BACK));
        assert_eq!((host_record(10).bond, credits()), (bond, vec![]));
        assert_eq!((record(task).failures(), record(task).state), (0, TaskState::Queued));
    });
}

#[test]
fn a_rental_that_was_not_served_keeps_its_data_and_is_not_paid_for_what_is_held_back() {
    on_chain(|| {
        let (task, lease) = rented();
        work(HOUR / 2);
        assert_ok!(Tasks::end_unserved(lease, false));
        assert_eq!(record(task).state, TaskState::Reported);
        assert!(matches!(self::lease(lease).state, LeaseState::Retained(_)));
        assert_eq!(escrow(lease).accrued, RATE * u128::from(HOUR / 2 - HELD_BACK) / u128::from(HOUR));
    });
}

#[test]
fn only_active_leases_of_services_and_rentals_are_served() {
    on_chain(|| {
        let (_, job) = running();
        assert_eq!(Tasks::served_lease(job), None);
        assert_noop!(Tasks::end_unserved(job, true), Error::<Test>::LeaseNotActive);
        let service = start_on(submit(service(1)), &[10])[0];
        let (served, provider, tenant) = Tasks::served_lease(service).expect("it runs");
        assert_eq!((served.host, provider, tenant), (host(10), account(PROVIDER), account(TENANT)));
    });
}
