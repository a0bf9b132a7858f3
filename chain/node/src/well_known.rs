//! Keys that everybody knows. They are for a developer's machine, never for a live chain.

use sc_chain_spec::{ChainSpec, ChainType};
use sp_core::storage::{well_known_keys::CODE, Storage};
use sp_keyring::{Ed25519Keyring, Sr25519Keyring};
use sp_keystore::{Keystore, KeystorePtr};
use std::collections::BTreeSet;

/// The bytes of every well-known key, which are its account's too, and its name.
fn keys() -> Vec<([u8; 32], String)> {
    let sr25519 = Sr25519Keyring::iter().map(|key| (key.public().0, format!("{key} (sr25519)")));
    let ed25519 = Ed25519Keyring::iter().map(|key| (key.public().0, format!("{key} (ed25519)")));
    sr25519.chain(ed25519).collect()
}

/// The names of the well-known keys that a genesis state holds anywhere: as validator, council, sudo, owner of coins
/// or whatever its runtime knows. It is found by its bytes, so that this does not depend on the runtime.
fn in_state(state: &Storage) -> BTreeSet<String> {
    let keys = keys();
    let mut starts = [false; 256];
    for (key, _) in &keys {
        starts[usize::from(key[0])] = true;
    }
    let mut found = BTreeSet::new();
    let children = state.children_default.values().flat_map(|child| child.data.iter());
    let entries = state.top.iter().chain(children).filter(|(name, _)| name.as_slice() != CODE);
    for bytes in entries.flat_map(|(name, value)| [name, value]) {
        let candidates = bytes.windows(32).filter(|window| starts[usize::from(window[0])]);
        found.extend(
            candidates.filter_map(|window| keys.iter().find(|(key, _)| key == window)).map(|(_, name)| name.clone()),
        );
    }
    found
}

/// Refuses a live chain whose genesis state holds a well-known key.
pub fn refuse_in_genesis(spec: &dyn ChainSpec) -> Result<(), String> {
    if spec.chain_type() != ChainType::Live {
        return Ok(());
    }
    let found: Vec<_> = in_state(&spec.as_storage_builder().build_storage()?).into_iter().collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the genesis of a live chain must not hold a well-known key, but that of '{}' holds {}. Everybody can sign with \
         it. Take it out of validators, council, sudo and balances, and make your own with: gantry-node key generate",
        spec.id(),
        found.join(", ")
    ))
}

/// Refuses a validator of a live chain that would sign with a well-known key.
pub fn refuse_in_keystore(spec: &dyn ChainSpec, dev_key: bool, keystore: &KeystorePtr) -> Result<(), String> {
    if spec.chain_type() != ChainType::Live {
        return Ok(());
    }
    let babe = keystore.sr25519_public_keys(sp_consensus_babe::KEY_TYPE);
    let grandpa = keystore.ed25519_public_keys(sp_consensus_grandpa::KEY_TYPE);
    let known_babe = Sr25519Keyring::iter().any(|key| babe.contains(&key.public()));
    let known_grandpa = Ed25519Keyring::iter().any(|key| grandpa.contains(&key.public()));
    if !dev_key && !known_babe && !known_grandpa {
        return Ok(());
    }
    Err(format!(
        "a validator of the live chain '{}' must not use a well-known key. Leave out --alice and the like, remove such \
         keys from the keystore, and make your own with: gantry-node key generate",
        spec.id()
    ))
}
