//! Types of hosts.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{AccountId, Balance, Endpoint, HostId, ModelName, Moment, RegionName, UpTo, MAX_DEVICES};

/// The most models that one price list names.
pub const MAX_GPU_PRICES: u32 = 8;
/// The greatest factor on a list price, in parts per million: ten times the price.
pub const MAX_UNIT_PPM: u32 = 10_000_000;

/// Who made a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Any other vendor.
    Other,
}

/// The class of a host's machine, which determines its bond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Tier {
    /// A machine with devices made for the home.
    Consumer,
    /// A workstation or a server with devices made for work.
    Professional,
    /// A server with devices made for data centres, in one.
    Datacenter,
}

/// What a host can run and how it hands out its devices; or, where a task asks for it, what the host must have.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct Capabilities {
    /// Containers, by a Docker engine.
    pub docker: bool,
    /// Virtual machines, by KVM.
    pub kvm: bool,
    /// Pods of a Kubernetes cluster.
    pub kubernetes: bool,
    /// Devices by the Container Device Interface.
    pub cdi: bool,
    /// Slices of devices that the hardware isolates.
    pub mig: bool,
    /// Shares of devices without isolation: those of one device belong to one tenant at a time.
    pub shares: bool,
    /// Pods in a sandbox with a kernel of its own (such as gVisor's), so that they do not use the kernel of the machine
    /// directly. All pods of the host run in one.
    pub sandboxed: bool,
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
    /// True if no real device exists. Never changes.
    pub simulated: bool,
}

/// A device of a registered host.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Device {
    /// What it is.
    pub spec: DeviceSpec,
    /// Thousandths of it that no lease holds.
    pub milli_free: u16,
    /// The tenant whose leases hold shares of it; no other tenant's may until it is wholly free. None if no lease holds
    /// a share.
    pub shared_by: Option<AccountId>,
    /// True after a challenge proved that it is genuine.
    pub attested: bool,
    /// False if the host reports it as unhealthy; it takes no new lease then.
    pub healthy: bool,
}

/// The machine a provider registers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct HardwareSpec {
    /// The class of machine.
    pub tier: Tier,
    /// What it can run.
    pub capabilities: Capabilities,
    /// Whether its agent answers challenges. A host that does not is never challenged, and its devices are never attested.
    pub answers_challenges: bool,
    /// Thousandths of a core.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Disk in GiB.
    pub disk_gib: u32,
    /// What it can receive, in millions of bits a second.
    pub network_mbps_down: u32,
    /// What it can send, in millions of bits a second.
    pub network_mbps_up: u32,
    /// Its devices; leases refer to them by their index in this list.
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

/// What one whole device of a model costs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct GpuPrice {
    /// The model.
    pub model: ModelName,
    /// Base units an hour.
    pub per_hour: Balance,
}

/// What a host promises for the service in a lease, or the least that a task demands. All 0: nothing.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct SlaTerms {
    /// The part of the time of a lease in which its host is present, in parts per million.
    #[codec(compact)]
    pub uptime_ppm: u32,
    /// The longest time from the opening of a lease to the start of its pod, in milliseconds; 0 where none is promised.
    #[codec(compact)]
    pub start_ms: u32,
    /// The least notice in milliseconds before the provider takes the place back.
    #[codec(compact)]
    pub notice_ms: u64,
    /// The most that is credited to the tenant, in parts per million of the price of a period.
    #[codec(compact)]
    pub penalty_ppm: u32,
}

impl SlaTerms {
    /// Whether these terms promise at least as much as `least`.
    pub const fn satisfy(&self, least: &Self) -> bool {
        let starts = least.start_ms == 0 || (self.start_ms > 0 && self.start_ms <= least.start_ms);
        starts
            && self.uptime_ppm >= least.uptime_ppm
            && self.notice_ms >= least.notice_ms
            && self.penalty_ppm >= least.penalty_ppm
    }
}

/// A host's price list: base units an hour, except where it says otherwise. See `rate` for what a pod costs by it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Ask {
    /// Devices of the models that have a price of their own; each model once.
    pub gpu: UpTo<GpuPrice, MAX_GPU_PRICES>,
    /// For one whole device of any other model.
    pub gpu_per_hour: Balance,
    /// For one whole core.
    pub cpu_core_per_hour: Balance,
    /// For one GiB of memory.
    pub memory_gib_per_hour: Balance,
    /// For one GiB of disk.
    pub disk_gib_per_hour: Balance,
    /// For each GiB that a pod sends, in base units.
    pub network_gib: Balance,
    /// For one GiB of the disk of a stopped rental.
    pub storage_gib_per_hour: Balance,
    /// The price factor of leases billed by the second, in millionths of the list price; 0 if none are offered.
    pub second_ppm: u32,
    /// The price factor of leases billed by the hour.
    pub hour_ppm: u32,
    /// The price factor of leases billed by the day.
    pub day_ppm: u32,
    /// What the host promises. A lease keeps the terms it was opened with.
    pub terms: SlaTerms,
}

/// Why a host is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum SuspendReason {
    /// The chain's governance decided it. Only governance ends it.
    ByRoot,
    /// It failed a challenge. Ends when it is verified again.
    FailedChallenge,
    /// Slashes left less than half of the bond it must have. Ends when the bond is topped up.
    Slashed,
    /// Its hardware differs from the registered one. Ends when the hardware is registered as it is, and verified.
    HardwareChanged,
}

/// The status of a host. Changes only along `transitions::HOST_TRANSITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum HostStatus {
    /// Registered; its hardware is not verified yet.
    Unverified,
    /// May come online.
    Verified,
    /// Present, and takes leases.
    Online,
    /// Was silent for too long. Its leases may be requeued.
    Offline,
    /// Present; finishes its leases and takes no new ones.
    Draining,
    /// Takes no leases, for the reason given.
    Suspended(SuspendReason),
    /// Retired; its key cannot be registered again.
    Retired,
    /// Takes no leases; its bond is on hold, and can be slashed, until the time given.
    Retiring(Moment),
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
    /// See [`HostStatus::Retiring`].
    Retiring,
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
            Self::Retiring(_) => HostStatusTag::Retiring,
        }
    }
}

/// The affinity or anti-affinity of the pods of one task.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub enum Layout {
    /// None: any hosts.
    #[default]
    Any,
    /// No two of them are on the same host.
    Hosts,
    /// No two of them are on hosts of the same provider.
    Providers,
    /// Affinity: on as few hosts as possible. Schedulers try to; the chain does not enforce it.
    Packed,
}

/// Where a task may run. An empty list stands for any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Placement {
    /// The regions that will do.
    pub regions: UpTo<RegionName, 4>,
    /// The hosts that will do.
    pub hosts: UpTo<HostId, 8>,
    /// The providers whose hosts will do.
    pub providers_allowed: UpTo<AccountId, 8>,
    /// The providers whose hosts will not do; empty for none.
    pub providers_denied: UpTo<AccountId, 8>,
    /// The classes of machine that will do.
    pub tiers: UpTo<Tier, 3>,
    /// True where every device used must be attested.
    pub verified_only: bool,
    /// True where simulated devices will do too.
    pub allow_simulated: bool,
    /// The least a host must be able to send and to receive, in millions of bits a second.
    pub min_network_mbps: u32,
    /// The longest round trip that a host may have measured, in milliseconds; 0 where any will do, a host that has
    /// measured none too.
    pub max_latency_ms: u16,
    /// What a host must be able to run: each one that is true.
    pub capabilities: Capabilities,
    /// The affinity or anti-affinity of the task's pods.
    pub layout: Layout,
    /// The least that a host must promise.
    pub min_terms: SlaTerms,
}

/// A registered host.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct HostRecord {
    /// Who owns it, posts its bond and is paid.
    pub provider: AccountId,
    /// Where it stands.
    pub status: HostStatus,
    /// The class of machine, as its provider says.
    pub tier: Tier,
    /// What it can run.
    pub capabilities: Capabilities,
    /// What it can receive, in millions of bits a second.
    pub network_mbps_down: u32,
    /// What it can send, in millions of bits a second.
    pub network_mbps_up: u32,
    /// The round trip to its gateways, or where it has none to other hosts, in milliseconds as it measured it; 0 where
    /// it has not.
    pub latency_ms: u16,
    /// The total resources.
    pub total: Capacity,
    /// The free resources.
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
    /// What its bond must be, fixed when its hardware was registered. Below half of it the host is suspended.
    pub bond_required: Balance,
    /// How often its hardware was changed.
    pub generation: u32,
    /// When it was registered.
    pub registered_at: Moment,
    /// The time of its last heartbeat; 0 if there was none.
    pub last_heartbeat: Moment,
    /// Its total downtime in milliseconds: at each return from an absence that was reported, or that was longer than
    /// the absence limit, the time since the last heartbeat is added. Never falls.
    pub downtime_ms: u64,
    /// The number of leases with resources of it.
    pub live_leases: u32,
    /// Whether its agent answers challenges, as registered with its hardware.
    pub answers_challenges: bool,
    /// The device of an open challenge, until the host has answered. It takes no new lease.
    pub challenged: Option<u8>,
    /// The time since which the host offers at least its present free resources at its present price: the last change
    /// of its status, its price or its resources, or the last release of resources by a lease.
    pub offered_since: Moment,
}
