//! Calls about many tasks at once. Each item succeeds or is refused by itself.
//!
//! What an item costs goes by the leases, tasks and hosts it touches. A caller pays in advance for what a batch names, each
//! task and each host once, and for the leases of one task of the most pods besides; an item that would touch more is
//! refused before it does.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    lease_parts, AccountId, Balance, HostId, LeaseId, PodPlacement, Report, TaskId, UpTo, MAX_ASSIGNMENTS, MAX_BATCH,
    MAX_PODS,
};

use crate::{assigning::Assigner, desk::Desk, Config, Error, Event, Pallet, Schedulers, WeightInfo};

/// A task, and where its pods are to be.
type Assignment = (TaskId, UpTo<PodPlacement, MAX_PODS>);

/// How the items of a batch fared.
#[derive(Default)]
struct Outcome {
    accepted: u32,
    refused: u32,
}

impl Outcome {
    /// Counts an item, and tells of it where it was refused.
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

    fn tell<T: Config>(self) {
        Pallet::<T>::deposit_event(Event::BatchDone { accepted: self.accepted, refused: self.refused });
    }
}

/// What a batch touches, in the terms of its weight.
struct Touched {
    /// Leases and items without any, except those that are counted as the first of a spec or host.
    plain: u32,
    specs: u32,
    hosts: u32,
}

impl Touched {
    /// `leases`: leases and items without any. As many of them as there are specs and hosts are counted as the first of
    /// one, so that more specs, hosts or leases never weigh less.
    const fn new(leases: u32, specs: u32, hosts: u32) -> Self {
        Self { plain: leases.saturating_sub(specs).saturating_sub(hosts), specs, hosts }
    }

    /// What was touched at a desk.
    fn of<T: Config>(desk: &Desk<T>, outcome: &Outcome) -> Self {
        let (specs, hosts, leases) = desk.touched();
        Self::new(leases.max(outcome.accepted.saturating_add(outcome.refused)), specs, hosts)
    }

    fn assign_batch_weight<T: Config>(self) -> Weight {
        <T as Config>::WeightInfo::assign_batch(self.plain, self.specs, self.hosts)
    }

    fn report_batch_weight<T: Config>(self) -> Weight {
        <T as Config>::WeightInfo::report_batch(self.plain, self.specs, self.hosts)
    }
}

/// How many leases a batch of so many items may touch.
pub(crate) const fn leases_paid_for(items: u32) -> u32 {
    items.saturating_add(MAX_PODS)
}

/// How many different values there are.
fn distinct<V: Ord>(values: impl Iterator<Item = V>) -> u32 {
    let mut values: Vec<V> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.len() as u32
}

/// How many pods a batch places.
fn pods_of(assignments: &[Assignment]) -> u32 {
    assignments.iter().map(|(_, pods)| pods.len() as u32).sum()
}

/// What `assign_batch` may cost: each task that it names has a spec of its own. The other leases that it may touch each
/// have a host of their own, which costs more than a spec.
pub(crate) fn assign_batch_weight<T: Config>(assignments: &[Assignment]) -> Weight {
    let specs = distinct(assignments.iter().map(|(task, _)| *task));
    let hosts = distinct(assignments.iter().flat_map(|(_, pods)| pods).map(|pod| &pod.host));
    let leases = pods_of(assignments).max(assignments.len() as u32);
    Touched::new(leases_paid_for(leases), specs, hosts.saturating_add(MAX_PODS)).assign_batch_weight::<T>()
}

/// How many leases the failures that a batch reports may touch, beside those that it names.
fn leases_of_failures(reports: &[(LeaseId, Report)]) -> u32 {
    let failed = reports.iter().filter(|(_, report)| matches!(report, Report::Failed(_)));
    match distinct(failed.map(|(lease, _)| lease_parts(*lease).0)) {
        0 => 0,
        tasks => leases_paid_for(tasks),
    }
}

/// What `report_batch` may cost: each task that it names has a spec of its own. Only where a pod fails are other hosts than
/// the caller touched.
pub(crate) fn report_batch_weight<T: Config>(reports: &[(LeaseId, Report)]) -> Weight {
    let specs = distinct(reports.iter().map(|(lease, _)| lease_parts(*lease).0));
    let others = leases_of_failures(reports);
    let leases = others.saturating_add(reports.len() as u32);
    Touched::new(leases, specs, others.saturating_add(1)).report_batch_weight::<T>()
}

/// What `settle_batch` may cost: each task has a spec of its own, and each lease a host.
pub(crate) fn settle_batch_weight<T: Config>(items: u32) -> Weight {
    <T as Config>::WeightInfo::settle_batch(0, items, leases_paid_for(items))
}

impl<T: Config> Pallet<T> {
    pub(crate) fn do_assign_batch(
        who: AccountId,
        assignments: UpTo<Assignment, MAX_ASSIGNMENTS>,
    ) -> DispatchResultWithPostInfo {
        ensure!(Schedulers::<T>::contains_key(&who), Error::<T>::NotScheduler);
        let mut desk = Desk::<T>::new().with_limits(u32::MAX, MAX_PODS);
        let mut outcome = Outcome::default();
        for (task, pods) in assignments {
            outcome.note::<T>(task, desk.assign(&Assigner::Scheduler(&who), task, pods));
        }
        let done = Touched::of(&desk, &outcome);
        desk.commit()?;
        outcome.tell::<T>();
        Ok(Some(done.assign_batch_weight::<T>()).into())
    }

    pub(crate) fn do_report_batch(
        host: HostId,
        reports: UpTo<(LeaseId, Report), MAX_BATCH>,
    ) -> DispatchResultWithPostInfo {
        let mut desk = Desk::<T>::new().with_limits(u32::MAX, leases_of_failures(&reports));
        let mut outcome = Outcome::default();
        for (lease, report) in reports {
            let item = desk.report(&host, lease, report).map(|_pods| ());
            outcome.note::<T>(lease_parts(lease).0, item);
        }
        if outcome.refused > 0 {
            let fine = desk.params.refused_item_fine.saturating_mul(Balance::from(outcome.refused));
            desk.fine(&host, fine)?;
        }
        let done = Touched::of(&desk, &outcome);
        desk.commit()?;
        outcome.tell::<T>();
        Ok(Some(done.report_batch_weight::<T>()).into())
    }

    pub(crate) fn do_settle_batch(who: AccountId, tasks: UpTo<TaskId, MAX_BATCH>) -> DispatchResultWithPostInfo {
        let mut desk = Desk::<T>::new().with_limits(leases_paid_for(tasks.len() as u32), u32::MAX).settled_by(who);
        let mut outcome = Outcome::default();
        for task in tasks {
            let item = desk.settle(task).map(|_leases| ());
            outcome.note::<T>(task, item);
        }
        let done = Touched::of(&desk, &outcome);
        desk.commit()?;
        outcome.tell::<T>();
        Ok(Some(<T as Config>::WeightInfo::settle_batch(done.plain, done.specs, done.hosts)).into())
    }

    pub(crate) fn do_prune(tasks: UpTo<TaskId, MAX_BATCH>) -> DispatchResultWithPostInfo {
        let mut desk = Desk::<T>::new();
        let mut outcome = Outcome::default();
        for task in tasks {
            outcome.note::<T>(task, desk.prune(task));
        }
        let done = Touched::of(&desk, &outcome);
        desk.commit()?;
        outcome.tell::<T>();
        Ok(Some(<T as Config>::WeightInfo::prune(done.plain.saturating_add(done.hosts), done.specs)).into())
    }
}
