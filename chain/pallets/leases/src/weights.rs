//! What each call of the leases pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

use core::marker::PhantomData;
use frame_support::{
    traits::Get,
    weights::{constants::ParityDbWeight, RuntimeDbWeight, Weight},
};

/// Measured: picoseconds without the database, bytes of proof, database reads and writes.
const fn measured(db: RuntimeDbWeight, picos: u64, proof: u64, reads: u64, writes: u64) -> Weight {
    Weight::from_parts(picos + reads * db.read + writes * db.write, proof)
}

macro_rules! weights {
    ($($name:ident($($arg:ident),*) = $picos:expr, $proof:expr, $reads:expr, $writes:expr;)*) => {
        /// The weight of each call.
        pub trait WeightInfo {
            $(
                /// The weight of the call of this name.
                fn $name($($arg: u32),*) -> Weight;
            )*
        }

        /// As measured, with the database costs of the runtime.
        pub struct SubstrateWeight<T>(PhantomData<T>);

        impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
            $(fn $name($($arg: u32),*) -> Weight {
                // What a component adds may be nothing.
                $(#[allow(unused_variables)] let $arg = u64::from($arg);)*
                measured(T::DbWeight::get(), $picos, $proof, $reads, $writes)
            })*
        }

        impl WeightInfo for () {
            $(fn $name($($arg: u32),*) -> Weight {
                // What a component adds may be nothing.
                $(#[allow(unused_variables)] let $arg = u64::from($arg);)*
                measured(ParityDbWeight::get(), $picos, $proof, $reads, $writes)
            })*
        }
    };
}

#[rustfmt::skip]
weights! {
    agenda_base() = 6_961_000, 175, 2, 0;
    close_depleted() = 265_243_000, 4_462, 18, 13;
    crank(e) = 146_337_000 + 116_603_000 * e, 2_133 + 2_231 * e, 11 + 5 * e, 6 + 4 * e;
    due_entry() = 136_953_000, 4_547, 15, 9;
    extend() = 167_819_000, 3_815, 10, 4;
    finish_reclaim() = 127_559_000, 4_039, 13, 8;
    keep() = 269_610_000, 4_232, 12, 5;
    reclaim() = 98_156_000, 3_696, 8, 1;
    release_data() = 103_704_000, 3_717, 9, 3;
    resume() = 118_907_000, 3_739, 8, 3;
    set_params() = 6_359_000, 0, 0, 1;
    settle() = 188_070_000, 4_092, 12, 6;
    suspend() = 116_663_000, 3_723, 8, 3;
    top_up() = 164_484_000, 3_815, 10, 4;
}
