//! What each call of the leases pallet costs.

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
    extend() = 150, 30_000, 8, 6;
    top_up() = 150, 30_000, 8, 6;
    suspend() = 150, 40_000, 9, 7;
    resume() = 150, 40_000, 9, 7;
    reclaim() = 110, 30_000, 8, 5;
    finish_reclaim() = 350, 80_000, 16, 16;
    settle() = 200, 40_000, 10, 8;
    close_depleted() = 450, 90_000, 20, 18;
    keep() = 200, 40_000, 10, 8;
    release_data() = 110, 30_000, 8, 5;
    crank(entries) = 30 + 350 * entries, 4_000 + 80_000 * entries, 3 + 16 * entries, 2 + 16 * entries;
    agenda_base() = 10, 4_000, 2, 0;
    due_entry() = 350, 80_000, 16, 16;
    set_params() = 15, 1_000, 0, 1;
}
