//! The changes that one extrinsic makes to tasks and to the values that they share: each value is read once, changed in
//! memory, and written once by [`TaskChanges::commit`].
//!
//! An operation checks all its conditions on values before it changes any, and cannot fail after that. So a refused
//! item of a batch leaves no trace. If an operation finds that the stored state is inconsistent, `commit` refuses the
//! whole extrinsic.

mod host_entries;

use alloc::{
    collections::{btree_map::Entry, BTreeMap},
    rc::Rc,
    vec::Vec,
};

use frame_support::{
    pallet_prelude::*,
    traits::{fungible::MutateHold, tokens::Precision},
};
use gantry_primitives::{
    lease_id, lease_parts, rate,
    sla::Credit,
    transitions::{allows, LEASE_TRANSITIONS, TASK_TRANSITIONS},
    AccountId, Balance, Billing, BillingUnit, Conduct, EndReason, Escrow, Halts, HostId, IndexTag, Lease, LeaseBill,
    LeaseId, LeaseStateTag, Moment, PodResult, Settlement, SpecRecord, TaskId, TaskKey, TaskKind, TaskRecord, TaskSpec,
    TaskState, TenantConduct,
};
use pallet_gantry_billing::{Ledger, Payees, Settler};

pub(crate) use host_entries::Allocation;
use host_entries::{commit_host, HostEntry};

use crate::{
    billing, hosts, index::Index, leases, reputation, Archive, ArchivePage, ByTenant, Config, CurrentParams, Error,
    Event, HoldReason, Manifests, Pallet, Params, Specs, Tasks,
};

/// The record that tasks submitted together share, and how this extrinsic changes its counters.
struct SpecEntry {
    record: Rc<SpecRecord>,
    finished: u32,
    pruned: u32,
}

/// A task that was read from storage. Changes to it take effect only when [`TaskChanges::store`] stores it.
pub(crate) struct LoadedTask {
    pub task: TaskId,
    pub record: TaskRecord,
    pub spec_record: Rc<SpecRecord>,
    was_listed: Option<IndexTag>,
    was_short: bool,
}

impl LoadedTask {
    pub fn spec(&self) -> &TaskSpec {
        &self.spec_record.spec
    }

    /// Changes the state of the task. Fails with `TransitionNotAllowed` if `TASK_TRANSITIONS` does not list the
    /// transition.
    pub fn try_transition<T: Config>(&mut self, to: TaskState, now: Moment) -> DispatchResult {
        ensure!(allows(TASK_TRANSITIONS, self.record.state.tag(), to.tag()), Error::<T>::TransitionNotAllowed);
        self.record.state = to;
        self.record.changed_at = now;
        if to == TaskState::Running {
            self.record.preemption = None;
        }
        Ok(())
    }

    /// Returns the position of a lease of this task in its record. Fails with `NoSuchLease`.
    pub fn position_of<T: Config>(&self, lease: LeaseId) -> Result<usize, DispatchError> {
        let (_, pod, generation) = lease_parts(lease);
        let found = self.record.leases.iter().position(|known| known.pod == pod && known.generation == generation);
        found.ok_or_else(|| Error::<T>::NoSuchLease.into())
    }

    pub fn lease_id_at(&self, position: usize) -> LeaseId {
        let lease = &self.record.leases[position];
        lease_id(self.task, lease.pod, lease.generation)
    }

    /// The time by which the task must be assigned. None if it has none, or if it has met it: a service or rental that
    /// was assigned once, or a task that was preempted.
    pub fn deadline(&self) -> Option<Moment> {
        let was_assigned = self.spec().kind != TaskKind::Job && self.record.generation > 0;
        let has_met_deadline = was_assigned || self.record.preemption.is_some();
        self.spec().deadline.filter(|_| !has_met_deadline)
    }

    /// Whether the task wants more pods than it has leases, while its other pods run.
    pub fn is_short(&self) -> bool {
        is_short(&self.record, self.spec())
    }

    /// Whether the task runs and has a preemption notice.
    pub fn has_preemption_notice(&self) -> bool {
        self.record.state == TaskState::Running && self.record.preemption.is_some()
    }

    /// Whether the task runs and has a preemption notice in favour of the task `wanting`.
    pub fn is_victim_of(&self, wanting: TaskId) -> bool {
        self.has_preemption_notice() && self.record.preemption.is_some_and(|preemption| preemption.wanting == wanting)
    }

    pub fn positions(&self) -> core::ops::Range<usize> {
        0..self.record.leases.len()
    }
}

/// Whether a task wants more pods than it has leases, while its other pods run.
pub(crate) fn is_short(record: &TaskRecord, spec: &TaskSpec) -> bool {
    record.state.tag().has_live_leases()
        && spec.replaces_pods()
        && record.leases.len() < usize::from(record.pods_wanted)
}

/// The changes of one extrinsic. See the module.
pub(crate) struct TaskChanges<T: Config> {
    pub now: Moment,
    pub params: Params,
    pub ledger: Ledger<T>,
    halts: Halts,
    pub billing: billing::Params,
    /// The settler whose call settles or ends leases. None if a party of the lease, or the chain, does.
    settler: Option<Settler>,
    specs: BTreeMap<TaskId, SpecEntry>,
    hosts: BTreeMap<HostId, HostEntry>,
    index: Index<T>,
    archive: BTreeMap<u64, ArchivePage>,
    /// Leases that operations have read so far.
    leases_accessed: u32,
    /// The most leases that operations may read.
    leases_limit: u32,
    /// Leases that operations have read and that their calls did not name.
    others_accessed: u32,
    /// The most of them.
    others_limit: u32,
    deposits: BTreeMap<AccountId, Balance>,
    settled: BTreeMap<AccountId, Balance>,
    inconsistency: Option<DispatchError>,
}

impl<T: Config> TaskChanges<T> {
    pub fn new() -> Self {
        Self::with_ledger(Ledger::default())
    }

    /// Empty changes, and the movements of coins that `ledger` holds already.
    pub fn with_ledger(ledger: Ledger<T>) -> Self {
        Self {
            now: hosts::Pallet::<T>::now(),
            params: CurrentParams::<T>::get(),
            ledger,
            halts: hosts::CountedHalts::<T>::get(),
            billing: billing::Pallet::<T>::params(),
            settler: None,
            specs: BTreeMap::new(),
            hosts: BTreeMap::new(),
            index: Index::new(),
            archive: BTreeMap::new(),
            leases_accessed: 0,
            leases_limit: u32::MAX,
            others_accessed: 0,
            others_limit: u32::MAX,
            deposits: BTreeMap::new(),
            settled: BTreeMap::new(),
            inconsistency: None,
        }
    }

    /// Limits how many `leases` operations may read, and how many of them (`others`) that their calls do not name.
    pub fn with_limits(self, leases: u32, others: u32) -> Self {
        Self { leases_limit: leases, others_limit: others, ..self }
    }

    /// Makes `who` the settler of the leases that are settled or ended.
    pub fn with_settler(self, who: AccountId) -> Self {
        Self { settler: Some(billing::Pallet::<T>::settler(who)), ..self }
    }

    /// Counts the leases that an operation reads: `named` by its call, and `others`. Fails with `BatchTooHeavy` if the
    /// call did not pay for that many.
    pub fn count_leases(&mut self, named: u32, others: u32) -> DispatchResult {
        let accessed = self.leases_accessed.saturating_add(named).saturating_add(others);
        let others_accessed = self.others_accessed.saturating_add(others);
        let is_paid_for = accessed <= self.leases_limit && others_accessed <= self.others_limit;
        ensure!(is_paid_for, Error::<T>::BatchTooHeavy);
        (self.leases_accessed, self.others_accessed) = (accessed, others_accessed);
        Ok(())
    }

    /// Returns the milliseconds since `moment`, without the times in which the chain made no blocks.
    pub fn elapsed_ms(&self, moment: Moment) -> u64 {
        self.halts.elapsed_ms(moment, self.now)
    }

    /// Whether the dispute window of a task that has reported is open.
    pub fn is_disputable(&self, loaded: &LoadedTask) -> bool {
        self.elapsed_ms(loaded.record.changed_at) < self.params.dispute_window_ms
    }

    /// Returns how many specs, hosts and leases operations have read.
    pub fn access_counts(&self) -> (u32, u32, u32) {
        (self.specs.len() as u32, self.hosts.len() as u32, self.leases_accessed)
    }

    /// Reads a task. Fails with `NoSuchTask`.
    pub fn load(&mut self, task: TaskId) -> Result<LoadedTask, DispatchError> {
        let record = Pallet::<T>::record(task)?;
        let spec_record = self.spec_record(record.first)?;
        let was_listed = record.state.tag().index();
        let was_short = is_short(&record, &spec_record.spec);
        Ok(LoadedTask { task, record, spec_record, was_listed, was_short })
    }

    /// Reads the task of a lease, and returns the position of the lease in its record. Fails with `NoSuchTask` and
    /// `NoSuchLease`.
    pub fn load_lease(&mut self, lease: LeaseId) -> Result<(LoadedTask, usize), DispatchError> {
        let loaded = self.load(lease_parts(lease).0)?;
        let position = loaded.position_of::<T>(lease)?;
        Ok((loaded, position))
    }

    fn spec_record(&mut self, first: TaskId) -> Result<Rc<SpecRecord>, DispatchError> {
        Ok(match self.specs.entry(first) {
            Entry::Occupied(known) => known.get().record.clone(),
            Entry::Vacant(vacant) => {
                let record = Specs::<T>::get(TaskKey::from(first)).ok_or(Error::<T>::NoSuchTask)?;
                vacant.insert(SpecEntry { record: Rc::new(record), finished: 0, pruned: 0 }).record.clone()
            }
        })
    }

    /// Stores a task, and updates the lists of tasks by state.
    pub fn store(&mut self, loaded: LoadedTask) {
        let LoadedTask { task, record, spec_record, was_listed, was_short } = loaded;
        let tag = record.state.tag();
        let is_listed = tag.index();
        if was_listed != is_listed {
            if let Some(before) = was_listed {
                self.index.put(before, task, false);
            }
            if let Some(after) = is_listed {
                self.index.put(after, task, true);
            }
            if is_listed.is_none() {
                self.specs.entry(record.first).and_modify(|entry| entry.finished += 1);
            }
        }
        let is_short = is_short(&record, &spec_record.spec);
        if was_short != is_short {
            self.index.put(IndexTag::Short, task, is_short);
        }
        Tasks::<T>::insert(TaskKey::from(task), record);
    }

    /// A page of the archive.
    pub fn archive_page(&mut self, number: u64) -> &mut ArchivePage {
        self.archive.entry(number).or_insert_with(|| Archive::<T>::get(number))
    }

    /// Removes a task and releases its deposit.
    pub fn remove(&mut self, loaded: LoadedTask) {
        let LoadedTask { task, record, spec_record, .. } = loaded;
        Tasks::<T>::remove(TaskKey::from(task));
        self.specs.entry(record.first).and_modify(|entry| entry.pruned += 1);
        self.release_deposit(&record.tenant, spec_record.task_deposit);
    }

    fn release_deposit(&mut self, tenant: &AccountId, amount: Balance) {
        if amount == 0 {
            return;
        }
        match self.deposits.get_mut(tenant) {
            Some(sum) => *sum = sum.saturating_add(amount),
            None => {
                self.deposits.insert(tenant.clone(), amount);
            }
        }
    }

    /// Records that the stored state is inconsistent: [`Self::commit`] will refuse the extrinsic.
    pub fn record_inconsistency(&mut self, error: DispatchError) {
        self.inconsistency.get_or_insert(error);
    }

    /// Ends a live lease: billing stops, and its resources are released. If a rental had started, the host must retain
    /// its data for a period, whoever ended it; a host that has lost the data must report so, and is slashed.
    pub fn end(&mut self, loaded: &mut LoadedTask, position: usize, reason: EndReason) {
        if reason.is_tenants_act() {
            self.charge_placement(loaded, position);
        }
        let (kind, forfeited_ms) = (loaded.spec().kind, self.billing.held_back_ms);
        self.end_with(loaded, position, true, |lease, now, downtime_ms| {
            lease.end(reason, kind, now, downtime_ms, forfeited_ms)
        });
    }

    /// Ends a live lease whose pod migrates.
    pub fn end_for_migration(&mut self, loaded: &mut LoadedTask, position: usize, reason: EndReason, billing: Billing) {
        let (kind, forfeited_ms) = (loaded.spec().kind, self.billing.held_back_ms);
        self.end_with(loaded, position, false, |lease, now, downtime_ms| {
            lease.end_billed(reason, billing, kind, now, downtime_ms, forfeited_ms);
        });
    }

    /// Ends an active lease with a result.
    pub fn complete(&mut self, loaded: &mut LoadedTask, position: usize, result: PodResult) {
        self.end_with(loaded, position, true, |lease, now, _| lease.complete(result, now));
    }

    fn end_with(
        &mut self,
        loaded: &mut LoadedTask,
        position: usize,
        has_data: bool,
        end: impl FnOnce(&mut Lease, Moment, u64),
    ) {
        let (now, settler_ppm) = (self.now, self.billing.settler_share_ppm);
        let held_back_ms = self.billing.held_back_ms;
        let id = loaded.lease_id_at(position);
        let LoadedTask { record, spec_record, .. } = loaded;
        let lease = &mut record.leases[position];
        let Some(entry) = self.leased_host(&lease.host) else { return };
        let downtime_ms = entry.downtime_ms::<T>();
        let is_own = entry.record.provider == record.tenant;
        let since = lease.escrow.since.filter(|_| !is_own);
        let down_ms = downtime_ms.saturating_sub(lease.escrow.downtime_mark);
        let listed = allows(LEASE_TRANSITIONS, lease.state.tag(), LeaseStateTag::Ended);
        let from = Allocation::in_state(&lease.state);
        end(lease, now, downtime_ms);
        let credit = lease.credit_end(downtime_ms, held_back_ms);
        if credit != Credit::default() {
            let from_bond = match credit.from_bond {
                0 => 0,
                amount => {
                    entry.changed = true;
                    hosts::Pallet::<T>::charge_bond(&lease.host, &mut entry.record, amount, &record.tenant)
                }
            };
            Pallet::<T>::deposit_event(Event::SlaCredited { lease: id, unpaid: credit.unpaid, from_bond });
        }
        // The deposit may be given back, what is owed now is not.
        let fee = lease.escrow.divide(lease.escrow.accrued, settler_ppm).1.treasury;
        if let Some(since) = since {
            entry.observe_uptime(now.saturating_sub(since).saturating_sub(down_ms), down_ms, fee);
        }
        if let Some(started_at) = lease.started_at.filter(|_| !is_own) {
            entry.observe(Conduct::StartedAfter(started_at.saturating_sub(lease.created_at)), fee);
        }
        if has_data && spec_record.spec.kind == TaskKind::Rental && lease.started_at.is_some() {
            let spec = &spec_record.spec;
            let rate_per_hour = rate::storage_rate_per_hour(&spec.resources, &entry.record.ask, spec.unit).ok();
            leases::Pallet::<T>::retain(id, lease, rate_per_hour, now);
        }
        self.shrink_allocation(id, lease, spec_record, from);
        if !listed {
            self.record_inconsistency(Error::<T>::LeaseTransitionNotAllowed.into());
        }
    }

    /// Pays the amount still owed for a lease that has ended, and releases the rest of its deposit.
    pub fn close(&mut self, loaded: &mut LoadedTask, position: usize) -> LeaseBill {
        let (bill, refunded) = self.roll_over(loaded, position);
        self.ledger.release(&loaded.record.tenant, refunded);
        LeaseBill { refunded, ..bill }
    }

    /// Pays the amount still owed for a lease that has ended. Returns the bill, and the rest of the deposit: it stays
    /// on hold for the lease by which the pod continues.
    pub fn roll_over(&mut self, loaded: &mut LoadedTask, position: usize) -> (LeaseBill, Balance) {
        let lease = loaded.lease_id_at(position);
        let provider =
            self.leased_host(&loaded.record.leases[position].host).map(|entry| entry.record.provider.clone());
        let TaskRecord { leases, tenant, .. } = &mut loaded.record;
        let lease_record = &mut leases[position];
        let (settlement, left) = match provider {
            Some(provider) => {
                let payees = Payees::for_lease(lease_record, tenant, &provider, self.settler.as_ref());
                self.ledger.roll_over(tenant, &payees, &mut lease_record.escrow)
            }
            None => Default::default(),
        };
        let Settlement { paid, fee, scheduler_fee, settler_fee, refunded } = settlement;
        (LeaseBill { lease, paid, fee, scheduler_fee, settler_fee, refunded }, left)
    }

    /// Closes every lease of a task whose escrow is still open.
    pub fn close_all(&mut self, loaded: &mut LoadedTask) -> Vec<LeaseBill> {
        let open: Vec<usize> =
            loaded.positions().filter(|position| loaded.record.leases[*position].escrow.open).collect();
        open.into_iter().map(|position| self.close(loaded, position)).collect()
    }

    /// Returns the part of the protocol fee of `amount` base units that goes to the treasury, whoever settles the
    /// lease. Evidence is weighted by this part: the rest may return to a party through another account.
    pub fn treasury_fee_of(&self, escrow: &Escrow, amount: Balance) -> Balance {
        escrow.divide(amount, self.billing.settler_share_ppm).1.treasury
    }

    /// Returns the escrow of a new lease, with the present fee and scheduler's share.
    pub fn new_escrow(
        &self,
        deposit: Balance,
        rate_per_hour: Balance,
        unit: BillingUnit,
        has_scheduler: bool,
    ) -> Escrow {
        let scheduler_ppm = if has_scheduler { self.billing.scheduler_share_ppm } else { 0 };
        Escrow::new(deposit, rate_per_hour, unit).with_fee(self.billing.fee_ppm, scheduler_ppm)
    }

    /// Records that a task was settled for which its tenant paid others, with fees of `fees` base units.
    pub fn observe_settled(&mut self, tenant: &AccountId, fees: Balance) {
        if fees == 0 {
            return;
        }
        match self.settled.get_mut(tenant) {
            Some(sum) => *sum = sum.saturating_add(fees),
            None => {
                self.settled.insert(tenant.clone(), fees);
            }
        }
    }

    /// Writes all changes. Fails, and with it the extrinsic, only if the stored state was inconsistent before.
    pub fn commit(self) -> DispatchResult {
        let Self { now, ledger, specs, hosts, index, archive, mut deposits, settled, inconsistency, .. } = self;
        if let Some(error) = inconsistency {
            return Err(error);
        }
        for (first, entry) in specs {
            commit_spec::<T>(first, entry, &mut deposits)?;
        }
        for (host, entry) in hosts {
            commit_host::<T>(&host, entry, now);
        }
        index.commit();
        for (number, page) in archive {
            Archive::<T>::insert(number, page);
        }
        ledger.commit()?;
        for (tenant, amount) in deposits {
            <T as Config>::Currency::release(&HoldReason::Deposit.into(), &tenant, amount, Precision::Exact)?;
        }
        for (tenant, fees) in settled {
            reputation::Pallet::<T>::observe_tenant(&tenant, TenantConduct::Settled, fees, now);
        }
        Ok(())
    }
}

/// Counts the tasks that became final or were pruned. Removes the manifest when the last task is final, and the spec
/// when the last task is pruned.
fn commit_spec<T: Config>(
    first: TaskId,
    entry: SpecEntry,
    deposits: &mut BTreeMap<AccountId, Balance>,
) -> DispatchResult {
    let SpecEntry { record, finished, pruned } = entry;
    if finished == 0 && pruned == 0 {
        return Ok(());
    }
    let key = TaskKey::from(first);
    let mut record = Rc::unwrap_or_clone(record);
    record.open = record.open.checked_sub(finished).ok_or(Error::<T>::Overflow)?;
    record.kept = record.kept.checked_sub(pruned).ok_or(Error::<T>::Overflow)?;
    if record.open == 0 && finished > 0 {
        Manifests::<T>::remove(key);
        let deposit = core::mem::take(&mut record.manifest_deposit);
        if deposit > 0 {
            let sum = deposits.entry(record.tenant.clone()).or_default();
            *sum = sum.saturating_add(deposit);
        }
    }
    if record.kept == 0 {
        Specs::<T>::remove(key);
        ByTenant::<T>::remove(&record.tenant, key);
    } else {
        Specs::<T>::insert(key, record);
    }
    Ok(())
}
