//! Coins on hold for one lease.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{Balance, BillingUnit, Moment};

/// The coins that a tenant has deposited for one lease, and their use. It is stored inside the lease; the tenant is
/// that of the task, the provider the owner of the host. The rules are in `gantry_primitives::escrow`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Escrow {
    /// The deposit, including top-ups. The amount on hold of the tenant is the deposit less `paid`, while `open`.
    pub deposit: Balance,
    /// What the lease costs now, in base units an hour.
    pub rate_per_hour: Balance,
    /// The unit it is billed by.
    pub unit: BillingUnit,
    /// The amount owed for the segments that are over: a segment is a time at one rate.
    pub accrued: Balance,
    /// When the running segment began; none while nothing is billed.
    pub since: Option<Moment>,
    /// The host's downtime in milliseconds when the running segment began; its growth is not billed.
    pub downtime_mark: u64,
    /// Nothing is billed past this.
    pub until: Option<Moment>,
    /// The amount paid by the tenant, including the fee and payments for storage.
    pub paid: Balance,
    /// The part of it that is the protocol fee, the shares of the scheduler and of settlers included.
    pub fee: Balance,
    /// Whether coins are still held for the time of the pod.
    pub open: bool,
    /// The protocol fee in parts per million of what is paid, fixed when the lease was opened.
    pub fee_ppm: u32,
    /// The scheduler's share in parts per million of the fee, fixed when the lease was opened; 0 where its tenant
    /// opened it.
    pub scheduler_ppm: u32,
    /// The part of the fee that went to the scheduler.
    pub scheduler_fee: Balance,
    /// The part of the fee that went to those whose calls settled or ended the lease.
    pub settler_fee: Balance,
    /// A credit to the tenant that the running segment is lowered by. When the segment ends, [`Self::accrued`] is
    /// lowered instead.
    pub credit: Balance,
    /// While the data of the lease is retained: the coins on hold for the additional time that the tenant paid for.
    pub storage: Option<StorageDeposit>,
}

/// Coins on hold for data that the tenant pays to have retained longer than the lease pays for. They are paid as the
/// time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct StorageDeposit {
    /// How many coins are held.
    pub held: Balance,
    /// They pay for the time from then on until the end of the retention.
    pub since: Moment,
}

/// A protocol fee, by whom it goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fee {
    /// The treasury: the only part that cannot come back to a party of the lease.
    pub treasury: Balance,
    /// The scheduler that opened the lease.
    pub scheduler: Balance,
    /// The account whose call settled or ended the lease.
    pub settler: Balance,
}

/// How the amount owed for the running segment is computed when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Billing {
    /// By the unit of the escrow.
    ByUnit,
    /// Pro rata for any unit, because the host is at fault for the end.
    ProRata,
    /// Nothing more than what has been paid already.
    Forfeit,
}

/// How an escrow was closed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct Settlement {
    /// The total amount paid by the tenant, including the fee.
    pub paid: Balance,
    /// The part of it that is the protocol fee, the shares of the scheduler and of settlers included.
    pub fee: Balance,
    /// The part of the fee that went to the scheduler.
    pub scheduler_fee: Balance,
    /// The part of the fee that went to those whose calls settled or ended the lease.
    pub settler_fee: Balance,
    /// The amount released to the tenant now.
    pub refunded: Balance,
}
