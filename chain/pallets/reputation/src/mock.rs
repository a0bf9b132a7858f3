//! A runtime with this pallet only.

use frame_support::{assert_ok, derive_impl};
pub use gantry_mock::account;
use gantry_primitives::AccountId;
use sp_runtime::traits::IdentityLookup;

use crate as pallet_gantry_reputation;

pub type Block = frame_system::mocking::MockBlock<Test>;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Reputation: pallet_gantry_reputation,
    }
);

#[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
impl frame_system::Config for Test {
    type Block = Block;
    type AccountId = AccountId;
    type Lookup = IdentityLookup<AccountId>;
}

impl pallet_gantry_reputation::Config for Test {}

/// Runs a test on an empty chain.
pub fn on_chain(test: impl FnOnce()) {
    gantry_mock::begin::<Test>(RuntimeGenesisConfig::default()).execute_with(|| {
        test();
        assert_ok!(Reputation::do_try_state());
    });
}
