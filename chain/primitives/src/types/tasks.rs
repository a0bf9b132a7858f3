//! Types of tasks.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{
    AccountId, Attempt, Balance, Bytes, DeviceIndices, Digest, EndReason, HostId, Lease, LeaseId, ModelName, Moment,
    Placement, TaskId, UpTo, MAX_ATTEMPTS, MAX_PODS, MAX_VICTIMS,
};

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum TaskKind {
    /// Ends with a result.
    Job,
    /// Runs until it is stopped or the time paid for is over.
    Service,
    /// A machine to log into; its data is retained for a period after its end.
    Rental,
}

/// The devices one pod needs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct GpuRequest {
    /// How many devices; if 0, the other fields have no meaning.
    pub count: u8,
    /// Thousandths of each, 1 to 1000.
    pub milli: u16,
    /// The least memory of each, in MiB.
    pub min_vram_mib: u32,
    /// The acceptable models; empty for any.
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
    /// Jobs only: replicas on hosts of different providers do the same work, and their results are compared.
    Redundant {
        /// How many, 2 or 3.
        replicas: u8,
    },
    /// Jobs of one pod only: its host commits the result, and then the chain draws whether a host of another provider does the
    /// same work and the results are compared. The host of the first result pays the other.
    Audit,
}

/// What happens to a pod whose host becomes unhealthy or fails.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub enum Survival {
    /// It stays on its host, and is started again on another if it is lost.
    #[default]
    Restart,
    /// Jobs and services only: it may migrate to another host, with the rest of its deposit.
    Move,
    /// As [`Survival::Move`], and a standby that was named in advance takes over automatically when the host fails.
    Standby,
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
    /// Rentals only: the lease whose retained data the new machine takes over. It must then be on the same host.
    pub data_from: Option<LeaseId>,
    /// It may be preempted, after a notice, by a queued task of higher priority.
    pub spot: bool,
    /// What happens to a pod whose host becomes unhealthy or fails.
    pub survival: Survival,
}

impl TaskSpec {
    /// Whether a lost pod is replaced while the others continue. Otherwise the whole task is requeued.
    pub const fn replaces_pods(&self) -> bool {
        !matches!(self.kind, TaskKind::Job) || self.is_redundant()
    }

    /// Whether a pod may migrate while the task's other pods continue.
    pub const fn moves_pods(&self) -> bool {
        !matches!(self.survival, Survival::Restart)
    }

    /// Whether hosts commit results, and results of several hosts are compared.
    pub const fn is_redundant(&self) -> bool {
        matches!(self.verification, VerificationPolicy::Redundant { .. } | VerificationPolicy::Audit)
    }

    /// Whether the chain draws if another host repeats the work.
    pub const fn is_audited(&self) -> bool {
        matches!(self.verification, VerificationPolicy::Audit)
    }
}

/// Why a task failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum FailReason {
    /// It was tried as often as the chain allows.
    AttemptsExhausted,
    /// The time of all pods was over, and none of them has a result.
    DurationExceeded,
    /// Its result was disputed, and the dispute was upheld.
    DisputeLost,
    /// The results of its replicas do not agree.
    NoAgreement,
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
    /// A secret or input that the manifest names was not delivered in time.
    InputMissing,
    /// The image was fetched, but no container of it can start: its entry point is missing or is no program for this
    /// machine, or its user does not exist.
    ImageCannotRun,
    /// The image was still being fetched, and made progress, when the start timeout was near.
    ImageTooSlow,
}

impl HostFailure {
    /// Whether the host is at fault. A failure that a tenant can cause is not the host's fault.
    pub const fn is_hosts_fault(&self) -> bool {
        matches!(self, Self::ResourcesUnavailable | Self::DriverError)
    }

    /// Whether the chain cannot know who is at fault: the speed of a download depends on the host, the registry and the
    /// network between them. Host and tenant pay alike.
    pub const fn is_of_unknown_cause(&self) -> bool {
        matches!(self, Self::ImageTooSlow)
    }

    /// Whether the tenant is at fault: a pod that does not start for such a reason costs the minimum charge.
    pub const fn is_tenants_fault(&self) -> bool {
        match self {
            Self::ImageUnavailable
            | Self::ImageInvalid
            | Self::ManifestInvalid
            | Self::InputMissing
            | Self::ImageCannotRun => true,
            Self::ResourcesUnavailable | Self::DriverError | Self::ImageTooSlow => false,
        }
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
    /// The provider wanted its resources back, and its notice is over.
    Reclaimed,
    /// The time of a replica was over, and its host committed no result.
    NoResult,
    /// Two committees found that the host did not serve the pod.
    NotServed,
    /// Two committees found that the pod refused connections.
    PodRefused,
}

impl RequeueReason {
    /// Whether the host is at fault.
    pub const fn is_hosts_fault(&self) -> bool {
        match self {
            Self::HostRefused(failure) => failure.is_hosts_fault(),
            Self::StartTimeout | Self::HostLost | Self::NoResult | Self::NotServed => true,
            Self::Reclaimed | Self::PodRefused => false,
        }
    }

    /// Whether the tenant is at fault.
    pub const fn is_tenants_fault(&self) -> bool {
        matches!(self, Self::HostRefused(failure) if failure.is_tenants_fault())
    }

    /// Whether the chain cannot know who is at fault.
    pub const fn is_of_unknown_cause(&self) -> bool {
        matches!(self, Self::HostRefused(failure) if failure.is_of_unknown_cause())
    }

    /// Whether it counts as a failed attempt.
    pub const fn is_failure(&self) -> bool {
        !matches!(self, Self::Reclaimed | Self::PodRefused)
    }
}

impl From<RequeueReason> for EndReason {
    fn from(reason: RequeueReason) -> Self {
        match reason {
            RequeueReason::HostRefused(failure) => Self::HostRefused(failure),
            RequeueReason::StartTimeout => Self::StartTimeout,
            RequeueReason::HostLost => Self::HostLost,
            RequeueReason::Reclaimed => Self::Reclaimed,
            RequeueReason::NoResult => Self::DurationExceeded,
            RequeueReason::NotServed => Self::NotServed,
            RequeueReason::PodRefused => Self::PodRefused,
        }
    }
}

/// The state of a task. Changes only along `transitions::TASK_TRANSITIONS`.
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
    /// The tenant cancelled it.
    Cancelled,
    /// Ended without a result, for the reason given.
    Failed(FailReason),
}

/// A [`TaskState`] without payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
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
    /// Whether the state is final: no other follows.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Settled | Self::Expired | Self::Cancelled | Self::Failed)
    }

    /// Whether a task in this state has live leases.
    pub const fn has_live_leases(&self) -> bool {
        matches!(self, Self::Assigned | Self::Running)
    }

    /// Returns the list that contains the tasks in this state. None if it is final.
    pub const fn index(&self) -> Option<IndexTag> {
        match self {
            Self::Queued => Some(IndexTag::Queued),
            Self::Assigned => Some(IndexTag::Assigned),
            Self::Running => Some(IndexTag::Running),
            Self::Reported => Some(IndexTag::Reported),
            Self::Verified => Some(IndexTag::Verified),
            Self::Disputed => Some(IndexTag::Disputed),
            Self::Settled | Self::Expired | Self::Cancelled | Self::Failed => None,
        }
    }
}

/// The lists of tasks. A task that is not final is on the list of its state.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub enum IndexTag {
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
    /// See [`TaskState::Disputed`].
    Disputed,
    /// In addition: assigned or running, with fewer leases than wanted pods.
    Short,
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

/// The values that tasks submitted together share. Stored under the number of the first until the last is pruned.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct SpecRecord {
    /// Who submitted them and pays.
    pub tenant: AccountId,
    /// What the tenant requested.
    pub spec: TaskSpec,
    /// How many tasks were submitted together.
    pub count: u32,
    /// How many of them are not final.
    pub open: u32,
    /// How many of them are not pruned.
    pub kept: u32,
    /// Coins of the tenant on hold while the chain stores the manifest; 0 after all tasks are final.
    pub manifest_deposit: Balance,
    /// Coins of the tenant on hold in addition for each task until it is pruned.
    pub task_deposit: Balance,
}

/// A preemption notice that a spot task has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Preemption {
    /// The queued task in whose favour.
    pub wanting: TaskId,
    /// The task may continue until then.
    pub ends_at: Moment,
}

/// Whether there is a preemption notice in favour of a queued task.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub enum NoticeState {
    /// There is none.
    #[default]
    Absent,
    /// There is one; its victims may continue until then. See [`PreemptionNotice`].
    Standing(Moment),
    /// There was one, and its victims were not evicted, because the pods of the queued task did not fit. Until then the
    /// task preempts no others.
    Withdrawn(Moment),
}

/// The spot tasks that are preempted in favour of a queued task, and its placement.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct PreemptionNotice {
    /// The preempted tasks.
    pub victims: UpTo<TaskId, MAX_VICTIMS>,
    /// The placements of the queued task's pods.
    pub pods: UpTo<PodPlacement, MAX_PODS>,
    /// The scheduler that gave the notice.
    pub scheduler: AccountId,
    /// The victims may continue until then.
    pub ends_at: Moment,
}

/// The last checkpoint of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct PodCheckpoint {
    /// The pod.
    pub pod: u8,
    /// SHA-256 of the file.
    pub digest: Digest,
    /// How long the file is, in bytes.
    pub bytes: u64,
    /// The host that stored it.
    pub host: HostId,
    /// When the host reported it.
    pub at: Moment,
}

/// A submitted task, with its leases.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct TaskRecord {
    /// The first of the tasks it was submitted with: its spec and manifest are kept under this number.
    pub first: TaskId,
    /// Who submitted it and pays.
    pub tenant: AccountId,
    /// Where it stands.
    pub state: TaskState,
    /// Grows whenever a lease is replaced, so that no number of a lease is used twice.
    pub generation: u16,
    /// The failed attempts, the oldest first; for services and rentals, those since the last start.
    pub attempts: UpTo<Attempt, MAX_ATTEMPTS>,
    /// The number of wanted pods.
    pub pods_wanted: u8,
    /// When it was submitted.
    pub submitted_at: Moment,
    /// When it last changed its state.
    pub changed_at: Moment,
    /// Set by a preemption notice until the task runs again: while it runs, the notice stands; while it is queued, it
    /// preempts no others.
    pub preemption: Option<Preemption>,
    /// Whether there is a preemption notice in its favour.
    pub notice: NoticeState,
    /// Its leases in the order of the pods: the live ones, and those that ended and were not replaced.
    pub leases: UpTo<Lease, MAX_PODS>,
    /// The last checkpoint of each pod that has one, in the order of the pods. They outlive leases: the pod continues
    /// from there on its next host.
    pub checkpoints: UpTo<PodCheckpoint, MAX_PODS>,
}

/// How the escrow of a lease was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct LeaseBill {
    /// The lease.
    pub lease: LeaseId,
    /// The total cost for the tenant, including the fee.
    pub paid: Balance,
    /// The part of it that is the protocol fee, the shares of the scheduler and of settlers included.
    pub fee: Balance,
    /// The part of the fee that went to the scheduler.
    pub scheduler_fee: Balance,
    /// The part of the fee that went to those whose calls settled or ended the lease.
    pub settler_fee: Balance,
    /// The amount released to the tenant.
    pub refunded: Balance,
}

impl LeaseBill {
    /// The part of the fee that went to the treasury.
    pub const fn treasury_fee(&self) -> Balance {
        self.fee.saturating_sub(self.scheduler_fee).saturating_sub(self.settler_fee)
    }
}

/// A report of a host about a lease of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Report {
    /// The pod started.
    Started,
    /// The pod ended with a result.
    Result(PodResult),
    /// The host cannot run the pod, for the reason given.
    Failed(HostFailure),
    /// The data of an ended rental was deleted.
    Purged {
        /// SHA-256 of the receipt of deletion.
        receipt: Digest,
    },
    /// The data of an ended rental was lost before the end of its retention.
    DataLost,
    /// The host stored a new checkpoint of the running pod.
    Checkpoint {
        /// SHA-256 of the checkpoint.
        digest: Digest,
        /// The length of the checkpoint.
        bytes: u64,
    },
}

/// The result of a pod.
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
    pub pod: u8,
    /// The host.
    pub host: HostId,
    /// Which devices of the host.
    pub devices: DeviceIndices,
    /// The rate of the pod there in base units per hour, as the scheduler saw it. At a higher rate it is not assigned.
    #[codec(compact)]
    pub rate_per_hour: Balance,
}
