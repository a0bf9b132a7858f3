//! What each call of the hosts pallet costs.

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
    register() = 260, 24_000, 11, 9;
    heartbeat() = 40, 7_000, 3, 1;
    heartbeat_after_absence() = 120, 20_000, 9, 7;
    set_endpoint() = 45, 8_000, 4, 2;
    set_ask() = 40, 7_000, 1, 1;
    drain() = 40, 7_000, 1, 1;
    undrain() = 40, 7_000, 1, 1;
    retire() = 130, 20_000, 9, 9;
    report_absent() = 130, 18_000, 8, 6;
    verify_host() = 40, 7_000, 1, 1;
    suspend() = 40, 7_000, 1, 1;
    unsuspend() = 40, 7_000, 1, 1;
    set_params() = 15, 1_000, 0, 1;
    withdraw_bond() = 90, 14_000, 5, 6;
    top_up_bond() = 80, 12_000, 4, 4;
    set_device_health() = 45, 8_000, 4, 2;
    change_hardware() = 260, 24_000, 11, 9;
}
