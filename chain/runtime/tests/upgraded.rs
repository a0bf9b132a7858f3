//! A chain in its first blocks after the upgrade from release 3.

mod common;

use common::{next_block, started_with};
use frame_support::{
    storage::unhashed,
    traits::{Hooks, PalletInfoAccess, StorageVersion},
};
use gantry_runtime::{genesis, Agreements, Hosts, Leases, MultiBlockMigrations, Runtime, System, Tasks};
use pallet_gantry_leases::{Agenda, AgendaPages};
use pallet_migrations::MbmIsOngoing;
use serde_json::json;

/// Runs a test on a chain in the last block before the upgrade.
fn before_the_upgrade(test: impl FnOnce()) {
    started_with(genesis::LOCAL, &json!({})).execute_with(|| {
        StorageVersion::new(1).put::<Hosts>();
        StorageVersion::new(1).put::<Tasks>();
        let before = frame_system::LastRuntimeUpgradeInfo { spec_version: 3.into(), spec_name: "gantry".into() };
        frame_system::LastRuntimeUpgrade::<Runtime>::put(before);
        test();
    });
}

#[test]
fn calls_are_accepted_again_once_the_state_is_migrated() {
    before_the_upgrade(|| {
        next_block();
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::Yes, "the upgrade was in this block");
        next_block();
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::No);
        assert_eq!(StorageVersion::get::<Tasks>(), StorageVersion::new(2));
        next_block();
        assert!(System::block_number() > 3);
    });
}

#[test]
fn the_pallet_of_agreements_that_release_3_did_not_have_is_ready_after_the_upgrade() {
    before_the_upgrade(|| {
        let _ = unhashed::clear_prefix(&Agreements::name_hash(), None, None);
        next_block();
        next_block();
        assert_eq!(StorageVersion::get::<Agreements>(), StorageVersion::new(1));
        assert_eq!(Agreements::do_try_state(), Ok(()));
    });
}

#[test]
fn the_agenda_waits_for_the_end_of_the_migration() {
    before_the_upgrade(|| {
        next_block();
        // A lease that has been due for long. There is no such lease, so that its entry goes once it is looked at.
        let bucket = 1u64.to_be_bytes();
        Agenda::<Runtime>::insert(bucket, 0u32.to_be_bytes(), gantry_primitives::UpTo::truncate_from(vec![7]));
        AgendaPages::<Runtime>::insert(bucket, 1);
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::Yes);
        Leases::on_initialize(System::block_number());
        assert!(AgendaPages::<Runtime>::contains_key(bucket), "tasks still have the form of release 3");
        next_block();
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::No);
        assert!(!AgendaPages::<Runtime>::contains_key(bucket));
    });
}
