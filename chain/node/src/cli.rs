//! Command line.

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// A validator or full node of a Gantry chain.
#[derive(Debug, Parser)]
pub struct Cli {
    /// What to do instead of running a node.
    #[command(subcommand)]
    pub subcommand: Option<Command>,

    /// Options of the running node.
    #[command(flatten)]
    pub run: sc_cli::RunCmd,

    /// Directory of compiled runtimes, so that a node need not compile a runtime that it or another node compiled before.
    /// The node runs the code in it, so no other user may be able to write to it. Default: a directory in the base path.
    #[arg(long, value_name = "DIR")]
    pub runtime_cache: Option<PathBuf>,
}

/// Everything but running.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a chain specification from a runtime's wasm and one of its genesis presets.
    ChainSpec(ChainSpecCmd),
    /// Look into or pack a runtime's wasm.
    #[command(subcommand)]
    Runtime(RuntimeCmd),
    /// Generate, inspect and insert keys.
    #[command(subcommand)]
    Key(sc_cli::KeySubcommand),
    /// Export blocks to a file.
    ExportBlocks(sc_cli::ExportBlocksCmd),
    /// Import blocks from a file.
    ImportBlocks(sc_cli::ImportBlocksCmd),
    /// Go back some blocks.
    Revert(sc_cli::RevertCmd),
    /// Remove the chain's database.
    PurgeChain(sc_cli::PurgeChainCmd),
}

/// `chain-spec`.
#[derive(Debug, Parser)]
pub struct ChainSpecCmd {
    /// The runtime: a wasm file, compressed or not.
    #[arg(long)]
    pub runtime: PathBuf,
    /// The genesis preset of that runtime, as listed by `runtime presets`.
    #[arg(long)]
    pub preset: String,
    /// A JSON file merged over the preset, to set periods, amounts or accounts.
    #[arg(long)]
    pub patch: Option<PathBuf>,
    /// The chain's name, shown by wallets.
    #[arg(long, default_value = "Gantry Development")]
    pub name: String,
    /// The chain's id: names its database folder and its network protocols.
    #[arg(long, default_value = "gantry-dev")]
    pub id: String,
    /// development, local or live.
    #[arg(long, default_value = "development", value_parser = ["development", "local", "live"])]
    pub chain_type: String,
    /// Keep the genesis readable instead of as raw storage.
    #[arg(long)]
    pub plain: bool,
    /// Where to write; standard output otherwise.
    #[arg(long)]
    pub output: Option<PathBuf>,
}

/// `runtime …`.
#[derive(Debug, Subcommand)]
pub enum RuntimeCmd {
    /// Compress a runtime's wasm, as chain specifications and upgrades carry it.
    Pack {
        /// The wasm file to read.
        input: PathBuf,
        /// The file to write.
        output: PathBuf,
    },
    /// Write a runtime's metadata (as `state_getMetadata` gives it) and print its version as JSON.
    Metadata {
        /// The wasm file, compressed or not.
        runtime: PathBuf,
        /// Where the metadata bytes go.
        #[arg(long)]
        output: PathBuf,
    },
    /// List the genesis presets that a runtime carries.
    Presets {
        /// The wasm file, compressed or not.
        runtime: PathBuf,
    },
}
