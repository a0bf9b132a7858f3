//! Parameters of the billing pallet.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::ensure;
use gantry_primitives::{
    fees::{MAX_FEE_PPM, MAX_SHARES_PPM},
    Balance,
};
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The amounts and periods of the billing pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// The protocol fee of leases that are opened from now on, in parts per million of what they pay; at most 100,000.
    pub fee_ppm: u32,
    /// The last period in milliseconds whose payment is held back until the lease ends.
    pub held_back_ms: u64,
    /// The bounty for closing a lease whose deposit is used up, from the share of its provider.
    pub depletion_bounty: Balance,
    /// The scheduler's share of the fee of leases that it opens from now on, in parts per million of the fee. Both shares
    /// together are at most 500,000.
    pub scheduler_share_ppm: u32,
    /// The share of the fee for the account whose call settles or ends a lease, in parts per million of the fee.
    pub settler_share_ppm: u32,
    /// The least time in milliseconds for which a running lease is credited for broken terms at once.
    pub credit_period_ms: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            fee_ppm: 20_000,
            held_back_ms: 3_600_000,
            depletion_bounty: 10_000_000_000,
            scheduler_share_ppm: 200_000,
            settler_share_ppm: 100_000,
            credit_period_ms: 7 * 24 * 3_600_000,
        }
    }
}

impl Params {
    /// Checks the parameters. Fails with the first invalid one.
    pub fn check<T>(&self) -> Result<(), Error<T>> {
        let shares_ppm = self.scheduler_share_ppm.saturating_add(self.settler_share_ppm);
        ensure!(self.fee_ppm <= MAX_FEE_PPM, Error::FeeTooHigh);
        ensure!(shares_ppm <= MAX_SHARES_PPM, Error::SharesTooHigh);
        Ok(())
    }
}
