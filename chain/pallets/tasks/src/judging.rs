//! What the verification pallet decides about tasks: disputes, and the comparison of replicas.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    AccountId, Conduct, EndReason, FailReason, HostId, LeaseId, LeaseState, PodResult, TaskId, TaskState,
    TenantConduct, MAX_PODS,
};

use crate::{
    desk::{Case, Desk},
    reputation, Config, CurrentParams, Error, Event, Pallet,
};

impl<T: Config> Pallet<T> {
    /// Who pays for a task. Fails with `NoSuchTask`.
    pub fn tenant_of(task: TaskId) -> Result<AccountId, DispatchError> {
        Ok(Self::record(task)?.tenant)
    }

    /// The leases of a task, each with its host, in the order of its pods. Fails with `NoSuchTask`.
    pub fn leases_of(task: TaskId) -> Result<Vec<(LeaseId, HostId)>, DispatchError> {
        let record = Self::record(task)?;
        let ids = record.leases.iter().map(|lease| {
            (gantry_primitives::lease_id(task, lease.pod, lease.generation), lease.host.clone())
        });
        Ok(ids.collect())
    }

    /// The result of a task is disputed by `by`. Fails unless it is reported and its dispute window is open.
    pub fn dispute(task: TaskId, by: AccountId) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.record.state == TaskState::Reported, Error::<T>::NotReported);
        let closes_at = case.record.changed_at.saturating_add(CurrentParams::<T>::get().dispute_window_ms);
        ensure!(desk.now < closes_at, Error::<T>::DisputeWindowClosed);
        case.go::<T>(TaskState::Disputed, desk.now)?;
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::DisputeOpened { task, by });
        Ok(())
    }

    /// A dispute is decided. Where it is `upheld` nothing more is paid for the task, which fails; else its result
    /// stands. Fails unless the task is disputed.
    pub fn resolve(task: TaskId, upheld: bool) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.record.state == TaskState::Disputed, Error::<T>::NotDisputed);
        let tenant = case.record.tenant.clone();
        let mut bills = Vec::new();
        if upheld {
            for place in case.places() {
                desk.forfeit(&mut case, place);
            }
            bills = desk.close_all(&mut case);
            case.go::<T>(TaskState::Failed(FailReason::DisputeLost), desk.now)?;
        } else {
            case.go::<T>(TaskState::Verified, desk.now)?;
        }
        let (now, state) = (desk.now, case.record.state);
        let value = case.record.leases.iter().map(|lease| lease.escrow.deposit).fold(0, u128::saturating_add);
        desk.put(case);
        desk.commit()?;
        let conduct = if upheld { TenantConduct::DisputeWon } else { TenantConduct::DisputeLost };
        reputation::Pallet::<T>::observe_tenant(&tenant, conduct, value, now);
        Self::deposit_event(Event::DisputeResolved { task, upheld, bills, state });
        Ok(())
    }

    /// A replica's result is revealed: its lease ends. Fails unless the task's results are compared and the lease is
    /// active.
    pub fn complete_pod(lease: LeaseId, result: PodResult) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let (case, place) = desk.open_lease(lease)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(case.record.leases[place].state == LeaseState::Active, Error::<T>::LeaseNotActive);
        desk.reported(case, place, result);
        desk.commit()
    }

    /// One more replica is wanted, because those that are there disagree. Fails unless the task's results are compared
    /// and it runs, and where it has 16 pods.
    pub fn want_extra_pod(task: TaskId) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(case.record.state == TaskState::Running, Error::<T>::NotRunning);
        let pods = case.record.pods_wanted.checked_add(1).filter(|pods| u32::from(*pods) <= MAX_PODS);
        let pods = pods.ok_or(Error::<T>::PodRangeInvalid)?;
        case.record.pods_wanted = pods;
        let state = case.record.state;
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::Scaled { task, pods, bills: Vec::new(), state });
        Ok(())
    }

    /// The results of replicas were compared, and those that are not `wrong` are the task's. The wrong ones, and what
    /// has not reported, are not paid. Fails unless the task's results are compared, it runs, and one is right.
    pub fn verified(task: TaskId, wrong: &[LeaseId]) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(case.record.state == TaskState::Running, Error::<T>::NotRunning);
        let is_right = |case: &Case, place: usize| {
            case.record.leases[place].state == LeaseState::Ended(EndReason::Completed) && !wrong.contains(&case.id(place))
        };
        ensure!(case.places().any(|place| is_right(&case, place)), Error::<T>::NothingRight);
        case.go::<T>(TaskState::Reported, desk.now)?;
        case.go::<T>(TaskState::Verified, desk.now)?;
        desk.end_live(&mut case, EndReason::DisputeLost);
        for place in case.places() {
            let conduct = match is_right(&case, place) {
                true => Conduct::Verified,
                false => {
                    desk.forfeit(&mut case, place);
                    Conduct::NotVerified
                }
            };
            let lease = &case.record.leases[place];
            desk.observe(&case.record.tenant, &lease.host, conduct, lease.escrow.deposit);
        }
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::Verified { task, wrong: wrong.to_vec() });
        Ok(())
    }

}

impl<T: Config> Desk<T> {
    /// Nothing more is paid for a lease that has ended.
    fn forfeit(&mut self, case: &mut Case, place: usize) {
        let lease = &mut case.record.leases[place];
        lease.escrow.accrued = lease.escrow.paid;
        if matches!(lease.state, LeaseState::Ended(_)) {
            lease.state = LeaseState::Ended(EndReason::DisputeLost);
        }
    }
}
