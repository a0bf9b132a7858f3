//! Results that several hosts of different providers work out: bound to, shown, compared.

use alloc::vec::Vec;
use frame_support::{pallet_prelude::*, storage::with_storage_layer};
use gantry_primitives::{
    commitments::result_commitment, transitions::allows, verification_tables::RESULTS_TRANSITIONS, Commitment, HostId,
    LeaseId, Matter, Misconduct, Moment, PodResult, Queue, Replica, ResultsOutcome, ResultsPhase, ResultsRecord, Salt,
    TaskId,
};

use crate::{agreement, Config, CurrentParams, Error, Event, Hosts, Pallet, Results, Tasks};

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
                    replicas: Default::default(),
                }
            }
        };
        record.replicas.retain(|replica| T::Tasks::is_current(replica.lease));
        let replica = Replica { lease, host, commitment, result: None };
        record.replicas.try_push(replica).map_err(|_| Error::<T>::CommitmentsClosed)?;
        T::Tasks::end_committed_pod(lease);
        Self::deposit_event(Event::ResultCommitted { task, lease, commitment });
        if record.replicas.len() >= usize::from(record.wanted) {
            Self::open_result_reveals(task, &mut record)?;
        }
        Results::<T>::insert(task, record);
        Ok(())
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
        ensure!(Self::now() <= record.until, Error::<T>::TooLate);
        let position = record.replicas.iter().position(|replica| replica.lease == lease);
        let position = position.ok_or(Error::<T>::NotCommitted)?;
        let replica = &record.replicas[position];
        ensure!(replica.host == *host, Error::<T>::NotHostOfLease);
        ensure!(replica.result.is_none(), Error::<T>::AlreadyRevealed);
        ensure!(T::Tasks::is_current(lease), Error::<T>::LeaseNotCurrent);
        ensure!(T::Tasks::replicas_of(task).is_some(), Error::<T>::NotReplicated);
        ensure!(result_commitment(result, salt, host) == replica.commitment, Error::<T>::CommitmentMismatch);
        Ok((task, record, position))
    }

    pub(crate) fn do_reveal_result(host: HostId, lease: LeaseId, result: PodResult, salt: Salt) -> DispatchResult {
        let (task, mut record, position) = Self::revealable(&host, lease, &result, &salt)?;
        T::Tasks::complete_pod(lease, result)?;
        record.replicas[position].result = Some(result);
        Self::deposit_event(Event::ResultRevealed { task, lease, result });
        if record.replicas.iter().all(|replica| replica.result.is_some()) {
            return Self::compare_results(task, record);
        }
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// Ends the present phase, whose time has passed.
    pub(crate) fn end_results_phase(task: TaskId) -> DispatchResult {
        let mut record = Self::results(task)?;
        if T::Tasks::replicas_of(task).is_none() {
            return Self::close_results(task, record, ResultsOutcome::Overtaken);
        }
        record.replicas.retain(|replica| T::Tasks::is_current(replica.lease));
        if record.replicas.is_empty() {
            return Self::close_results(task, record, ResultsOutcome::Overtaken);
        }
        if record.phase == ResultsPhase::Revealing {
            return Self::compare_results(task, record);
        }
        let committed: Vec<LeaseId> = record.replicas.iter().map(|replica| replica.lease).collect();
        if T::Tasks::has_other_pods(task, &committed) {
            record.until = Self::now().saturating_add(CurrentParams::<T>::get().result_commit_ms);
            Self::schedule(Queue::ResultCommit, Matter::Results(task), record.until);
            Results::<T>::insert(task, record);
            return Ok(());
        }
        T::Tasks::end_other_pods(task, &committed);
        Self::open_result_reveals(task, &mut record)?;
        if record.replicas.iter().all(|replica| replica.result.is_some()) {
            return Self::compare_results(task, record);
        }
        Results::<T>::insert(task, record);
        Ok(())
    }

    fn open_result_reveals(task: TaskId, record: &mut ResultsRecord) -> DispatchResult {
        let until = Self::now().saturating_add(CurrentParams::<T>::get().result_reveal_ms);
        Self::move_results(task, record, ResultsPhase::Revealing, until)?;
        Self::deposit_event(Event::ResultsOpened { task, until });
        Ok(())
    }

    /// Rejects what was not revealed, and compares the rest: they agree, or one more host is asked, once, or nobody
    /// knows.
    fn compare_results(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        let lasted = Self::now().saturating_sub(record.opened_at);
        for replica in record.replicas.iter().filter(|replica| replica.result.is_none()) {
            Self::reject(task, replica, Misconduct::ResultNotRevealed, lasted);
        }
        record.replicas.retain(|replica| replica.result.is_some());

        if let Some(agreed) = agreement::agreed(&record.replicas) {
            for replica in record.replicas.iter().filter(|replica| agreement::result_key(replica) != Some(agreed)) {
                Self::reject(task, replica, Misconduct::WrongResult, lasted);
            }
            // A pod that was lost and assigned again may still run; it is not awaited.
            let revealed: Vec<LeaseId> = record.replicas.iter().map(|replica| replica.lease).collect();
            T::Tasks::end_other_pods(task, &revealed);
            T::Tasks::mark_verified(task)?;
            let (digest, exit_code) = agreed;
            return Self::close_results(task, record, ResultsOutcome::Agreed { digest, exit_code });
        }
        let revealed = record.replicas.len() as u8;
        let asks = !record.extended && revealed > 0;
        if asks && with_storage_layer(|| T::Tasks::request_extra_pod(task)).is_ok() {
            record.extended = true;
            record.wanted = revealed.saturating_add(1);
            let until = Self::now().saturating_add(CurrentParams::<T>::get().result_commit_ms);
            Self::move_results(task, &mut record, ResultsPhase::Committing, until)?;
            Self::deposit_event(Event::ExtraPodWanted { task, wanted: record.wanted });
            Results::<T>::insert(task, record);
            return Ok(());
        }
        T::Tasks::fail_without_agreement(task)?;
        Self::close_results(task, record, ResultsOutcome::NoAgreement)
    }

    fn reject(task: TaskId, replica: &Replica, reason: Misconduct, lasted_ms: u64) {
        T::Tasks::void_pod(replica.lease);
        T::Hosts::slash_for_misconduct(&replica.host, reason, lasted_ms);
        let (lease, host) = (replica.lease, replica.host.clone());
        Self::deposit_event(Event::ReplicaRejected { task, lease, host, reason });
    }

    fn close_results(task: TaskId, mut record: ResultsRecord, outcome: ResultsOutcome) -> DispatchResult {
        Self::move_results(task, &mut record, ResultsPhase::Closed, 0)?;
        Results::<T>::remove(task);
        Self::deposit_event(Event::ResultsClosed { task, outcome });
        Ok(())
    }

    /// Changes the phase of results. No other function does. The caller stores the record.
    fn move_results(task: TaskId, record: &mut ResultsRecord, to: ResultsPhase, until: Moment) -> DispatchResult {
        ensure!(allows(RESULTS_TRANSITIONS, record.phase, to), Error::<T>::TransitionNotAllowed);
        record.phase = to;
        record.until = until;
        to.queue().into_iter().for_each(|queue| Self::schedule(queue, Matter::Results(task), until));
        Ok(())
    }

    fn results(task: TaskId) -> Result<ResultsRecord, DispatchError> {
        Results::<T>::get(task).ok_or_else(|| Error::<T>::NoSuchResults.into())
    }
}
