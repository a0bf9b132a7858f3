//! Release 1 in as few lines as keep its books: what its calls did to the state, for tests that start from there.

use frame_support::traits::{
    fungible::MutateHold,
    tokens::{Fortitude, Precision, Restriction},
};
use gantry_primitives::rate;

use crate::{
    mock::{account, bytes, now, Balances, Billing, RuntimeHoldReason, System, Test, GTY, SCHEDULER},
    v1::{
        self,
        billing::{Escrow, EscrowState, Escrows},
        hosts::{Ask, Capacity, Device, DeviceSpec, HostRecord, HostStatus, Hosts, HostsParams, Vendor},
        leases::{ByHost, EndReason, LeaseRecord, LeaseState, Leases, NextLeaseId},
        reputation::{Beta, HostScore, HostScores},
        tasks::{
            BillingUnit, ByState, ByTenant, FailReason, GpuRequest, HostFailure, Manifests, Placement, PodResult,
            Resources, TaskKind, TaskRecord, TaskSpec, TaskState, TaskStateTag, Tasks, TasksParams, Usage,
            VerificationPolicy,
        },
        AccountId, Balance, HostId, LeaseId, TaskId,
    },
};

pub const FEE_PPM: u32 = 20_000;
pub const BOND: Balance = 10 * GTY;
pub const MAX_ATTEMPTS: u8 = 3;
const DEPOSIT: Balance = GTY / 10;
const HOUR_MS: u64 = 3_600_000;

/// Takes away what a chain of today has from its genesis and puts there what release 1 had.
pub fn genesis() {
    for pallet in ["Hosts", "Tasks", "Leases", "Billing", "Reputation"] {
        let _ = sp_io::storage::clear_prefix(&sp_io::hashing::twox_128(pallet.as_bytes()), None);
    }
    v1::hosts::Params::<Test>::put(HostsParams {
        bond_per_device: BOND,
        heartbeat_period_ms: 6_000,
        absence_limit_ms: 30_000,
        absence_bounty: GTY / 10,
        allow_simulated: true,
        verification_required: false,
    });
    v1::tasks::Params::<Test>::put(TasksParams {
        start_timeout_ms: 60_000,
        dispute_window_ms: 6_000,
        max_attempts: MAX_ATTEMPTS,
        scheduler_bond: 100 * GTY,
        deposit_base: DEPOSIT,
        deposit_per_byte: 0,
        max_duration_ms: 30 * 24 * HOUR_MS,
    });
    v1::billing::Params::<Test>::put(v1::billing::BillingParams { fee_ppm: FEE_PPM });
    hold(pallet_gantry_tasks::HoldReason::SchedulerBond, &account(SCHEDULER), 100 * GTY);
    pallet_gantry_tasks::Schedulers::<Test>::insert(account(SCHEDULER), 100 * GTY);
}

fn hold(reason: impl Into<RuntimeHoldReason>, who: &AccountId, amount: Balance) {
    Balances::hold(&reason.into(), who, amount).expect("the account can pay");
}

fn free_again(reason: impl Into<RuntimeHoldReason>, who: &AccountId, amount: Balance) {
    Balances::release(&reason.into(), who, amount, Precision::Exact).expect("it was held");
}

/// A host with two devices that is online.
pub fn host(number: u8, provider: u8) -> HostId {
    let host = account(number);
    let capacity = Capacity { cpu_milli: 64_000, memory_mib: 65_536, disk_gib: 1_000 };
    let spec = DeviceSpec { vendor: Vendor::Nvidia, model: bytes("SIM-1"), vram_mib: 24_576, simulated: true };
    let device = Device { spec, milli_free: 1_000, attested: false };
    let record = HostRecord {
        provider: account(provider),
        status: HostStatus::Online,
        total: capacity,
        free: capacity,
        devices: vec![device; 2].try_into().expect("two fit"),
        ask: Ask { gpu_per_hour: GTY, cpu_core_per_hour: GTY, memory_gib_per_hour: 0, disk_gib_per_hour: 7 },
        endpoint: bytes("here"),
        region: bytes("eu"),
        bond: 2 * BOND,
        registered_at: now(),
        last_heartbeat: now(),
        live_leases: 0,
    };
    hold(pallet_gantry_hosts::HoldReason::Bond, &record.provider, record.bond);
    System::inc_providers(&host);
    pallet_gantry_hosts::HostsByProvider::<Test>::insert(&record.provider, &host, ());
    Hosts::<Test>::insert(&host, record);
    host
}

/// Changes the status of a host; a retired one has its bond back.
pub fn set_status(host: &HostId, status: HostStatus) {
    let mut record = Hosts::<Test>::get(host).expect("the host exists");
    record.status = status;
    if status == HostStatus::Retired {
        free_again(pallet_gantry_hosts::HoldReason::Bond, &record.provider, core::mem::take(&mut record.bond));
        pallet_gantry_hosts::HostsByProvider::<Test>::remove(&record.provider, host);
        System::dec_providers(host).expect("nothing else needs the account");
    }
    Hosts::<Test>::insert(host, record);
}

/// A host says that it is there.
pub fn heartbeat(host: &HostId) {
    Hosts::<Test>::mutate(host, |record| record.as_mut().expect("the host exists").last_heartbeat = now());
}

/// A task of `pods` pods with one core and, where `gpu`, half a device each.
pub fn submit(tenant: u8, pods: u16, gpu: bool, unit: BillingUnit) -> TaskId {
    let task = pallet_gantry_tasks::NextTaskId::<Test>::get();
    pallet_gantry_tasks::NextTaskId::<Test>::put(task + 1);
    let manifest: v1::Manifest = bytes("services: {}");
    let spec = TaskSpec {
        kind: TaskKind::Job,
        manifest_digest: sp_io::hashing::sha2_256(&manifest),
        resources: Resources {
            cpu_milli: 1_000,
            memory_mib: 64,
            disk_gib: 1,
            gpus: GpuRequest { count: u8::from(gpu), milli: 500, min_vram_mib: 0, models: Default::default() },
        },
        pods_min: pods,
        pods_max: pods,
        max_rate_per_hour: 3 * GTY,
        unit,
        max_duration_ms: HOUR_MS,
        deadline: None,
        priority: 7,
        queue: bytes("default"),
        verification: VerificationPolicy::Acceptance,
        placement: Placement { regions: Default::default(), hosts: Default::default(), allow_simulated: true },
    };
    let tenant = account(tenant);
    hold(pallet_gantry_tasks::HoldReason::Deposit, &tenant, DEPOSIT);
    Manifests::<Test>::insert(task, manifest);
    ByState::<Test>::insert(TaskStateTag::Queued, task, ());
    ByTenant::<Test>::insert(&tenant, task, ());
    let record = TaskRecord {
        tenant,
        spec,
        state: TaskState::Queued,
        attempts: 0,
        submitted_at: now(),
        leases: Default::default(),
        pods_started: 0,
        pods_reported: 0,
        reported_at: None,
        deposit: DEPOSIT,
    };
    Tasks::<Test>::insert(task, record);
    task
}

pub fn task(task: TaskId) -> TaskRecord {
    Tasks::<Test>::get(task).expect("the task exists")
}

fn change_state(task: TaskId, record: &mut TaskRecord, to: TaskState) {
    ByState::<Test>::remove(record.state.tag(), task);
    record.state = to;
    ByState::<Test>::insert(to.tag(), task, ());
    if to.is_final() {
        Manifests::<Test>::remove(task);
        free_again(pallet_gantry_tasks::HoldReason::Deposit, &record.tenant, core::mem::take(&mut record.deposit));
    }
}

/// Whether a host has room for a pod of a task, and on which device.
fn device_for(record: &HostRecord, gpus: &GpuRequest) -> Option<v1::DeviceIndices> {
    if record.status != HostStatus::Online || record.free.cpu_milli < 1_000 {
        return None;
    }
    if gpus.count == 0 {
        return Some(Default::default());
    }
    let place = record.devices.iter().position(|device| device.milli_free >= gpus.milli)?;
    Some(vec![place as u8].try_into().expect("one fits"))
}

/// Gives each pod of a waiting task a lease on one of these hosts in turn. Returns whether there was room.
pub fn assign(task: TaskId, hosts: &[HostId]) -> bool {
    let mut record = Tasks::<Test>::get(task).expect("the task exists");
    let before: Vec<_> = hosts.iter().map(|host| (host, Hosts::<Test>::get(host).expect("the host exists"))).collect();
    for pod in 0..record.spec.pods_max {
        let host = &hosts[usize::from(pod) % hosts.len()];
        let mut on = Hosts::<Test>::get(host).expect("the host exists");
        let Some(devices) = device_for(&on, &record.spec.resources.gpus) else {
            assert_eq!(pod, 0, "tests place gangs where there is room for all");
            before.into_iter().for_each(|(host, record)| Hosts::<Test>::insert(host, record));
            return false;
        };
        on.free.cpu_milli -= 1_000;
        on.free.memory_mib -= 64;
        on.free.disk_gib -= 1;
        devices.iter().for_each(|place| on.devices[usize::from(*place)].milli_free -= 500);
        on.live_leases += 1;
        let rate_per_hour = GTY + GTY / 2 * devices.len() as Balance + 7;
        let deposit = rate::deposit(rate_per_hour, record.spec.max_duration_ms).expect("small");
        let lease = NextLeaseId::<Test>::get().unwrap_or_default();
        NextLeaseId::<Test>::put(lease + 1);
        ByHost::<Test>::insert(host, lease, ());
        hold(pallet_gantry_billing::HoldReason::Escrow, &record.tenant, deposit);
        pallet_gantry_billing::TotalEscrowed::<Test>::mutate(|total| *total += deposit);
        let escrow = Escrow {
            tenant: record.tenant.clone(),
            provider: on.provider.clone(),
            deposit,
            rate_per_hour,
            unit: record.spec.unit,
            started_at: None,
            depletes_at: None,
            paid: 0,
            fee: 0,
            state: EscrowState::Open,
        };
        Escrows::<Test>::insert(lease, escrow);
        let opened = LeaseRecord {
            task,
            pod,
            attempt: record.attempts,
            host: host.clone(),
            provider: on.provider.clone(),
            tenant: record.tenant.clone(),
            devices,
            resources: record.spec.resources.clone(),
            rate_per_hour,
            state: LeaseState::Pending,
            created_at: now(),
            started_at: None,
            ended_at: None,
            result: None,
        };
        Leases::<Test>::insert(lease, opened);
        Hosts::<Test>::insert(host, on);
        record.leases.try_push(lease).expect("at most 16");
    }
    change_state(task, &mut record, TaskState::Assigned);
    Tasks::<Test>::insert(task, record);
    true
}

pub fn lease(lease: LeaseId) -> LeaseRecord {
    Leases::<Test>::get(lease).expect("the lease exists")
}

/// The pod of a pending lease starts.
pub fn start(lease: LeaseId) {
    let mut record = self::lease(lease);
    assert_eq!(record.state, LeaseState::Pending);
    record.state = LeaseState::Active;
    record.started_at = Some(now());
    let mut task = self::task(record.task);
    Escrows::<Test>::mutate(lease, |escrow| {
        let escrow = escrow.as_mut().expect("the escrow exists");
        escrow.started_at = Some(now());
        escrow.depletes_at = Some(now() + task.spec.max_duration_ms);
    });
    observe(&record.host, |score| score.started.positive += 1_000_000);
    task.pods_started += 1;
    if usize::from(task.pods_started) == task.leases.len() {
        change_state(record.task, &mut task, TaskState::Running);
    }
    Tasks::<Test>::insert(record.task, task);
    Leases::<Test>::insert(lease, record);
}

fn observe(host: &HostId, change: impl FnOnce(&mut HostScore)) {
    let mut score = HostScores::<Test>::get(host).unwrap_or(HostScore {
        completed: Beta::default(),
        started: Beta::default(),
        uptime: Beta::default(),
        settled_leases: 0,
        updated_at: 0,
    });
    change(&mut score);
    score.updated_at = now();
    HostScores::<Test>::insert(host, score);
}

fn end(lease: LeaseId, reason: EndReason, result: Option<PodResult>) {
    let mut record = self::lease(lease);
    record.state = LeaseState::Ended(reason);
    record.ended_at = Some(now());
    record.result = result;
    ByHost::<Test>::remove(&record.host, lease);
    Hosts::<Test>::mutate(&record.host, |host| {
        let host = host.as_mut().expect("the host exists");
        host.free.cpu_milli += 1_000;
        host.free.memory_mib += 64;
        host.free.disk_gib += 1;
        record.devices.iter().for_each(|place| host.devices[usize::from(*place)].milli_free += 500);
        host.live_leases -= 1;
    });
    Leases::<Test>::insert(lease, record);
}

/// The pod of an active lease ends with a result.
pub fn report(lease: LeaseId, wall_ms: u64) {
    let result = PodResult { digest: [9; 32], exit_code: -1, usage: Usage { wall_ms, cpu_ms: 1, memory_peak_mib: 2 } };
    end(lease, EndReason::Completed, Some(result));
    let number = self::lease(lease).task;
    let mut task = self::task(number);
    task.pods_reported += 1;
    if usize::from(task.pods_reported) == task.leases.len() {
        task.reported_at = Some(now());
        change_state(number, &mut task, TaskState::Reported);
    }
    Tasks::<Test>::insert(number, task);
}

fn close(lease: LeaseId, owed: Balance) {
    Escrows::<Test>::mutate(lease, |escrow| {
        let escrow = escrow.as_mut().expect("the escrow exists");
        let fee = rate::fee(owed, FEE_PPM);
        for (to, amount) in [(&escrow.provider, owed - fee), (&Billing::treasury(), fee)] {
            if amount > 0 {
                Balances::transfer_on_hold(
                    &pallet_gantry_billing::HoldReason::Escrow.into(),
                    &escrow.tenant,
                    to,
                    amount,
                    Precision::Exact,
                    Restriction::Free,
                    Fortitude::Force,
                )
                .expect("it is held");
            }
        }
        free_again(pallet_gantry_billing::HoldReason::Escrow, &escrow.tenant, escrow.deposit - owed);
        pallet_gantry_billing::TotalEscrowed::<Test>::mutate(|total| *total -= escrow.deposit);
        escrow.paid = owed;
        escrow.fee = fee;
        escrow.state = EscrowState::Closed;
    });
}

/// What release 1 would pay for a lease that ran until it ended.
pub fn owed(lease: LeaseId) -> Balance {
    let record = self::lease(lease);
    let escrow = Escrows::<Test>::get(lease).expect("the escrow exists");
    let Some(started_at) = record.started_at else { return 0 };
    let elapsed = record.ended_at.unwrap_or(now()) - started_at;
    let billed = record.result.map_or(elapsed, |result| elapsed.min(result.usage.wall_ms));
    let unit = match escrow.unit {
        BillingUnit::Second => gantry_primitives::BillingUnit::Second,
        BillingUnit::Hour => gantry_primitives::BillingUnit::Hour,
        BillingUnit::Day => gantry_primitives::BillingUnit::Day,
    };
    rate::owed(unit, escrow.deposit, escrow.rate_per_hour, billed)
}

/// A host refuses; nobody is paid, and the task waits again or fails.
pub fn fail(lease: LeaseId) {
    let number = self::lease(lease).task;
    let mut task = self::task(number);
    for one in task.leases.clone() {
        let reason =
            if one == lease { EndReason::HostRefused(HostFailure::DriverError) } else { EndReason::GangAborted };
        if matches!(self::lease(one).state, LeaseState::Pending | LeaseState::Active) {
            end(one, reason, None);
        }
        close(one, 0);
    }
    observe(&self::lease(lease).host, |score| score.started.negative += 1_000_000);
    task.attempts += 1;
    if task.attempts >= MAX_ATTEMPTS {
        change_state(number, &mut task, TaskState::Failed(FailReason::AttemptsExhausted));
    } else {
        task.leases = Default::default();
        task.pods_started = 0;
        task.pods_reported = 0;
        change_state(number, &mut task, TaskState::Queued);
    }
    Tasks::<Test>::insert(number, task);
}

/// The tenant accepts a result.
pub fn accept(task: TaskId) {
    let mut record = self::task(task);
    change_state(task, &mut record, TaskState::Verified);
    Tasks::<Test>::insert(task, record);
}

/// A verified task is settled.
pub fn settle(task: TaskId) {
    let mut record = self::task(task);
    for lease in &record.leases {
        close(*lease, owed(*lease));
        observe(&self::lease(*lease).host, |score| {
            score.completed.positive += 1_000_000;
            score.settled_leases += 1;
        });
    }
    change_state(task, &mut record, TaskState::Settled);
    Tasks::<Test>::insert(task, record);
}

/// The tenant calls a task off before it is reported.
pub fn cancel(task: TaskId) {
    let mut record = self::task(task);
    for lease in record.leases.clone() {
        if matches!(self::lease(lease).state, LeaseState::Pending | LeaseState::Active) {
            end(lease, EndReason::Cancelled, None);
        }
        close(lease, owed(lease));
    }
    change_state(task, &mut record, TaskState::Cancelled);
    Tasks::<Test>::insert(task, record);
}

/// Nobody has assigned a task before its deadline.
pub fn expire(task: TaskId) {
    let mut record = self::task(task);
    change_state(task, &mut record, TaskState::Expired);
    Tasks::<Test>::insert(task, record);
}
