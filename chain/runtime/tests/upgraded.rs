//! A chain that comes from release 1, which had none of the pallets that are new since.

mod common;

use common::{next_block, next_session, started_with};
use frame_support::assert_ok;
use gantry_runtime::{genesis, Babe, MultiBlockMigrations, Runtime, RuntimeOrigin, Session, System, Validators};
use pallet_migrations::MbmIsOngoing;
use serde_json::json;
use sp_io::hashing::twox_128;
use sp_keyring::Sr25519Keyring::{Alice, Bob};

/// What release 1 did not have.
const NEW: [&str; 6] = ["Validators", "Council", "Governance", "Historical", "Offences", "MultiBlockMigrations"];

/// Runs a test on a chain of two validators in the first block after its upgrade.
fn upgraded(test: impl FnOnce()) {
    let mut chain = started_with(genesis::LOCAL, &json!({ "validators": { "epochSlots": 300 } }));
    chain.execute_with(|| {
        for pallet in NEW {
            let _ = sp_io::storage::clear_prefix(&twox_128(pallet.as_bytes()), None);
        }
        let before = frame_system::LastRuntimeUpgradeInfo { spec_version: 1.into(), spec_name: "gantry".into() };
        frame_system::LastRuntimeUpgrade::<Runtime>::put(before);
        next_block();
        test();
    });
}

#[test]
fn its_validators_go_on_from_session_to_session() {
    upgraded(|| {
        let both = Session::validators();
        assert_eq!(both.len(), 2);
        next_session();
        assert_eq!(Session::validators(), both);
        assert_eq!(Babe::authorities().len(), 2);
        assert_eq!(pallet_gantry_validators::EpochSlots::<Runtime>::get(), 300);
        assert_ok!(Validators::do_try_state());
    });
}

#[test]
fn a_validator_leaves_it_as_it_leaves_any_chain() {
    upgraded(|| {
        next_block();
        assert_ok!(Validators::remove(RuntimeOrigin::root(), Bob.to_account_id()));
        next_session();
        next_session();
        assert_eq!(Session::validators(), [Alice.to_account_id()]);
    });
}

#[test]
fn it_takes_calls_again_once_it_is_migrated() {
    upgraded(|| {
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::Yes, "the upgrade was in this block");
        next_block();
        assert_eq!(MultiBlockMigrations::ongoing_status(), MbmIsOngoing::No);
        assert_eq!(pallet_migrations::Historic::<Runtime>::iter().count(), 1);
        next_block();
        assert!(System::block_number() > 3);
    });
}
