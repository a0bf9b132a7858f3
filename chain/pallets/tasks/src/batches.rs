//! Calls about many tasks at once. Each item succeeds or is refused by itself.
//!
//! What an item costs goes by the leases it touches. A caller pays in advance for as many leases as there are items, or
//! pods that are placed, and for one task of the most pods besides; an item that would touch more is refused before it does.

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

/// What a batch has cost.
struct Done {
    /// Leases and items without any that were touched, but those that are counted as the first of a spec or host.
    plain: u32,
    specs: u32,
    hosts: u32,
}

impl Done {
    fn of<T: Config>(desk: &Desk<T>, outcome: &Outcome) -> Self {
        let (specs, hosts, leases) = desk.touched();
        let all = leases.max(outcome.accepted.saturating_add(outcome.refused));
        Self { plain: all.saturating_sub(specs).saturating_sub(hosts), specs, hosts }
    }
}

/// How many leases a batch of so many items may touch.
pub(crate) const fn leases_paid_for(items: u32) -> u32 {
    items.saturating_add(MAX_PODS)
}

/// How many pods a batch places.
fn pods_of(assignments: &[Assignment]) -> u32 {
    assignments.iter().map(|(_, pods)| pods.len() as u32).sum()
}

/// What `assign_batch` may cost: each task has a spec of its own, and each lease a host.
pub(crate) fn assign_batch_weight<T: Config>(assignments: &[Assignment]) -> Weight {
    let items = assignments.len() as u32;
    <T as Config>::WeightInfo::assign_batch(0, items, leases_paid_for(pods_of(assignments)))
}

/// What `report_batch` may cost: each report is about a task with a spec of its own. Only where a pod fails are other
/// hosts than the caller touched.
pub(crate) fn report_batch_weight<T: Config>(reports: &[(LeaseId, Report)]) -> Weight {
    let failures = reports.iter().filter(|(_, report)| matches!(report, Report::Failed(_))).count() as u32;
    let hosts = if failures > 0 { leases_paid_for(failures) } else { 0 };
    <T as Config>::WeightInfo::report_batch(0, reports.len() as u32, hosts.saturating_add(1))
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
        let mut desk = Desk::<T>::for_leases(leases_paid_for(pods_of(&assignments)));
        let mut outcome = Outcome::default();
        for (task, pods) in assignments {
            outcome.note::<T>(task, desk.assign(&Assigner::Scheduler(&who), task, pods));
        }
        let done = Done::of(&desk, &outcome);
        desk.commit()?;
        outcome.tell::<T>();
        Ok(Some(<T as Config>::WeightInfo::assign_batch(done.plain, done.specs, done.hosts)).into())
    }

    pub(crate) fn do_report_batch(
        host: HostId,
        reports: UpTo<(LeaseId, Report), MAX_BATCH>,
    ) -> DispatchResultWithPostInfo {
        let mut desk = Desk::<T>::for_leases(leases_paid_for(reports.len() as u32));
        let mut outcome = Outcome::default();
        for (lease, report) in reports {
            let item = desk.report(&host, lease, report).map(|_pods| ());
            outcome.note::<T>(lease_parts(lease).0, item);
        }
        if outcome.refused > 0 {
            let fine = desk.params.refused_item_fine.saturating_mul(Balance::from(outcome.refused));
            desk.fine(&host, fine)?;
        }
        let done = Done::of(&desk, &outcome);
        desk.commit()?;
        outcome.tell::<T>();
        Ok(Some(<T as Config>::WeightInfo::report_batch(done.plain, done.specs, done.hosts)).into())
    }

    pub(crate) fn do_settle_batch(who: AccountId, tasks: UpTo<TaskId, MAX_BATCH>) -> DispatchResultWithPostInfo {
        let mut desk = Desk::<T>::for_leases(leases_paid_for(tasks.len() as u32)).settled_by(who);
        let mut outcome = Outcome::default();
        for task in tasks {
            let item = desk.settle(task).map(|_leases| ());
            outcome.note::<T>(task, item);
        }
        let done = Done::of(&desk, &outcome);
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
        let done = Done::of(&desk, &outcome);
        desk.commit()?;
        outcome.tell::<T>();
        Ok(Some(<T as Config>::WeightInfo::prune(done.plain.saturating_add(done.hosts), done.specs)).into())
    }
}
