//! Arguments that make sense, as a rule.

use frame_support::storage::{with_transaction, TransactionOutcome};
use gantry_primitives::{
    fit::first_devices, Ask, Balance, BillingUnit, DeviceIndices, HardwareSpec, HostId, Layout, Lease, LeaseId,
    LeaseState, Placement, PodPlacement, Report, SlaTerms, Survival, TaskId, TaskKind, TaskRecord, TaskSpec, TaskState,
    VerificationPolicy,
};

use super::subjects::*;
use crate::mock::*;

pub fn random_spec(rng: &mut SplitMix64) -> TaskSpec {
    let mut spec = spec();
    spec.kind = rng.pick(&[TaskKind::Job, TaskKind::Job, TaskKind::Service, TaskKind::Rental, TaskKind::Rental]);
    spec.pods_min = 1 + rng.below(2) as u16;
    spec.pods_max = spec.pods_min + rng.below(3) as u16;
    spec.resources.gpus.count = rng.below(2) as u8;
    spec.resources.gpus.milli = rng.pick(&[250, 500, 1_000]);
    spec.placement.capabilities.shares = spec.resources.gpus.milli < 1_000;
    spec.resources.cpu_milli = rng.pick(&[100, 500, 1_000]);
    spec.resources.disk_gib = rng.pick(&[0, 1, 10]);
    spec.unit = rng.pick(&[BillingUnit::Second, BillingUnit::Hour, BillingUnit::Day]);
    spec.max_duration_ms = rng.pick(&[1, 1_000, HOUR, HOUR, 24 * HOUR]);
    spec.max_rate_per_hour = 4 * GTY;
    spec.placement.allow_simulated = !rng.one_in(4);
    spec.placement.layout = rng.pick(&[Layout::Any, Layout::Any, Layout::Hosts, Layout::Providers, Layout::Packed]);
    match spec.kind {
        TaskKind::Rental => {
            (spec.pods_min, spec.pods_max) = (1, 1);
            let retained = |lease: &Lease, _: &TaskRecord, _: &TaskSpec| is_retained(&lease.state);
            spec.data_from = rng.one_in(3).then(|| lease_where(rng, retained).id);
        }
        TaskKind::Job if rng.one_in(6) => {
            (spec.pods_min, spec.pods_max) = (1, 1);
            spec.verification = VerificationPolicy::Audit;
        }
        TaskKind::Job if rng.one_in(3) => {
            let replicas = 2 + rng.below(2) as u8;
            (spec.pods_min, spec.pods_max) = (replicas.into(), replicas.into());
            spec.verification = VerificationPolicy::Redundant { replicas };
        }
        _ => {}
    }
    spec.spot = !spec.is_redundant() && rng.one_in(2);
    if spec.kind != TaskKind::Rental && !spec.is_redundant() {
        spec.survival = rng.pick(&[Survival::Restart, Survival::Move, Survival::Standby, Survival::Standby]);
    }
    spec.priority = rng.below(3) as u8;
    if rng.one_in(5) {
        spec.deadline = Some(Hosts::now() + rng.below(3 * START_TIMEOUT));
    }
    if rng.one_in(10) {
        spec.placement.hosts = vec![host(any_host(rng))].try_into().expect("one fits");
    }
    spec
}

/// The leases of a task, or one of them.
pub fn some_leases(rng: &mut SplitMix64, task: TaskId) -> Vec<LeaseId> {
    let mut leases: Vec<LeaseId> =
        Tasks::leases_of(task).unwrap_or_default().into_iter().map(|(lease, _)| lease).collect();
    if rng.one_in(2) {
        leases.truncate(1);
    }
    leases
}

/// Places what a task misses where it fits, as a rule; sometimes anywhere.
pub fn random_pods(rng: &mut SplitMix64, task: TaskId) -> Vec<PodPlacement> {
    let Some((task_record, spec)) = Tasks::task(task) else { return vec![place(0, any_host(rng), &[])] };
    let gpus = &spec.resources.gpus;
    let wild = rng.one_in(8);
    let has = |pod: u8| task_record.leases.iter().any(|lease| lease.pod == pod);
    let wanted = match task_record.state {
        TaskState::Queued => spec.pods_min as u8..=rng.pick(&[spec.pods_min as u8, task_record.pods_wanted]),
        _ => task_record.pods_wanted..=task_record.pods_wanted,
    };
    let retained_on = spec.data_from.and_then(Tasks::lease).map(|(lease, ..)| lease.host);
    let mut number = any_host(rng);
    (0..*wanted.end())
        .filter(|pod| !has(*pod))
        .map(|pod| {
            // Neighbours belong to different providers.
            number = if number + 1 < HOSTS.end { number + 1 } else { HOSTS.start };
            let on = retained_on.clone().unwrap_or_else(|| host(number));
            let any = || (0..gpus.count).collect::<Vec<_>>();
            let devices = match pallet_gantry_hosts::Hosts::<Test>::get(&on) {
                Some(record) if !wild => {
                    first_devices(&record.devices, gpus, &spec.placement, &task_record.tenant).unwrap_or_else(any)
                }
                _ => any(),
            };
            let devices = DeviceIndices::truncate_from(devices);
            PodPlacement { pod, host: on, devices, rate_per_hour: random_rate(rng) }
        })
        .collect()
}

/// A waiting task and one that leaves for it, where there are such, as a rule; sometimes several that need not suit.
pub fn tasks_to_preempt(rng: &mut SplitMix64) -> (TaskId, Vec<TaskId>) {
    let runs_spot = |record: &TaskRecord, spec: &TaskSpec| record.state == TaskState::Running && spec.spot;
    let waits = |record: &TaskRecord, spec: &TaskSpec| record.state == TaskState::Queued && spec.priority > 0;
    let works = |rng: &mut SplitMix64, wanting: TaskId, victim: TaskId| {
        let pods = pods_instead(rng, wanting, &[victim]);
        with_transaction(|| {
            let victims = vec![victim].try_into().expect("one fits");
            let told = Tasks::preempt(signed(SCHEDULER), wanting, victims, placed(pods));
            TransactionOutcome::Rollback(told.map(|_| ()).map_err(|refused| refused.error))
        })
        .is_ok()
    };
    for wanting in tasks_that(waits) {
        for victim in tasks_that(runs_spot) {
            if works(rng, wanting, victim) {
                return (wanting, vec![victim]);
            }
        }
    }
    let victims = (0..rng.below(3)).map(|_| task_where(rng, runs_spot).0).collect();
    (task_where(rng, waits).0, victims)
}

/// Places the pods that a waiting task needs where the pods of others are.
pub fn pods_instead(rng: &mut SplitMix64, wanting: TaskId, victims: &[TaskId]) -> Vec<PodPlacement> {
    let mut pods = random_pods(rng, wanting);
    let taken = victims.iter().filter_map(|task| Tasks::record(*task).ok()).flat_map(|of| of.leases);
    for (pod, lease) in pods.iter_mut().zip(taken) {
        if lease.devices.len() == pod.devices.len() {
            pod.devices = lease.devices;
        }
        (pod.host, pod.rate_per_hour) = (lease.host, Balance::MAX);
    }
    pods
}

/// The rate with which a scheduler plans: high enough, as a rule.
pub fn random_rate(rng: &mut SplitMix64) -> Balance {
    if rng.one_in(8) {
        rng.pick(&[GTY, 0])
    } else {
        Balance::MAX
    }
}

/// A host where the pod of a lease fits, as a rule, and devices of it.
pub fn random_place(rng: &mut SplitMix64, lease: LeaseId) -> (HostId, DeviceIndices) {
    let on = host(any_host(rng));
    let devices = match (Tasks::lease(lease), Hosts::host(&on)) {
        (Some((_, needs, tenant)), Ok(record)) => {
            let placement = Placement { allow_simulated: true, ..Default::default() };
            first_devices(&record.devices, &needs.gpus, &placement, &tenant).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    (on, DeviceIndices::truncate_from(devices))
}

/// A host that proves that the scheduler of a lease favoured its own, where there is one.
pub fn place_of_proof(rng: &mut SplitMix64, lease: LeaseId) -> (HostId, DeviceIndices) {
    let at = |number: u8, device: u8| {
        let needs_none = Tasks::lease(lease).is_none_or(|(_, needs, _)| needs.gpus.count == 0);
        let devices = if needs_none { vec![] } else { vec![device] };
        (host(number), DeviceIndices::truncate_from(devices))
    };
    let proves = |(host, devices): &(HostId, DeviceIndices)| {
        with_transaction(|| {
            let reported = Tasks::report_self_assignment(signed(ANYONE), lease, host.clone(), devices.clone());
            TransactionOutcome::Rollback(reported)
        })
        .is_ok()
    };
    let places = HOSTS.flat_map(|number| [0, 1].map(|device| at(number, device)));
    places.into_iter().find(proves).unwrap_or_else(|| random_place(rng, lease))
}

pub fn random_report(rng: &mut SplitMix64, of: &LeaseState) -> Report {
    if rng.one_in(8) {
        return rng.pick(&[Report::Started, Report::Purged { receipt: [1; 32] }, Report::DataLost]);
    }
    match of {
        LeaseState::Active if rng.one_in(2) => {
            let (digest, bytes) = ([rng.below(200) as u8; 32], rng.pick(&[0, 1, u64::MAX]));
            Report::Checkpoint { digest, bytes }
        }
        LeaseState::Pending => Report::Started,
        LeaseState::Retained(_) => Report::Purged { receipt: [1; 32] },
        _ => Report::Result(result(rng.below(2 * HOUR))),
    }
}

/// Some leases of one host, each with what the host may say of it.
pub fn random_reports(rng: &mut SplitMix64) -> (Vec<(LeaseId, Report)>, RuntimeOrigin) {
    let of = host(any_host(rng));
    let listed: Vec<LeaseId> = Leases::leases_of(&of).into_inner();
    let mut reports = Vec::new();
    for id in listed {
        let Some((lease, ..)) = Tasks::lease(id) else { continue };
        if rng.one_in(2) {
            reports.push((id, random_report(rng, &lease.state)));
        }
    }
    (reports, RuntimeOrigin::signed(of))
}

pub fn random_ask(rng: &mut SplitMix64) -> Ask {
    let mut ask = ask();
    ask.gpu_per_hour = rng.pick(&[0, 1, GTY, 3 * GTY]);
    ask.cpu_core_per_hour = rng.pick(&[0, 7, GTY / 10]);
    ask.storage_gib_per_hour = rng.pick(&[0, 3, STORAGE_RATE]);
    ask.second_ppm = rng.pick(&[0, 500_000, 1_000_000, 1_000_000]);
    ask.terms = SlaTerms {
        uptime_ppm: rng.pick(&[0, 990_000, 1_000_000]),
        start_ms: rng.pick(&[0, 1, 10_000]),
        notice_ms: rng.pick(&[0, 1, NOTICE]),
        penalty_ppm: rng.pick(&[0, 1, 500_000]),
    };
    ask
}

pub fn random_hardware(rng: &mut SplitMix64) -> HardwareSpec {
    let mut hardware = hardware();
    hardware.devices[1].simulated = rng.one_in(2);
    hardware
}
