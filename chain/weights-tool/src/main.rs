//! Runs the benchmarks that a runtime's wasm carries, and writes the weights of its pallets.
//!
//! The runtime is built with the feature `runtime-benchmarks`; `scripts/weights` does all of it. Each benchmark runs in
//! the wasm, in the executor that nodes use, over a trie in memory. Time is what the call took, without the database;
//! what its reads and writes cost is added by the runtime's `DbWeight`.

mod measure;
mod table;

use clap::Parser;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Measure the calls of a runtime's pallets and write their weights.
#[derive(Debug, Parser)]
struct Cli {
    /// The runtime: wasm with the feature runtime-benchmarks.
    #[arg(long)]
    runtime: PathBuf,
    /// The folder of the pallets. Weights of `pallet_gantry_NAME` go to `NAME/src/weights.rs` in it.
    #[arg(long)]
    pallets: PathBuf,
    /// Only these pallets, by the NAME of their folder. All otherwise.
    #[arg(long)]
    only: Vec<String>,
    /// Only these calls, and the lines of the others stay as they are. All otherwise.
    #[arg(long)]
    call: Vec<String>,
    /// How many values of each component are tried.
    #[arg(long, default_value_t = 10)]
    steps: u32,
    /// How often each is measured in a round. With few, the first ones, whose caches are cold, count too much.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// How many rounds are made over a pallet's calls. The time in the middle of all is taken.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

fn main() -> Result<(), String> {
    let cli = Cli::parse();
    let code = fs::read(&cli.runtime).map_err(|e| format!("cannot read {}: {e}", cli.runtime.display()))?;
    let bench = measure::Bench::new(&code)?;
    let mut written = 0;
    for mut list in bench.list()? {
        let name = String::from_utf8_lossy(&list.pallet).into_owned();
        let folder = name.trim_start_matches("pallet_gantry_");
        if !cli.only.is_empty() && !cli.only.iter().any(|only| only == folder) {
            continue;
        }
        let wanted = |name: &[u8]| cli.call.is_empty() || cli.call.iter().any(|call| call.as_bytes() == name);
        list.benchmarks.retain(|benchmark| wanted(&benchmark.name));
        if list.benchmarks.is_empty() {
            continue;
        }
        let calls = bench.measure(&list, cli.steps, cli.repeat, cli.rounds)?;
        for call in &calls {
            eprintln!("{folder}.{call}");
        }
        let path = cli.pallets.join(folder).join("src").join("weights.rs");
        let before = if cli.call.is_empty() { String::new() } else { read(&path)? };
        write(&path, &table::render(folder, &calls, &before))?;
        written += 1;
    }
    if written == 0 {
        return Err("no benchmark was run: the runtime has none of these pallets and calls".into());
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
