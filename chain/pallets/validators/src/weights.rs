//! What each call of the validators pallet costs.

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
    ($($name:ident($($arg:ident),*) = $micros:expr, $proof:expr, $reads:expr, $writes:expr;)*) => {
        /// The weight of each call.
        pub trait WeightInfo {
            $(
                /// The weight of the call of this name.
                fn $name($($arg: u32),*) -> Weight;
            )*
        }

        /// Estimates with the database costs of the runtime.
        pub struct SubstrateWeight<T>(PhantomData<T>);

        impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
            $(fn $name($($arg: u32),*) -> Weight {
                $(let $arg = u64::from($arg);)*
                estimate(T::DbWeight::get(), $micros, $proof, $reads, $writes)
            })*
        }

        impl WeightInfo for () {
            $(fn $name($($arg: u32),*) -> Weight {
                $(let $arg = u64::from($arg);)*
                estimate(RocksDbWeight::get(), $micros, $proof, $reads, $writes)
            })*
        }
    };
}

weights! {
    add(v) = 20 + v / 50, 40_000, 2, 1;
    remove(v) = 20 + v / 50, 40_000, 1, 1;
}
