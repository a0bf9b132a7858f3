//! Calls about many tasks. Each item succeeds or is refused independently.
//!
//! The weight of an item depends on the leases, tasks and hosts that it reads. A caller pays in advance for those that
//! the batch names, each once, and for the leases of one more task with the most pods. An item that would read more is
//! refused before it does.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    lease_parts, AccountId, Balance, HostId, LeaseId, PodPlacement, Report, TaskId, UpTo, MAX_ASSIGNMENTS, MAX_BATCH,
    MAX_PODS,
};

use crate::{assignment::Assigner, changes::TaskChanges, Config, Error, Event, Pallet, Schedulers, WeightInfo};

/// A task, and the placements of its pods.
type Assignment = (TaskId, UpTo<PodPlacement, MAX_PODS>);

/// How many items of a batch were accepted and refused.
#[derive(Default)]
struct Outcome {
    accepted: u32,
    refused: u32,
}

impl Outcome {
    /// Counts an item, and emits an event if it was refused.
    fn note<T: Config>(&mut self, task: TaskId, item: DispatchResult) {
        match item {
            Ok(()) => self.accepted += 1,
            Err(error) => {
                let index = self.accepted + self.refused;
                self.refused += 1;
                Pallet::<T>::deposit_event(Event::ItemRefused { index, task, error });
            }
        }
    }

    fn deposit_event<T: Config>(self) {
        Pallet::<T>::deposit_event(Event::BatchDone { accepted: self.accepted, refused: self.refused });
    }
}

/// The values that a batch reads, in the units of its weight function.
struct AccessCounts {
    /// Leases, and items without leases, except those that are counted as the first of a spec or host.
    plain: u32,
    specs: u32,
    hosts: u32,
}

impl AccessCounts {
    /// `leases` counts leases and items without leases. Of these, as many as there are specs and hosts are counted as
    /// the first of one, so that more specs, hosts or leases never weigh less.
    const fn new(leases: u32, specs: u32, hosts: u32) -> Self {
        Self { plain: leases.saturating_sub(specs).saturating_sub(hosts), specs, hosts }
    }

    /// Returns the values that were read by `changes`.
    fn from_changes<T: Config>(changes: &TaskChanges<T>, outcome: &Outcome) -> Self {
        let (specs, hosts, leases) = changes.access_counts();
        Self::new(leases.max(outcome.accepted.saturating_add(outcome.refused)), specs, hosts)
    }

    fn assign_batch_weight<T: Config>(self) -> Weight {
        <T as Config>::WeightInfo::assign_batch(self.plain, self.specs, self.hosts)
    }

    fn report_batch_weight<T: Config>(self) -> Weight {
        <T as Config>::WeightInfo::report_batch(self.plain, self.specs, self.hosts)
    }
}

/// Returns how many leases a batch of `items` items may read.
pub(crate) const fn leases_paid_for(items: u32) -> u32 {
    items.saturating_add(MAX_PODS)
}

/// Returns the number of distinct values.
fn distinct<V: Ord>(values: impl Iterator<Item = V>) -> u32 {
    let mut values: Vec<V> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.len() as u32
}

/// Returns the number of pods that a batch places.
fn pods_of(assignments: &[Assignment]) -> u32 {
    assignments.iter().map(|(_, pods)| pods.len() as u32).sum()
}

/// Returns the maximum weight of `assign_batch`: each task that it names has its own spec. The other leases that it may
/// read each have their own host, which weighs more than a spec.
pub(crate) fn assign_batch_weight<T: Config>(assignments: &[Assignment]) -> Weight {
    let specs = distinct(assignments.iter().map(|(task, _)| *task));
    let hosts = distinct(assignments.iter().flat_map(|(_, pods)| pods).map(|pod| &pod.host));
    let leases = pods_of(assignments).max(assignments.len() as u32);
    AccessCounts::new(leases_paid_for(leases), specs, hosts.saturating_add(MAX_PODS)).assign_batch_weight::<T>()
}

/// Returns how many leases the reported failures may read, beside those that the batch names.
fn leases_of_failures(reports: &[(LeaseId, Report)]) -> u32 {
    let failed = reports.iter().filter(|(_, report)| matches!(report, Report::Failed(_)));
    match distinct(failed.map(|(lease, _)| lease_parts(*lease).0)) {
        0 => 0,
        tasks => leases_paid_for(tasks),
    }
}

/// Returns the maximum weight of `report_batch`: each task that it names has its own spec. Other hosts than the caller
/// are read only if a pod fails.
pub(crate) fn report_batch_weight<T: Config>(reports: &[(LeaseId, Report)]) -> Weight {
    let specs = distinct(reports.iter().map(|(lease, _)| lease_parts(*lease).0));
    let others = leases_of_failures(reports);
    let leases = others.saturating_add(reports.len() as u32);
    AccessCounts::new(leases, specs, others.saturating_add(1)).report_batch_weight::<T>()
}

/// Returns the maximum weight of `settle_batch`: each task has its own spec, and each lease its own host.
pub(crate) fn settle_batch_weight<T: Config>(items: u32) -> Weight {
    <T as Config>::WeightInfo::settle_batch(0, items, leases_paid_for(items))
}

impl<T: Config> Pallet<T> {
    pub(crate) fn do_assign_batch(
        who: AccountId,
        assignments: UpTo<Assignment, MAX_ASSIGNMENTS>,
    ) -> DispatchResultWithPostInfo {
        ensure!(Schedulers::<T>::contains_key(&who), Error::<T>::NotScheduler);
        let mut changes = TaskChanges::<T>::new().with_limits(u32::MAX, MAX_PODS);
        let mut outcome = Outcome::default();
        for (task, pods) in assignments {
            outcome.note::<T>(task, changes.assign(&Assigner::Scheduler(&who), task, pods));
        }
        let done = AccessCounts::from_changes(&changes, &outcome);
        changes.commit()?;
        outcome.deposit_event::<T>();
        Ok(Some(done.assign_batch_weight::<T>()).into())
    }

    pub(crate) fn do_report_batch(
        host: HostId,
        reports: UpTo<(LeaseId, Report), MAX_BATCH>,
    ) -> DispatchResultWithPostInfo {
        let mut changes = TaskChanges::<T>::new().with_limits(u32::MAX, leases_of_failures(&reports));
        let mut outcome = Outcome::default();
        for (lease, report) in reports {
            let item = changes.report(&host, lease, report).map(|_pods| ());
            outcome.note::<T>(lease_parts(lease).0, item);
        }
        if outcome.refused > 0 {
            let fine = changes.params.refused_item_fine.saturating_mul(Balance::from(outcome.refused));
            changes.fine(&host, fine)?;
        }
        let done = AccessCounts::from_changes(&changes, &outcome);
        changes.commit()?;
        outcome.deposit_event::<T>();
        Ok(Some(done.report_batch_weight::<T>()).into())
    }

    pub(crate) fn do_settle_batch(who: AccountId, tasks: UpTo<TaskId, MAX_BATCH>) -> DispatchResultWithPostInfo {
        let mut changes =
            TaskChanges::<T>::new().with_limits(leases_paid_for(tasks.len() as u32), u32::MAX).with_settler(who);
        let mut outcome = Outcome::default();
        for task in tasks {
            let item = changes.settle(task).map(|_leases| ());
            outcome.note::<T>(task, item);
        }
        let done = AccessCounts::from_changes(&changes, &outcome);
        changes.commit()?;
        outcome.deposit_event::<T>();
        Ok(Some(<T as Config>::WeightInfo::settle_batch(done.plain, done.specs, done.hosts)).into())
    }

    pub(crate) fn do_prune(tasks: UpTo<TaskId, MAX_BATCH>) -> DispatchResultWithPostInfo {
        let mut changes = TaskChanges::<T>::new();
        let mut outcome = Outcome::default();
        for task in tasks {
            outcome.note::<T>(task, changes.prune(task));
        }
        let done = AccessCounts::from_changes(&changes, &outcome);
        changes.commit()?;
        outcome.deposit_event::<T>();
        Ok(Some(<T as Config>::WeightInfo::prune(done.plain.saturating_add(done.hosts), done.specs)).into())
    }
}
