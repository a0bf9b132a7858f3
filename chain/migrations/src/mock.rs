//! A runtime of all of Gantry's pallets that have something to migrate, and accounts.

pub use gantry_mock::{account, bytes, Dice, ED, GTY};
use gantry_primitives::Moment;

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

gantry_mock::network!();

/// The time at which every test begins.
pub const START: Moment = 1_700_000_000_000;

/// Everyone who has coins at genesis.
pub const TENANT: u8 = 1;
pub const OTHER_TENANT: u8 = 2;
pub const PROVIDER: u8 = 3;
pub const OTHER_PROVIDER: u8 = 4;
pub const SCHEDULER: u8 = 5;
pub const ANYONE: u8 = 6;

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

pub fn now() -> Moment {
    Hosts::now()
}

/// Time passes.
pub fn advance(ms: u64) {
    pallet_timestamp::Now::<Test>::put(now() + ms);
}

/// A chain of today from its genesis.
pub fn chain() -> sp_io::TestExternalities {
    let mut balances: Vec<_> = (TENANT..=ANYONE).map(|who| (account(who), 1_000_000 * GTY)).collect();
    balances.push((Billing::treasury(), ED));
    let genesis = RuntimeGenesisConfig {
        balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
        ..Default::default()
    };
    gantry_mock::begin_at::<Test>(genesis, START)
}
