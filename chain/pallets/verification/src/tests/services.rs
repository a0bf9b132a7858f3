//! Checks whether a host served the pod of a lease.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{LeaveReason, Matter, PenaltyReason, ServiceOutcome, ServicePhase, ServiceRecord, Vote};

use crate::{mock::*, Error, Event, HoldReason, Services, Verifiers};

const FAILED: [Option<Vote>; 3] = [Some(Vote::No); 3];
const REFUSED: [Option<Vote>; 3] = [Some(Vote::PodRefused); 3];
const SERVED_WELL: [Option<Vote>; 3] = [Some(Vote::Yes); 3];

fn record() -> ServiceRecord {
    Services::<Test>::get(SERVED).expect("it is open")
}

/// A check by `opener` whose first committee and then whose second one vote like this.
fn judged_twice(opener: u8, first: &[Option<Vote>], second: &[Option<Vote>]) {
    let (matter, committee) = service_check(opener);
    vote(matter, &committee, first);
    vote(matter, &members(matter), second);
}

/// On a chain with [`SERVED`], which paid fees for a check and a half.
fn while_served(test: impl FnOnce()) {
    on_chain(|| {
        pass(WINDOW);
        serve(1);
        test();
    });
}

#[test]
fn a_verifier_opens_a_check_at_the_cost_of_the_fees_of_the_lease() {
    while_served(|| {
        assert_ok!(Verification::open_service_check(signed(OPENER), SERVED));
        assert_eq!(held(TREASURY, HoldReason::ServiceFee), 2 * SERVICE_FEE);
        assert_eq!(Verifiers::<Test>::get(account(OPENER)).map(|verifier| verifier.duties), Some(1));
        let now = Verification::now();
        assert_eq!((record().since, record().opened_at), (now - WINDOW, now));
        assert_eq!(record().phase, ServicePhase::Waiting);
        assert_noop!(Verification::open_service_check(signed(TENANT), SERVED), Error::<Test>::CheckOpen);
    });
}

#[test]
fn who_may_not_open_a_check_is_told_why() {
    while_served(|| {
        let open = |who| Verification::open_service_check(signed(who), SERVED);
        assert_noop!(open(ANYONE), Error::<Test>::NotTenantNorVerifier);
        assert_noop!(Verification::open_service_check(signed(TENANT), 1), Error::<Test>::LeaseNotServed);
        assert_ok!(Verification::bond_verifier(signed(PROVIDER)));
        assert_noop!(open(PROVIDER), Error::<Test>::OpenerIsParty);
        serve(0);
        assert_noop!(open(OPENER), Error::<Test>::FeesTooLow);
        network(|network| {
            network.services.get_mut(&SERVED).expect("it runs").started_at = Verification::now() - WINDOW + 1;
        });
        assert_noop!(open(TENANT), Error::<Test>::StartedLately);
    });
}

#[test]
fn a_tenant_pays_for_its_check_and_is_refunded_what_was_not_spent() {
    while_served(|| {
        let (matter, committee) = service_check(TENANT);
        assert_eq!(held(TENANT, HoldReason::ServiceFee), 2 * SERVICE_FEE);
        vote(matter, &committee, &SERVED_WELL);
        assert_eq!(service_outcome(), ServiceOutcome::Served);
        assert_eq!(total_balance(TENANT), COINS - SERVICE_FEE);
        assert_eq!(held(TENANT, HoldReason::ServiceFee), 0);
        assert!(unserved().is_empty());
        assert_noop!(Verification::open_service_check(signed(TENANT), SERVED), Error::<Test>::CheckedLately);
        assert_ok!(Verification::open_service_check(signed(OPENER), SERVED));
    });
}

#[test]
fn two_committees_end_a_lease_that_its_host_did_not_serve_and_the_host_pays() {
    while_served(|| {
        let (matter, first) = service_check(OPENER);
        vote(matter, &first, &FAILED);
        assert!(unserved().is_empty(), "one committee has no consequence");
        assert_eq!((record().verdict, record().phase), (Some(Vote::No), ServicePhase::Committing));
        let second = members(matter);
        assert!(second.iter().all(|who| !first.contains(who)));
        vote(matter, &second, &FAILED);
        assert_eq!(service_outcome(), ServiceOutcome::NotServed);
        assert_eq!(unserved(), [(SERVED, false)]);
        assert_eq!(total_balance(TREASURY), COINS, "the bond of the host pays the committees");
        assert_eq!(total_balance(OPENER), COINS + SERVICE_FEE);
        assert_eq!(total_balance(PROVIDER), COINS - 3 * SERVICE_FEE);
        assert_eq!(Verifiers::<Test>::get(account(OPENER)).map(|verifier| verifier.duties), Some(0));
    });
}

#[test]
fn a_pod_that_refuses_ends_the_lease_and_costs_the_host_no_bond() {
    while_served(|| {
        judged_twice(OPENER, &REFUSED, &REFUSED);
        assert_eq!(service_outcome(), ServiceOutcome::PodRefused);
        assert_eq!(unserved(), [(SERVED, true)]);
        assert_eq!(total_balance(PROVIDER), COINS);
        assert_eq!((total_balance(OPENER), total_balance(TREASURY)), (COINS, COINS - 2 * SERVICE_FEE));
    });
}

#[test]
fn of_two_different_verdicts_against_the_host_the_milder_counts() {
    for (first, second) in [(FAILED, REFUSED), (REFUSED, FAILED)] {
        while_served(|| {
            judged_twice(TENANT, &first, &second);
            assert_eq!(service_outcome(), ServiceOutcome::PodRefused);
            assert_eq!(total_balance(PROVIDER), COINS);
        });
    }
}

#[test]
fn a_verdict_that_is_not_confirmed_has_no_consequence() {
    for second in [SERVED_WELL, [Some(Vote::Yes), Some(Vote::No), Some(Vote::PodRefused)]] {
        while_served(|| {
            judged_twice(OPENER, &FAILED, &second);
            assert_eq!(service_outcome(), ServiceOutcome::NoVerdict);
            assert!(unserved().is_empty());
            assert_eq!((total_balance(OPENER), total_balance(PROVIDER)), (COINS, COINS));
        });
    }
}

#[test]
fn a_verifier_that_suspects_an_honest_host_is_penalised() {
    while_served(|| {
        let (matter, committee) = service_check(OPENER);
        vote(matter, &committee, &SERVED_WELL);
        assert_eq!(total_balance(OPENER), COINS - MINORITY);
        let reason = PenaltyReason::Minority;
        System::assert_has_event(
            Event::VerifierPenalised { who: account(OPENER), matter, reason, amount: MINORITY }.into(),
        );
        assert_eq!(total_balance(TREASURY), COINS - SERVICE_FEE + MINORITY);
        let spent = MockNetwork::get().services[&SERVED].checks.spent;
        assert_eq!(spent, SERVICE_FEE, "the lease has paid for it");
        pass(REST);
        assert_noop!(Verification::open_service_check(signed(OPENER), SERVED), Error::<Test>::FeesTooLow);
    });
}

#[test]
fn a_verifier_keeps_its_bond_while_its_check_is_open() {
    while_served(|| {
        assert_ok!(Verification::open_service_check(signed(OPENER), SERVED));
        assert_ok!(Verification::unbond_verifier(signed(OPENER)));
        let reason = LeaveReason::Unbonded;
        assert!(events()
            .iter()
            .any(|event| matches!(event, Event::VerifierLeaving { reason: known, .. } if *known == reason)));
        pass(UNBONDING + 1);
        assert_noop!(Verification::withdraw_verifier_bond(signed(OPENER)), Error::<Test>::OnDuty);
    });
}

#[test]
fn a_lease_that_ended_meanwhile_has_no_consequence() {
    while_served(|| {
        let (matter, first) = service_check(OPENER);
        vote(matter, &first, &FAILED);
        network(|network| drop(network.services.remove(&SERVED)));
        vote(matter, &members(matter), &FAILED);
        assert_eq!(service_outcome(), ServiceOutcome::Overtaken);
        assert_eq!((total_balance(OPENER), total_balance(PROVIDER)), (COINS, COINS));
    });
}

#[test]
fn parties_are_not_drawn_and_without_enough_verifiers_nothing_is_paid() {
    ExtBuilder { verifiers: 4, ..Default::default() }.build_and_execute(|| {
        pass(WINDOW);
        serve(1);
        assert_ok!(Verification::open_service_check(signed(OPENER), SERVED));
        blocks(2);
        assert_eq!(service_outcome(), ServiceOutcome::TooFewVerifiers);
        assert_eq!((total_balance(OPENER), total_balance(TREASURY)), (COINS, COINS));
    });
    while_served(|| {
        let (_, committee) = service_check(OPENER);
        assert!(!committee.contains(&account(OPENER)));
    });
}

#[test]
fn only_a_service_check_takes_the_vote_that_a_pod_refused() {
    on_chain(|| {
        let (matter, committee) = answered();
        for who in &committee {
            assert_ok!(commit(matter, who, Vote::PodRefused));
        }
        assert_noop!(reveal(matter, &committee[0], Vote::PodRefused), Error::<Test>::VoteInvalid);
    });
}

#[test]
fn a_committee_that_stays_away_decides_nothing_and_pays() {
    while_served(|| {
        let (_, committee) = service_check(TENANT);
        wait_past(COMMIT);
        assert_eq!(service_outcome(), ServiceOutcome::NoVerdict);
        assert_eq!(total_balance(TENANT), COINS);
        assert!(committee.iter().all(|who| total_balance(number_of(who)) == COINS - ABSENCE));
        assert_noop!(Verification::advance(signed(ANYONE), Matter::Service(SERVED)), Error::<Test>::NoSuchCheck);
    });
}
