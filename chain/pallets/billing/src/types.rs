//! What governs the billing pallet.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

/// The amounts of the billing pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// The protocol's part of what is paid, in parts per million; at most one million.
    pub fee_ppm: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { fee_ppm: 20_000 }
    }
}
