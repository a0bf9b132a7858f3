//! Spot tasks that leave, with notice, for a waiting task of higher priority that is assigned in their place.
//!
//! A notice names the places of the waiting task. It is given only where the pods fit there once the victims have left,
//! and not before; and the victims leave only in the call that assigns the waiting task there.

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
    assigning::Assigner,
    desk::{Case, Desk},
    Config, Error, Event, Pallet, PreemptionNotices, Schedulers, WeightInfo,
};

/// How many leases a notice may be about: those of so many victims, and those of the waiting task.
pub(crate) const fn most_leases(victims: usize) -> u32 {
    (victims as u32 + 1) * MAX_PODS
}

impl<T: Config> Pallet<T> {
    /// A refusal costs what it took, too.
    pub(crate) fn do_preempt(
        who: AccountId,
        wanting: TaskId,
        victims: UpTo<TaskId, MAX_VICTIMS>,
        pods: UpTo<PodPlacement, MAX_PODS>,
    ) -> DispatchResultWithPostInfo {
        let mut leases = pods.len() as u32;
        let told = Self::tell(who, wanting, victims, pods, &mut leases);
        let weight = <T as Config>::WeightInfo::preempt(leases);
        told.map_err(|error| error.with_weight(weight))?;
        Ok(Some(weight).into())
    }

    /// Counts in `leases` those of the victims.
    fn tell(
        who: AccountId,
        wanting: TaskId,
        victims: UpTo<TaskId, MAX_VICTIMS>,
        pods: UpTo<PodPlacement, MAX_PODS>,
        leases: &mut u32,
    ) -> DispatchResult {
        ensure!(Schedulers::<T>::contains_key(&who), Error::<T>::NotScheduler);
        let is_repeated = |place: usize| victims[..place].contains(&victims[place]);
        let are_sound = !victims.is_empty() && !(0..victims.len()).any(is_repeated);
        ensure!(are_sound, Error::<T>::VictimsInvalid);
        let mut desk = Desk::<T>::new();
        let ends_at = desk.now.saturating_add(desk.params.preemption_notice_ms);
        let mut case = desk.open(wanting)?;
        ensure_may_ask::<T>(&case, desk.now)?;
        ensure!(case.deadline().is_none_or(|deadline| ends_at <= deadline), Error::<T>::DeadlinePassed);
        let priority = case.spec().priority;
        for victim in &victims {
            let case = desk.open(*victim)?;
            ensure!(case.spec().spot, Error::<T>::NotSpot);
            ensure!(case.record.state == TaskState::Running, Error::<T>::NotRunning);
            ensure!(case.spec().priority < priority, Error::<T>::PriorityNotLower);
            ensure!(case.record.preemption.is_none(), Error::<T>::AlreadyNoticed);
            let is_there = |host: &HostId| pods.iter().any(|pod| pod.host == *host);
            ensure!(case.record.leases.iter().any(|lease| is_there(&lease.host)), Error::<T>::VictimElsewhere);
            *leases = leases.saturating_add(case.record.leases.len() as u32);
        }
        let notice = PreemptionNotice { victims, pods, scheduler: who, ends_at };
        with_transaction(|| TransactionOutcome::Rollback(Desk::<T>::new().try_place(wanting, &notice)))?;

        for victim in &notice.victims {
            let mut case = desk.open(*victim)?;
            case.record.preemption = Some(Preemption { wanting, ends_at });
            desk.put(case);
            Self::deposit_event(Event::PreemptionNoticed { task: *victim, wanting, ends_at });
        }
        case.record.notice = NoticeState::Standing(ends_at);
        desk.put(case);
        PreemptionNotices::<T>::insert(TaskKey::from(wanting), notice);
        desk.commit()
    }

    pub(crate) fn do_finish_preemption(who: AccountId, wanting: TaskId) -> DispatchResultWithPostInfo {
        let notice = PreemptionNotices::<T>::get(TaskKey::from(wanting)).ok_or(Error::<T>::NotNoticed)?;
        let mut desk = Desk::<T>::new();
        ensure!(desk.now >= notice.ends_at, Error::<T>::NoticeNotOver);
        let mut leases = notice.pods.len() as u32;
        let taken = with_transaction(|| {
            let mut desk = Desk::<T>::new().settled_by(who);
            let placed = desk.take_place(wanting, &notice, &mut leases);
            match placed.and_then(|()| desk.commit()) {
                Ok(()) => TransactionOutcome::Commit(Ok(())),
                Err(error) => TransactionOutcome::Rollback(Err(error)),
            }
        });
        if let Err(error) = taken {
            let mut case = desk.open(wanting)?;
            let until = desk.now.saturating_add(desk.params.preemption_notice_ms);
            desk.withdraw_notice(&mut case, NoticeState::Withdrawn(until));
            desk.put(case);
            desk.commit()?;
            Self::deposit_event(Event::PreemptionFailed { task: wanting, error });
        }
        Ok(Some(<T as Config>::WeightInfo::finish_preemption(leases)).into())
    }
}

/// Whether a task may make others leave now.
fn ensure_may_ask<T: Config>(case: &Case, now: Moment) -> DispatchResult {
    ensure!(case.record.state == TaskState::Queued, Error::<T>::NotQueued);
    // Nobody leaves for one that had to leave itself: else one notice would lead to the next.
    ensure!(case.record.preemption.is_none(), Error::<T>::WasPreempted);
    match case.record.notice {
        NoticeState::Standing(_) => Err(Error::<T>::NoticeStands.into()),
        NoticeState::Withdrawn(until) if now < until => Err(Error::<T>::NoticeTooSoon.into()),
        NoticeState::Withdrawn(_) | NoticeState::Absent => Ok(()),
    }
}

impl<T: Config> Desk<T> {
    /// Whether the waiting task can be assigned to the places of the notice once the victims have left, and not before.
    /// For a desk, and a storage transaction, that are discarded.
    fn try_place(mut self, wanting: TaskId, notice: &PreemptionNotice) -> DispatchResult {
        let assigner = Assigner::Notice(&notice.scheduler);
        ensure!(self.assign(&assigner, wanting, notice.pods.clone()).is_err(), Error::<T>::FitsWithoutVictims);
        for victim in &notice.victims {
            let case = self.open(*victim)?;
            self.make_leave(case, wanting)?;
        }
        self.assign(&assigner, wanting, notice.pods.clone())
    }

    /// Makes the victims leave that still run, and assigns the waiting task. Counts in `leases` those that end.
    fn take_place(&mut self, wanting: TaskId, notice: &PreemptionNotice, leases: &mut u32) -> DispatchResult {
        for victim in &notice.victims {
            // One that has ended may be put away by now.
            let Ok(case) = self.open(*victim) else { continue };
            if case.leaves_for(wanting) {
                *leases = leases.saturating_add(case.record.leases.len() as u32);
                self.make_leave(case, wanting)?;
            }
        }
        self.assign(&Assigner::Notice(&notice.scheduler), wanting, notice.pods.clone())
    }

    /// Where a notice stands for a task it is void, and its victims run on. Returns how many it had.
    pub(crate) fn withdraw_notice(&mut self, case: &mut Case, state: NoticeState) -> u32 {
        if !matches!(case.record.notice, NoticeState::Standing(_)) {
            return 0;
        }
        let wanting = case.task;
        let Some(notice) = PreemptionNotices::<T>::take(TaskKey::from(wanting)) else {
            self.fail(Error::<T>::NotNoticed.into());
            return 0;
        };
        case.record.notice = state;
        for task in &notice.victims {
            let Ok(mut victim) = self.open(*task) else { continue };
            if victim.leaves_for(wanting) {
                victim.record.preemption = None;
                self.put(victim);
                Pallet::<T>::deposit_event(Event::PreemptionWithdrawn { task: *task, wanting });
            }
        }
        notice.victims.len() as u32
    }

    /// A task leaves its hosts. It did nothing wrong, so that this is no attempt that came to nothing. A rental cannot
    /// go on elsewhere without its data: it is over, and its data is retained.
    fn make_leave(&mut self, mut case: Case, wanting: TaskId) -> DispatchResult {
        let task = case.task;
        self.end_live(&mut case, EndReason::Preempted);
        let mut bills = Default::default();
        if case.spec().kind == TaskKind::Rental {
            self.follow(&mut case);
        } else {
            case.record.generation = case.record.generation.checked_add(1).ok_or(Error::<T>::Overflow)?;
            bills = self.close_all(&mut case);
            case.record.leases = BoundedVec::new();
            self.go(&mut case, TaskState::Queued);
        }
        let state = case.record.state;
        self.put(case);
        Pallet::<T>::deposit_event(Event::Preempted { task, wanting, bills, state });
        Ok(())
    }
}
