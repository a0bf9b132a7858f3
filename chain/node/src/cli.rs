//! The command line of the node.

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// A validator or full node of a Gantry chain.
#[derive(Debug, Parser)]
pub struct Cli {
    /// A command that is run instead of a node.
    #[command(subcommand)]
    pub subcommand: Option<Command>,

    /// Options of the running node.
    #[command(flatten)]
    pub run: sc_cli::RunCmd,

    /// Directory of compiled runtimes, which saves compiling a runtime that this or another node compiled before.
    /// The node runs the code in it, so no other user may be able to write to it. Default: a directory in the base path.
    #[arg(long, value_name = "DIR")]
    pub runtime_cache: Option<PathBuf>,
}

/// The commands that do not run a node.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a chain specification from a runtime's wasm and one of its genesis presets.
    ChainSpec(ChainSpecCmd),
    /// Inspect or compress a runtime's wasm.
    #[command(subcommand)]
    Runtime(RuntimeCmd),
    /// Generate, inspect and insert keys.
    #[command(subcommand)]
    Key(sc_cli::KeySubcommand),
    /// Export blocks to a file.
    ExportBlocks(sc_cli::ExportBlocksCmd),
    /// Import blocks from a file.
    ImportBlocks(sc_cli::ImportBlocksCmd),
    /// Revert the chain by some blocks.
    Revert(sc_cli::RevertCmd),
    /// Remove the chain's database.
    PurgeChain(sc_cli::PurgeChainCmd),
}

/// Arguments of `chain-spec`.
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
    /// The chain's id, used in the name of its database folder and of its network protocols.
    #[arg(long, default_value = "gantry-dev")]
    pub id: String,
    /// The type of the chain: development, local or live.
    #[arg(long, default_value = "development", value_parser = ["development", "local", "live"])]
    pub chain_type: String,
    /// Write the genesis as readable JSON instead of raw storage.
    #[arg(long)]
    pub plain: bool,
    /// The file to write; standard output by default.
    #[arg(long)]
    pub output: Option<PathBuf>,
}

/// The `runtime` commands.
#[derive(Debug, Subcommand)]
pub enum RuntimeCmd {
    /// Compress a runtime's wasm for a chain specification or an upgrade.
    Pack {
        /// The wasm file to read.
        input: PathBuf,
        /// The file to write.
        output: PathBuf,
    },
    /// Write a runtime's metadata (as returned by `state_getMetadata`) and print its version as JSON.
    Metadata {
        /// The wasm file, compressed or not.
        runtime: PathBuf,
        /// The file to write the metadata to.
        #[arg(long)]
        output: PathBuf,
    },
    /// List the genesis presets of a runtime.
    Presets {
        /// The wasm file, compressed or not.
        runtime: PathBuf,
    },
}
