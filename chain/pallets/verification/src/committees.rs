//! Committees and juries: draw, commitments, votes and payment.

use alloc::vec::Vec;
use frame_support::pallet_prelude::*;
use gantry_primitives::{
    AccountId, Balance, Ballot, Commitment, LeaveReason, Matter, PenaltyReason, Salt, Seat, Seed, VerifierRecord,
    VerifierStatus, Vote,
};

use crate::{
    ballot::{self, VoteResult},
    draw, shares, Config, CurrentParams, Error, Event, HoldReason, Hosts, Pallet, VerifierList, Verifiers,
};

/// Coins on hold of an account that pays a committee.
pub(crate) struct CommitteeFee<'a> {
    /// The account.
    pub who: &'a AccountId,
    /// The reason of the hold.
    pub reason: HoldReason,
    /// The amount for the committee.
    pub amount: Balance,
}

/// Whether a verdict on a challenge or a service check is against the host, so that another committee must confirm it.
pub(crate) const fn is_against_host(verdict: Vote) -> bool {
    !matches!(verdict, Vote::Yes)
}

impl<T: Config> Pallet<T> {
    pub(crate) fn do_commit_vote(who: AccountId, matter: Matter, commitment: Commitment) -> DispatchResult {
        match matter {
            Matter::Challenge(id) => Self::commit_on_challenge(id, &who, commitment)?,
            Matter::Dispute(task) => Self::commit_on_dispute(task, &who, commitment)?,
            Matter::Service(lease) => Self::commit_on_service(lease, &who, commitment)?,
            Matter::Results(_) => return Err(Error::<T>::NoVoteOnResults.into()),
        }
        Ok(())
    }

    pub(crate) fn do_reveal_vote(who: AccountId, matter: Matter, vote: Vote, salt: Salt) -> DispatchResult {
        ensure!(vote != Vote::PodRefused || matches!(matter, Matter::Service(_)), Error::<T>::VoteInvalid);
        match matter {
            Matter::Challenge(id) => Self::reveal_on_challenge(id, &who, vote, &salt),
            Matter::Dispute(task) => Self::reveal_on_dispute(task, &who, vote, &salt),
            Matter::Service(lease) => Self::reveal_on_service(lease, &who, vote, &salt),
            Matter::Results(_) => Err(Error::<T>::NoVoteOnResults.into()),
        }
    }

    /// Stores the commitment of `who` and emits an event.
    pub(crate) fn record_commitment(
        matter: Matter,
        votes: &mut Ballot,
        who: &AccountId,
        commitment: Commitment,
    ) -> DispatchResult {
        ballot::commit(votes, who, commitment).map_err(Error::<T>::from)?;
        Self::deposit_event(Event::VoteCommitted { matter, who: who.clone(), commitment });
        Ok(())
    }

    /// Stores the vote of `who` and emits an event.
    pub(crate) fn record_vote(
        matter: Matter,
        votes: &mut Ballot,
        who: &AccountId,
        vote: Vote,
        salt: &Salt,
    ) -> DispatchResult {
        ballot::reveal(votes, matter, who, vote, salt).map_err(Error::<T>::from)?;
        Self::deposit_event(Event::VoteRevealed { matter, who: who.clone(), vote });
        Ok(())
    }

    /// Draws the committee of a ballot by a seed of `block`. Accounts in `excluded` and their hosts are not drawn.
    /// Returns whether there were enough verifiers.
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

    /// Draws the members of a committee by `seed` and stores their seats. None if the list has fewer than
    /// `min_verifiers`, or fewer than `size` eligible ones.
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
        members.iter().for_each(Self::add_duty);
        let seats: Vec<Seat> =
            members.iter().map(|who| Seat { who: who.clone(), commitment: None, vote: None }).collect();
        votes.seats = BoundedVec::truncate_from(seats);
        votes.seed = Some(seed);
        Some(members)
    }

    /// Dismisses the committee of a ballot.
    pub(crate) fn dismiss_committee(votes: &mut Ballot) {
        votes.seats.iter().for_each(|seat| Self::remove_duty(&seat.who));
        ballot::dissolve(votes);
    }

    /// Adds a duty of a verifier, which keeps its bond until the duty is removed.
    pub(crate) fn add_duty(who: &AccountId) {
        Verifiers::<T>::mutate(who, |record| {
            if let Some(record) = record {
                record.duties = record.duties.saturating_add(1);
            }
        });
    }

    /// Removes a duty of a verifier.
    pub(crate) fn remove_duty(who: &AccountId) {
        Verifiers::<T>::mutate(who, |record| {
            if let Some(record) = record {
                record.duties = record.duties.saturating_sub(1);
            }
        });
    }

    /// Closes a ballot: minority and absentees are penalised, and the majority shares the penalties and the fee.
    /// Without a verdict the fee is not paid, and penalties of absentees go to the treasury. If the verdict is not
    /// `conclusive`, the minority is not penalised. Returns the paid part of the fee.
    pub(crate) fn close_ballot(
        matter: Matter,
        votes: &mut Ballot,
        verdict: Option<Vote>,
        fee_source: Option<CommitteeFee>,
        conclusive: bool,
    ) -> Balance {
        let params = CurrentParams::<T>::get();
        let revealed = ballot::can_decide(&votes.seats);
        let (mut winners, mut losers) = (Vec::new(), Vec::new());
        for seat in &votes.seats {
            match ballot::vote_result(seat, verdict, revealed) {
                VoteResult::Majority => winners.push((seat.who.clone(), 0)),
                VoteResult::Undecided => {}
                VoteResult::Fault(PenaltyReason::Minority) if !conclusive => {}
                VoteResult::Fault(reason) => {
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
        let fee_source = fee_source.filter(|_| verdict.is_some());
        sources.extend(fee_source.as_ref().map(|fee_source| fee_source.amount));
        let treasury = T::Treasury::get();
        let mut spent = 0;
        // The sum of a few bonds and a fee, all of them on hold, fits its type.
        for transfer in shares::divide(&sources, winners.len()).unwrap_or_default() {
            let to = winners.get(transfer.to).map_or(&treasury, |(who, _)| who).clone();
            let moved = match (losers.get_mut(transfer.from), &fee_source) {
                (Some((who, _, _, lost)), _) => {
                    let moved = Self::pay(who, HoldReason::VerifierBond, &to, transfer.amount);
                    *lost += moved;
                    moved
                }
                (None, Some(fee_source)) => {
                    let moved = Self::pay(fee_source.who, fee_source.reason, &to, transfer.amount);
                    spent += moved;
                    moved
                }
                (None, None) => 0,
            };
            if let Some((_, won)) = winners.get_mut(transfer.to) {
                *won += moved;
            }
        }

        for (who, reason, _, amount) in losers {
            Self::reduce_bond(&who, matter, reason, amount);
        }
        for (who, amount) in winners {
            Self::deposit_event(Event::VerifierRewarded { who, matter, amount });
        }
        Self::deposit_event(Event::BallotClosed { matter, round: votes.round, verdict });
        Self::dismiss_committee(votes);
        spent
    }

    /// Divides a fee equally among all members of a committee, whether they have voted or not. The remainder goes to
    /// the treasury. Returns the paid part of the fee.
    pub(crate) fn pay_committee(matter: Matter, votes: &Ballot, fee_source: &CommitteeFee) -> Balance {
        let treasury = T::Treasury::get();
        let mut spent = 0;
        for transfer in shares::divide(&[fee_source.amount], votes.seats.len()).unwrap_or_default() {
            let member = votes.seats.get(transfer.to).map(|seat| &seat.who);
            let amount = Self::pay(fee_source.who, fee_source.reason, member.unwrap_or(&treasury), transfer.amount);
            spent += amount;
            if let Some(who) = member.cloned() {
                Self::deposit_event(Event::VerifierRewarded { who, matter, amount });
            }
        }
        spent
    }

    /// Records that a verifier lost `amount` of its bond, and removes it from the list if too little is left.
    pub(crate) fn reduce_bond(who: &AccountId, matter: Matter, reason: PenaltyReason, amount: Balance) {
        let asked = CurrentParams::<T>::get().verifier_bond;
        Verifiers::<T>::mutate(who, |record| {
            if let Some(record) = record {
                record.bond = record.bond.saturating_sub(amount);
                Self::deposit_event(Event::VerifierPenalised { who: who.clone(), matter, reason, amount });
                Self::dismiss_if_underbonded(who, record, asked);
            }
        });
    }

    fn dismiss_if_underbonded(who: &AccountId, record: &mut VerifierRecord, asked: Balance) {
        if record.status == VerifierStatus::Active && record.bond < asked / 2 {
            Self::remove_from_list(who, record, LeaveReason::BondTooLow);
        }
    }
}
