//! Preemption: running spot tasks are evicted, after a notice, for a queued task of higher priority.
//!
//! A notice names the hosts of the queued task. It is given only if the pods fit there after the victims are evicted,
//! and not before. The victims are evicted only by the call that assigns the queued task there.

use frame_support::{
    dispatch::WithPostDispatchInfo,
    pallet_prelude::*,
    storage::{with_transaction, TransactionOutcome},
};
use gantry_primitives::{
    AccountId, EndReason, HostId, Moment, NoticeState, PodPlacement, Preemption, PreemptionNotice, TaskId, TaskKey,
    TaskKind, TaskState, UpTo, MAX_PODS, MAX_VICTIMS,
};

use crate::{
    assignment::Assigner,
    changes::{LoadedTask, TaskChanges},
    Config, Error, Event, Pallet, PreemptionNotices, Schedulers, WeightInfo,
};

/// Returns how many leases a notice may concern: those of `victims` victims, and those of the queued task.
pub(crate) const fn max_leases(victims: usize) -> u32 {
    (victims as u32 + 1) * MAX_PODS
}

impl<T: Config> Pallet<T> {
    /// A refused call pays for the work that was done.
    pub(crate) fn do_preempt(
        who: AccountId,
        wanting: TaskId,
        victims: UpTo<TaskId, MAX_VICTIMS>,
        pods: UpTo<PodPlacement, MAX_PODS>,
    ) -> DispatchResultWithPostInfo {
        let mut leases = pods.len() as u32;
        let notified = Self::give_notice(who, wanting, victims, pods, &mut leases);
        let weight = <T as Config>::WeightInfo::preempt(leases);
        notified.map_err(|error| error.with_weight(weight))?;
        Ok(Some(weight).into())
    }

    /// Checks and stores a notice. Adds the number of the victims' leases to `leases`.
    fn give_notice(
        who: AccountId,
        wanting: TaskId,
        victims: UpTo<TaskId, MAX_VICTIMS>,
        pods: UpTo<PodPlacement, MAX_PODS>,
        leases: &mut u32,
    ) -> DispatchResult {
        ensure!(Schedulers::<T>::contains_key(&who), Error::<T>::NotScheduler);
        let is_repeated = |position: usize| victims[..position].contains(&victims[position]);
        let are_sound = !victims.is_empty() && !(0..victims.len()).any(is_repeated);
        ensure!(are_sound, Error::<T>::VictimsInvalid);
        let mut changes = TaskChanges::<T>::new();
        let ends_at = changes.now.saturating_add(changes.params.preemption_notice_ms);
        let mut loaded = changes.load(wanting)?;
        ensure_may_preempt::<T>(&loaded, changes.now)?;
        ensure!(loaded.deadline().is_none_or(|deadline| ends_at <= deadline), Error::<T>::DeadlinePassed);
        let priority = loaded.spec().priority;
        for victim in &victims {
            let loaded = changes.load(*victim)?;
            ensure!(loaded.spec().spot, Error::<T>::NotSpot);
            ensure!(loaded.record.state == TaskState::Running, Error::<T>::NotRunning);
            ensure!(loaded.spec().priority < priority, Error::<T>::PriorityNotLower);
            ensure!(loaded.record.preemption.is_none(), Error::<T>::AlreadyNoticed);
            let is_there = |host: &HostId| pods.iter().any(|pod| pod.host == *host);
            ensure!(loaded.record.leases.iter().any(|lease| is_there(&lease.host)), Error::<T>::VictimElsewhere);
            *leases = leases.saturating_add(loaded.record.leases.len() as u32);
        }
        let notice = PreemptionNotice { victims, pods, scheduler: who, ends_at };
        with_transaction(|| {
            TransactionOutcome::Rollback(TaskChanges::<T>::new().dry_run_preemption(wanting, &notice))
        })?;

        for victim in &notice.victims {
            let mut loaded = changes.load(*victim)?;
            loaded.record.preemption = Some(Preemption { wanting, ends_at });
            changes.store(loaded);
            Self::deposit_event(Event::PreemptionNoticed { task: *victim, wanting, ends_at });
        }
        loaded.record.notice = NoticeState::Standing(ends_at);
        changes.store(loaded);
        PreemptionNotices::<T>::insert(TaskKey::from(wanting), notice);
        changes.commit()
    }

    pub(crate) fn do_finish_preemption(who: AccountId, wanting: TaskId) -> DispatchResultWithPostInfo {
        let notice = PreemptionNotices::<T>::get(TaskKey::from(wanting)).ok_or(Error::<T>::NotNoticed)?;
        let mut changes = TaskChanges::<T>::new();
        ensure!(changes.now >= notice.ends_at, Error::<T>::NoticeNotOver);
        let mut leases = notice.pods.len() as u32;
        let taken = with_transaction(|| {
            let mut changes = TaskChanges::<T>::new().with_settler(who);
            let placed = changes.evict_and_assign(wanting, &notice, &mut leases);
            match placed.and_then(|()| changes.commit()) {
                Ok(()) => TransactionOutcome::Commit(Ok(())),
                Err(error) => TransactionOutcome::Rollback(Err(error)),
            }
        });
        if let Err(error) = taken {
            let mut loaded = changes.load(wanting)?;
            let until = changes.now.saturating_add(changes.params.preemption_notice_ms);
            changes.withdraw_notice(&mut loaded, NoticeState::Withdrawn(until));
            changes.store(loaded);
            changes.commit()?;
            Self::deposit_event(Event::PreemptionFailed { task: wanting, error });
        }
        Ok(Some(<T as Config>::WeightInfo::finish_preemption(leases)).into())
    }
}

/// Checks whether a task may preempt others now.
fn ensure_may_preempt<T: Config>(loaded: &LoadedTask, now: Moment) -> DispatchResult {
    ensure!(loaded.record.state == TaskState::Queued, Error::<T>::NotQueued);
    // A preempted task preempts no others: else one notice would lead to the next.
    ensure!(loaded.record.preemption.is_none(), Error::<T>::WasPreempted);
    match loaded.record.notice {
        NoticeState::Standing(_) => Err(Error::<T>::NoticeStands.into()),
        NoticeState::Withdrawn(until) if now < until => Err(Error::<T>::NoticeTooSoon.into()),
        NoticeState::Withdrawn(_) | NoticeState::Absent => Ok(()),
    }
}

impl<T: Config> TaskChanges<T> {
    /// Checks that the queued task can be assigned to the hosts of the notice after the victims are evicted, and not
    /// before. The caller discards these changes and the storage transaction.
    fn dry_run_preemption(mut self, wanting: TaskId, notice: &PreemptionNotice) -> DispatchResult {
        let assigner = Assigner::Notice(&notice.scheduler);
        ensure!(self.assign(&assigner, wanting, notice.pods.clone()).is_err(), Error::<T>::FitsWithoutVictims);
        for victim in &notice.victims {
            let loaded = self.load(*victim)?;
            self.evict(loaded, wanting)?;
        }
        self.assign(&assigner, wanting, notice.pods.clone())
    }

    /// Evicts the victims that still run, and assigns the queued task. Adds the number of ended leases to `leases`.
    fn evict_and_assign(&mut self, wanting: TaskId, notice: &PreemptionNotice, leases: &mut u32) -> DispatchResult {
        for victim in &notice.victims {
            // A victim that has ended may be pruned by now.
            let Ok(loaded) = self.load(*victim) else { continue };
            if loaded.is_victim_of(wanting) {
                *leases = leases.saturating_add(loaded.record.leases.len() as u32);
                self.evict(loaded, wanting)?;
            }
        }
        self.assign(&Assigner::Notice(&notice.scheduler), wanting, notice.pods.clone())
    }

    /// Withdraws the preemption notice of a task, if there is one: its victims continue. Returns the number of victims.
    pub(crate) fn withdraw_notice(&mut self, loaded: &mut LoadedTask, state: NoticeState) -> u32 {
        if !matches!(loaded.record.notice, NoticeState::Standing(_)) {
            return 0;
        }
        let wanting = loaded.task;
        let Some(notice) = PreemptionNotices::<T>::take(TaskKey::from(wanting)) else {
            self.record_inconsistency(Error::<T>::NotNoticed.into());
            return 0;
        };
        loaded.record.notice = state;
        for task in &notice.victims {
            let Ok(mut victim) = self.load(*task) else { continue };
            if victim.is_victim_of(wanting) {
                victim.record.preemption = None;
                self.store(victim);
                Pallet::<T>::deposit_event(Event::PreemptionWithdrawn { task: *task, wanting });
            }
        }
        notice.victims.len() as u32
    }

    /// Evicts a task from its hosts. Eviction is no failed attempt. A rental cannot continue elsewhere without its
    /// data: it ends, and its data is retained.
    fn evict(&mut self, mut loaded: LoadedTask, wanting: TaskId) -> DispatchResult {
        let task = loaded.task;
        self.end_live_leases(&mut loaded, EndReason::Preempted);
        let mut bills = Default::default();
        if loaded.spec().kind == TaskKind::Rental {
            self.update_state(&mut loaded);
        } else {
            loaded.record.generation = loaded.record.generation.checked_add(1).ok_or(Error::<T>::Overflow)?;
            bills = self.close_all(&mut loaded);
            loaded.record.leases = BoundedVec::new();
            self.transition(&mut loaded, TaskState::Queued);
        }
        let state = loaded.record.state;
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::Preempted { task, wanting, bills, state });
        Ok(())
    }
}
