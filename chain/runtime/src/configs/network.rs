//! Hosts, tasks, leases, billing and reputation.

use super::{agreements::ReservedPlaces, governance::AdminOrigin};
use crate::{coins::Coins, AccountId, Babe, Billing, Runtime, RuntimeHoldReason, Tasks, Timestamp};
use frame_support::traits::Get;
use gantry_primitives::Moment;

/// Where fees, fines and slashed coins go.
pub struct Treasury;

impl Get<AccountId> for Treasury {
    fn get() -> AccountId {
        Billing::treasury()
    }
}

/// When the slot of this block began, in milliseconds.
pub struct SlotTime;

impl Get<Moment> for SlotTime {
    fn get() -> Moment {
        Babe::slot_duration().saturating_mul(Babe::current_slot().into())
    }
}

impl pallet_gantry_hosts::Config for Runtime {
    type Currency = Coins;
    type RuntimeHoldReason = RuntimeHoldReason;
    type Time = Timestamp;
    type SlotTime = SlotTime;
    type AdminOrigin = AdminOrigin;
    type Treasury = Treasury;
    type WeightInfo = pallet_gantry_hosts::weights::SubstrateWeight<Runtime>;
}

impl pallet_gantry_leases::Config for Runtime {
    type Time = Timestamp;
    type LeaseStore = Tasks;
    type AdminOrigin = AdminOrigin;
    type WeightInfo = pallet_gantry_leases::weights::SubstrateWeight<Runtime>;
}

impl pallet_gantry_billing::Config for Runtime {
    type Currency = Coins;
    type RuntimeHoldReason = RuntimeHoldReason;
    type AdminOrigin = AdminOrigin;
    type WeightInfo = pallet_gantry_billing::weights::SubstrateWeight<Runtime>;
}

impl pallet_gantry_reputation::Config for Runtime {}

impl pallet_gantry_tasks::Config for Runtime {
    type Currency = Coins;
    type RuntimeHoldReason = RuntimeHoldReason;
    type AdminOrigin = AdminOrigin;
    type Reservations = ReservedPlaces;
    type WeightInfo = pallet_gantry_tasks::weights::SubstrateWeight<Runtime>;
}
