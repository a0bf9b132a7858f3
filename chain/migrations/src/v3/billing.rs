//! Billing of release 3.

use codec::{Decode, Encode};
use gantry_primitives::Balance;

/// See `pallet_gantry_billing::Params`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Params {
    /// The protocol fee in parts per million; at most one million.
    pub fee_ppm: u32,
    /// What a running lease owes for so many last milliseconds is not paid before it ends.
    pub held_back_ms: u64,
    /// What there is for closing a lease whose deposit is used up.
    pub depletion_bounty: Balance,
}
