//! The Gantry chain node.
//!
//! It depends on runtime APIs, not on the runtime, which is the wasm in the chain specification or state. So a change of the
//! runtime needs no new node.

mod author_pool;
mod batched_validation;
mod chain_spec;
mod cli;
mod command;
mod proposer;
mod rpc;
mod runtime_api;
mod runtime_file;
mod service;
mod throttled_pool;
mod well_known;

/// A node allocates and frees millions of small values. mimalloc takes a sixth less of its processor time than the C
/// library's allocator (docs/benchmarks.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc 3.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
/// How long freed memory is kept before it is returned to the system. The default is a second: memory that was used to build
/// a block would be returned, and mapped again page by page for the next block.
const PURGE_DELAY_MS: core::ffi::c_long = 10_000;

fn main() -> sc_cli::Result<()> {
    // SAFETY: sets an option before a second thread is started. MIMALLOC_PURGE_DELAY takes precedence.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) };
    command::run()
}
