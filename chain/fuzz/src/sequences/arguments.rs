//! Arguments that make sense, as a rule.

use gantry_primitives::{
    commitments::{result_commitment, vote_commitment},
    fit::first_devices,
    Ballot, BillingUnit, ChallengePhase, DeviceIndices, DisputePhase, GpuRequest, HardwareSpec, HostId, Layout,
    LeaseId, LeaseState, Manifest, Matter, Moment, Placement, PodPlacement, PodResult, Report, Resources, ServicePhase,
    Survival, TaskId, TaskKind, TaskSpec, TaskState, Tier, Usage, VerificationPolicy, Vote,
};
use gantry_runtime::{AccountId, Balance, Hosts, Leases, Runtime, Tasks, GTY};
use pallet_gantry_verification::{Challenges, Disputes, Services};

use super::{chain::*, choices::Choices, subjects::*};

/// The salt of all commitments.
pub const SALT: [u8; 32] = [7; 32];

pub fn manifest() -> Manifest {
    bytes("services: {}")
}

/// A job of one pod with one whole device for up to ten minutes, unless the choices say otherwise.
pub fn spec(choices: &mut Choices) -> TaskSpec {
    let kind = choices.pick(&[TaskKind::Job, TaskKind::Service, TaskKind::Rental]);
    let extra_pods = choices.below(3);
    let number = choices.byte();
    let replicas = [0, 2, 3, 0][usize::from(number % 4)];
    let is_audited = number >= 248;
    let milli = choices.pick(&[1_000, 500, 250]);
    let [without_device, real_only, spot, priority, lower, attested, named, elsewhere] = choices.flags();
    let mut spec = TaskSpec {
        kind,
        manifest_digest: sp_io::hashing::sha2_256(&manifest()),
        resources: Resources {
            cpu_milli: choices.pick(&[500, 100, 4_000]),
            memory_mib: 512,
            disk_gib: choices.pick(&[10, 0, 60]),
            gpus: GpuRequest { count: u8::from(!without_device), milli, min_vram_mib: 0, models: Default::default() },
        },
        pods_min: 1,
        pods_max: 1 + u16::from(extra_pods),
        max_rate_per_hour: choices.pick(&[4 * GTY, GTY / 10]),
        unit: choices.pick(&[BillingUnit::Second, BillingUnit::Hour, BillingUnit::Day]),
        max_duration_ms: choices.pick(&[10 * MINUTE, 10_000, HOUR, 24 * HOUR, 1]),
        deadline: None,
        priority: 2 * u8::from(priority) + u8::from(lower),
        queue: Default::default(),
        verification: VerificationPolicy::Acceptance,
        placement: Placement { allow_simulated: !real_only, verified_only: attested, ..Default::default() },
        data_from: None,
        spot,
        survival: choices.pick(&[Survival::Restart, Survival::Move, Survival::Standby]),
    };
    spec.placement.capabilities.shares = milli < 1_000;
    spec.placement.layout = choices.pick(&[Layout::Any, Layout::Hosts, Layout::Providers, Layout::Packed]);
    if named {
        spec.placement.hosts = vec![host(HOSTS.start + u8::from(elsewhere))].try_into().expect("one fits");
    }
    if kind == TaskKind::Rental && elsewhere {
        spec.data_from = Some(rental_lease(choices, is_retained).id);
    }
    if replicas > 0 && kind == TaskKind::Job {
        (spec.pods_min, spec.pods_max) = (replicas.into(), replicas.into());
        spec.verification = VerificationPolicy::Redundant { replicas };
        spec.survival = Survival::Restart;
    }
    if is_audited && kind == TaskKind::Job {
        (spec.pods_min, spec.pods_max) = (1, 1);
        (spec.verification, spec.survival) = (VerificationPolicy::Audit, Survival::Restart);
    }
    spec.deadline = match choices.byte() {
        0..=199 => None,
        later => Some(now() + Moment::from(later % 4) * MINUTE / 2),
    };
    spec
}

/// A place for each pod that a task misses, where it fits, as a rule, beginning with a host.
pub fn pods(choices: &mut Choices, task: TaskId) -> Vec<PodPlacement> {
    let mut number = any_host(choices);
    let [packed, fewer, unfit, low, ..] = choices.flags();
    let rate_per_hour = if low { GTY } else { Balance::MAX };
    let Some((record, spec)) = Tasks::task(task) else {
        return vec![PodPlacement { pod: 0, host: host(number), devices: Default::default(), rate_per_hour }];
    };
    let wanted = match record.state {
        TaskState::Queued if fewer => spec.pods_min as u8,
        _ => record.pods_wanted,
    };
    let retained_on = spec.data_from.and_then(Tasks::lease).map(|(lease, ..)| lease.host);
    let mut taken: Vec<(u8, u8)> = Vec::new();
    (0..wanted)
        .filter(|pod| !record.leases.iter().any(|lease| lease.pod == *pod))
        .map(|pod| {
            let on = retained_on.clone().unwrap_or_else(|| host(number));
            let any = || (0..spec.resources.gpus.count).collect::<Vec<_>>();
            let mut devices = any();
            if let (Ok(mut of), false) = (Hosts::host(&on), unfit) {
                for (_, device) in taken.iter().filter(|(other, _)| *other == number) {
                    of.devices[usize::from(*device)].healthy = false;
                }
                let gpus = &spec.resources.gpus;
                devices = first_devices(&of.devices, gpus, &spec.placement, &record.tenant).unwrap_or_else(any);
            }
            taken.extend(devices.iter().map(|device| (number, *device)).filter(|(_, device)| *device < 2));
            if !packed {
                // Hosts that follow one another belong to different providers.
                number = if number + 3 < HOSTS.end { number + 1 } else { HOSTS.start };
            }
            PodPlacement { pod, host: on, devices: DeviceIndices::truncate_from(devices), rate_per_hour }
        })
        .collect()
}

/// Places the pods that a waiting task needs where the pods of others are.
pub fn pods_instead(choices: &mut Choices, wanting: TaskId, victims: &[TaskId]) -> Vec<PodPlacement> {
    let mut pods = pods(choices, wanting);
    let taken = victims.iter().filter_map(|task| Tasks::task(*task)).flat_map(|(record, _)| record.leases);
    for (pod, lease) in pods.iter_mut().zip(taken) {
        if lease.devices.len() == pod.devices.len() {
            pod.devices = lease.devices;
        }
        pod.host = lease.host;
    }
    pods
}

/// The rate with which a scheduler plans: high enough, as a rule.
pub fn rate(choices: &mut Choices) -> Balance {
    choices.usually(Balance::MAX, |number| Balance::from(number) * GTY / 64)
}

/// A host where the pod of a lease fits, as a rule, and devices of it.
pub fn place(choices: &mut Choices, lease: LeaseId) -> (HostId, DeviceIndices) {
    let on = host(any_host(choices));
    let devices = match (Tasks::lease(lease), Hosts::host(&on)) {
        (Some((found, needs, _)), Ok(record)) => {
            let placement = Placement { allow_simulated: true, ..Default::default() };
            let tenant = Tasks::tenant_of(gantry_primitives::lease_parts(lease).0).unwrap_or(found.host);
            first_devices(&record.devices, &needs.gpus, &placement, &tenant).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    (on, DeviceIndices::truncate_from(devices))
}

/// One of a few results; the pod ran for up to an hour.
pub fn result(choices: &mut Choices) -> PodResult {
    let digest = choices.pick(&[1, 1, 1, 2, 3]);
    let wall_ms = choices.pick(&[MINUTE, 0, 1_000, HOUR, u64::MAX]);
    let exit_code = i32::from(choices.below(2));
    PodResult { digest: [digest; 32], exit_code, usage: Usage { wall_ms, cpu_ms: 1, memory_peak_mib: 1 } }
}

/// What a host may say about a lease in this state, as a rule.
pub fn report(choices: &mut Choices, state: &LeaseState) -> Report {
    use gantry_primitives::HostFailure::*;
    let likely = match state {
        LeaseState::Pending => Report::Started,
        LeaseState::Retained(_) => Report::Purged { receipt: [1; 32] },
        _ => Report::Result(result(choices)),
    };
    let other = choices.usually(None, Some);
    other.map_or(likely, |number| match number {
        0 => Report::Started,
        1 => Report::Purged { receipt: [1; 32] },
        2 => Report::DataLost,
        3 => Report::Failed(DriverError),
        4 => Report::Failed(ImageInvalid),
        5 => Report::Failed(InputMissing),
        6 => Report::Failed(ImageUnavailable),
        _ => Report::Result(result(choices)),
    })
}

/// Some leases of a host, each with what the host may say about it.
pub fn reports(choices: &mut Choices, of: &HostId) -> Vec<(LeaseId, Report)> {
    let skipped = choices.flags();
    let listed = Leases::leases_of(of).into_inner();
    let mut reports = Vec::new();
    for (id, skip) in listed.into_iter().zip(skipped) {
        let Some((lease, ..)) = Tasks::lease(id) else { continue };
        if !skip {
            reports.push((id, report(choices, &lease.state)));
        }
    }
    reports
}

/// The hardware of a host, changed a little where the choices say so.
pub fn hardware_of(choices: &mut Choices, number: u8) -> HardwareSpec {
    let mut all = hardware(number);
    let [simulated, one_device, datacenter, larger, ..] = choices.flags();
    all.devices[1].simulated = simulated;
    if one_device {
        all.devices.truncate(1);
    }
    if datacenter {
        all.tier = Tier::Datacenter;
    }
    if larger {
        all.cpu_milli *= 2;
    }
    all
}

/// Some indices of devices; none, as a rule.
pub fn unhealthy(choices: &mut Choices) -> DeviceIndices {
    DeviceIndices::truncate_from(choices.pick(&[vec![1], vec![], vec![0], vec![0, 1], vec![9]]))
}

/// The ballot of a matter that has one.
fn ballot(matter: Matter) -> Option<Ballot> {
    match matter {
        Matter::Challenge(id) => Challenges::<Runtime>::get(id).map(|record| record.ballot),
        Matter::Dispute(task) => Disputes::<Runtime>::get(task).map(|record| record.ballot),
        Matter::Service(lease) => Services::<Runtime>::get(lease).map(|record| record.ballot),
        Matter::Results(_) => None,
    }
}

fn is_voted_on(matter: Matter, reveals: bool) -> bool {
    match matter {
        Matter::Challenge(id) => Challenges::<Runtime>::get(id).is_some_and(|record| {
            record.phase == if reveals { ChallengePhase::Revealing } else { ChallengePhase::Committing }
        }),
        Matter::Dispute(task) => Disputes::<Runtime>::get(task).is_some_and(|record| {
            record.phase == if reveals { DisputePhase::Revealing } else { DisputePhase::Committing }
        }),
        Matter::Service(lease) => Services::<Runtime>::get(lease).is_some_and(|record| {
            record.phase == if reveals { ServicePhase::Revealing } else { ServicePhase::Committing }
        }),
        Matter::Results(_) => false,
    }
}

/// A vote of a member in a matter, and the commitment to it.
pub struct Voting {
    pub matter: Matter,
    pub who: AccountId,
    pub vote: Vote,
    pub commitment: [u8; 32],
}

/// A vote of a member that has not committed one yet or, where `reveals`, that has not revealed it. All members vote alike,
/// as a rule.
pub fn voting(choices: &mut Choices, reveals: bool) -> Voting {
    let open: Vec<_> = matters().into_iter().filter(|matter| is_voted_on(*matter, reveals)).collect();
    let matter = choices.suitable(&open).unwrap_or(Matter::Dispute(0));
    let Ballot { round, seats, .. } = ballot(matter).unwrap_or_default();
    let due = |seat: &&gantry_primitives::Seat| seat.vote.is_none() && seat.commitment.is_some() == reveals;
    let members: Vec<_> = seats.iter().filter(due).map(|seat| seat.who.clone()).collect();
    let who = choices.suitable(&members).unwrap_or_else(|| account(VERIFIERS.start));
    let yes = choices.byte();
    let vote = match (matter, yes) {
        // Members whose number is divisible by 4 vote against the others, so that there are minorities.
        (_, 128..) if AsRef::<[u8]>::as_ref(&who)[0].is_multiple_of(4) => Vote::No,
        (Matter::Service(_), byte) if byte % 3 == 0 => Vote::PodRefused,
        (_, byte) if byte % 2 == 0 => Vote::Yes,
        _ => Vote::No,
    };
    let commitment = vote_commitment(matter, round, vote, &SALT, &who);
    Voting { matter, who, vote, commitment }
}

/// The vote that a member committed to; that of `voting`, where it committed to neither.
pub fn committed_vote(voting: &Voting) -> Vote {
    let Some(Ballot { round, seats, .. }) = ballot(voting.matter) else { return voting.vote };
    let bound = seats.iter().find(|seat| seat.who == voting.who).and_then(|seat| seat.commitment);
    let is_bound = |vote: &Vote| Some(vote_commitment(voting.matter, round, *vote, &SALT, &voting.who)) == bound;
    [Vote::Yes, Vote::No, Vote::PodRefused].into_iter().find(is_bound).unwrap_or(voting.vote)
}

/// The result that a replica's host committed to.
pub fn committed_result(replica: &gantry_primitives::Replica) -> PodResult {
    let all = (0..5 * 5 * 2).map(|number: u8| {
        let mut arguments = [0; super::input::ARGUMENTS];
        (arguments[0], arguments[1], arguments[2]) = (number % 5, number / 5 % 5, number / 25);
        result(&mut Choices::new(arguments))
    });
    let is_bound = |result: &PodResult| result_commitment(result, &SALT, &replica.host) == replica.commitment;
    all.into_iter().find(is_bound).unwrap_or_else(|| result(&mut Choices::new(Default::default())))
}
