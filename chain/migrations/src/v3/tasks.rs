//! Tasks of release 3.

use codec::{Decode, Encode};
use gantry_primitives::{
    AccountId, Balance, BillingUnit, Bytes, DeviceIndices, Digest, HostId, Layout, LeaseId, LeaseState, Moment,
    PodCheckpoint, PodResult, Preemption, RegionName, Resources, Survival, TaskId, TaskKind, TaskState, Tier, UpTo,
    VerificationPolicy, MAX_PODS,
};

use super::hosts::Capabilities;

/// See `gantry_primitives::Placement`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Placement {
    /// The regions.
    pub regions: UpTo<RegionName, 4>,
    /// The hosts.
    pub hosts: UpTo<HostId, 8>,
    /// The providers that are accepted.
    pub providers_allowed: UpTo<AccountId, 8>,
    /// The providers that are not accepted.
    pub providers_denied: UpTo<AccountId, 8>,
    /// The classes of machine.
    pub tiers: UpTo<Tier, 3>,
    /// Attested devices only.
    pub verified_only: bool,
    /// Simulated devices too.
    pub allow_simulated: bool,
    /// The least network rate in megabits per second.
    pub min_network_mbps: u32,
    /// The longest round trip in milliseconds; 0 for any.
    pub max_latency_ms: u16,
    /// What a host must be able to run.
    pub capabilities: Capabilities,
    /// How the pods lie to each other.
    pub layout: Layout,
}

/// See `gantry_primitives::TaskSpec`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TaskSpec {
    /// The kind.
    pub kind: TaskKind,
    /// SHA-256 of the manifest.
    pub manifest_digest: Digest,
    /// What each pod needs.
    pub resources: Resources,
    /// The fewest pods.
    pub pods_min: u16,
    /// The most pods.
    pub pods_max: u16,
    /// The price limit of a pod in base units an hour.
    pub max_rate_per_hour: Balance,
    /// The unit of billing.
    pub unit: BillingUnit,
    /// The longest duration of a pod in milliseconds.
    pub max_duration_ms: u64,
    /// The time by which the task must be assigned.
    pub deadline: Option<Moment>,
    /// The priority.
    pub priority: u8,
    /// The queue.
    pub queue: Bytes<32>,
    /// How its result is judged.
    pub verification: VerificationPolicy,
    /// Where it may run.
    pub placement: Placement,
    /// The lease whose retained data a rental takes over.
    pub data_from: Option<LeaseId>,
    /// Whether it may be preempted.
    pub spot: bool,
    /// What becomes of a pod whose host fails.
    pub survival: Survival,
}

/// See `gantry_primitives::SpecRecord`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SpecRecord {
    /// The tenant.
    pub tenant: AccountId,
    /// What was asked for.
    pub spec: TaskSpec,
    /// How many tasks were submitted together.
    pub count: u32,
    /// How many of them are not final.
    pub open: u32,
    /// How many of them are not pruned.
    pub kept: u32,
    /// Coins held for the manifest.
    pub manifest_deposit: Balance,
    /// Coins held for each task.
    pub task_deposit: Balance,
}

/// See `gantry_primitives::StandbyPlace`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StandbyPlace {
    /// The host.
    pub host: HostId,
    /// Which devices of the host.
    pub devices: DeviceIndices,
}

/// See `gantry_primitives::Escrow`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Escrow {
    /// How many coins were deposited.
    pub deposit: Balance,
    /// What the lease costs in base units an hour.
    pub rate_per_hour: Balance,
    /// The unit of billing.
    pub unit: BillingUnit,
    /// What is owed for the segments that are over.
    pub accrued: Balance,
    /// When the running segment began.
    pub since: Option<Moment>,
    /// The host's downtime in milliseconds when the running segment began.
    pub downtime_mark: u64,
    /// Nothing is billed past this.
    pub until: Option<Moment>,
    /// What left the tenant, the fee included.
    pub paid: Balance,
    /// The part of it that went to the treasury.
    pub fee: Balance,
    /// Whether coins are still held.
    pub open: bool,
}

/// See `gantry_primitives::Lease`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Lease {
    /// Which pod of the task.
    pub pod: u8,
    /// Which generation of leases of the task.
    pub generation: u16,
    /// The host.
    pub host: HostId,
    /// Which devices of the host.
    pub devices: DeviceIndices,
    /// The state.
    pub state: LeaseState,
    /// When it was opened.
    pub created_at: Moment,
    /// When the pod started.
    pub started_at: Option<Moment>,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// The coins deposited for it.
    pub escrow: Escrow,
    /// The rate to which it returns.
    pub resume_rate: Option<Balance>,
    /// When its provider wants its resources back.
    pub reclaim_at: Option<Moment>,
    /// When the agenda looks at it next.
    pub due_at: Option<Moment>,
    /// What the pod ended with.
    pub result: Option<PodResult>,
    /// Whether it was rated.
    pub rated: bool,
    /// Where its pod goes on if the host fails.
    pub standby: Option<StandbyPlace>,
}

/// See `gantry_primitives::TaskRecord`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TaskRecord {
    /// The first of the tasks it was submitted with.
    pub first: TaskId,
    /// The tenant.
    pub tenant: AccountId,
    /// The state.
    pub state: TaskState,
    /// The generation of its newest leases.
    pub generation: u16,
    /// How many attempts have come to nothing.
    pub failures: u8,
    /// How many pods it is to have.
    pub pods_wanted: u8,
    /// When it was submitted.
    pub submitted_at: Moment,
    /// When it last changed its state.
    pub changed_at: Moment,
    /// Its preemption.
    pub preemption: Option<Preemption>,
    /// Its leases.
    pub leases: UpTo<Lease, MAX_PODS>,
    /// The last checkpoints of its pods.
    pub checkpoints: UpTo<PodCheckpoint, MAX_PODS>,
}
