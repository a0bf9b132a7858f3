//! What each call of the verification pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

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
    add_evidence() = 37_425_000, 7_716, 2, 1;
    advance() = 1_571_331_000, 59_270, 80, 61;
    answer() = 67_571_000, 1_130, 4, 3;
    appeal() = 105_046_000, 8_380, 6, 5;
    bond_verifier() = 146_557_000, 21_439, 6, 4;
    commit_result() = 157_484_000, 8_627, 14, 7;
    commit_vote() = 72_768_000, 1_362, 4, 3;
    draw_seed() = 486_522_000, 22_968, 21, 10;
    hook() = 606_470_000, 11_844, 31, 28;
    open_challenge() = 170_764_000, 4_591, 10, 7;
    open_dispute() = 332_864_000, 34_800, 28, 8;
    reveal_result() = 193_788_000, 8_494, 14, 7;
    reveal_vote() = 1_536_810_000, 59_126, 79, 60;
    set_params() = 7_411_000, 0, 0, 1;
    unbond_verifier() = 111_986_000, 19_639, 4, 2;
    withdraw_verifier_bond() = 121_129_000, 2_476, 4, 3;
}
