//! Coins held for one lease.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{Balance, BillingUnit, Moment};

/// The coins that a tenant has deposited for one lease, and what became of them. It is kept inside the lease; the
/// tenant is that of the task, the provider the owner of the host. The rules are in `gantry_primitives::escrow`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Escrow {
    /// How many coins were deposited, top-ups included. What is held of the tenant is this less `paid`, while `open`.
    pub deposit: Balance,
    /// What the lease costs now, in base units an hour.
    pub rate_per_hour: Balance,
    /// The unit it is billed by.
    pub unit: BillingUnit,
    /// What is owed for the segments that are over: a segment is a time at one rate.
    pub accrued: Balance,
    /// When the running segment began; none while nothing is billed.
    pub since: Option<Moment>,
    /// The host's downtime in milliseconds when the running segment began; what it has grown by is not billed.
    pub downtime_mark: u64,
    /// Nothing is billed past this.
    pub until: Option<Moment>,
    /// What left the tenant, the fee and what was paid for storage included.
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
    /// While the data of the lease is kept: the coins held for the time that the tenant paid for besides.
    pub storage: Option<StorageDeposit>,
}

/// Coins held for data that its tenant pays to have kept longer than the lease pays for. They are paid as the time passes.
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

/// How what is owed for the running segment is reckoned when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Billing {
    /// By the unit of the escrow.
    ByUnit,
    /// Pro rata whatever the unit, because the host is at fault for the end.
    ProRata,
    /// Nothing more than what has been paid already.
    Forfeit,
}

/// How an escrow was closed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct Settlement {
    /// What left the tenant over the whole time, the fee included.
    pub paid: Balance,
    /// The part of it that is the protocol fee, the shares of the scheduler and of settlers included.
    pub fee: Balance,
    /// The part of the fee that went to the scheduler.
    pub scheduler_fee: Balance,
    /// The part of the fee that went to those whose calls settled or ended the lease.
    pub settler_fee: Balance,
    /// What went back to the tenant now.
    pub refunded: Balance,
}
