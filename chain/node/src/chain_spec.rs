//! Chain specifications: created from a runtime's presets, and read from files.

use crate::cli::ChainSpecCmd;
use sc_chain_spec::{ChainType, Properties};
use std::{fs, path::PathBuf};

/// A specification without extensions: everything about the chain is in the genesis state.
pub type ChainSpec = sc_chain_spec::GenericChainSpec;

/// Reads a chain specification. `id` is always a file, because the node contains no runtime and so no built-in chain.
pub fn load(id: &str) -> Result<Box<dyn sc_chain_spec::ChainSpec>, String> {
    if id.is_empty() || id == "dev" {
        return Err(
            "this node contains no runtime and so no built-in chain; name a file with --chain FILE. \
                    Create one with: gantry-node chain-spec --runtime RUNTIME.wasm --preset development --output FILE"
                .into(),
        );
    }
    let path = PathBuf::from(id);
    if !path.is_file() {
        return Err(format!("there is no chain specification file '{id}'"));
    }
    Ok(Box::new(ChainSpec::from_json_file(path)?))
}

/// Runs the `chain-spec` command: writes a chain specification.
pub fn make(cmd: &ChainSpecCmd) -> Result<(), String> {
    let code = crate::runtime_file::read(&cmd.runtime)?;
    let chain_type = match cmd.chain_type.as_str() {
        "live" => ChainType::Live,
        "local" => ChainType::Local,
        _ => ChainType::Development,
    };
    let mut properties = Properties::new();
    properties.insert("tokenSymbol".into(), "GTY".into());
    properties.insert("tokenDecimals".into(), 12.into());
    properties.insert("ss58Format".into(), 42.into());

    let mut builder = ChainSpec::builder(&code, None)
        .with_name(&cmd.name)
        .with_id(&cmd.id)
        .with_protocol_id(&cmd.id)
        .with_chain_type(chain_type)
        .with_properties(properties)
        .with_genesis_config_preset_name(&cmd.preset);
    if let Some(path) = &cmd.patch {
        let text = fs::read_to_string(path).map_err(|e| format!("cannot read patch {}: {e}", path.display()))?;
        let patch = serde_json::from_str(&text).map_err(|e| format!("patch {} is not JSON: {e}", path.display()))?;
        builder = builder.with_genesis_config_patch(patch);
    }
    let spec = builder.build();
    crate::well_known::refuse_in_genesis(&spec)?;
    let json = spec.as_json(!cmd.plain)?;
    match &cmd.output {
        Some(path) => fs::write(path, json).map_err(|e| format!("cannot write {}: {e}", path.display())),
        None => {
            println!("{json}");
            Ok(())
        }
    }
}
