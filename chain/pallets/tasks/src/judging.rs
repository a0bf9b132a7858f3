//! What the verification pallet decides about tasks: disputes, and the comparison of replicas.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    lease_id, lease_parts, rate, AccountId, Balance, Conduct, EndReason, Escrow, FailReason, HostId, Lease, LeaseId,
    LeaseState, PodResult, TaskId, TaskState, TenantConduct, Vote, MAX_PODS,
};

use crate::{
    billing,
    desk::{Case, Desk},
    reputation, Config, Error, Event, Pallet,
};

impl<T: Config> Pallet<T> {
    /// Who pays for a task. Fails with `NoSuchTask`.
    pub fn tenant_of(task: TaskId) -> Result<AccountId, DispatchError> {
        Ok(Self::record(task)?.tenant)
    }

    /// The leases of a task, each with its host, in the order of its pods. Fails with `NoSuchTask`.
    pub fn leases_of(task: TaskId) -> Result<Vec<(LeaseId, HostId)>, DispatchError> {
        let record = Self::record(task)?;
        let ids = record.leases.iter().map(|lease| (lease_id(task, lease.pod, lease.generation), lease.host.clone()));
        Ok(ids.collect())
    }

    /// The results of some leases of a task are disputed. Fails unless the task is reported, its dispute window is open,
    /// and all of `accused` are leases of it.
    pub fn dispute(task: TaskId, accused: &[LeaseId]) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.record.state == TaskState::Reported, Error::<T>::NotReported);
        ensure!(desk.is_disputable(&case), Error::<T>::DisputeWindowClosed);
        for lease in accused {
            ensure!(lease_parts(*lease).0 == task, Error::<T>::NoSuchLease);
            case.place::<T>(*lease)?;
        }
        case.go::<T>(TaskState::Disputed, desk.now)?;
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::Disputed { task });
        Ok(())
    }

    /// A dispute about the leases `accused` is over. Where the complaint is right nothing more is paid for them; the task
    /// fails if it has no other leases, else the results of the others stand. A verdict counts for or against the hosts
    /// of those leases, and the task's tenant where it complained (`by_tenant`). Fails unless the task is disputed.
    pub fn resolve(task: TaskId, accused: &[LeaseId], verdict: Option<Vote>, by_tenant: bool) -> DispatchResult {
        let upheld = verdict == Some(Vote::Yes);
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.record.state == TaskState::Disputed, Error::<T>::NotDisputed);
        let tenant = case.record.tenant.clone();
        let mut bills = Vec::new();
        let judged: Vec<usize> = case.places().filter(|place| accused.contains(&case.id(*place))).collect();
        if upheld {
            for place in &judged {
                desk.forfeit(&mut case, *place, EndReason::DisputeLost);
            }
        }
        if upheld && judged.len() == case.record.leases.len() {
            bills = desk.close_all(&mut case);
            case.go::<T>(TaskState::Failed(FailReason::DisputeLost), desk.now)?;
        } else {
            case.go::<T>(TaskState::Verified, desk.now)?;
        }
        let (now, state) = (desk.now, case.record.state);
        let mut fees: Balance = 0;
        for place in judged {
            let lease = &case.record.leases[place];
            let (conduct, amount) = match upheld {
                true => (Conduct::NotVerified, lease.escrow.deposit),
                false => (Conduct::Verified, lease.escrow.accrued),
            };
            let fee = desk.treasury_fee_of(&lease.escrow, amount);
            fees = fees.saturating_add(fee);
            if verdict.is_some() {
                desk.observe(&tenant, &lease.host, conduct, fee);
            }
        }
        desk.put(case);
        desk.commit()?;
        if verdict.is_some() && by_tenant {
            let conduct = if upheld { TenantConduct::DisputeWon } else { TenantConduct::DisputeLost };
            reputation::Pallet::<T>::observe_tenant(&tenant, conduct, fees, now);
        }
        Self::deposit_event(Event::DisputeResolved { task, upheld, bills, state });
        Ok(())
    }

    /// How many hosts work on a task for their results to be compared. None where they are not compared, or it does
    /// not run.
    pub fn replicas_of(task: TaskId) -> Option<u8> {
        let (record, spec) = Self::view_task(task)?;
        (spec.is_redundant() && record.state.tag().has_live_leases()).then_some(record.pods_wanted)
    }

    /// Whether the chain draws if another host repeats the work of a task.
    pub fn is_audited(task: TaskId) -> bool {
        Self::view_task(task).is_some_and(|(_, spec)| spec.is_audited())
    }

    /// Whether `host` may commit the result of a lease now. Fails with what is against it.
    pub fn can_commit(lease: LeaseId, host: &HostId) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let (case, place) = desk.open_lease(lease)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        let of = &case.record.leases[place];
        ensure!(of.host == *host, Error::<T>::NotHostOfLease);
        ensure!(of.state == LeaseState::Active, Error::<T>::LeaseNotActive);
        Ok(())
    }

    /// A replica has ended and its result is committed: its lease ends, and its host gets back what it held. Fails
    /// unless the task's results are compared and the lease is active.
    pub fn committed(lease: LeaseId) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let (mut case, place) = desk.open_lease(lease)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(case.record.leases[place].state == LeaseState::Active, Error::<T>::LeaseNotActive);
        let reason = EndReason::Completed;
        desk.end(&mut case, place, reason);
        desk.follow(&mut case);
        let (task, state) = (case.task, case.record.state);
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
        Ok(())
    }

    /// Whether a lease is one of its task's and has not failed.
    pub fn is_current(lease: LeaseId) -> bool {
        Self::view_lease(lease)
            .is_some_and(|(lease, ..)| lease.state.is_live() || lease.state == LeaseState::Ended(EndReason::Completed))
    }

    /// Whether any pod of a task other than those of `committed` runs or waits for its start, within its time.
    pub fn runs_on(task: TaskId, committed: &[LeaseId]) -> bool {
        let mut desk = Desk::<T>::new();
        let Ok(case) = desk.open(task) else { return false };
        case.places().any(|place| {
            let lease = &case.record.leases[place];
            let away = desk.downtime_of(&lease.host).unwrap_or_default();
            let is_over = lease.ends_at(away).is_some_and(|at| at < desk.now);
            lease.state.is_live() && !is_over && !committed.contains(&case.id(place))
        })
    }

    /// The pods of a task other than those of `committed` end, and nothing more is paid for them. Fails unless the
    /// task's results are compared and it is assigned or runs.
    pub fn end_others(task: TaskId, committed: &[LeaseId]) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(case.record.state.tag().has_live_leases(), Error::<T>::NotRunning);
        for place in case.places() {
            if case.record.leases[place].state.is_live() && !committed.contains(&case.id(place)) {
                desk.end(&mut case, place, EndReason::GangAborted);
                desk.forfeit(&mut case, place, EndReason::GangAborted);
                let (lease, state) = (case.id(place), case.record.state);
                let reason = EndReason::GangAborted;
                Self::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
            }
        }
        if case.spec().is_audited() {
            // No other host is to come any more.
            case.record.pods_wanted = case.record.leases.last().map_or(1, |lease| lease.pod.saturating_add(1));
        }
        desk.follow(&mut case);
        desk.put(case);
        desk.commit()
    }

    /// A replica's result is revealed. Fails unless the task's results are compared, and the lease is active, or ended
    /// when its result was committed.
    pub fn complete_pod(lease: LeaseId, result: PodResult) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let (mut case, place) = desk.open_lease(lease)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        let of = &mut case.record.leases[place];
        match of.state {
            LeaseState::Active => desk.reported(case, place, result),
            LeaseState::Ended(EndReason::Completed) if of.result.is_none() => {
                of.result = Some(result);
                let Escrow { unit, deposit, rate_per_hour, .. } = of.escrow;
                let measured = rate::owed(unit, deposit, rate_per_hour, result.usage.wall_ms);
                of.escrow.accrued = of.escrow.accrued.min(measured).max(of.escrow.paid);
                let (task, state) = (case.task, case.record.state);
                desk.put(case);
                Self::deposit_event(Event::PodReported { task, lease, result, state });
            }
            _ => return Err(Error::<T>::LeaseNotActive.into()),
        }
        desk.commit()
    }

    /// The deposit of a lease; 0 where there is no such lease.
    pub fn deposit_of(lease: LeaseId) -> Balance {
        Self::view_lease(lease).map_or(0, |(lease, ..)| lease.escrow.deposit)
    }

    /// The part of the protocol fee that goes to the treasury, whoever settles the task, where the results of these leases of
    /// it are right and no others are paid.
    pub fn treasury_fees(task: TaskId, right: &[LeaseId]) -> Balance {
        let Ok(mut case) = Desk::<T>::new().open(task) else { return 0 };
        let right: Vec<usize> = right.iter().filter_map(|lease| case.place::<T>(*lease).ok()).collect();
        if case.spec().is_audited() {
            charge_audit(&mut case, &right);
        }
        let settler_ppm = billing::Pallet::<T>::params().settler_share_ppm;
        let fee_of = |place: &usize| {
            let escrow = &case.record.leases[*place].escrow;
            escrow.divide(escrow.accrued, settler_ppm).1.treasury
        };
        right.iter().map(fee_of).fold(0, Balance::saturating_add)
    }

    /// A replica's result is wrong, or was never revealed: nothing more is paid for its lease, which has ended. Fails
    /// unless the task's results are compared.
    pub fn void_pod(lease: LeaseId) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let (mut case, place) = desk.open_lease(lease)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        let ended = matches!(case.record.leases[place].state, LeaseState::Ended(_));
        ensure!(ended && !case.record.state.tag().is_final(), Error::<T>::LeaseNotActive);
        desk.forfeit(&mut case, place, EndReason::DisputeLost);
        let of = &case.record.leases[place];
        let fee = desk.treasury_fee_of(&of.escrow, of.escrow.deposit);
        desk.observe(&case.record.tenant, &of.host, Conduct::NotVerified, fee);
        let (task, state) = (case.task, case.record.state);
        desk.put(case);
        desk.commit()?;
        let reason = EndReason::DisputeLost;
        Self::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
        Ok(())
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

    /// The results of replicas were compared, and those that were not voided agree: they are the task's. Fails unless
    /// the task's results are compared, it runs, no pod of it is left that might report, and one has.
    pub fn verified(task: TaskId) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(case.record.state == TaskState::Running, Error::<T>::NotRunning);
        ensure!(!case.record.leases.iter().any(|lease| lease.state.is_live()), Error::<T>::PodsStillRun);
        let is_right =
            |lease: &&Lease| lease.state == LeaseState::Ended(EndReason::Completed) && lease.result.is_some();
        ensure!(case.record.leases.iter().any(|lease| is_right(&lease)), Error::<T>::NothingRight);
        case.go::<T>(TaskState::Reported, desk.now)?;
        case.go::<T>(TaskState::Verified, desk.now)?;
        for lease in case.record.leases.iter().filter(is_right) {
            let fee = desk.treasury_fee_of(&lease.escrow, lease.escrow.accrued);
            desk.observe(&case.record.tenant, &lease.host, Conduct::Verified, fee);
        }
        if case.spec().is_audited() {
            let right: Vec<usize> = case.places().filter(|place| is_right(&&case.record.leases[*place])).collect();
            charge_audit(&mut case, &right);
        }
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::Verified { task });
        Ok(())
    }

    /// No other host repeats the work of an audited job: its result is reported. Fails unless the task is audited, it runs,
    /// no pod of it is left that might report, and one has.
    pub fn not_repeated(task: TaskId) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.spec().is_audited(), Error::<T>::NotRedundant);
        ensure!(case.record.state == TaskState::Running, Error::<T>::NotRunning);
        ensure!(!case.record.leases.iter().any(|lease| lease.state.is_live()), Error::<T>::PodsStillRun);
        let has_result =
            |lease: &Lease| lease.state == LeaseState::Ended(EndReason::Completed) && lease.result.is_some();
        ensure!(case.record.leases.iter().any(has_result), Error::<T>::NothingRight);
        case.go::<T>(TaskState::Reported, desk.now)?;
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::NotRepeated { task });
        Ok(())
    }

    /// The results of replicas were compared, do not agree, and no further one is asked for: the task fails, and nothing
    /// more is paid for it. Fails unless the task's results are compared and it is assigned or runs.
    pub fn no_agreement(task: TaskId) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.spec().is_redundant(), Error::<T>::NotRedundant);
        case.go::<T>(TaskState::Failed(FailReason::NoAgreement), desk.now)?;
        desk.end_live(&mut case, EndReason::GangAborted);
        for place in case.places() {
            desk.forfeit(&mut case, place, EndReason::DisputeLost);
        }
        let bills = desk.close_all(&mut case);
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::NotVerified { task, bills });
        Ok(())
    }
}

/// The host of the first pod of an audited job pays the others: where its result is right, what the leases in the other places
/// of `right` owe is taken from what it is owed. So the tenant pays once.
fn charge_audit(case: &mut Case, right: &[usize]) {
    let leases = &mut case.record.leases;
    if !right.contains(&0) {
        return;
    }
    let owed = right.iter().filter(|place| **place > 0).map(|place| leases[*place].escrow.accrued);
    let owed = owed.fold(0, Balance::saturating_add);
    if let Some(first) = leases.iter_mut().next() {
        first.escrow.accrued = first.escrow.accrued.saturating_sub(owed).max(first.escrow.paid);
    }
}

impl<T: Config> Desk<T> {
    /// Nothing more is paid for a lease that has ended, for the reason given.
    fn forfeit(&mut self, case: &mut Case, place: usize, reason: EndReason) {
        let lease = &mut case.record.leases[place];
        lease.escrow.accrued = lease.escrow.paid;
        if matches!(lease.state, LeaseState::Ended(_)) {
            lease.state = LeaseState::Ended(reason);
        }
    }
}
