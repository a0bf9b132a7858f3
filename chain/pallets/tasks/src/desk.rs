//! The desk at which an extrinsic works: what its operations share is read once, changed here, and written once.
//!
//! An operation first decides everything on values and may be refused until then; what it does to the desk afterwards
//! cannot fail, so a refused item of a batch leaves no trace. Where the desk finds that the chain's own books are
//! wrong, the whole extrinsic is refused at [`Desk::commit`].

mod hosting;

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
    transitions::{allows, LEASE_TRANSITIONS, TASK_TRANSITIONS},
    AccountId, Balance, Billing, BillingUnit, Conduct, EndReason, Escrow, Halts, HostId, IndexTag, Lease, LeaseBill,
    LeaseId, LeaseStateTag, Moment, PodResult, Settlement, SpecRecord, TaskId, TaskKey, TaskKind, TaskRecord, TaskSpec,
    TaskState, TenantConduct,
};
use pallet_gantry_billing::{Ledger, Payees, Settler};

pub(crate) use hosting::Hold;
use hosting::{commit_host, HostEntry};

use crate::{
    billing, hosts, index::Index, leases, reputation, Archive, ArchivePage, ByTenant, Config, CurrentParams, Error,
    HoldReason, Manifests, Pallet, Params, Specs, Tasks,
};

/// What tasks submitted together share, and its counters as this extrinsic changes them.
struct SpecEntry {
    record: Rc<SpecRecord>,
    finished: u32,
    pruned: u32,
}

/// A task that an operation is about. It is worth nothing until [`Desk::put`] stores it.
pub(crate) struct Case {
    pub task: TaskId,
    pub record: TaskRecord,
    pub shared: Rc<SpecRecord>,
    was_listed: Option<IndexTag>,
    was_short: bool,
}

impl Case {
    pub fn spec(&self) -> &TaskSpec {
        &self.shared.spec
    }

    /// Moves the task along the table.
    pub fn go<T: Config>(&mut self, to: TaskState, now: Moment) -> DispatchResult {
        ensure!(allows(TASK_TRANSITIONS, self.record.state.tag(), to.tag()), Error::<T>::TransitionNotAllowed);
        self.record.state = to;
        self.record.changed_at = now;
        if to == TaskState::Running {
            self.record.preemption = None;
        }
        Ok(())
    }

    /// The place of a lease of this task in its record.
    pub fn place<T: Config>(&self, lease: LeaseId) -> Result<usize, DispatchError> {
        let (_, pod, generation) = lease_parts(lease);
        let found = self.record.leases.iter().position(|known| known.pod == pod && known.generation == generation);
        found.ok_or_else(|| Error::<T>::NoSuchLease.into())
    }

    pub fn id(&self, place: usize) -> LeaseId {
        let lease = &self.record.leases[place];
        lease_id(self.task, lease.pod, lease.generation)
    }

    /// The time by which it must be assigned. A service or rental that once was, and whoever had to leave for another,
    /// has met it for good.
    pub fn deadline(&self) -> Option<Moment> {
        let was_there = self.spec().kind != TaskKind::Job && self.record.generation > 0;
        let has_met_it = was_there || self.record.preemption.is_some();
        self.spec().deadline.filter(|_| !has_met_it)
    }

    /// Whether the task is to have more pods than it has leases while the others go on.
    pub fn is_short(&self) -> bool {
        is_short(&self.record, self.spec())
    }

    /// Whether it runs and was told to leave.
    pub fn is_told_to_leave(&self) -> bool {
        self.record.state == TaskState::Running && self.record.preemption.is_some()
    }

    /// Whether it runs and was told to leave for this task.
    pub fn leaves_for(&self, wanting: TaskId) -> bool {
        self.is_told_to_leave() && self.record.preemption.is_some_and(|told| told.wanting == wanting)
    }

    pub fn places(&self) -> core::ops::Range<usize> {
        0..self.record.leases.len()
    }
}

/// Whether a task is to have more pods than it has leases while the others go on.
pub(crate) fn is_short(record: &TaskRecord, spec: &TaskSpec) -> bool {
    record.state.tag().has_live_leases()
        && spec.replaces_pods()
        && record.leases.len() < usize::from(record.pods_wanted)
}

/// See the module.
pub(crate) struct Desk<T: Config> {
    pub now: Moment,
    pub params: Params,
    pub ledger: Ledger<T>,
    halts: Halts,
    pub billing: billing::Params,
    /// Whose call settles or ends leases. None where a party or the chain itself does.
    settler: Option<Settler>,
    specs: BTreeMap<TaskId, SpecEntry>,
    hosts: BTreeMap<HostId, HostEntry>,
    index: Index<T>,
    archive: BTreeMap<u64, ArchivePage>,
    /// How many leases operations were about.
    leases_touched: u32,
    /// How many they may be about at most.
    leases_limit: u32,
    /// How many leases operations were about that their calls did not name.
    others_touched: u32,
    /// How many of those they may be about at most.
    others_limit: u32,
    deposits: BTreeMap<AccountId, Balance>,
    settled: BTreeMap<AccountId, Balance>,
    broken: Option<DispatchError>,
}

impl<T: Config> Desk<T> {
    pub fn new() -> Self {
        Self::with(Ledger::default())
    }

    /// A desk that commits what is on a ledger already, too.
    pub fn with(ledger: Ledger<T>) -> Self {
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
            leases_touched: 0,
            leases_limit: u32::MAX,
            others_touched: 0,
            others_limit: u32::MAX,
            deposits: BTreeMap::new(),
            settled: BTreeMap::new(),
            broken: None,
        }
    }

    /// The desk with limits: how many `leases` its operations may be about, and how many `others` of them that their
    /// calls do not name.
    pub fn with_limits(self, leases: u32, others: u32) -> Self {
        Self { leases_limit: leases, others_limit: others, ..self }
    }

    /// The desk with `who` as the settler of the leases that are settled or end at it.
    pub fn settled_by(self, who: AccountId) -> Self {
        Self { settler: Some(billing::Pallet::<T>::settler(who)), ..self }
    }

    /// An operation is about so many leases that its call names, and so many others. Fails with `BatchTooHeavy` where that
    /// is more than was paid for.
    pub fn touch(&mut self, named: u32, others: u32) -> DispatchResult {
        let touched = self.leases_touched.saturating_add(named).saturating_add(others);
        let others_touched = self.others_touched.saturating_add(others);
        let is_paid_for = touched <= self.leases_limit && others_touched <= self.others_limit;
        ensure!(is_paid_for, Error::<T>::BatchTooHeavy);
        (self.leases_touched, self.others_touched) = (touched, others_touched);
        Ok(())
    }

    /// How many milliseconds have passed since `moment`, those in which the chain made no blocks left out.
    pub fn elapsed_ms(&self, moment: Moment) -> u64 {
        self.halts.elapsed_ms(moment, self.now)
    }

    /// Whether the dispute window of a task that has reported is open.
    pub fn is_disputable(&self, case: &Case) -> bool {
        self.elapsed_ms(case.record.changed_at) < self.params.dispute_window_ms
    }

    /// How many specs, hosts and leases operations were about.
    pub fn touched(&self) -> (u32, u32, u32) {
        (self.specs.len() as u32, self.hosts.len() as u32, self.leases_touched)
    }

    /// Takes up a task. Fails with `NoSuchTask`.
    pub fn open(&mut self, task: TaskId) -> Result<Case, DispatchError> {
        let record = Pallet::<T>::record(task)?;
        let shared = self.shared(record.first)?;
        let was_listed = record.state.tag().index();
        let was_short = is_short(&record, &shared.spec);
        Ok(Case { task, record, shared, was_listed, was_short })
    }

    /// Takes up the task of a lease, and says where in its record the lease is. Fails with `NoSuchTask` and
    /// `NoSuchLease`.
    pub fn open_lease(&mut self, lease: LeaseId) -> Result<(Case, usize), DispatchError> {
        let case = self.open(lease_parts(lease).0)?;
        let place = case.place::<T>(lease)?;
        Ok((case, place))
    }

    fn shared(&mut self, first: TaskId) -> Result<Rc<SpecRecord>, DispatchError> {
        Ok(match self.specs.entry(first) {
            Entry::Occupied(known) => known.get().record.clone(),
            Entry::Vacant(vacant) => {
                let record = Specs::<T>::get(TaskKey::from(first)).ok_or(Error::<T>::NoSuchTask)?;
                vacant.insert(SpecEntry { record: Rc::new(record), finished: 0, pruned: 0 }).record.clone()
            }
        })
    }

    /// Stores a task and keeps the lists.
    pub fn put(&mut self, case: Case) {
        let Case { task, record, shared, was_listed, was_short } = case;
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
        let is_short = is_short(&record, &shared.spec);
        if was_short != is_short {
            self.index.put(IndexTag::Short, task, is_short);
        }
        Tasks::<T>::insert(TaskKey::from(task), record);
    }

    /// A page of the archive.
    pub fn archive_page(&mut self, number: u64) -> &mut ArchivePage {
        self.archive.entry(number).or_insert_with(|| Archive::<T>::get(number))
    }

    /// Removes a task. Its deposit goes back.
    pub fn remove(&mut self, case: Case) {
        let Case { task, record, shared, .. } = case;
        Tasks::<T>::remove(TaskKey::from(task));
        self.specs.entry(record.first).and_modify(|entry| entry.pruned += 1);
        self.give_back_deposit(&record.tenant, shared.task_deposit);
    }

    fn give_back_deposit(&mut self, tenant: &AccountId, amount: Balance) {
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

    /// The books are wrong: the extrinsic will be refused as a whole.
    pub fn fail(&mut self, error: DispatchError) {
        self.broken.get_or_insert(error);
    }

    /// Ends a live lease: billing stops and its host gets back what it held. The data of a rental that had started is to
    /// be kept for a while, whoever ended it: a host that has lost them must say so, and is slashed.
    pub fn end(&mut self, case: &mut Case, place: usize, reason: EndReason) {
        if reason.is_tenants_act() {
            self.charge_placement(case, place);
        }
        let (kind, forfeited_ms) = (case.spec().kind, self.billing.held_back_ms);
        self.finish(case, place, true, |lease, now, away| lease.end(reason, kind, now, away, forfeited_ms));
    }

    /// Ends a live lease whose pod goes on elsewhere.
    pub fn leave(&mut self, case: &mut Case, place: usize, reason: EndReason, billing: Billing) {
        let (kind, forfeited_ms) = (case.spec().kind, self.billing.held_back_ms);
        self.finish(case, place, false, |lease, now, away| {
            lease.end_billed(reason, billing, kind, now, away, forfeited_ms);
        });
    }

    /// Ends an active lease with a result.
    pub fn complete(&mut self, case: &mut Case, place: usize, result: PodResult) {
        self.finish(case, place, true, |lease, now, _| lease.complete(result, now));
    }

    fn finish(&mut self, case: &mut Case, place: usize, has_data: bool, end: impl FnOnce(&mut Lease, Moment, u64)) {
        let (now, settler_ppm) = (self.now, self.billing.settler_share_ppm);
        let id = case.id(place);
        let Case { record, shared, .. } = case;
        let lease = &mut record.leases[place];
        let Some(entry) = self.host_of(&lease.host) else { return };
        let away = entry.away::<T>();
        let is_own = entry.record.provider == record.tenant;
        let since = lease.escrow.since.filter(|_| !is_own);
        let down_ms = away.saturating_sub(lease.escrow.downtime_mark);
        let listed = allows(LEASE_TRANSITIONS, lease.state.tag(), LeaseStateTag::Ended);
        let from = Hold::of(&lease.state);
        end(lease, now, away);
        // The deposit may be given back, what is owed now is not.
        let fee = lease.escrow.divide(lease.escrow.accrued, settler_ppm).1.treasury;
        if let Some(since) = since {
            entry.observe_uptime(now.saturating_sub(since).saturating_sub(down_ms), down_ms, fee);
        }
        if let Some(started_at) = lease.started_at.filter(|_| !is_own) {
            entry.observe(Conduct::StartedAfter(started_at.saturating_sub(lease.created_at)), fee);
        }
        if has_data && shared.spec.kind == TaskKind::Rental && lease.started_at.is_some() {
            let of = &shared.spec;
            let rate_per_hour = rate::storage_rate_per_hour(&of.resources, &entry.record.ask, of.unit).ok();
            leases::Pallet::<T>::retain(id, lease, rate_per_hour, now);
        }
        self.shift_hold(id, lease, shared, from);
        if !listed {
            self.fail(Error::<T>::LeaseTransitionNotAllowed.into());
        }
    }

    /// Pays what is still owed for a lease that has ended, and gives the rest of its deposit back.
    pub fn close(&mut self, case: &mut Case, place: usize) -> LeaseBill {
        let (bill, refunded) = self.carry_on(case, place);
        self.ledger.release(&case.record.tenant, refunded);
        LeaseBill { refunded, ..bill }
    }

    /// Pays what is still owed for a lease that has ended. Returns besides what is left of its deposit: it stays held,
    /// for the lease by which the pod goes on.
    pub fn carry_on(&mut self, case: &mut Case, place: usize) -> (LeaseBill, Balance) {
        let lease = case.id(place);
        let provider = self.host_of(&case.record.leases[place].host).map(|entry| entry.record.provider.clone());
        let TaskRecord { leases, tenant, .. } = &mut case.record;
        let of = &mut leases[place];
        let (settlement, left) = match provider {
            Some(provider) => {
                let payees = Payees::of(of, tenant, &provider, self.settler.as_ref());
                self.ledger.carry_on(tenant, &payees, &mut of.escrow)
            }
            None => Default::default(),
        };
        let Settlement { paid, fee, scheduler_fee, settler_fee, refunded } = settlement;
        (LeaseBill { lease, paid, fee, scheduler_fee, settler_fee, refunded }, left)
    }

    /// Closes every lease of a task that has ended and is not closed yet.
    pub fn close_all(&mut self, case: &mut Case) -> Vec<LeaseBill> {
        let open: Vec<usize> = case.places().filter(|place| case.record.leases[*place].escrow.open).collect();
        open.into_iter().map(|place| self.close(case, place)).collect()
    }

    /// The part of the protocol fee of `amount` base units that goes to the treasury whoever settles the lease: what
    /// evidence weighs by. The rest may come back to its parties, as other accounts of theirs.
    pub fn treasury_fee_of(&self, escrow: &Escrow, amount: Balance) -> Balance {
        escrow.divide(amount, self.billing.settler_share_ppm).1.treasury
    }

    /// The escrow of a new lease, with the fee and the scheduler's share in force.
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

    /// Notes that a task was settled for which its tenant paid others, with fees of `fees` base units.
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

    /// Writes everything down. Fails, and with it the extrinsic, only where the chain's books were wrong before.
    pub fn commit(self) -> DispatchResult {
        let Self { now, ledger, specs, hosts, index, archive, mut deposits, settled, broken, .. } = self;
        if let Some(error) = broken {
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

/// Counts the tasks that became final or were pruned. With the last that becomes final the manifest goes, and with the
/// last that is pruned the spec.
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
