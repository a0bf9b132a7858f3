//! Acceptance, settlement and rating of results, and pruning of final tasks.

use codec::Encode;
use frame_support::pallet_prelude::*;
use gantry_primitives::{
    ids::TASKS_PER_ARCHIVE_PAGE, AccountId, Balance, Conduct, EndReason, LeaseId, LeaseState, TaskId, TaskState,
    TaskStateTag,
};

use crate::{
    changes::{LoadedTask, TaskChanges},
    hosts, reputation, Config, Error, Event, Pallet,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_accept_result(tenant: AccountId, task: TaskId) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.record.tenant == tenant, Error::<T>::NotTenant);
        ensure!(loaded.record.state == TaskState::Reported, Error::<T>::NotReported);
        loaded.try_transition::<T>(TaskState::Verified, changes.now)?;
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::ResultAccepted { task });
        Ok(())
    }

    /// Returns the number of leases of the task.
    pub(crate) fn do_settle(who: AccountId, task: TaskId) -> Result<u32, DispatchError> {
        let mut changes = TaskChanges::<T>::new().with_settler(who);
        let leases = changes.settle(task)?;
        changes.commit()?;
        Ok(leases)
    }

    pub(crate) fn do_rate(tenant: AccountId, lease: LeaseId, stars: u8) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (mut loaded, position) = changes.load_lease(lease)?;
        ensure!(loaded.record.tenant == tenant, Error::<T>::NotTenant);
        ensure!((1..=5).contains(&stars), Error::<T>::StarsInvalid);
        ensure!(loaded.record.state == TaskState::Settled, Error::<T>::NotSettled);
        let lease_record = &mut loaded.record.leases[position];
        ensure!(lease_record.started_at.is_some(), Error::<T>::NeverStarted);
        ensure!(!lease_record.rated, Error::<T>::AlreadyRated);
        let host = lease_record.host.clone();
        ensure!(hosts::Pallet::<T>::provider_of(&host)? != tenant, Error::<T>::OwnHost);
        lease_record.rated = true;
        let (task, fee, now) = (loaded.task, lease_record.escrow.treasury_fee(), changes.now);
        changes.store(loaded);
        changes.commit()?;
        reputation::Pallet::<T>::observe_host(&host, Conduct::Rated(stars), 1, fee, now);
        Self::deposit_event(Event::Rated { task, lease, stars });
        Ok(())
    }
}

impl<T: Config> TaskChanges<T> {
    /// Pays all parties of a task whose result is accepted, or was not disputed in time. Returns the number of its
    /// leases.
    pub fn settle(&mut self, task: TaskId) -> Result<u32, DispatchError> {
        let mut loaded = self.load(task)?;
        match loaded.record.state.tag() {
            TaskStateTag::Verified => {}
            TaskStateTag::Reported => {
                ensure!(!self.is_disputable(&loaded), Error::<T>::DisputeWindowOpen);
                loaded.try_transition::<T>(TaskState::Verified, self.now)?;
            }
            _ => return Err(Error::<T>::NotSettleable.into()),
        }
        loaded.try_transition::<T>(TaskState::Settled, self.now)?;
        let leases = loaded.record.leases.len() as u32;
        self.count_leases(leases, 0)?;
        let bills = self.close_all(&mut loaded);
        let tenant = &loaded.record.tenant;
        let mut fees: Balance = 0;
        for lease in &loaded.record.leases {
            let is_failed =
                matches!(lease.state, LeaseState::Ended(EndReason::DisputeLost | EndReason::DurationExceeded));
            let is_done = !is_failed && lease.started_at.is_some();
            let fee = lease.escrow.treasury_fee();
            if is_done && self.observe(tenant, &lease.host, Conduct::Completed, fee) {
                fees = fees.saturating_add(fee);
            }
        }
        self.observe_settled(tenant, fees);
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::Settled { task, bills });
        Ok(leases)
    }

    /// Prunes a final task: only its digest in the archive remains.
    pub fn prune(&mut self, task: TaskId) -> DispatchResult {
        let loaded = self.load(task)?;
        self.ensure_prunable(&loaded)?;
        let page = self.archive_page(task / TASKS_PER_ARCHIVE_PAGE);
        page.digest = (page.digest, task, &loaded.record).using_encoded(sp_io::hashing::blake2_256);
        page.count = page.count.saturating_add(1);
        let digest = page.digest;
        self.remove(loaded);
        Pallet::<T>::deposit_event(Event::Pruned { task, digest });
        Ok(())
    }

    fn ensure_prunable(&self, loaded: &LoadedTask) -> DispatchResult {
        ensure!(loaded.record.state.tag().is_final(), Error::<T>::NotFinal);
        let prunable_at = loaded.record.changed_at.saturating_add(self.params.archive_after_ms);
        ensure!(self.now >= prunable_at, Error::<T>::TooEarlyToPrune);
        let holds = loaded.record.leases.iter().any(|lease| lease.state.holds_something());
        ensure!(!holds, Error::<T>::DataRetained);
        Ok(())
    }
}
