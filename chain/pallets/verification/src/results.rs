//! Results of replicas on hosts of different providers: commitments, comparison of tags, and reveals.

use alloc::vec::Vec;
use frame_support::{pallet_prelude::*, storage::with_storage_layer};
use gantry_primitives::{
    commitments::{result_commitment, result_tag},
    transitions::allows,
    verification_tables::RESULTS_TRANSITIONS,
    AccountId, AuditState, Balance, Commitment, HostId, LeaseId, Matter, Misconduct, Moment, PodResult, Queue, Replica,
    ResultTag, ResultsOutcome, ResultsPhase, ResultsRecord, Salt, TaskId,
};

use crate::{agreement, slashes, Config, CurrentParams, Error, Event, Hosts, Pallet, Results, Tasks};

impl<T: Config> Pallet<T> {
    /// Returns the results to which `host` may commit that of `lease` now.
    pub(crate) fn committable(host: &HostId, lease: LeaseId) -> Result<(TaskId, Option<ResultsRecord>), DispatchError> {
        T::Tasks::can_commit(lease, host)?;
        let task = T::Tasks::task_of(lease);
        let record = Results::<T>::get(task);
        if let Some(record) = &record {
            ensure!(record.phase == ResultsPhase::Committing, Error::<T>::CommitmentsClosed);
            ensure!(record.replicas.iter().all(|replica| replica.lease != lease), Error::<T>::AlreadyCommitted);
        } else {
            ensure!(T::Tasks::replicas_of(task).is_some(), Error::<T>::NotReplicated);
        }
        Ok((task, record))
    }

    pub(crate) fn do_commit_result(host: HostId, lease: LeaseId, commitment: Commitment) -> DispatchResult {
        let (task, record) = Self::committable(&host, lease)?;
        let now = Self::now();
        let mut record = match record {
            Some(record) => record,
            None => {
                let until = now.saturating_add(CurrentParams::<T>::get().result_commit_ms);
                Self::schedule(Queue::ResultCommit, Matter::Results(task), until);
                ResultsRecord {
                    phase: ResultsPhase::Committing,
                    until,
                    opened_at: now,
                    wanted: T::Tasks::replicas_of(task).ok_or(Error::<T>::NotReplicated)?,
                    extended: false,
                    audit: if T::Tasks::is_audited(task) { AuditState::Awaited } else { AuditState::NotDrawn },
                    replicas: Default::default(),
                }
            }
        };
        record.replicas.retain(|replica| T::Tasks::is_current(replica.lease));
        let replica = Replica { lease, host, commitment, tag: None, result: None };
        record.replicas.try_push(replica).map_err(|_| Error::<T>::CommitmentsClosed)?;
        T::Tasks::end_committed_pod(lease);
        Self::deposit_event(Event::ResultCommitted { task, lease, commitment });
        if record.replicas.len() >= usize::from(record.wanted) {
            return match record.audit {
                AuditState::Awaited => Self::await_audit(task, record),
                _ => Self::open_tags(task, record),
            };
        }
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// Returns the results among which `host` may show the tag of that of `lease` now, and its position.
    pub(crate) fn taggable(host: &HostId, lease: LeaseId) -> Result<(TaskId, ResultsRecord, usize), DispatchError> {
        let task = T::Tasks::task_of(lease);
        let record = Self::results(task)?;
        ensure!(record.phase == ResultsPhase::Tagging, Error::<T>::NotTagging);
        let position = Self::replica_position(&record, host, lease)?;
        ensure!(record.replicas[position].tag.is_none(), Error::<T>::AlreadyTagged);
        Ok((task, record, position))
    }

    pub(crate) fn do_tag_result(host: HostId, lease: LeaseId, tag: ResultTag) -> DispatchResult {
        let (task, mut record, position) = Self::taggable(&host, lease)?;
        record.replicas[position].tag = Some(tag);
        Self::deposit_event(Event::ResultTagged { task, lease, tag });
        if is_tagged(&record) {
            return Self::compare_tags(task, record);
        }
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// Returns the position of a replica whose host may show its tag or its result now.
    fn replica_position(record: &ResultsRecord, host: &HostId, lease: LeaseId) -> Result<usize, DispatchError> {
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        let position = record.replicas.iter().position(|replica| replica.lease == lease);
        let position = position.ok_or(Error::<T>::NotCommitted)?;
        ensure!(record.replicas[position].host == *host, Error::<T>::NotHostOfLease);
        ensure!(T::Tasks::is_current(lease), Error::<T>::LeaseNotCurrent);
        let task = T::Tasks::task_of(lease);
        ensure!(T::Tasks::replicas_of(task).is_some(), Error::<T>::NotReplicated);
        Ok(position)
    }

    /// Returns the results among which `host` may reveal that of `lease` now, and its position.
    pub(crate) fn revealable(
        host: &HostId,
        lease: LeaseId,
        result: &PodResult,
        salt: &Salt,
    ) -> Result<(TaskId, ResultsRecord, usize), DispatchError> {
        let task = T::Tasks::task_of(lease);
        let record = Self::results(task)?;
        ensure!(record.phase == ResultsPhase::Revealing, Error::<T>::NotRevealing);
        let position = Self::replica_position(&record, host, lease)?;
        let replica = &record.replicas[position];
        ensure!(replica.result.is_none(), Error::<T>::AlreadyRevealed);
        ensure!(result_commitment(result, salt, host) == replica.commitment, Error::<T>::CommitmentMismatch);
        // None only for results from before the chain had tags.
        ensure!(replica.tag.is_none_or(|tag| tag == result_tag(task, result)), Error::<T>::TagMismatch);
        Ok((task, record, position))
    }

    pub(crate) fn do_reveal_result(host: HostId, lease: LeaseId, result: PodResult, salt: Salt) -> DispatchResult {
        let (task, mut record, position) = Self::revealable(&host, lease, &result, &salt)?;
        T::Tasks::complete_pod(lease, result)?;
        record.replicas[position].result = Some(result);
        Self::deposit_event(Event::ResultRevealed { task, lease, result });
        if is_revealed(&record) {
            return Self::compare_results(task, record);
        }
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// Ends the present phase, whose time has passed.
    pub(crate) fn end_results_phase(task: TaskId) -> DispatchResult {
        let mut record = Self::results(task)?;
        if Self::retain_current_replicas(task, &mut record).is_none() {
            return Self::close_results(task, record, ResultsOutcome::Overtaken);
        }
        match record.phase {
            ResultsPhase::Tagging => return Self::compare_tags(task, record),
            ResultsPhase::Revealing => return Self::compare_results(task, record),
            ResultsPhase::Committing | ResultsPhase::Drawing | ResultsPhase::Closed => {}
        }
        let committed: Vec<LeaseId> = record.replicas.iter().map(|replica| replica.lease).collect();
        if T::Tasks::has_other_pods(task, &committed) {
            record.until = Self::now().saturating_add(CurrentParams::<T>::get().result_commit_ms);
            Self::schedule(Queue::ResultCommit, Matter::Results(task), record.until);
            Results::<T>::insert(task, record);
            return Ok(());
        }
        T::Tasks::end_other_pods(task, &committed);
        match (record.audit, record.replicas.len()) {
            // No host has repeated the work.
            (AuditState::Repeated { .. }, 1) => Self::open_single_reveal(task, record),
            _ => Self::open_tags(task, record),
        }
    }

    /// Removes replicas that were replaced. Returns the first that remains. None if there is none, or the task has
    /// ended.
    pub(crate) fn retain_current_replicas(task: TaskId, record: &mut ResultsRecord) -> Option<Replica> {
        record.replicas.retain(|replica| T::Tasks::is_current(replica.lease));
        T::Tasks::replicas_of(task).and_then(|_| record.replicas.first().cloned())
    }

    /// Opens the phase in which the hosts show their tags: all have committed.
    fn open_tags(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        let until = Self::now().saturating_add(CurrentParams::<T>::get().result_reveal_ms);
        Self::move_results(task, &mut record, ResultsPhase::Tagging, until)?;
        Self::deposit_event(Event::TagsOpened { task, until });
        if is_tagged(&record) {
            return Self::compare_tags(task, record);
        }
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// Rejects replicas without a tag, and compares the tags of the rest. If they agree, the results are revealed; else
    /// one more replica is requested, once, or the task fails. So a further host sees no result before it has committed
    /// to its own.
    fn compare_tags(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        for replica in record.replicas.iter().filter(|replica| replica.tag.is_none()) {
            Self::reject(task, record.audit, replica, Misconduct::ResultNotRevealed, &AgreeingHosts::default());
        }
        record.replicas.retain(|replica| replica.tag.is_some());
        if !agreement::tags_agree(&record.replicas) {
            return Self::extend_or_fail(task, record);
        }
        Self::open_reveals(task, record)
    }

    /// Opens the phase in which the hosts reveal their results.
    pub(crate) fn open_reveals(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        let until = Self::now().saturating_add(CurrentParams::<T>::get().result_reveal_ms);
        Self::move_results(task, &mut record, ResultsPhase::Revealing, until)?;
        Self::deposit_event(Event::ResultsOpened { task, until });
        if is_revealed(&record) {
            return Self::compare_results(task, record);
        }
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// Rejects replicas that were not revealed, and compares the rest. If they do not agree, one more replica is
    /// requested, once, or the task fails; this happens only if a host did not reveal a result whose tag it had shown.
    fn compare_results(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        let agreed = agreement::agreed(&record.replicas);
        let is_right = |replica: &&Replica| agreed.is_some() && agreement::result_key(replica) == agreed;
        let right =
            Self::agreeing_hosts(task, record.replicas.iter().filter(is_right).collect(), record.replicas.len());
        for replica in &record.replicas {
            match replica.result {
                None => Self::reject(task, record.audit, replica, Misconduct::ResultNotRevealed, &right),
                Some(_) if agreed.is_some() && !is_right(&replica) => {
                    Self::reject(task, record.audit, replica, Misconduct::WrongResult, &right);
                }
                Some(_) => {}
            }
        }
        right.hosts.iter().for_each(|host| Self::note_valid_result(task, host));
        record.replicas.retain(|replica| replica.result.is_some());
        if let (AuditState::Single, [only]) = (record.audit, &record.replicas[..]) {
            // While a host is always audited, only compared results count.
            if Self::valid_results(&only.host) >= CurrentParams::<T>::get().audit_valid_results {
                Self::note_valid_result(task, &only.host);
            }
            T::Tasks::end_other_pods(task, &[only.lease]);
            T::Tasks::mark_reported(task)?;
            return Self::close_results(task, record, ResultsOutcome::NotRepeated);
        }

        if let Some(agreed) = agreed {
            // A pod that was lost and assigned again may still run; it is not awaited.
            let revealed: Vec<LeaseId> = record.replicas.iter().map(|replica| replica.lease).collect();
            T::Tasks::end_other_pods(task, &revealed);
            T::Tasks::mark_verified(task)?;
            let (digest, exit_code) = agreed;
            return Self::close_results(task, record, ResultsOutcome::Agreed { digest, exit_code });
        }
        Self::extend_or_fail(task, record)
    }

    /// Requests one more replica, once, because the remaining results do not agree; else fails the task.
    fn extend_or_fail(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        let left = record.replicas.len() as u8;
        let asks = !record.extended && left > 0;
        if asks && with_storage_layer(|| T::Tasks::request_extra_pod(task)).is_ok() {
            record.extended = true;
            record.wanted = left.saturating_add(1);
            let until = Self::now().saturating_add(CurrentParams::<T>::get().result_commit_ms);
            Self::move_results(task, &mut record, ResultsPhase::Committing, until)?;
            Self::deposit_event(Event::ExtraPodWanted { task, wanted: record.wanted });
            Results::<T>::insert(task, record);
            return Ok(());
        }
        T::Tasks::fail_without_agreement(task)?;
        Self::close_results(task, record, ResultsOutcome::NoAgreement)
    }

    /// Returns the hosts whose results are right, out of `all` compared ones. Those that are slashed share the fees.
    fn agreeing_hosts(task: TaskId, right: Vec<&Replica>, all: usize) -> AgreeingHosts {
        let leases: Vec<LeaseId> = right.iter().map(|replica| replica.lease).collect();
        let slashed = all.saturating_sub(right.len()) as Balance;
        let fees = T::Tasks::treasury_fees(task, &leases).checked_div(slashed).unwrap_or(0);
        AgreeingHosts { hosts: right.into_iter().map(|replica| replica.host.clone()).collect(), fees }
    }

    /// Rejects a wrong or missing result: it is not paid, and its host is slashed. If other results are `right`, their
    /// providers and the tenant get a part of the slash.
    fn reject(task: TaskId, audit: AuditState, replica: &Replica, reason: Misconduct, right: &AgreeingHosts) {
        let params = CurrentParams::<T>::get();
        let (lease, host) = (replica.lease, replica.host.clone());
        // A host that repeats the work of others is always checked, and loses less.
        let is_audited = audit == AuditState::Repeated { lease };
        let deposits = if is_audited { params.audit_slash_deposits } else { params.replica_slash_deposits };
        let amount = slashes::slash(deposits, T::Tasks::deposit_of(lease));
        let (to_tenant, to_each) = slashes::rewards(&params, amount, right.fees, right.hosts.len());
        // No account is rewarded for a slash of its own host.
        let is_stranger = |who: &AccountId| T::Hosts::provider_of(&host).as_ref() != Some(who);
        let tenant = T::Tasks::tenant_of(task).into_iter().map(|who| (who, to_tenant));
        let providers = right.hosts.iter().filter_map(T::Hosts::provider_of).map(|who| (who, to_each));
        let rewards: Vec<_> = tenant.chain(providers).filter(|(who, part)| *part > 0 && is_stranger(who)).collect();

        Self::reset_valid_results(&host);
        T::Tasks::void_pod(lease);
        let paid = T::Hosts::slash(&host, reason, amount, &rewards);
        Self::deposit_event(Event::ReplicaRejected { task, lease, host, reason });
        for ((who, _), amount) in rewards.into_iter().zip(paid).filter(|(_, amount)| *amount > 0) {
            Self::deposit_event(Event::SlashShared { task, lease, who, amount });
        }
    }

    pub(crate) fn close_results(task: TaskId, mut record: ResultsRecord, outcome: ResultsOutcome) -> DispatchResult {
        Self::move_results(task, &mut record, ResultsPhase::Closed, 0)?;
        Results::<T>::remove(task);
        Self::deposit_event(Event::ResultsClosed { task, outcome });
        Ok(())
    }

    /// Changes the phase of results. No other function does. The caller stores the record.
    pub(crate) fn move_results(
        task: TaskId,
        record: &mut ResultsRecord,
        to: ResultsPhase,
        until: Moment,
    ) -> DispatchResult {
        ensure!(allows(RESULTS_TRANSITIONS, record.phase, to), Error::<T>::TransitionNotAllowed);
        record.phase = to;
        record.until = until;
        match to {
            ResultsPhase::Drawing => {
                Self::request_seed(Matter::Results(task));
            }
            _ => to.queue().into_iter().for_each(|queue| Self::schedule(queue, Matter::Results(task), until)),
        }
        Ok(())
    }

    pub(crate) fn results(task: TaskId) -> Result<ResultsRecord, DispatchError> {
        Results::<T>::get(task).ok_or_else(|| Error::<T>::NoSuchResults.into())
    }
}

/// The hosts whose results agree, and the part of the treasury's fees for them that rewards for one slash are a part of.
#[derive(Default)]
struct AgreeingHosts {
    hosts: Vec<HostId>,
    fees: Balance,
}

/// Whether the tag of each result is known.
fn is_tagged(record: &ResultsRecord) -> bool {
    record.replicas.iter().all(|replica| replica.tag.is_some())
}

/// Whether each result is known.
fn is_revealed(record: &ResultsRecord) -> bool {
    record.replicas.iter().all(|replica| replica.result.is_some())
}
