//! The list of benchmarks, and the set-up that some of them need. `scripts/weights` runs them and writes each pallet's
//! weights.

use crate::{AccountId, Runtime, System};
use alloc::vec::Vec;
use gantry_primitives::{HostId, LeaseId, TaskId};
use pallet_gantry_tasks::benchmarking as tasks;

/// Hosts and tasks for the benchmarks of verification.
pub struct BenchmarkSetup;

impl pallet_gantry_verification::BenchmarkHelper for BenchmarkSetup {
    fn host() -> (HostId, AccountId) {
        tasks::create_unverified_host::<Runtime>()
    }

    fn reported_task(_tenant: &AccountId) -> TaskId {
        // Benchmarks of both pallets name their tenant alike.
        tasks::create_reported_job::<Runtime>()
    }

    fn replicated_task() -> (TaskId, Vec<(LeaseId, HostId)>) {
        tasks::create_compared_job::<Runtime>()
    }

    fn set_block(number: u32, now: u64, randomness: [u8; 32]) {
        System::set_block_number(number);
        pallet_timestamp::Now::<Runtime>::put(now);
        pallet_babe::AuthorVrfRandomness::<Runtime>::put(Some(randomness));
    }
}

frame_benchmarking::define_benchmarks!(
    [pallet_gantry_billing, Billing]
    [pallet_gantry_governance, Governance]
    [pallet_gantry_hosts, Hosts]
    [pallet_gantry_leases, Leases]
    [pallet_gantry_tasks, Tasks]
    [pallet_gantry_validators, Validators]
    [pallet_gantry_verification, Verification]
);
