//! Disputes about the result of a task: hearing, jury, appeals and execution.

use alloc::vec::Vec;
use frame_support::{
    pallet_prelude::*,
    traits::{fungible::MutateHold, tokens::Precision},
};
use gantry_primitives::{
    transitions::allows, verification_tables::DISPUTE_TRANSITIONS, AccountId, Balance, Commitment, Digest,
    DisputeOutcome, DisputePhase, DisputeRecord, Evidence, HostId, LeaseId, Matter, Misconduct, Moment, Queue, Salt,
    Stake, TaskId, UpTo, Vote, EVIDENCE_PER_HEARING, MAX_APPEALS,
};

use crate::{
    ballot, committees::CommitteeFee, Config, CurrentParams, Disputes, Error, Event, HoldReason, Hosts, Pallet, Tasks,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_open_dispute(
        who: AccountId,
        task: TaskId,
        mut accused: UpTo<LeaseId, 16>,
        evidence: Digest,
    ) -> DispatchResult {
        let params = CurrentParams::<T>::get();
        let tenant = T::Tasks::tenant_of(task).ok_or(Error::<T>::NoSuchTask)?;
        ensure!(!Disputes::<T>::contains_key(task), Error::<T>::AlreadyDisputed);
        accused.sort();
        ensure!(!accused.is_empty(), Error::<T>::NobodyAccused);
        ensure!(accused.windows(2).all(|pair| pair[0] < pair[1]), Error::<T>::AccusedTwice);
        if who != tenant {
            ensure!(Self::active_verifier(&who).is_ok(), Error::<T>::NotTenantNorVerifier);
            let hosts = T::Tasks::leases_of(task).into_iter().map(|(_, host)| host);
            ensure!(!Self::providers_of(hosts).contains(&who), Error::<T>::OpenerIsParty);
        }
        T::Tasks::mark_disputed(task, &accused)?;
        let providers = Self::providers_of(Self::accused_hosts(task, &accused).into_iter());
        let now = Self::now();
        let until = now.saturating_add(params.hearing_ms);
        let mut record = DisputeRecord {
            opener: who.clone(),
            tenant,
            accused: accused.clone(),
            // At most as many as there are leases.
            providers: BoundedVec::truncate_from(providers),
            opened_at: now,
            phase: DisputePhase::Hearing,
            until,
            level: 0,
            retried: false,
            verdict: None,
            stakes: BoundedVec::new(),
            evidence: BoundedVec::new(),
            ballot: Default::default(),
        };
        let stake = params.dispute_stake;
        Self::stake(&mut record, &who, stake, Vote::Yes)?;
        Self::note(&mut record, &who, evidence)?;
        Self::schedule(Queue::Hearing, Matter::Dispute(task), until);
        Disputes::<T>::insert(task, record);
        Self::deposit_event(Event::DisputeOpened { task, by: who, accused, stake, evidence, until });
        Ok(())
    }

    pub(crate) fn do_add_evidence(who: AccountId, task: TaskId, digest: Digest) -> DispatchResult {
        let mut record = Self::dispute(task)?;
        ensure!(record.phase == DisputePhase::Hearing, Error::<T>::NotHearing);
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        let is_party = who == record.opener || who == record.tenant || record.providers.contains(&who);
        ensure!(is_party, Error::<T>::NotParty);
        Self::note(&mut record, &who, digest)?;
        Disputes::<T>::insert(task, record);
        Self::deposit_event(Event::EvidenceAdded { task, by: who, digest });
        Ok(())
    }

    pub(crate) fn do_appeal(who: AccountId, task: TaskId) -> DispatchResult {
        let mut record = Self::dispute(task)?;
        ensure!(record.phase == DisputePhase::Decided, Error::<T>::NotAppealable);
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        let (loses, side) = match record.verdict {
            Some(Vote::Yes) => (record.providers.contains(&who), Vote::No),
            Some(Vote::No) => (who == record.opener || who == record.tenant, Vote::Yes),
            Some(Vote::PodRefused) | None => return Err(Error::<T>::NotAppealable.into()),
        };
        ensure!(loses, Error::<T>::NotLosingSide);
        let last = record.stakes.last().ok_or(Error::<T>::NotAppealable)?;
        let before = last.amount.checked_add(last.fee_paid).ok_or(Error::<T>::Overflow)?;
        let stake = before.checked_mul(2).ok_or(Error::<T>::Overflow)?;
        Self::stake(&mut record, &who, stake, side)?;
        record.level = record.level.saturating_add(1);
        record.retried = false;
        let until = Self::now().saturating_add(CurrentParams::<T>::get().hearing_ms);
        Self::move_dispute(task, &mut record, DisputePhase::Hearing, until)?;
        let level = record.level;
        Disputes::<T>::insert(task, record);
        Self::deposit_event(Event::Appealed { task, by: who, stake, level, until });
        Ok(())
    }

    pub(crate) fn commit_on_dispute(task: TaskId, who: &AccountId, commitment: Commitment) -> DispatchResult {
        let mut record = Self::dispute(task)?;
        ensure!(record.phase == DisputePhase::Committing, Error::<T>::NotCommitting);
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        Self::record_commitment(Matter::Dispute(task), &mut record.ballot, who, commitment)?;
        if ballot::all_committed(&record.ballot.seats) {
            Self::open_dispute_reveals(task, &mut record)?;
        }
        Disputes::<T>::insert(task, record);
        Ok(())
    }

    pub(crate) fn reveal_on_dispute(task: TaskId, who: &AccountId, vote: Vote, salt: &Salt) -> DispatchResult {
        let mut record = Self::dispute(task)?;
        ensure!(record.phase == DisputePhase::Revealing, Error::<T>::NotRevealing);
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        Self::record_vote(Matter::Dispute(task), &mut record.ballot, who, vote, salt)?;
        if ballot::all_revealed(&record.ballot.seats) {
            return Self::judge_dispute(task, record);
        }
        Disputes::<T>::insert(task, record);
        Ok(())
    }

    /// Draws the jury of a dispute that waits for it.
    pub(crate) fn draw_for_dispute(task: TaskId) -> DispatchResult {
        let mut record = Self::dispute(task)?;
        let params = CurrentParams::<T>::get();
        let matter = Matter::Dispute(task);
        let seed = Self::seed(matter, record.ballot.round)?;
        let size = if record.level == 0 { params.jury_size } else { params.appeal_jury_size };
        let behind_opener = T::Hosts::provider_of(&record.opener);
        let mut excluded: Vec<&AccountId> = alloc::vec![&record.opener, &record.tenant];
        excluded.extend(record.providers.iter().chain(&behind_opener));
        if !Self::seat_committee(matter, &mut record.ballot, size, seed, &excluded) {
            return Self::close_without_verdict(task, record);
        }
        let until = Self::now().saturating_add(params.dispute_commit_ms);
        Self::move_dispute(task, &mut record, DisputePhase::Committing, until)?;
        Disputes::<T>::insert(task, record);
        Self::deposit_event(Event::JuryCommits { task, until });
        Ok(())
    }

    /// Ends the present phase, whose time has passed.
    pub(crate) fn end_dispute_phase(task: TaskId) -> DispatchResult {
        let mut record = Self::dispute(task)?;
        match record.phase {
            DisputePhase::Hearing => {
                Self::move_dispute(task, &mut record, DisputePhase::Waiting, 0)?;
                Self::deposit_event(Event::JuryAwaited { task, level: record.level });
            }
            DisputePhase::Committing if ballot::can_decide(&record.ballot.seats) => {
                Self::open_dispute_reveals(task, &mut record)?;
            }
            DisputePhase::Committing | DisputePhase::Revealing => return Self::judge_dispute(task, record),
            DisputePhase::Decided => return Self::close_dispute(task, record),
            DisputePhase::Waiting | DisputePhase::Closed => return Err(Error::<T>::TransitionNotAllowed.into()),
        }
        Disputes::<T>::insert(task, record);
        Ok(())
    }

    fn open_dispute_reveals(task: TaskId, record: &mut DisputeRecord) -> DispatchResult {
        let until = Self::now().saturating_add(CurrentParams::<T>::get().dispute_reveal_ms);
        Self::move_dispute(task, record, DisputePhase::Revealing, until)?;
        Self::deposit_event(Event::RevealsOpened { matter: Matter::Dispute(task), until });
        Ok(())
    }

    /// Closes the ballot. Its verdict may be appealed, unless it was the last one. Without a verdict, another jury is
    /// drawn, once.
    fn judge_dispute(task: TaskId, mut record: DisputeRecord) -> DispatchResult {
        let params = CurrentParams::<T>::get();
        let verdict = ballot::verdict(&record.ballot.seats);
        let ballot = &mut record.ballot;
        let spent = match record.stakes.last() {
            Some(stake) => {
                let amount = params.jury_fee.min(stake.amount);
                let fee_source = CommitteeFee { who: &stake.who, reason: HoldReason::DisputeStake, amount };
                Self::close_ballot(Matter::Dispute(task), ballot, verdict, Some(fee_source), true)
            }
            None => Self::close_ballot(Matter::Dispute(task), ballot, verdict, None, true),
        };
        if let Some(stake) = record.stakes.last_mut() {
            stake.amount = stake.amount.saturating_sub(spent);
            stake.fee_paid = spent;
        }
        let Some(verdict) = verdict else {
            if record.retried {
                return Self::close_without_verdict(task, record);
            }
            record.retried = true;
            Self::move_dispute(task, &mut record, DisputePhase::Waiting, 0)?;
            Self::deposit_event(Event::JuryAwaited { task, level: record.level });
            Disputes::<T>::insert(task, record);
            return Ok(());
        };
        record.verdict = Some(verdict);
        let level = record.level;
        if level >= MAX_APPEALS {
            Self::deposit_event(Event::DisputeDecided { task, level, verdict, appeal_until: None });
            return Self::close_dispute(task, record);
        }
        let until = Self::now().saturating_add(params.appeal_ms);
        Self::move_dispute(task, &mut record, DisputePhase::Decided, until)?;
        Disputes::<T>::insert(task, record);
        Self::deposit_event(Event::DisputeDecided { task, level, verdict, appeal_until: Some(until) });
        Ok(())
    }

    /// Closes a dispute whose jury gives no verdict: the last stake is returned, and the verdict before stands, if
    /// there is one.
    fn close_without_verdict(task: TaskId, mut record: DisputeRecord) -> DispatchResult {
        if let Some(stake) = record.stakes.pop() {
            Self::return_stake(task, &stake)?;
        }
        Self::close_dispute(task, record)
    }

    /// Executes the last verdict: stakes, escrows and slashes.
    fn close_dispute(task: TaskId, mut record: DisputeRecord) -> DispatchResult {
        Self::move_dispute(task, &mut record, DisputePhase::Closed, 0)?;
        let upheld = record.verdict == Some(Vote::Yes);
        let hosts = Self::accused_hosts(task, &record.accused);
        let (won, mut lost): (Vec<Stake>, Vec<Stake>) =
            record.stakes.into_iter().partition(|stake| Some(stake.side) == record.verdict);

        for stake in &won {
            let mut owed = stake.fee_paid;
            for loser in &mut lost {
                let moved = Self::pay(&loser.who, HoldReason::DisputeStake, &stake.who, owed.min(loser.amount));
                loser.amount = loser.amount.saturating_sub(moved);
                owed = owed.saturating_sub(moved);
                Self::lose_stake(task, loser, moved);
            }
            if upheld {
                for host in &hosts {
                    if owed > 0 {
                        owed = owed.saturating_sub(T::Hosts::compensate(host, &stake.who, owed));
                    }
                }
            }
            let amount = stake.fee_paid.saturating_sub(owed);
            if amount > 0 {
                Self::deposit_event(Event::FeeRefunded { task, who: stake.who.clone(), amount });
            }
            Self::return_stake(task, stake)?;
        }
        for stake in &mut lost {
            let moved = Self::pay(&stake.who, HoldReason::DisputeStake, &T::Treasury::get(), stake.amount);
            stake.amount = stake.amount.saturating_sub(moved);
            Self::lose_stake(task, stake, moved);
            Self::return_stake(task, stake)?;
        }

        if upheld {
            let lasted = Self::now().saturating_sub(record.opened_at);
            for host in &hosts {
                T::Hosts::slash_for_misconduct(host, Misconduct::DisputeLost, lasted);
                Self::reset_valid_results(host);
            }
        }
        T::Tasks::resolve_dispute(task, &record.accused, record.verdict, record.opener == record.tenant)?;
        Disputes::<T>::remove(task);
        let outcome = match record.verdict {
            Some(Vote::Yes) => DisputeOutcome::Upheld,
            Some(Vote::No) => DisputeOutcome::Rejected,
            Some(Vote::PodRefused) | None => DisputeOutcome::NoVerdict,
        };
        Self::deposit_event(Event::DisputeClosed { task, outcome });
        Ok(())
    }

    fn stake(record: &mut DisputeRecord, who: &AccountId, amount: Balance, side: Vote) -> DispatchResult {
        T::Currency::hold(&HoldReason::DisputeStake.into(), who, amount).map_err(|_| Error::<T>::CannotPayStake)?;
        let stake = Stake { who: who.clone(), amount, fee_paid: 0, side };
        record.stakes.try_push(stake).map_err(|_| Error::<T>::NotAppealable)?;
        Ok(())
    }

    fn return_stake(task: TaskId, stake: &Stake) -> DispatchResult {
        if stake.amount == 0 {
            return Ok(());
        }
        let (who, amount) = (stake.who.clone(), stake.amount);
        T::Currency::release(&HoldReason::DisputeStake.into(), &who, amount, Precision::Exact)?;
        Self::deposit_event(Event::StakeReturned { task, who, amount });
        Ok(())
    }

    fn lose_stake(task: TaskId, stake: &Stake, amount: Balance) {
        if amount > 0 {
            Self::deposit_event(Event::StakeLost { task, who: stake.who.clone(), amount });
        }
    }

    fn note(record: &mut DisputeRecord, who: &AccountId, digest: Digest) -> DispatchResult {
        let level = record.level;
        let named = record.evidence.iter().filter(|evidence| evidence.level == level && evidence.by == *who).count();
        ensure!(named < EVIDENCE_PER_HEARING, Error::<T>::TooMuchEvidence);
        let evidence = Evidence { by: who.clone(), digest, level };
        record.evidence.try_push(evidence).map_err(|_| Error::<T>::TooMuchEvidence)?;
        Ok(())
    }

    /// Returns the hosts of the accused leases, each once: a host with several of them is slashed once.
    fn accused_hosts(task: TaskId, accused: &[LeaseId]) -> Vec<HostId> {
        let leases = T::Tasks::leases_of(task).into_iter();
        let mut hosts: Vec<HostId> =
            leases.filter(|(lease, _)| accused.contains(lease)).map(|(_, host)| host).collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// Returns the owners of these hosts, each once.
    fn providers_of(hosts: impl Iterator<Item = HostId>) -> Vec<AccountId> {
        let mut providers: Vec<AccountId> = hosts.filter_map(|host| T::Hosts::provider_of(&host)).collect();
        providers.sort();
        providers.dedup();
        providers
    }

    /// Changes the phase of a dispute. No other function does. The caller stores the record.
    fn move_dispute(task: TaskId, record: &mut DisputeRecord, to: DisputePhase, until: Moment) -> DispatchResult {
        ensure!(allows(DISPUTE_TRANSITIONS, record.phase, to), Error::<T>::TransitionNotAllowed);
        record.phase = to;
        record.until = until;
        match to {
            DisputePhase::Waiting => record.ballot.asked_in = Self::request_seed(Matter::Dispute(task)),
            _ => to.queue().into_iter().for_each(|queue| Self::schedule(queue, Matter::Dispute(task), until)),
        }
        Ok(())
    }

    fn dispute(task: TaskId) -> Result<DisputeRecord, DispatchError> {
        Disputes::<T>::get(task).ok_or_else(|| Error::<T>::NoSuchDispute.into())
    }
}
