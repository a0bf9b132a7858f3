//! Prints the hash of the metadata in a file, as `scripts/release-chain` compiles it into the runtime.

use std::{env, fs, process::ExitCode};

fn main() -> ExitCode {
    let Some(path) = env::args().nth(1) else {
        eprintln!("Usage: gantry-metadata-hash FILE    FILE: metadata as `state_getMetadata` gives it");
        return ExitCode::FAILURE;
    };
    let hash = fs::read(&path)
        .map_err(|error| error.to_string())
        .and_then(|metadata| gantry_metadata_hash::metadata_hash(&metadata));
    match hash {
        Ok(hash) => {
            println!("{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("gantry-metadata-hash: no hash of {path}: {error}");
            ExitCode::FAILURE
        }
    }
}
