//! What governs the leases pallet.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

const DAY_MS: u64 = 24 * 3_600_000;

/// The periods of the leases pallet, in milliseconds.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// A provider that wants its resources back gives notice of so long.
    pub reclaim_notice_ms: u64,
    /// The data of a rental is kept for so long after its end, at no further cost.
    pub retention_ms: u64,
    /// A host has so long after that for its receipt of the purge; then the lease is purged without one.
    pub purge_grace_ms: u64,
    /// A tenant may pay to have data kept for so long from then on; at least `retention_ms`.
    pub max_kept_ms: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self { reclaim_notice_ms: DAY_MS, retention_ms: 10 * DAY_MS, purge_grace_ms: DAY_MS, max_kept_ms: 90 * DAY_MS }
    }
}
