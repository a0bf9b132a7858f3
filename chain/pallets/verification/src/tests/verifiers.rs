use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{LeaveReason, Matter, VerifierStatus, Vote, MAX_VERIFIERS};

use crate::{mock::*, CurrentParams, Error, Event, HoldReason, VerifierList, Verifiers};

fn is_listed(who: u8) -> bool {
    VerifierList::<Test>::get().iter().any(|listed| listed.who == account(who))
}

#[test]
fn a_bonded_account_is_on_the_list() {
    on_chain(|| {
        assert_ok!(Verification::bond_verifier(signed(ANYONE)));
        assert_eq!(held(ANYONE, HoldReason::VerifierBond), BOND);
        assert!(is_listed(ANYONE));
        System::assert_has_event(Event::VerifierBonded { who: account(ANYONE), bond: BOND }.into());
        assert_noop!(Verification::bond_verifier(signed(ANYONE)), Error::<Test>::AlreadyBonded);
        assert_noop!(Verification::bond_verifier(signed(NOBODY)), Error::<Test>::CannotPayBond);
        assert_noop!(Verification::bond_verifier(signed(HOST)), Error::<Test>::HostCannotVerify);
    });
}

#[test]
fn a_bond_comes_back_after_its_time() {
    on_chain(|| {
        assert_noop!(Verification::unbond_verifier(signed(ANYONE)), Error::<Test>::NotVerifier);
        assert_noop!(Verification::withdraw_verifier_bond(signed(ANYONE)), Error::<Test>::NotVerifier);
        assert_noop!(Verification::withdraw_verifier_bond(signed(OPENER)), Error::<Test>::StillBonded);
        assert_ok!(Verification::unbond_verifier(signed(OPENER)));
        assert!(!is_listed(OPENER));
        assert_noop!(Verification::unbond_verifier(signed(OPENER)), Error::<Test>::NotVerifier);
        pass(UNBONDING);
        assert_noop!(Verification::withdraw_verifier_bond(signed(OPENER)), Error::<Test>::StillBonded);
        pass(1);
        assert_ok!(Verification::withdraw_verifier_bond(signed(OPENER)));
        assert_eq!(held(OPENER, HoldReason::VerifierBond), 0);
        assert_eq!(total_balance(OPENER), COINS);
        System::assert_has_event(Event::VerifierLeft { who: account(OPENER), bond: BOND }.into());
    });
}

#[test]
fn who_comes_back_keeps_its_bond_and_waits_for_later_matters() {
    on_chain(|| {
        assert_ok!(Verification::unbond_verifier(signed(OPENER)));
        next_block();
        assert_ok!(Verification::bond_verifier(signed(OPENER)));
        assert_eq!(held(OPENER, HoldReason::VerifierBond), BOND);
        let entry = VerifierList::<Test>::get().into_iter().find(|listed| listed.who == account(OPENER));
        assert_eq!(entry.expect("it is listed").since, 2);
    });
}

#[test]
fn a_higher_bond_is_paid_by_bonding_again() {
    on_chain(|| {
        CurrentParams::<Test>::mutate(|params| params.verifier_bond = 2 * BOND);
        assert_ok!(Verification::bond_verifier(signed(OPENER)));
        assert_eq!(held(OPENER, HoldReason::VerifierBond), 2 * BOND);
        assert_noop!(Verification::bond_verifier(signed(OPENER)), Error::<Test>::AlreadyBonded);
    });
}

#[test]
fn the_list_has_an_end() {
    on_chain(|| {
        VerifierList::<Test>::mutate(|list| {
            let entry = list[0].clone();
            while list.try_push(entry.clone()).is_ok() {}
        });
        assert_eq!(VerifierList::<Test>::get().len() as u32, MAX_VERIFIERS);
        assert_noop!(Verification::bond_verifier(signed(ANYONE)), Error::<Test>::TooManyVerifiers);
        VerifierList::<Test>::mutate(|list| list.truncate(JUDGES.len()));
    });
}

#[test]
fn who_leaves_on_duty_still_answers_for_it() {
    on_chain(|| {
        let (matter, members) = answered();
        let leaver = number_of(&members[0]);
        assert_ok!(Verification::unbond_verifier(signed(leaver)));
        pass(UNBONDING + 1);
        assert_noop!(Verification::withdraw_verifier_bond(signed(leaver)), Error::<Test>::OnDuty);
        next_block();
        let Matter::Challenge(id) = matter else { unreachable!() };
        assert!(
            crate::Challenges::<Test>::get(id)
                .is_some_and(|record| record.role == gantry_primitives::CommitteeRole::Second),
            "nobody had voted"
        );
        assert_eq!(held(leaver, HoldReason::VerifierBond), BOND - ABSENCE);
        assert_ok!(Verification::withdraw_verifier_bond(signed(leaver)));
        assert_eq!(total_balance(leaver), COINS - ABSENCE);
    });
}

#[test]
fn who_leaves_on_duty_may_still_vote() {
    on_chain(|| {
        let (matter, members) = answered();
        assert_ok!(Verification::unbond_verifier(by(&members[0])));
        vote(matter, &members, &[Some(Vote::Yes); 3]);
        assert_eq!(held(number_of(&members[0]), HoldReason::VerifierBond), BOND);
        assert_eq!(total_balance(number_of(&members[0])), COINS + FEE / 3);
    });
}

#[test]
fn a_verifier_that_lost_half_of_its_bond_leaves_the_list() {
    on_chain(|| {
        let (matter, members) = answered();
        let poor = number_of(&members[2]);
        // The bond that is asked for was raised meanwhile, and this verifier did not pay the difference.
        CurrentParams::<Test>::mutate(|params| params.verifier_bond = 2 * BOND - ABSENCE);
        vote(matter, &members, &[Some(Vote::Yes), Some(Vote::Yes), Some(Vote::No)]);
        assert!(is_listed(poor), "half is enough");
        CurrentParams::<Test>::mutate(|params| params.verifier_bond = 2 * BOND);
        pass(REST);
        let (matter, members) = answered();
        vote(matter, &members, &[Some(Vote::Yes), Some(Vote::Yes), Some(Vote::No)]);
        let poor = &members[2];
        assert!(!is_listed(number_of(poor)));
        let record = Verifiers::<Test>::get(poor).expect("its bond is kept");
        assert!(matches!(record.status, VerifierStatus::Leaving(_)));
        assert!(events().iter().any(|event| matches!(
            event,
            Event::VerifierLeaving { who, reason: LeaveReason::BondTooLow, .. } if who == poor
        )));
    });
}
