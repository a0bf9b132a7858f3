//! Hosts of release 3.

use codec::{Decode, Encode};
use gantry_primitives::{
    AccountId, Balance, Capacity, Device, Endpoint, GpuPrice, HostStatus, Moment, RegionName, Tier, UpTo, MAX_DEVICES,
    MAX_GPU_PRICES,
};

/// The first of the parameters of the hosts pallet, see `pallet_gantry_hosts::Params`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Params {
    /// Coins held for each device of a consumer host.
    pub bond_consumer: Balance,
    /// Coins held for each device of a professional host.
    pub bond_professional: Balance,
    /// Coins held for each device of a data centre host.
    pub bond_datacenter: Balance,
    /// The period of heartbeats in milliseconds.
    pub heartbeat_period_ms: u64,
    /// The longest silence of a host in milliseconds.
    pub absence_limit_ms: u64,
}

/// See `gantry_primitives::Capabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Capabilities {
    /// Containers, by a Docker engine.
    pub docker: bool,
    /// Virtual machines, by KVM.
    pub kvm: bool,
    /// Pods of a Kubernetes cluster.
    pub kubernetes: bool,
    /// Devices by the Container Device Interface.
    pub cdi: bool,
    /// Slices of devices.
    pub mig: bool,
    /// Shares of devices.
    pub shares: bool,
}

/// See `gantry_primitives::Ask`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Ask {
    /// The prices of models.
    pub gpu: UpTo<GpuPrice, MAX_GPU_PRICES>,
    /// The price of a device of any other model.
    pub gpu_per_hour: Balance,
    /// The price of a core.
    pub cpu_core_per_hour: Balance,
    /// The price of one GiB of memory.
    pub memory_gib_per_hour: Balance,
    /// The price of one GiB of disk.
    pub disk_gib_per_hour: Balance,
    /// The price of one GiB that a pod sends.
    pub network_gib: Balance,
    /// The price of one GiB of the disk of a stopped rental.
    pub storage_gib_per_hour: Balance,
    /// The factor of leases billed by the second.
    pub second_ppm: u32,
    /// The factor of leases billed by the hour.
    pub hour_ppm: u32,
    /// The factor of leases billed by the day.
    pub day_ppm: u32,
}

/// See `gantry_primitives::HostRecord`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct HostRecord {
    /// The owner.
    pub provider: AccountId,
    /// The status.
    pub status: HostStatus,
    /// The class of machine.
    pub tier: Tier,
    /// What it can run.
    pub capabilities: Capabilities,
    /// Megabits per second that it can receive.
    pub network_mbps_down: u32,
    /// Megabits per second that it can send.
    pub network_mbps_up: u32,
    /// The measured round trip in milliseconds.
    pub latency_ms: u16,
    /// What the machine has.
    pub total: Capacity,
    /// What no lease holds.
    pub free: Capacity,
    /// Its devices.
    pub devices: UpTo<Device, MAX_DEVICES>,
    /// Its price list.
    pub ask: Ask,
    /// Its addresses.
    pub endpoint: Endpoint,
    /// Its region.
    pub region: RegionName,
    /// Coins held for it.
    pub bond: Balance,
    /// Coins that must be held for it.
    pub bond_required: Balance,
    /// How often its hardware was changed.
    pub generation: u32,
    /// When it was registered.
    pub registered_at: Moment,
    /// The time of its last heartbeat; 0 before the first.
    pub last_heartbeat: Moment,
    /// The sum of its absences in milliseconds.
    pub downtime_ms: u64,
    /// How many leases hold something of it.
    pub live_leases: u32,
}
