//! Service checks: whether a host served the pod of a lease before the check was opened.
//!
//! Verifiers probe services all the time, without the chain. The members of a committee vote by their own records of the
//! time before the opening, so that nothing which the host does after it changes a vote.

use alloc::vec::Vec;
use frame_support::{
    pallet_prelude::*,
    traits::{fungible::MutateHold, tokens::Precision},
};
use gantry_primitives::{
    transitions::allows, verification_tables::SERVICE_TRANSITIONS, AccountId, Balance, Ballot, Commitment, LeaseId,
    Matter, Moment, PenaltyReason, Salt, Seed, ServiceOutcome, ServicePhase, ServiceRecord, Vote,
};

use crate::{
    ballot,
    committees::{is_against_host, CommitteeFee},
    Config, CurrentParams, Error, Event, HoldReason, Hosts, Pallet, Services, Tasks, Verifiers,
};

/// Parts in a million.
const PPM: Balance = 1_000_000;

impl<T: Config> Pallet<T> {
    pub(crate) fn do_open_service_check(opener: AccountId, lease: LeaseId) -> DispatchResult {
        ensure!(!Services::<T>::contains_key(lease), Error::<T>::CheckOpen);
        let served = T::Tasks::served_lease(lease).ok_or(Error::<T>::LeaseNotServed)?;
        let params = CurrentParams::<T>::get();
        let now = Self::now();
        let since = now.saturating_sub(params.service_window_ms);
        ensure!(served.started_at <= since, Error::<T>::StartedLately);
        let by_tenant = opener == served.tenant;
        ensure!(by_tenant || Self::active_verifier(&opener).is_ok(), Error::<T>::NotTenantNorVerifier);
        ensure!(opener != served.provider, Error::<T>::OpenerIsParty);
        let mut checks = served.checks;
        // The intervals are separate, so that a tenant cannot block the checks of verifiers.
        let last = if by_tenant { &mut checks.by_tenant_at } else { &mut checks.by_verifier_at };
        let rested = last.is_none_or(|last| now >= last.saturating_add(params.service_rest_ms));
        ensure!(rested, Error::<T>::CheckedLately);
        *last = Some(now);
        // For the first committee and the confirming one.
        let fee = params.service_fee.saturating_mul(2);
        let payer = if by_tenant {
            opener.clone()
        } else {
            let share = served.treasury_fees.saturating_mul(params.service_share_ppm.into()) / PPM;
            ensure!(checks.spent.saturating_add(fee) <= share, Error::<T>::FeesTooLow);
            T::Treasury::get()
        };

        if fee > 0 {
            T::Currency::hold(&HoldReason::ServiceFee.into(), &payer, fee).map_err(|_| Error::<T>::CannotPayFee)?;
        }
        if !by_tenant {
            Self::add_duty(&opener);
        }
        T::Tasks::set_checks(lease, checks);
        let ballot = Ballot { asked_in: Self::request_seed(Matter::Service(lease)), ..Default::default() };
        Self::deposit_event(Event::ServiceCheckOpened {
            lease,
            host: served.host.clone(),
            opener: opener.clone(),
            since,
            fee,
        });
        let record = ServiceRecord {
            host: served.host,
            provider: served.provider,
            tenant: served.tenant,
            opener,
            payer,
            fee,
            paid: 0,
            phase: ServicePhase::Waiting,
            until: 0,
            since,
            opened_at: now,
            verdict: None,
            ballot,
        };
        Services::<T>::insert(lease, record);
        Ok(())
    }

    pub(crate) fn commit_on_service(lease: LeaseId, who: &AccountId, commitment: Commitment) -> DispatchResult {
        let mut record = Self::service_check(lease)?;
        ensure!(record.phase == ServicePhase::Committing, Error::<T>::NotCommitting);
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        Self::record_commitment(Matter::Service(lease), &mut record.ballot, who, commitment)?;
        if ballot::all_committed(&record.ballot.seats) {
            Self::open_service_reveals(lease, &mut record)?;
        }
        Services::<T>::insert(lease, record);
        Ok(())
    }

    pub(crate) fn reveal_on_service(lease: LeaseId, who: &AccountId, vote: Vote, salt: &Salt) -> DispatchResult {
        let mut record = Self::service_check(lease)?;
        ensure!(record.phase == ServicePhase::Revealing, Error::<T>::NotRevealing);
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        Self::record_vote(Matter::Service(lease), &mut record.ballot, who, vote, salt)?;
        if ballot::all_revealed(&record.ballot.seats) {
            return Self::judge_service(lease, record);
        }
        Services::<T>::insert(lease, record);
        Ok(())
    }

    /// Draws the committee of a service check that waits for it.
    pub(crate) fn draw_for_service(lease: LeaseId) -> DispatchResult {
        let mut record = Self::service_check(lease)?;
        let matter = Matter::Service(lease);
        let seed = Self::seed(matter, record.ballot.round)?;
        let size = CurrentParams::<T>::get().committee_size;
        let parties = service_parties(&record);
        let excluded: Vec<&AccountId> = parties.iter().collect();
        if !Self::seat_committee(matter, &mut record.ballot, size, seed, &excluded) {
            return Self::close_service(lease, record, ServiceOutcome::TooFewVerifiers);
        }
        let members = record.ballot.seats.iter().map(|seat| seat.who.clone()).collect();
        Self::await_service_votes(lease, record, members)
    }

    /// Ends the present phase, whose time has passed.
    pub(crate) fn end_service_phase(lease: LeaseId) -> DispatchResult {
        let mut record = Self::service_check(lease)?;
        match record.phase {
            ServicePhase::Committing if ballot::can_decide(&record.ballot.seats) => {
                Self::open_service_reveals(lease, &mut record)?;
                Services::<T>::insert(lease, record);
                Ok(())
            }
            ServicePhase::Committing | ServicePhase::Revealing => Self::judge_service(lease, record),
            ServicePhase::Waiting | ServicePhase::Closed => Err(Error::<T>::TransitionNotAllowed.into()),
        }
    }

    fn await_service_votes(lease: LeaseId, mut record: ServiceRecord, members: Vec<AccountId>) -> DispatchResult {
        let until = Self::now().saturating_add(CurrentParams::<T>::get().challenge_commit_ms);
        Self::move_service(lease, &mut record, ServicePhase::Committing, until)?;
        let verdict = record.verdict;
        Services::<T>::insert(lease, record);
        Self::deposit_event(Event::ServiceVotesAwaited { lease, verdict, members, until });
        Ok(())
    }

    fn open_service_reveals(lease: LeaseId, record: &mut ServiceRecord) -> DispatchResult {
        let until = Self::now().saturating_add(CurrentParams::<T>::get().challenge_reveal_ms);
        Self::move_service(lease, record, ServicePhase::Revealing, until)?;
        Self::deposit_event(Event::RevealsOpened { matter: Matter::Service(lease), until });
        Ok(())
    }

    /// Closes the ballot, and the check unless a verdict against the host must be confirmed. Of two verdicts against the
    /// host that differ, the milder counts.
    fn judge_service(lease: LeaseId, mut record: ServiceRecord) -> DispatchResult {
        let verdict = ballot::verdict(&record.ballot.seats);
        let is_final = record.verdict.is_some() || verdict.is_none_or(|verdict| !is_against_host(verdict));
        let seed = record.ballot.seed;
        let amount = CurrentParams::<T>::get().service_fee.min(record.fee);
        let fee_source = CommitteeFee { who: &record.payer, reason: HoldReason::ServiceFee, amount };
        let paid = Self::close_ballot(Matter::Service(lease), &mut record.ballot, verdict, Some(fee_source), is_final);
        record.fee = record.fee.saturating_sub(paid);
        record.paid = record.paid.saturating_add(paid);
        let outcome = match (verdict, record.verdict) {
            (Some(Vote::No | Vote::PodRefused), None) => {
                record.verdict = verdict;
                return Self::request_service_confirmation(lease, record, seed);
            }
            (Some(Vote::No), Some(Vote::No)) => ServiceOutcome::NotServed,
            (Some(Vote::No | Vote::PodRefused), Some(_)) => ServiceOutcome::PodRefused,
            (Some(Vote::Yes), None) => ServiceOutcome::Served,
            (Some(Vote::Yes), Some(_)) | (None, _) => ServiceOutcome::NoVerdict,
        };
        Self::close_service(lease, record, outcome)
    }

    /// Draws a committee of other members, which judges the same time, by the same seed.
    fn request_service_confirmation(lease: LeaseId, mut record: ServiceRecord, seed: Option<Seed>) -> DispatchResult {
        let size = CurrentParams::<T>::get().committee_size;
        let parties = service_parties(&record);
        let excluded: Vec<&AccountId> = parties.iter().collect();
        let members = seed.and_then(|seed| Self::seat_members(&mut record.ballot, size, seed, &excluded));
        let Some(members) = members else {
            return Self::close_service(lease, record, ServiceOutcome::TooFewVerifiers);
        };
        Self::await_service_votes(lease, record, members)
    }

    /// Closes a service check, with the consequences for host, opener and lease. A lease that ended meanwhile has none.
    fn close_service(lease: LeaseId, mut record: ServiceRecord, outcome: ServiceOutcome) -> DispatchResult {
        Self::move_service(lease, &mut record, ServicePhase::Closed, 0)?;
        let ServiceRecord { host, opener, payer, fee, paid, .. } = record;
        if fee > 0 {
            T::Currency::release(&HoldReason::ServiceFee.into(), &payer, fee, Precision::Exact)?;
        }
        let by_verifier = payer != opener;
        if by_verifier {
            Self::remove_duty(&opener);
        }
        let served = T::Tasks::served_lease(lease);
        let is_decided = matches!(outcome, ServiceOutcome::NotServed | ServiceOutcome::PodRefused);
        let outcome = if is_decided && served.is_none() { ServiceOutcome::Overtaken } else { outcome };
        if let Some(served) = served.filter(|_| by_verifier) {
            let mut checks = served.checks;
            checks.spent = checks.spent.saturating_add(paid);
            T::Tasks::set_checks(lease, checks);
        }
        Services::<T>::remove(lease);
        match outcome {
            ServiceOutcome::NotServed => {
                T::Tasks::end_unserved(lease, false);
                T::Hosts::compensate(&host, &payer, paid);
                if by_verifier {
                    T::Hosts::compensate(&host, &opener, CurrentParams::<T>::get().service_fee);
                }
            }
            ServiceOutcome::PodRefused => T::Tasks::end_unserved(lease, true),
            ServiceOutcome::Served if by_verifier => Self::penalise_opener(lease, &opener),
            ServiceOutcome::Served
            | ServiceOutcome::NoVerdict
            | ServiceOutcome::TooFewVerifiers
            | ServiceOutcome::Overtaken => {}
        }
        Self::deposit_event(Event::ServiceCheckClosed { lease, host, outcome, paid });
        Ok(())
    }

    /// Penalises a verifier that opened a check of a service which was served, as if it had voted against the majority.
    fn penalise_opener(lease: LeaseId, opener: &AccountId) {
        let bond = Verifiers::<T>::get(opener).map_or(0, |record| record.bond);
        let penalty = CurrentParams::<T>::get().minority_penalty.min(bond);
        let amount = Self::pay(opener, HoldReason::VerifierBond, &T::Treasury::get(), penalty);
        Self::reduce_bond(opener, Matter::Service(lease), PenaltyReason::Minority, amount);
    }

    /// Changes the phase of a service check. No other function does. The caller stores the record.
    fn move_service(lease: LeaseId, record: &mut ServiceRecord, to: ServicePhase, until: Moment) -> DispatchResult {
        ensure!(allows(SERVICE_TRANSITIONS, record.phase, to), Error::<T>::TransitionNotAllowed);
        record.phase = to;
        record.until = until;
        // No check returns to the queue of seeds.
        to.queue().into_iter().for_each(|queue| Self::schedule(queue, Matter::Service(lease), until));
        Ok(())
    }

    fn service_check(lease: LeaseId) -> Result<ServiceRecord, DispatchError> {
        Services::<T>::get(lease).ok_or_else(|| Error::<T>::NoSuchCheck.into())
    }
}

/// Returns the parties of a service check: the host, its provider, the tenant and the opener.
pub(crate) fn service_parties(record: &ServiceRecord) -> [AccountId; 4] {
    [record.host.clone(), record.provider.clone(), record.tenant.clone(), record.opener.clone()]
}
