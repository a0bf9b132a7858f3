//! Which benchmarks there are. `scripts/weights` runs them and writes each pallet's weights.

frame_benchmarking::define_benchmarks!(
    [pallet_gantry_billing, Billing]
    [pallet_gantry_governance, Governance]
    [pallet_gantry_hosts, Hosts]
    [pallet_gantry_leases, Leases]
    [pallet_gantry_tasks, Tasks]
    [pallet_gantry_validators, Validators]
    [pallet_gantry_verification, Verification]
);
