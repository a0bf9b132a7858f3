//! What a tenant asks for and what became of it.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{
    AccountId, Balance, Bytes, DeviceIndices, Digest, HostId, LeaseId, ModelName, Moment, Placement, UpTo, MAX_PODS,
};

/// What sort of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum TaskKind {
    /// Ends with a result.
    Job,
    /// Runs until it is stopped. Not supported yet.
    Service,
    /// A machine to log into. Not supported yet.
    Rental,
}

/// The devices one pod needs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct GpuRequest {
    /// How many devices; 0 for none, and then the other fields mean nothing.
    pub count: u8,
    /// Thousandths of each, 1 to 1000.
    pub milli: u16,
    /// The least memory of each, in MiB.
    pub min_vram_mib: u32,
    /// The models that will do; empty for any.
    pub models: UpTo<ModelName, 4>,
}

/// What one pod needs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Resources {
    /// Thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Disk in GiB.
    pub disk_gib: u32,
    /// Devices.
    pub gpus: GpuRequest,
}

/// The unit a lease is billed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum BillingUnit {
    /// Pro rata.
    Second,
    /// Whole started hours in advance.
    Hour,
    /// Whole started days in advance.
    Day,
}

/// How a result is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum VerificationPolicy {
    /// The tenant accepts it, or the dispute window passes.
    Acceptance,
}

/// What a tenant submits.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct TaskSpec {
    /// The sort of work.
    pub kind: TaskKind,
    /// SHA-256 of the manifest.
    pub manifest_digest: Digest,
    /// What each pod needs.
    pub resources: Resources,
    /// The least pods that make sense, at least 1.
    pub pods_min: u16,
    /// The most pods wanted, at most 16.
    pub pods_max: u16,
    /// The most one pod may cost, in base units an hour.
    pub max_rate_per_hour: Balance,
    /// The unit it is billed by.
    pub unit: BillingUnit,
    /// How long a pod may run, in milliseconds.
    pub max_duration_ms: u64,
    /// It must be assigned by then.
    pub deadline: Option<Moment>,
    /// Higher goes first, within what schedulers allow.
    pub priority: u8,
    /// The queue it waits in.
    pub queue: Bytes<32>,
    /// How its result is judged.
    pub verification: VerificationPolicy,
    /// Where it may run.
    pub placement: Placement,
}

/// Why a task failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum FailReason {
    /// It was tried as often as the chain allows.
    AttemptsExhausted,
    /// A pod ran for longer than the task allows.
    DurationExceeded,
}

/// Why a host could not run a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum HostFailure {
    /// The image could not be fetched.
    ImageUnavailable,
    /// The image could not be used.
    ImageInvalid,
    /// The manifest could not be understood.
    ManifestInvalid,
    /// The host lacks what it offered.
    ResourcesUnavailable,
    /// The host's container engine failed.
    DriverError,
}

impl HostFailure {
    /// Whether the host is to blame. A failure that a tenant can cause is not held against a host.
    pub const fn is_hosts_fault(&self) -> bool {
        matches!(self, Self::ResourcesUnavailable | Self::DriverError)
    }
}

/// Why a task went back to its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum RequeueReason {
    /// A host refused, for the reason given.
    HostRefused(HostFailure),
    /// A pod was not started in time.
    StartTimeout,
    /// A host was lost.
    HostLost,
}

/// Where a task stands. Changes only along `transitions::TASK_TRANSITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum TaskState {
    /// Waits for hosts.
    Queued,
    /// Has a lease for each pod; not all have started.
    Assigned,
    /// Every pod has started.
    Running,
    /// Every pod has reported its result.
    Reported,
    /// The result is accepted.
    Verified,
    /// Everyone is paid.
    Settled,
    /// The result is in dispute.
    Disputed,
    /// Was not assigned before its deadline.
    Expired,
    /// The tenant called it off.
    Cancelled,
    /// Ended without a result, for the reason given.
    Failed(FailReason),
}

/// A [`TaskState`] without payload: the key of the index by state.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub enum TaskStateTag {
    /// See [`TaskState::Queued`].
    Queued,
    /// See [`TaskState::Assigned`].
    Assigned,
    /// See [`TaskState::Running`].
    Running,
    /// See [`TaskState::Reported`].
    Reported,
    /// See [`TaskState::Verified`].
    Verified,
    /// See [`TaskState::Settled`].
    Settled,
    /// See [`TaskState::Disputed`].
    Disputed,
    /// See [`TaskState::Expired`].
    Expired,
    /// See [`TaskState::Cancelled`].
    Cancelled,
    /// See [`TaskState::Failed`].
    Failed,
}

impl TaskState {
    /// The state without its payload.
    pub const fn tag(&self) -> TaskStateTag {
        match self {
            Self::Queued => TaskStateTag::Queued,
            Self::Assigned => TaskStateTag::Assigned,
            Self::Running => TaskStateTag::Running,
            Self::Reported => TaskStateTag::Reported,
            Self::Verified => TaskStateTag::Verified,
            Self::Settled => TaskStateTag::Settled,
            Self::Disputed => TaskStateTag::Disputed,
            Self::Expired => TaskStateTag::Expired,
            Self::Cancelled => TaskStateTag::Cancelled,
            Self::Failed(_) => TaskStateTag::Failed,
        }
    }
}

impl TaskStateTag {
    /// Nothing follows a final state.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Settled | Self::Expired | Self::Cancelled | Self::Failed)
    }

    /// Hosts hold leases for a task in such a state.
    pub const fn has_live_leases(&self) -> bool {
        matches!(self, Self::Assigned | Self::Running)
    }
}

/// What a pod used, as its host measured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Usage {
    /// How long it ran, in milliseconds.
    pub wall_ms: u64,
    /// Processor time in milliseconds.
    pub cpu_ms: u64,
    /// The most memory it held, in MiB.
    pub memory_peak_mib: u32,
}

/// A submitted task.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct TaskRecord {
    /// Who submitted it and pays.
    pub tenant: AccountId,
    /// What was asked for.
    pub spec: TaskSpec,
    /// Where it stands.
    pub state: TaskState,
    /// How many attempts have come to nothing; the number of the present one, counted from 0.
    pub attempts: u8,
    /// When it was submitted.
    pub submitted_at: Moment,
    /// The leases of the present attempt, one a pod, in the order of the pods. Kept when the task is final.
    pub leases: UpTo<LeaseId, MAX_PODS>,
    /// How many of them have started.
    pub pods_started: u16,
    /// How many of them have reported.
    pub pods_reported: u16,
    /// When the last pod reported.
    pub reported_at: Option<Moment>,
    /// Coins of the tenant held while the chain keeps the manifest.
    pub deposit: Balance,
}

/// What a pod ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct PodResult {
    /// SHA-256 of the result.
    pub digest: Digest,
    /// What its first container returned.
    pub exit_code: i32,
    /// What it used.
    pub usage: Usage,
}

/// One pod on one host, as a scheduler proposes it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct PodPlacement {
    /// The pod, counted from 0.
    pub pod: u16,
    /// The host.
    pub host: HostId,
    /// Which devices of the host.
    pub devices: DeviceIndices,
}
