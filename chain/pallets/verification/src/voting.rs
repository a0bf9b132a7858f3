//! Committees and juries: drawn, bound, heard, paid.

use alloc::vec::Vec;
use frame_support::pallet_prelude::*;
use gantry_primitives::{
    AccountId, Balance, Ballot, Commitment, LeaveReason, Matter, PenaltyReason, Salt, Seat, Seed, VerifierRecord,
    VerifierStatus, Vote,
};

use crate::{
    ballot::{self, Merit},
    draw, shares, Config, CurrentParams, Error, Event, HoldReason, Hosts, Pallet, VerifierList, Verifiers,
};

/// Coins held of someone who pays a committee.
pub(crate) struct Purse<'a> {
    /// Whose they are.
    pub who: &'a AccountId,
    /// Why they are held.
    pub reason: HoldReason,
    /// How much the committee gets.
    pub amount: Balance,
}

impl<T: Config> Pallet<T> {
    pub(crate) fn do_commit_vote(who: AccountId, matter: Matter, commitment: Commitment) -> DispatchResult {
        match matter {
            Matter::Challenge(id) => Self::commit_on_challenge(id, &who, commitment)?,
            Matter::Dispute(task) => Self::commit_on_dispute(task, &who, commitment)?,
            Matter::Results(_) => return Err(Error::<T>::NoVoteOnResults.into()),
        }
        Ok(())
    }

    pub(crate) fn do_reveal_vote(who: AccountId, matter: Matter, vote: Vote, salt: Salt) -> DispatchResult {
        match matter {
            Matter::Challenge(id) => Self::reveal_on_challenge(id, &who, vote, &salt),
            Matter::Dispute(task) => Self::reveal_on_dispute(task, &who, vote, &salt),
            Matter::Results(_) => Err(Error::<T>::NoVoteOnResults.into()),
        }
    }

    /// Binds `who` to a vote and says so.
    pub(crate) fn bind(matter: Matter, votes: &mut Ballot, who: &AccountId, commitment: Commitment) -> DispatchResult {
        ballot::commit(votes, who, commitment).map_err(Error::<T>::from)?;
        Self::deposit_event(Event::VoteCommitted { matter, who: who.clone(), commitment });
        Ok(())
    }

    /// Shows the vote of `who` and says so.
    pub(crate) fn show(matter: Matter, votes: &mut Ballot, who: &AccountId, vote: Vote, salt: &Salt) -> DispatchResult {
        ballot::reveal(votes, matter, who, vote, salt).map_err(Error::<T>::from)?;
        Self::deposit_event(Event::VoteRevealed { matter, who: who.clone(), vote });
        Ok(())
    }

    /// Draws the committee of a ballot by a seed of `block`. Nobody sits who is one of `excluded` or a host of one of
    /// them. Returns whether there were enough verifiers.
    pub(crate) fn seat_committee(
        matter: Matter,
        votes: &mut Ballot,
        size: u8,
        (seed, block): (Seed, u32),
        excluded: &[&AccountId],
    ) -> bool {
        let round = votes.round;
        let Some(members) = Self::seat_members(votes, size, seed, excluded) else {
            Self::deposit_event(Event::CommitteeNotDrawn { matter, round, seed, block });
            return false;
        };
        Self::deposit_event(Event::CommitteeDrawn { matter, round, seed, block, members });
        true
    }

    /// Draws the members of a committee by `seed` and gives them their seats. None where the list has fewer than
    /// `min_verifiers`, or fewer than `size` that may sit.
    pub(crate) fn seat_members(
        votes: &mut Ballot,
        size: u8,
        seed: Seed,
        excluded: &[&AccountId],
    ) -> Option<Vec<AccountId>> {
        let is_involved =
            |who: &AccountId| T::Hosts::provider_of(who).is_some_and(|provider| excluded.contains(&&provider));
        let unwanted: Vec<&AccountId> = excluded.iter().copied().chain(votes.former.iter()).collect();
        let listed = VerifierList::<T>::get();
        let drawable = listed.iter().filter(|verifier| verifier.since < votes.asked_in).count();
        if drawable < usize::from(CurrentParams::<T>::get().min_verifiers) {
            return None;
        }
        let members = draw::draw(&seed, &listed, usize::from(size), votes.asked_in, &unwanted, is_involved)?;
        for who in &members {
            Verifiers::<T>::mutate(who, |record| {
                if let Some(record) = record {
                    record.duties = record.duties.saturating_add(1);
                }
            });
        }
        let seats: Vec<Seat> =
            members.iter().map(|who| Seat { who: who.clone(), commitment: None, vote: None }).collect();
        votes.seats = BoundedVec::truncate_from(seats);
        votes.seed = Some(seed);
        Some(members)
    }

    /// Lets the committee of a ballot go without a verdict that it was to give.
    pub(crate) fn dismiss_committee(votes: &mut Ballot) {
        for seat in &votes.seats {
            Verifiers::<T>::mutate(&seat.who, |record| {
                if let Some(record) = record {
                    record.duties = record.duties.saturating_sub(1);
                }
            });
        }
        ballot::dissolve(votes);
    }

    /// Closes a ballot: minority and absentees lose from their bonds, the majority shares that and the purse. Without a
    /// verdict the purse is not touched, and what absentees lose goes to the treasury. Where the verdict is not
    /// `conclusive`, the minority loses nothing. Returns how much of the purse was paid.
    pub(crate) fn close_ballot(
        matter: Matter,
        votes: &mut Ballot,
        verdict: Option<Vote>,
        purse: Option<Purse>,
        conclusive: bool,
    ) -> Balance {
        let params = CurrentParams::<T>::get();
        let revealed = ballot::can_decide(&votes.seats);
        let (mut winners, mut losers) = (Vec::new(), Vec::new());
        for seat in &votes.seats {
            match ballot::merit(seat, verdict, revealed) {
                Merit::Majority => winners.push((seat.who.clone(), 0)),
                Merit::Undecided => {}
                Merit::Fault(PenaltyReason::Minority) if !conclusive => {}
                Merit::Fault(reason) => {
                    let penalty = match reason {
                        PenaltyReason::Absent => params.absence_penalty,
                        PenaltyReason::Minority => params.minority_penalty,
                    };
                    let bond = Verifiers::<T>::get(&seat.who).map_or(0, |record| record.bond);
                    losers.push((seat.who.clone(), reason, penalty.min(bond), 0));
                }
            }
        }

        let mut sources: Vec<Balance> = losers.iter().map(|(_, _, penalty, _)| *penalty).collect();
        let purse = purse.filter(|_| verdict.is_some());
        sources.extend(purse.as_ref().map(|purse| purse.amount));
        let treasury = T::Treasury::get();
        let mut spent = 0;
        // A sum of a few bonds and a fee, all of them held, fits.
        for flow in shares::divide(&sources, winners.len()).unwrap_or_default() {
            let to = winners.get(flow.to).map_or(&treasury, |(who, _)| who).clone();
            let moved = match (losers.get_mut(flow.from), &purse) {
                (Some((who, _, _, lost)), _) => {
                    let moved = Self::pay(who, HoldReason::VerifierBond, &to, flow.amount);
                    *lost += moved;
                    moved
                }
                (None, Some(purse)) => {
                    let moved = Self::pay(purse.who, purse.reason, &to, flow.amount);
                    spent += moved;
                    moved
                }
                (None, None) => 0,
            };
            if let Some((_, won)) = winners.get_mut(flow.to) {
                *won += moved;
            }
        }

        for (who, reason, _, amount) in losers {
            Verifiers::<T>::mutate(&who, |record| {
                if let Some(record) = record {
                    record.bond = record.bond.saturating_sub(amount);
                    Self::deposit_event(Event::VerifierPenalised { who: who.clone(), matter, reason, amount });
                    Self::dismiss_if_poor(&who, record, params.verifier_bond);
                }
            });
        }
        for (who, amount) in winners {
            Self::deposit_event(Event::VerifierRewarded { who, matter, amount });
        }
        Self::deposit_event(Event::BallotClosed { matter, round: votes.round, verdict });
        Self::dismiss_committee(votes);
        spent
    }

    /// Divides a purse equally among all members of a committee, whether they have voted or not. What does not divide goes
    /// to the treasury. Returns how much of the purse was paid.
    pub(crate) fn pay_committee(matter: Matter, votes: &Ballot, purse: &Purse) -> Balance {
        let treasury = T::Treasury::get();
        let mut spent = 0;
        for flow in shares::divide(&[purse.amount], votes.seats.len()).unwrap_or_default() {
            let member = votes.seats.get(flow.to).map(|seat| &seat.who);
            let amount = Self::pay(purse.who, purse.reason, member.unwrap_or(&treasury), flow.amount);
            spent += amount;
            if let Some(who) = member.cloned() {
                Self::deposit_event(Event::VerifierRewarded { who, matter, amount });
            }
        }
        spent
    }

    fn dismiss_if_poor(who: &AccountId, record: &mut VerifierRecord, asked: Balance) {
        if record.status == VerifierStatus::Active && record.bond < asked / 2 {
            Self::leave(who, record, LeaveReason::BondTooLow);
        }
    }
}
