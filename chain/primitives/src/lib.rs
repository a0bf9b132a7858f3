//! The types and pure rules of Gantry, shared by every pallet.
//!
//! Nothing here reads storage or the clock: `fit` says what fits on a host, `rate` what it costs, `escrow` what is owed
//! for it, `faults` what a host pays for a fault, `score` what evidence is worth, `ids` how things are numbered, and
//! `transitions` which states follow which.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod commitments;
pub mod escrow;
pub mod faults;
pub mod fit;
pub mod ids;
pub mod rate;
pub mod registration;
pub mod score;
pub mod transitions;
pub mod types;
pub mod verification_tables;

pub use faults::Fault;
pub use ids::{lease_id, lease_parts, PageKey, TaskKey};
pub use types::*;
