//! The Gantry chain node.
//!
//! It knows runtime APIs, not the runtime: the runtime is the wasm in the chain specification. So this
//! program changes only when the SDK does, and a runtime change needs no new node.

mod chain_spec;
mod cli;
mod command;
mod proposer;
mod rpc;
mod runtime_api;
mod runtime_file;
mod service;
mod well_known;

fn main() -> sc_cli::Result<()> {
    command::run()
}
