//! How committees and juries are drawn and vote.

use codec::Encode;
use frame_support::{assert_ok, traits::Hooks};
use gantry_primitives::{commitments::vote_commitment, Ballot, ChallengeId, ChallengeOutcome, Matter, Vote};
use gantry_runtime::{AccountId, Runtime, RuntimeEvent, RuntimeOrigin, System, Verification};
use pallet_gantry_verification::{Challenges, Disputes, Event, NextChallengeId, Services};

const SALT: [u8; 32] = [7; 32];

/// A block begins, with this randomness of the one before.
pub fn begin_block(randomness: [u8; 32]) {
    let number = System::block_number() + 1;
    System::set_block_number(number);
    pallet_babe::AuthorVrfRandomness::<Runtime>::put(Some(randomness));
    Verification::on_initialize(number);
}

/// Blocks begin until every committee that was asked for is drawn.
pub fn draw_committees() {
    for _ in 0..3 {
        begin_block(sp_io::hashing::blake2_256(&System::block_number().encode()));
    }
}

/// The challenge that was opened last.
pub fn last_challenge() -> ChallengeId {
    NextChallengeId::<Runtime>::get() - 1
}

/// The present ballot of a matter; None once it is closed.
pub fn ballot(matter: Matter) -> Option<Ballot> {
    match matter {
        Matter::Challenge(id) => Challenges::<Runtime>::get(id).map(|record| record.ballot),
        Matter::Dispute(task) => Disputes::<Runtime>::get(task).map(|record| record.ballot),
        Matter::Service(lease) => Services::<Runtime>::get(lease).map(|record| record.ballot),
        Matter::Results(_) => None,
    }
}

pub fn members(matter: Matter) -> Vec<AccountId> {
    ballot(matter).map(|ballot| ballot.seats.into_iter().map(|seat| seat.who).collect()).unwrap_or_default()
}

/// The members of the present committee commit and reveal the votes that `vote_of` gives them. Returns the members.
pub fn vote(matter: Matter, vote_of: impl Fn(&AccountId) -> Option<Vote>) -> Vec<AccountId> {
    let Some(Ballot { round, seats, .. }) = ballot(matter) else { return Vec::new() };
    let committee: Vec<AccountId> = seats.into_iter().map(|seat| seat.who).collect();
    let votes: Vec<_> = committee.iter().filter_map(|who| vote_of(who).map(|vote| (who, vote))).collect();
    for (who, vote) in &votes {
        let commitment = vote_commitment(matter, round, *vote, &SALT, who);
        assert_ok!(Verification::commit_vote(RuntimeOrigin::signed((*who).clone()), matter, commitment));
    }
    if votes.len() < committee.len() {
        advance(matter);
    }
    if ballot(matter).is_none_or(|now| now.round != round) {
        // Too few have committed for a verdict.
        return committee;
    }
    for (who, vote) in votes {
        assert_ok!(Verification::reveal_vote(RuntimeOrigin::signed(who.clone()), matter, vote, SALT));
    }
    committee
}

/// The time of the present phase passes.
pub fn advance(matter: Matter) {
    let until = match matter {
        Matter::Challenge(id) => Challenges::<Runtime>::get(id).map(|record| record.until),
        Matter::Dispute(task) => Disputes::<Runtime>::get(task).map(|record| record.until),
        Matter::Service(lease) => Services::<Runtime>::get(lease).map(|record| record.until),
        Matter::Results(_) => None,
    };
    pallet_timestamp::Now::<Runtime>::put(until.expect("it is open") + 1);
    assert_ok!(Verification::advance(super::setup::signed(39), matter));
}

/// What became of the challenge that was closed last.
pub fn outcome() -> ChallengeOutcome {
    let closed = System::read_events_no_consensus().filter_map(|record| match record.event {
        RuntimeEvent::Verification(Event::ChallengeClosed { outcome, .. }) => Some(outcome),
        _ => None,
    });
    closed.last().expect("a challenge was closed")
}
