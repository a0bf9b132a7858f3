//! Hosts, tasks, leases, billing and reputation.

use crate::{Balances, Runtime, RuntimeHoldReason, Timestamp};

impl pallet_gantry_hosts::Config for Runtime {
    type Currency = Balances;
    type RuntimeHoldReason = RuntimeHoldReason;
    type Time = Timestamp;
    type WeightInfo = pallet_gantry_hosts::weights::SubstrateWeight<Runtime>;
}

impl pallet_gantry_leases::Config for Runtime {}

impl pallet_gantry_billing::Config for Runtime {
    type Currency = Balances;
    type RuntimeHoldReason = RuntimeHoldReason;
    type WeightInfo = pallet_gantry_billing::weights::SubstrateWeight<Runtime>;
}

impl pallet_gantry_reputation::Config for Runtime {}

impl pallet_gantry_tasks::Config for Runtime {
    type Currency = Balances;
    type RuntimeHoldReason = RuntimeHoldReason;
    type WeightInfo = pallet_gantry_tasks::weights::SubstrateWeight<Runtime>;
}
