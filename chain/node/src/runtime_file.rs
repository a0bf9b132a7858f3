//! The `runtime` commands: compress the wasm of a runtime, and print its metadata and genesis presets.

use crate::cli::RuntimeCmd;
use codec::Decode;
use sc_executor::{RuntimeVersionOf, WasmExecutor};
use sp_core::{
    traits::{RuntimeCode, WrappedRuntimeCode},
    OpaqueMetadata,
};
use sp_maybe_compressed_blob::CODE_BLOB_BOMB_LIMIT;
use sp_state_machine::BasicExternalities;
use std::{fs, path::Path};

/// Reads a file, and fails unless it is wasm, compressed or not.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let code = fs::read(path).map_err(|e| format!("cannot read runtime {}: {e}", path.display()))?;
    let wasm = sp_maybe_compressed_blob::decompress(&code, CODE_BLOB_BOMB_LIMIT)
        .map_err(|e| format!("{} is not a runtime: {e:?}", path.display()))?;
    if !wasm.starts_with(b"\0asm") {
        return Err(format!("{} is not a runtime: no wasm magic number at its start", path.display()));
    }
    Ok(code)
}

/// Runs the `runtime` commands.
pub fn run(cmd: &RuntimeCmd) -> Result<(), String> {
    match cmd {
        RuntimeCmd::Pack { input, output } => {
            let code = read(input)?;
            let packed = sp_maybe_compressed_blob::compress_strongly(&code, CODE_BLOB_BOMB_LIMIT)
                .ok_or_else(|| format!("{} is too large to be a runtime", input.display()))?;
            fs::write(output, packed).map_err(|e| format!("cannot write {}: {e}", output.display()))
        }
        RuntimeCmd::Metadata { runtime, output } => {
            let code = read(runtime)?;
            let executor = executor();
            let fetcher = WrappedRuntimeCode(code.as_slice().into());
            let runtime_code = RuntimeCode { code_fetcher: &fetcher, heap_pages: None, hash: vec![0] };
            let version = executor
                .runtime_version(&mut BasicExternalities::default(), &runtime_code)
                .map_err(|e| format!("the runtime does not return its version: {e}"))?;
            let metadata = OpaqueMetadata::decode(&mut call(&executor, &code, "Metadata_metadata")?.as_slice())
                .map_err(|e| format!("the runtime's metadata cannot be decoded: {e}"))?;
            fs::write(output, &metadata[..]).map_err(|e| format!("cannot write {}: {e}", output.display()))?;
            println!(
                "{}",
                serde_json::json!({
                    "spec_name": version.spec_name.to_string(),
                    "spec_version": version.spec_version,
                    "transaction_version": version.transaction_version,
                })
            );
            Ok(())
        }
        RuntimeCmd::Presets { runtime } => {
            let code = read(runtime)?;
            let names = Vec::<String>::decode(&mut call(&executor(), &code, "GenesisBuilder_preset_names")?.as_slice())
                .map_err(|e| format!("the runtime's presets cannot be decoded: {e}"))?;
            for name in names {
                println!("{name}");
            }
            Ok(())
        }
    }
}

fn executor() -> WasmExecutor<sp_io::SubstrateHostFunctions> {
    WasmExecutor::builder().build()
}

fn call(
    executor: &WasmExecutor<sp_io::SubstrateHostFunctions>,
    code: &[u8],
    function: &str,
) -> Result<Vec<u8>, String> {
    let blob = sc_executor_common::runtime_blob::RuntimeBlob::uncompress_if_needed(code)
        .map_err(|e| format!("not a runtime: {e}"))?;
    executor
        .uncached_call(blob, &mut BasicExternalities::default(), true, function, &[])
        .map_err(|e| format!("the runtime cannot execute {function}: {e}"))
}
