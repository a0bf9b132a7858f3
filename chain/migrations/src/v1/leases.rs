//! Leases of release 1: a record for each lease that was ever opened, in a map of their own.

use super::{
    tasks::{HostFailure, PodResult, Resources},
    AccountId, Balance, DeviceIndices, HostId, LeaseId, Moment, TaskId,
};
use codec::{Decode, Encode};
use frame_support::{pallet_prelude::*, storage_alias};
use pallet_gantry_leases::{Config, Pallet};

/// Why a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum EndReason {
    /// The pod reported its result.
    Completed,
    /// The tenant cancelled the task.
    Cancelled,
    /// The host refused.
    HostRefused(HostFailure),
    /// The pod was not started in time.
    StartTimeout,
    /// The host was lost.
    HostLost,
    /// The pod ran for too long.
    DurationExceeded,
    /// Another pod of the same task could not go on.
    GangAborted,
}

/// Where a lease stands; only the first two and `Ended` were ever reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum LeaseState {
    /// Waits for the pod's start.
    Pending,
    /// The pod runs and is billed.
    Active,
    /// Never reached in release 1.
    Suspended,
    /// The pod is gone.
    Ended(EndReason),
    /// Never reached in release 1.
    Retained(Moment),
    /// Never reached in release 1.
    Purged,
}

/// An opened lease.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LeaseRecord {
    /// The task it is for.
    pub task: TaskId,
    /// Which pod of the task.
    pub pod: u16,
    /// Which attempt of the task.
    pub attempt: u8,
    /// The host that runs the pod.
    pub host: HostId,
    /// Who owned the host, and is paid.
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

/// The number of the next lease.
#[storage_alias]
pub type NextLeaseId<T: Config> = StorageValue<Pallet<T>, LeaseId>;

/// Every lease that was ever opened.
#[storage_alias]
pub type Leases<T: Config> = StorageMap<Pallet<T>, Twox64Concat, LeaseId, LeaseRecord>;

/// The live leases of a host.
#[storage_alias]
pub type ByHost<T: Config> = StorageDoubleMap<Pallet<T>, Blake2_128Concat, HostId, Twox64Concat, LeaseId, ()>;
