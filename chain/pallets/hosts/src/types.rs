//! What governs the hosts pallet.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use gantry_primitives::Balance;
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

/// The periods and amounts of the hosts pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// Coins held for each device of a host; a host without devices counts as one with one.
    pub bond_per_device: Balance,
    /// A host says that it is there once in so many milliseconds; free of charge after half of it.
    pub heartbeat_period_ms: u64,
    /// A host that was silent for longer may be reported absent.
    pub absence_limit_ms: u64,
    /// What the reporter of an absent host gets from its bond.
    pub absence_bounty: Balance,
    /// Whether simulated devices may be registered.
    pub allow_simulated: bool,
    /// Whether a new host must be verified before it may come online.
    pub verification_required: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            bond_per_device: 10_000_000_000_000,
            heartbeat_period_ms: 60_000,
            absence_limit_ms: 180_000,
            absence_bounty: 100_000_000_000,
            allow_simulated: false,
            verification_required: false,
        }
    }
}
