//! A task with its leases and their escrows, and the periods of the tasks pallet, as release 2 keeps them.

use gantry_primitives as now;
use gantry_primitives::{rate, Escrow, LeaseId, TaskId};
use pallet_gantry_tasks::Params;

use crate::v1::{
    billing::{self, EscrowState},
    leases::{EndReason, LeaseRecord, LeaseState},
    tasks::{
        BillingUnit, FailReason, GpuRequest, HostFailure, Placement, PodResult, Resources, TaskKind, TaskRecord,
        TaskSpec, TaskState, TasksParams, VerificationPolicy,
    },
    Moment,
};

/// A task and what it was submitted with. `leases` are those of its present attempt, in the order of the pods, each
/// with its escrow.
///
/// A final task counts as changed at `moment`, so that it can be read for as long as any other before it is pruned.
pub(super) fn task(
    task: TaskId,
    old: TaskRecord,
    leases: impl Iterator<Item = (LeaseRecord, billing::Escrow)>,
    moment: Moment,
) -> (now::TaskRecord, now::SpecRecord) {
    let open = u32::from(!old.state.is_final());
    let leases: alloc::vec::Vec<_> = leases.map(|(lease, escrow)| self::lease(lease, escrow)).collect();
    let opened_at = leases.iter().map(|lease| lease.created_at).max();
    let started_at = leases.iter().filter_map(|lease| lease.started_at).max();
    let changed_at = match old.state {
        TaskState::Queued => old.submitted_at,
        TaskState::Assigned => opened_at.unwrap_or(old.submitted_at),
        TaskState::Running => started_at.unwrap_or(old.submitted_at),
        TaskState::Reported | TaskState::Verified | TaskState::Disputed => old.reported_at.unwrap_or(moment),
        TaskState::Settled | TaskState::Expired | TaskState::Cancelled | TaskState::Failed(_) => moment,
    };
    let record = now::TaskRecord {
        first: task,
        tenant: old.tenant.clone(),
        state: state(old.state),
        generation: u16::from(old.attempts),
        failures: old.attempts,
        // At most 16, or it was never submitted.
        pods_wanted: old.spec.pods_max as u8,
        submitted_at: old.submitted_at,
        changed_at,
        preemption: None,
        leases: now::UpTo::truncate_from(leases),
        checkpoints: Default::default(),
    };
    let shared = now::SpecRecord {
        tenant: old.tenant,
        spec: spec(old.spec),
        count: 1,
        open,
        kept: 1,
        manifest_deposit: old.deposit,
        task_deposit: 0,
    };
    (record, shared)
}

/// The number of a lease of release 1 in release 2. It follows from what the agent knows of its pod.
pub(super) fn renumbered(old: &LeaseRecord) -> LeaseId {
    // At most 16 pods.
    now::lease_id(old.task, old.pod as u8, u16::from(old.attempt))
}

fn lease(old: LeaseRecord, escrow: billing::Escrow) -> now::Lease {
    let escrow = self::escrow(&old, escrow);
    let mut lease =
        now::Lease::new(old.pod as u8, u16::from(old.attempt), old.host, old.devices, old.created_at, escrow);
    lease.state = match old.state {
        LeaseState::Pending => now::LeaseState::Pending,
        LeaseState::Active => now::LeaseState::Active,
        LeaseState::Suspended => now::LeaseState::Suspended,
        LeaseState::Ended(reason) => now::LeaseState::Ended(end_reason(reason)),
        LeaseState::Retained(until) => now::LeaseState::Retained(until),
        LeaseState::Purged => now::LeaseState::Purged,
    };
    lease.started_at = old.started_at;
    lease.ended_at = old.ended_at;
    lease.result = old.result.map(result);
    lease
}

/// The coins of a lease. Release 1 reckoned what is owed when it paid; release 2 keeps it from the end of the pod on.
fn escrow(lease: &LeaseRecord, old: billing::Escrow) -> Escrow {
    let mut escrow = Escrow::new(old.deposit, old.rate_per_hour, unit(old.unit));
    escrow.until = old.depletes_at;
    match (old.state, old.started_at, lease.ended_at) {
        (EscrowState::Closed, ..) => {
            escrow.paid = old.paid;
            escrow.fee = old.fee;
            escrow.accrued = old.paid;
            escrow.open = false;
        }
        (EscrowState::Open, Some(started_at), None) => escrow.since = Some(started_at),
        (EscrowState::Open, Some(started_at), Some(ended_at)) => {
            let elapsed = ended_at.saturating_sub(started_at);
            let billed_ms = lease.result.map_or(elapsed, |result| elapsed.min(result.usage.wall_ms));
            escrow.accrued = rate::owed(escrow.unit, old.deposit, old.rate_per_hour, billed_ms);
        }
        (EscrowState::Open, None, _) => {}
    }
    escrow
}

fn spec(old: TaskSpec) -> now::TaskSpec {
    now::TaskSpec {
        kind: match old.kind {
            TaskKind::Job => now::TaskKind::Job,
            TaskKind::Service => now::TaskKind::Service,
            TaskKind::Rental => now::TaskKind::Rental,
        },
        manifest_digest: old.manifest_digest,
        resources: resources(old.resources),
        pods_min: old.pods_min,
        pods_max: old.pods_max,
        max_rate_per_hour: old.max_rate_per_hour,
        unit: unit(old.unit),
        max_duration_ms: old.max_duration_ms,
        deadline: old.deadline,
        priority: old.priority,
        queue: old.queue,
        verification: match old.verification {
            VerificationPolicy::Acceptance => now::VerificationPolicy::Acceptance,
        },
        placement: placement(old.placement),
        data_from: None,
        spot: false,
        survival: now::Survival::Restart,
    }
}

pub(super) fn resources(old: Resources) -> now::Resources {
    let GpuRequest { count, milli, min_vram_mib, models } = old.gpus;
    now::Resources {
        cpu_milli: old.cpu_milli,
        memory_mib: old.memory_mib,
        disk_gib: old.disk_gib,
        gpus: now::GpuRequest { count, milli, min_vram_mib, models },
    }
}

fn placement(old: Placement) -> now::Placement {
    now::Placement {
        regions: old.regions,
        hosts: old.hosts,
        allow_simulated: old.allow_simulated,
        ..Default::default()
    }
}

const fn unit(old: BillingUnit) -> now::BillingUnit {
    match old {
        BillingUnit::Second => now::BillingUnit::Second,
        BillingUnit::Hour => now::BillingUnit::Hour,
        BillingUnit::Day => now::BillingUnit::Day,
    }
}

const fn state(old: TaskState) -> now::TaskState {
    match old {
        TaskState::Queued => now::TaskState::Queued,
        TaskState::Assigned => now::TaskState::Assigned,
        TaskState::Running => now::TaskState::Running,
        TaskState::Reported => now::TaskState::Reported,
        TaskState::Verified => now::TaskState::Verified,
        TaskState::Settled => now::TaskState::Settled,
        TaskState::Disputed => now::TaskState::Disputed,
        TaskState::Expired => now::TaskState::Expired,
        TaskState::Cancelled => now::TaskState::Cancelled,
        TaskState::Failed(FailReason::AttemptsExhausted) => now::TaskState::Failed(now::FailReason::AttemptsExhausted),
        TaskState::Failed(FailReason::DurationExceeded) => now::TaskState::Failed(now::FailReason::DurationExceeded),
    }
}

const fn end_reason(old: EndReason) -> now::EndReason {
    match old {
        EndReason::Completed => now::EndReason::Completed,
        EndReason::Cancelled => now::EndReason::Cancelled,
        EndReason::HostRefused(failure) => now::EndReason::HostRefused(host_failure(failure)),
        EndReason::StartTimeout => now::EndReason::StartTimeout,
        EndReason::HostLost => now::EndReason::HostLost,
        EndReason::DurationExceeded => now::EndReason::DurationExceeded,
        EndReason::GangAborted => now::EndReason::GangAborted,
    }
}

const fn host_failure(old: HostFailure) -> now::HostFailure {
    match old {
        HostFailure::ImageUnavailable => now::HostFailure::ImageUnavailable,
        HostFailure::ImageInvalid => now::HostFailure::ImageInvalid,
        HostFailure::ManifestInvalid => now::HostFailure::ManifestInvalid,
        HostFailure::ResourcesUnavailable => now::HostFailure::ResourcesUnavailable,
        HostFailure::DriverError => now::HostFailure::DriverError,
    }
}

const fn result(old: PodResult) -> now::PodResult {
    let usage = old.usage;
    now::PodResult {
        digest: old.digest,
        exit_code: old.exit_code,
        usage: now::Usage { wall_ms: usage.wall_ms, cpu_ms: usage.cpu_ms, memory_peak_mib: usage.memory_peak_mib },
    }
}

/// The periods and amounts. What release 1 did not have takes its default, and zeros that release 2 refuses become 1.
pub(super) fn params(old: TasksParams) -> Params {
    Params {
        start_timeout_ms: old.start_timeout_ms.max(1),
        dispute_window_ms: old.dispute_window_ms.max(1),
        max_attempts: old.max_attempts.max(1),
        scheduler_bond: old.scheduler_bond,
        deposit_base: old.deposit_base,
        deposit_per_byte: old.deposit_per_byte,
        max_duration_ms: old.max_duration_ms.max(1),
        ..Params::default()
    }
}
