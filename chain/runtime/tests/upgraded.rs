//! A chain in its first blocks after the upgrade from release 3.

mod common;

use common::{next_block, started_with};
use frame_support::traits::StorageVersion;
use gantry_runtime::{genesis, Hosts, MultiBlockMigrations, Runtime, System, Tasks};
use pallet_migrations::MbmIsOngoing;
use serde_json::json;

#[test]
fn calls_are_accepted_again_once_the_state_is_migrated() {
    let mut chain = started_with(genesis::LOCAL, &json!({}));
    chain.execute_with(|| {
        StorageVersion::new(1).put::<Hosts>();
        StorageVersion::new(1).put::<Tasks>();
        let before = frame_system::LastRuntimeUpgradeInfo { spec_version: 3.into(), spec_name: "gantry".into() };
        frame_system::LastRuntimeUpgrade::<Runtime>::put(before);
        next_block();
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::Yes, "the upgrade was in this block");
        next_block();
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::No);
        assert_eq!(StorageVersion::get::<Tasks>(), StorageVersion::new(2));
        next_block();
        assert!(System::block_number() > 3);
    });
}
