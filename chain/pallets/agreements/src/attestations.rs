//! What auditors attest, and how it is contested.

use frame_support::pallet_prelude::*;
use gantry_primitives::{AccountId, Digest, Moment};
use sp_runtime::{traits::Zero, Perbill};

use crate::{
    AttestationId, AttestationRecord, Attestations, AttestationsOf, Attribute, Auditors, Config, Contest,
    CurrentParams, Due, Error, Event, HoldReason, Network, NextAttestationId, Pallet, Subject, VoidReason,
    MAX_ATTESTATIONS_OF_AUDITOR,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_attest(
        auditor: AccountId,
        subject: Subject,
        attribute: Attribute,
        evidence: Digest,
        expires_at: Moment,
    ) -> DispatchResult {
        Self::ensure_auditor(&auditor)?;
        let params = CurrentParams::<T>::get();
        let provider = match &subject {
            Subject::Provider(provider) => provider.clone(),
            Subject::Host(host) => T::Network::provider_of(host).ok_or(Error::<T>::NoSuchHost)?,
        };
        ensure!(provider != auditor, Error::<T>::AuditsItself);
        let is_empty = match &attribute {
            Attribute::Certificate(name) => name.is_empty(),
            Attribute::Region { region, max_latency_ms } => region.is_empty() || max_latency_ms.is_zero(),
        };
        ensure!(!is_empty, Error::<T>::AttributeEmpty);
        let now = Self::now();
        let lasts_ms = expires_at.saturating_sub(now);
        ensure!((1..=params.max_attestation_ms).contains(&lasts_ms), Error::<T>::ExpiryInvalid);

        let attestation = NextAttestationId::<T>::get();
        NextAttestationId::<T>::put(attestation.checked_add(1).ok_or(Error::<T>::Overflow)?);
        let mut listed = AttestationsOf::<T>::get(&subject);
        let own = listed.iter().filter_map(Attestations::<T>::get).filter(|known| known.auditor == auditor).count();
        ensure!((own as u32) < MAX_ATTESTATIONS_OF_AUDITOR, Error::<T>::TooManyAttestations);
        listed.try_push(attestation).map_err(|_| Error::<T>::TooManyAttestations)?;
        AttestationsOf::<T>::insert(&subject, listed);
        let stake = params.attestation_stake;
        Self::hold(&auditor, HoldReason::AttestationStake, stake)?;
        Self::change_auditor(&auditor, |record| record.attestations = record.attestations.saturating_add(1));
        let record = AttestationRecord {
            auditor: auditor.clone(),
            subject: subject.clone(),
            attribute: attribute.clone(),
            evidence,
            attested_at: now,
            expires_at,
            stake,
            contest: None,
            due_at: Self::schedule(Due::Attestation(attestation), expires_at),
        };
        Attestations::<T>::insert(attestation, record);
        Self::deposit_event(Event::Attested { attestation, auditor, subject, attribute, expires_at });
        Ok(())
    }

    /// `auditor`: who revokes it; none where the chain's governance does.
    pub(crate) fn do_revoke(auditor: Option<AccountId>, attestation: AttestationId) -> DispatchResult {
        let record = Self::attestation(attestation)?;
        ensure!(auditor.as_ref().is_none_or(|who| *who == record.auditor), Error::<T>::NotYourAttestation);
        ensure!(record.contest.is_none(), Error::<T>::IsContested);
        let reason = if auditor.is_some() { VoidReason::Revoked } else { VoidReason::ByGovernance };
        Self::unschedule(Due::Attestation(attestation), record.due_at);
        Self::void(attestation, record, reason)
    }

    pub(crate) fn do_contest(who: AccountId, attestation: AttestationId, evidence: Digest) -> DispatchResult {
        let mut record = Self::attestation(attestation)?;
        ensure!(record.contest.is_none(), Error::<T>::IsContested);
        ensure!(who != record.auditor, Error::<T>::AuditsItself);
        let params = CurrentParams::<T>::get();
        let (stake, until) = (params.contest_stake, Self::now().saturating_add(params.contest_ms));
        Self::hold(&who, HoldReason::ContestStake, stake)?;
        record.contest = Some(Contest { by: who.clone(), evidence, stake, until });
        Self::reschedule_attestation(attestation, &mut record, until);
        Attestations::<T>::insert(attestation, record);
        Self::deposit_event(Event::Contested { attestation, by: who, evidence, until });
        Ok(())
    }

    pub(crate) fn do_decide_contest(attestation: AttestationId, is_wrong: bool) -> DispatchResult {
        let mut record = Self::attestation(attestation)?;
        let contest = record.contest.take().ok_or(Error::<T>::NotContested)?;
        if is_wrong {
            Self::release(&contest.by, HoldReason::ContestStake, contest.stake)?;
            Self::slash(&mut record, &contest);
            Self::unschedule(Due::Attestation(attestation), record.due_at);
            return Self::void(attestation, record, VoidReason::FoundWrong);
        }
        let lost = Self::pay_half(&contest.by, HoldReason::ContestStake, &record.auditor, contest.stake);
        Self::release(&contest.by, HoldReason::ContestStake, contest.stake.saturating_sub(lost))?;
        let expires_at = record.expires_at;
        Self::reschedule_attestation(attestation, &mut record, expires_at);
        Attestations::<T>::insert(attestation, record);
        Self::deposit_event(Event::ContestRejected { attestation, decided: true });
        Ok(())
    }

    /// The time of an attestation has come: that of the contest, or its own.
    pub(crate) fn process_due_attestation(attestation: AttestationId) -> DispatchResult {
        let mut record = Self::attestation(attestation)?;
        if let Some(contest) = record.contest.take() {
            Self::release(&contest.by, HoldReason::ContestStake, contest.stake)?;
            Self::deposit_event(Event::ContestRejected { attestation, decided: false });
        }
        if record.expires_at <= Self::now() {
            return Self::void(attestation, record, VoidReason::Expired);
        }
        record.due_at = Self::schedule(Due::Attestation(attestation), record.expires_at);
        Attestations::<T>::insert(attestation, record);
        Ok(())
    }

    /// The auditor loses the stake and a part of its bond: half to who contested the attestation, half to the treasury.
    fn slash(record: &mut AttestationRecord, contest: &Contest) {
        let from_stake = Self::pay_half(&record.auditor, HoldReason::AttestationStake, &contest.by, record.stake);
        record.stake = record.stake.saturating_sub(from_stake);
        let part = Perbill::from_parts(CurrentParams::<T>::get().auditor_slash_ppm.saturating_mul(1_000));
        let bond = Auditors::<T>::get(&record.auditor).map_or(0, |auditor| auditor.bond);
        let due = part.mul_floor(bond);
        let from_bond = Self::pay_half(&record.auditor, HoldReason::AuditorBond, &contest.by, due);
        Self::change_auditor(&record.auditor, |auditor| auditor.bond = auditor.bond.saturating_sub(from_bond));
        let amount = from_stake.saturating_add(from_bond);
        Self::deposit_event(Event::AuditorSlashed { who: record.auditor.clone(), amount });
    }

    /// Ends an attestation that the caller has taken off the agenda.
    fn void(attestation: AttestationId, record: AttestationRecord, reason: VoidReason) -> DispatchResult {
        Self::release(&record.auditor, HoldReason::AttestationStake, record.stake)?;
        Self::change_auditor(&record.auditor, |auditor| auditor.attestations = auditor.attestations.saturating_sub(1));
        AttestationsOf::<T>::mutate_exists(&record.subject, |listed| {
            if let Some(list) = listed {
                list.retain(|known| *known != attestation);
                if list.is_empty() {
                    *listed = None;
                }
            }
        });
        Attestations::<T>::remove(attestation);
        Self::deposit_event(Event::Voided { attestation, reason });
        Ok(())
    }

    fn reschedule_attestation(attestation: AttestationId, record: &mut AttestationRecord, at: Moment) {
        Self::unschedule(Due::Attestation(attestation), record.due_at);
        record.due_at = Self::schedule(Due::Attestation(attestation), at);
    }

    fn attestation(attestation: AttestationId) -> Result<AttestationRecord, DispatchError> {
        Attestations::<T>::get(attestation).ok_or_else(|| Error::<T>::NoSuchAttestation.into())
    }
}
