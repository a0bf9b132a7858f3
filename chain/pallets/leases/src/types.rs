//! Parameters of the leases pallet.

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
    /// The period of notice of a provider that reclaims its resources.
    pub reclaim_notice_ms: u64,
    /// The period for which the data of a rental is retained after its end at no further cost.
    pub retention_ms: u64,
    /// The period after the retention within which a host sends its receipt of the purge; then the lease is purged
    /// without one.
    pub purge_grace_ms: u64,
    /// The longest period, from now on, for which a tenant may pay the retention of data; at least `retention_ms`.
    pub max_kept_ms: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self { reclaim_notice_ms: DAY_MS, retention_ms: 10 * DAY_MS, purge_grace_ms: DAY_MS, max_kept_ms: 90 * DAY_MS }
    }
}
