//! What is known about a host's conduct.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::Moment;

/// Evidence for and against, in parts per million of one observation. The prior of 1 + 1 is not stored.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct Beta {
    /// For.
    pub positive: u64,
    /// Against.
    pub negative: u64,
}

/// The evidence about one host, as it weighed at `updated_at`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct HostScore {
    /// Leases it started and completed, against those it started and did not.
    pub completed: Beta,
    /// Leases it started, against those it did not.
    pub started: Beta,
    /// Time it was there, against time it was not. Not written yet.
    pub uptime: Beta,
    /// How many of its leases were settled.
    pub settled_leases: u32,
    /// When any of this last changed.
    pub updated_at: Moment,
}

/// One thing a host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Conduct {
    /// Started a pod in time.
    Started,
    /// Did not start a pod.
    NotStarted,
    /// Completed a pod, and the task was settled.
    Completed,
    /// Started a pod and did not complete it.
    NotCompleted,
}
