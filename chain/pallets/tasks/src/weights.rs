//! What each call of the tasks pallet costs.

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
    submit(bytes) = 150 + bytes / 100, 25_000, 7, 8;
    submit_array(bytes, tasks) = 150 + bytes / 100 + 12 * tasks, 25_000, 7, 8 + tasks / 100;
    assign(pods) = 120 + 100 * pods, 12_000 + 12_000 * pods, 6 + 4 * pods, 6 + 5 * pods;
    assign_batch(items, specs, hosts) = 200 + 30 * items + 50 * specs + 100 * hosts, 12_000, 8 + specs + 3 * hosts, 8 + 3 * hosts;
    report_started() = 110, 16_000, 5, 7;
    report_result() = 110, 16_000, 5, 7;
    report_failed(pods) = 120 + 180 * pods, 16_000 + 14_000 * pods, 9 + 5 * pods, 10 + 6 * pods;
    report_batch(items, specs, hosts) = 200 + 30 * items + 50 * specs + 150 * hosts, 12_000, 8 + specs + 3 * hosts, 8 + 4 * hosts;
    requeue(pods) = 120 + 180 * pods, 16_000 + 14_000 * pods, 9 + 5 * pods, 10 + 6 * pods;
    expire_lease(pods) = 120 + 180 * pods, 16_000 + 14_000 * pods, 9 + 5 * pods, 10 + 6 * pods;
    cancel(pods) = 120 + 180 * pods, 16_000 + 14_000 * pods, 7 + 5 * pods, 8 + 6 * pods;
    expire() = 120, 16_000, 4, 6;
    accept_result() = 60, 8_000, 1, 3;
    settle(pods) = 120 + 180 * pods, 16_000 + 14_000 * pods, 8 + 5 * pods, 9 + 5 * pods;
    settle_batch(items, specs, hosts) = 200 + 30 * items + 50 * specs + 100 * hosts, 12_000, 8 + specs + 3 * hosts, 8 + specs + 3 * hosts;
    prune(items, specs) = 200 + 25 * items + 60 * specs, 12_000, 8 + specs, 8 + 2 * specs;
    scale(pods) = 120 + 180 * pods, 16_000 + 14_000 * pods, 7 + 5 * pods, 8 + 6 * pods;
    end(pods) = 120 + 180 * pods, 16_000 + 14_000 * pods, 7 + 5 * pods, 8 + 6 * pods;
    rate() = 80, 8_000, 5, 2;
    bond_scheduler() = 100, 12_000, 4, 3;
    unbond_scheduler() = 100, 12_000, 3, 3;
    set_params() = 15, 1_000, 0, 1;
}
