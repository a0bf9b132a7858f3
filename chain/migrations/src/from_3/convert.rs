//! Records of release 3 as release 4 stores them.

use gantry_primitives as now;
use gantry_primitives::{LeaseId, Moment, UpTo};

use crate::v3::{
    hosts::{Capabilities, HostRecord},
    tasks::{Placement, SpecRecord, TaskRecord, TaskSpec},
    verification::DisputeRecord,
};

fn capabilities(old: Capabilities) -> now::Capabilities {
    let Capabilities { docker, kvm, kubernetes, cdi, mig, shares } = old;
    now::Capabilities { docker, kvm, kubernetes, cdi, mig, shares, sandboxed: false }
}

/// A host. It has no virtual machines: agents of release 3 announced them where /dev/kvm existed, and no driver runs any. One
/// that was present when the migration began could not send a heartbeat since: its absence limit starts anew at
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
        ask: old.ask,
        endpoint: old.endpoint,
        region: old.region,
        bond: old.bond,
        bond_required: old.bond_required,
        generation: old.generation,
        registered_at: old.registered_at,
        last_heartbeat,
        downtime_ms: old.downtime_ms,
        live_leases: old.live_leases,
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

/// What tasks that were submitted together share.
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

/// A task. Release 3 counted attempts that came to nothing and did not store whose they were, so the count begins anew.
pub(super) fn task(old: TaskRecord) -> now::TaskRecord {
    now::TaskRecord {
        first: old.first,
        tenant: old.tenant,
        state: old.state,
        generation: old.generation,
        attempts: Default::default(),
        pods_wanted: old.pods_wanted,
        submitted_at: old.submitted_at,
        changed_at: old.changed_at,
        preemption: old.preemption,
        leases: old.leases,
        checkpoints: old.checkpoints,
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
