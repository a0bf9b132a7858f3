//! A runtime of the pallets of the network, and accounts.

use frame_support::{
    derive_impl,
    traits::{ConstU64, VariantCountOf},
};
use frame_system::EnsureRoot;
use gantry_primitives::{AccountId, Balance, Bytes, Moment};
use sp_runtime::{traits::IdentityLookup, BuildStorage};

pub type Block = frame_system::mocking::MockBlock<Test>;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Timestamp: pallet_timestamp,
        Balances: pallet_balances,
        Hosts: pallet_gantry_hosts,
        Tasks: pallet_gantry_tasks,
        Leases: pallet_gantry_leases,
        Billing: pallet_gantry_billing,
        Reputation: pallet_gantry_reputation,
    }
);

#[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
impl frame_system::Config for Test {
    type Block = Block;
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
    type ExistentialDeposit = frame_support::traits::ConstU128<ED>;
    type AccountStore = System;
    type RuntimeHoldReason = RuntimeHoldReason;
    type RuntimeFreezeReason = RuntimeFreezeReason;
    type FreezeIdentifier = RuntimeFreezeReason;
    type MaxFreezes = VariantCountOf<RuntimeFreezeReason>;
}

frame_support::parameter_types! {
    pub Treasury: AccountId = Billing::treasury();
}

impl pallet_gantry_hosts::Config for Test {
    type AdminOrigin = EnsureRoot<AccountId>;
    type Currency = Balances;
    type RuntimeHoldReason = RuntimeHoldReason;
    type Time = Timestamp;
    type Treasury = Treasury;
    type WeightInfo = ();
}

impl pallet_gantry_leases::Config for Test {
    type Time = Timestamp;
    type Keeper = Tasks;
    type AdminOrigin = EnsureRoot<AccountId>;
    type WeightInfo = ();
}

impl pallet_gantry_billing::Config for Test {
    type Currency = Balances;
    type RuntimeHoldReason = RuntimeHoldReason;
    type AdminOrigin = EnsureRoot<AccountId>;
    type WeightInfo = ();
}

impl pallet_gantry_reputation::Config for Test {}

impl pallet_gantry_tasks::Config for Test {
    type Currency = Balances;
    type RuntimeHoldReason = RuntimeHoldReason;
    type AdminOrigin = EnsureRoot<AccountId>;
    type WeightInfo = ();
}

/// One coin.
pub const GTY: Balance = 1_000_000_000_000;
/// The time at which every test begins.
pub const START: Moment = 1_700_000_000_000;

/// Everyone who has coins at genesis.
pub const TENANT: u8 = 1;
pub const OTHER_TENANT: u8 = 2;
pub const PROVIDER: u8 = 3;
pub const OTHER_PROVIDER: u8 = 4;
pub const SCHEDULER: u8 = 5;
pub const ANYONE: u8 = 6;

pub fn account(who: u8) -> AccountId {
    AccountId::new([who; 32])
}

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

pub fn bytes<const N: u32>(text: &str) -> Bytes<N> {
    text.as_bytes().to_vec().try_into().expect("the text fits")
}

pub fn now() -> Moment {
    Hosts::now()
}

/// Time passes.
pub fn advance(ms: u64) {
    pallet_timestamp::Now::<Test>::put(now() + ms);
}

/// Every pallet's invariants, and that no coin was made or lost.
pub fn check_everything() {
    Hosts::do_try_state().expect("hosts hold");
    Leases::do_try_state().expect("leases hold");
    Billing::do_try_state().expect("coins hold");
    Reputation::do_try_state().expect("scores hold");
    Tasks::do_try_state().expect("tasks hold");
    let sum: Balance =
        frame_system::Account::<Test>::iter_values().map(|account| account.data.free + account.data.reserved).sum();
    assert_eq!(sum, pallet_balances::TotalIssuance::<Test>::get(), "the sum of all accounts is the total issuance");
}

/// A chain of today from its genesis.
pub fn chain() -> sp_io::TestExternalities {
    let mut balances: Vec<_> = (TENANT..=ANYONE).map(|who| (account(who), 1_000_000 * GTY)).collect();
    balances.push((Billing::treasury(), ED));
    let genesis = RuntimeGenesisConfig {
        balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
        ..Default::default()
    };
    let mut externalities: sp_io::TestExternalities = genesis.build_storage().expect("genesis is sound").into();
    externalities.execute_with(|| {
        System::set_block_number(1);
        pallet_timestamp::Now::<Test>::put(START);
    });
    externalities
}
