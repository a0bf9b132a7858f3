//! What governs the tasks pallet.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use gantry_primitives::Balance;
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

/// The periods and amounts of the tasks pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// A pod must start within so many milliseconds after its lease was opened.
    pub start_timeout_ms: u64,
    /// A result that nobody accepts counts as accepted after so many milliseconds.
    pub dispute_window_ms: u64,
    /// A task fails when so many attempts have come to nothing; at least 1.
    pub max_attempts: u8,
    /// Coins held for a scheduler.
    pub scheduler_bond: Balance,
    /// Coins held for a task while the chain keeps its manifest.
    pub deposit_base: Balance,
    /// Coins held besides for each byte of the manifest.
    pub deposit_per_byte: Balance,
    /// The longest duration that a task may ask for, in milliseconds.
    pub max_duration_ms: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            start_timeout_ms: 300_000,
            dispute_window_ms: 3_600_000,
            max_attempts: 3,
            scheduler_bond: 100_000_000_000_000,
            deposit_base: 10_000_000_000,
            deposit_per_byte: 10_000_000,
            max_duration_ms: 30 * 24 * 3_600_000,
        }
    }
}
