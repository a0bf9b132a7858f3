//! The list of benchmarks, and the set-up that some of them need. `scripts/weights` runs them and writes each pallet's
//! weights.

use crate::{AccountId, Hosts, Runtime, System, Tasks};
use alloc::vec::Vec;
use gantry_primitives::{lease_parts, BillingUnit, HostId, LeaseId, Manifest, TaskId, TaskSpec};
use pallet_gantry_agreements::{OfferTerms, Place, MAX_OFFER_HOSTS};
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

    fn running_service() -> LeaseId {
        tasks::create_paid_service::<Runtime>()
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

/// A place on one of as many hosts of `provider` as an offer may name, and terms with all of them.
pub fn create_place(provider: &AccountId) -> (Place, OfferTerms) {
    let (hosts, devices, resources) = tasks::create_hosts::<Runtime>(provider, MAX_OFFER_HOSTS);
    let place = Place { host: hosts[hosts.len() - 1].clone(), devices };
    let (spec, _) = tasks::create_rental_spec(resources.clone());
    let terms = OfferTerms {
        hosts: hosts.try_into().expect("there are as many as may be"),
        resources,
        allow_simulated: false,
        rate_per_hour: spec.max_rate_per_hour,
        unit: BillingUnit::Second,
        duration_ms: spec.max_duration_ms,
        start_from: 0,
        start_until: 0,
    };
    (place, terms)
}

/// A task as these terms say.
pub fn create_task(terms: &OfferTerms) -> (TaskSpec, Manifest) {
    tasks::create_rental_spec(terms.resources.clone())
}

/// An active lease, whose tenant must be the account named `tenant`, and the provider of its host.
pub fn create_lease(tenant: &AccountId) -> (LeaseId, AccountId) {
    let lease = tasks::create_rental::<Runtime>(0);
    let record = Tasks::record(lease_parts(lease).0).expect("it was just made");
    assert_eq!(record.tenant, *tenant, "benchmarks of both pallets name their tenant alike");
    (lease, Hosts::provider_of(&record.leases[0].host).expect("it was just made"))
}

frame_benchmarking::define_benchmarks!(
    [pallet_gantry_agreements, Agreements]
    [pallet_gantry_billing, Billing]
    [pallet_gantry_governance, Governance]
    [pallet_gantry_hosts, Hosts]
    [pallet_gantry_leases, Leases]
    [pallet_gantry_tasks, Tasks]
    [pallet_gantry_validators, Validators]
    [pallet_gantry_verification, Verification]
);
