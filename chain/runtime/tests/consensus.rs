//! Validators of the whole runtime: epochs, session keys, equivocation.

mod common;

use codec::Encode;
use common::{externalities_of, next_block, next_block_by, next_session, open_in, started, started_with, FIRST_SLOT};
use frame_support::{
    assert_ok,
    traits::{fungible::InspectHold, KeyOwnerProofSystem, Time},
};
use gantry_runtime::{
    genesis, AccountId, Babe, Executive, Grandpa, Header, Historical, Runtime, RuntimeOrigin, Session, SessionKeys,
    System, Timestamp, Validators,
};
use pallet_gantry_validators::{RemovalReason, Validators as Listed};
use serde_json::json;
use sp_consensus_babe::digests::{PreDigest, SecondaryPlainPreDigest};
use sp_core::{ed25519, sr25519, Pair};
use sp_keyring::{Ed25519Keyring, Sr25519Keyring};
use sp_runtime::{traits::Header as _, transaction_validity::TransactionSource, Digest, DigestItem};

/// A header that somebody sealed for the first slot of the chain. `salt` tells two of them apart.
fn sealed(by: &sr25519::Pair, author: u32, salt: u8) -> Header {
    let claim =
        PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index: author, slot: common::FIRST_SLOT.into() });
    let digest = Digest { logs: vec![DigestItem::PreRuntime(sp_consensus_babe::BABE_ENGINE_ID, claim.encode())] };
    let mut header = Header::new(1, [salt; 32].into(), Default::default(), Default::default(), digest);
    let signature: sp_consensus_babe::AuthoritySignature = by.sign(header.hash().as_ref()).into();
    header.digest_mut().push(DigestItem::Seal(sp_consensus_babe::BABE_ENGINE_ID, signature.encode()));
    header
}

/// The place of an account among the validators of this session.
fn place(who: &AccountId) -> u32 {
    Session::validators().iter().position(|validator| validator == who).expect("it validates") as u32
}

#[test]
fn an_epoch_is_as_long_as_genesis_says() {
    started_with(genesis::STAGING, &json!({ "validators": { "epochSlots": 7 } })).execute_with(|| {
        next_session();
        assert_eq!(System::block_number(), 1 + 7);
        next_session();
        assert_eq!(System::block_number(), 1 + 14);
        assert_eq!(Babe::current_epoch().duration, 7);
    });
}

#[test]
fn a_block_author_that_made_two_blocks_for_a_slot_is_disabled_and_loses_its_place() {
    started(genesis::STAGING).execute_with(|| {
        let offender = Sr25519Keyring::Bob.to_account_id();
        let (pair, author) = (Sr25519Keyring::Bob.pair(), place(&offender));
        let equivocation_proof = Box::new(sp_consensus_babe::EquivocationProof {
            offender: Sr25519Keyring::Bob.public().into(),
            slot: common::FIRST_SLOT.into(),
            first_header: sealed(&pair, author, 1),
            second_header: sealed(&pair, author, 2),
        });
        let key: sp_consensus_babe::AuthorityId = Sr25519Keyring::Bob.public().into();
        let key_owner_proof = Historical::prove((sp_consensus_babe::KEY_TYPE, key)).expect("Bob validates");
        let call = pallet_babe::Call::<Runtime>::report_equivocation_unsigned {
            equivocation_proof: equivocation_proof.clone(),
            key_owner_proof: key_owner_proof.clone(),
        };
        assert_ok!(Babe::validate_unsigned(TransactionSource::Local, &call));
        assert!(Babe::validate_unsigned(TransactionSource::External, &call).is_err());
        let report = || {
            let (proof, owner) = (equivocation_proof.clone(), key_owner_proof.clone());
            Babe::report_equivocation_unsigned(RuntimeOrigin::none(), proof, owner)
        };
        assert_ok!(report());
        assert!(report().is_err(), "a deed is reported once");
        let reason = RemovalReason::Equivocated;
        let removed = pallet_gantry_validators::Event::Removed { validator: offender.clone(), reason };
        System::assert_has_event(removed.into());
        assert_eq!(Session::disabled_validators(), vec![author]);
        for _ in 0..2 {
            // Others make the blocks from here.
            let other = (author + 1) % 4;
            let now = Session::current_index();
            while Session::current_index() == now {
                next_block_by(if Session::validators().len() == 4 { other } else { 0 });
            }
        }
        assert!(!Session::validators().contains(&offender));
        assert_eq!(Session::disabled_validators(), Vec::<u32>::new());
    });
}

#[test]
fn a_voter_that_voted_for_two_blocks_in_a_round_loses_its_place_even_sessions_later() {
    started_with(genesis::STAGING, &json!({ "validators": { "epochSlots": 5 } })).execute_with(|| {
        let key: sp_consensus_grandpa::AuthorityId = Ed25519Keyring::Bob.public().into();
        let owner = Historical::prove((sp_consensus_grandpa::KEY_TYPE, key.clone())).expect("Bob validates");
        let (round, set) = (3, pallet_grandpa::CurrentSetId::<Runtime>::get());
        let vote = |salt: u8| {
            let prevote = sp_consensus_grandpa::Prevote::<Header>::new([salt; 32].into(), 1);
            let message = sp_consensus_grandpa::Message::<Header>::Prevote(prevote.clone());
            let pair: ed25519::Pair = Ed25519Keyring::Bob.pair();
            let payload = sp_consensus_grandpa::localized_payload(round, set, &message);
            (prevote, sp_consensus_grandpa::AuthoritySignature::from(pair.sign(&payload)))
        };
        next_session();
        next_session();
        let equivocation =
            finality_grandpa::Equivocation { round_number: round, identity: key, first: vote(1), second: vote(2) };
        let proof = sp_consensus_grandpa::EquivocationProof::new(
            set,
            sp_consensus_grandpa::Equivocation::Prevote(equivocation),
        );
        assert_ok!(Grandpa::report_equivocation_unsigned(RuntimeOrigin::none(), Box::new(proof), owner));
        assert!(!Listed::<Runtime>::get().contains(&Sr25519Keyring::Bob.to_account_id()));
    });
}

#[test]
fn an_account_sets_session_keys_for_a_deposit_and_is_added() {
    started(genesis::STAGING).execute_with(|| {
        let owner = Sr25519Keyring::Eve.to_account_id();
        let (babe, grandpa) = (sr25519::Pair::from_seed(&[9; 32]), ed25519::Pair::from_seed(&[9; 32]));
        let keys = SessionKeys { babe: babe.public().into(), grandpa: grandpa.public().into() };
        let statement = sp_core::proof_of_possession::statement_of_ownership(&owner.encode());
        let proof = (babe.sign(&statement), grandpa.sign(&statement)).encode();
        assert_ok!(Session::set_keys(RuntimeOrigin::signed(owner.clone()), keys.clone(), proof));
        let held = <gantry_runtime::Balances as InspectHold<AccountId>>::total_balance_on_hold(&owner);
        assert_eq!(held, <Runtime as pallet_session::Config>::KeyDeposit::get());
        assert_ok!(Validators::add(RuntimeOrigin::root(), owner.clone()));
        next_session();
        next_session();
        assert!(Session::validators().contains(&owner));
        assert!(Babe::authorities().iter().any(|(key, _)| *key == keys.babe));
        // GRANDPA changes when the first block of the session ends.
        next_block();
        assert!(Grandpa::grandpa_authorities().iter().any(|(key, _)| *key == keys.grandpa));
    });
}

#[test]
fn metadata_is_the_same_whatever_the_lengths_of_epochs_and_slots() {
    let metadata = |slots: u64, slot_ms: u64| {
        let patch = json!({ "validators": { "epochSlots": slots, "slotMs": slot_ms } });
        externalities_of(genesis::STAGING, &patch).execute_with(|| {
            <Runtime as sp_api::runtime_decl_for_metadata::Metadata<gantry_runtime::Block>>::metadata().encode()
        })
    };
    assert_eq!(metadata(7, 300), metadata(300, 2_000));
}

#[test]
fn slots_are_as_long_as_genesis_says() {
    let patch = json!({ "validators": { "slotMs": 300 } });
    externalities_of(genesis::DEVELOPMENT, &patch).execute_with(|| {
        assert_eq!(Babe::slot_duration(), 300);
        let configuration =
            <Runtime as sp_consensus_babe::runtime_decl_for_babe_api::BabeApi<gantry_runtime::Block>>::configuration();
        assert_eq!(configuration.slot_duration, 300);
        let genesis = Header::new(0, Default::default(), Default::default(), Default::default(), Default::default());
        open_in(FIRST_SLOT, FIRST_SLOT * 300, 1, genesis, 0);
        let first = Executive::finalize_block();
        open_in(FIRST_SLOT + 1, (FIRST_SLOT + 1) * 300, 2, first, 0);
        assert_eq!(<Timestamp as Time>::now(), (FIRST_SLOT + 1) * 300);
    });
}

#[test]
fn a_slot_that_babe_cannot_halve_is_refused() {
    let build = |slot_ms: u64| {
        std::panic::catch_unwind(|| {
            drop(externalities_of(genesis::STAGING, &json!({ "validators": { "slotMs": slot_ms } })));
        })
    };
    assert!(build(301).is_err() && build(50).is_err() && build(70_000).is_err());
    assert!(build(302).is_ok());
}
