//! Scores of release 1.

use super::{HostId, Moment};
use codec::{Decode, Encode};
use frame_support::{pallet_prelude::*, storage_alias};
use pallet_gantry_reputation::{Config, Pallet};

/// Evidence for and against, in parts per million of one observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Beta {
    /// For.
    pub positive: u64,
    /// Against.
    pub negative: u64,
}

/// The evidence about one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct HostScore {
    /// Leases it started and completed, against those it started and did not.
    pub completed: Beta,
    /// Leases it started, against those it did not.
    pub started: Beta,
    /// Never written by release 1.
    pub uptime: Beta,
    /// How many of its leases were settled.
    pub settled_leases: u32,
    /// When any of this last changed.
    pub updated_at: Moment,
}

/// The evidence about every host that there is any about.
#[storage_alias]
pub type HostScores<T: Config> = StorageMap<Pallet<T>, Blake2_128Concat, HostId, HostScore>;
