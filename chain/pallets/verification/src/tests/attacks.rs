//! Attacks on verification and their results.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{commitments::vote_commitment, AccountId, ChallengePhase, Matter, Moment, Vote};
use sp_core::H256;

use crate::{mock::*, Challenges, CurrentParams, Error, HoldReason, VerifierList, WeightInfo};

fn phase(id: u64) -> ChallengePhase {
    Challenges::<Test>::get(id).expect("it is open").phase
}

/// An author that skips its VRF would leave the randomness that everyone knew when the challenge was opened.
#[test]
fn randomness_that_was_known_when_it_was_asked_for_draws_nobody() {
    on_chain(|| {
        let known = Random::get();
        let id = open_challenge(OPENER);
        for _ in 0..10 {
            begin_block(known);
            assert_eq!(phase(id), ChallengePhase::Waiting);
        }
        next_block();
        assert_eq!(phase(id), ChallengePhase::Answering);
    });
}

/// The author of the block with the challenge knows the randomness of that block.
#[test]
fn randomness_of_the_block_that_asked_draws_nobody_even_when_the_next_block_has_none() {
    on_chain(|| {
        let of_asking_block = Some(H256::repeat_byte(42));
        let id = open_challenge(OPENER);
        begin_block(of_asking_block);
        begin_block(of_asking_block);
        begin_block(of_asking_block);
        assert_eq!(phase(id), ChallengePhase::Waiting);
    });
}

#[test]
fn verifiers_that_join_after_a_challenge_was_opened_are_not_drawn_for_it() {
    let builder = ExtBuilder { verifiers: 7, ..Default::default() };
    builder.build_and_execute(|| {
        let id = open_challenge(OPENER);
        for judge in 107..130 {
            assert_ok!(Verification::bond_verifier(signed(judge)));
        }
        blocks(2);
        let members = members(Matter::Challenge(id));
        assert!(members.iter().all(|who| (101..107).contains(&number_of(who))));
    });
}

#[test]
fn leaving_the_list_does_not_move_the_others() {
    let drawn = |leavers: &[u8]| {
        ExtBuilder::default().build().execute_with(|| {
            let id = open_challenge(OPENER);
            for who in leavers {
                assert_ok!(Verification::unbond_verifier(signed(*who)));
            }
            blocks(2);
            members(Matter::Challenge(id))
        })
    };
    let before = drawn(&[]);
    let others: Vec<u8> = (101..130).filter(|who| !before.contains(&account(*who))).collect();
    assert_eq!(drawn(&others[..10]), before);
}

#[test]
fn a_copied_vote_earns_nothing_and_costs_the_copier() {
    on_chain(|| {
        let (matter, members) = answered();
        let copied = vote_commitment(matter, 0, Vote::Yes, &SALT, &members[0]);
        for who in &members[..2] {
            assert_ok!(commit(matter, who, Vote::Yes));
        }
        assert_ok!(Verification::commit_vote(by(&members[2]), matter, copied));
        assert_ok!(reveal(matter, &members[0], Vote::Yes));
        assert_ok!(reveal(matter, &members[1], Vote::Yes));
        assert_noop!(reveal(matter, &members[2], Vote::Yes), Error::<Test>::CommitmentMismatch);
        wait_past(REVEAL);
        assert_eq!(total_balance(number_of(&members[2])), COINS - ABSENCE);
    });
}

#[test]
fn votes_out_of_turn_are_refused() {
    on_chain(|| {
        let id = open_challenge(OPENER);
        let matter = Matter::Challenge(id);
        blocks(2);
        let members = members(matter);
        assert_noop!(commit(matter, &members[0], Vote::Yes), Error::<Test>::NotCommitting);
        assert_ok!(Verification::answer(signed(HOST), id, [8; 32], Moment::MAX));
        assert_noop!(reveal(matter, &members[0], Vote::Yes), Error::<Test>::NotRevealing);
        assert_ok!(commit(matter, &members[0], Vote::Yes));
        assert_noop!(commit(matter, &members[0], Vote::No), Error::<Test>::AlreadyCommitted);
        assert_noop!(commit(matter, &account(ANYONE), Vote::No), Error::<Test>::NotOnCommittee);
        assert_ok!(commit(matter, &members[1], Vote::Yes));
        pass(COMMIT + 1);
        assert_noop!(commit(matter, &members[2], Vote::Yes), Error::<Test>::TooLate);
        next_block();
        assert_noop!(reveal(matter, &members[2], Vote::Yes), Error::<Test>::NotCommitted);
        let with_salt = |salt| Verification::reveal_vote(by(&members[0]), matter, Vote::Yes, salt);
        assert_noop!(with_salt([0; 32]), Error::<Test>::CommitmentMismatch);
        assert_noop!(reveal(matter, &members[0], Vote::No), Error::<Test>::CommitmentMismatch);
        assert_ok!(with_salt(SALT));
        assert_noop!(with_salt(SALT), Error::<Test>::AlreadyRevealed);
        pass(REVEAL + 1);
        assert_noop!(reveal(matter, &members[1], Vote::Yes), Error::<Test>::TooLate);
        assert_noop!(
            Verification::commit_vote(signed(OPENER), Matter::Challenge(9), [0; 32]),
            Error::<Test>::NoSuchChallenge
        );
        assert_noop!(
            Verification::commit_vote(signed(OPENER), Matter::Dispute(9), [0; 32]),
            Error::<Test>::NoSuchDispute
        );
    });
}

#[test]
fn a_provider_and_the_opener_never_judge_their_own_challenge() {
    on_chain(|| {
        assert_ok!(Verification::bond_verifier(signed(PROVIDER)));
        next_block();
        for judge in 112..130 {
            assert_ok!(Verification::unbond_verifier(signed(judge)));
        }
        for round in 0..30 {
            let opener = if round % 2 == 0 { OPENER } else { PROVIDER };
            let id = open_challenge(opener);
            blocks(2);
            let matter = Matter::Challenge(id);
            let members = members(matter);
            assert!(!members.contains(&account(PROVIDER)) && !members.contains(&account(opener)));
            assert_ok!(Verification::answer(signed(HOST), id, [8; 32], Moment::MAX));
            vote(matter, &members, &[Some(Vote::Yes); 3]);
            pass(REST);
        }
    });
}

#[test]
fn opening_and_losing_on_purpose_does_not_pay() {
    on_chain(|| {
        // A provider and the members of both committees work together: what they can win is their own coins.
        let all = || JUDGES.chain([PROVIDER]).map(total_balance).sum::<u128>();
        let before = all();
        let (matter, first) = answered();
        vote(matter, &first, &[Some(Vote::No); 3]);
        vote(matter, &members(matter), &[Some(Vote::No); 3]);
        assert_eq!(before, all());
        assert!(host().suspended && !host().punished.is_empty(), "and the host is lost");
    });
}

#[test]
fn dust_that_cannot_be_credited_stays_where_it_is() {
    on_chain(|| {
        // The treasury does not exist, and what it would get is less than the existential deposit.
        assert_ok!(Balances::transfer_all(signed(TREASURY), account(ANYONE), false));
        CurrentParams::<Test>::mutate(|params| {
            params.dispute_stake = 10;
            params.jury_fee = 4;
        });
        reported();
        assert_ok!(Verification::open_dispute(signed(TENANT), TASK, accused(&[100]), [1; 32]));
        wait_past(HEARING);
        blocks(2);
        let matter = Matter::Dispute(TASK);
        let members = members(matter);
        vote(matter, &members, &[Some(Vote::No); 3]);
        assert!(members.iter().all(|who| total_balance(number_of(who)) == COINS + 1));
        wait_past(APPEAL);
        assert_eq!(task_state(), MockState::Verified);
        assert_eq!(held(TENANT, HoldReason::DisputeStake), 0);
        assert_eq!(total_balance(TENANT), COINS - 3);
    });
}

#[test]
fn the_highest_amounts_do_not_overflow() {
    on_chain(|| {
        CurrentParams::<Test>::mutate(|params| {
            params.dispute_stake = u128::MAX / 4;
            params.challenge_fee = u128::MAX;
        });
        reported();
        let dispute = Verification::open_dispute(signed(TENANT), TASK, accused(&[100]), [1; 32]);
        assert_noop!(dispute, Error::<Test>::CannotPayStake);
        let challenge = Verification::open_challenge(signed(OPENER), account(HOST), 0, None);
        assert_noop!(challenge, Error::<Test>::CannotPayFee);
        assert_ok!(Verification::do_try_state());
        CurrentParams::<Test>::put(params());
    });
}

#[test]
fn a_committee_that_agrees_to_stay_away_pays_for_it() {
    on_chain(|| {
        let (matter, first) = answered();
        wait_past(COMMIT);
        let Matter::Challenge(id) = matter else { unreachable!() };
        assert_eq!(phase(id), ChallengePhase::Waiting);
        let lost: Vec<AccountId> =
            first.into_iter().filter(|who| total_balance(number_of(who)) == COINS - ABSENCE).collect();
        assert_eq!(lost.len(), 3);
        assert_eq!(VerifierList::<Test>::get().len(), JUDGES.len());
    });
}

#[test]
fn members_pay_for_closing_a_ballot_only_if_they_close_it() {
    on_chain(|| {
        let (matter, members) = answered();
        for who in &members {
            assert_ok!(commit(matter, who, Vote::Yes));
        }
        let (last, others) = members.split_last().expect("a committee has members");
        for who in others {
            let weight = reveal(matter, who, Vote::Yes).expect("it is time").actual_weight;
            assert!(weight.is_some_and(|weight| weight.ref_time() * 5 < <() as WeightInfo>::reveal_vote().ref_time()));
        }
        assert_eq!(reveal(matter, last, Vote::Yes).expect("it is time").actual_weight, None);
    });
}
