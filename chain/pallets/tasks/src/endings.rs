//! What ends leases, attempts and tasks without a result, and who is paid then.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    faults::Fault, rate, AccountId, Attempt, Balance, Conduct, EndReason, FailReason, LeaseBill, LeaseId, LeaseState,
    NoticeState, RequeueReason, TaskId, TaskKind, TaskState, TaskStateTag, TenantConduct,
};

use crate::{
    billing,
    desk::{Case, Desk},
    reputation, Config, Error, Event, Pallet, WeightInfo,
};

/// What the refusal of a host may cost a task of so many pods: all of them end, or one goes on at its standby. The
/// minimum charge, which the benchmarks do not have, touches the treasury's account besides.
pub(crate) fn refusal_weight<T: Config>(pods: u32) -> Weight {
    let ended = <T as Config>::WeightInfo::report_failed(pods).max(<T as Config>::WeightInfo::take_over(pods));
    ended.saturating_add(T::DbWeight::get().reads_writes(1, 1))
}

/// What giving up a lease may cost a task of so many pods: the same.
pub(crate) fn requeue_weight<T: Config>(pods: u32) -> Weight {
    <T as Config>::WeightInfo::requeue(pods).max(<T as Config>::WeightInfo::take_over(pods))
}

impl<T: Config> Pallet<T> {
    /// Returns how many leases the task had.
    pub(crate) fn do_requeue(who: AccountId, lease: LeaseId) -> Result<u32, DispatchError> {
        let mut desk = Desk::<T>::new().settled_by(who);
        let (case, place) = desk.open_lease(lease)?;
        let of = &case.record.leases[place];
        ensure!(of.state.is_live(), Error::<T>::LeaseEnded);
        let waited_ms = desk.elapsed_ms(of.created_at);
        let late = of.state == LeaseState::Pending && waited_ms > desk.params.start_timeout_ms;
        let reason = if desk.is_lost(&of.host)? {
            RequeueReason::HostLost
        } else if late {
            RequeueReason::StartTimeout
        } else {
            return Err(Error::<T>::LeaseNotStuck.into());
        };
        let pods = case.record.leases.len() as u32;
        desk.lose(case, place, reason);
        desk.commit()?;
        Ok(pods)
    }

    /// Returns how many leases the task had.
    pub(crate) fn do_expire_lease(who: AccountId, lease: LeaseId) -> Result<u32, DispatchError> {
        let mut desk = Desk::<T>::new().settled_by(who);
        let (case, place) = desk.open_lease(lease)?;
        let of = &case.record.leases[place];
        ensure!(matches!(of.state, LeaseState::Active | LeaseState::Suspended), Error::<T>::LeaseNotActive);
        let away = desk.downtime_of(&of.host)?;
        let grace_ms = match case.spec().kind {
            TaskKind::Job => desk.params.report_grace_ms,
            TaskKind::Service | TaskKind::Rental => 0,
        };
        let is_over = of.ends_at(away).is_some_and(|at| desk.now > at && desk.elapsed_ms(at) >= grace_ms);
        ensure!(is_over, Error::<T>::LeaseNotDepleted);
        // A host that is not there must not be paid for having been silent for long enough.
        ensure!(!desk.is_lost(&of.host)?, Error::<T>::HostIsLost);
        let pods = case.record.leases.len() as u32;
        desk.end_one(case, place, EndReason::Expired);
        desk.commit()?;
        Ok(pods)
    }

    /// Returns how many leases the task had, or how many had been told to leave for it.
    pub(crate) fn do_cancel(tenant: AccountId, task: TaskId) -> Result<u32, DispatchError> {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.record.tenant == tenant, Error::<T>::NotTenant);
        case.go::<T>(TaskState::Cancelled, desk.now)?;
        let told = desk.withdraw_notice(&mut case, NoticeState::Absent);
        let pods = (case.record.leases.len() as u32).max(told);
        let has_started = case.record.leases.iter().any(|lease| lease.started_at.is_some());
        desk.end_live(&mut case, EndReason::Cancelled);
        let bills = desk.close_all(&mut case);
        desk.put(case);
        let now = desk.now;
        desk.commit()?;
        if has_started {
            let fees = bills.iter().map(LeaseBill::treasury_fee).fold(0, u128::saturating_add);
            reputation::Pallet::<T>::observe_tenant(&tenant, TenantConduct::Cancelled, fees, now);
        }
        Self::deposit_event(Event::Cancelled { task, bills });
        Ok(pods)
    }

    /// Returns how many had been told to leave for the task.
    pub(crate) fn do_expire(task: TaskId) -> Result<u32, DispatchError> {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.record.state == TaskState::Queued, Error::<T>::NotQueued);
        let passed = case.deadline().is_some_and(|deadline| desk.now > deadline);
        ensure!(passed, Error::<T>::DeadlineNotPassed);
        case.go::<T>(TaskState::Expired, desk.now)?;
        let told = desk.withdraw_notice(&mut case, NoticeState::Absent);
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::Expired { task });
        Ok(told)
    }

    /// Returns how many leases the task had.
    pub(crate) fn do_end(tenant: AccountId, task: TaskId) -> Result<u32, DispatchError> {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.record.tenant == tenant, Error::<T>::NotTenant);
        ensure!(case.spec().kind != TaskKind::Job, Error::<T>::JobsAreCancelled);
        ensure!(case.record.state == TaskState::Running, Error::<T>::NotRunning);
        let pods = case.record.leases.len() as u32;
        desk.end_live(&mut case, EndReason::TenantEnded);
        desk.follow(&mut case);
        let state = case.record.state;
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::Stopped { task, state });
        Ok(pods)
    }

    /// Returns how many leases the task had.
    pub(crate) fn do_scale(tenant: AccountId, task: TaskId, pods: u8) -> Result<u32, DispatchError> {
        let mut desk = Desk::<T>::new();
        let mut case = desk.open(task)?;
        ensure!(case.record.tenant == tenant, Error::<T>::NotTenant);
        ensure!(case.spec().kind == TaskKind::Service, Error::<T>::NotService);
        let tag = case.record.state.tag();
        ensure!(tag == TaskStateTag::Queued || tag.has_live_leases(), Error::<T>::NotRunning);
        let allowed = case.spec().pods_min..=case.spec().pods_max;
        ensure!(allowed.contains(&u16::from(pods)), Error::<T>::PodRangeInvalid);
        let count = case.record.leases.len() as u32;
        let too_many: Vec<usize> = case.places().filter(|place| case.record.leases[*place].pod >= pods).collect();
        if !too_many.is_empty() {
            case.record.generation = case.record.generation.checked_add(1).ok_or(Error::<T>::Overflow)?;
        }
        case.record.pods_wanted = pods;
        let mut bills = Vec::with_capacity(too_many.len());
        for place in too_many {
            if case.record.leases[place].state.is_live() {
                desk.end(&mut case, place, EndReason::ScaledDown);
            }
            bills.push(desk.close(&mut case, place));
        }
        case.record.leases.retain(|lease| lease.pod < pods);
        case.record.checkpoints.retain(|checkpoint| checkpoint.pod < pods);
        if case.record.leases.is_empty() && tag.has_live_leases() {
            case.go::<T>(TaskState::Queued, desk.now)?;
        }
        desk.follow(&mut case);
        let state = case.record.state;
        desk.put(case);
        desk.commit()?;
        Self::deposit_event(Event::Scaled { task, pods, bills, state });
        Ok(count)
    }
}

impl<T: Config> Desk<T> {
    /// Ends every live lease of a task.
    pub fn end_live(&mut self, case: &mut Case, reason: EndReason) {
        for place in case.places() {
            if case.record.leases[place].state.is_live() {
                self.end(case, place, reason);
            }
        }
    }

    /// Lets the state of an assigned or running task follow from its leases: it runs when no pod waits for its start,
    /// and has reported when no pod is left that might. Replicas wait for their comparison.
    pub fn follow(&mut self, case: &mut Case) {
        let leases = &case.record.leases;
        let waits = leases.is_empty() || leases.iter().any(|lease| lease.state == LeaseState::Pending);
        let lives = leases.iter().any(|lease| lease.state.is_live());
        if case.record.state == TaskState::Assigned && !waits {
            self.go(case, TaskState::Running);
        }
        if case.record.state == TaskState::Running && !waits && !lives && !case.spec().is_redundant() {
            self.go(case, TaskState::Reported);
        }
    }

    /// Moves a task along the table where the caller knows that it lists the move.
    pub fn go(&mut self, case: &mut Case, to: TaskState) {
        if let Err(error) = case.go::<T>(to, self.now) {
            self.fail(error);
        }
    }

    /// A pod comes to nothing. Where its standby can take over it goes on there. Else a job waits again as a whole; of a
    /// service or replicas the others go on. A rental that had started ends: its data is on the host that failed, and
    /// its tenant may dispute what it costs. What has failed too often fails for good.
    pub fn lose(&mut self, mut case: Case, place: usize, reason: RequeueReason) {
        let (task, lease) = (case.task, case.id(place));
        self.blame(&case, place, reason);
        let has_data = case.spec().kind == TaskKind::Rental && case.record.leases[place].started_at.is_some();
        if has_data {
            let reason = reason.into();
            self.end(&mut case, place, reason);
            self.follow(&mut case);
            let state = case.record.state;
            self.put(case);
            Pallet::<T>::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
            return;
        }
        let charged = if reason.is_tenants_fault() {
            self.charge_placement(&mut case, place)
        } else if reason.is_of_unknown_cause() {
            self.charge_before_start(&mut case, place, self.params.min_charge_ms)
        } else {
            0
        };
        self.charge_refusal(&case, place, reason, charged);
        self.note_attempt(&mut case, place, reason);
        let next = case.record.generation.checked_add(1);
        let has_failed =
            case.record.refusals() >= self.params.max_refusals || case.record.failures() >= self.params.max_attempts;
        let exhausted = next.is_none() || (reason.is_failure() && has_failed);
        if !exhausted {
            if let Some(room) = self.room_at_standby(&case, place, reason.into()) {
                let billing = EndReason::from(reason).billing(case.spec().kind);
                return self.go_on(case, place, room, reason.into(), billing);
            }
        }
        case.record.generation = next.unwrap_or(case.record.generation);
        self.end(&mut case, place, reason.into());

        let replaces = case.spec().replaces_pods();
        let is_last = case.record.leases.len() == 1;
        // The first host of an audited job has done its work: it is not unpaid because others refuse to repeat it.
        let is_audit = case.spec().is_audited() && !is_last;
        let fails_for_good = exhausted && (!replaces || is_last || (case.spec().is_redundant() && !is_audit));
        let bills: Vec<LeaseBill> = if fails_for_good || !replaces {
            self.end_live(&mut case, EndReason::GangAborted);
            self.close_all(&mut case)
        } else {
            [self.close(&mut case, place)].into()
        };
        if fails_for_good {
            self.go(&mut case, TaskState::Failed(FailReason::AttemptsExhausted));
        } else if replaces && !is_last {
            case.record.leases.remove(place);
            self.follow(&mut case);
        } else {
            case.record.leases = BoundedVec::new();
            self.go(&mut case, TaskState::Queued);
        }

        let (failures, state) = (case.record.failures(), case.record.state);
        self.put(case);
        Pallet::<T>::deposit_event(match replaces {
            true => Event::PodLost { task, lease, reason, bills, failures, state },
            false => Event::Requeued { task, lease, reason, bills, failures, state },
        });
    }

    /// Charges the tenant for the time for which a pod held its host that the tenant ended, or prevented from starting,
    /// before its start; at least for `min_charge_ms`. All of it goes to the treasury, so that no host earns by not
    /// starting pods. Returns what was charged.
    pub fn charge_placement(&mut self, case: &mut Case, place: usize) -> Balance {
        let held_ms = self.now.saturating_sub(case.record.leases[place].created_at);
        self.charge_before_start(case, place, held_ms.max(self.params.min_charge_ms))
    }

    /// Charges the tenant of a lease that has not started for so many milliseconds. Returns what was charged.
    fn charge_before_start(&mut self, case: &mut Case, place: usize, held_ms: u64) -> Balance {
        let record = &mut case.record;
        let lease = &mut record.leases[place];
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

    /// A refusal before the start costs the bond of the host a little. Unless the host is to blame it costs no more than
    /// the tenant was `charged`: else tenants could empty bonds with images that do not start.
    fn charge_refusal(&mut self, case: &Case, place: usize, reason: RequeueReason, charged: Balance) {
        let lease = &case.record.leases[place];
        if !matches!(reason, RequeueReason::HostRefused(_)) || lease.started_at.is_some() {
            return;
        }
        let fee = match reason.is_hosts_fault() {
            true => self.params.refusal_fee,
            false => self.params.refusal_fee.min(charged),
        };
        if let Err(error) = self.fine(&lease.host, fee) {
            self.fail(error);
        }
    }

    fn note_attempt(&mut self, case: &mut Case, place: usize, reason: RequeueReason) {
        if !reason.is_failure() {
            return;
        }
        let lease = &case.record.leases[place];
        let host = lease.host.clone();
        let refused = lease.started_at.is_none() && !matches!(reason, RequeueReason::HostLost);
        let Some(entry) = self.host_of(&host) else { return };
        let provider = entry.record.provider.clone();
        case.record.note_attempt(Attempt { host, provider, refused });
    }

    /// Holds it against a host that it did not start or complete a pod. Before the start a host that says so itself is
    /// not slashed, and some reasons are not its own. After the start every reason that a host gives is its own fault:
    /// the image and the manifest were good enough to start.
    fn blame(&mut self, case: &Case, place: usize, reason: RequeueReason) {
        let lease = &case.record.leases[place];
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
        self.observe(&case.record.tenant, &lease.host, conduct, fee);
        if let Some(fault) = fault {
            self.punish(&lease.host, fault, self.now.saturating_sub(since));
        }
    }

    /// Ends one lease because its time is over, or its provider or the tenant's coins ended it. The task goes on with the
    /// pods that are left, and is paid for after the dispute window.
    pub fn end_one(&mut self, mut case: Case, place: usize, reason: EndReason) {
        let kind = case.spec().kind;
        if reason == EndReason::Reclaimed && kind != TaskKind::Rental {
            return self.lose(case, place, RequeueReason::Reclaimed);
        }
        if kind == TaskKind::Job {
            return self.end_without_result(case, place);
        }
        let (task, lease) = (case.task, case.id(place));
        self.end(&mut case, place, reason);
        self.follow(&mut case);
        let state = case.record.state;
        self.put(case);
        Pallet::<T>::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
    }

    /// Ends the lease of a job whose host reported no result in time. Its host is blamed and not paid. A replica is
    /// placed again; of a job of several pods the others go on, and what they report is paid for after the dispute
    /// window. A job without any result fails.
    fn end_without_result(&mut self, mut case: Case, place: usize) {
        if case.spec().is_redundant() {
            return self.lose(case, place, RequeueReason::NoResult);
        }
        let (task, lease) = (case.task, case.id(place));
        let reason = EndReason::DurationExceeded;
        self.blame(&case, place, RequeueReason::NoResult);
        self.end(&mut case, place, reason);
        let may_have_result = case.record.leases.iter().any(|of| of.state.is_live() || of.result.is_some());
        let mut bills = Vec::new();
        if may_have_result {
            self.follow(&mut case);
        } else {
            bills = self.close_all(&mut case);
            self.go(&mut case, TaskState::Failed(FailReason::DurationExceeded));
        }
        let state = case.record.state;
        self.put(case);
        Pallet::<T>::deposit_event(Event::LeaseEnded { task, lease, reason, bills, state });
    }
}
