//! Challenges: timed proofs that a device is genuine.

use alloc::vec::Vec;
use frame_support::{
    pallet_prelude::*,
    traits::{fungible::MutateHold, tokens::Precision},
};
use gantry_primitives::{
    transitions::allows, verification_tables::CHALLENGE_TRANSITIONS, AccountId, Balance, Ballot, ChallengeAnswer,
    ChallengeId, ChallengeOutcome, ChallengePhase, ChallengeRecord, Commitment, CommitteeRole, Digest, HostId, LeaseId,
    Matter, Misconduct, Moment, Salt, Seed, Vote,
};

use crate::{
    ballot,
    committees::{is_against_host, CommitteeFee},
    ByHost, Challenges, Config, CurrentParams, Error, Event, HoldReason, Hosts, NextChallengeId, Pallet, Tasks,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_open_challenge(
        opener: Option<AccountId>,
        host: HostId,
        device: u8,
        lease: Option<LeaseId>,
    ) -> DispatchResult {
        let params = CurrentParams::<T>::get();
        let now = Self::now();
        ensure!(T::Hosts::is_listed(&host), Error::<T>::HostNotListed);
        let provider = T::Hosts::provider_of(&host).ok_or(Error::<T>::HostNotListed)?;
        let claim = T::Hosts::device_of(&host, device).ok_or(Error::<T>::NoSuchDevice)?;
        ensure!(T::Hosts::answers_challenges(&host), Error::<T>::ChallengesNotAnswered);
        let by_tenant = lease.is_some_and(|lease| {
            opener.as_ref().is_some_and(|tenant| T::Tasks::holds_device(lease, tenant, &host, device))
        });
        ensure!(by_tenant || lease.is_none(), Error::<T>::NotTenantOfLease);
        ensure!(by_tenant || !T::Hosts::is_leased(&host, device), Error::<T>::DeviceLeased);
        let mut of_host = ByHost::<T>::get(&host).unwrap_or_default();
        ensure!(of_host.open.is_none(), Error::<T>::ChallengeOpen);
        if let Some(who) = &opener {
            let own = *who == provider;
            ensure!(by_tenant || own || Self::active_verifier(who).is_ok(), Error::<T>::NotVerifierNorProvider);
            // The intervals are separate, so that neither the provider nor its tenants can block the challenges of
            // verifiers.
            let last = match (by_tenant, own) {
                (true, _) => &mut of_host.by_tenant_at,
                (false, true) => &mut of_host.by_provider_at,
                (false, false) => &mut of_host.by_verifier_at,
            };
            let rested = last.is_none_or(|last| now >= last.saturating_add(params.challenge_rest_ms));
            ensure!(rested, Error::<T>::ChallengedLately);
            *last = Some(now);
        }
        let id = NextChallengeId::<T>::get();
        let next = id.checked_add(1).ok_or(Error::<T>::Overflow)?;
        // For the first committee and the confirming one.
        let fee = if opener.is_some() { params.challenge_fee.saturating_mul(2) } else { 0 };

        if let Some(who) = opener.as_ref().filter(|_| fee > 0) {
            T::Currency::hold(&HoldReason::ChallengeFee.into(), who, fee).map_err(|_| Error::<T>::CannotPayFee)?;
        }
        NextChallengeId::<T>::put(next);
        of_host.open = Some(id);
        ByHost::<T>::insert(&host, of_host);
        T::Hosts::set_challenged(&host, Some(device));
        let ballot = Ballot { asked_in: Self::request_seed(Matter::Challenge(id)), ..Default::default() };
        Self::deposit_event(Event::ChallengeOpened {
            challenge: id,
            host: host.clone(),
            device,
            claim: claim.clone(),
            opener: opener.clone(),
            fee,
        });
        let record = ChallengeRecord {
            host,
            provider,
            device,
            claim,
            opener,
            fee,
            phase: ChallengePhase::Waiting,
            until: 0,
            opened_at: now,
            answer: None,
            role: CommitteeRole::First,
            ballot,
        };
        Challenges::<T>::insert(id, record);
        Ok(())
    }

    /// Returns the challenge that `host` may answer now, with a call that is valid until `not_after`.
    pub(crate) fn answerable(
        host: &HostId,
        id: ChallengeId,
        not_after: Moment,
    ) -> Result<ChallengeRecord, DispatchError> {
        let record = Self::challenge(id)?;
        ensure!(record.host == *host, Error::<T>::NotChallengedHost);
        ensure!(record.phase == ChallengePhase::Answering, Error::<T>::NotAnswering);
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        ensure!(Self::now() <= not_after, Error::<T>::AnswerExpired);
        Ok(record)
    }

    pub(crate) fn do_answer(host: HostId, id: ChallengeId, digest: Digest, not_after: Moment) -> DispatchResult {
        let mut record = Self::answerable(&host, id, not_after)?;
        let now = Self::now();
        let until = now.saturating_add(CurrentParams::<T>::get().challenge_commit_ms);
        record.answer = Some(ChallengeAnswer { digest, at: now });
        Self::move_challenge(id, &mut record, ChallengePhase::Committing, until)?;
        T::Hosts::set_challenged(&host, None);
        Challenges::<T>::insert(id, record);
        Self::deposit_event(Event::Answered { challenge: id, digest, until });
        Ok(())
    }

    pub(crate) fn commit_on_challenge(id: ChallengeId, who: &AccountId, commitment: Commitment) -> DispatchResult {
        let mut record = Self::challenge(id)?;
        ensure!(record.phase == ChallengePhase::Committing, Error::<T>::NotCommitting);
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        Self::record_commitment(Matter::Challenge(id), &mut record.ballot, who, commitment)?;
        if ballot::all_committed(&record.ballot.seats) {
            Self::open_challenge_reveals(id, &mut record)?;
        }
        Challenges::<T>::insert(id, record);
        Ok(())
    }

    pub(crate) fn reveal_on_challenge(id: ChallengeId, who: &AccountId, vote: Vote, salt: &Salt) -> DispatchResult {
        let mut record = Self::challenge(id)?;
        ensure!(record.phase == ChallengePhase::Revealing, Error::<T>::NotRevealing);
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        Self::record_vote(Matter::Challenge(id), &mut record.ballot, who, vote, salt)?;
        if ballot::all_revealed(&record.ballot.seats) {
            return Self::judge_challenge(id, record);
        }
        Challenges::<T>::insert(id, record);
        Ok(())
    }

    /// Draws the committee of a challenge that waits for it.
    pub(crate) fn draw_for_challenge(id: ChallengeId) -> DispatchResult {
        let mut record = Self::challenge(id)?;
        let params = CurrentParams::<T>::get();
        let matter = Matter::Challenge(id);
        let seed = Self::seed(matter, record.ballot.round)?;
        let parties = Self::parties(&record);
        let excluded: Vec<&AccountId> = parties.iter().collect();
        if !Self::seat_committee(matter, &mut record.ballot, params.committee_size, seed, &excluded) {
            return Self::close_challenge(id, record, ChallengeOutcome::TooFewVerifiers);
        }
        let until = Self::now().saturating_add(params.answer_ms);
        Self::move_challenge(id, &mut record, ChallengePhase::Answering, until)?;
        Challenges::<T>::insert(id, record);
        Self::deposit_event(Event::AnswerAwaited { challenge: id, until });
        Ok(())
    }

    /// Ends the present phase, whose time has passed.
    pub(crate) fn end_challenge_phase(id: ChallengeId) -> DispatchResult {
        let mut record = Self::challenge(id)?;
        match record.phase {
            ChallengePhase::Answering => Self::miss_challenge(id, record),
            ChallengePhase::Committing if ballot::can_decide(&record.ballot.seats) => {
                Self::open_challenge_reveals(id, &mut record)?;
                Challenges::<T>::insert(id, record);
                Ok(())
            }
            ChallengePhase::Committing | ChallengePhase::Revealing => Self::judge_challenge(id, record),
            ChallengePhase::Waiting | ChallengePhase::Closed => Err(Error::<T>::TransitionNotAllowed.into()),
        }
    }

    /// Closes a challenge that the host did not answer in time. Its opener pays the committee. The host is punished
    /// only if it missed another challenge shortly before this one was opened.
    fn miss_challenge(id: ChallengeId, mut record: ChallengeRecord) -> DispatchResult {
        let matter = Matter::Challenge(id);
        let spent = match &record.opener {
            Some(who) => Self::pay_committee(matter, &record.ballot, &Self::committee_fee(who, record.fee)),
            None => 0,
        };
        record.fee = record.fee.saturating_sub(spent);
        Self::dismiss_committee(&mut record.ballot);
        let period = CurrentParams::<T>::get().miss_period_ms;
        let missed_at = ByHost::<T>::get(&record.host).and_then(|of_host| of_host.missed_at);
        let again = missed_at.is_some_and(|missed_at| record.opened_at <= missed_at.saturating_add(period));
        let outcome = if again { ChallengeOutcome::NotAnswered } else { ChallengeOutcome::Missed };
        Self::close_challenge(id, record, outcome)
    }

    fn open_challenge_reveals(id: ChallengeId, record: &mut ChallengeRecord) -> DispatchResult {
        let until = Self::now().saturating_add(CurrentParams::<T>::get().challenge_reveal_ms);
        Self::move_challenge(id, record, ChallengePhase::Revealing, until)?;
        Self::deposit_event(Event::RevealsOpened { matter: Matter::Challenge(id), until });
        Ok(())
    }

    /// Closes the ballot, and the challenge unless another committee is needed: a verdict against the host must be
    /// confirmed by a second committee. If the first committee gave no verdict and no lease has taken the device since
    /// the answer, a second one is drawn.
    fn judge_challenge(id: ChallengeId, mut record: ChallengeRecord) -> DispatchResult {
        let verdict = ballot::verdict(&record.ballot.seats);
        let paid_before = match record.role {
            CommitteeRole::Confirming { paid } => Some(paid),
            CommitteeRole::First | CommitteeRole::Second => None,
        };
        let is_final = paid_before.is_some() || verdict.is_none_or(|verdict| !is_against_host(verdict));
        let seed = record.ballot.seed;
        let fee_source = record.opener.as_ref().map(|who| Self::committee_fee(who, record.fee));
        let paid = Self::close_ballot(Matter::Challenge(id), &mut record.ballot, verdict, fee_source, is_final);
        record.fee = record.fee.saturating_sub(paid);
        match verdict {
            Some(Vote::Yes) if paid_before.is_some() => Self::close_challenge(id, record, ChallengeOutcome::NoVerdict),
            Some(Vote::Yes) => {
                let same = T::Hosts::device_of(&record.host, record.device).as_ref() == Some(&record.claim);
                let outcome = if same { ChallengeOutcome::Passed } else { ChallengeOutcome::HardwareChanged };
                Self::close_challenge(id, record, outcome)
            }
            Some(Vote::No | Vote::PodRefused) => match paid_before {
                Some(before) => {
                    if let Some(opener) = record.opener.as_ref().filter(|opener| **opener != record.provider) {
                        T::Hosts::compensate(&record.host, opener, before.saturating_add(paid));
                    }
                    Self::close_challenge(id, record, ChallengeOutcome::Failed)
                }
                None => Self::request_confirmation(id, record, seed, paid),
            },
            None if record.role != CommitteeRole::First || T::Hosts::is_leased(&record.host, record.device) => {
                Self::close_challenge(id, record, ChallengeOutcome::NoVerdict)
            }
            None => {
                record.role = CommitteeRole::Second;
                record.answer = None;
                T::Hosts::set_challenged(&record.host, Some(record.device));
                Self::move_challenge(id, &mut record, ChallengePhase::Waiting, 0)?;
                Challenges::<T>::insert(id, record);
                Ok(())
            }
        }
    }

    /// Draws a committee of other members that judges the same answer, after a verdict against the host. The seed of
    /// the answer is used, so that the committee cannot be chosen by the time of the verdict. `paid` is the amount that
    /// the first committee was paid.
    fn request_confirmation(
        id: ChallengeId,
        mut record: ChallengeRecord,
        seed: Option<Seed>,
        paid: Balance,
    ) -> DispatchResult {
        let params = CurrentParams::<T>::get();
        let round = record.ballot.round;
        let parties = Self::parties(&record);
        let excluded: Vec<&AccountId> = parties.iter().collect();
        let members =
            seed.and_then(|seed| Self::seat_members(&mut record.ballot, params.committee_size, seed, &excluded));
        let Some(members) = members else {
            return Self::close_challenge(id, record, ChallengeOutcome::TooFewVerifiers);
        };
        record.role = CommitteeRole::Confirming { paid };
        let until = Self::now().saturating_add(params.challenge_commit_ms);
        Self::move_challenge(id, &mut record, ChallengePhase::Committing, until)?;
        Challenges::<T>::insert(id, record);
        Self::deposit_event(Event::ConfirmationAwaited { challenge: id, round, members, until });
        Ok(())
    }

    /// Returns the parties of a challenge: the host, its provider, the opener, and the provider of an opener that is a
    /// host.
    fn parties(record: &ChallengeRecord) -> Vec<AccountId> {
        let behind_opener = record.opener.as_ref().and_then(T::Hosts::provider_of);
        let mut parties = alloc::vec![record.host.clone(), record.provider.clone()];
        parties.extend(record.opener.iter().cloned().chain(behind_opener));
        parties
    }

    /// Returns the part of the remaining fee for one committee.
    fn committee_fee(opener: &AccountId, fee: Balance) -> CommitteeFee<'_> {
        let amount = CurrentParams::<T>::get().challenge_fee.min(fee);
        CommitteeFee { who: opener, reason: HoldReason::ChallengeFee, amount }
    }

    /// Closes a challenge, with the consequences for the host.
    fn close_challenge(id: ChallengeId, mut record: ChallengeRecord, outcome: ChallengeOutcome) -> DispatchResult {
        Self::move_challenge(id, &mut record, ChallengePhase::Closed, 0)?;
        let (host, device) = (record.host, record.device);
        if let Some(opener) = record.opener.filter(|_| record.fee > 0) {
            T::Currency::release(&HoldReason::ChallengeFee.into(), &opener, record.fee, Precision::Exact)?;
        }
        let lasted = Self::now().saturating_sub(record.opened_at);
        let misconduct = match outcome {
            ChallengeOutcome::Passed => {
                T::Hosts::attest(&host, device, true);
                T::Hosts::mark_verified(&host);
                None
            }
            ChallengeOutcome::Failed => Some(Misconduct::FailedChallenge),
            ChallengeOutcome::NotAnswered => Some(Misconduct::ChallengeNotAnswered),
            ChallengeOutcome::NoVerdict
            | ChallengeOutcome::TooFewVerifiers
            | ChallengeOutcome::HardwareChanged
            | ChallengeOutcome::Missed => None,
        };
        if let Some(misconduct) = misconduct {
            T::Hosts::attest(&host, device, false);
            T::Hosts::suspend(&host);
            T::Hosts::slash_for_misconduct(&host, misconduct, lasted);
        }
        T::Hosts::set_challenged(&host, None);
        let now = Self::now();
        ByHost::<T>::mutate(&host, |of_host| {
            if let Some(of_host) = of_host {
                of_host.open = None;
                match outcome {
                    ChallengeOutcome::Missed => of_host.missed_at = Some(now),
                    ChallengeOutcome::NotAnswered => of_host.missed_at = None,
                    _ => {}
                }
            }
        });
        Challenges::<T>::remove(id);
        Self::deposit_event(Event::ChallengeClosed { challenge: id, host, device, outcome, returned: record.fee });
        Ok(())
    }

    /// Changes the phase of a challenge. No other function does. The caller stores the record.
    fn move_challenge(
        id: ChallengeId,
        record: &mut ChallengeRecord,
        to: ChallengePhase,
        until: Moment,
    ) -> DispatchResult {
        ensure!(allows(CHALLENGE_TRANSITIONS, record.phase, to), Error::<T>::TransitionNotAllowed);
        record.phase = to;
        record.until = until;
        match to {
            ChallengePhase::Waiting => record.ballot.asked_in = Self::request_seed(Matter::Challenge(id)),
            _ => to.queue().into_iter().for_each(|queue| Self::schedule(queue, Matter::Challenge(id), until)),
        }
        Ok(())
    }

    fn challenge(id: ChallengeId) -> Result<ChallengeRecord, DispatchError> {
        Challenges::<T>::get(id).ok_or_else(|| Error::<T>::NoSuchChallenge.into())
    }
}
