//! Spot tasks that make room, with notice, for waiting tasks of higher priority.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{AccountId, EndReason, Preemption, TaskId, TaskKind, TaskState};

use crate::{
    desk::{Case, Desk},
    Config, Error, Event, Pallet, Schedulers, Tasks,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_preempt(who: &AccountId, wanting: TaskId, victims: &[TaskId]) -> DispatchResult {
        ensure!(Schedulers::<T>::contains_key(who), Error::<T>::NotScheduler);
        let is_repeated = |place: usize| victims[..place].contains(&victims[place]);
        let are_sound = !victims.is_empty() && !(0..victims.len()).any(is_repeated);
        ensure!(are_sound, Error::<T>::VictimsInvalid);
        let mut desk = Desk::<T>::new();
        let ends_at = desk.now.saturating_add(desk.params.preemption_notice_ms);
        let case = desk.open(wanting)?;
        ensure!(case.record.state == TaskState::Queued, Error::<T>::NotQueued);
        // Nobody leaves for one that had to leave itself: else one notice would lead to the next.
        ensure!(case.record.preemption.is_none(), Error::<T>::WasPreempted);
        ensure!(case.deadline().is_none_or(|deadline| ends_at <= deadline), Error::<T>::DeadlinePassed);
        let priority = case.spec().priority;
        let mut told = Vec::with_capacity(victims.len());
        for victim in victims {
            let case = desk.open(*victim)?;
            ensure!(case.spec().spot, Error::<T>::NotSpot);
            ensure!(case.record.state == TaskState::Running, Error::<T>::NotRunning);
            ensure!(case.spec().priority < priority, Error::<T>::PriorityNotLower);
            ensure!(case.record.preemption.is_none(), Error::<T>::AlreadyNoticed);
            told.push(case);
        }
        for mut case in told {
            let task = case.task;
            case.record.preemption = Some(Preemption { wanting, ends_at });
            desk.put(case);
            Self::deposit_event(Event::PreemptionNoticed { task, wanting, ends_at });
        }
        desk.commit()
    }

    /// Returns how many leases the task had.
    pub(crate) fn do_finish_preemption(who: AccountId, task: TaskId) -> Result<u32, DispatchError> {
        let mut desk = Desk::<T>::new().settled_by(who);
        let mut case = desk.open(task)?;
        ensure!(case.record.state == TaskState::Running, Error::<T>::NotRunning);
        let Preemption { wanting, ends_at } = case.record.preemption.ok_or(Error::<T>::NotNoticed)?;
        let pods = case.record.leases.len() as u32;
        if !Self::waits(wanting) {
            case.record.preemption = None;
            desk.put(case);
            Self::deposit_event(Event::PreemptionWithdrawn { task, wanting });
        } else {
            ensure!(desk.now >= ends_at, Error::<T>::NoticeNotOver);
            desk.make_leave(case, wanting)?;
        }
        desk.commit()?;
        Ok(pods)
    }

    fn waits(task: TaskId) -> bool {
        Tasks::<T>::get(gantry_primitives::TaskKey::from(task)).is_some_and(|record| record.state == TaskState::Queued)
    }
}

impl<T: Config> Desk<T> {
    /// A task leaves its hosts. It did nothing wrong, so that this is no attempt that came to nothing. A rental cannot
    /// go on elsewhere without its data: it is over, and its data is retained.
    fn make_leave(&mut self, mut case: Case, wanting: TaskId) -> DispatchResult {
        let task = case.task;
        self.end_live(&mut case, EndReason::Preempted);
        let mut bills = Vec::new();
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
