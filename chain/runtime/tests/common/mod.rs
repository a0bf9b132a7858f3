//! Chains of the runtime, as a node would start and run them.

#![allow(dead_code, reason = "each test program uses a part")]

use codec::Encode;
use frame_support::{assert_ok, genesis_builder_helper::get_preset};
use gantry_runtime::{
    genesis, Executive, Header, Runtime, RuntimeCall, RuntimeGenesisConfig, System, UncheckedExtrinsic,
    SLOT_DURATION_MS,
};
use serde_json::{json, Value};
use sp_runtime::{traits::Header as _, Digest, DigestItem};

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
