//! A runtime with all pallets of Gantry, and accounts and calls for tests.

use frame_support::{
    assert_ok,
    dispatch::DispatchResult,
    traits::{OnFinalize, OnIdle, OnInitialize},
    weights::Weight,
};
pub use gantry_mock::{account, bytes, host, host_pair, SplitMix64, ED, GTY};
use gantry_primitives::{registration::registration_message, *};
use sp_core::Pair;

use crate as pallet_gantry_tasks;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Timestamp: pallet_timestamp,
        Balances: pallet_balances,
        Hosts: pallet_gantry_hosts,
        Leases: pallet_gantry_leases,
        Billing: pallet_gantry_billing,
        Reputation: pallet_gantry_reputation,
        Tasks: pallet_gantry_tasks,
    }
);

gantry_mock::network!();

/// The time at which every test begins.
pub const START: Moment = 1_000_000;
pub const HOUR: u64 = 3_600_000;
pub const HEARTBEAT_PERIOD: u64 = 60_000;
pub const ABSENCE_LIMIT: u64 = 180_000;
pub const START_TIMEOUT: u64 = 30_000;
pub const DISPUTE_WINDOW: u64 = 60_000;
pub const DEPOSIT_BASE: Balance = 2 * ED;
pub const DEPOSIT_PER_BYTE: Balance = 1_000;
pub const DEPOSIT_PER_POD: Balance = ED / 4;
/// What is held for a task of one pod.
pub const DEPOSIT_PER_TASK: Balance = ED / 4 + DEPOSIT_PER_POD;
pub const ARCHIVE_AFTER: u64 = 2 * HOUR;
pub const FINE: Balance = GTY / 1_000;
pub const NOTICE: u64 = HOUR;
/// The period of a preemption notice.
pub const LEAVE_WITHIN: u64 = 30_000;
/// A host with a lower score deteriorates.
pub const POOR_PPM: u32 = 300_000;
pub const CHECKPOINT_MIN: u64 = 10_000;
/// The minimum charge of a pod whose start its tenant prevented: ten minutes at its rate.
pub const MIN_CHARGE: u64 = HOUR / 6;
pub const REPORT_GRACE: u64 = 10 * 60_000;
/// What a refusal costs the bond of a host.
pub const REFUSAL_FEE: Balance = GTY / 1_000;
pub const RETENTION: u64 = 10 * HOUR;
pub const GRACE: u64 = HOUR;
pub const HELD_BACK: u64 = 60_000;
/// The least period of a credit for broken terms.
pub const CREDIT_PERIOD: u64 = HOUR / 2;
pub const SCHEDULER_BOND: Balance = 10 * GTY;
pub const SCHEDULER_UNBONDING: u64 = 2 * HOUR;
pub const EVIDENCE: u64 = HOUR;
pub const OFFER_KNOWN: u64 = 1_000;
pub const HOST_BOND: Balance = 5 * GTY;

/// Everyone who has coins at genesis.
pub const TENANT: u8 = 1;
pub const OTHER_TENANT: u8 = 2;
pub const PROVIDER: u8 = 3;
pub const OTHER_PROVIDER: u8 = 4;
pub const SCHEDULER: u8 = 5;
pub const ANYONE: u8 = 6;
/// Someone who has none.
pub const NOBODY: u8 = 7;

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

pub fn host_origin(number: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(host(number))
}

/// What one pod of [`spec`] costs an hour on a host with [`ask`].
pub const RATE: Balance = GTY + CPU_RATE;
/// What a pod without devices costs an hour.
pub const CPU_RATE: Balance = GTY / 10 + GTY / 100;

/// What one GiB of the disk of a stopped rental costs an hour.
pub const STORAGE_RATE: Balance = GTY / 50;

pub fn ask() -> Ask {
    Ask {
        gpu: Default::default(),
        gpu_per_hour: GTY,
        cpu_core_per_hour: GTY / 10,
        memory_gib_per_hour: GTY / 100,
        disk_gib_per_hour: 0,
        network_gib: 0,
        storage_gib_per_hour: STORAGE_RATE,
        second_ppm: 1_000_000,
        hour_ppm: 1_000_000,
        day_ppm: 1_000_000,
        terms: Default::default(),
    }
}

pub fn device(model: &str) -> DeviceSpec {
    DeviceSpec { vendor: Vendor::Nvidia, model: bytes(model), vram_mib: 24_000, simulated: false }
}

/// Room for four pods of [`spec`] by processor and memory, and for two by devices.
pub fn hardware() -> HardwareSpec {
    HardwareSpec {
        cpu_milli: 4_000,
        memory_mib: 4_096,
        disk_gib: 100,
        devices: vec![device("L4"), device("L4")].try_into().expect("two fit"),
        tier: Tier::Consumer,
        capabilities: Capabilities { docker: true, shares: true, ..Default::default() },
        answers_challenges: false,
        network_mbps_down: 1_000,
        network_mbps_up: 1_000,
    }
}

/// What the key of host `number` signs so that `provider` may register it.
pub fn registration_signature(
    provider: u8,
    number: u8,
    hardware: &HardwareSpec,
    endpoint: &Endpoint,
    region: &RegionName,
    ask: &Ask,
) -> [u8; 64] {
    let genesis: [u8; 32] = System::block_hash(0).0;
    let message = registration_message(genesis, &account(provider), hardware, endpoint, region, ask);
    host_pair(number).sign(&message).0
}

pub fn register(provider: u8, number: u8, hardware: HardwareSpec) -> frame_support::dispatch::DispatchResult {
    let (endpoint, region, ask) = (bytes("here"), bytes("eu"), ask());
    let signature = registration_signature(provider, number, &hardware, &endpoint, &region, &ask);
    Hosts::register(signed(provider), host(number), hardware, endpoint, region, ask, signature)
}

/// Room for a thousand pods without devices.
pub fn great_hardware() -> HardwareSpec {
    let mut great = hardware();
    (great.cpu_milli, great.memory_mib, great.disk_gib) = (1_024_000, 1_048_576, 10_000);
    great
}

/// Even numbers are hosts of [`PROVIDER`], odd ones of [`OTHER_PROVIDER`].
pub fn provider_of(number: u8) -> u8 {
    if number.is_multiple_of(2) {
        PROVIDER
    } else {
        OTHER_PROVIDER
    }
}

/// Registers host `number` and brings it online.
pub fn online_host(number: u8) {
    assert_ok!(register(provider_of(number), number, hardware()));
    assert_ok!(Hosts::heartbeat(host_origin(number)));
}

pub fn manifest() -> Manifest {
    bytes("services: {}")
}

/// One pod with one whole device for up to an hour.
pub fn spec() -> TaskSpec {
    TaskSpec {
        kind: TaskKind::Job,
        manifest_digest: sp_io::hashing::sha2_256(&manifest()),
        resources: Resources {
            cpu_milli: 1_000,
            memory_mib: 1_024,
            disk_gib: 1,
            gpus: GpuRequest { count: 1, milli: 1_000, min_vram_mib: 0, models: Default::default() },
        },
        pods_min: 1,
        pods_max: 1,
        max_rate_per_hour: 2 * GTY,
        unit: BillingUnit::Second,
        max_duration_ms: HOUR,
        deadline: None,
        priority: 0,
        queue: bytes("default"),
        verification: VerificationPolicy::Acceptance,
        placement: Placement::default(),
        data_from: None,
        spot: false,
        survival: Survival::Restart,
    }
}

/// A [`spec`] that may be preempted.
pub fn spot() -> TaskSpec {
    TaskSpec { spot: true, ..spec() }
}

/// A task of `pods` pods without devices.
pub fn gang(pods: u16) -> TaskSpec {
    let mut spec = spec();
    spec.pods_min = pods;
    spec.pods_max = pods;
    spec.resources.gpus.count = 0;
    spec
}

/// A service of one pod that can be scaled up to `pods`, without devices.
pub fn service(pods: u16) -> TaskSpec {
    let mut spec = gang(1);
    spec.kind = TaskKind::Service;
    spec.pods_max = pods;
    spec
}

/// A rental of a machine with a device and 20 GiB of disk, for up to an hour.
pub fn rental() -> TaskSpec {
    let mut spec = spec();
    spec.kind = TaskKind::Rental;
    spec.resources.disk_gib = 20;
    spec
}

/// A job of two replicas without devices.
pub fn redundant() -> TaskSpec {
    let mut spec = gang(2);
    spec.verification = VerificationPolicy::Redundant { replicas: 2 };
    spec
}

/// A job without devices whose work another host repeats if the chain draws it.
pub fn audited() -> TaskSpec {
    TaskSpec { verification: VerificationPolicy::Audit, ..gang(1) }
}

/// Assigns a task to pods on the hosts of these numbers, without devices, and starts them.
pub fn start_on(task: TaskId, hosts: &[u8]) -> Vec<LeaseId> {
    let pods = hosts.iter().zip(0u8..).map(|(number, pod)| place(pod, *number, &[])).collect();
    let leases = assign(task, pods);
    for (lease, number) in leases.iter().zip(hosts) {
        assert_ok!(Tasks::report_started(host_origin(*number), *lease));
    }
    leases
}

/// A running [`rental`] on the first device of host 10.
pub fn rented() -> (TaskId, LeaseId) {
    online_host(10);
    let task = submit(rental());
    let lease = assign(task, vec![place(0, 10, &[0])])[0];
    assert_ok!(Tasks::report_started(host_origin(10), lease));
    (task, lease)
}

/// Submits for [`TENANT`] and returns the number of the task.
pub fn submit(spec: TaskSpec) -> TaskId {
    let task = crate::NextTaskId::<Test>::get();
    assert_ok!(Tasks::submit(signed(TENANT), spec, manifest()));
    task
}

/// The same for a service, which is scaled to the most pods before it is placed.
pub fn submit_wide(spec: TaskSpec) -> TaskId {
    let pods = spec.pods_max as u8;
    let task = submit(spec);
    assert_ok!(Tasks::scale(signed(TENANT), task, pods));
    task
}

/// A placement at any rate that the task allows.
pub fn place(pod: u8, number: u8, devices: &[u8]) -> PodPlacement {
    let devices = devices.to_vec().try_into().expect("few devices");
    PodPlacement { pod, host: host(number), devices, rate_per_hour: Balance::MAX }
}

pub fn placed(pods: Vec<PodPlacement>) -> UpTo<PodPlacement, MAX_PODS> {
    pods.try_into().expect("at most 16 pods")
}

/// Assigns by [`SCHEDULER`], and returns the leases.
pub fn assign(task: TaskId, pods: Vec<PodPlacement>) -> Vec<LeaseId> {
    assert_ok!(Tasks::assign(signed(SCHEDULER), task, placed(pods)));
    leases_of(task)
}

/// Why an assignment is refused, without what that cost.
pub fn try_assign(who: RuntimeOrigin, task: TaskId, pods: UpTo<PodPlacement, MAX_PODS>) -> DispatchResult {
    Tasks::assign(who, task, pods).map(|_| ()).map_err(|refused| refused.error)
}

/// The leases of a task, in the order of its pods.
pub fn leases_of(task: TaskId) -> Vec<LeaseId> {
    Tasks::leases_of(task).expect("the task exists").into_iter().map(|(lease, _)| lease).collect()
}

/// Submits [`spec`] and assigns it to the first device of host 10, which is brought online.
pub fn assigned() -> (TaskId, LeaseId) {
    online_host(10);
    let task = submit(spec());
    let leases = assign(task, vec![place(0, 10, &[0])]);
    (task, leases[0])
}

/// As [`assigned`], and the pod has started.
pub fn running() -> (TaskId, LeaseId) {
    let (task, lease) = assigned();
    assert_ok!(Tasks::report_started(host_origin(10), lease));
    (task, lease)
}

/// As [`running`], and the pod has reported after `ms` that it ran for all of it.
pub fn reported(ms: u64) -> (TaskId, LeaseId) {
    let (task, lease) = running();
    work(ms);
    assert_ok!(Tasks::report_result(host_origin(10), lease, result(ms)));
    (task, lease)
}

pub fn result(wall_ms: u64) -> PodResult {
    PodResult { digest: [9; 32], exit_code: 0, usage: Usage { wall_ms, cpu_ms: wall_ms, memory_peak_mib: 1 } }
}

pub fn record(task: TaskId) -> TaskRecord {
    Tasks::record(task).expect("the task exists")
}

pub fn lease(lease: LeaseId) -> Lease {
    Tasks::lease(lease).expect("the lease exists").0
}

pub fn escrow(id: LeaseId) -> Escrow {
    lease(id).escrow
}

/// Whether a task is on a list.
pub fn is_listed(tag: IndexTag, task: TaskId) -> bool {
    Tasks::tasks_in(tag, task, 1) == [task]
}

pub fn host_record(number: u8) -> HostRecord {
    Hosts::host(&host(number)).expect("the host exists")
}

/// Returns the free balance and the balance on hold.
pub fn total_balance(who: &AccountId) -> Balance {
    let data = System::account(who).data;
    data.free + data.reserved
}

/// Time passes; what is online stays so only where its host says so.
pub fn advance(ms: u64) {
    Timestamp::on_finalize(System::block_number());
    let block = System::block_number() + 1;
    System::set_block_number(block);
    Timestamp::set_timestamp(Hosts::now() + ms);
}

/// Time passes, and every present host sends its heartbeats.
pub fn work(ms: u64) {
    let mut left = ms;
    while left > 0 {
        let step = left.min(2 * HEARTBEAT_PERIOD);
        advance(step);
        left -= step;
        for (host, record) in pallet_gantry_hosts::Hosts::<Test>::iter() {
            if matches!(record.status, HostStatus::Online | HostStatus::Draining) {
                assert_ok!(Hosts::heartbeat(RuntimeOrigin::signed(host)));
            }
        }
    }
}

/// What the chain does by itself at the beginning and the end of a block.
pub fn run_hooks() {
    let block = System::block_number();
    Leases::on_initialize(block);
    Leases::on_idle(block, Weight::MAX);
}

/// The bill of a lease whose fee went to the treasury alone.
pub fn bill_of(lease: LeaseId, paid: Balance, fee: Balance, refunded: Balance) -> LeaseBill {
    LeaseBill { lease, paid, fee, scheduler_fee: 0, settler_fee: 0, refunded }
}

/// How the escrow of a lease was closed, as the last event that tells of it says.
pub fn bill(lease: LeaseId) -> LeaseBill {
    use crate::Event::*;
    let bills = System::events().into_iter().filter_map(|record| match record.event {
        RuntimeEvent::Tasks(
            Requeued { bills, .. }
            | PodLost { bills, .. }
            | LeaseEnded { bills, .. }
            | Preempted { bills, .. }
            | Cancelled { bills, .. }
            | Scaled { bills, .. }
            | DisputeResolved { bills, .. }
            | NotVerified { bills, .. }
            | Settled { bills, .. },
        ) => Some(bills),
        RuntimeEvent::Tasks(LeaseMoved { bill, .. }) => Some(vec![bill]),
        _ => None,
    });
    bills.flatten().rfind(|bill| bill.lease == lease).expect("an event tells how the lease was paid")
}

/// The events of the tasks pallet since this was last asked.
pub fn task_events() -> Vec<crate::Event<Test>> {
    let events = System::events()
        .into_iter()
        .filter_map(|record| match record.event {
            RuntimeEvent::Tasks(event) => Some(event),
            _ => None,
        })
        .collect();
    System::reset_events();
    events
}

pub struct ExtBuilder {
    pub hosts: pallet_gantry_hosts::Params,
    pub billing: pallet_gantry_billing::Params,
    pub leases: pallet_gantry_leases::Params,
    pub tasks: crate::Params,
    pub treasury: Balance,
    pub tenant: Balance,
}

impl Default for ExtBuilder {
    fn default() -> Self {
        Self {
            hosts: pallet_gantry_hosts::Params {
                bond_consumer: HOST_BOND,
                bond_professional: 2 * HOST_BOND,
                bond_datacenter: 3 * HOST_BOND,
                heartbeat_period_ms: HEARTBEAT_PERIOD,
                absence_limit_ms: ABSENCE_LIMIT,
                absence_bounty: GTY,
                unbonding_ms: HOUR,
                allow_simulated: true,
                verification_required: false,
                halt_after_ms: ABSENCE_LIMIT,
                free_weight_us: 1_000,
                max_penalty_ppm: 500_000,
                max_notice_ms: 1_000_000_000,
            },
            billing: pallet_gantry_billing::Params {
                fee_ppm: 100_000,
                held_back_ms: HELD_BACK,
                depletion_bounty: GTY / 100,
                scheduler_share_ppm: 0,
                settler_share_ppm: 0,
                credit_period_ms: CREDIT_PERIOD,
            },
            leases: pallet_gantry_leases::Params {
                reclaim_notice_ms: NOTICE,
                retention_ms: RETENTION,
                purge_grace_ms: GRACE,
                max_kept_ms: 3 * RETENTION,
            },
            tasks: crate::Params {
                start_timeout_ms: START_TIMEOUT,
                dispute_window_ms: DISPUTE_WINDOW,
                max_attempts: 2,
                scheduler_bond: SCHEDULER_BOND,
                deposit_base: DEPOSIT_BASE,
                deposit_per_byte: DEPOSIT_PER_BYTE,
                deposit_per_task: DEPOSIT_PER_TASK - DEPOSIT_PER_POD,
                max_duration_ms: 24 * HOUR,
                archive_after_ms: ARCHIVE_AFTER,
                refused_item_fine: FINE,
                preemption_notice_ms: LEAVE_WITHIN,
                poor_ppm: POOR_PPM,
                checkpoint_min_ms: CHECKPOINT_MIN,
                min_charge_ms: MIN_CHARGE,
                max_replicas: 3,
                report_grace_ms: REPORT_GRACE,
                max_refusals: 2,
                refusal_fee: REFUSAL_FEE,
                scheduler_unbonding_ms: SCHEDULER_UNBONDING,
                scheduler_penalty_ppm: 100_000,
                evidence_ms: EVIDENCE,
                offer_known_ms: OFFER_KNOWN,
                deposit_per_pod: DEPOSIT_PER_POD,
                audit_surcharge_ppm: 50_000,
            },
            treasury: ED,
            tenant: 1_000 * GTY,
        }
    }
}

impl ExtBuilder {
    pub fn build(self) -> sp_io::TestExternalities {
        let mut balances: Vec<(AccountId, Balance)> =
            (OTHER_TENANT..=ANYONE).map(|who| (account(who), 1_000 * GTY)).collect();
        balances.push((account(TENANT), self.tenant));
        if self.treasury > 0 {
            balances.push((Billing::treasury(), self.treasury));
        }
        let genesis = RuntimeGenesisConfig {
            balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
            hosts: pallet_gantry_hosts::GenesisConfig { params: self.hosts, ..Default::default() },
            billing: pallet_gantry_billing::GenesisConfig { params: self.billing, ..Default::default() },
            leases: pallet_gantry_leases::GenesisConfig { params: self.leases, ..Default::default() },
            tasks: crate::GenesisConfig {
                params: self.tasks,
                schedulers: vec![account(SCHEDULER)],
                ..Default::default()
            },
            ..Default::default()
        };
        gantry_mock::begin_at::<Test>(genesis, START)
    }

    pub fn build_and_execute(self, test: impl FnOnce()) {
        self.build().execute_with(|| {
            test();
            check_everything();
        });
    }
}

/// Runs a test on the default chain.
pub fn on_chain(test: impl FnOnce()) {
    ExtBuilder::default().build_and_execute(test);
}
