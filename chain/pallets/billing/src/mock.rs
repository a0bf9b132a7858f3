//! A runtime with this pallet only, and accounts and calls for tests.

use frame_support::assert_ok;
pub use gantry_mock::{account, SplitMix64, ED, GTY};
use gantry_primitives::{AccountId, Balance};

use crate as pallet_gantry_billing;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Balances: pallet_balances,
        Billing: pallet_gantry_billing,
    }
);

gantry_mock::system!();
gantry_mock::balances!();
gantry_mock::billing!();

pub const FEE_PPM: u32 = 100_000;
/// The scheduler's share of the fee: a fifth.
pub const SCHEDULER_PPM: u32 = 200_000;
/// The settler's share of the fee: a tenth.
pub const SETTLER_PPM: u32 = 100_000;

pub const TENANT: u8 = 1;
pub const PROVIDER: u8 = 2;
/// Someone who has no coins.
pub const NOBODY: u8 = 3;
pub const OTHER_TENANT: u8 = 4;
pub const SCHEDULER: u8 = 5;
pub const SETTLER: u8 = 6;

/// Free and held coins together.
pub fn total_balance(who: &AccountId) -> Balance {
    let data = System::account(who).data;
    data.free + data.reserved
}

/// A chain whose treasury has `treasury` coins.
pub fn new_chain(treasury: Balance) -> sp_io::TestExternalities {
    let mut balances = vec![(account(TENANT), 10 * GTY), (account(OTHER_TENANT), 10 * GTY), (account(PROVIDER), GTY)];
    balances.extend([SCHEDULER, SETTLER].map(|who| (account(who), GTY)));
    if treasury > 0 {
        balances.push((Billing::treasury(), treasury));
    }
    let genesis = RuntimeGenesisConfig {
        balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
        billing: crate::GenesisConfig {
            params: crate::Params {
                fee_ppm: FEE_PPM,
                scheduler_share_ppm: SCHEDULER_PPM,
                settler_share_ppm: SETTLER_PPM,
                ..Default::default()
            },
            ..Default::default()
        },
        ..Default::default()
    };
    gantry_mock::begin::<Test>(genesis)
}

/// Runs a test on a chain whose treasury has `treasury` coins.
pub fn on_chain_with_treasury(treasury: Balance, test: impl FnOnce()) {
    new_chain(treasury).execute_with(|| {
        let issued = pallet_balances::TotalIssuance::<Test>::get();
        test();
        assert_ok!(Billing::do_try_state());
        assert_eq!(gantry_mock::coins::<Test>(), issued, "no coin was made or lost");
    });
}

/// Runs a test on the default chain.
pub fn on_chain(test: impl FnOnce()) {
    on_chain_with_treasury(ED, test);
}
