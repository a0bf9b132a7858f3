//! What each call of the governance pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

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
    cancel() = 20_821_000, 188, 2, 2;
    enact(l) = 31_238_000 + 3_000 * l, 36, 5, 4;
    set_params() = 6_540_000, 0, 0, 1;
}
