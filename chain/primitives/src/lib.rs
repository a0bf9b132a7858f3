//! The types and pure rules of Gantry, shared by every pallet.
//!
//! Nothing here reads storage or the clock. `fit` decides whether a pod fits on a host, `layout` contains the
//! anti-affinity of pods, `rate` computes the rate of a pod, `escrow` the amount owed for it, and `fees` the protocol
//! fee, and `sla` the credits for broken terms. `faults` contains the slash table, `score` the weight of evidence, `ids` the numbering of tasks and leases, and
//! `transitions` the tables of states. The macro `weights!` declares the measured weights of a pallet.

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
pub mod sla;
pub mod storage;
pub mod transitions;
pub mod types;
pub mod verification_tables;
mod weights;

pub use faults::Fault;
pub use halts::{Halt, Halts};
pub use ids::{lease_id, lease_parts, PageKey, TaskKey};
pub use types::*;
