//! A runtime of leases and billing, and a small keeper that has its leases in a map: what is tested with it is this
//! pallet alone. With the tasks pallet as keeper it is tested there.

use frame_support::{
    assert_ok, derive_impl,
    dispatch::DispatchResult,
    ensure, parameter_types,
    traits::{ConstU128, ConstU64, OnFinalize, OnIdle, OnInitialize, VariantCountOf},
    weights::Weight,
};
use gantry_primitives::{
    transitions::{allows, LEASE_TRANSITIONS},
    *,
};
use pallet_gantry_billing::Ledger;
use sp_runtime::{traits::IdentityLookup, BuildStorage, DispatchError, Perbill};
use std::{cell::RefCell, collections::BTreeMap};

use crate as pallet_gantry_leases;
use crate::{Keeper, Kept};

pub type Block = frame_system::mocking::MockBlock<Test>;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Timestamp: pallet_timestamp,
        Balances: pallet_balances,
        Billing: pallet_gantry_billing,
        Leases: pallet_gantry_leases,
    }
);

parameter_types! {
    pub BlockWeights: frame_system::limits::BlockWeights = frame_system::limits::BlockWeights::with_sensible_defaults(
        Weight::from_parts(2_000_000_000_000, u64::MAX), Perbill::from_percent(75));
}

#[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
impl frame_system::Config for Test {
    type Block = Block;
    type BlockWeights = BlockWeights;
    type AccountId = AccountId;
    type Lookup = IdentityLookup<AccountId>;
    type AccountData = pallet_balances::AccountData<Balance>;
}

#[derive_impl(pallet_timestamp::config_preludes::TestDefaultConfig)]
impl pallet_timestamp::Config for Test {
    type MinimumPeriod = ConstU64<1>;
}

/// The existential deposit.
pub const ED: Balance = 1_000_000_000;

#[derive_impl(pallet_balances::config_preludes::TestDefaultConfig)]
impl pallet_balances::Config for Test {
    type Balance = Balance;
    type ExistentialDeposit = ConstU128<ED>;
    type AccountStore = System;
    type RuntimeHoldReason = RuntimeHoldReason;
    type RuntimeFreezeReason = RuntimeFreezeReason;
    type FreezeIdentifier = RuntimeFreezeReason;
    type MaxFreezes = VariantCountOf<RuntimeFreezeReason>;
}

impl pallet_gantry_billing::Config for Test {
    type Currency = Balances;
    type RuntimeHoldReason = RuntimeHoldReason;
    type AdminOrigin = frame_system::EnsureRoot<AccountId>;
    type WeightInfo = ();
}

impl pallet_gantry_leases::Config for Test {
    type Time = Timestamp;
    type Keeper = Shelf;
    type AdminOrigin = frame_system::EnsureRoot<AccountId>;
    type WeightInfo = ();
}

pub const GTY: Balance = 1_000_000_000_000;
pub const START: Moment = 1_800_000_000_000;
pub const HOUR: u64 = 3_600_000;
pub const DAY: u64 = 24 * HOUR;
pub const NOTICE: u64 = 2 * HOUR;
pub const RETENTION: u64 = 10 * DAY;
pub const GRACE: u64 = DAY;
pub const MAX_KEPT: u64 = 30 * DAY;
pub const HELD_BACK: u64 = HOUR / 2;
pub const BOUNTY: Balance = GTY / 100;
pub const FEE_PPM: u32 = 100_000;
/// What a lease of the tests costs an hour, running and suspended.
pub const RATE: Balance = GTY;
pub const STORAGE_RATE: Balance = GTY / 10;

pub const TENANT: u8 = 1;
pub const PROVIDER: u8 = 2;
pub const ANYONE: u8 = 3;
/// Someone who has no coins.
pub const NOBODY: u8 = 4;
pub const HOST: u8 = 10;

pub fn account(who: u8) -> AccountId {
    AccountId::new([who; 32])
}

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

std::thread_local! {
    static SHELF: RefCell<BTreeMap<LeaseId, Kept>> = const { RefCell::new(BTreeMap::new()) };
    static ENDED: RefCell<Vec<(LeaseId, EndReason)>> = const { RefCell::new(Vec::new()) };
    static REFUSING: RefCell<bool> = const { RefCell::new(false) };
}
