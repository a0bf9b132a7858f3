//! A chain with the parameters of production, and the moves of those who act on it. Calls are dispatched without their
//! fee, so that a strategy is judged by the rules of the pallets alone.

use std::sync::OnceLock;

use frame_support::{assert_ok, traits::Hooks};
use gantry_primitives::{
    lease_id, registration::registration_message, Ask, Balance, BillingUnit, Capabilities, DeviceSpec, GpuRequest,
    HardwareSpec, HostFailure, HostId, LeaseId, Moment, Placement, PodPlacement, PodResult, Resources, Survival,
    TaskId, TaskKey, TaskKind, TaskRecord, TaskSpec, Tier, Usage, Vendor, VerificationPolicy,
};
use gantry_runtime::{
    AccountId, Balances, Hosts, Runtime, RuntimeOrigin, System, Tasks, Timestamp, GTY, SLOT_DURATION_MS,
};
use serde_json::json;
use sp_core::{ed25519, Pair};

use crate::common::started_with;

pub const SECOND: u64 = 1_000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;
/// The price of a pod with one device in base units an hour.
pub const RATE: Balance = 2 * GTY;
/// What the work of a pod costs its host, in parts per million of its price.
pub const COST_PPM: Balance = 300_000;

/// Coins of every account at genesis: enough for 10,000 rounds of a strategy that loses bonds of 100 GTY in each.
const ENDOWMENT: Balance = 1_000_000_000 * GTY;

pub fn account(who: u8) -> AccountId {
    AccountId::new([who; 32])
}

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

fn pair(number: u8) -> ed25519::Pair {
    ed25519::Pair::from_seed(&[number; 32])
}

pub fn host(number: u8) -> HostId {
    // To derive a key takes longer than most calls.
    static KEYS: [OnceLock<HostId>; 256] = [const { OnceLock::new() }; 256];
    KEYS[usize::from(number)].get_or_init(|| HostId::new(pair(number).public().0)).clone()
}

pub fn by_host(number: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(host(number))
}

/// Plays on a new chain on which accounts 1 to 80 have coins, and hosts need no verification.
pub fn play<R>(game: impl FnOnce() -> R) -> R {
    let balances: Vec<_> = (1..=80).map(|who| (account(who), ENDOWMENT)).collect();
    let treasury = gantry_runtime::Billing::treasury();
    let staging = crate::common::preset(gantry_runtime::genesis::STAGING);
    let mut all = vec![(treasury, gantry_runtime::EXISTENTIAL_DEPOSIT)];
    all.extend(balances);
    let patch = json!({
        "balances": { "balances": all },
        "session": staging["session"],
        "validators": staging["validators"],
        "council": { "members": [account(40)] },
        "hosts": { "params": { "verificationRequired": false } },
        "tasks": { "params": { "maxReplicas": 3 } },
    });
    started_with(gantry_runtime::genesis::PRODUCTION, &patch).execute_with(game)
}

pub fn now() -> Moment {
    Timestamp::get()
}

/// The longest silence of a host.
pub fn absence_limit_ms() -> u64 {
    pallet_gantry_hosts::CurrentParams::<Runtime>::get().absence_limit_ms
}

/// Time passes, and every host of `present` is there all the while.
pub fn pass(ms: u64, present: &[u8]) {
    let step = absence_limit_ms();
    let end = now() + ms;
    while now() < end {
        pallet_timestamp::Now::<Runtime>::put((now() + step).min(end));
        for number in present {
            let _ = Hosts::heartbeat(by_host(*number));
        }
    }
}

/// Moves the clock while no lease runs: hosts are heard of at its end only.
pub fn wait(ms: u64, present: &[u8]) {
    pallet_timestamp::Now::<Runtime>::put(now() + ms);
    for number in present {
        let _ = Hosts::heartbeat(by_host(*number));
    }
}

/// The chain makes no blocks for so long; then one begins.
pub fn halt(ms: u64) {
    let resumed_at = now() + ms;
    pallet_babe::CurrentSlot::<Runtime>::put(sp_consensus_babe::Slot::from(resumed_at / SLOT_DURATION_MS));
    Hosts::on_initialize(System::block_number());
    pallet_timestamp::Now::<Runtime>::put(resumed_at);
}

/// What an account owns, held coins included.
pub fn total_balance(who: u8) -> Balance {
    <Balances as frame_support::traits::fungible::Inspect<AccountId>>::total_balance(&account(who))
}

/// The coins of an account that are not held.
pub fn free(who: u8) -> Balance {
    Balances::free_balance(account(who))
}

/// What accounts own together.
pub fn wealth(who: &[u8]) -> i128 {
    who.iter().map(|who| total_balance(*who) as i128).sum()
}

pub fn ask() -> Ask {
    Ask {
        gpu: Default::default(),
        gpu_per_hour: RATE,
        cpu_core_per_hour: 0,
        memory_gib_per_hour: 0,
        disk_gib_per_hour: 0,
        network_gib: 0,
        storage_gib_per_hour: GTY / 1_000,
        second_ppm: 1_000_000,
        hour_ppm: 1_000_000,
        day_ppm: 1_000_000,
        terms: Default::default(),
    }
}

/// Registers host `number` with eight devices for a provider, and brings it online.
pub fn join(provider: u8, number: u8) {
    let device = DeviceSpec {
        vendor: Vendor::Nvidia,
        model: b"L4".to_vec().try_into().expect("it fits"),
        vram_mib: 24_000,
        simulated: false,
    };
    let hardware = HardwareSpec {
        cpu_milli: 1_000_000,
        memory_mib: 1_000_000,
        disk_gib: 1_000,
        devices: vec![device; 8].try_into().expect("eight fit"),
        tier: Tier::Consumer,
        capabilities: Capabilities { docker: true, ..Default::default() },
        answers_challenges: false,
        network_mbps_down: 1_000,
        network_mbps_up: 1_000,
    };
    let genesis: [u8; 32] = System::block_hash(0).0;
    let (endpoint, region) = (Default::default(), Default::default());
    let message = registration_message(genesis, &account(provider), &hardware, &endpoint, &region, &ask());
    let signature = pair(number).sign(&message).0;
    assert_ok!(Hosts::register(signed(provider), host(number), hardware, endpoint, region, ask(), signature));
    assert_ok!(Hosts::heartbeat(by_host(number)));
}

/// Tops up the bond of a host that slashes have reduced, so that it can take leases again.
pub fn restore_bond(provider: u8, number: u8) {
    let of = Hosts::host(&host(number)).expect("it is registered");
    let missing = of.bond_required.saturating_sub(of.bond);
    if missing > 0 {
        assert_ok!(Hosts::top_up_bond(signed(provider), host(number), missing));
        let _ = Hosts::heartbeat(by_host(number));
    }
}

fn manifest() -> Vec<u8> {
    b"services: {}".to_vec()
}

/// A task of so many pods with one device each, for up to an hour.
pub fn spec(kind: TaskKind, pods: u16) -> TaskSpec {
    TaskSpec {
        kind,
        manifest_digest: sp_io::hashing::sha2_256(&manifest()),
        resources: Resources {
            cpu_milli: 1_000,
            memory_mib: 1_024,
            disk_gib: 10,
            gpus: GpuRequest { count: 1, milli: 1_000, min_vram_mib: 0, models: Default::default() },
        },
        pods_min: pods,
        pods_max: pods,
        max_rate_per_hour: RATE,
        unit: BillingUnit::Second,
        max_duration_ms: HOUR,
        deadline: None,
        priority: 0,
        queue: Default::default(),
        verification: VerificationPolicy::Acceptance,
        placement: Placement::default(),
        data_from: None,
        spot: false,
        survival: Survival::Restart,
    }
}

/// A job of one pod.
pub fn job() -> TaskSpec {
    spec(TaskKind::Job, 1)
}

pub fn submit(tenant: u8, spec: TaskSpec) -> TaskId {
    let task = pallet_gantry_tasks::NextTaskId::<Runtime>::get();
    assert_ok!(Tasks::submit(signed(tenant), spec, manifest().try_into().expect("it fits")));
    task
}

pub fn record(task: TaskId) -> TaskRecord {
    pallet_gantry_tasks::Tasks::<Runtime>::get(TaskKey::from(task)).expect("the task is kept")
}

/// Assigns each pod of a task to one of these hosts, on its first free devices; by the task's tenant.
pub fn assign(tenant: u8, task: TaskId, hosts: &[u8]) -> Vec<LeaseId> {
    try_assign(tenant, task, hosts).expect("the pods fit")
}

pub fn try_assign(tenant: u8, task: TaskId, hosts: &[u8]) -> Result<Vec<LeaseId>, sp_runtime::DispatchError> {
    let mut taken: Vec<(u8, u8)> = Vec::new();
    let mut pods: Vec<PodPlacement> = Vec::new();
    for (pod, number) in (0u8..).zip(hosts) {
        let of = Hosts::host(&host(*number))?;
        let is_free =
            |device: &usize| of.devices[*device].milli_free == 1_000 && !taken.contains(&(*number, *device as u8));
        let device = (0..of.devices.len()).find(is_free).expect("a device is free") as u8;
        taken.push((*number, device));
        let devices = vec![device].try_into().expect("one fits");
        pods.push(PodPlacement { pod, host: host(*number), devices, rate_per_hour: u128::MAX });
    }
    Tasks::assign(signed(tenant), task, pods.try_into().expect("they fit")).map_err(|refused| refused.error)?;
    Ok(record(task).leases.iter().map(|lease| lease_id(task, lease.pod, lease.generation)).collect())
}

/// A task on these hosts, whose pods have started.
pub fn start(tenant: u8, spec: TaskSpec, hosts: &[u8]) -> (TaskId, Vec<LeaseId>) {
    let task = submit(tenant, spec);
    let leases = assign(tenant, task, hosts);
    for (lease, number) in leases.iter().zip(hosts) {
        assert_ok!(Tasks::report_started(by_host(*number), *lease));
    }
    (task, leases)
}

/// Reports the result of a pod that ran for so long.
pub fn finish(number: u8, lease: LeaseId, wall_ms: u64) {
    let usage = Usage { wall_ms, cpu_ms: 1, memory_peak_mib: 1 };
    assert_ok!(Tasks::report_result(by_host(number), lease, PodResult { digest: [1; 32], exit_code: 0, usage }));
}

pub fn refuse(number: u8, lease: LeaseId, reason: HostFailure) {
    assert_ok!(Tasks::report_failed(by_host(number), lease, reason));
}

/// Settles a task whose dispute window is over, as anybody may.
pub fn settle(task: TaskId) {
    assert_ok!(Tasks::settle(signed(39), task));
}

/// The cost of running a pod for so long.
pub fn cost(ms: u64) -> i128 {
    (RATE * COST_PPM / 1_000_000 * Balance::from(ms) / Balance::from(HOUR)) as i128
}

/// Everything that must hold of the chain.
pub fn check() {
    pallet_gantry_tasks::Pallet::<Runtime>::do_try_state().expect("tasks");
    pallet_gantry_hosts::Pallet::<Runtime>::do_try_state().expect("hosts");
    pallet_gantry_verification::Pallet::<Runtime>::do_try_state().expect("verification");
    pallet_gantry_reputation::Pallet::<Runtime>::do_try_state().expect("reputation");
}
