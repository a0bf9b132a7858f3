//! What the pallets' tests share. Nothing of it is in a runtime that runs.
//!
//! `runtime` has what every mock runtime is made of, `accounts` who acts on it, `chain` its beginning and what must be
//! true at its end, and `dice` the numbers of tests that do anything in any order.

mod accounts;
mod chain;
mod dice;
mod runtime;

pub use accounts::{account, bytes, host, host_pair};
pub use chain::{begin, begin_at, coins};
pub use dice::Dice;

use gantry_primitives::Balance;

/// One coin.
pub const GTY: Balance = 1_000_000_000_000;
/// The existential deposit.
pub const ED: Balance = 1_000_000_000;
