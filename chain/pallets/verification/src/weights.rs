//! What each call of the verification pallet costs.

use core::marker::PhantomData;
use frame_support::{
    traits::Get,
    weights::{constants::RocksDbWeight, RuntimeDbWeight, Weight},
};

/// Hand estimates, on the safe side, until benchmarks replace them: processor time in microseconds, proof size in
/// bytes, database reads and writes.
const fn estimate(db: RuntimeDbWeight, micros: u64, proof: u64, reads: u64, writes: u64) -> Weight {
    Weight::from_parts(micros * 1_000_000 + reads * db.read + writes * db.write, proof)
}

macro_rules! weights {
    ($($(#[doc = $doc:literal])+ $name:ident = $micros:expr, $proof:expr, $reads:expr, $writes:expr;)*) => {
        /// The weight of each call, and of what the chain does by itself.
        pub trait WeightInfo {
            $(
                $(#[doc = $doc])+
                fn $name() -> Weight;
            )*
        }

        /// Estimates with the database costs of the runtime.
        pub struct SubstrateWeight<T>(PhantomData<T>);

        impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
            $(fn $name() -> Weight {
                estimate(T::DbWeight::get(), $micros, $proof, $reads, $writes)
            })*
        }

        impl WeightInfo for () {
            $(fn $name() -> Weight {
                estimate(RocksDbWeight::get(), $micros, $proof, $reads, $writes)
            })*
        }
    };
}

weights! {
    /// The weight of the call of this name.
    bond_verifier = 120, 30_000, 5, 4;
    /// The weight of the call of this name.
    unbond_verifier = 90, 30_000, 3, 2;
    /// The weight of the call of this name.
    withdraw_verifier_bond = 90, 8_000, 4, 3;
    /// The weight of the call of this name.
    open_challenge = 150, 20_000, 10, 8;
    /// The weight of the call of this name.
    answer = 60, 8_000, 4, 3;
    /// The weight of the call of this name; the last commitment opens the reveals.
    commit_vote = 80, 20_000, 4, 3;
    /// The weight of the call of this name; the last vote closes the ballot, and a dispute with it.
    reveal_vote = 1_500, 200_000, 60, 60;
    /// The weight of the call of this name.
    commit_result = 100, 30_000, 8, 5;
    /// The weight of the call of this name; the last result compares them.
    reveal_result = 500, 80_000, 20, 20;
    /// The weight of the call of this name.
    open_dispute = 200, 60_000, 26, 8;
    /// The weight of the call of this name.
    add_evidence = 80, 16_000, 3, 1;
    /// The weight of the call of this name.
    appeal = 120, 20_000, 6, 5;
    /// The weight of the call of this name at its dearest: a ballot of seven closes, and a dispute with it.
    advance = 1_500, 200_000, 60, 60;
    /// The weight of the call of this name.
    set_params = 20, 1_000, 0, 1;
    /// The weight of drawing a committee of seven from a full list of verifiers.
    draw_seed = 1_500, 60_000, 50, 12;
    /// The weight of looking at every queue where nothing is due.
    hook = 40, 8_000, 13, 1;
}
