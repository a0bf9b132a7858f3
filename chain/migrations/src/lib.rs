//! The migration of the state of the previous release to that of this release.
//!
//! A migration is a [`SteppedMigration`](frame_support::migrations::SteppedMigration): it runs over several blocks, within
//! a share of each, and no call is accepted until it has ended. docs/upgrades.md describes an upgrade.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod from_3;
mod unversioned;
pub mod v3;

pub use from_3::{Cursor, ExtendParams, From3, Stage};
pub use unversioned::SetStorageVersion;

#[cfg(test)]
mod mock;
