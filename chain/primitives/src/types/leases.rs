//! The right of one pod to resources of one host.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{AccountId, Balance, DeviceIndices, HostFailure, HostId, Moment, PodResult, Resources, TaskId};

/// Why a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum EndReason {
    /// The pod reported its result.
    Completed,
    /// The tenant cancelled the task.
    Cancelled,
    /// The host refused, for the reason given.
    HostRefused(HostFailure),
    /// The pod was not started in time.
    StartTimeout,
    /// The host was lost.
    HostLost,
    /// The pod ran for longer than the task allows.
    DurationExceeded,
    /// Another pod of the same task could not go on.
    GangAborted,
}

/// Where a lease stands. Changes only along `transitions::LEASE_TRANSITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum LeaseState {
    /// Waits for the pod's start.
    Pending,
    /// The pod runs and is billed.
    Active,
    /// The pod is paused.
    Suspended,
    /// The pod is gone; the host has its resources back.
    Ended(EndReason),
    /// Ended; its data is kept until then.
    Retained(Moment),
    /// Ended; its data is gone.
    Purged,
}

/// A [`LeaseState`] without payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum LeaseStateTag {
    /// See [`LeaseState::Pending`].
    Pending,
    /// See [`LeaseState::Active`].
    Active,
    /// See [`LeaseState::Suspended`].
    Suspended,
    /// See [`LeaseState::Ended`].
    Ended,
    /// See [`LeaseState::Retained`].
    Retained,
    /// See [`LeaseState::Purged`].
    Purged,
}

impl LeaseState {
    /// The state without its payload.
    pub const fn tag(&self) -> LeaseStateTag {
        match self {
            Self::Pending => LeaseStateTag::Pending,
            Self::Active => LeaseStateTag::Active,
            Self::Suspended => LeaseStateTag::Suspended,
            Self::Ended(_) => LeaseStateTag::Ended,
            Self::Retained(_) => LeaseStateTag::Retained,
            Self::Purged => LeaseStateTag::Purged,
        }
    }

    /// Whether the lease holds resources of its host.
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Pending | Self::Active | Self::Suspended)
    }
}

/// An opened lease.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct LeaseRecord {
    /// The task it is for.
    pub task: TaskId,
    /// Which pod of the task.
    pub pod: u16,
    /// Which attempt of the task.
    pub attempt: u8,
    /// The host that runs the pod.
    pub host: HostId,
    /// Who owned the host when the lease was opened, and is paid.
    pub provider: AccountId,
    /// Who pays.
    pub tenant: AccountId,
    /// Which devices of the host.
    pub devices: DeviceIndices,
    /// What it holds of the host.
    pub resources: Resources,
    /// What it costs, in base units an hour.
    pub rate_per_hour: Balance,
    /// Where it stands.
    pub state: LeaseState,
    /// When it was opened.
    pub created_at: Moment,
    /// When the pod started.
    pub started_at: Option<Moment>,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// What the pod ended with.
    pub result: Option<PodResult>,
}
