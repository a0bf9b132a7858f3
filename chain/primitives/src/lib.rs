//! The types and pure rules of Gantry, shared by every pallet.
//!
//! Nothing here reads storage or the clock: `fit` says what fits on a host, `layout` how the pods of a task lie to each
//! other, `rate` what a pod costs, `escrow` what is owed for it, `fees` what of it is
//! the protocol fee, `faults` what a host pays for a fault, `score` what
//! evidence is worth, `ids` how things are numbered, `transitions` which states follow which, and `weights!` is what
//! pallets' tables of measured weights are written in.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod commitments;
pub mod escrow;
pub mod faults;
pub mod fees;
pub mod fit;
pub mod halts;
pub mod ids;
pub mod layout;
pub mod rate;
pub mod registration;
pub mod score;
pub mod storage;
pub mod transitions;
pub mod types;
pub mod verification_tables;
mod weights;

pub use faults::Fault;
pub use halts::{Halt, Halts};
pub use ids::{lease_id, lease_parts, PageKey, TaskKey};
pub use types::*;
