//! What a host is and has.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{AccountId, Balance, Endpoint, ModelName, Moment, RegionName, UpTo, MAX_DEVICES};

/// Who made a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Anyone else.
    Other,
}

/// A device as its provider describes it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct DeviceSpec {
    /// Who made it.
    pub vendor: Vendor,
    /// The model as the vendor's tool prints it.
    pub model: ModelName,
    /// Its memory in MiB.
    pub vram_mib: u32,
    /// True where no real device stands behind it. Never changes.
    pub simulated: bool,
}

/// A device of a registered host.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Device {
    /// What it is.
    pub spec: DeviceSpec,
    /// Thousandths of it that no lease holds.
    pub milli_free: u16,
    /// True once a challenge proved that it is real.
    pub attested: bool,
}

/// The machine a provider registers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct HardwareSpec {
    /// Thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Disk in GiB.
    pub disk_gib: u32,
    /// Its devices; leases name them by their place in this list.
    pub devices: UpTo<DeviceSpec, MAX_DEVICES>,
}

/// An amount of what every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Capacity {
    /// Thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Disk in GiB.
    pub disk_gib: u32,
}

/// A host's price list, in base units an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum SuspendReason {
    /// The chain's governance decided it.
    ByRoot,
}

/// Where a host stands. Changes only along `transitions::HOST_TRANSITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum HostStatus {
    /// Registered; its hardware was not looked at yet.
    Unverified,
    /// May come online.
    Verified,
    /// There, and takes leases.
    Online,
    /// Was silent for too long. Its leases may be moved elsewhere.
    Offline,
    /// There, finishes what it has, takes nothing new.
    Draining,
    /// Takes nothing, for the reason given.
    Suspended(SuspendReason),
    /// Gone for ever; its key is not used again.
    Retired,
}

/// A [`HostStatus`] without payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum HostStatusTag {
    /// See [`HostStatus::Unverified`].
    Unverified,
    /// See [`HostStatus::Verified`].
    Verified,
    /// See [`HostStatus::Online`].
    Online,
    /// See [`HostStatus::Offline`].
    Offline,
    /// See [`HostStatus::Draining`].
    Draining,
    /// See [`HostStatus::Suspended`].
    Suspended,
    /// See [`HostStatus::Retired`].
    Retired,
}

impl HostStatus {
    /// The status without its payload.
    pub const fn tag(&self) -> HostStatusTag {
        match self {
            Self::Unverified => HostStatusTag::Unverified,
            Self::Verified => HostStatusTag::Verified,
            Self::Online => HostStatusTag::Online,
            Self::Offline => HostStatusTag::Offline,
            Self::Draining => HostStatusTag::Draining,
            Self::Suspended(_) => HostStatusTag::Suspended,
            Self::Retired => HostStatusTag::Retired,
        }
    }
}

/// A registered host.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct HostRecord {
    /// Who owns it, posts its bond and is paid.
    pub provider: AccountId,
    /// Where it stands.
    pub status: HostStatus,
    /// What the machine has.
    pub total: Capacity,
    /// What no lease holds.
    pub free: Capacity,
    /// Its devices, each with what no lease holds of it.
    pub devices: UpTo<Device, MAX_DEVICES>,
    /// Its price list. A lease keeps the rate it was opened at.
    pub ask: Ask,
    /// How to reach it.
    pub endpoint: Endpoint,
    /// Where it is.
    pub region: RegionName,
    /// Coins of the provider held for it.
    pub bond: Balance,
    /// When it was registered.
    pub registered_at: Moment,
    /// When it last said that it is there; 0 where it never did.
    pub last_heartbeat: Moment,
    /// How many leases hold some of it.
    pub live_leases: u32,
}
