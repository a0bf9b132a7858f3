//! The one way in which a task changes its state, and the index that follows it.

use frame_support::{
    pallet_prelude::*,
    traits::{fungible::MutateHold, tokens::Precision},
};
use gantry_primitives::{
    transitions::{allows, TASK_TRANSITIONS},
    Balance, TaskId, TaskRecord, TaskState, TaskStateTag,
};

use crate::{ByState, Config, Error, Event, HoldReason, Manifests, Pallet, Tasks};

impl<T: Config> Pallet<T> {
    /// The record of a task, or `NoSuchTask`.
    pub fn task(task: TaskId) -> Result<TaskRecord, DispatchError> {
        Tasks::<T>::get(task).ok_or_else(|| Error::<T>::NoSuchTask.into())
    }

    /// Moves a task along the table, says so, and keeps the index. The caller stores the record. A task that becomes
    /// final gives up its manifest and gets its deposit back.
    pub(crate) fn change_state(task: TaskId, record: &mut TaskRecord, to: TaskState) -> DispatchResult {
        let (from_tag, to_tag) = (record.state.tag(), to.tag());
        ensure!(allows(TASK_TRANSITIONS, from_tag, to_tag), Error::<T>::TransitionNotAllowed);
        let from = core::mem::replace(&mut record.state, to);
        Self::keep_index(task, Some(from_tag), to_tag);
        if to_tag.is_final() {
            Manifests::<T>::remove(task);
            let deposit = core::mem::take(&mut record.deposit);
            Self::release_deposit(record, deposit)?;
        }
        Self::deposit_event(Event::StateChanged { task, from, to });
        Ok(())
    }

    /// Keeps the index by state.
    pub(crate) fn keep_index(task: TaskId, from: Option<TaskStateTag>, to: TaskStateTag) {
        if let Some(from) = from {
            ByState::<T>::remove(from, task);
        }
        ByState::<T>::insert(to, task, ());
    }

    fn release_deposit(record: &TaskRecord, deposit: Balance) -> DispatchResult {
        if deposit > 0 {
            <T as Config>::Currency::release(&HoldReason::Deposit.into(), &record.tenant, deposit, Precision::Exact)?;
        }
        Ok(())
    }
}
