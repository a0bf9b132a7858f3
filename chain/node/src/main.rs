//! The Gantry chain node.
//!
//! It knows runtime APIs, not the runtime: the runtime is the wasm in the chain specification. So this
//! program changes only when the SDK does, and a runtime change needs no new node.

mod author_pool;
mod batched_checks;
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

/// A node makes and drops small values by the million. This takes a sixth less of its processor time than the C library's
/// allocator (docs/benchmarks.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc 3.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
/// How long freed memory is kept before it goes back to the system. By default that is a second: what making a block
/// frees would go, and be taken again page by page for the next one.
const PURGE_DELAY_MS: core::ffi::c_long = 10_000;

fn main() -> sc_cli::Result<()> {
    // SAFETY: sets a number, before there is a second thread. MIMALLOC_PURGE_DELAY has precedence.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) };
    command::run()
}
