//! Refuses well-known development keys on live chains: everybody can sign with them.

use sc_chain_spec::{ChainSpec, ChainType};
use sp_core::storage::{well_known_keys::CODE, Storage};
use sp_keyring::{Ed25519Keyring, Sr25519Keyring};
use sp_keystore::{Keystore, KeystorePtr};
use std::collections::BTreeSet;

/// Returns the public key of every well-known key pair, which is also its account, and its name.
fn keys() -> Vec<([u8; 32], String)> {
    let sr25519 = Sr25519Keyring::iter().map(|key| (key.public().0, format!("{key} (sr25519)")));
    let ed25519 = Ed25519Keyring::iter().map(|key| (key.public().0, format!("{key} (ed25519)")));
    sr25519.chain(ed25519).collect()
}

/// Returns the names of the well-known keys that a genesis state contains: as validator, council, sudo, owner of coins or in
/// any other storage item. They are found by their bytes, so the search does not depend on the runtime.
fn keys_in_state(state: &Storage) -> BTreeSet<String> {
    let keys = keys();
    let mut first_bytes = [false; 256];
    for (key, _) in &keys {
        first_bytes[usize::from(key[0])] = true;
    }
    let mut found = BTreeSet::new();
    let children = state.children_default.values().flat_map(|child| child.data.iter());
    let entries = state.top.iter().chain(children).filter(|(name, _)| name.as_slice() != CODE);
    for bytes in entries.flat_map(|(name, value)| [name, value]) {
        let candidates = bytes.windows(32).filter(|window| first_bytes[usize::from(window[0])]);
        found.extend(
            candidates.filter_map(|window| keys.iter().find(|(key, _)| key == window)).map(|(_, name)| name.clone()),
        );
    }
    found
}

/// Fails if the genesis state of a live chain contains a well-known key.
pub fn refuse_in_genesis(spec: &dyn ChainSpec) -> Result<(), String> {
    if spec.chain_type() != ChainType::Live {
        return Ok(());
    }
    let found: Vec<_> = keys_in_state(&spec.as_storage_builder().build_storage()?).into_iter().collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the genesis of a live chain must not contain a well-known key, but that of '{}' contains {}. Everybody can sign \
         with it. Remove it from validators, council, sudo and balances, and create your own with: gantry-node key generate",
        spec.id(),
        found.join(", ")
    ))
}

/// Fails if a validator of a live chain would sign with a well-known key.
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
         keys from the keystore, and create your own with: gantry-node key generate",
        spec.id()
    ))
}
