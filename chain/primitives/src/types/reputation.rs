//! Types of scores and of the conduct of hosts, tenants and providers.

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

/// The time that a host promised to tenants, and the part in which it was present. Sums; they never fall.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct Sla {
    /// How long its leases lasted in all, in milliseconds.
    pub promised_ms: u64,
    /// The part in which it was present.
    pub met_ms: u64,
}

/// The evidence about one host, as it weighed at `updated_at`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct HostScore {
    /// Leases it started and completed, against those it started and did not.
    pub completed: Beta,
    /// Results and challenges that were found right, against those found wrong.
    pub verified: Beta,
    /// Uptime against downtime.
    pub uptime: Beta,
    /// Pods it started soon, against those it started late or not at all.
    pub start_latency: Beta,
    /// Ratings by tenants, and responses to their tickets.
    pub rating: Beta,
    /// Its promised and met time.
    pub sla: Sla,
    /// How many of its leases were settled.
    pub settled_leases: u32,
    /// When any of this last changed.
    pub updated_at: Moment,
}

/// One thing a host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Conduct {
    /// Started a pod in time; how soon is not known.
    Started,
    /// Did not start a pod.
    NotStarted,
    /// Completed a pod, and the task was settled.
    Completed,
    /// Started a pod and did not complete it.
    NotCompleted,
    /// A result or a challenge was found right.
    Verified,
    /// A result or a challenge was found wrong.
    NotVerified,
    /// A tenant gave it this number of stars, 1 to 5.
    Rated(u8),
    /// Started a pod this number of milliseconds after the lease was opened. Recorded instead of `Started`.
    StartedAfter(u64),
    /// Was up for `up_ms` of a lease and down for `down_ms` of it.
    Uptime {
        /// Uptime in milliseconds.
        up_ms: u64,
        /// Downtime in milliseconds.
        down_ms: u64,
    },
    /// Its provider responded to a support ticket in time, or did not.
    Responded(bool),
}

/// The evidence about one tenant, as it weighed at `updated_at`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct TenantScore {
    /// Leases that ended and were paid, against those that it cancelled late.
    pub settled: Beta,
    /// Disputes it won, against those it lost.
    pub disputes: Beta,
    /// When any of this last changed.
    pub updated_at: Moment,
}

/// One thing a tenant did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum TenantConduct {
    /// A lease came to its end and was paid.
    Settled,
    /// Cancelled a task after a host had begun to work on it.
    Cancelled,
    /// Lost a dispute.
    DisputeLost,
    /// Won a dispute.
    DisputeWon,
}

/// The faults of a provider, with their weight at `updated_at`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct FaultRecord {
    /// The gravity of its hosts' faults, each by the host's part of the provider's bonds, in parts per million of a
    /// grave one.
    pub weight: u64,
    /// When this last changed.
    pub updated_at: Moment,
}
