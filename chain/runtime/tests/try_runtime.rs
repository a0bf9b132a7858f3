//! The checks of `try-runtime` on the state of a running chain, executed on test chains.

#![cfg(feature = "try-runtime")]

mod common;

use common::{next_block, next_session, started};
use frame_support::traits::{StorageVersion, TryState, TryStateSelect, UpgradeCheckSelect};
use gantry_runtime::{genesis, AllPalletsWithSystem, Executive, Hosts, MultiBlockMigrations, System, Tasks};
use pallet_migrations::MbmIsOngoing;

/// Runs the checks that each pallet has for its state.
fn check() {
    assert_eq!(AllPalletsWithSystem::try_state(System::block_number(), TryStateSelect::All), Ok(()));
}

#[test]
fn the_state_of_every_preset_holds_from_genesis_over_a_change_of_session() {
    for preset in [genesis::DEVELOPMENT, genesis::LOCAL, genesis::STAGING] {
        started(preset).execute_with(|| {
            check();
            next_session();
            check();
        });
    }
}

#[test]
fn the_upgrade_from_release_3_passes_the_checks_before_and_after_it() {
    started(genesis::LOCAL).execute_with(|| {
        StorageVersion::new(1).put::<Hosts>();
        StorageVersion::new(1).put::<Tasks>();
        // Storage versions are those of this release only after the steps, so that they are checked at the end.
        assert!(Executive::try_runtime_upgrade(UpgradeCheckSelect::None).is_ok());
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::Yes);
        // The steps have checks of their own, which panic.
        next_block();
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::No);
        assert_eq!(StorageVersion::get::<Tasks>(), StorageVersion::new(2));
        next_block();
        assert!(Executive::try_runtime_upgrade(UpgradeCheckSelect::All).is_ok(), "and the state can be decoded");
    });
}
