//! Transactions whose signature contains the hash of the metadata with which the signer decoded them.

mod common;

use common::{signed_with, started, Terms};
use frame_support::{assert_ok, dispatch::GetDispatchInfo};
use gantry_metadata_hash::metadata_hash;
use gantry_runtime::{genesis, Executive, Runtime, RuntimeCall, UncheckedExtrinsic};
use sp_keyring::Sr25519Keyring;
use sp_runtime::{
    traits::{Applyable, Checkable},
    transaction_validity::{InvalidTransaction, TransactionValidityError, UnknownTransaction},
};

/// The hash of the runtime under test.
fn own_hash() -> [u8; 32] {
    metadata_hash(&Runtime::metadata_at_version(15).expect("it has format 15")).expect("it can be hashed")
}

fn remark_of_alice(terms: Terms) -> UncheckedExtrinsic {
    let alice = Sr25519Keyring::Alice;
    let remark = RuntimeCall::System(frame_system::Call::remark { remark: vec![1; 10] });
    signed_with(alice.to_account_id(), |payload| alice.sign(payload).into(), terms, remark)
}

#[test]
fn a_signature_over_the_hash_of_the_runtime_is_accepted_and_one_over_another_refused() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let (right, wrong) = (own_hash(), [7; 32]);
        let checked = |signed| {
            let terms = Terms { metadata_hashes: Some((right, signed)), ..Default::default() };
            remark_of_alice(terms).check(&frame_system::ChainContext::<Runtime>::default())
        };
        let refusal = checked(wrong).map(|_| ()).expect_err("Alice has read other metadata");
        assert_eq!(refusal, InvalidTransaction::BadProof.into());
        let accepted = checked(right).expect("she has read those of the runtime");
        let (info, length) = (accepted.get_dispatch_info(), 200);
        assert_ok!(accepted.apply::<Runtime>(&info, length).expect("valid"));
    });
}

#[test]
fn a_runtime_without_a_hash_takes_no_signature_over_one() {
    use codec::{Decode, Encode};
    started(genesis::DEVELOPMENT).execute_with(|| {
        let terms = Terms { metadata_hashes: Some((own_hash(), own_hash())), ..Default::default() };
        // On its way it loses the hash that the test gave the runtime. Runtimes for tests are compiled without one.
        let received =
            UncheckedExtrinsic::decode(&mut &remark_of_alice(terms).encode()[..]).expect("it is well formed");
        assert_eq!(
            Executive::apply_extrinsic(received),
            Err(TransactionValidityError::Unknown(UnknownTransaction::CannotLookup))
        );
        assert_ok!(Executive::apply_extrinsic(remark_of_alice(Terms::default())).expect("without a hash it is valid"));
    });
}

#[test]
fn the_hash_is_the_same_from_the_metadata_of_the_release_folder_and_from_that_of_wallets() {
    sp_io::TestExternalities::new_empty().execute_with(|| {
        assert_eq!(metadata_hash(&Runtime::metadata_at_version(14).expect("it has format 14")), Ok(own_hash()));
        assert!(metadata_hash(&Runtime::metadata_at_version(16).expect("it has format 16")).is_err());
    });
}
