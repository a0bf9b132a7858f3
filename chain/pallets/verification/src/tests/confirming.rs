//! A second committee must confirm a verdict against a host.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    AccountId, ChallengeOutcome, ChallengePhase, CommitteeRole, Matter, Misconduct, Moment, PenaltyReason, Vote,
};

use crate::{draw, mock::*, Challenges, CurrentParams, Error, Event, HoldReason, VerifierList, Verifiers};

const AGAINST: [Option<Vote>; 3] = [Some(Vote::No), Some(Vote::No), Some(Vote::Yes)];

/// A challenge whose first committee, with one vote for the host, found against the host. Returns both committees.
fn found_against() -> (Matter, Vec<AccountId>, Vec<AccountId>) {
    let (matter, first) = answered();
    vote(matter, &first, &AGAINST);
    (matter, first, members(matter))
}

fn record(matter: Matter) -> gantry_primitives::ChallengeRecord {
    let Matter::Challenge(id) = matter else { panic!("it is a challenge") };
    Challenges::<Test>::get(id).expect("it is open")
}

#[test]
fn a_first_verdict_against_a_host_has_no_consequence_for_the_host() {
    on_chain(|| {
        change_host(|host| host.attested = true);
        let (matter, first, second) = found_against();
        assert!(host().attested && !host().suspended && host().punished.is_empty());
        assert_eq!(record(matter).role, CommitteeRole::Confirming { paid: FEE });
        assert_eq!(record(matter).phase, ChallengePhase::Committing);
        assert!(second.iter().all(|who| !first.contains(who)));
        assert_eq!(host().challenged, None, "the host has answered");
        // The first committee is paid as for a verdict for the host; its minority may be right and loses nothing.
        assert_eq!(total_balance(number_of(&first[0])), COINS + FEE / 2);
        assert_eq!(total_balance(number_of(&first[2])), COINS);
        assert_eq!(held(OPENER, HoldReason::ChallengeFee), FEE);
        assert_noop!(commit(matter, &first[0], Vote::No), Error::<Test>::NotOnCommittee);
        assert_eq!(Verifiers::<Test>::get(&first[0]).expect("it is bonded").duties, 0);
    });
}

#[test]
fn a_confirmed_verdict_suspends_and_punishes_and_the_host_pays_the_opener_back() {
    on_chain(|| {
        let (matter, _, second) = found_against();
        vote(matter, &second, &AGAINST);
        assert_eq!(outcome(), ChallengeOutcome::Failed);
        assert!(!host().attested && !host().verified && host().suspended);
        assert_eq!(host().punished, [(Misconduct::FailedChallenge, 2 * BLOCK_MS)]);
        assert_eq!(total_balance(OPENER), COINS);
        assert_eq!(total_balance(PROVIDER), COINS - 2 * FEE);
        // The majority shares fee and penalty.
        assert_eq!(total_balance(number_of(&second[0])), COINS + (FEE + MINORITY) / 2);
        assert_eq!(total_balance(number_of(&second[2])), COINS - MINORITY);
        let (who, reason) = (second[2].clone(), PenaltyReason::Minority);
        System::assert_has_event(Event::VerifierPenalised { who, matter, reason, amount: MINORITY }.into());
    });
}

#[test]
fn a_verdict_that_is_not_confirmed_has_no_consequence_and_costs_the_opener_both_fees() {
    on_chain(|| {
        change_host(|host| host.attested = true);
        let (matter, _, second) = found_against();
        vote(matter, &second, &[Some(Vote::Yes); 3]);
        assert_eq!(outcome(), ChallengeOutcome::NoVerdict);
        assert!(host().attested && !host().suspended && host().punished.is_empty());
        assert_eq!(total_balance(OPENER), COINS - 2 * FEE);
        assert_eq!(total_balance(PROVIDER), COINS);
        assert!(second.iter().all(|who| total_balance(number_of(who)) == COINS + FEE / 3));
    });
}

#[test]
fn a_confirming_committee_without_a_verdict_ends_the_challenge() {
    on_chain(|| {
        let (_, _, second) = found_against();
        wait_past(COMMIT);
        assert_eq!(outcome(), ChallengeOutcome::NoVerdict);
        assert_eq!(total_balance(OPENER), COINS - FEE);
        assert!(second.iter().all(|who| total_balance(number_of(who)) == COINS - ABSENCE));
        assert!(!host().suspended && host().punished.is_empty());
    });
}

#[test]
fn a_verdict_of_a_second_committee_is_confirmed_by_a_third_one() {
    on_chain(|| {
        let (matter, first) = answered();
        vote(matter, &first, &[Some(Vote::No), Some(Vote::Yes), None]);
        blocks(2);
        let Matter::Challenge(id) = matter else { unreachable!() };
        assert_ok!(Verification::answer(signed(HOST), id, [9; 32], Moment::MAX));
        let second = members(matter);
        vote(matter, &second, &AGAINST);
        assert!(!host().suspended);
        let third = members(matter);
        assert!(third.iter().all(|who| !first.contains(who) && !second.contains(who)));
        vote(matter, &third, &AGAINST);
        assert_eq!(outcome(), ChallengeOutcome::Failed);
    });
}

#[test]
fn the_confirming_committee_judges_the_same_answer_and_is_drawn_by_the_same_seed() {
    on_chain(|| {
        let (matter, first) = answered();
        let before = record(matter);
        vote(matter, &first, &AGAINST);
        let after = record(matter);
        assert_eq!((after.answer, after.ballot.seed), (before.answer, before.ballot.seed));
        let seed = before.ballot.seed.expect("it was drawn");
        let mut excluded = vec![account(OPENER), account(PROVIDER), account(HOST)];
        excluded.extend(first);
        let excluded: Vec<&AccountId> = excluded.iter().collect();
        let again = draw::draw(&seed, &VerifierList::<Test>::get(), 3, before.ballot.asked_in, &excluded, |_| false);
        assert_eq!(again, Some(members(matter)));
        let until = Verification::now() + COMMIT;
        System::assert_has_event(
            Event::ConfirmationAwaited { challenge: 0, round: 1, members: members(matter), until }.into(),
        );
    });
}

/// A lease of its own does not take the answer back.
#[test]
fn a_lease_after_the_answer_does_not_prevent_the_confirmation() {
    on_chain(|| {
        let (matter, first) = answered();
        change_host(|host| {
            host.leased.insert(0, (7, account(TENANT)));
        });
        vote(matter, &first, &AGAINST);
        vote(matter, &members(matter), &AGAINST);
        assert_eq!(outcome(), ChallengeOutcome::Failed);
    });
}

/// Four accounts open a challenge and have every seat of a committee that they can get.
#[test]
fn four_bonded_accounts_cannot_suspend_a_host() {
    let ours = |who: &AccountId| (OPENER..OPENER + 4).contains(&number_of(who));
    let verifiers = usize::from(params().min_verifiers);
    let mut majorities = 0;
    for skipped in 0..200 {
        ExtBuilder { verifiers, ..Default::default() }.build_and_execute(|| {
            blocks(skipped);
            let (matter, first) = answered();
            let accomplices = first.iter().filter(|who| ours(who)).count();
            majorities += u32::from(accomplices >= 2);
            let votes = |members: &[AccountId]| -> Vec<Option<Vote>> {
                members.iter().map(|who| Some(if ours(who) { Vote::No } else { Vote::Yes })).collect()
            };
            vote(matter, &first, &votes(&first));
            if Challenges::<Test>::iter().next().is_some() {
                let second = members(matter);
                vote(matter, &second, &votes(&second));
            }
            assert!(!host().suspended && host().punished.is_empty(), "block {skipped}");
            assert_eq!(total_balance(PROVIDER), COINS);
        });
    }
    assert!(majorities > 20, "the attack is tried with a majority of the first committee: {majorities}");
}

/// Before others have joined, a few accounts would be every committee.
#[test]
fn four_accounts_that_are_the_whole_list_judge_nothing() {
    ExtBuilder { verifiers: 4, ..Default::default() }.build_and_execute(|| {
        open_challenge(OPENER);
        blocks(2);
        assert_eq!(outcome(), ChallengeOutcome::TooFewVerifiers);
        reported();
        assert_ok!(Verification::open_dispute(signed(TENANT), TASK, accused(&[100]), [1; 32]));
        wait_past(HEARING);
        blocks(2);
        assert_eq!(task_state(), MockState::Verified, "the result stands");
        assert_eq!(total_balance(TENANT), COINS);
    });
}

#[test]
fn verifiers_that_leave_before_the_confirmation_leave_the_host_alone() {
    on_chain(|| {
        let (matter, first) = answered();
        for judge in JUDGES.filter(|judge| !first.contains(&account(*judge))).skip(4) {
            assert_ok!(Verification::unbond_verifier(signed(judge)));
        }
        assert!(VerifierList::<Test>::get().len() < usize::from(CurrentParams::<Test>::get().min_verifiers) + 1);
        for judge in first.iter().take(1) {
            assert_ok!(Verification::unbond_verifier(by(judge)));
        }
        vote(matter, &first, &AGAINST);
        assert_eq!(outcome(), ChallengeOutcome::TooFewVerifiers);
        assert!(!host().suspended && host().punished.is_empty());
        assert_eq!(total_balance(OPENER), COINS - FEE);
    });
}
