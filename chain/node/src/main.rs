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

/// A node makes and drops small values by the million. This takes a sixth less of its processor time than the C library's
/// allocator (docs/benchmarks.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> sc_cli::Result<()> {
    command::run()
}
