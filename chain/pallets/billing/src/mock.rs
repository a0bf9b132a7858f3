//! A runtime of this pallet alone, and the accounts and calls that tests are made of.

use frame_support::{
    assert_ok, derive_impl,
    traits::{ConstU128, VariantCountOf},
};
use gantry_primitives::{AccountId, Balance};
use sp_runtime::{traits::IdentityLookup, BuildStorage};

use crate as pallet_gantry_billing;

pub type Block = frame_system::mocking::MockBlock<Test>;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Balances: pallet_balances,
        Billing: pallet_gantry_billing,
    }
);

#[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
impl frame_system::Config for Test {
    type Block = Block;
    type AccountId = AccountId;
    type Lookup = IdentityLookup<AccountId>;
    type AccountData = pallet_balances::AccountData<Balance>;
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

/// One coin.
pub const GTY: Balance = 1_000_000_000_000;
pub const FEE_PPM: u32 = 100_000;

pub const TENANT: u8 = 1;
pub const PROVIDER: u8 = 2;
/// Someone who has no coins.
pub const NOBODY: u8 = 3;
pub const OTHER_TENANT: u8 = 4;

pub fn account(who: u8) -> AccountId {
    AccountId::new([who; 32])
}

/// Free and held coins together.
pub fn worth(who: &AccountId) -> Balance {
    let data = System::account(who).data;
    data.free + data.reserved
}

/// A chain whose treasury has `treasury` coins.
pub fn new_chain(treasury: Balance) -> sp_io::TestExternalities {
    let mut balances = vec![(account(TENANT), 10 * GTY), (account(OTHER_TENANT), 10 * GTY), (account(PROVIDER), GTY)];
    if treasury > 0 {
        balances.push((Billing::treasury(), treasury));
    }
    let genesis = RuntimeGenesisConfig {
        balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
        billing: crate::GenesisConfig {
            params: crate::Params { fee_ppm: FEE_PPM, ..Default::default() },
            ..Default::default()
        },
        ..Default::default()
    };
    let mut externalities: sp_io::TestExternalities = genesis.build_storage().expect("genesis is sound").into();
    externalities.execute_with(|| System::set_block_number(1));
    externalities
}

/// Runs a test on a chain whose treasury has `treasury` coins.
pub fn on_chain_with_treasury(treasury: Balance, test: impl FnOnce()) {
    new_chain(treasury).execute_with(|| {
        let issued = pallet_balances::TotalIssuance::<Test>::get();
        test();
        assert_ok!(Billing::do_try_state());
        let sum: Balance =
            frame_system::Account::<Test>::iter_values().map(|account| account.data.free + account.data.reserved).sum();
        assert_eq!(sum, issued, "no coin was made or lost");
    });
}

/// Runs a test on the default chain.
pub fn on_chain(test: impl FnOnce()) {
    on_chain_with_treasury(ED, test);
}
