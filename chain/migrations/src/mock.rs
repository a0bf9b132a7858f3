//! A runtime of the pallets that are migrated, and a history of tasks on it.

use frame_support::assert_ok;
pub use gantry_mock::{account, bytes, SplitMix64, ED, GTY};
use gantry_primitives::{
    registration::registration_message, Ask, BillingUnit, Capabilities, DeviceSpec, DisputePhase, DisputeRecord,
    Endpoint, GpuRequest, HardwareSpec, HostChallenges, HostId, LeaseId, LeaseState, Moment, Placement, PodPlacement,
    PodResult, RegionName, Resources, ResultsRecord, Survival, TaskId, TaskKey, TaskKind, TaskRecord, TaskSpec,
    TaskState, Tier, Usage, Vendor, VerificationPolicy,
};
use sp_core::Pair;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Timestamp: pallet_timestamp,
        Balances: pallet_balances,
        Hosts: pallet_gantry_hosts,
        Tasks: pallet_gantry_tasks,
        Leases: pallet_gantry_leases,
        Billing: pallet_gantry_billing,
        Reputation: pallet_gantry_reputation,
    }
);

gantry_mock::network!();

/// The disputes of the verification pallet, which this runtime does not have.
#[frame_support::storage_alias]
pub type Disputes = StorageMap<Verification, frame_support::Twox64Concat, TaskId, DisputeRecord>;

/// When each host was challenged, as the verification pallet keeps it.
#[frame_support::storage_alias]
pub type Challenged = StorageMap<Verification, frame_support::Blake2_128Concat, HostId, HostChallenges>;

/// The results of replicas, as the verification pallet keeps them.
#[frame_support::storage_alias]
pub type Compared = StorageMap<Verification, frame_support::Twox64Concat, TaskId, ResultsRecord>;

/// The parameters of the verification pallet.
#[frame_support::storage_alias]
pub type VerificationParams =
    StorageValue<Verification, pallet_gantry_verification::Params, frame_support::pallet_prelude::ValueQuery>;

/// The time at which every test begins.
pub const START: Moment = 1_700_000_000_000;
pub const ABSENCE_LIMIT_MS: u64 = 600_000;

const TENANT: u8 = 1;
const PROVIDER: u8 = 3;
pub const SCHEDULER: u8 = 5;
pub const ANYONE: u8 = 6;

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

pub fn by_host(number: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(gantry_mock::host(number))
}

/// Time passes.
pub fn advance(ms: u64) {
    pallet_timestamp::Now::<Test>::put(Hosts::now() + ms);
}

/// A chain of this release at its genesis, with a scheduler.
pub fn chain() -> sp_io::TestExternalities {
    let mut balances: Vec<_> = (TENANT..=ANYONE).map(|who| (account(who), 1_000_000 * GTY)).collect();
    balances.push((Billing::treasury(), ED));
    let genesis = RuntimeGenesisConfig {
        balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
        hosts: pallet_gantry_hosts::GenesisConfig {
            params: pallet_gantry_hosts::Params { absence_limit_ms: ABSENCE_LIMIT_MS, ..Default::default() },
            ..Default::default()
        },
        tasks: pallet_gantry_tasks::GenesisConfig { schedulers: vec![account(SCHEDULER)], ..Default::default() },
        ..Default::default()
    };
    gantry_mock::begin_at::<Test>(genesis, START)
}

/// Registers a host with four devices and brings it online.
pub fn online_host(number: u8) -> HostId {
    let device = DeviceSpec { vendor: Vendor::Nvidia, model: bytes("L4"), vram_mib: 24_000, simulated: false };
    let hardware = HardwareSpec {
        tier: Tier::Consumer,
        capabilities: Capabilities { docker: true, shares: true, ..Default::default() },
        answers_challenges: false,
        cpu_milli: 64_000,
        memory_mib: 65_536,
        disk_gib: 1_000,
        network_mbps_down: 1_000,
        network_mbps_up: 1_000,
        devices: vec![device; 4].try_into().expect("four devices fit"),
    };
    let ask = Ask {
        gpu: Default::default(),
        gpu_per_hour: GTY,
        cpu_core_per_hour: GTY,
        memory_gib_per_hour: 0,
        disk_gib_per_hour: 0,
        network_gib: 0,
        storage_gib_per_hour: GTY / 100,
        second_ppm: 1_000_000,
        hour_ppm: 1_000_000,
        day_ppm: 1_000_000,
        terms: Default::default(),
    };
    let (endpoint, region): (Endpoint, RegionName) = (bytes("here"), bytes("eu"));
    let genesis = System::block_hash(0).0;
    let message = registration_message(genesis, &account(PROVIDER), &hardware, &endpoint, &region, &ask);
    let signature = gantry_mock::host_pair(number).sign(&message).0;
    let host = gantry_mock::host(number);
    assert_ok!(Hosts::register(signed(PROVIDER), host.clone(), hardware, endpoint, region, ask, signature));
    assert_ok!(Hosts::heartbeat(by_host(number)));
    host
}

fn spec(kind: TaskKind, unit: BillingUnit, with_gpu: bool) -> TaskSpec {
    let gpus = GpuRequest { count: with_gpu.into(), milli: 1_000, min_vram_mib: 0, models: Default::default() };
    TaskSpec {
        kind,
        manifest_digest: sp_io::hashing::sha2_256(b"services: {}"),
        resources: Resources { cpu_milli: 1_000, memory_mib: 512, disk_gib: 1, gpus },
        pods_min: 1,
        pods_max: 1,
        max_rate_per_hour: 10 * GTY,
        unit,
        max_duration_ms: 3_600_000,
        deadline: None,
        priority: 0,
        queue: bytes("default"),
        verification: VerificationPolicy::Acceptance,
        placement: Placement { regions: vec![bytes("eu")].try_into().expect("one fits"), ..Default::default() },
        data_from: None,
        spot: false,
        survival: Survival::Restart,
    }
}

pub fn record(task: TaskId) -> TaskRecord {
    pallet_gantry_tasks::Tasks::<Test>::get(TaskKey::from(task)).expect("the task exists")
}

/// A dispute about all leases of a task.
pub fn open_dispute(task: TaskId) {
    let mut accused: Vec<_> = Tasks::leases_of(task).expect("the task exists").into_iter().map(|(id, _)| id).collect();
    accused.sort();
    let dispute = DisputeRecord {
        opener: account(TENANT),
        tenant: account(TENANT),
        accused: accused.try_into().expect("a task has at most 16 leases"),
        providers: vec![account(PROVIDER)].try_into().expect("one fits"),
        opened_at: START,
        phase: DisputePhase::Hearing,
        until: START + 1,
        level: 0,
        retried: false,
        verdict: None,
        stakes: Default::default(),
        evidence: Default::default(),
        ballot: Default::default(),
    };
    Disputes::insert(task, dispute);
}

fn lease_of(record: &TaskRecord, task: TaskId) -> Option<(LeaseId, LeaseState)> {
    let lease = record.leases.first()?;
    Some((gantry_primitives::lease_id(task, lease.pod, lease.generation), lease.state))
}

/// Up to `moves` random steps of tenants, the scheduler and hosts 100 to 105. Calls that the chain refuses are part of it.
pub fn history(rng: &mut SplitMix64, moves: u32) {
    let hosts: Vec<_> = (100..106).map(online_host).collect();
    for _ in 0..moves {
        advance(rng.below(20_000));
        for number in 100..106 {
            let _ = Hosts::heartbeat(by_host(number));
        }
        let tasks = pallet_gantry_tasks::NextTaskId::<Test>::get();
        if tasks == 0 || rng.below(4) == 0 {
            let kind = [TaskKind::Job, TaskKind::Service, TaskKind::Rental][rng.below(3) as usize];
            let unit = [BillingUnit::Second, BillingUnit::Hour, BillingUnit::Day][rng.below(3) as usize];
            let with_gpu = rng.below(2) == 0;
            let _ =
                Tasks::submit(signed(TENANT + rng.below(2) as u8), spec(kind, unit, with_gpu), bytes("services: {}"));
            continue;
        }
        let task = rng.below(tasks);
        let record = record(task);
        let by_tenant = RuntimeOrigin::signed(record.tenant.clone());
        match (record.state, lease_of(&record, task)) {
            _ if rng.below(16) == 0 => drop(Tasks::cancel(by_tenant, task)),
            (TaskState::Queued, _) => {
                let host = hosts[rng.below(6) as usize].clone();
                let devices = if rng.below(2) == 0 { vec![rng.below(4) as u8] } else { vec![] };
                let devices = devices.try_into().expect("at most one device");
                let pod = PodPlacement { pod: 0, host, devices, rate_per_hour: u128::MAX };
                let _ = Tasks::assign(signed(SCHEDULER), task, vec![pod].try_into().expect("one fits"));
            }
            (TaskState::Assigned | TaskState::Running, Some((lease, state))) => {
                let by_host = RuntimeOrigin::signed(record.leases[0].host.clone());
                match state {
                    LeaseState::Pending => drop(Tasks::report_started(by_host, lease)),
                    _ if rng.below(2) == 0 => drop(Tasks::end(by_tenant, task)),
                    _ => drop(Tasks::report_result(by_host, lease, result(rng.below(40_000)))),
                }
            }
            (TaskState::Reported, _) => drop(Tasks::accept_result(by_tenant, task)),
            (TaskState::Verified, _) => drop(Tasks::settle(signed(ANYONE), task)),
            _ => {}
        }
    }
}

fn result(wall_ms: u64) -> PodResult {
    PodResult { digest: [9; 32], exit_code: 0, usage: Usage { wall_ms, cpu_ms: 1, memory_peak_mib: 1 } }
}

/// Submits so many tasks.
pub fn submit_tasks(count: u32) {
    for _ in 0..count {
        let spec = spec(TaskKind::Job, BillingUnit::Second, false);
        assert_ok!(Tasks::submit(signed(TENANT), spec, bytes("services: {}")));
    }
}
