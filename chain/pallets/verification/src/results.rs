//! Results that several hosts of different providers work out: bound to, compared by their tags, shown.

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
    /// The results to which `host` may add that of `lease` now.
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
        T::Tasks::committed(lease);
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

    /// The results among which `host` may show the tag of that of `lease` now, with its place.
    pub(crate) fn taggable(host: &HostId, lease: LeaseId) -> Result<(TaskId, ResultsRecord, usize), DispatchError> {
        let task = T::Tasks::task_of(lease);
        let record = Self::results(task)?;
        ensure!(record.phase == ResultsPhase::Tagging, Error::<T>::NotTagging);
        let place = Self::place_of(&record, host, lease)?;
        ensure!(record.replicas[place].tag.is_none(), Error::<T>::AlreadyTagged);
        Ok((task, record, place))
    }

    pub(crate) fn do_tag_result(host: HostId, lease: LeaseId, tag: ResultTag) -> DispatchResult {
        let (task, mut record, place) = Self::taggable(&host, lease)?;
        record.replicas[place].tag = Some(tag);
        Self::deposit_event(Event::ResultTagged { task, lease, tag });
        if is_tagged(&record) {
            return Self::compare_tags(task, record);
        }
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// The place of a replica whose host may show something of its result now.
    fn place_of(record: &ResultsRecord, host: &HostId, lease: LeaseId) -> Result<usize, DispatchError> {
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        let place = record.replicas.iter().position(|replica| replica.lease == lease);
        let place = place.ok_or(Error::<T>::NotCommitted)?;
        ensure!(record.replicas[place].host == *host, Error::<T>::NotHostOfLease);
        ensure!(T::Tasks::is_current(lease), Error::<T>::LeaseNotCurrent);
        let task = T::Tasks::task_of(lease);
        ensure!(T::Tasks::replicas_of(task).is_some(), Error::<T>::NotReplicated);
        Ok(place)
    }

    /// The results of which `host` may reveal that of `lease` now, with its place.
    pub(crate) fn revealable(
        host: &HostId,
        lease: LeaseId,
        result: &PodResult,
        salt: &Salt,
    ) -> Result<(TaskId, ResultsRecord, usize), DispatchError> {
        let task = T::Tasks::task_of(lease);
        let record = Self::results(task)?;
        ensure!(record.phase == ResultsPhase::Revealing, Error::<T>::NotRevealing);
        let place = Self::place_of(&record, host, lease)?;
        let replica = &record.replicas[place];
        ensure!(replica.result.is_none(), Error::<T>::AlreadyRevealed);
        ensure!(result_commitment(result, salt, host) == replica.commitment, Error::<T>::CommitmentMismatch);
        // None only of results that were compared when the chain did not know tags.
        ensure!(replica.tag.is_none_or(|tag| tag == result_tag(task, result)), Error::<T>::TagMismatch);
        Ok((task, record, place))
    }

    pub(crate) fn do_reveal_result(host: HostId, lease: LeaseId, result: PodResult, salt: Salt) -> DispatchResult {
        let (task, mut record, place) = Self::revealable(&host, lease, &result, &salt)?;
        T::Tasks::complete_pod(lease, result)?;
        record.replicas[place].result = Some(result);
        Self::deposit_event(Event::ResultRevealed { task, lease, result });
        if is_revealed(&record) {
            return Self::compare_results(task, record);
        }
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// The time of the present phase has passed.
    pub(crate) fn end_results_phase(task: TaskId) -> DispatchResult {
        let mut record = Self::results(task)?;
        if Self::still_compared(task, &mut record).is_none() {
            return Self::close_results(task, record, ResultsOutcome::Overtaken);
        }
        match record.phase {
            ResultsPhase::Tagging => return Self::compare_tags(task, record),
            ResultsPhase::Revealing => return Self::compare_results(task, record),
            ResultsPhase::Committing | ResultsPhase::Drawing | ResultsPhase::Closed => {}
        }
        let committed: Vec<LeaseId> = record.replicas.iter().map(|replica| replica.lease).collect();
        if T::Tasks::runs_on(task, &committed) {
            record.until = Self::now().saturating_add(CurrentParams::<T>::get().result_commit_ms);
            Self::schedule(Queue::ResultCommit, Matter::Results(task), record.until);
            Results::<T>::insert(task, record);
            return Ok(());
        }
        T::Tasks::end_others(task, &committed);
        match (record.audit, record.replicas.len()) {
            // Nobody came to repeat the work.
            (AuditState::Repeated { .. }, 1) => Self::open_single_reveal(task, record),
            _ => Self::open_tags(task, record),
        }
    }

    /// Leaves out replicas that were replaced. Returns the first that is left; None where there is none, or the task has
    /// ended.
    pub(crate) fn still_compared(task: TaskId, record: &mut ResultsRecord) -> Option<Replica> {
        record.replicas.retain(|replica| T::Tasks::is_current(replica.lease));
        T::Tasks::replicas_of(task).and_then(|_| record.replicas.first().cloned())
    }

    /// All that are compared have committed: they show their tags.
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

    /// Rejects what has no tag, and compares the tags of the rest: where they agree the results are revealed; else one more
    /// host is asked, once, or nobody knows. So that host sees no result before it has committed to its own.
    fn compare_tags(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        for replica in record.replicas.iter().filter(|replica| replica.tag.is_none()) {
            Self::reject(task, record.audit, replica, Misconduct::ResultNotRevealed, &Right::default());
        }
        record.replicas.retain(|replica| replica.tag.is_some());
        if !agreement::tags_agree(&record.replicas) {
            return Self::ask_or_give_up(task, record);
        }
        Self::open_reveals(task, record)
    }

    /// The hosts may reveal their results.
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

    /// Rejects what was not revealed, and compares the rest: they agree, or one more host is asked, once, or nobody
    /// knows. The last two only where a host did not reveal a result whose tag it had shown.
    fn compare_results(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        let agreed = agreement::agreed(&record.replicas);
        let is_right = |replica: &&Replica| agreed.is_some() && agreement::essence(replica) == agreed;
        let right = Self::right(task, record.replicas.iter().filter(is_right).collect(), record.replicas.len());
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
            // Of a host that is always audited only results that were compared count.
            if Self::valid_results(&only.host) >= CurrentParams::<T>::get().audit_valid_results {
                Self::note_valid_result(task, &only.host);
            }
            T::Tasks::end_others(task, &[only.lease]);
            T::Tasks::not_repeated(task)?;
            return Self::close_results(task, record, ResultsOutcome::NotRepeated);
        }

        if let Some(agreed) = agreed {
            // A pod that was lost and placed again may still run; nobody waits for it.
            let revealed: Vec<LeaseId> = record.replicas.iter().map(|replica| replica.lease).collect();
            T::Tasks::end_others(task, &revealed);
            T::Tasks::verified(task)?;
            let (digest, exit_code) = agreed;
            return Self::close_results(task, record, ResultsOutcome::Agreed { digest, exit_code });
        }
        Self::ask_or_give_up(task, record)
    }

    /// The results that are left do not agree: one more host is asked, once, or nobody knows.
    fn ask_or_give_up(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        let left = record.replicas.len() as u8;
        let asks = !record.extended && left > 0;
        if asks && with_storage_layer(|| T::Tasks::want_extra_pod(task)).is_ok() {
            record.extended = true;
            record.wanted = left.saturating_add(1);
            let until = Self::now().saturating_add(CurrentParams::<T>::get().result_commit_ms);
            Self::move_results(task, &mut record, ResultsPhase::Committing, until)?;
            Self::deposit_event(Event::ExtraPodWanted { task, wanted: record.wanted });
            Results::<T>::insert(task, record);
            return Ok(());
        }
        T::Tasks::no_agreement(task)?;
        Self::close_results(task, record, ResultsOutcome::NoAgreement)
    }

    /// The hosts whose results are right, of `all` that are compared. Those that are slashed share the fees.
    fn right(task: TaskId, right: Vec<&Replica>, all: usize) -> Right {
        let leases: Vec<LeaseId> = right.iter().map(|replica| replica.lease).collect();
        let slashed = all.saturating_sub(right.len()) as Balance;
        let fees = T::Tasks::treasury_fees(task, &leases).checked_div(slashed).unwrap_or(0);
        Right { hosts: right.into_iter().map(|replica| replica.host.clone()).collect(), fees }
    }

    /// A result is wrong or missing: it is not paid, and its host is slashed. Where others are `right`, their providers and
    /// the tenant get a part of that.
    fn reject(task: TaskId, audit: AuditState, replica: &Replica, reason: Misconduct, right: &Right) {
        let params = CurrentParams::<T>::get();
        let (lease, host) = (replica.lease, replica.host.clone());
        // Who repeats the work of others is checked each time, and loses less.
        let is_audited = audit == AuditState::Repeated { lease };
        let deposits = if is_audited { params.audit_slash_deposits } else { params.replica_slash_deposits };
        let amount = slashes::slash(deposits, T::Tasks::deposit_of(lease));
        let (to_tenant, to_each) = slashes::rewards(&params, amount, right.fees, right.hosts.len());
        // Nobody is paid for what its own host did.
        let is_stranger = |who: &AccountId| T::Hosts::provider_of(&host).as_ref() != Some(who);
        let tenant = T::Tasks::tenant_of(task).into_iter().map(|who| (who, to_tenant));
        let providers = right.hosts.iter().filter_map(T::Hosts::provider_of).map(|who| (who, to_each));
        let rewards: Vec<_> = tenant.chain(providers).filter(|(who, part)| *part > 0 && is_stranger(who)).collect();

        Self::forget_valid_results(&host);
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

    /// The one way in which results change their phase; the caller stores the record.
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
                Self::ask_for_seed(Matter::Results(task));
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
struct Right {
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
