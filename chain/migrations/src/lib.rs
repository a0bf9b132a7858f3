//! How the state of one release becomes that of the next.
//!
//! A migration is a [`SteppedMigration`](frame_support::migrations::SteppedMigration): it runs over as many blocks as
//! it takes, within a share of each, and no call is taken until it is over. docs/upgrades.md says how an upgrade goes.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod from_1;
pub mod v1;

pub use from_1::{Books, Cursor, From1, Stage};

#[cfg(test)]
mod mock;
#[cfg(test)]
mod release_1;
