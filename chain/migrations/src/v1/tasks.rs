//! Tasks of release 1. Only jobs could be submitted. The pallet's `NextTaskId` and `Schedulers` are still as they were.

use super::{AccountId, Balance, Bytes, Digest, HostId, LeaseId, Manifest, Moment, TaskId, UpTo};
use codec::{Decode, Encode};
use frame_support::{pallet_prelude::*, storage_alias};
use pallet_gantry_tasks::{Config, Pallet};

/// What sort of work it is; the chain refused all but jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TaskKind {
    /// Ends with a result.
    Job,
    /// Refused.
    Service,
    /// Refused.
    Rental,
}

/// The devices one pod needs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct GpuRequest {
    /// How many devices.
    pub count: u8,
    /// Thousandths of each.
    pub milli: u16,
    /// The least memory of each, in MiB.
    pub min_vram_mib: u32,
    /// The models that will do; empty for any.
    pub models: UpTo<Bytes<64>, 4>,
}

/// What one pod needs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum BillingUnit {
    /// Pro rata.
    Second,
    /// Whole started hours in advance.
    Hour,
    /// Whole started days in advance.
    Day,
}

/// How a result is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum VerificationPolicy {
    /// The tenant accepts it, or the dispute window passes.
    Acceptance,
}

/// Where a task may run; empty lists for anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Placement {
    /// The regions that will do.
    pub regions: UpTo<Bytes<32>, 4>,
    /// The hosts that will do.
    pub hosts: UpTo<HostId, 8>,
    /// True where simulated devices will do too.
    pub allow_simulated: bool,
}

/// What a tenant submitted.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TaskSpec {
    /// The sort of work.
    pub kind: TaskKind,
    /// SHA-256 of the manifest.
    pub manifest_digest: Digest,
    /// What each pod needs.
    pub resources: Resources,
    /// The least pods that make sense.
    pub pods_min: u16,
    /// The most pods wanted.
    pub pods_max: u16,
    /// The most one pod may cost, in base units an hour.
    pub max_rate_per_hour: Balance,
    /// The unit it is billed by.
    pub unit: BillingUnit,
    /// How long a pod may run, in milliseconds.
    pub max_duration_ms: u64,
    /// It must be assigned by then.
    pub deadline: Option<Moment>,
    /// Higher goes first.
    pub priority: u8,
    /// The queue it waits in.
    pub queue: Bytes<32>,
    /// How its result is judged.
    pub verification: VerificationPolicy,
    /// Where it may run.
    pub placement: Placement,
}

/// Why a task failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FailReason {
    /// It was tried as often as the chain allowed.
    AttemptsExhausted,
    /// A pod ran for longer than the task allowed.
    DurationExceeded,
}

/// Why a host could not run a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum HostFailure {
    /// The image could not be fetched.
    ImageUnavailable,
    /// The image could not be used.
    ImageInvalid,
    /// The manifest could not be understood.
    ManifestInvalid,
    /// The host lacked what it offered.
    ResourcesUnavailable,
    /// The host's container engine failed.
    DriverError,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TaskState {
    /// Waits for hosts.
    Queued,
    /// Has a lease for each pod; not all have started.
    Assigned,
    /// Every pod has started.
    Running,
    /// Every pod has reported.
    Reported,
    /// The result is accepted.
    Verified,
    /// Everyone is paid.
    Settled,
    /// Never reached in release 1.
    Disputed,
    /// Was not assigned before its deadline.
    Expired,
    /// The tenant called it off.
    Cancelled,
    /// Ended without a result.
    Failed(FailReason),
}

/// A state without its payload: the key of the index by state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum TaskStateTag {
    /// See [`TaskState`].
    Queued,
    /// See [`TaskState`].
    Assigned,
    /// See [`TaskState`].
    Running,
    /// See [`TaskState`].
    Reported,
    /// See [`TaskState`].
    Verified,
    /// See [`TaskState`].
    Settled,
    /// See [`TaskState`].
    Disputed,
    /// See [`TaskState`].
    Expired,
    /// See [`TaskState`].
    Cancelled,
    /// See [`TaskState`].
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

    /// Nothing follows a final state.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Settled | Self::Expired | Self::Cancelled | Self::Failed(_))
    }
}

/// What a pod used, as its host measured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Usage {
    /// How long it ran, in milliseconds.
    pub wall_ms: u64,
    /// Processor time in milliseconds.
    pub cpu_ms: u64,
    /// The most memory it held, in MiB.
    pub memory_peak_mib: u32,
}

/// What a pod ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PodResult {
    /// SHA-256 of the result.
    pub digest: Digest,
    /// What its first container returned.
    pub exit_code: i32,
    /// What it used.
    pub usage: Usage,
}

/// A submitted task.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TaskRecord {
    /// Who submitted it and pays.
    pub tenant: AccountId,
    /// What was asked for.
    pub spec: TaskSpec,
    /// Where it stands.
    pub state: TaskState,
    /// How many attempts have come to nothing; the number of the present one.
    pub attempts: u8,
    /// When it was submitted.
    pub submitted_at: Moment,
    /// The leases of the present attempt, in the order of the pods.
    pub leases: UpTo<LeaseId, 16>,
    /// How many of them have started.
    pub pods_started: u16,
    /// How many of them have reported.
    pub pods_reported: u16,
    /// When the last pod reported.
    pub reported_at: Option<Moment>,
    /// Coins of the tenant held while the chain keeps the manifest.
    pub deposit: Balance,
}

/// What governed the pallet.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TasksParams {
    /// A pod must start within so many milliseconds.
    pub start_timeout_ms: u64,
    /// A result counts as accepted after so many milliseconds.
    pub dispute_window_ms: u64,
    /// A task fails when so many attempts have come to nothing.
    pub max_attempts: u8,
    /// Coins held for a scheduler.
    pub scheduler_bond: Balance,
    /// Coins held for a task while the chain keeps its manifest.
    pub deposit_base: Balance,
    /// Coins held besides for each byte of the manifest.
    pub deposit_per_byte: Balance,
    /// The longest duration, in milliseconds.
    pub max_duration_ms: u64,
}

/// Every task that was ever submitted.
#[storage_alias]
pub type Tasks<T: Config> = StorageMap<Pallet<T>, Twox64Concat, TaskId, TaskRecord>;

/// The manifest of every task that is not final.
#[storage_alias]
pub type Manifests<T: Config> = StorageMap<Pallet<T>, Twox64Concat, TaskId, Manifest>;

/// The tasks in each state.
#[storage_alias]
pub type ByState<T: Config> = StorageDoubleMap<Pallet<T>, Twox64Concat, TaskStateTag, Twox64Concat, TaskId, ()>;

/// The tasks of each tenant.
#[storage_alias]
pub type ByTenant<T: Config> = StorageDoubleMap<Pallet<T>, Blake2_128Concat, AccountId, Twox64Concat, TaskId, ()>;

/// The periods and amounts.
#[storage_alias]
pub type Params<T: Config> = StorageValue<Pallet<T>, TasksParams>;
