//! Helpers for the tests of several pallets. No real runtime contains them.
//!
//! `runtime` contains macros that configure mock runtimes, `accounts` the accounts of tests, `chain` a new chain, and
//! `rng` a pseudo-random number generator.

mod accounts;
mod chain;
mod rng;
mod runtime;

pub use accounts::{account, bytes, host, host_pair};
pub use chain::{begin, begin_at, coins};
pub use rng::SplitMix64;

use gantry_primitives::Balance;

/// One coin.
pub const GTY: Balance = 1_000_000_000_000;
/// The existential deposit.
pub const ED: Balance = 1_000_000_000;
