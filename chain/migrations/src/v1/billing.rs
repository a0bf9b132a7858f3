//! Escrows of release 1: one for each lease, in a map of their own. The pallet's `TotalEscrowed` is still as it was.

use super::{tasks::BillingUnit, AccountId, Balance, LeaseId, Moment};
use codec::{Decode, Encode};
use frame_support::{pallet_prelude::*, storage_alias};
use pallet_gantry_billing::{Config, Pallet};

/// Whether coins are still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum EscrowState {
    /// The whole deposit is held.
    Open,
    /// Everyone has what is theirs.
    Closed,
}

/// The coins of a tenant for one lease.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
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

/// What governed the pallet.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BillingParams {
    /// The protocol's part of what is paid, in parts per million.
    pub fee_ppm: u32,
}

/// The escrow of every lease that was ever opened.
#[storage_alias]
pub type Escrows<T: Config> = StorageMap<Pallet<T>, Twox64Concat, LeaseId, Escrow>;

/// The amounts.
#[storage_alias]
pub type Params<T: Config> = StorageValue<Pallet<T>, BillingParams>;
