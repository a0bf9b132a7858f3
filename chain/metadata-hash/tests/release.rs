//! The hash that the released runtime was built with.

use gantry_metadata_hash::metadata_hash;
use std::{fs, path::Path};

#[test]
fn the_released_runtime_has_the_hash_of_the_released_metadata() {
    let chain = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let metadata = fs::read(chain.join("metadata/gantry.scale")).expect("the release has its metadata");
    let hash = metadata_hash(&metadata).expect("they can be hashed");
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let manifest = fs::read_to_string(chain.join("release/MANIFEST.json")).expect("the release has a manifest");
    assert!(
        manifest.contains(&format!("\"metadata_hash\": \"{hex}\"")),
        "the manifest names another hash than {hex}: make the release again with scripts/release-chain"
    );
}
