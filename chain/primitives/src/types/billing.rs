//! Coins held for one lease.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{AccountId, Balance, BillingUnit, Moment};

/// Whether coins are still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum EscrowState {
    /// The deposit is held on the tenant's account.
    Open,
    /// Everyone has what is theirs.
    Closed,
}

/// The coins of a tenant for one lease.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Escrow {
    /// Whose coins they are.
    pub tenant: AccountId,
    /// Who is paid from them.
    pub provider: AccountId,
    /// How many were held when it was opened.
    pub deposit: Balance,
    /// What the lease costs, in base units an hour.
    pub rate_per_hour: Balance,
    /// The unit it is billed by.
    pub unit: BillingUnit,
    /// When billing began.
    pub started_at: Option<Moment>,
    /// When the lease has used what was deposited.
    pub depletes_at: Option<Moment>,
    /// What left the tenant, the fee included.
    pub paid: Balance,
    /// The part of it that went to the treasury.
    pub fee: Balance,
    /// Whether coins are still held.
    pub state: EscrowState,
}

/// What a lease is to be charged when its escrow closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Charge {
    /// Nothing: the pod never ran, or its host is to blame and gets nothing.
    Nothing,
    /// For so many milliseconds, by the escrow's unit.
    Time(u64),
    /// For so many milliseconds, pro rata whatever the unit.
    ProRata(u64),
    /// All that was deposited.
    Everything,
}

/// How an escrow was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Settlement {
    /// What left the tenant, the fee included.
    pub paid: Balance,
    /// The part of it that went to the treasury.
    pub fee: Balance,
    /// What went back to the tenant.
    pub refunded: Balance,
}
