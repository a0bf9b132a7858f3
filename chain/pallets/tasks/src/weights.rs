//! What each call of the tasks pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

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
    accept_result() = 66_178_000, 5_298, 7, 3;
    assign(p) = 123_504_000 + 23_310_000 * p, 1_878 + 1_810 * p, 11 + 2 * p, 6 + 2 * p;
    assign_batch(i, s, h) = 23_355_000 + 9_435_000 * i + 17_896_000 * s + 35_039_000 * h, 1_722 + 8 * i + 89 * s + 1_824 * h, 6 + i + 2 * s + 3 * h, 2 + i + s + 3 * h;
    bond_scheduler() = 69_473_000, 282, 4, 3;
    cancel(p) = 161_633_000 + 36_539_000 * p, 2_083 + 2_143 * p, 11 + 3 * p, 8 + 3 * p;
    end(p) = 53_216_000 + 35_207_000 * p, 1_876 + 2_150 * p, 8 + 3 * p, 3 + 3 * p;
    expire() = 92_787_000, 1_624, 8, 6;
    expire_lease(p) = 162_456_000 + 88_253_000 * p, 2_227 + 2_241 * p, 11 + 4 * p, 8 + 4 * p;
    prune(i, s) = 16_875_000 + 9_099_000 * i + 22_187_000 * s, 2_077 + 19 * i + 323 * s, 4 + i + 2 * s, 1 + i + 3 * s;
    rate() = 84_836_000, 8_077, 7, 2;
    report_batch(i, s, h) = 8_850_000 + 9_387_000 * i + 17_828_000 * s + 49_587_000 * h, 2_088 + 26 * i + 273 * s + 2_554 * h, 5 + i + 2 * s + 4 * h, 2 + i + s + 4 * h;
    report_failed(p) = 162_305_000 + 35_840_000 * p, 2_083 + 2_143 * p, 10 + 3 * p, 7 + 3 * p;
    report_result() = 95_222_000, 4_043, 13, 8;
    report_started() = 77_625_000, 3_697, 11, 6;
    requeue(p) = 167_714_000 + 36_658_000 * p, 2_033 + 2_147 * p, 11 + 3 * p, 8 + 3 * p;
    scale(p) = 27_260_000 + 38_760_000 * p, 1_606 + 2_024 * p, 3 + 3 * p, 1 + 3 * p;
    set_params() = 6_569_000, 0, 0, 1;
    settle(p) = 151_295_000 + 24_990_000 * p, 1_946 + 2_137 * p, 9 + 2 * p, 7 + p;
    settle_batch(i, s, h) = 45_740_000 + 10_721_000 * i + 24_156_000 * s + 33_216_000 * h, 2_264 + 18 * i + 322 * s + 2_212 * h, 5 + i + 2 * s + 3 * h, 2 + i + 3 * s + 2 * h;
    submit(b) = 117_607_000 + 1_000 * b, 268, 6, 8;
    submit_array(b, t) = 291_706_000 + 2_281_000 * t, 268, 6, 7 + t;
    unbond_scheduler() = 58_847_000, 323, 3, 3;
}
