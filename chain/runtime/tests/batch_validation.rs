//! Checks of several transactions in one call: each answer is that of a call of its own.

mod common;

use codec::Encode;
use common::{signed_with, started, Terms};
use gantry_runtime::{genesis, Balances, Block, Executive, Hash, Runtime, RuntimeCall, UncheckedExtrinsic, GTY};
use gantry_runtime_api::runtime_decl_for_batch_validation::BatchValidationV1;
use sp_io::{hashing::blake2_256, TestExternalities};
use sp_keyring::Sr25519Keyring;
use sp_runtime::{
    transaction_validity::{InvalidTransaction, TransactionSource, TransactionValidity, TransactionValidityError},
    MultiAddress, OpaqueExtrinsic, StateVersion,
};

const SOURCES: [TransactionSource; 3] =
    [TransactionSource::External, TransactionSource::Local, TransactionSource::InBlock];
/// Calls in calls, more than a transaction may have.
const TOO_DEEP: u32 = 300;

/// The keys of a trie, each with its value and the number of its references.
type Snapshot = Vec<(Vec<u8>, (Vec<u8>, i32))>;

/// The state after a block, as a node has it, which any number of calls may start from.
struct Closed {
    keys: Snapshot,
    root: Hash,
    block: Hash,
}

impl Closed {
    /// After the first block of a development chain.
    fn new() -> Self {
        let mut externalities = started(genesis::DEVELOPMENT);
        let block = externalities.execute_with(|| Executive::finalize_block().hash());
        externalities.commit_all().expect("no layer is open");
        let (keys, root) = externalities.into_raw_snapshot();
        Self { keys, root, block }
    }

    /// A call into the runtime.
    fn call<R>(&self, call: impl FnOnce() -> R) -> R {
        TestExternalities::from_raw_snapshot(self.keys.clone(), self.root, StateVersion::V1).execute_with(call)
    }

    /// The answer of a call for this transaction alone. `None` if it cannot be decoded.
    fn single(&self, source: TransactionSource, transaction: &OpaqueExtrinsic) -> Option<TransactionValidity> {
        let decoded = transaction.using_encoded(|mut encoded| {
            codec::DecodeLimit::decode_all_with_depth_limit(frame_support::MAX_EXTRINSIC_DEPTH, &mut encoded)
        });
        let decoded: UncheckedExtrinsic = decoded.ok()?;
        Some(self.call(|| Executive::validate_transaction(source, decoded, self.block)))
    }

    /// The answers of one call for all of them, which must change nothing.
    fn batch(&self, source: TransactionSource, transactions: &[OpaqueExtrinsic]) -> Vec<Option<TransactionValidity>> {
        self.call(|| {
            let answers =
                <Runtime as BatchValidationV1<Block>>::validate_transactions(source, transactions.to_vec(), self.block);
            assert_eq!(sp_io::storage::root(StateVersion::V1), self.root.as_bytes(), "a check changed the state");
            answers
        })
    }
}

/// Random numbers: the bytes of hashes of a counter.
struct HashRng(u32, Vec<u8>);

impl HashRng {
    /// A number below `end`, which is at most 256.
    fn below(&mut self, end: u16) -> u16 {
        let byte = self.1.pop().unwrap_or_else(|| {
            self.0 += 1;
            self.1 = blake2_256(&self.0.to_le_bytes()).to_vec();
            self.1.pop().expect("a hash has bytes")
        });
        u16::from(byte) % end
    }

    fn call(&mut self) -> RuntimeCall {
        let dest = MultiAddress::Id(Sr25519Keyring::Bob.to_account_id());
        match self.below(6) {
            0 => frame_system::Call::remark { remark: vec![1; self.below(200).into()] }.into(),
            1 => pallet_balances::Call::transfer_allow_death { dest, value: GTY }.into(),
            2 => pallet_balances::Call::transfer_all { dest, keep_alive: false }.into(),
            // Free for hosts only.
            3 => pallet_gantry_hosts::Call::heartbeat {}.into(),
            4 => pallet_timestamp::Call::set { now: 0 }.into(),
            _ => {
                let mut call: RuntimeCall = frame_system::Call::remark { remark: Vec::new() }.into();
                for _ in 0..[1, 3, TOO_DEEP][usize::from(self.below(3))] {
                    call = pallet_utility::Call::batch { calls: vec![call] }.into();
                }
                call
            }
        }
    }

    /// A transaction, of which about a half are invalid.
    fn transaction(&mut self) -> OpaqueExtrinsic {
        // Some have coins, some do not.
        let accounts: Vec<Sr25519Keyring> = Sr25519Keyring::iter().collect();
        let account = accounts[usize::from(self.below(accounts.len() as u16))];
        let tip = [0, 0, 1, GTY, 1 << 100][usize::from(self.below(5))];
        let terms = Terms { nonce: [0, 0, 0, 1, 2, 7][usize::from(self.below(6))], tip, metadata_hashes: None };
        let call = self.call();
        let transaction = match self.below(8) {
            0 => UncheckedExtrinsic::new_bare(call),
            _ => signed_with(account.to_account_id(), |payload| account.sign(payload).into(), terms, call),
        };
        let mut bytes = transaction.encode();
        if self.below(8) == 0 {
            let place = usize::from(self.below(100)) % bytes.len();
            bytes[place] ^= 1 << self.below(8);
        }
        if self.below(16) == 0 {
            bytes.truncate(bytes.len() / 2);
        }
        OpaqueExtrinsic::try_from_encoded_extrinsic(&bytes).unwrap_or_else(|_| OpaqueExtrinsic::from_blob(bytes))
    }
}

fn transfer_all(account: Sr25519Keyring, nonce: u32) -> OpaqueExtrinsic {
    let dest = MultiAddress::Id(Sr25519Keyring::Bob.to_account_id());
    let call = pallet_balances::Call::transfer_all { dest, keep_alive: false }.into();
    let terms = Terms { nonce, ..Default::default() };
    let transaction = signed_with(account.to_account_id(), |payload| account.sign(payload).into(), terms, call);
    OpaqueExtrinsic::try_from_encoded_extrinsic(&transaction.encode()).expect("it has its length before it")
}

#[test]
fn answers_about_random_transactions_are_those_of_single_calls() {
    let closed = Closed::new();
    let mut rng = HashRng(0, Vec::new());
    let (mut valid, mut invalid, mut undecodable) = (0, 0, 0);
    for round in 0..60 {
        let source = SOURCES[round % SOURCES.len()];
        let transactions: Vec<_> = closed.call(|| (0..1 + rng.below(20)).map(|_| rng.transaction()).collect());
        let single: Vec<_> = transactions.iter().map(|transaction| closed.single(source, transaction)).collect();
        assert_eq!(closed.batch(source, &transactions), single, "round {round}: {transactions:?}");
        for answer in single {
            match answer {
                Some(Ok(_)) => valid += 1,
                Some(Err(_)) => invalid += 1,
                None => undecodable += 1,
            }
        }
    }
    assert!(valid > 50 && invalid > 50 && undecodable > 10, "{valid} valid, {invalid} invalid, {undecodable} neither");
}

#[test]
fn no_check_sees_what_another_did() {
    let closed = Closed::new();
    let alice = Sr25519Keyring::Alice;
    let transactions: Vec<_> = closed.call(|| {
        assert!(Balances::free_balance(alice.to_account_id()) > 0);
        [0, 0, 1, 2, 0].into_iter().map(|nonce| transfer_all(alice, nonce)).collect()
    });
    let forwards = closed.batch(TransactionSource::External, &transactions);
    assert!(forwards.iter().all(|answer| matches!(answer, Some(Ok(_)))), "{forwards:?}");
    assert_eq!(forwards[0], forwards[4], "a check counts no nonce");
    let reversed: Vec<_> = transactions.iter().rev().cloned().collect();
    let backwards: Vec<_> = closed.batch(TransactionSource::External, &reversed).into_iter().rev().collect();
    assert_eq!(forwards, backwards);
}

#[test]
fn one_that_cannot_be_decoded_leaves_the_others_their_answers() {
    let closed = Closed::new();
    let good = closed.call(|| transfer_all(Sr25519Keyring::Alice, 0));
    let cut = OpaqueExtrinsic::from_blob(good.inner()[..good.inner().len() - 1].to_vec());
    let longer = OpaqueExtrinsic::from_blob([good.inner(), b"1"].concat());
    let empty = OpaqueExtrinsic::from_blob(Vec::new());
    let answers = closed.batch(TransactionSource::External, &[cut, good.clone(), longer, empty, good]);
    assert!(matches!(&answers[..], [None, Some(Ok(one)), None, None, Some(Ok(other))] if one == other), "{answers:?}");
    assert!(closed.batch(TransactionSource::External, &[]).is_empty());
}

#[test]
fn a_wrong_signature_leaves_the_others_their_answers() {
    let closed = Closed::new();
    let good = closed.call(|| transfer_all(Sr25519Keyring::Alice, 0));
    let mut bytes = good.inner().to_vec();
    // After version, kind of address, account and kind of signature.
    bytes[1 + 1 + 32 + 1] ^= 1;
    let bad = OpaqueExtrinsic::from_blob(bytes);
    let answers = closed.batch(TransactionSource::External, &[bad, good]);
    let proof = TransactionValidityError::Invalid(InvalidTransaction::BadProof);
    assert!(matches!(&answers[..], [Some(Err(error)), Some(Ok(_))] if *error == proof), "{answers:?}");
}
