//! Accepting results, paying for them, rating those who made them, and putting final tasks away.

use codec::Encode;
use frame_support::pallet_prelude::*;
use gantry_primitives::{
    ids::TASKS_PER_ARCHIVE_PAGE, AccountId, Balance, Conduct, EndReason, LeaseId, LeaseState, TaskId, TaskState,
    TaskStateTag,
};

use crate::{
    desk::{Case, Desk},
    hosts, reputation, Config, Error, Event, Pallet,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_accept_result(tenant: AccountId, task: TaskId) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.record.tenant == tenant, Error::<T>::NotTenant);
        ensure!(case.record.state == TaskState::Reported, Error::<T>::NotReported);
        case.go::<T>(TaskState::Verified, desk.now)?;
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::ResultAccepted { task });
        Ok(())
    }

    /// Returns how many leases the task has.
    pub(crate) fn do_settle(who: AccountId, task: TaskId) -> Result<u32, DispatchError> {
        let mut desk = Desk::<T>::new().settled_by(who);
        let leases = desk.settle(task)?;
        desk.commit()?;
        Ok(leases)
    }

    pub(crate) fn do_rate(tenant: AccountId, lease: LeaseId, stars: u8) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let (mut case, place) = desk.open_lease(lease)?;
        ensure!(case.record.tenant == tenant, Error::<T>::NotTenant);
        ensure!((1..=5).contains(&stars), Error::<T>::StarsInvalid);
        ensure!(case.record.state == TaskState::Settled, Error::<T>::NotSettled);
        let of = &mut case.record.leases[place];
        ensure!(of.started_at.is_some(), Error::<T>::NeverStarted);
        ensure!(!of.rated, Error::<T>::AlreadyRated);
        let host = of.host.clone();
        ensure!(hosts::Pallet::<T>::provider_of(&host)? != tenant, Error::<T>::OwnHost);
        of.rated = true;
        let (task, fee, now) = (case.task, of.escrow.treasury_fee(), desk.now);
        desk.put(case);
        desk.commit()?;
        reputation::Pallet::<T>::observe_host(&host, Conduct::Rated(stars), 1, fee, now);
        Self::deposit_event(Event::Rated { task, lease, stars });
        Ok(())
    }
}

impl<T: Config> Desk<T> {
    /// Pays everyone of a task whose result is accepted, or was not disputed in time. Returns how many leases it has.
    pub fn settle(&mut self, task: TaskId) -> Result<u32, DispatchError> {
        let mut case = self.open(task)?;
        match case.record.state.tag() {
            TaskStateTag::Verified => {}
            TaskStateTag::Reported => {
                ensure!(!self.is_disputable(&case), Error::<T>::DisputeWindowOpen);
                case.go::<T>(TaskState::Verified, self.now)?;
            }
            _ => return Err(Error::<T>::NotSettleable.into()),
        }
        case.go::<T>(TaskState::Settled, self.now)?;
        let leases = case.record.leases.len() as u32;
        self.touch(leases, 0)?;
        let bills = self.close_all(&mut case);
        let tenant = &case.record.tenant;
        let mut fees: Balance = 0;
        for lease in &case.record.leases {
            let is_failed =
                matches!(lease.state, LeaseState::Ended(EndReason::DisputeLost | EndReason::DurationExceeded));
            let is_done = !is_failed && lease.started_at.is_some();
            let fee = lease.escrow.treasury_fee();
            if is_done && self.observe(tenant, &lease.host, Conduct::Completed, fee) {
                fees = fees.saturating_add(fee);
            }
        }
        self.observe_settled(tenant, fees);
        self.put(case);
        Pallet::<T>::deposit_event(Event::Settled { task, bills });
        Ok(leases)
    }

    /// Puts a final task away: what is left of it is a digest.
    pub fn prune(&mut self, task: TaskId) -> DispatchResult {
        let case = self.open(task)?;
        self.ensure_prunable(&case)?;
        let page = self.archive_page(task / TASKS_PER_ARCHIVE_PAGE);
        page.digest = (page.digest, task, &case.record).using_encoded(sp_io::hashing::blake2_256);
        page.count = page.count.saturating_add(1);
        let digest = page.digest;
        self.remove(case);
        Pallet::<T>::deposit_event(Event::Pruned { task, digest });
        Ok(())
    }

    fn ensure_prunable(&self, case: &Case) -> DispatchResult {
        ensure!(case.record.state.tag().is_final(), Error::<T>::NotFinal);
        let prunable_at = case.record.changed_at.saturating_add(self.params.archive_after_ms);
        ensure!(self.now >= prunable_at, Error::<T>::TooEarlyToPrune);
        let holds = case.record.leases.iter().any(|lease| lease.state.holds_something());
        ensure!(!holds, Error::<T>::DataRetained);
        Ok(())
    }
}
