//! What governs the billing pallet.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use gantry_primitives::Balance;
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

/// The amounts and periods of the billing pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// The protocol's part of what is paid, in parts per million; at most one million.
    pub fee_ppm: u32,
    /// What a running lease owes for so many last milliseconds is not paid before it ends.
    pub held_back_ms: u64,
    /// What there is for closing a lease whose deposit is used up, from the share of its provider.
    pub depletion_bounty: Balance,
}

impl Default for Params {
    fn default() -> Self {
        Self { fee_ppm: 20_000, held_back_ms: 3_600_000, depletion_bounty: 10_000_000_000 }
    }
}
