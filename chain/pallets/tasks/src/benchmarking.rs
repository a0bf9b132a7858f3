//! Measures what each call costs: each pod on a host of its own, with as many devices and as long texts as there may be.

use alloc::{vec, vec::Vec};
use frame_benchmarking::v2::*;
use frame_support::traits::{fungible::Unbalanced, tokens::Precision};
use frame_system::RawOrigin;
use gantry_primitives::{
    AccountId, Ask, Balance, BillingUnit, Bytes, Capacity, Device, DeviceSpec, GpuRequest, HostFailure, HostId,
    HostRecord, HostStatus, LeaseId, Manifest, Moment, Placement, PodPlacement, PodResult, Resources, TaskId, TaskKind,
    TaskSpec, TaskState, TaskStateTag, UpTo, Usage, Vendor, VerificationPolicy, MAX_DEVICES, MAX_MANIFEST_BYTES,
    MAX_PODS, MILLI_PER_DEVICE,
};

use crate::{hosts, Call, Config, CurrentParams, NextTaskId, Pallet, Params, Schedulers};

/// More than anything here costs.
const COINS: Balance = 1 << 100;
const HOUR: u64 = 3_600_000;
/// The time at which every benchmark begins.
const BEGIN: Moment = 1_000_000_000;

fn text<const N: u32>(letter: u8) -> Bytes<N> {
    vec![letter; N as usize].try_into().expect("it is as long as it may be")
}

fn with_coins<T: Config>(name: &'static str, number: u32) -> AccountId {
    let who: AccountId = account(name, number, 0);
    <T as Config>::Currency::increase_balance(&who, COINS, Precision::Exact).expect("the coins fit");
    who
}

fn tenant<T: Config>() -> AccountId {
    with_coins::<T>("tenant", 0)
}

/// A host of a provider of its own, online, with room for a pod.
fn online_host<T: Config>(number: u32) -> HostId {
    let host: HostId = account("host", number, 0);
    let spec = DeviceSpec { vendor: Vendor::Nvidia, model: text(b'm'), vram_mib: 24_000, simulated: false };
    let device = Device { spec, milli_free: MILLI_PER_DEVICE, attested: false };
    let capacity = Capacity { cpu_milli: 64_000, memory_mib: 65_536, disk_gib: 1_000 };
    let price = Balance::from(HOUR) * 1_000;
    let record = HostRecord {
        provider: with_coins::<T>("provider", number),
        status: HostStatus::Online,
        total: capacity,
        free: capacity,
        devices: vec![device; MAX_DEVICES as usize].try_into().expect("there are as many as may be"),
        ask: Ask {
            gpu_per_hour: price,
            cpu_core_per_hour: price,
            memory_gib_per_hour: price,
            disk_gib_per_hour: price,
        },
        endpoint: text(b'e'),
        region: text(b'r'),
        bond: 0,
        registered_at: 0,
        last_heartbeat: hosts::Pallet::<T>::now(),
        live_leases: 0,
    };
    frame_system::Pallet::<T>::inc_providers(&host);
    hosts::Hosts::<T>::insert(&host, record);
    host
}

fn manifest(bytes: u32) -> Manifest {
    vec![b'm'; bytes as usize].try_into().expect("it is not too long")
}

fn spec(pods: u32, manifest: &Manifest) -> TaskSpec {
    let mut models: Vec<Bytes<64>> = (b'a'..=b'c').map(text).collect();
    models.push(text(b'm'));
    let mut regions: Vec<Bytes<32>> = (b'a'..=b'c').map(text).collect();
    regions.push(text(b'r'));
    TaskSpec {
        kind: TaskKind::Job,
        manifest_digest: sp_io::hashing::sha2_256(manifest),
        resources: Resources {
            cpu_milli: 1_000,
            memory_mib: 1_024,
            disk_gib: 1,
            gpus: GpuRequest {
                count: MAX_DEVICES as u8,
                milli: MILLI_PER_DEVICE,
                min_vram_mib: 1,
                models: models.try_into().expect("four fit"),
            },
        },
        pods_min: pods as u16,
        pods_max: pods as u16,
        max_rate_per_hour: 1 << 60,
        unit: BillingUnit::Second,
        max_duration_ms: HOUR,
        deadline: Some(BEGIN + HOUR),
        priority: 0,
        queue: text(b'q'),
        verification: VerificationPolicy::Acceptance,
        placement: Placement {
            regions: regions.try_into().expect("four fit"),
            hosts: Default::default(),
            allow_simulated: false,
        },
    }
}

fn submitted<T: Config>(pods: u32) -> TaskId {
    let task = NextTaskId::<T>::get();
    let manifest = manifest(MAX_MANIFEST_BYTES);
    Pallet::<T>::do_submit(tenant::<T>(), spec(pods, &manifest), manifest).expect("it is sound");
    task
}

fn placements<T: Config>(pods: u32) -> UpTo<PodPlacement, MAX_PODS> {
    let all: Vec<u8> = (0..MAX_DEVICES as u8).collect();
    let place = |pod: u32| PodPlacement {
        pod: pod as u16,
        host: online_host::<T>(pod),
        devices: all.clone().try_into().expect("there are as many as may be"),
    };
    // The other way round, so that they must be sorted.
    (0..pods).rev().map(place).collect::<Vec<_>>().try_into().expect("there are not too many")
}

fn assigned<T: Config>(pods: u32) -> (TaskId, Vec<LeaseId>) {
    let task = submitted::<T>(pods);
    Pallet::<T>::do_assign(tenant::<T>(), task, placements::<T>(pods)).expect("they fit");
    (task, Pallet::<T>::task(task).expect("it exists").leases.into_inner())
}

fn host_of<T: Config>(lease: LeaseId) -> HostId {
    crate::leases::Pallet::<T>::lease(lease).expect("it exists").host
}

fn running<T: Config>(pods: u32) -> (TaskId, Vec<LeaseId>) {
    let (task, leases) = assigned::<T>(pods);
    for lease in &leases {
        Pallet::<T>::do_report_started(host_of::<T>(*lease), *lease).expect("it waits for its start");
    }
    (task, leases)
}

fn result() -> PodResult {
    PodResult { digest: [1; 32], exit_code: 0, usage: Usage { wall_ms: HOUR, cpu_ms: HOUR, memory_peak_mib: 1 } }
}

fn reported<T: Config + pallet_timestamp::Config<Moment = Moment>>(pods: u32) -> TaskId {
    let (task, leases) = running::<T>(pods);
    set_time::<T>(BEGIN + HOUR / 2);
    for lease in leases {
        Pallet::<T>::do_report_result(host_of::<T>(lease), lease, result()).expect("it runs");
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
    Pallet::<T>::task(task).expect("it exists").state.tag()
}

#[benchmarks(where T: pallet_timestamp::Config<Moment = Moment>)]
mod benchmarks {
    use super::*;

    #[benchmark]
    fn submit(b: Linear<1, MAX_MANIFEST_BYTES>) {
        prepare::<T>();
        let manifest = manifest(b);
        let spec = spec(MAX_PODS, &manifest);
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant::<T>()), spec, manifest);
        assert_eq!(state::<T>(0), TaskStateTag::Queued);
    }

    #[benchmark]
    fn assign(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let task = submitted::<T>(p);
        let scheduler = with_coins::<T>("scheduler", 0);
        Pallet::<T>::do_bond_scheduler(scheduler.clone()).expect("it has coins");
        let pods = placements::<T>(p);
        #[extrinsic_call]
        _(RawOrigin::Signed(scheduler), task, pods);
        assert_eq!(state::<T>(task), TaskStateTag::Assigned);
    }

    #[benchmark]
    fn report_started() {
        prepare::<T>();
        let (task, leases) = assigned::<T>(1);
        #[extrinsic_call]
        _(RawOrigin::Signed(host_of::<T>(leases[0])), leases[0]);
        assert_eq!(state::<T>(task), TaskStateTag::Running);
    }

    #[benchmark]
    fn report_result() {
        prepare::<T>();
        let (task, leases) = running::<T>(1);
        #[extrinsic_call]
        _(RawOrigin::Signed(host_of::<T>(leases[0])), leases[0], result());
        assert_eq!(state::<T>(task), TaskStateTag::Reported);
    }

    #[benchmark]
    fn report_failed(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, leases) = running::<T>(p);
        set_time::<T>(BEGIN + HOUR / 2);
        #[extrinsic_call]
        _(RawOrigin::Signed(host_of::<T>(leases[0])), leases[0], HostFailure::DriverError);
        assert_eq!(state::<T>(task), TaskStateTag::Failed);
    }

    #[benchmark]
    fn requeue(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, leases) = running::<T>(p);
        set_time::<T>(BEGIN + HOUR / 2);
        hosts::Hosts::<T>::mutate(host_of::<T>(leases[0]), |record| {
            record.as_mut().expect("it exists").status = HostStatus::Offline;
        });
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), leases[0]);
        assert_eq!(state::<T>(task), TaskStateTag::Failed);
    }

    #[benchmark]
    fn expire_lease(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, leases) = running::<T>(p);
        set_time::<T>(BEGIN + HOUR + 1);
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), leases[0]);
        assert_eq!(state::<T>(task), TaskStateTag::Failed);
    }

    #[benchmark]
    fn cancel(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let (task, _) = running::<T>(p);
        set_time::<T>(BEGIN + HOUR / 2);
        #[extrinsic_call]
        _(RawOrigin::Signed(account("tenant", 0, 0)), task);
        assert_eq!(state::<T>(task), TaskStateTag::Cancelled);
    }

    #[benchmark]
    fn expire() {
        prepare::<T>();
        let task = submitted::<T>(1);
        set_time::<T>(BEGIN + HOUR + 1);
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), task);
        assert_eq!(state::<T>(task), TaskStateTag::Expired);
    }

    #[benchmark]
    fn accept_result() {
        prepare::<T>();
        let task = reported::<T>(1);
        #[extrinsic_call]
        _(RawOrigin::Signed(account("tenant", 0, 0)), task);
        assert_eq!(state::<T>(task), TaskStateTag::Verified);
    }

    #[benchmark]
    fn settle(p: Linear<1, MAX_PODS>) {
        prepare::<T>();
        let task = reported::<T>(p);
        set_time::<T>(BEGIN + 24 * HOUR);
        #[extrinsic_call]
        _(RawOrigin::Signed(account("anyone", 0, 0)), task);
        assert_eq!(Pallet::<T>::task(task).expect("it exists").state, TaskState::Settled);
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
        #[extrinsic_call]
        _(RawOrigin::Signed(who.clone()));
        assert!(!Schedulers::<T>::contains_key(who));
    }

    #[benchmark]
    fn set_params() {
        let params = Params { max_attempts: 7, ..Params::default() };
        #[extrinsic_call]
        _(RawOrigin::Root, params.clone());
        assert_eq!(CurrentParams::<T>::get(), params);
    }

    impl_benchmark_test_suite!(Pallet, crate::mock::ExtBuilder::default().build(), crate::mock::Test);
}
