//! The invariants of tasks, and those between tasks, leases, escrows and hosts. See docs/invariants.md.

use alloc::{collections::BTreeMap, vec::Vec};

use frame_support::ensure;
use gantry_primitives::{
    layout::{satisfies_anti_affinity, AntiAffinity},
    lease_id, AccountId, Balance, Device, HostId, HostRecord, IndexTag, LeaseId, LeaseState, NoticeState, PageKey,
    PreemptionNotice, Resources, StandbyPlace, Survival, TaskId, TaskKey, TaskKind, TaskRecord, TaskSpec, TaskState,
    TaskStateTag, MILLI_PER_DEVICE,
};
use sp_runtime::TryRuntimeError;

use crate::{
    billing, changes::is_short, hosts, index::Page, leases, Archive, ByState, ByTenant, Config, LeavingSchedulers,
    Manifests, NextTaskId, Pallet, PreemptionNotices, QueueDigests, Reservation, Reservations, Schedulers, Specs,
    Tasks,
};

/// A lease, or none for a reservation without a lease; its tenant, and the resources and devices that it has allocated.
type HeldResources = (Option<LeaseId>, AccountId, Resources, Vec<u8>);

/// Sums over all tasks, which are compared with the values that are stored separately.
#[derive(Default)]
struct Totals {
    tasks: u64,
    /// By the first of tasks submitted together: how many are not final, and how many are stored.
    counts: BTreeMap<TaskId, (u32, u32)>,
    lists: BTreeMap<(IndexTag, PageKey), Page>,
    escrowed: BTreeMap<AccountId, Balance>,
    held: BTreeMap<HostId, Vec<HeldResources>>,
}

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet and those that join it to the others. For tests, the fuzzer and
    /// try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        let mut totals = Totals::default();
        for (key, record) in Tasks::<T>::iter() {
            Self::check_task(&mut totals, key.task(), record)?;
        }
        let lists: BTreeMap<_, _> = ByState::<T>::iter().map(|(tag, key, page)| ((tag, key), page)).collect();
        ensure!(lists == totals.lists, "TASK-2: the lists name each task that is not final, and the short ones, once");
        let pruned: u64 = Archive::<T>::iter_values().map(|page| u64::from(page.count)).sum();
        ensure!(
            totals.tasks.checked_add(pruned) == Some(NextTaskId::<T>::get()),
            "TASK-13: each task that was submitted is kept or archived"
        );
        Self::check_specs(&totals)?;
        Self::check_notices()?;
        for (who, bond) in Schedulers::<T>::iter() {
            ensure!(Self::scheduler_bond_held(&who) == bond, "TASK-9: what is held of a scheduler is its bond");
            ensure!(!LeavingSchedulers::<T>::contains_key(&who), "TASK-9: a scheduler has left or has not");
        }
        for (who, leaving) in LeavingSchedulers::<T>::iter() {
            ensure!(
                Self::scheduler_bond_held(&who) == leaving.bond,
                "TASK-9: what is held of a scheduler that has left is its bond"
            );
        }
        ensure!(
            QueueDigests::<T>::iter_keys().all(Schedulers::<T>::contains_key),
            "TASK-26: only schedulers have queue definitions"
        );
        Self::check_escrows(&totals)?;
        Self::check_hosts(totals.held)
    }

    fn check_task(totals: &mut Totals, task: TaskId, record: TaskRecord) -> Result<(), TryRuntimeError> {
        ensure!(task < NextTaskId::<T>::get(), "TASK-1: tasks are numbered below the next number");
        let spec_record = Specs::<T>::get(TaskKey::from(record.first)).ok_or("TASK-3: the spec of a task is kept")?;
        let is_of = record.first <= task && task - record.first < u64::from(spec_record.count);
        ensure!(is_of && record.tenant == spec_record.tenant, "TASK-3: a task is one of those it was submitted with");
        ensure!(record.preemption.is_none() || spec_record.spec.spot, "TASK-17: only spot tasks are told to leave");
        ensure!(
            !spec_record.spec.moves_pods()
                || (spec_record.spec.kind != TaskKind::Rental && !spec_record.spec.is_redundant()),
            "TASK-18: pods of rentals and replicas are not moved"
        );
        let checkpoints = &record.checkpoints;
        ensure!(
            checkpoints.windows(2).all(|pair| pair[0].pod < pair[1].pod)
                && checkpoints.iter().all(|checkpoint| checkpoint.pod < record.pods_wanted),
            "TASK-20: a task has one checkpoint at most of each pod that is wanted, in their order"
        );
        let tag = record.state.tag();
        totals.tasks += 1;
        let counts = totals.counts.entry(record.first).or_default();
        counts.0 += u32::from(!tag.is_final());
        counts.1 += 1;
        for listed in
            [tag.index(), is_short(&record, &spec_record.spec).then_some(IndexTag::Short)].into_iter().flatten()
        {
            let page = totals.lists.entry((listed, PageKey::of(task))).or_default();
            page[(task % 256 / 8) as usize] |= 1 << (task % 8);
        }
        Self::check_leases(totals, task, &record, &spec_record.spec)
    }

    fn check_leases(
        totals: &mut Totals,
        task: TaskId,
        record: &TaskRecord,
        spec: &TaskSpec,
    ) -> Result<(), TryRuntimeError> {
        let tag = record.state.tag();
        let leases = &record.leases;
        ensure!(
            leases.windows(2).all(|pair| pair[0].pod < pair[1].pod),
            "TASK-6: the leases of a task are in the order of its pods, one a pod"
        );
        Self::check_layout(record, spec)?;
        let has_live = leases.iter().any(|lease| lease.state.is_live());
        let has_pending = leases.iter().any(|lease| lease.state == LeaseState::Pending);
        let is_consistent = match tag {
            TaskStateTag::Queued | TaskStateTag::Expired => leases.is_empty(),
            TaskStateTag::Assigned => has_pending,
            TaskStateTag::Running => {
                (has_live || spec.is_redundant()) && (!has_pending || spec.replaces_pods() || spec.moves_pods())
            }
            TaskStateTag::Reported | TaskStateTag::Disputed | TaskStateTag::Verified | TaskStateTag::Settled => {
                !leases.is_empty() && !has_live
            }
            TaskStateTag::Cancelled | TaskStateTag::Failed => !has_live,
        };
        ensure!(is_consistent, "TASK-7: the state of a task follows from those of its leases");
        for lease in leases {
            ensure!(
                lease.ended_at.is_some() != lease.state.is_live()
                    && lease.started_at.is_none_or(|at| lease.created_at <= at)
                    && lease.ended_at.is_none_or(|at| lease.started_at.unwrap_or(lease.created_at) <= at),
                "TASK-16: a lease is opened, started and ended in this order, and has an end exactly when it is over"
            );
            ensure!(
                lease.generation <= record.generation && lease.pod < record.pods_wanted,
                "TASK-6: a lease is of this generation or one before, and of a pod that is wanted"
            );
            ensure!(
                lease.escrow.open != tag.is_final(),
                "TASK-12: the escrows of a task's leases are open exactly until it is final"
            );
            ensure!(
                lease.state == LeaseState::Suspended || lease.escrow.rate_per_hour <= spec.max_rate_per_hour,
                "TASK-14: no lease costs more than its task allows"
            );
            let is_sound = |standby: &StandbyPlace| {
                lease.state.is_live() && spec.survival == Survival::Standby && standby.host != lease.host
            };
            ensure!(
                lease.standby.as_ref().is_none_or(is_sound),
                "TASK-19: only a live lease whose task wants one has a standby, on another host"
            );
            ensure!(
                lease.self_assigned_ppm.is_none() || lease.assigned_by.is_some(),
                "TASK-25: only a scheduler answers for the host of a lease"
            );
            let id = lease_id(task, lease.pod, lease.generation);
            leases::Pallet::<T>::check_lease(id, lease, spec.kind)?;
            let sum = totals.escrowed.entry(record.tenant.clone()).or_default();
            *sum = sum.checked_add(lease.escrow.held()).ok_or("TASK-4: what is held of a tenant can be added")?;
            if let Some(resources) = lease.holds(&spec.resources) {
                let held = totals.held.entry(lease.host.clone()).or_default();
                held.push((Some(id), record.tenant.clone(), resources, lease.devices_held().to_vec()));
            }
        }
        Ok(())
    }

    fn check_layout(record: &TaskRecord, spec: &TaskSpec) -> Result<(), TryRuntimeError> {
        let Some(rule) = spec.anti_affinity() else { return Ok(()) };
        let hosts = record.leases.iter().filter(|lease| lease.state.is_live()).map(|lease| lease.host.clone());
        let keys: Vec<AccountId> = match rule {
            AntiAffinity::ByHost => hosts.collect(),
            AntiAffinity::ByProvider => {
                hosts.map(|host| hosts::Pallet::<T>::provider_of(&host)).collect::<Result<_, _>>()?
            }
        };
        ensure!(satisfies_anti_affinity(&[], &keys), "TASK-21: the pods of a task that live lie as its layout says");
        Ok(())
    }

    /// Checks that each notice belongs to a queued task, and that a notice names each running task with a preemption.
    fn check_notices() -> Result<(), TryRuntimeError> {
        for (key, notice) in PreemptionNotices::<T>::iter() {
            let record = Tasks::<T>::get(key).ok_or("TASK-23: the task of a notice is kept")?;
            let has_notice = record.notice == NoticeState::Standing(notice.ends_at);
            ensure!(has_notice && record.state == TaskState::Queued, "TASK-23: the task of a notice waits");
        }
        for (key, record) in Tasks::<T>::iter() {
            let has_notice = matches!(record.notice, NoticeState::Standing(_));
            ensure!(
                has_notice == PreemptionNotices::<T>::contains_key(key),
                "TASK-23: a task has a notice exactly where it says so"
            );
            let Some(preemption) = record.preemption.filter(|_| record.state == TaskState::Running) else { continue };
            let notice = PreemptionNotices::<T>::get(TaskKey::from(preemption.wanting));
            let names =
                |notice: PreemptionNotice| notice.ends_at == preemption.ends_at && notice.victims.contains(&key.task());
            ensure!(
                notice.is_some_and(names),
                "TASK-24: a task that was told to leave is named by a notice that stands"
            );
        }
        Ok(())
    }

    fn check_specs(totals: &Totals) -> Result<(), TryRuntimeError> {
        let mut deposits: BTreeMap<AccountId, Balance> = BTreeMap::new();
        let mut specs = 0usize;
        for (key, spec_record) in Specs::<T>::iter() {
            specs += 1;
            let counts = totals.counts.get(&key.task()).copied().unwrap_or_default();
            ensure!(
                counts == (spec_record.open, spec_record.kept) && spec_record.kept > 0,
                "TASK-5: a spec counts its tasks and those that are not final, and is kept until the last is pruned"
            );
            let manifest = Manifests::<T>::get(key);
            ensure!(
                manifest.is_some() == (spec_record.open > 0),
                "TASK-5: the chain keeps a manifest exactly until all its tasks are final"
            );
            if let Some(manifest) = manifest {
                let digest = sp_io::hashing::sha2_256(&manifest);
                ensure!(
                    digest == spec_record.spec.manifest_digest,
                    "TASK-5: a kept manifest has the digest of its spec"
                );
            }
            ensure!(
                spec_record.open > 0 || spec_record.manifest_deposit == 0,
                "TASK-4: nothing is held for a manifest that is gone"
            );
            ensure!(
                ByTenant::<T>::get(&spec_record.tenant, key) == Some(spec_record.count),
                "TASK-3: the list of a tenant has what it submitted"
            );
            let deposit = spec_record
                .task_deposit
                .checked_mul(spec_record.kept.into())
                .and_then(|tasks| tasks.checked_add(spec_record.manifest_deposit));
            let sum = deposits.entry(spec_record.tenant).or_default();
            *sum = deposit.and_then(|more| sum.checked_add(more)).ok_or("TASK-4: deposits can be added")?;
        }
        ensure!(Manifests::<T>::iter_keys().all(Specs::<T>::contains_key), "TASK-5: a kept manifest has a spec");
        ensure!(ByTenant::<T>::iter_keys().count() == specs, "TASK-3: the list of a tenant has what it submitted");
        for (account, _) in frame_system::Account::<T>::iter() {
            let sum = deposits.get(&account).copied().unwrap_or_default();
            ensure!(Self::deposit_held(&account) == sum, "TASK-4: what is held of a tenant is for what it submitted");
        }
        Ok(())
    }

    fn check_escrows(totals: &Totals) -> Result<(), TryRuntimeError> {
        let mut total: Balance = 0;
        for (tenant, sum) in &totals.escrowed {
            ensure!(
                billing::Pallet::<T>::held(tenant) == *sum,
                "TASK-11: what is held of a tenant for leases is what its escrows hold"
            );
            total = total.checked_add(*sum).ok_or("TASK-11: escrows can be added")?;
        }
        ensure!(
            billing::TotalEscrowed::<T>::get() == total,
            "TASK-11: what is held for all leases is what all escrows hold"
        );
        Ok(())
    }

    /// Checks that the free resources of each host are its total less the resources of its leases and reservations.
    fn check_hosts(mut totals: BTreeMap<HostId, Vec<HeldResources>>) -> Result<(), TryRuntimeError> {
        for Reservation { host, tenant, resources, devices } in T::Reservations::all() {
            totals.entry(host).or_default().push((None, tenant, resources, devices.to_vec()));
        }
        for (host, record) in hosts::Hosts::<T>::iter() {
            let mut held = totals.remove(&host).unwrap_or_default();
            held.sort_by_key(|(id, ..)| *id);
            let listed = leases::Pallet::<T>::leases_of(&host);
            ensure!(
                listed.iter().eq(held.iter().filter_map(|(id, ..)| id.as_ref())),
                "TASK-10: the list of a host has the leases that hold something of it, in their order"
            );
            ensure!(record.live_leases as usize == held.len(), "TASK-15: a host counts its leases and reservations");
            let (free, devices) =
                left_of(&record, &held).ok_or("TASK-15: the leases and reservations of a host fit on it")?;
            ensure!(
                free == record.free && record.devices.iter().map(|device| device.milli_free).eq(devices),
                "TASK-15: what is free on a host is what it has, less what its leases and reservations hold"
            );
            ensure!(
                record.devices.iter().enumerate().all(|(index, device)| is_shared_soundly(index, device, &held)),
                "TASK-22: shares of a device are held by leases and reservations of the one tenant whom it names"
            );
        }
        ensure!(totals.is_empty(), "TASK-8: the host of a lease exists");
        Ok(())
    }
}

/// Whether all shares of a device belong to the tenant that the device names. If it names none, there are no shares, or
/// they are older than the rule.
fn is_shared_soundly(index: usize, device: &Device, held: &[HeldResources]) -> bool {
    let Some(tenant) = &device.shared_by else { return true };
    let mut shares = held.iter().filter(|(.., resources, chosen)| {
        resources.gpus.milli < MILLI_PER_DEVICE && chosen.iter().any(|chosen| usize::from(*chosen) == index)
    });
    device.milli_free < MILLI_PER_DEVICE && shares.all(|(_, whose, ..)| whose == tenant)
}

/// Returns the free resources of a host and of each device, without the resources that are held. None if the host has
/// not enough.
fn left_of(record: &HostRecord, held: &[HeldResources]) -> Option<(gantry_primitives::Capacity, Vec<u16>)> {
    let mut free = record.total;
    let mut devices: Vec<u16> = record.devices.iter().map(|_| MILLI_PER_DEVICE).collect();
    for (_, _, resources, chosen) in held {
        free.cpu_milli = free.cpu_milli.checked_sub(resources.cpu_milli)?;
        free.memory_mib = free.memory_mib.checked_sub(resources.memory_mib)?;
        free.disk_gib = free.disk_gib.checked_sub(resources.disk_gib)?;
        for index in chosen {
            let milli = devices.get_mut(usize::from(*index))?;
            *milli = milli.checked_sub(resources.gpus.milli)?;
        }
    }
    Some((free, devices))
}
