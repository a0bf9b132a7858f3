//! The voting rule of committees. Pure: it reads neither storage nor the clock.

use gantry_primitives::{
    commitments::vote_commitment, AccountId, Ballot, Commitment, Matter, PenaltyReason, Salt, Seat, Vote,
};

/// Why a member's commitment or vote is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not a member.
    NotOnCommittee,
    /// Has committed already.
    AlreadyCommitted,
    /// Has not committed.
    NotCommitted,
    /// Has revealed already.
    AlreadyRevealed,
    /// Vote and salt are not what was committed to.
    CommitmentMismatch,
}

/// The result of a ballot for one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoteResult {
    /// Voted with the majority.
    Majority,
    /// Voted as far as possible, and there was no verdict.
    Undecided,
    /// Is penalised.
    Fault(PenaltyReason),
}

/// Returns the least number that is more than half of `seats`.
pub const fn majority(seats: usize) -> usize {
    seats / 2 + 1
}

/// Returns the vote of more than half of all seats, including those that did not vote. So there is never a tie.
pub fn verdict(seats: &[Seat]) -> Option<Vote> {
    [Vote::Yes, Vote::No, Vote::PodRefused]
        .into_iter()
        .find(|vote| seats.iter().filter(|seat| seat.vote == Some(*vote)).count() >= majority(seats.len()))
}

/// Whether enough members have committed for a verdict.
pub fn can_decide(seats: &[Seat]) -> bool {
    seats.iter().filter(|seat| seat.commitment.is_some()).count() >= majority(seats.len())
}

/// Whether every member has committed.
pub fn all_committed(seats: &[Seat]) -> bool {
    seats.iter().all(|seat| seat.commitment.is_some())
}

/// Whether every member that has committed has revealed.
pub fn all_revealed(seats: &[Seat]) -> bool {
    seats.iter().all(|seat| seat.commitment.is_none() || seat.vote.is_some())
}

/// Returns the result for the member of `seat` under this verdict. If votes could not be `revealed` because too few
/// members had committed, those who had are not at fault.
pub fn vote_result(seat: &Seat, verdict: Option<Vote>, revealed: bool) -> VoteResult {
    match (seat.vote, verdict) {
        (None, _) if revealed || seat.commitment.is_none() => VoteResult::Fault(PenaltyReason::Absent),
        (None, _) => VoteResult::Undecided,
        (Some(_), None) => VoteResult::Undecided,
        (Some(vote), Some(decided)) if vote == decided => VoteResult::Majority,
        (Some(_), Some(_)) => VoteResult::Fault(PenaltyReason::Minority),
    }
}

/// Stores the commitment of `who`, once.
pub fn commit(ballot: &mut Ballot, who: &AccountId, commitment: Commitment) -> Result<(), Refusal> {
    let seat = seat_of(ballot, who)?;
    if seat.commitment.is_some() {
        return Err(Refusal::AlreadyCommitted);
    }
    seat.commitment = Some(commitment);
    Ok(())
}

/// Stores the vote that `who` has committed to, once.
pub fn reveal(ballot: &mut Ballot, matter: Matter, who: &AccountId, vote: Vote, salt: &Salt) -> Result<(), Refusal> {
    let round = ballot.round;
    let seat = seat_of(ballot, who)?;
    let commitment = seat.commitment.ok_or(Refusal::NotCommitted)?;
    if seat.vote.is_some() {
        return Err(Refusal::AlreadyRevealed);
    }
    if vote_commitment(matter, round, vote, salt, who) != commitment {
        return Err(Refusal::CommitmentMismatch);
    }
    seat.vote = Some(vote);
    Ok(())
}

/// Dissolves the committee. Its members are not drawn again for this matter. The caller requests the next committee, if
/// any.
pub fn dissolve(ballot: &mut Ballot) {
    for seat in core::mem::take(&mut ballot.seats) {
        // There is room: MAX_FORMER counts every committee that a matter can have before its last.
        let _ = ballot.former.try_push(seat.who);
    }
    ballot.round = ballot.round.saturating_add(1);
    ballot.seed = None;
}

fn seat_of<'a>(ballot: &'a mut Ballot, who: &AccountId) -> Result<&'a mut Seat, Refusal> {
    ballot.seats.iter_mut().find(|seat| seat.who == *who).ok_or(Refusal::NotOnCommittee)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATTER: Matter = Matter::Dispute(3);
    const SALT: Salt = [5; 32];

    fn account(who: u8) -> AccountId {
        AccountId::new([who; 32])
    }

    fn seats(votes: &[Option<Vote>]) -> Vec<Seat> {
        let seat = |(who, vote): (usize, &Option<Vote>)| Seat {
            who: account(who as u8),
            commitment: vote.map(|_| [0; 32]),
            vote: *vote,
        };
        votes.iter().enumerate().map(seat).collect()
    }

    fn ballot(members: u8) -> Ballot {
        let votes = vec![None; usize::from(members)];
        Ballot { seats: seats(&votes).try_into().expect("they fit"), ..Default::default() }
    }

    #[test]
    fn a_verdict_needs_more_than_half_of_all_seats() {
        use Vote::{No, Yes};
        assert_eq!(verdict(&seats(&[Some(Yes), Some(Yes), Some(No)])), Some(Yes));
        assert_eq!(verdict(&seats(&[Some(No), Some(No), None])), Some(No));
        assert_eq!(verdict(&seats(&[Some(Yes), Some(No), None])), None);
        assert_eq!(verdict(&seats(&[Some(Yes), None, None])), None);
        assert_eq!(verdict(&seats(&[Some(Yes)])), Some(Yes));
        assert_eq!(verdict(&seats(&[Some(Yes), Some(Yes), None, None, None])), None, "two of five are not enough");
    }

    #[test]
    fn every_possible_ballot_has_at_most_one_verdict_and_it_is_that_of_the_most() {
        for size in [1usize, 3, 5, 7] {
            for code in 0..3usize.pow(size as u32) {
                let digit =
                    |position: usize| [None, Some(Vote::Yes), Some(Vote::No)][code / 3usize.pow(position as u32) % 3];
                let votes: Vec<_> = (0..size).map(digit).collect();
                let count = |vote| votes.iter().filter(|one| **one == Some(vote)).count();
                let (yes, no) = (count(Vote::Yes), count(Vote::No));
                let expected = if 2 * yes > size {
                    Some(Vote::Yes)
                } else if 2 * no > size {
                    Some(Vote::No)
                } else {
                    None
                };
                assert_eq!(verdict(&seats(&votes)), expected);
            }
        }
    }

    #[test]
    fn the_minority_and_the_absent_are_at_fault_and_nobody_else() {
        let seats = seats(&[Some(Vote::Yes), Some(Vote::No), None]);
        let merits = |verdict| seats.iter().map(|seat| vote_result(seat, verdict, true)).collect::<Vec<_>>();
        let (absent, minority) = (VoteResult::Fault(PenaltyReason::Absent), VoteResult::Fault(PenaltyReason::Minority));
        assert_eq!(merits(Some(Vote::Yes)), [VoteResult::Majority, minority, absent]);
        assert_eq!(merits(Some(Vote::No)), [minority, VoteResult::Majority, absent]);
        assert_eq!(merits(None), [VoteResult::Undecided, VoteResult::Undecided, absent]);
    }

    #[test]
    fn who_committed_when_too_few_did_is_not_at_fault() {
        let mut seats = seats(&[None, None, None]);
        seats[0].commitment = Some([1; 32]);
        assert_eq!(vote_result(&seats[0], None, false), VoteResult::Undecided);
        assert_eq!(vote_result(&seats[1], None, false), VoteResult::Fault(PenaltyReason::Absent));
        assert_eq!(vote_result(&seats[0], None, true), VoteResult::Fault(PenaltyReason::Absent));
    }

    #[test]
    fn a_vote_is_committed_once_and_revealed_once() {
        let mut ballot = ballot(3);
        let commitment = vote_commitment(MATTER, 0, Vote::No, &SALT, &account(1));
        assert_eq!(reveal(&mut ballot, MATTER, &account(1), Vote::No, &SALT), Err(Refusal::NotCommitted));
        assert_eq!(commit(&mut ballot, &account(9), commitment), Err(Refusal::NotOnCommittee));
        assert_eq!(commit(&mut ballot, &account(1), commitment), Ok(()));
        assert_eq!(commit(&mut ballot, &account(1), [0; 32]), Err(Refusal::AlreadyCommitted));
        assert_eq!(reveal(&mut ballot, MATTER, &account(1), Vote::Yes, &SALT), Err(Refusal::CommitmentMismatch));
        assert_eq!(reveal(&mut ballot, MATTER, &account(1), Vote::No, &[0; 32]), Err(Refusal::CommitmentMismatch));
        assert_eq!(reveal(&mut ballot, MATTER, &account(1), Vote::No, &SALT), Ok(()));
        assert_eq!(reveal(&mut ballot, MATTER, &account(1), Vote::No, &SALT), Err(Refusal::AlreadyRevealed));
    }

    #[test]
    fn a_copied_commitment_cannot_be_opened() {
        let mut ballot = ballot(3);
        let commitment = vote_commitment(MATTER, 0, Vote::Yes, &SALT, &account(1));
        assert_eq!(commit(&mut ballot, &account(1), commitment), Ok(()));
        assert_eq!(commit(&mut ballot, &account(2), commitment), Ok(()));
        assert_eq!(reveal(&mut ballot, MATTER, &account(1), Vote::Yes, &SALT), Ok(()));
        assert_eq!(reveal(&mut ballot, MATTER, &account(2), Vote::Yes, &SALT), Err(Refusal::CommitmentMismatch));
    }

    #[test]
    fn a_dissolved_committee_is_remembered_and_its_commitments_are_void() {
        let mut ballot = ballot(3);
        let commitment = vote_commitment(MATTER, 0, Vote::Yes, &SALT, &account(1));
        assert_eq!(commit(&mut ballot, &account(1), commitment), Ok(()));
        dissolve(&mut ballot);
        assert_eq!(ballot.former.to_vec(), [account(0), account(1), account(2)]);
        assert_eq!((ballot.round, ballot.seed, ballot.seats.len()), (1, None, 0));
        ballot.seats = seats(&[None, None, None]).try_into().expect("they fit");
        assert_eq!(commit(&mut ballot, &account(1), commitment), Ok(()));
        assert_eq!(reveal(&mut ballot, MATTER, &account(1), Vote::Yes, &SALT), Err(Refusal::CommitmentMismatch));
    }
}
