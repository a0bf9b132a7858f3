//! What must be the same before and after the migration, read from the old state and from the new one.
//!
//! For tests and try-runtime alone: it reads everything at once.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use codec::{Decode, Encode};
use frame_support::{ensure, storage::StoragePrefixedMap};
use gantry_primitives::{AccountId, Balance, Digest, HostId, LeaseId, TaskId};
use sp_runtime::TryRuntimeError;

use super::{tasks as convert, tasks_pallet};
use crate::v1;

/// A lease of the present attempt of a task, under its new number.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct LeaseEntry {
    lease: LeaseId,
    host: HostId,
    devices: Vec<u8>,
    /// By name, because the variants of both releases are named alike and not numbered alike.
    state: String,
    times: (u64, Option<u64>, Option<u64>),
    rate_per_hour: Balance,
    /// What is held of the tenant for it.
    held: Balance,
    paid: Balance,
    fee: Balance,
    result: Option<Vec<u8>>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct TaskEntry {
    tenant: AccountId,
    state: String,
    attempts: u8,
    submitted_at: u64,
    manifest_digest: Digest,
    manifest: Option<Vec<u8>>,
    deposit: Balance,
    leases: Vec<LeaseEntry>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct HostEntry {
    provider: AccountId,
    status: String,
    free: (u32, u32, u32),
    milli_free: Vec<u16>,
    bond: Balance,
    /// Its live leases under their new numbers.
    leases: Vec<LeaseId>,
    /// Evidence of completion, and how many of its leases were settled.
    score: Option<(u64, u64, u32)>,
}

/// Every coin, host, task and lease, as both releases tell it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Books {
    /// A digest over all accounts and holds, byte for byte.
    coins: Digest,
    escrowed: Balance,
    next_task: TaskId,
    schedulers: BTreeMap<AccountId, Balance>,
    hosts: BTreeMap<HostId, HostEntry>,
    tasks: BTreeMap<TaskId, TaskEntry>,
}

impl Books {
    /// Reads the state of release 1. Fails where something in it cannot be carried over.
    pub fn of_release_1<T: tasks_pallet::Config>() -> Result<Self, TryRuntimeError> {
        let mut tasks = BTreeMap::new();
        for (task, record) in v1::tasks::Tasks::<T>::iter() {
            let leases =
                record.leases.iter().map(|lease| old_lease::<T>(*lease)).collect::<Result<_, TryRuntimeError>>()?;
            let entry = TaskEntry {
                tenant: record.tenant,
                state: format!("{:?}", record.state),
                attempts: record.attempts,
                submitted_at: record.submitted_at,
                manifest_digest: record.spec.manifest_digest,
                manifest: v1::tasks::Manifests::<T>::get(task).map(|manifest| manifest.into_inner()),
                deposit: record.deposit,
                leases,
            };
            tasks.insert(task, entry);
        }
        let mut hosts = BTreeMap::new();
        for (host, record) in v1::hosts::Hosts::<T>::iter() {
            let mut leases = Vec::new();
            for lease in v1::leases::ByHost::<T>::iter_key_prefix(&host) {
                let record = v1::leases::Leases::<T>::get(lease).ok_or("each listed lease exists")?;
                leases.push(convert::renumbered(&record));
            }
            leases.sort_unstable();
            ensure!(
                leases.len() <= super::leases::MAX_LEASES_PER_HOST as usize,
                "no host has more live leases than the list of one takes"
            );
            let free = record.free;
            let entry = HostEntry {
                provider: record.provider,
                status: format!("{:?}", record.status),
                free: (free.cpu_milli, free.memory_mib, free.disk_gib),
                milli_free: record.devices.iter().map(|device| device.milli_free).collect(),
                bond: record.bond,
                leases,
                score: v1::reputation::HostScores::<T>::get(&host)
                    .map(|score| (score.completed.positive, score.completed.negative, score.settled_leases)),
            };
            hosts.insert(host, entry);
        }
        Ok(Self::with::<T>(hosts, tasks))
    }

    /// Reads the state of release 2.
    pub fn of_release_2<T: tasks_pallet::Config>() -> Result<Self, TryRuntimeError> {
        let mut tasks = BTreeMap::new();
        for (key, record) in tasks_pallet::Tasks::<T>::iter() {
            let shared = tasks_pallet::Specs::<T>::get(key).ok_or("each task has a spec")?;
            let entry = TaskEntry {
                tenant: record.tenant,
                state: format!("{:?}", record.state),
                attempts: record.failures,
                submitted_at: record.submitted_at,
                manifest_digest: shared.spec.manifest_digest,
                manifest: tasks_pallet::Manifests::<T>::get(key).map(|manifest| manifest.into_inner()),
                deposit: shared.manifest_deposit,
                leases: record.leases.iter().map(|lease| lease_entry(key.task(), lease)).collect(),
            };
            tasks.insert(key.task(), entry);
        }
        let mut hosts = BTreeMap::new();
        for (host, record) in super::hosts_pallet::Hosts::<T>::iter() {
            let free = record.free;
            let entry = HostEntry {
                provider: record.provider,
                status: format!("{:?}", record.status),
                free: (free.cpu_milli, free.memory_mib, free.disk_gib),
                milli_free: record.devices.iter().map(|device| device.milli_free).collect(),
                bond: record.bond,
                leases: super::leases::Pallet::<T>::leases_of(&host).into_inner(),
                score: super::reputation::HostScores::<T>::get(&host)
                    .map(|score| (score.completed.positive, score.completed.negative, score.settled_leases)),
            };
            hosts.insert(host, entry);
        }
        Ok(Self::with::<T>(hosts, tasks))
    }

    fn with<T: tasks_pallet::Config>(hosts: BTreeMap<HostId, HostEntry>, tasks: BTreeMap<TaskId, TaskEntry>) -> Self {
        Self {
            coins: digest_of(&[&frame_system::Account::<T>::final_prefix(), &sp_io::hashing::twox_128(b"Balances")]),
            escrowed: super::billing::TotalEscrowed::<T>::get(),
            next_task: tasks_pallet::NextTaskId::<T>::get(),
            schedulers: tasks_pallet::Schedulers::<T>::iter().collect(),
            hosts,
            tasks,
        }
    }

    /// Whether the state of release 2 is what these books, of before, say, and nothing of the old form is left.
    pub fn ensure_carried_over<T: tasks_pallet::Config>(&self) -> Result<(), TryRuntimeError> {
        let now = Self::of_release_2::<T>()?;
        ensure!(self.coins == now.coins && self.escrowed == now.escrowed, "MIGR-1: no coin has moved");
        ensure!(self.schedulers == now.schedulers, "MIGR-2: every scheduler is bonded as it was");
        ensure!(self.hosts == now.hosts, "MIGR-3: every host is where it was, with what it had");
        ensure!(
            self.next_task == now.next_task && self.tasks == now.tasks,
            "MIGR-4: every task is where it was, with its leases and their coins"
        );
        nothing_old_is_left::<T>()
    }
}

fn old_lease<T: tasks_pallet::Config>(number: v1::LeaseId) -> Result<LeaseEntry, TryRuntimeError> {
    let lease = v1::leases::Leases::<T>::get(number).ok_or("each lease of a task exists")?;
    let escrow = v1::billing::Escrows::<T>::get(number).ok_or("each lease of a task has an escrow")?;
    let is_open = escrow.state == v1::billing::EscrowState::Open;
    Ok(LeaseEntry {
        lease: convert::renumbered(&lease),
        host: lease.host,
        devices: lease.devices.into_inner(),
        state: format!("{:?}", lease.state),
        times: (lease.created_at, lease.started_at, lease.ended_at),
        rate_per_hour: lease.rate_per_hour,
        held: if is_open { escrow.deposit } else { 0 },
        paid: escrow.paid,
        fee: escrow.fee,
        result: lease.result.map(|result| result.encode()),
    })
}

fn lease_entry(task: TaskId, lease: &gantry_primitives::Lease) -> LeaseEntry {
    LeaseEntry {
        lease: gantry_primitives::lease_id(task, lease.pod, lease.generation),
        host: lease.host.clone(),
        devices: lease.devices.clone().into_inner(),
        state: format!("{:?}", lease.state),
        times: (lease.created_at, lease.started_at, lease.ended_at),
        rate_per_hour: lease.escrow.rate_per_hour,
        held: lease.escrow.held(),
        paid: lease.escrow.paid,
        fee: lease.escrow.fee,
        result: lease.result.map(|result| result.encode()),
    }
}

/// All keys of the old form are gone: each prefix has only keys as long as the new ones.
fn nothing_old_is_left<T: tasks_pallet::Config>() -> Result<(), TryRuntimeError> {
    // Prefix, and how long a key is after it.
    let lengths = [
        (tasks_pallet::Tasks::<T>::final_prefix(), 8),
        (tasks_pallet::Manifests::<T>::final_prefix(), 8),
        (tasks_pallet::ByState::<T>::final_prefix(), 1 + 8),
        (tasks_pallet::ByTenant::<T>::final_prefix(), 16 + 32 + 8),
        (super::leases::ByHost::<T>::final_prefix(), 16 + 32),
    ];
    for (prefix, length) in lengths {
        ensure!(
            keys_below(&prefix).all(|key| key.len() == prefix.len() + length),
            "MIGR-5: no key of release 1 is left"
        );
    }
    for prefix in [v1::leases::Leases::<T>::final_prefix(), v1::billing::Escrows::<T>::final_prefix()] {
        ensure!(keys_below(&prefix).next().is_none(), "MIGR-5: no key of release 1 is left");
    }
    ensure!(!v1::leases::NextLeaseId::<T>::exists(), "MIGR-5: no key of release 1 is left");
    Ok(())
}

fn keys_below(prefix: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    core::iter::successors(sp_io::storage::next_key(prefix), |key| sp_io::storage::next_key(key))
        .take_while(move |key| key.starts_with(prefix))
}

fn digest_of(prefixes: &[&[u8]]) -> Digest {
    let mut digest = Digest::default();
    for key in prefixes.iter().flat_map(|prefix| keys_below(prefix)) {
        let value = sp_io::storage::get(&key);
        digest = sp_io::hashing::blake2_256(&(digest, key, value.map(|value| value.to_vec())).encode());
    }
    digest
}
