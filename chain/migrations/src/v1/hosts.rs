//! Hosts of release 1. The pallet's `HostsByProvider` and `EndpointChangedAt` are still as they were.

use super::{AccountId, Balance, Bytes, HostId, Moment, UpTo};
use codec::{Decode, Encode};
use frame_support::{pallet_prelude::*, storage_alias};
use pallet_gantry_hosts::{Config, Pallet};

/// See the type of the same name in `gantry_primitives`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Anyone else.
    Other,
}

/// A device as its provider described it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DeviceSpec {
    /// Who made it.
    pub vendor: Vendor,
    /// The model.
    pub model: Bytes<64>,
    /// Its memory in MiB.
    pub vram_mib: u32,
    /// True where no real device stands behind it.
    pub simulated: bool,
}

/// A device of a host.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Device {
    /// What it is.
    pub spec: DeviceSpec,
    /// Thousandths of it that no lease holds.
    pub milli_free: u16,
    /// True once a challenge proved that it is real; release 1 had no challenges.
    pub attested: bool,
}

/// An amount of what every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Capacity {
    /// Thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Disk in GiB.
    pub disk_gib: u32,
}

/// A price list, in base units an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Ask {
    /// For one whole device.
    pub gpu_per_hour: Balance,
    /// For one whole core.
    pub cpu_core_per_hour: Balance,
    /// For one GiB of memory.
    pub memory_gib_per_hour: Balance,
    /// For one GiB of disk.
    pub disk_gib_per_hour: Balance,
}

/// Why a host is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SuspendReason {
    /// Root decided it.
    ByRoot,
}

/// Where a host stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum HostStatus {
    /// Registered.
    Unverified,
    /// May come online.
    Verified,
    /// Takes leases.
    Online,
    /// Was silent for too long.
    Offline,
    /// Takes nothing new.
    Draining,
    /// Takes nothing.
    Suspended(SuspendReason),
    /// Gone for ever.
    Retired,
}

/// A registered host.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct HostRecord {
    /// Who owns it.
    pub provider: AccountId,
    /// Where it stands.
    pub status: HostStatus,
    /// What the machine has.
    pub total: Capacity,
    /// What no lease holds.
    pub free: Capacity,
    /// Its devices.
    pub devices: UpTo<Device, 16>,
    /// Its price list.
    pub ask: Ask,
    /// How to reach it.
    pub endpoint: Bytes<256>,
    /// Where it is.
    pub region: Bytes<32>,
    /// Coins of the provider held for it.
    pub bond: Balance,
    /// When it was registered.
    pub registered_at: Moment,
    /// When it last said that it is there.
    pub last_heartbeat: Moment,
    /// How many leases hold some of it.
    pub live_leases: u32,
}

/// What governed the pallet.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct HostsParams {
    /// Coins held for each device.
    pub bond_per_device: Balance,
    /// Once in so many milliseconds a host says that it is there.
    pub heartbeat_period_ms: u64,
    /// A host that was silent for longer may be reported absent.
    pub absence_limit_ms: u64,
    /// What the reporter gets.
    pub absence_bounty: Balance,
    /// Whether simulated devices may be registered.
    pub allow_simulated: bool,
    /// Whether a new host must be verified.
    pub verification_required: bool,
}

/// Every host that was ever registered.
#[storage_alias]
pub type Hosts<T: Config> = StorageMap<Pallet<T>, Blake2_128Concat, HostId, HostRecord>;

/// The periods and amounts.
#[storage_alias]
pub type Params<T: Config> = StorageValue<Pallet<T>, HostsParams>;
