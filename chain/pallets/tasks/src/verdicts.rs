//! Decisions of the verification pallet about tasks: disputes, and the comparison of replicas.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    lease_id, lease_parts, rate, AccountId, Balance, Conduct, EndReason, Escrow, FailReason, HostId, Lease, LeaseId,
    LeaseState, PodResult, RequeueReason, ServiceChecks, TaskId, TaskKind, TaskRecord, TaskState, TenantConduct, Vote,
    MAX_PODS,
};

use crate::{
    billing,
    changes::{LoadedTask, TaskChanges},
    reputation, Config, Error, Event, Pallet,
};

impl<T: Config> Pallet<T> {
    /// Returns the account that pays for a task. Fails with `NoSuchTask`.
    pub fn tenant_of(task: TaskId) -> Result<AccountId, DispatchError> {
        Ok(Self::record(task)?.tenant)
    }

    /// Returns the leases of a task in the order of its pods, each with its host. Fails with `NoSuchTask`.
    pub fn leases_of(task: TaskId) -> Result<Vec<(LeaseId, HostId)>, DispatchError> {
        let record = Self::record(task)?;
        let ids = record.leases.iter().map(|lease| (lease_id(task, lease.pod, lease.generation), lease.host.clone()));
        Ok(ids.collect())
    }

    /// Marks a task as disputed because of the results of the leases `accused`. Fails unless the task is reported, its
    /// dispute window is open, and all of `accused` are its leases.
    pub fn mark_disputed(task: TaskId, accused: &[LeaseId]) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.record.state == TaskState::Reported, Error::<T>::NotReported);
        ensure!(changes.is_disputable(&loaded), Error::<T>::DisputeWindowClosed);
        for lease in accused {
            ensure!(lease_parts(*lease).0 == task, Error::<T>::NoSuchLease);
            loaded.position_of::<T>(*lease)?;
        }
        loaded.try_transition::<T>(TaskState::Disputed, changes.now)?;
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::Disputed { task });
        Ok(())
    }

    /// Ends a dispute about the leases `accused`. If it is upheld, nothing more is paid for them; the task fails if it
    /// has no other leases, else the results of the others stand. A verdict counts for or against the hosts of those
    /// leases, and the tenant if it opened the dispute (`by_tenant`). Fails unless the task is disputed.
    pub fn resolve_dispute(
        task: TaskId,
        accused: &[LeaseId],
        verdict: Option<Vote>,
        by_tenant: bool,
    ) -> DispatchResult {
        let upheld = verdict == Some(Vote::Yes);
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.record.state == TaskState::Disputed, Error::<T>::NotDisputed);
        let tenant = loaded.record.tenant.clone();
        let mut bills = Vec::new();
        let judged: Vec<usize> =
            loaded.positions().filter(|position| accused.contains(&loaded.lease_id_at(*position))).collect();
        if upheld {
            for position in &judged {
                changes.forfeit(&mut loaded, *position, EndReason::DisputeLost);
            }
        }
        if upheld && judged.len() == loaded.record.leases.len() {
            bills = changes.close_all(&mut loaded);
            loaded.try_transition::<T>(TaskState::Failed(FailReason::DisputeLost), changes.now)?;
        } else {
            loaded.try_transition::<T>(TaskState::Verified, changes.now)?;
        }
        let (now, state) = (changes.now, loaded.record.state);
        let mut fees: Balance = 0;
        for position in judged {
            let lease = &loaded.record.leases[position];
            let (conduct, amount) = match upheld {
                true => (Conduct::NotVerified, lease.escrow.deposit),
                false => (Conduct::Verified, lease.escrow.accrued),
            };
            let fee = changes.treasury_fee_of(&lease.escrow, amount);
            fees = fees.saturating_add(fee);
            if verdict.is_some() {
                changes.observe(&tenant, &lease.host, conduct, fee);
            }
        }
        changes.store(loaded);
        changes.commit()?;
        if verdict.is_some() && by_tenant {
            let conduct = if upheld { TenantConduct::DisputeWon } else { TenantConduct::DisputeLost };
            reputation::Pallet::<T>::observe_tenant(&tenant, conduct, fees, now);
        }
        Self::deposit_event(Event::DisputeResolved { task, upheld, bills, state });
        Ok(())
    }

    /// Returns a lease that its host must serve, with the provider and the tenant. None unless it is the active lease of a
    /// service or rental on the host of another account than the tenant.
    pub fn served_lease(lease: LeaseId) -> Option<(Lease, AccountId, AccountId)> {
        let mut changes = TaskChanges::<T>::new();
        let (loaded, position) = changes.load_lease(lease).ok()?;
        let lease_record = &loaded.record.leases[position];
        let is_served = lease_record.state == LeaseState::Active && loaded.spec().kind != TaskKind::Job;
        let provider = changes.host(&lease_record.host).ok()?.record.provider.clone();
        let tenant = loaded.record.tenant.clone();
        (is_served && provider != tenant).then(|| (lease_record.clone(), provider, tenant))
    }

    /// Stores the service checks of a lease. Fails if there is no such lease.
    pub fn set_checks(lease: LeaseId, checks: ServiceChecks) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (mut loaded, position) = changes.load_lease(lease)?;
        loaded.record.leases[position].checks = Some(checks);
        changes.store(loaded);
        changes.commit()
    }

    /// Ends a lease whose pod was not served. Fails unless it is the active lease of a service or rental.
    ///
    /// The host is not paid for the last `held_back_ms`. If the pod refused connections, nobody knows whose fault it is:
    /// the tenant pays that time to the treasury, so that neither side gains by such an end.
    pub fn end_unserved(lease: LeaseId, pod_refused: bool) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (mut loaded, position) = changes.load_lease(lease)?;
        ensure!(loaded.spec().kind != TaskKind::Job, Error::<T>::LeaseNotActive);
        ensure!(loaded.record.leases[position].state == LeaseState::Active, Error::<T>::LeaseNotActive);
        if pod_refused {
            changes.charge_withheld(&mut loaded, position)?;
        }
        let reason = if pod_refused { RequeueReason::PodRefused } else { RequeueReason::NotServed };
        changes.fail_pod(loaded, position, reason);
        changes.commit()
    }

    /// Returns how many replicas a task wants. None if its results are not compared, or it does not run.
    pub fn replicas_of(task: TaskId) -> Option<u8> {
        let (record, spec) = Self::view_task(task)?;
        (spec.is_redundant() && record.state.tag().has_live_leases()).then_some(record.pods_wanted)
    }

    /// Whether the chain draws if another host repeats the work of a task.
    pub fn is_audited(task: TaskId) -> bool {
        Self::view_task(task).is_some_and(|(_, spec)| spec.is_audited())
    }

    /// Checks whether `host` may commit the result of a lease now.
    pub fn can_commit(lease: LeaseId, host: &HostId) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (loaded, position) = changes.load_lease(lease)?;
        ensure!(loaded.spec().is_redundant(), Error::<T>::NotRedundant);
        let lease_record = &loaded.record.leases[position];
        ensure!(lease_record.host == *host, Error::<T>::NotHostOfLease);
        ensure!(lease_record.state == LeaseState::Active, Error::<T>::LeaseNotActive);
        Ok(())
    }

    /// Ends the lease of a replica whose result is committed, and releases its resources. Fails unless the task's
    /// results are compared and the lease is active.
    pub fn end_committed_pod(lease: LeaseId) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (mut loaded, position) = changes.load_lease(lease)?;
        ensure!(loaded.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(loaded.record.leases[position].state == LeaseState::Active, Error::<T>::LeaseNotActive);
        let reason = EndReason::Completed;
        changes.end(&mut loaded, position, reason);
        changes.update_state(&mut loaded);
        let (task, state) = (loaded.task, loaded.record.state);
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
        Ok(())
    }

    /// Whether a lease belongs to the present attempt of its task and has not failed.
    pub fn is_current(lease: LeaseId) -> bool {
        Self::view_lease(lease)
            .is_some_and(|(lease, ..)| lease.state.is_live() || lease.state == LeaseState::Ended(EndReason::Completed))
    }

    /// Whether a pod of a task other than those of `committed` runs or is pending, within its paid time.
    pub fn has_other_pods(task: TaskId, committed: &[LeaseId]) -> bool {
        let mut changes = TaskChanges::<T>::new();
        let Ok(loaded) = changes.load(task) else { return false };
        loaded.positions().any(|position| {
            let lease = &loaded.record.leases[position];
            let downtime_ms = changes.downtime_of(&lease.host).unwrap_or_default();
            let is_over = lease.ends_at(downtime_ms).is_some_and(|at| at < changes.now);
            lease.state.is_live() && !is_over && !committed.contains(&loaded.lease_id_at(position))
        })
    }

    /// Ends the pods of a task other than those of `committed`; nothing more is paid for them. Fails unless the task's
    /// results are compared and it is assigned or runs.
    pub fn end_other_pods(task: TaskId, committed: &[LeaseId]) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(loaded.record.state.tag().has_live_leases(), Error::<T>::NotRunning);
        for position in loaded.positions() {
            if loaded.record.leases[position].state.is_live() && !committed.contains(&loaded.lease_id_at(position)) {
                changes.end(&mut loaded, position, EndReason::GangAborted);
                changes.forfeit(&mut loaded, position, EndReason::GangAborted);
                let (lease, state) = (loaded.lease_id_at(position), loaded.record.state);
                let reason = EndReason::GangAborted;
                Self::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
            }
        }
        if loaded.spec().is_audited() {
            // No other host is to come any more.
            loaded.record.pods_wanted = loaded.record.leases.last().map_or(1, |lease| lease.pod.saturating_add(1));
        }
        changes.update_state(&mut loaded);
        changes.store(loaded);
        changes.commit()
    }

    /// Stores the revealed result of a replica. Fails unless the task's results are compared, and the lease is active
    /// or was ended when its result was committed.
    pub fn complete_pod(lease: LeaseId, result: PodResult) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (mut loaded, position) = changes.load_lease(lease)?;
        ensure!(loaded.spec().is_redundant(), Error::<T>::NotRedundant);
        let lease_record = &mut loaded.record.leases[position];
        match lease_record.state {
            LeaseState::Active => changes.end_with_result(loaded, position, result),
            LeaseState::Ended(EndReason::Completed) if lease_record.result.is_none() => {
                lease_record.result = Some(result);
                let Escrow { unit, deposit, rate_per_hour, .. } = lease_record.escrow;
                let measured = rate::owed(unit, deposit, rate_per_hour, result.usage.wall_ms);
                lease_record.escrow.accrued = lease_record.escrow.accrued.min(measured).max(lease_record.escrow.paid);
                let (task, state) = (loaded.task, loaded.record.state);
                changes.store(loaded);
                Self::deposit_event(Event::PodReported { task, lease, result, state });
            }
            _ => return Err(Error::<T>::LeaseNotActive.into()),
        }
        changes.commit()
    }

    /// Returns the deposit of a lease; 0 if there is no such lease.
    pub fn deposit_of(lease: LeaseId) -> Balance {
        Self::view_lease(lease).map_or(0, |(lease, ..)| lease.escrow.deposit)
    }

    /// Returns the part of the task's protocol fee that goes to the treasury, whoever settles the task, if the results
    /// of the leases `right` are right and no others are paid.
    pub fn treasury_fees(task: TaskId, right: &[LeaseId]) -> Balance {
        let Ok(mut loaded) = TaskChanges::<T>::new().load(task) else { return 0 };
        let right: Vec<usize> = right.iter().filter_map(|lease| loaded.position_of::<T>(*lease).ok()).collect();
        if loaded.spec().is_audited() {
            charge_audit(&mut loaded, &right);
        }
        let settler_ppm = billing::Pallet::<T>::params().settler_share_ppm;
        let fee_of = |position: &usize| {
            let escrow = &loaded.record.leases[*position].escrow;
            escrow.divide(escrow.accrued, settler_ppm).1.treasury
        };
        right.iter().map(fee_of).fold(0, Balance::saturating_add)
    }

    /// Forfeits the payment of a replica whose result is wrong or was not revealed, and whose lease has ended. Fails
    /// unless the task's results are compared.
    pub fn void_pod(lease: LeaseId) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (mut loaded, position) = changes.load_lease(lease)?;
        ensure!(loaded.spec().is_redundant(), Error::<T>::NotRedundant);
        let ended = matches!(loaded.record.leases[position].state, LeaseState::Ended(_));
        ensure!(ended && !loaded.record.state.tag().is_final(), Error::<T>::LeaseNotActive);
        changes.forfeit(&mut loaded, position, EndReason::DisputeLost);
        let lease_record = &loaded.record.leases[position];
        let fee = changes.treasury_fee_of(&lease_record.escrow, lease_record.escrow.deposit);
        changes.observe(&loaded.record.tenant, &lease_record.host, Conduct::NotVerified, fee);
        let (task, state) = (loaded.task, loaded.record.state);
        changes.store(loaded);
        changes.commit()?;
        let reason = EndReason::DisputeLost;
        Self::deposit_event(Event::LeaseEnded { task, lease, reason, bills: Vec::new(), state });
        Ok(())
    }

    /// Requests one more replica, because the present ones disagree. Fails unless the task's results are compared and
    /// it runs, or if it has 16 pods.
    pub fn request_extra_pod(task: TaskId) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(loaded.record.state == TaskState::Running, Error::<T>::NotRunning);
        let pods = loaded.record.pods_wanted.checked_add(1).filter(|pods| u32::from(*pods) <= MAX_PODS);
        let pods = pods.ok_or(Error::<T>::PodRangeInvalid)?;
        loaded.record.pods_wanted = pods;
        let state = loaded.record.state;
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::Scaled { task, pods, bills: Vec::new(), state });
        Ok(())
    }

    /// Verifies a task whose replicas agree, without the voided ones. Fails unless the task's results are compared, it
    /// runs, no pod is left that might report, and one has reported.
    pub fn mark_verified(task: TaskId) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.spec().is_redundant(), Error::<T>::NotRedundant);
        ensure!(loaded.record.state == TaskState::Running, Error::<T>::NotRunning);
        ensure!(!loaded.record.leases.iter().any(|lease| lease.state.is_live()), Error::<T>::PodsStillRun);
        let is_right =
            |lease: &&Lease| lease.state == LeaseState::Ended(EndReason::Completed) && lease.result.is_some();
        ensure!(loaded.record.leases.iter().any(|lease| is_right(&lease)), Error::<T>::NothingRight);
        loaded.try_transition::<T>(TaskState::Reported, changes.now)?;
        loaded.try_transition::<T>(TaskState::Verified, changes.now)?;
        for lease in loaded.record.leases.iter().filter(is_right) {
            let fee = changes.treasury_fee_of(&lease.escrow, lease.escrow.accrued);
            changes.observe(&loaded.record.tenant, &lease.host, Conduct::Verified, fee);
        }
        if loaded.spec().is_audited() {
            let right: Vec<usize> =
                loaded.positions().filter(|position| is_right(&&loaded.record.leases[*position])).collect();
            charge_audit(&mut loaded, &right);
        }
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::Verified { task });
        Ok(())
    }

    /// Reports the result of an audited job whose work no other host repeats. Fails unless the task is audited, it
    /// runs, no pod is left that might report, and one has reported.
    pub fn mark_reported(task: TaskId) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.spec().is_audited(), Error::<T>::NotRedundant);
        ensure!(loaded.record.state == TaskState::Running, Error::<T>::NotRunning);
        ensure!(!loaded.record.leases.iter().any(|lease| lease.state.is_live()), Error::<T>::PodsStillRun);
        let has_result =
            |lease: &Lease| lease.state == LeaseState::Ended(EndReason::Completed) && lease.result.is_some();
        ensure!(loaded.record.leases.iter().any(has_result), Error::<T>::NothingRight);
        loaded.try_transition::<T>(TaskState::Reported, changes.now)?;
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::NotRepeated { task });
        Ok(())
    }

    /// Fails a task whose replicas do not agree if no further replica is requested; nothing more is paid for it. Fails
    /// unless the task's results are compared and it is assigned or runs.
    pub fn fail_without_agreement(task: TaskId) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let mut loaded = changes.load(task)?;
        ensure!(loaded.spec().is_redundant(), Error::<T>::NotRedundant);
        loaded.try_transition::<T>(TaskState::Failed(FailReason::NoAgreement), changes.now)?;
        changes.end_live_leases(&mut loaded, EndReason::GangAborted);
        for position in loaded.positions() {
            changes.forfeit(&mut loaded, position, EndReason::DisputeLost);
        }
        let bills = changes.close_all(&mut loaded);
        changes.store(loaded);
        changes.commit()?;
        Self::deposit_event(Event::NotVerified { task, bills });
        Ok(())
    }
}

/// Charges the host of the first pod of an audited job for the others: if its result is right, the amounts owed to the
/// leases at the other positions of `right` are subtracted from the amount owed to it. So the tenant pays once.
fn charge_audit(loaded: &mut LoadedTask, right: &[usize]) {
    let leases = &mut loaded.record.leases;
    if !right.contains(&0) {
        return;
    }
    let owed = right.iter().filter(|position| **position > 0).map(|position| leases[*position].escrow.accrued);
    let owed = owed.fold(0, Balance::saturating_add);
    if let Some(first) = leases.iter_mut().next() {
        first.escrow.accrued = first.escrow.accrued.saturating_sub(owed).max(first.escrow.paid);
    }
}

impl<T: Config> TaskChanges<T> {
    /// Charges the tenant of a running lease, in favour of the treasury, for the last `held_back_ms`, which the host is
    /// not paid for.
    fn charge_withheld(&mut self, loaded: &mut LoadedTask, position: usize) -> DispatchResult {
        let downtime_ms = self.downtime_of(&loaded.record.leases[position].host)?;
        let (now, held_back_ms) = (self.now, self.billing.held_back_ms);
        let TaskRecord { leases, tenant, .. } = &mut loaded.record;
        let lease = &mut leases[position];
        let until = lease.billed_to(now);
        let paid_for = lease.escrow.owed_pro_rata(until.saturating_sub(held_back_ms), downtime_ms);
        let withheld = lease.escrow.owed_pro_rata(until, downtime_ms).saturating_sub(paid_for);
        let paid = self.ledger.pay(tenant, &billing::Pallet::<T>::treasury(), withheld);
        lease.escrow.charge(paid);
        lease.checks.get_or_insert_default().pod_refused = true;
        Ok(())
    }

    /// Forfeits the unpaid amount of a lease that has ended, and stores the reason.
    fn forfeit(&mut self, loaded: &mut LoadedTask, position: usize, reason: EndReason) {
        let lease = &mut loaded.record.leases[position];
        lease.escrow.accrued = lease.escrow.paid;
        if matches!(lease.state, LeaseState::Ended(_)) {
            lease.state = LeaseState::Ended(reason);
        }
    }
}
