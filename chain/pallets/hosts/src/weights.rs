//! What each call of the hosts pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

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
    change_hardware() = 226_887_000, 3_051, 7, 4;
    drain() = 31_206_000, 2_556, 1, 1;
    heartbeat() = 33_009_000, 2_562, 2, 1;
    heartbeat_after_absence() = 108_151_000, 2_917, 5, 4;
    register() = 166_197_000, 257, 7, 4;
    report_absent() = 148_521_000, 2_971, 6, 4;
    retire() = 115_181_000, 3_063, 6, 6;
    set_ask() = 37_105_000, 2_556, 1, 1;
    set_device_health() = 36_594_000, 2_562, 2, 2;
    set_endpoint() = 36_284_000, 2_562, 2, 2;
    set_params() = 7_831_000, 0, 0, 1;
    suspend() = 31_867_000, 2_556, 1, 1;
    top_up_bond() = 90_415_000, 2_612, 2, 2;
    undrain() = 31_677_000, 2_556, 1, 1;
    unsuspend() = 31_347_000, 2_557, 1, 1;
    verify_host() = 30_986_000, 2_556, 1, 1;
    withdraw_bond() = 93_429_000, 2_765, 4, 4;
}
