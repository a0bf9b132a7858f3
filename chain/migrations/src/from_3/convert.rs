//! Records of release 3 as release 4 stores them.

use frame_support::BoundedVec;
use gantry_primitives as now;
use gantry_primitives::{commitments::result_tag, Balance, LeaseId, Moment, TaskId, UpTo};
use pallet_gantry_verification as verification;

use crate::v3::{
    billing,
    hosts::{Ask, Capabilities, HostRecord},
    tasks::{Escrow, Lease, Placement, SpecRecord, StandbyPlace, TaskRecord, TaskSpec},
    verification::{DisputeRecord, HostChallenges, Params, Replica, ResultsRecord},
};

fn capabilities(old: Capabilities) -> now::Capabilities {
    let Capabilities { docker, kvm, kubernetes, cdi, mig, shares } = old;
    now::Capabilities { docker, kvm, kubernetes, cdi, mig, shares, sandboxed: false }
}

/// A price list. It promises nothing.
fn ask(old: Ask) -> now::Ask {
    now::Ask {
        gpu: old.gpu,
        gpu_per_hour: old.gpu_per_hour,
        cpu_core_per_hour: old.cpu_core_per_hour,
        memory_gib_per_hour: old.memory_gib_per_hour,
        disk_gib_per_hour: old.disk_gib_per_hour,
        network_gib: old.network_gib,
        storage_gib_per_hour: old.storage_gib_per_hour,
        second_ppm: old.second_ppm,
        hour_ppm: old.hour_ppm,
        day_ppm: old.day_ppm,
        terms: Default::default(),
    }
}

/// A host. It has no virtual machines: agents of release 3 announced them where /dev/kvm existed, and no driver runs any. It
/// does not answer challenges: no agent of release 3 did. One that was present when the migration began could not send a heartbeat since: its absence limit starts anew at
/// `now`.
pub(super) fn host(old: HostRecord, began_at: Moment, now: Moment, absence_limit_ms: u64) -> now::HostRecord {
    let was_present = old.last_heartbeat > 0 && began_at <= old.last_heartbeat.saturating_add(absence_limit_ms);
    let last_heartbeat = if was_present { old.last_heartbeat.max(now) } else { old.last_heartbeat };
    now::HostRecord {
        provider: old.provider,
        status: old.status,
        tier: old.tier,
        capabilities: now::Capabilities { kvm: false, ..capabilities(old.capabilities) },
        network_mbps_down: old.network_mbps_down,
        network_mbps_up: old.network_mbps_up,
        latency_ms: old.latency_ms,
        total: old.total,
        free: old.free,
        devices: old.devices,
        ask: ask(old.ask),
        endpoint: old.endpoint,
        region: old.region,
        bond: old.bond,
        bond_required: old.bond_required,
        generation: old.generation,
        registered_at: old.registered_at,
        last_heartbeat,
        downtime_ms: old.downtime_ms,
        live_leases: old.live_leases,
        answers_challenges: false,
        challenged: None,
        offered_since: now,
    }
}

fn placement(old: Placement) -> now::Placement {
    now::Placement {
        regions: old.regions,
        hosts: old.hosts,
        providers_allowed: old.providers_allowed,
        providers_denied: old.providers_denied,
        tiers: old.tiers,
        verified_only: old.verified_only,
        allow_simulated: old.allow_simulated,
        min_network_mbps: old.min_network_mbps,
        max_latency_ms: old.max_latency_ms,
        capabilities: capabilities(old.capabilities),
        layout: old.layout,
        min_terms: Default::default(),
    }
}

fn spec(old: TaskSpec) -> now::TaskSpec {
    now::TaskSpec {
        kind: old.kind,
        manifest_digest: old.manifest_digest,
        resources: old.resources,
        pods_min: old.pods_min,
        pods_max: old.pods_max,
        max_rate_per_hour: old.max_rate_per_hour,
        unit: old.unit,
        max_duration_ms: old.max_duration_ms,
        deadline: old.deadline,
        priority: old.priority,
        queue: old.queue,
        verification: old.verification,
        placement: placement(old.placement),
        data_from: old.data_from,
        spot: old.spot,
        survival: old.survival,
    }
}

/// The record that tasks submitted together share.
pub(super) fn spec_record(old: SpecRecord) -> now::SpecRecord {
    now::SpecRecord {
        tenant: old.tenant,
        spec: spec(old.spec),
        count: old.count,
        open: old.open,
        kept: old.kept,
        manifest_deposit: old.manifest_deposit,
        task_deposit: old.task_deposit,
    }
}

/// A standby. Release 3 did not store a rate: only the price limit of the task applies.
fn standby(old: StandbyPlace) -> now::StandbyPlace {
    now::StandbyPlace { host: old.host, devices: old.devices, rate_per_hour: Balance::MAX }
}

/// An escrow. The fee of release 3 was the one in force when it was paid: from now on it is the one in force at the upgrade,
/// all of which goes to the treasury for leases whose scheduler is not known.
fn escrow(old: Escrow, fee_ppm: u32) -> now::Escrow {
    now::Escrow {
        deposit: old.deposit,
        rate_per_hour: old.rate_per_hour,
        unit: old.unit,
        accrued: old.accrued,
        since: old.since,
        downtime_mark: old.downtime_mark,
        until: old.until,
        paid: old.paid,
        fee: old.fee,
        open: old.open,
        fee_ppm,
        scheduler_ppm: 0,
        scheduler_fee: 0,
        settler_fee: 0,
        credit: 0,
        storage: None,
    }
}

/// The parameters of billing. A fee above the bound of this release is reduced to the bound.
pub(super) fn billing_params(old: billing::Params) -> pallet_gantry_billing::Params {
    let billing::Params { fee_ppm, held_back_ms, depletion_bounty } = old;
    let fee_ppm = fee_ppm.min(now::fees::MAX_FEE_PPM);
    pallet_gantry_billing::Params { fee_ppm, held_back_ms, depletion_bounty, ..Default::default() }
}

/// A lease. Release 3 did not store who opened it.
fn lease(old: Lease, fee_ppm: u32) -> now::Lease {
    now::Lease {
        pod: old.pod,
        generation: old.generation,
        host: old.host,
        devices: old.devices,
        state: old.state,
        created_at: old.created_at,
        started_at: old.started_at,
        ended_at: old.ended_at,
        escrow: escrow(old.escrow, fee_ppm),
        resume_rate: old.resume_rate,
        reclaim_at: old.reclaim_at,
        due_at: old.due_at,
        result: old.result,
        rated: old.rated,
        standby: old.standby.map(standby),
        assigned_by: None,
        self_assigned_ppm: None,
        sla: None,
        checks: None,
    }
}

/// A task. Release 3 counted failed attempts and did not store their hosts, so the count starts again. Preemption
/// notices are void, because release 3 did not store the placement of the queued task.
pub(super) fn task(old: TaskRecord, fee_ppm: u32) -> now::TaskRecord {
    now::TaskRecord {
        first: old.first,
        tenant: old.tenant,
        state: old.state,
        generation: old.generation,
        attempts: Default::default(),
        pods_wanted: old.pods_wanted,
        submitted_at: old.submitted_at,
        changed_at: old.changed_at,
        preemption: old.preemption.filter(|_| old.state != now::TaskState::Running),
        notice: Default::default(),
        leases: BoundedVec::truncate_from(old.leases.into_iter().map(|old| lease(old, fee_ppm)).collect()),
        checkpoints: old.checkpoints,
    }
}

/// When a host was challenged. Release 3 did not store who missed a challenge.
pub(super) fn host_challenges(old: HostChallenges) -> now::HostChallenges {
    let HostChallenges { open, by_verifier_at, by_provider_at } = old;
    now::HostChallenges { open, by_verifier_at, by_provider_at, by_tenant_at: None, missed_at: None }
}

/// Results of replicas. Results that are revealed have the tags of this release; others are compared as in release 3.
pub(super) fn results(old: ResultsRecord, task: TaskId) -> now::ResultsRecord {
    let replica = |old: Replica| now::Replica {
        lease: old.lease,
        host: old.host,
        commitment: old.commitment,
        tag: old.result.map(|result| result_tag(task, &result)),
        result: old.result,
    };
    now::ResultsRecord {
        phase: old.phase,
        until: old.until,
        opened_at: old.opened_at,
        wanted: old.wanted,
        extended: old.extended,
        audit: now::AuditState::NotDrawn,
        replicas: BoundedVec::truncate_from(old.replicas.into_iter().map(replica).collect()),
    }
}

/// The parameters of verification. A host has at least half as much time again for an answer as it may be absent.
pub(super) fn verification_params(old: Params, absence_limit_ms: u64) -> verification::Params {
    let longest = verification::MAX_PERIOD_MS;
    let answer_ms = absence_limit_ms.saturating_add(absence_limit_ms / 2).min(longest);
    verification::Params {
        verifier_bond: old.verifier_bond,
        unbonding_ms: old.unbonding_ms,
        absence_penalty: old.absence_penalty,
        minority_penalty: old.minority_penalty,
        committee_size: old.committee_size,
        challenge_fee: old.challenge_fee,
        challenge_rest_ms: old.challenge_rest_ms,
        answer_ms: old.answer_ms.max(answer_ms),
        challenge_commit_ms: old.challenge_commit_ms,
        challenge_reveal_ms: old.challenge_reveal_ms,
        result_commit_ms: old.result_commit_ms,
        result_reveal_ms: old.result_reveal_ms,
        jury_size: old.jury_size,
        appeal_jury_size: old.appeal_jury_size,
        dispute_stake: old.dispute_stake,
        jury_fee: old.jury_fee,
        hearing_ms: old.hearing_ms,
        dispute_commit_ms: old.dispute_commit_ms,
        dispute_reveal_ms: old.dispute_reveal_ms,
        appeal_ms: old.appeal_ms,
        // As in production, where it is a week and the rest six hours.
        miss_period_ms: old.challenge_rest_ms.saturating_mul(28).min(longest),
        // As in production, where it is 21 and a committee has five members.
        min_verifiers: 4 * u16::from(old.committee_size) + 1,
        ..Default::default()
    }
}

/// A dispute. In release 3 it was about all leases of the task, in the order of the pods.
pub(super) fn dispute(old: DisputeRecord, mut leases: UpTo<LeaseId, 16>) -> now::DisputeRecord {
    leases.sort();
    now::DisputeRecord {
        opener: old.opener,
        tenant: old.tenant,
        accused: leases,
        providers: old.providers,
        opened_at: old.opened_at,
        phase: old.phase,
        until: old.until,
        level: old.level,
        retried: old.retried,
        verdict: old.verdict,
        stakes: old.stakes,
        evidence: old.evidence,
        ballot: old.ballot,
    }
}
