//! The ends of leases, attempts and tasks without a result, and their payments.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    faults::Fault, rate, AccountId, Attempt, Balance, Conduct, EndReason, FailReason, LeaseBill, LeaseId, LeaseState,
    NoticeState, RequeueReason, TaskId, TaskKind, TaskState, TaskStateTag, TenantConduct,
};

use crate::{
    billing,
    changes::{LoadedTask, TaskChanges},
    reputation, Config, Error, Event, Pallet, WeightInfo,
};

/// Returns the maximum weight of a host's refusal for a task with `pods` pods: all of them end, or one migrates to its
/// standby. The minimum charge, which the benchmarks leave out, reads and writes the treasury's account.
pub(crate) fn refusal_weight<T: Config>(pods: u32) -> Weight {
    let ended = <T as Config>::WeightInfo::report_failed(pods).max(<T as Config>::WeightInfo::take_over(pods));
    ended.saturating_add(T::DbWeight::get().reads_writes(1, 1))
}

/// Returns the maximum weight of `requeue` for a task with `pods` pods.
pub(crate) fn requeue_weight<T: Config>(pods: u32) -> Weight {
    <T as Config>::WeightInfo::requeue(pods).max(<T as Config>::WeightInfo::take_over(pods))
}

impl<T: Config> Pallet<T> {
    /// Returns the number of leases that the task had.
    pub(crate) fn do_requeue(who: AccountId, lease: LeaseId) -> Result<u32, DispatchError> {
        let mut changes = TaskChanges::<T>::new().with_settler(who);
        let (loaded, position) = changes.load_lease(lease)?;
        let lease_record = &loaded.record.leases[position];
        ensure!(lease_record.state.is_live(), Error::<T>::LeaseEnded);
        let waited_ms = changes.elapsed_ms(lease_record.created_at);
        let is_late = lease_record.state == LeaseState::Pending && waited_ms > changes.params.start_timeout_ms;
        let reason = if changes.is_lost(&lease_record.host)? {
            RequeueReason::HostLost
        } else if is_late {
            RequeueReason::StartTimeout
        } else {
            return Err(Error::<T>::LeaseNotStuck.into());
        };
        let pods = loaded.record.leases.len() as u32;
        changes.fail_pod(loaded, position, reason);
        changes.commit()?;
        Ok(pods)
    }

    /// Returns the number of leases that the task had.
    pub(crate) fn do_expire_lease(who: AccountId, lease: LeaseId) -> Result<u32, DispatchError> {
        let mut changes = TaskChanges::<T>::new().with_settler(who);
        let (loaded, position) = changes.load_lease(lease)?;
        let lease_record = &loaded.record.leases[position];
        ensure!(matches!(lease_record.state, LeaseState::Active | LeaseState::Suspended), Error::<T>::LeaseNotActive);
        let downtime_ms = changes.downtime_of(&lease_record.host)?;
        let grace_ms = match loaded.spec().kind {
            TaskKind::Job => changes.params.report_grace_ms,
            TaskKind::Service | TaskKind::Rental => 0,
        };
        let is_over =
            lease_record.ends_at(downtime_ms).is_some_and(|at| changes.now > at && changes.elapsed_ms(at) >= grace_ms);
        ensure!(is_over, Error::<T>::LeaseNotDepleted);
        // An absent host must not be paid because it was silent for long enough.
        ensure!(!changes.is_lost(&lease_record.host)?, Error::<T>::HostIsLost);
        let pods = loaded.record.leases.len() as u32;
        changes.end_lease(loaded, position, EndReason::Expired);
        changes.commit()?;
        Ok(pods)
    }

    /// Returns the number of leases that the task had, or of victims of its preemption notice.
    pub(crate) fn do_cancel(tenant: AccountId, task: TaskId) -> Result<u32, DispatchError> {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.record.tenant == tenant, Error::<T>::NotTenant);
        loaded.try_transition::<T>(TaskState::Cancelled, changes.now)?;
        let victims = changes.withdraw_notice(&mut loaded, NoticeState::Absent);
        let pods = (loaded.record.leases.len() as u32).max(victims);
        let has_started = loaded.record.leases.iter().any(|lease| lease.started_at.is_some());
        changes.end_live_leases(&mut loaded, EndReason::Cancelled);
        let bills = changes.close_all(&mut loaded);
        changes.store(loaded);
        let now = changes.now;
        changes.commit()?;
        if has_started {
            let fees = bills.iter().map(LeaseBill::treasury_fee).fold(0, u128::saturating_add);
            reputation::Pallet::<T>::observe_tenant(&tenant, TenantConduct::Cancelled, fees, now);
        }
        Self::deposit_event(Event::Cancelled { task, bills });
        Ok(pods)
    }

    /// Returns the number of victims of the task's preemption notice.
    pub(crate) fn do_expire(task: TaskId) -> Result<u32, DispatchError> {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.record.state == TaskState::Queued, Error::<T>::NotQueued);
        let has_passed = loaded.deadline().is_some_and(|deadline| changes.now > deadline);
        ensure!(has_passed, Error::<T>::DeadlineNotPassed);
        loaded.try_transition::<T>(TaskState::Expired, changes.now)?;
        let victims = changes.withdraw_notice(&mut loaded, NoticeState::Absent);
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::Expired { task });
        Ok(victims)
    }

    /// Returns the number of leases that the task had.
    pub(crate) fn do_end(tenant: AccountId, task: TaskId) -> Result<u32, DispatchError> {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.record.tenant == tenant, Error::<T>::NotTenant);
        ensure!(loaded.spec().kind != TaskKind::Job, Error::<T>::JobsAreCancelled);
        ensure!(loaded.record.state == TaskState::Running, Error::<T>::NotRunning);
        let pods = loaded.record.leases.len() as u32;
        changes.end_live_leases(&mut loaded, EndReason::TenantEnded);
        changes.update_state(&mut loaded);
        let state = loaded.record.state;
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::Stopped { task, state });
        Ok(pods)
    }

    /// Returns the number of leases that the task had.
    pub(crate) fn do_scale(tenant: AccountId, task: TaskId, pods: u8) -> Result<u32, DispatchError> {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.record.tenant == tenant, Error::<T>::NotTenant);
        ensure!(loaded.spec().kind == TaskKind::Service, Error::<T>::NotService);
        let tag = loaded.record.state.tag();
        ensure!(tag == TaskStateTag::Queued || tag.has_live_leases(), Error::<T>::NotRunning);
        let allowed = loaded.spec().pods_min..=loaded.spec().pods_max;
        ensure!(allowed.contains(&u16::from(pods)), Error::<T>::PodRangeInvalid);
        let count = loaded.record.leases.len() as u32;
        let too_many: Vec<usize> =
            loaded.positions().filter(|position| loaded.record.leases[*position].pod >= pods).collect();
        if !too_many.is_empty() {
            loaded.record.generation = loaded.record.generation.checked_add(1).ok_or(Error::<T>::Overflow)?;
        }
        loaded.record.pods_wanted = pods;
        let mut bills = Vec::with_capacity(too_many.len());
        for position in too_many {
            if loaded.record.leases[position].state.is_live() {
                changes.end(&mut loaded, position, EndReason::ScaledDown);
            }
            bills.push(changes.close(&mut loaded, position));
        }
        loaded.record.leases.retain(|lease| lease.pod < pods);
        loaded.record.checkpoints.retain(|checkpoint| checkpoint.pod < pods);
        if loaded.record.leases.is_empty() && tag.has_live_leases() {
            loaded.try_transition::<T>(TaskState::Queued, changes.now)?;
        }
        changes.update_state(&mut loaded);
        let state = loaded.record.state;
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::Scaled { task, pods, bills, state });
        Ok(count)
    }
}

impl<T: Config> TaskChanges<T> {
    /// Ends every live lease of a task.
    pub fn end_live_leases(&mut self, loaded: &mut LoadedTask, reason: EndReason) {
        for position in loaded.positions() {
            if loaded.record.leases[position].state.is_live() {
                self.end(loaded, position, reason);
            }
        }
    }

    /// Updates the state of an assigned or running task from its leases: it is running if no pod is pending, and
    /// reported if no pod is left that might report. Replicas wait for their comparison.
    pub fn update_state(&mut self, loaded: &mut LoadedTask) {
        let leases = &loaded.record.leases;
        let has_pending = leases.is_empty() || leases.iter().any(|lease| lease.state == LeaseState::Pending);
        let has_live = leases.iter().any(|lease| lease.state.is_live());
        if loaded.record.state == TaskState::Assigned && !has_pending {
            self.transition(loaded, TaskState::Running);
        }
        if loaded.record.state == TaskState::Running && !has_pending && !has_live && !loaded.spec().is_redundant() {
            self.transition(loaded, TaskState::Reported);
        }
    }

    /// Changes the state of a task. The caller knows that `TASK_TRANSITIONS` lists the transition.
    pub fn transition(&mut self, loaded: &mut LoadedTask, to: TaskState) {
        if let Err(error) = loaded.try_transition::<T>(to, self.now) {
            self.record_inconsistency(error);
        }
    }

    /// Applies the failure of a pod. If its standby can take over, the pod migrates there. Else a job is requeued as a
    /// whole, and the other pods of a service or of replicas continue. A rental that had started ends: its data is on
    /// the host that failed, and its tenant may dispute the bill. A task with too many failures fails.
    pub fn fail_pod(&mut self, mut loaded: LoadedTask, position: usize, reason: RequeueReason) {
        let (task, lease) = (loaded.task, loaded.lease_id_at(position));
        self.record_host_fault(&loaded, position, reason);
        let has_data = loaded.spec().kind == TaskKind::Rental && loaded.record.leases[position].started_at.is_some();
        if has_data {
            // The state of a lease whose data is retained does not contain the reason of its end.
            self.record_attempt(&mut loaded, position, reason);
            let reason = reason.into();
            self.end(&mut loaded, position, reason);
            self.update_state(&mut loaded);
            let state = loaded.record.state;
            self.store(loaded);
            Pallet::<T>::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
            return;
        }
        let charged = if reason.is_tenants_fault() {
            self.charge_placement(&mut loaded, position)
        } else if reason.is_of_unknown_cause() {
            self.charge_before_start(&mut loaded, position, self.params.min_charge_ms)
        } else {
            0
        };
        self.charge_refusal(&loaded, position, reason, charged);
        self.record_attempt(&mut loaded, position, reason);
        let next = loaded.record.generation.checked_add(1);
        let has_failed = loaded.record.refusals() >= self.params.max_refusals
            || loaded.record.failures() >= self.params.max_attempts;
        let exhausted = next.is_none() || (reason.is_failure() && has_failed);
        if !exhausted {
            if let Some(target) = self.allocate_standby(&loaded, position, reason.into()) {
                let billing = EndReason::from(reason).billing(loaded.spec().kind);
                return self.migrate(loaded, position, target, reason.into(), billing);
            }
        }
        loaded.record.generation = next.unwrap_or(loaded.record.generation);
        self.end(&mut loaded, position, reason.into());

        let replaces = loaded.spec().replaces_pods();
        let is_last = loaded.record.leases.len() == 1;
        // The first host of an audited job has done its work: it is paid even if others refuse to repeat it.
        let is_audit = loaded.spec().is_audited() && !is_last;
        let fails_for_good = exhausted && (!replaces || is_last || (loaded.spec().is_redundant() && !is_audit));
        let bills: Vec<LeaseBill> = if fails_for_good || !replaces {
            self.end_live_leases(&mut loaded, EndReason::GangAborted);
            self.close_all(&mut loaded)
        } else {
            [self.close(&mut loaded, position)].into()
        };
        if fails_for_good {
            self.transition(&mut loaded, TaskState::Failed(FailReason::AttemptsExhausted));
        } else if replaces && !is_last {
            loaded.record.leases.remove(position);
            self.update_state(&mut loaded);
        } else {
            loaded.record.leases = BoundedVec::new();
            self.transition(&mut loaded, TaskState::Queued);
        }

        let (failures, state) = (loaded.record.failures(), loaded.record.state);
        self.store(loaded);
        Pallet::<T>::deposit_event(match replaces {
            true => Event::PodLost { task, lease, reason, bills, failures, state },
            false => Event::Requeued { task, lease, reason, bills, failures, state },
        });
    }

    /// Charges the tenant for the time for which a pod occupied its host before its start, if the tenant ended it or
    /// prevented its start; at least for `min_charge_ms`. The charge goes to the treasury, so that no host earns by not
    /// starting pods. Returns the charge.
    pub fn charge_placement(&mut self, loaded: &mut LoadedTask, position: usize) -> Balance {
        let held_ms = self.now.saturating_sub(loaded.record.leases[position].created_at);
        self.charge_before_start(loaded, position, held_ms.max(self.params.min_charge_ms))
    }

    /// Charges the tenant of a lease that has not started for `held_ms` milliseconds. Returns the charge.
    fn charge_before_start(&mut self, loaded: &mut LoadedTask, position: usize, held_ms: u64) -> Balance {
        let record = &mut loaded.record;
        let lease = &mut record.leases[position];
        if lease.started_at.is_some() {
            return 0;
        }
        let escrow = &mut lease.escrow;
        let left = escrow.deposit.saturating_sub(escrow.accrued);
        let charge = rate::owed_pro_rata(left, escrow.rate_per_hour, held_ms);
        let paid = self.ledger.pay(&record.tenant, &billing::Pallet::<T>::treasury(), charge);
        escrow.charge(paid);
        paid
    }

    /// Fines the host for a refusal before the start. Unless the host is at fault, the fine is at most the charge of
    /// the tenant (`charged`): else tenants could empty bonds with images that do not start.
    fn charge_refusal(&mut self, loaded: &LoadedTask, position: usize, reason: RequeueReason, charged: Balance) {
        let lease = &loaded.record.leases[position];
        if !matches!(reason, RequeueReason::HostRefused(_)) || lease.started_at.is_some() {
            return;
        }
        let fee = match reason.is_hosts_fault() {
            true => self.params.refusal_fee,
            false => self.params.refusal_fee.min(charged),
        };
        if let Err(error) = self.fine(&lease.host, fee) {
            self.record_inconsistency(error);
        }
    }

    fn record_attempt(&mut self, loaded: &mut LoadedTask, position: usize, reason: RequeueReason) {
        if !reason.is_failure() {
            return;
        }
        let lease = &loaded.record.leases[position];
        let host = lease.host.clone();
        let refused = lease.started_at.is_none() && !matches!(reason, RequeueReason::HostLost);
        let Some(entry) = self.leased_host(&host) else { return };
        let provider = entry.record.provider.clone();
        loaded.record.record_attempt(Attempt { host, provider, refused });
    }

    /// Records that a host did not start or complete a pod. Before the start, a host that reports the failure itself is
    /// not slashed, and some reasons are not its fault. After the start, every reason that a host reports is its own
    /// fault: the image and the manifest were good enough to start.
    fn record_host_fault(&mut self, loaded: &LoadedTask, position: usize, reason: RequeueReason) {
        let lease = &loaded.record.leases[position];
        let is_refusal = matches!(reason, RequeueReason::HostRefused(_));
        let (conduct, fault, since) = match lease.started_at {
            Some(started_at) if is_refusal || reason.is_hosts_fault() => {
                (Conduct::NotCompleted, Some(Fault::LostPod), started_at)
            }
            None if reason.is_hosts_fault() => {
                (Conduct::NotStarted, Some(Fault::StartTimeout).filter(|_| !is_refusal), lease.created_at)
            }
            _ => return,
        };
        let fee = self.treasury_fee_of(&lease.escrow, lease.escrow.deposit);
        self.observe(&loaded.record.tenant, &lease.host, conduct, fee);
        if let Some(fault) = fault {
            self.slash_for_fault(&lease.host, fault, self.now.saturating_sub(since));
        }
    }

    /// Ends one lease because its time is over, its provider reclaimed it, or its deposit is used up. The task
    /// continues with its other pods, and is paid for after the dispute window.
    pub fn end_lease(&mut self, mut loaded: LoadedTask, position: usize, reason: EndReason) {
        let kind = loaded.spec().kind;
        if reason == EndReason::Reclaimed && kind != TaskKind::Rental {
            return self.fail_pod(loaded, position, RequeueReason::Reclaimed);
        }
        if kind == TaskKind::Job {
            return self.end_without_result(loaded, position);
        }
        let (task, lease) = (loaded.task, loaded.lease_id_at(position));
        self.end(&mut loaded, position, reason);
        self.update_state(&mut loaded);
        let state = loaded.record.state;
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
    }

    /// Ends the lease of a job whose host reported no result in time. The host is held responsible and not paid. A
    /// replica is assigned again; the other pods of a job continue, and their results are paid for after the dispute
    /// window. A job without any result fails.
    fn end_without_result(&mut self, mut loaded: LoadedTask, position: usize) {
        if loaded.spec().is_redundant() {
            return self.fail_pod(loaded, position, RequeueReason::NoResult);
        }
        let (task, lease) = (loaded.task, loaded.lease_id_at(position));
        let reason = EndReason::DurationExceeded;
        self.record_host_fault(&loaded, position, RequeueReason::NoResult);
        self.end(&mut loaded, position, reason);
        let may_have_result = loaded
            .record
            .leases
            .iter()
            .any(|lease_record| lease_record.state.is_live() || lease_record.result.is_some());
        let mut bills = Vec::new();
        if may_have_result {
            self.update_state(&mut loaded);
        } else {
            bills = self.close_all(&mut loaded);
            self.transition(&mut loaded, TaskState::Failed(FailReason::DurationExceeded));
        }
        let state = loaded.record.state;
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::LeaseEnded { task, lease, reason, bills, state });
    }
}
