//! Chains of the runtime, as a node would start and run them.

#![allow(dead_code, reason = "each test program uses a part")]

use codec::Encode;
use frame_support::{assert_ok, genesis_builder_helper::get_preset};
use gantry_runtime::{
    genesis, AccountId, Balance, Executive, Header, Runtime, RuntimeCall, RuntimeGenesisConfig, System, TxExtension,
    UncheckedExtrinsic, SLOT_DURATION_MS, VERSION,
};
use serde_json::{json, Value};
use sp_runtime::{
    generic::{Era, SignedPayload},
    traits::Header as _,
    Digest, DigestItem, MultiAddress, MultiSignature,
};

/// The slot of the first block.
pub const FIRST_SLOT: u64 = 10;

/// Merges a genesis patch over the default genesis, as a node does (RFC 7396).
fn merge(base: &mut Value, patch: &Value) {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, patch) => *base = patch.clone(),
    }
}

/// A preset as JSON.
pub fn preset(name: &str) -> Value {
    let patch = get_preset::<RuntimeGenesisConfig>(&Some(name.into()), genesis::preset).expect("a listed preset");
    serde_json::from_slice(&patch).expect("a preset is JSON")
}

/// Builds the genesis of a preset with a patch, in the present externalities.
pub fn build(name: &str, patch: &Value) -> Result<(), String> {
    let mut whole = serde_json::to_value(RuntimeGenesisConfig::default()).expect("a genesis is JSON");
    merge(&mut whole, &preset(name));
    merge(&mut whole, patch);
    genesis::build(serde_json::to_vec(&whole).expect("JSON"))
}

/// A chain of a preset in its first block.
pub fn started(name: &str) -> sp_io::TestExternalities {
    started_with(name, &json!({}))
}

/// The genesis state of a preset with a patch.
pub fn externalities_of(name: &str, patch: &Value) -> sp_io::TestExternalities {
    let mut externalities = sp_io::TestExternalities::new_empty();
    externalities.execute_with(|| {
        assert_ok!(build(name, patch));
    });
    externalities
}

/// A chain of a preset with a patch, in its first block.
pub fn started_with(name: &str, patch: &Value) -> sp_io::TestExternalities {
    let mut externalities = externalities_of(name, patch);
    externalities.execute_with(|| {
        open(1, Header::new(0, Default::default(), Default::default(), Default::default(), Default::default()), 0);
    });
    externalities
}

/// Closes the block that is open and opens the next one, in the next slot, made by the validator of this index.
pub fn next_block_by(author: u32) {
    let parent = Executive::finalize_block();
    open(parent.number + 1, parent, author);
}

/// Closes the block that is open and opens the next one.
pub fn next_block() {
    next_block_by(0);
}

/// Lets blocks pass until the session has changed.
pub fn next_session() {
    let now = pallet_session::CurrentIndex::<Runtime>::get();
    while pallet_session::CurrentIndex::<Runtime>::get() == now {
        next_block();
    }
}

fn open(number: u32, parent: Header, author: u32) {
    let slot = FIRST_SLOT + u64::from(number) - 1;
    open_in(slot, slot * SLOT_DURATION_MS, number, parent, author);
}

/// Opens a block as its author leaves it: with a BABE slot claimed and the clock set to `now`, in milliseconds.
pub fn open_in(slot: u64, now: u64, number: u32, parent: Header, author: u32) {
    let claim =
        sp_consensus_babe::digests::PreDigest::SecondaryPlain(sp_consensus_babe::digests::SecondaryPlainPreDigest {
            authority_index: author,
            slot: slot.into(),
        });
    let digest = Digest { logs: vec![DigestItem::PreRuntime(sp_consensus_babe::BABE_ENGINE_ID, claim.encode())] };
    let parent = if number == 1 { System::parent_hash() } else { parent.hash() };
    Executive::initialize_block(&Header::new(number, Default::default(), Default::default(), parent, digest));
    let clock = UncheckedExtrinsic::new_bare(RuntimeCall::Timestamp(pallet_timestamp::Call::set { now }));
    assert_ok!(Executive::apply_extrinsic(clock).expect("the clock is set"));
}

/// What surrounds a call, besides its sender.
#[derive(Clone, Copy, Default)]
pub struct Terms {
    pub nonce: u32,
    pub tip: Balance,
    /// The metadata hash that the runtime is taken to contain, and the one that is signed.
    pub metadata_hashes: Option<([u8; 32], [u8; 32])>,
}

/// An extrinsic of an account.
pub fn signed(
    account: AccountId,
    sign: impl Fn(&[u8]) -> MultiSignature,
    nonce: u32,
    call: RuntimeCall,
) -> UncheckedExtrinsic {
    signed_with(account, sign, Terms { nonce, ..Default::default() }, call)
}

/// An extrinsic of an account by these terms.
pub fn signed_with(
    account: AccountId,
    sign: impl Fn(&[u8]) -> MultiSignature,
    terms: Terms,
    call: RuntimeCall,
) -> UncheckedExtrinsic {
    let check_metadata = match terms.metadata_hashes {
        Some((of_runtime, _)) => frame_metadata_hash_extension::CheckMetadataHash::new_with_custom_hash(of_runtime),
        None => frame_metadata_hash_extension::CheckMetadataHash::new(false),
    };
    let extension: TxExtension = (
        frame_system::CheckNonZeroSender::new(),
        frame_system::CheckSpecVersion::new(),
        frame_system::CheckTxVersion::new(),
        frame_system::CheckGenesis::new(),
        frame_system::CheckMortality::from(Era::Immortal),
        terms.nonce.into(),
        pallet_transaction_payment::ChargeTransactionPayment::from(terms.tip).into(),
        frame_system::CheckWeight::new(),
        check_metadata,
    );
    let genesis = System::block_hash(0);
    let versions = (VERSION.spec_version, VERSION.transaction_version);
    let signed_hash = terms.metadata_hashes.map(|(_, signed)| signed);
    let implicit = ((), versions.0, versions.1, genesis, genesis, (), (), (), signed_hash);
    let payload = SignedPayload::from_raw(call.clone(), extension.clone(), implicit);
    let signature = payload.using_encoded(sign);
    UncheckedExtrinsic::new_signed(call, MultiAddress::Id(account), signature, extension)
}
