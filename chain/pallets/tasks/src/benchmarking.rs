//! Benchmarks. Single calls: each pod on its own host, with the most devices and the longest texts. Batches: the weight
//! of an item, of each further spec, and of each further host.

use alloc::{vec, vec::Vec};
use frame_benchmarking::v2::*;
use frame_support::traits::{fungible::Unbalanced, tokens::Precision, EnsureOrigin};
use frame_system::RawOrigin;
use gantry_primitives::{
    lease_parts, AccountId, Ask, Balance, BillingUnit, Bytes, Capabilities, Capacity, Device, DeviceIndices,
    DeviceSpec, GpuRequest, HostFailure, HostId, HostRecord, HostStatus, Layout, LeaseId, Manifest, Moment, Placement,
    PodPlacement, PodResult, Report, Resources, StandbyPlace, Survival, TaskId, TaskKey, TaskKind, TaskSpec, TaskState,
    TaskStateTag, Tier, UpTo, Usage, Vendor, VerificationPolicy, MAX_ARRAY, MAX_DEVICES, MAX_MANIFEST_BYTES, MAX_PODS,
    MAX_VICTIMS, MILLI_PER_DEVICE,
};

use crate::{
    hosts, Call, Config, CurrentParams, LeavingSchedulers, NextTaskId, Pallet, Params, PunishedUntil, Schedulers, Tasks,
};

/// More than any cost here.
const COINS: Balance = 1 << 100;
const HOUR: u64 = 3_600_000;
/// The time at which every benchmark begins.
const BEGIN: Moment = 1_000_000_000;
/// The number of the host that the items of a batch share.
const SHARED: u32 = 1_000_000;

fn text<const N: u32>(letter: u8) -> Bytes<N> {
    vec![letter; N as usize].try_into().expect("it is as long as it may be")
}

fn with_coins<T: Config>(name: &'static str, number: u32) -> AccountId {
    let who: AccountId = account(name, number, 0);
    <T as Config>::Currency::increase_balance(&who, COINS, Precision::Exact).expect("the coins fit");
    who
}

fn tenant() -> AccountId {
    account("tenant", 0, 0)
}

/// A bonded scheduler, so that what it assigns pays it a share of the fee.
fn scheduler<T: Config>() -> AccountId {
    let who: AccountId = account("scheduler", 0, 0);
    if !crate::Schedulers::<T>::contains_key(&who) {
        Pallet::<T>::do_bond_scheduler(with_coins::<T>("scheduler", 0)).expect("it has coins");
    }
    who
}

fn host_id(number: u32) -> HostId {
    account("host", number, 0)
}

/// A host of a provider of its own, online, with room for many pods.
fn online_host<T: Config>(number: u32) -> HostId {
    let host = host_id(number);
    let spec = DeviceSpec { vendor: Vendor::Nvidia, model: text(b'm'), vram_mib: 24_000, simulated: false };
    let device = Device { spec, milli_free: MILLI_PER_DEVICE, shared_by: None, attested: false, healthy: true };
    let capacity = Capacity { cpu_milli: 1 << 30, memory_mib: 1 << 30, disk_gib: 1 << 30 };
    let price = Balance::from(HOUR) * 1_000;
    let record = HostRecord {
        provider: with_coins::<T>("provider", number),
        status: HostStatus::Online,
        tier: Tier::Consumer,
        capabilities: Capabilities { docker: true, shares: true, ..Default::default() },
        network_mbps_down: 1_000,
        network_mbps_up: 1_000,
        latency_ms: 1,
        total: capacity,
        free: capacity,
        devices: vec![device; MAX_DEVICES as usize].try_into().expect("there are as many as may be"),
        ask: Ask {
            gpu: Default::default(),
            gpu_per_hour: price,
            cpu_core_per_hour: price,
            memory_gib_per_hour: price,
            disk_gib_per_hour: price,
            network_gib: price,
            storage_gib_per_hour: price,
            second_ppm: 1_000_000,
            hour_ppm: 1_000_000,
            day_ppm: 1_000_000,
            terms: Default::default(),
        },
        endpoint: text(b'e'),
        region: text(b'r'),
        bond: 0,
        bond_required: 0,
        generation: 0,
        registered_at: 0,
        last_heartbeat: hosts::Pallet::<T>::now(),
        downtime_ms: 0,
        live_leases: 0,
        answers_challenges: false,
        challenged: None,
        offered_since: 0,
    };
    frame_system::Pallet::<T>::inc_providers(&host);
    hosts::Hosts::<T>::insert(&host, record);
    host
}

fn manifest(bytes: u32) -> Manifest {
    vec![b'm'; bytes as usize].try_into().expect("it is not too long")
}

/// A spec with lists and texts as long as they may be. `devices` of each host are used, a thousandth of each.
fn spec(kind: TaskKind, pods_min: u32, pods_max: u32, devices: u8, manifest: &Manifest) -> TaskSpec {
    let mut models: Vec<Bytes<64>> = (b'a'..=b'c').map(text).collect();
    models.push(text(b'm'));
    let mut regions: Vec<Bytes<32>> = (b'a'..=b'c').map(text).collect();
    regions.push(text(b'r'));
    let others: Vec<AccountId> = (0..8).map(|number| account("other", number, 0)).collect();
    TaskSpec {
        kind,
        manifest_digest: sp_io::hashing::sha2_256(manifest),
        resources: Resources {
            cpu_milli: 1,
            memory_mib: 1_024,
            disk_gib: 1,
            gpus: GpuRequest {
                count: devices,
                milli: 1,
                min_vram_mib: 1,
                models: models.try_into().expect("four fit"),
            },
        },
        pods_min: pods_min as u16,
        pods_max: pods_max as u16,
        max_rate_per_hour: 1 << 60,
        unit: BillingUnit::Second,
        max_duration_ms: HOUR,
        deadline: Some(BEGIN + HOUR),
        priority: 0,
        queue: text(b'q'),
        verification: VerificationPolicy::Acceptance,
        placement: Placement {
            regions: regions.try_into().expect("four fit"),
            providers_denied: others.try_into().expect("eight fit"),
            // So that the providers of all pods are looked up.
            layout: Layout::Providers,
            capabilities: Capabilities { shares: true, ..Default::default() },
            ..Default::default()
        },
        data_from: None,
        spot: true,
        // The data of a rental does not move.
        survival: if kind == TaskKind::Rental { Survival::Restart } else { Survival::Standby },
    }
}

fn all_devices() -> DeviceIndices {
    (0..MAX_DEVICES as u8).collect::<Vec<_>>().try_into().expect("there are as many as may be")
}

fn place(pod: u8, host: HostId, devices: DeviceIndices) -> PodPlacement {
    PodPlacement { pod, host, devices, rate_per_hour: Balance::MAX }
}

fn drain<T: Config>(host: HostId) {
    hosts::Hosts::<T>::mutate(host, |record| {
        record.as_mut().expect("it exists").status = HostStatus::Draining;
    });
}

/// So many pods, each to be placed on a host of its own with all its devices, in an order that must be changed.
fn placements<T: Config>(pods: u32) -> UpTo<PodPlacement, MAX_PODS> {
    placements_from::<T>(0, pods)
}

/// The same, on hosts from this number on.
fn placements_from<T: Config>(first: u32, pods: u32) -> UpTo<PodPlacement, MAX_PODS> {
    let place = |pod: u32| place(pod as u8, online_host::<T>(first + pod), all_devices());
    (0..pods).rev().map(place).collect::<Vec<_>>().try_into().expect("there are not too many")
}

fn submitted<T: Config>(kind: TaskKind, pods: u32) -> TaskId {
    let manifest = manifest(MAX_MANIFEST_BYTES);
    let least = if kind == TaskKind::Service { 1 } else { pods };
    let spec = spec(kind, least, pods, MAX_DEVICES as u8, &manifest);
    let task = Pallet::<T>::do_submit(with_coins::<T>("tenant", 0), spec, manifest, 1).expect("it is sound");
    if kind == TaskKind::Service {
        Pallet::<T>::do_scale(tenant(), task, pods as u8).expect("its spec has so many");
    }
    task
}

fn leases<T: Config>(task: TaskId) -> Vec<(LeaseId, HostId)> {
    Pallet::<T>::leases_of(task).expect("the task exists")
}

fn assigned<T: Config>(kind: TaskKind, pods: u32) -> (TaskId, Vec<(LeaseId, HostId)>) {
    let task = submitted::<T>(kind, pods);
    Pallet::<T>::do_assign(scheduler::<T>(), task, placements::<T>(pods)).expect("they fit");
    (task, leases::<T>(task))
}

fn report<T: Config>(lease: LeaseId, host: HostId, report: Report) {
    Pallet::<T>::do_report(host, lease, report).expect("it may say so");
}

fn running<T: Config>(kind: TaskKind, pods: u32) -> (TaskId, Vec<(LeaseId, HostId)>) {
    let (task, leases) = assigned::<T>(kind, pods);
    for (lease, host) in &leases {
        report::<T>(*lease, host.clone(), Report::Started);
    }
    (task, leases)
}

fn result() -> PodResult {
    PodResult { digest: [1; 32], exit_code: 0, usage: Usage { wall_ms: HOUR, cpu_ms: HOUR, memory_peak_mib: 1 } }
}

fn reported<T: Config + pallet_timestamp::Config<Moment = Moment>>(pods: u32) -> TaskId {
    let (task, leases) = running::<T>(TaskKind::Job, pods);
    set_time::<T>(BEGIN + 60_000);
    for (lease, host) in leases {
        report::<T>(lease, host, Report::Result(result()));
    }
    task
}

fn set_time<T: pallet_timestamp::Config<Moment = Moment>>(now: Moment) {
    pallet_timestamp::Now::<T>::put(now);
}

/// Tasks fail at once, which costs more than going back to the queue.
fn prepare<T: Config + pallet_timestamp::Config<Moment = Moment>>() {
    set_time::<T>(BEGIN);
    CurrentParams::<T>::put(Params { max_attempts: 1, ..Params::default() });
}

fn state<T: Config>(task: TaskId) -> TaskStateTag {
    Pallet::<T>::record(task).expect("it exists").state.tag()
}

/// However late it gets, no host is away or overdue.
fn never_away<T: Config>() {
    hosts::CurrentParams::<T>::mutate(|params| {
        params.absence_limit_ms = u64::MAX;
        params.heartbeat_period_ms = u64::MAX;
    });
}

/// Each of these pods gets a standby and a checkpoint, so that the record of its task is as long as it may be.
fn guard<T: Config>(leases: &[(LeaseId, HostId)], standby: &HostId) {
    for (lease, host) in leases {
        let place = StandbyPlace { host: standby.clone(), devices: all_devices(), rate_per_hour: Balance::MAX };
        Pallet::<T>::do_name_standby(&tenant(), *lease, place).expect("it fits");
        let report = Report::Checkpoint { digest: [1; 32], bytes: 1 };
        Pallet::<T>::do_report(host.clone(), *lease, report).expect("it runs there");
    }
}

/// The first lease of a running service with the most pods, another service for each number. Its pod migrates to a
/// standby when its provider has reclaimed it.
pub(crate) fn create_lease_with_standby<T: Config>(number: u32) -> LeaseId {
    never_away::<T>();
    let tenant = with_coins::<T>("tenant", 0);
    let manifest = manifest(1);
    let mut wanted = spec(TaskKind::Service, MAX_PODS, MAX_PODS, MAX_DEVICES as u8, &manifest);
    wanted.deadline = None;
    let task = Pallet::<T>::do_submit(tenant, wanted, manifest, 1).expect("it is sound");
    let first = number * (MAX_PODS + 1);
    Pallet::<T>::do_assign(scheduler::<T>(), task, placements_from::<T>(first, MAX_PODS)).expect("they fit");
    let leases = leases::<T>(task);
    for (lease, host) in &leases {
        report::<T>(*lease, host.clone(), Report::Started);
    }
    guard::<T>(&leases, &online_host::<T>(first + MAX_PODS));
    leases[0].0
}

/// An active lease of a rental, another for each number, with a tenant that can pay and a host that is online.
pub fn create_rental<T: Config>(number: u32) -> LeaseId {
    // So that there is something to pay.
    never_away::<T>();
    let tenant = with_coins::<T>("tenant", 0);
    let manifest = manifest(1);
    let mut wanted = spec(TaskKind::Rental, 1, 1, MAX_DEVICES as u8, &manifest);
    wanted.deadline = None;
    let task = Pallet::<T>::do_submit(tenant, wanted, manifest, 1).expect("it is sound");
    let host = online_host::<T>(number);
    let place = place(0, host.clone(), all_devices());
    Pallet::<T>::do_assign(scheduler::<T>(), task, vec![place].try_into().expect("one fits")).expect("it fits");
    let (lease, _) = leases::<T>(task).remove(0);
    report::<T>(lease, host, Report::Started);
    lease
}

/// A queued task with a priority above all others here, and as many running tasks of one pod as it has pods, each on
/// its own host without free resources.
struct Preempting {
    wanting: TaskId,
    victims: Vec<TaskId>,
    pods: UpTo<PodPlacement, MAX_PODS>,
    scheduler: AccountId,
}

impl Preempting {
    fn begin<T: Config>(victims: u32) -> Self {
        let scheduler = scheduler::<T>();
        let standby = online_host::<T>(MAX_PODS);
        let run = |number: u32| {
            let task = submitted::<T>(TaskKind::Job, 1);
            let pods = placements_from::<T>(number, 1);
            Pallet::<T>::do_assign(tenant(), task, pods).expect("it fits");
            let leases = leases::<T>(task);
            for (lease, host) in &leases {
                report::<T>(*lease, host.clone(), Report::Started);
                hosts::Hosts::<T>::mutate(host, |record| {
                    record.as_mut().expect("it exists").free.cpu_milli = 0;
                });
            }
            guard::<T>(&leases, &standby);
            task
        };
        let running: Vec<TaskId> = (0..victims).map(run).collect();
        let manifest = manifest(1);
        let mut wanted = spec(TaskKind::Job, victims, victims, MAX_DEVICES as u8, &manifest);
        wanted.priority = 1;
        let wanting = Pallet::<T>::do_submit(with_coins::<T>("tenant", 0), wanted, manifest, 1).expect("it is sound");
        let pods: Vec<_> = (0..victims).map(|pod| place(pod as u8, host_id(pod), all_devices())).collect();
        Self { wanting, victims: running, pods: pods.try_into().expect("there are not too many"), scheduler }
    }

    /// Gives the running tasks a preemption notice. Returns the queued task.
    fn give_notice<T: Config>(self) -> TaskId {
        let victims = self.victims.try_into().expect("there are not too many");
        Pallet::<T>::do_preempt(self.scheduler, self.wanting, victims, self.pods).expect("they may be made to leave");
        self.wanting
    }
}

/// A host that waits to be verified, with devices that may be challenged, and its provider. For pallets above.
pub fn create_unverified_host<T: Config>() -> (HostId, AccountId) {
    let host = online_host::<T>(0);
    let provider = hosts::Hosts::<T>::mutate(&host, |record| {
        let record = record.as_mut().expect("it was just made");
        record.status = HostStatus::Unverified;
        record.answers_challenges = true;
        record.provider.clone()
    });
    (host, provider)
}

/// A reported job with the most pods; its tenant is the account named `tenant`. For the benchmarks of other pallets.
pub fn create_reported_job<T: Config + pallet_timestamp::Config<Moment = Moment>>() -> TaskId {
    prepare::<T>();
    reported::<T>(MAX_PODS)
}

/// A running job whose results are compared, with the leases of its replicas. For pallets above.
pub fn create_compared_job<T: Config + pallet_timestamp::Config<Moment = Moment>>() -> (TaskId, Vec<(LeaseId, HostId)>)
{
    const REPLICAS: u32 = 3;
    prepare::<T>();
    CurrentParams::<T>::mutate(|params| params.max_replicas = REPLICAS as u8);
    let manifest = manifest(1);
    let mut wanted = spec(TaskKind::Job, REPLICAS, REPLICAS, MAX_DEVICES as u8, &manifest);
    wanted.verification = VerificationPolicy::Redundant { replicas: REPLICAS as u8 };
    wanted.spot = false;
    wanted.survival = Survival::Restart;
    let task = Pallet::<T>::do_submit(with_coins::<T>("tenant", 0), wanted, manifest, 1).expect("it is sound");
    Pallet::<T>::do_assign(tenant(), task, placements::<T>(REPLICAS)).expect("they fit");
    let leases = leases::<T>(task);
    for (lease, host) in &leases {
        report::<T>(*lease, host.clone(), Report::Started);
    }
    (task, leases)
}

/// The active lease of a service with a standby, which has paid high fees. For pallets above.
pub fn create_paid_service<T: Config + pallet_timestamp::Config<Moment = Moment>>() -> LeaseId {
    prepare::<T>();
    let lease = create_lease_with_standby::<T>(0);
    Tasks::<T>::mutate(TaskKey::from(lease_parts(lease).0), |record| {
        record.as_mut().expect("it was just made").leases[0].escrow.fee = 1 << 80;
    });
    lease
}

/// Online hosts of `provider`, the devices of each, and the resources of a pod that uses all of them. For pallets above.
pub fn create_hosts<T: Config>(provider: &AccountId, count: u32) -> (Vec<HostId>, DeviceIndices, Resources) {
    let create = |number| {
        let host = online_host::<T>(number);
        hosts::Hosts::<T>::mutate(&host, |record| {
            record.as_mut().expect("it was just made").provider = provider.clone();
        });
        host
    };
    let resources = spec(TaskKind::Rental, 1, 1, MAX_DEVICES as u8, &manifest(1)).resources;
    ((0..count).map(create).collect(), all_devices(), resources)
}

/// A rental for an hour with these resources, and the longest manifest. For pallets above.
pub fn create_rental_spec(resources: Resources) -> (TaskSpec, Manifest) {
    let manifest = manifest(MAX_MANIFEST_BYTES);
    let wanted = spec(TaskKind::Rental, 1, 1, MAX_DEVICES as u8, &manifest);
    (TaskSpec { resources, deadline: None, spot: false, ..wanted }, manifest)
}

/// What the items of a batch are about.
struct Items {
    /// Tasks of one array on one host.
    plain: Vec<TaskId>,
    /// Tasks that each have a spec of their own, on that host.
    own_spec: Vec<TaskId>,
    /// Tasks of that array that each have a host of their own.
    own_host: Vec<(TaskId, HostId)>,
}

impl Items {
    fn submit<T: Config>(plain: u32, own_spec: u32, own_host: u32) -> Self {
        let tenant = with_coins::<T>("tenant", 0);
        scheduler::<T>();
        online_host::<T>(SHARED);
        let manifest = manifest(1);
        let wanted = spec(TaskKind::Job, 1, 1, 1, &manifest);
        let submit = |count| Pallet::<T>::do_submit(tenant.clone(), wanted.clone(), manifest.clone(), count);
        // One more, so that the array does not become final with the batch.
        let first = submit(plain + own_host + 1).expect("it is sound");
        let apart = (0..own_spec).map(|_| submit(1).expect("it is sound")).collect();
        let tasks: Vec<TaskId> = (first..first + u64::from(plain + own_host)).collect();
        let (with_shared_host, with_own_host) = tasks.split_at(plain as usize);
        let with_own_host = with_own_host.iter().zip(0..).map(|(task, number)| (*task, online_host::<T>(number)));
        Self { plain: with_shared_host.to_vec(), own_spec: apart, own_host: with_own_host.collect() }
    }

    fn all(&self) -> Vec<(TaskId, HostId)> {
        let shared = self.plain.iter().chain(&self.own_spec).map(|task| (*task, host_id(SHARED)));
        shared.chain(self.own_host.iter().cloned()).collect()
    }

    fn tasks(&self) -> Vec<TaskId> {
        self.all().into_iter().map(|(task, _)| task).collect()
    }

    fn assignments(&self) -> Vec<(TaskId, UpTo<PodPlacement, MAX_PODS>)> {
        let placed = |(task, host): (TaskId, HostId)| {
            // Not all on one device, which has room for a thousand.
            let device = (task % u64::from(MAX_DEVICES)) as u8;
            let devices = vec![device].try_into().expect("one fits");
            (task, vec![place(0, host, devices)].try_into().expect("one fits"))
        };
        self.all().into_iter().map(placed).collect()
    }

    fn start<T: Config>(&self) {
        for (task, pods) in self.assignments() {
            Pallet::<T>::do_assign(account("scheduler", 0, 0), task, pods).expect("it fits");
            let (lease, host) = leases::<T>(task).remove(0);
            report::<T>(lease, host, Report::Started);
        }
    }

    fn report<T: Config + pallet_timestamp::Config<Moment = Moment>>(&self) {
        self.start::<T>();
        set_time::<T>(BEGIN + 60_000);
        for (task, host) in self.all() {
            report::<T>(leases::<T>(task).remove(0).0, host, Report::Result(result()));
        }
    }

    fn are<T: Config>(&self, tag: TaskStateTag) -> bool {
        self.tasks().into_iter().all(|task| state::<T>(task) == tag)
    }
}

#[benchmarks(where T: pallet_timestamp::Config<Moment = Moment>)]
mod benchmarks {
    use super::*;

    #[benchmark]
    fn submit(b: Linear<1, MAX_MANIFEST_BYTES>) {
        prepare::<T>();
        let manifest = manifest(b);
        let spec = spec(TaskKind::Job, MAX_PODS, MAX_PODS, MAX_DEVICES as u8, &manifest);
        #[extrinsic_call]
        _(RawOrigin::Signed(with_coins::<T>("tenant", 0)), spec, manifest);
        assert_eq!(state::<T>(0), TaskStateTag::Queued);
    }

    #[benchmark]
    fn submit_array(b: Linear<1, MAX_MANIFEST_BYTES>, t: Linear<1, MAX_ARRAY>) {
        prepare::<T>();
        let manifest = manifest(b);
        let spec = spec(TaskKind::Job, 1, 1, MAX_DEVICES as u8, &manifest);
        #[extrinsic_call]
        _(RawOrigin::Signed(with_coins::<T>("tenant", 0)), spec, manifest, t);
        assert_eq!(NextTaskId::<T>::get(), u64::from(t));
    }

    #[benchmark]
    fn assign(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let task = submitted::<T>(TaskKind::Job, p);
        let scheduler = scheduler::<T>();
        let pods = placements::<T>(p);
        #[extrinsic_call]
        _(RawOrigin::Signed(scheduler), task, pods);
        assert_eq!(state::<T>(task), TaskStateTag::Assigned);
    }

    #[benchmark]
    fn assign_batch(i: Linear<0, 256>, s: Linear<0, 128>, h: Linear<0, 128>) {
        prepare::<T>();
        let items = Items::submit::<T>(i, s, h);
        let assignments = items.assignments().try_into().expect("there are not too many");
        #[extrinsic_call]
        _(RawOrigin::Signed(account("scheduler", 0, 0)), assignments);
        assert!(items.are::<T>(TaskStateTag::Assigned));
    }

    #[benchmark]
    fn report_started() {
        prepare::<T>();
        let (task, leases) = assigned::<T>(TaskKind::Rental, 1);
        let (lease, host) = leases[0].clone();
        #[extrinsic_call]
        _(RawOrigin::Signed(host), lease);
        assert_eq!(state::<T>(task), TaskStateTag::Running);
    }

    #[benchmark]
    fn report_result() {
        prepare::<T>();
        let (task, leases) = running::<T>(TaskKind::Rental, 1);
        let (lease, host) = leases[0].clone();
        #[extrinsic_call]
        _(RawOrigin::Signed(host), lease, result());
        assert_eq!(state::<T>(task), TaskStateTag::Reported);
    }

    #[benchmark]
    fn report_failed(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, leases) = running::<T>(TaskKind::Job, p);
        set_time::<T>(BEGIN + 60_000);
        let (lease, host) = leases[0].clone();
        #[extrinsic_call]
        _(RawOrigin::Signed(host), lease, HostFailure::DriverError);
        assert_eq!(state::<T>(task), TaskStateTag::Failed);
    }

    #[benchmark]
    fn report_batch(i: Linear<0, 256>, s: Linear<0, 128>, h: Linear<0, 16>) {
        prepare::<T>();
        let items = Items::submit::<T>(i, s, 0);
        items.start::<T>();
        let mut reports: Vec<(LeaseId, Report)> =
            items.tasks().into_iter().map(|task| (leases::<T>(task).remove(0).0, Report::Result(result()))).collect();
        // A gang that fails on the shared host touches one host more each.
        let manifest = manifest(1);
        let gang = spec(TaskKind::Job, 2, 2, 1, &manifest);
        let first = Pallet::<T>::do_submit(tenant(), gang, manifest, h + 1).expect("it is sound");
        for number in 0..h {
            let task = first + u64::from(number);
            let device = || vec![0u8].try_into().expect("one fits");
            let pods = vec![place(0, host_id(SHARED), device()), place(1, online_host::<T>(number), device())];
            Pallet::<T>::do_assign(tenant(), task, pods.try_into().expect("two fit")).expect("they fit");
            let pair = leases::<T>(task);
            for (lease, host) in &pair {
                report::<T>(*lease, host.clone(), Report::Started);
            }
            reports.push((pair[0].0, Report::Failed(HostFailure::DriverError)));
        }
        set_time::<T>(BEGIN + 60_000);
        let reports = reports.try_into().expect("there are not too many");
        #[extrinsic_call]
        _(RawOrigin::Signed(host_id(SHARED)), reports);
        assert!(items.are::<T>(TaskStateTag::Reported));
    }

    #[benchmark]
    fn requeue(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, leases) = running::<T>(TaskKind::Job, p);
        set_time::<T>(BEGIN + HOUR / 2);
        let (lease, host) = leases[0].clone();
        hosts::Hosts::<T>::mutate(host, |record| {
            record.as_mut().expect("it exists").status = HostStatus::Offline;
        });
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), lease);
        assert_eq!(state::<T>(task), TaskStateTag::Failed);
    }

    #[benchmark]
    fn expire_lease(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, leases) = running::<T>(TaskKind::Job, p);
        let over = BEGIN + HOUR + CurrentParams::<T>::get().report_grace_ms;
        set_time::<T>(over + 1);
        for (_, host) in &leases {
            hosts::Hosts::<T>::mutate(host, |record| {
                record.as_mut().expect("it exists").last_heartbeat = over;
            });
        }
        // The last pod without a result: all others end before it.
        for (lease, _) in &leases[1..] {
            Pallet::<T>::do_expire_lease(tenant(), *lease).expect("its time is over");
        }
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), leases[0].0);
        assert_eq!(state::<T>(task), TaskStateTag::Failed);
    }

    #[benchmark]
    fn cancel(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, _) = running::<T>(TaskKind::Job, p);
        set_time::<T>(BEGIN + 60_000);
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant()), task);
        assert_eq!(state::<T>(task), TaskStateTag::Cancelled);
    }

    #[benchmark]
    fn expire(v: Linear<1, MAX_VICTIMS>) {
        prepare::<T>();
        let task = Preempting::begin::<T>(v).give_notice::<T>();
        set_time::<T>(BEGIN + HOUR + 1);
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), task);
        assert_eq!(state::<T>(task), TaskStateTag::Expired);
    }

    #[benchmark]
    fn accept_result() {
        prepare::<T>();
        let task = reported::<T>(MAX_PODS);
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant()), task);
        assert_eq!(state::<T>(task), TaskStateTag::Verified);
    }

    #[benchmark]
    fn settle(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let task = reported::<T>(p);
        set_time::<T>(BEGIN + 24 * HOUR);
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), task);
        assert_eq!(Pallet::<T>::record(task).expect("it exists").state, TaskState::Settled);
    }

    #[benchmark]
    fn settle_batch(i: Linear<0, 256>, s: Linear<0, 128>, h: Linear<0, 128>) {
        prepare::<T>();
        let items = Items::submit::<T>(i, s, h);
        items.report::<T>();
        set_time::<T>(BEGIN + 24 * HOUR);
        let tasks = items.tasks().try_into().expect("there are not too many");
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), tasks);
        assert!(items.are::<T>(TaskStateTag::Settled));
    }

    #[benchmark]
    fn prune(i: Linear<0, 256>, s: Linear<0, 128>) {
        prepare::<T>();
        let items = Items::submit::<T>(i, s, 0);
        items.report::<T>();
        set_time::<T>(BEGIN + 24 * HOUR);
        for task in items.tasks() {
            Pallet::<T>::do_settle(tenant(), task).expect("its window has passed");
        }
        set_time::<T>(BEGIN + 1_000 * HOUR);
        let tasks = items.tasks().try_into().expect("there are not too many");
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), tasks);
        assert!(items.tasks().into_iter().all(|task| Pallet::<T>::record(task).is_err()));
    }

    #[benchmark]
    fn scale(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, _) = running::<T>(TaskKind::Service, p);
        set_time::<T>(BEGIN + 60_000);
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant()), task, 1);
        assert_eq!(leases::<T>(task).len(), 1);
    }

    #[benchmark]
    fn end(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, _) = running::<T>(TaskKind::Service, p);
        set_time::<T>(BEGIN + 60_000);
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant()), task);
        assert_eq!(state::<T>(task), TaskStateTag::Reported);
    }

    #[benchmark]
    fn preempt(l: Linear<2, 32>) {
        prepare::<T>();
        let Preempting { wanting, victims, pods, scheduler } = Preempting::begin::<T>(l / 2);
        let told = victims.clone().try_into().expect("there are not too many");
        #[extrinsic_call]
        _(RawOrigin::Signed(scheduler), wanting, told, pods);
        let is_told = |task: &TaskId| Pallet::<T>::record(*task).expect("it exists").preemption.is_some();
        assert!(victims.iter().all(is_told));
    }

    #[benchmark]
    fn finish_preemption(l: Linear<2, 32>) {
        prepare::<T>();
        let wanting = Preempting::begin::<T>(l / 2).give_notice::<T>();
        set_time::<T>(BEGIN + HOUR / 2);
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), wanting);
        assert_eq!(state::<T>(wanting), TaskStateTag::Assigned);
    }

    #[benchmark]
    fn name_standby() {
        prepare::<T>();
        let (_, leases) = running::<T>(TaskKind::Job, MAX_PODS);
        let (lease, _) = leases[0].clone();
        let [named, host] = [MAX_PODS, MAX_PODS + 1].map(online_host::<T>);
        guard::<T>(&leases, &named);
        // The condition that is checked last fails for the host that is named.
        hosts::Hosts::<T>::mutate(named, |record| record.as_mut().expect("it exists").ask.gpu_per_hour = COINS);
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant()), lease, host.clone(), all_devices(), Balance::MAX);
        let standby = Pallet::<T>::lease(lease).expect("it exists").0.standby;
        assert_eq!(standby.map(|standby| standby.host), Some(host));
    }

    #[benchmark]
    fn move_pod() {
        prepare::<T>();
        never_away::<T>();
        let (task, before) = running::<T>(TaskKind::Job, MAX_PODS);
        let host = online_host::<T>(MAX_PODS);
        guard::<T>(&before, &host);
        set_time::<T>(BEGIN + 60_000);
        let (lease, from) = before[0].clone();
        drain::<T>(from);
        let scheduler = scheduler::<T>();
        #[extrinsic_call]
        _(RawOrigin::Signed(scheduler), lease, host.clone(), all_devices(), Balance::MAX);
        assert_eq!(leases::<T>(task)[0].1, host);
    }

    #[benchmark]
    fn report_checkpoint() {
        prepare::<T>();
        let (task, leases) = running::<T>(TaskKind::Job, MAX_PODS);
        guard::<T>(&leases, &online_host::<T>(MAX_PODS));
        // The rest that it takes until the next.
        set_time::<T>(BEGIN + HOUR / 2);
        let (lease, host) = leases[0].clone();
        let report = Report::Checkpoint { digest: [1; 32], bytes: 1 };
        #[extrinsic_call]
        report(RawOrigin::Signed(host), lease, report);
        let record = Pallet::<T>::record(task).expect("it exists");
        assert_eq!(record.checkpoints.len(), MAX_PODS as usize);
        assert_eq!(record.checkpoints[0].at, BEGIN + HOUR / 2);
    }

    #[benchmark]
    fn take_over(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        CurrentParams::<T>::put(Params::default());
        never_away::<T>();
        let (task, before) = running::<T>(TaskKind::Job, p);
        let standby = online_host::<T>(MAX_PODS);
        guard::<T>(&before, &standby);
        set_time::<T>(BEGIN + HOUR / 2);
        let (lease, host) = before[0].clone();
        hosts::Hosts::<T>::mutate(host, |record| {
            record.as_mut().expect("it exists").status = HostStatus::Offline;
        });
        #[extrinsic_call]
        requeue(RawOrigin::Signed(account("anyone", 0, 0)), lease);
        assert_eq!(leases::<T>(task)[0].1, standby);
    }

    #[benchmark]
    fn rate() {
        prepare::<T>();
        let task = reported::<T>(MAX_PODS);
        set_time::<T>(BEGIN + 24 * HOUR);
        Pallet::<T>::do_settle(tenant(), task).expect("its window has passed");
        let (lease, _) = leases::<T>(task).remove(0);
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant()), lease, 5);
        assert!(Pallet::<T>::lease(lease).expect("it exists").0.rated);
    }

    #[benchmark]
    fn bond_scheduler() {
        prepare::<T>();
        let who = with_coins::<T>("scheduler", 0);
        #[extrinsic_call]
        _(RawOrigin::Signed(who.clone()));
        assert!(Schedulers::<T>::contains_key(who));
    }

    #[benchmark]
    fn unbond_scheduler() {
        prepare::<T>();
        let who = with_coins::<T>("scheduler", 0);
        Pallet::<T>::do_bond_scheduler(who.clone()).expect("it has coins");
        // Its release costs more than the beginning of its unbonding period.
        Pallet::<T>::do_unbond_scheduler(who.clone()).expect("it is one");
        set_time::<T>(BEGIN + CurrentParams::<T>::get().scheduler_unbonding_ms);
        #[extrinsic_call]
        _(RawOrigin::Signed(who.clone()));
        assert!(!LeavingSchedulers::<T>::contains_key(who));
    }

    #[benchmark]
    fn report_self_assignment() {
        prepare::<T>();
        let task = submitted::<T>(TaskKind::Job, 1);
        let (own, other) = (online_host::<T>(0), online_host::<T>(1));
        let who = hosts::Pallet::<T>::provider_of(&own).expect("it exists");
        Pallet::<T>::do_bond_scheduler(who.clone()).expect("it has coins");
        hosts::Hosts::<T>::mutate(&other, |record| record.as_mut().expect("it exists").ask.memory_gib_per_hour = 0);
        let pods = vec![place(0, own, all_devices())].try_into().expect("one fits");
        Pallet::<T>::do_assign(who.clone(), task, pods).expect("it fits");
        let (lease, _) = leases::<T>(task).remove(0);
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), lease, other, all_devices());
        assert!(PunishedUntil::<T>::contains_key(who));
    }

    #[benchmark]
    fn set_params() {
        let params = Params { max_attempts: 7, ..Params::default() };
        let origin = <T as Config>::AdminOrigin::try_successful_origin().expect("someone governs the chain");
        #[extrinsic_call]
        _(origin as T::RuntimeOrigin, params.clone());
        assert_eq!(CurrentParams::<T>::get(), params);
    }

    impl_benchmark_test_suite!(Pallet, crate::mock::ExtBuilder::default().build(), crate::mock::Test);
}
