//! What must always be true of tasks, and of tasks, leases, escrows and hosts together. See docs/invariants.md.

use alloc::{collections::BTreeMap, vec::Vec};
use frame_support::ensure;
use gantry_primitives::{
    fit::take, AccountId, Balance, EndReason, EscrowState, HostId, LeaseId, LeaseRecord, LeaseState, TaskId,
    TaskRecord, TaskStateTag, MILLI_PER_DEVICE,
};
use sp_runtime::TryRuntimeError;

use crate::{billing, hosts, leases, ByState, ByTenant, Config, Manifests, NextTaskId, Pallet, Schedulers, Tasks};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet and those that join it to the others. For tests, the fuzzer and
    /// try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        let mut deposits: BTreeMap<AccountId, Balance> = BTreeMap::new();
        let mut tasks = 0usize;
        for (task, record) in Tasks::<T>::iter() {
            tasks += 1;
            Self::check_task(task, &record)?;
            Self::check_leases_of(task, &record)?;
            let sum = deposits.entry(record.tenant).or_default();
            *sum = sum.checked_add(record.deposit).ok_or("TASK-4: the deposits of a tenant can be added")?;
        }
        let indexed = ByState::<T>::iter_keys().count();
        ensure!(indexed == tasks, "TASK-2: the index by state holds each task once");
        ensure!(ByTenant::<T>::iter_keys().count() == tasks, "TASK-3: the index by tenant holds each task once");
        for (tenant, sum) in deposits {
            ensure!(
                Self::deposit_held(&tenant) == sum,
                "TASK-4: what is held of a tenant is the sum of its tasks' deposits"
            );
        }
        for (who, bond) in Schedulers::<T>::iter() {
            ensure!(Self::scheduler_bond_held(&who) == bond, "TASK-9: what is held of a scheduler is its bond");
        }
        Self::check_leases()?;
        Self::check_hosts()
    }

    fn check_task(task: TaskId, record: &TaskRecord) -> Result<(), TryRuntimeError> {
        let tag = record.state.tag();
        ensure!(task < NextTaskId::<T>::get(), "TASK-1: tasks are numbered below the next number");
        ensure!(ByState::<T>::contains_key(tag, task), "TASK-2: the index by state holds each task once");
        ensure!(ByTenant::<T>::contains_key(&record.tenant, task), "TASK-3: the index by tenant holds each task once");
        let manifest = Manifests::<T>::get(task);
        ensure!(
            manifest.is_some() != tag.is_final(),
            "TASK-5: the chain keeps a manifest exactly until its task is final"
        );
        if let Some(manifest) = manifest {
            let digest = sp_io::hashing::sha2_256(&manifest);
            ensure!(digest == record.spec.manifest_digest, "TASK-5: a kept manifest has the digest of its spec");
        }
        ensure!(!tag.is_final() || record.deposit == 0, "TASK-4: nothing is held for a final task");
        let (pods, started, reported) = (record.leases.len(), record.pods_started, record.pods_reported);
        ensure!(
            reported <= started && usize::from(started) <= pods,
            "TASK-6: pods are assigned, started and reported in this order"
        );
        let counts_fit = match tag {
            TaskStateTag::Queued | TaskStateTag::Expired => pods == 0,
            TaskStateTag::Assigned => usize::from(started) < pods,
            TaskStateTag::Running => usize::from(started) == pods && usize::from(reported) < pods,
            TaskStateTag::Reported | TaskStateTag::Verified | TaskStateTag::Settled | TaskStateTag::Disputed => {
                pods > 0 && usize::from(reported) == pods && record.reported_at.is_some()
            }
            TaskStateTag::Cancelled | TaskStateTag::Failed => true,
        };
        ensure!(counts_fit, "TASK-7: the state of a task follows from how many of its pods started and reported");
        Ok(())
    }

    fn check_leases_of(task: TaskId, record: &TaskRecord) -> Result<(), TryRuntimeError> {
        let tag = record.state.tag();
        let (mut started, mut reported) = (0u16, 0u16);
        for (place, lease) in record.leases.iter().enumerate() {
            let known = leases::Leases::<T>::get(lease).ok_or("TASK-8: the leases of a task exist")?;
            ensure!(
                known.task == task && usize::from(known.pod) == place && known.tenant == record.tenant,
                "TASK-8: the leases of a task are its own, in the order of its pods"
            );
            started += u16::from(known.started_at.is_some());
            reported += u16::from(known.state == LeaseState::Ended(EndReason::Completed));
            if known.state.is_live() {
                ensure!(
                    tag.has_live_leases() && known.attempt == record.attempts,
                    "TASK-10: only the present attempt of an assigned or running task has live leases"
                );
            }
            let escrow = billing::Escrows::<T>::get(lease).ok_or("TASK-11: each lease has an escrow")?;
            ensure!(
                (escrow.state == EscrowState::Closed) == (tag.is_final()),
                "TASK-12: the escrows of the present attempt are open exactly until the task is final"
            );
        }
        ensure!(
            started == record.pods_started && reported == record.pods_reported,
            "TASK-6: a task counts its pods as its leases do"
        );
        Ok(())
    }

    fn check_leases() -> Result<(), TryRuntimeError> {
        let mut count = 0usize;
        for (lease, record) in leases::Leases::<T>::iter() {
            count += 1;
            let task = Tasks::<T>::get(record.task).ok_or("TASK-13: the task of a lease exists")?;
            let escrow = billing::Escrows::<T>::get(lease).ok_or("TASK-11: each lease has an escrow")?;
            ensure!(
                escrow.tenant == record.tenant
                    && escrow.provider == record.provider
                    && escrow.rate_per_hour == record.rate_per_hour
                    && escrow.started_at == record.started_at,
                "TASK-11: a lease and its escrow agree"
            );
            ensure!(
                escrow.state == EscrowState::Closed || task.leases.contains(&lease),
                "TASK-12: only leases of the present attempt have open escrows"
            );
            ensure!(
                record.rate_per_hour <= task.spec.max_rate_per_hour,
                "TASK-14: no lease costs more than its task allows"
            );
        }
        ensure!(billing::Escrows::<T>::iter_keys().count() == count, "TASK-11: each escrow has a lease");
        Ok(())
    }

    /// What is free on each host is what it has, less what its live leases hold.
    fn check_hosts() -> Result<(), TryRuntimeError> {
        for (host, record) in hosts::Hosts::<T>::iter() {
            let mut free = record.total;
            let mut devices = record.devices.clone();
            devices.iter_mut().for_each(|device| device.milli_free = MILLI_PER_DEVICE);
            let live = Self::live_leases_on(&host);
            for lease in &live {
                take(&mut free, devices.as_mut(), &lease.resources, &lease.devices, true)
                    .map_err(|_| "TASK-15: the live leases of a host fit on it")?;
            }
            ensure!(
                free == record.free && devices == record.devices,
                "TASK-15: what is free on a host is what it has, less what its live leases hold"
            );
            ensure!(record.live_leases as usize == live.len(), "TASK-15: a host counts its live leases");
        }
        Ok(())
    }

    fn live_leases_on(host: &HostId) -> Vec<LeaseRecord> {
        leases::ByHost::<T>::iter_key_prefix(host)
            .filter_map(|lease: LeaseId| leases::Leases::<T>::get(lease))
            .collect()
    }
}
