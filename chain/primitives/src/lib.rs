//! The types and pure rules of Gantry, shared by every pallet.
//!
//! Nothing here reads storage or the clock: `fit` says what fits on a host, `rate` what it costs,
//! `score` what evidence is worth, and `transitions` which states follow which.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod commitments;
pub mod fit;
pub mod rate;
pub mod registration;
pub mod score;
pub mod transitions;
pub mod types;
pub mod verification_tables;

pub use types::*;
