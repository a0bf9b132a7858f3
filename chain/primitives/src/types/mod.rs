//! Types that the chain stores and that calls carry. Field order and names are those of docs/protocol.md.

mod attempts;
mod billing;
mod hosts;
mod leases;
mod reputation;
mod tasks;
mod verification;

pub use attempts::*;
pub use billing::*;
pub use hosts::*;
pub use leases::*;
pub use reputation::*;
pub use tasks::*;
pub use verification::*;

use sp_core::ConstU32;
use sp_runtime::{AccountId32, BoundedVec};

/// Every account of the chain, hosts included.
pub type AccountId = AccountId32;
/// A host is named by its ed25519 key, which is its account and its network address at once.
pub type HostId = AccountId32;
/// Tasks are numbered from 0 in the order they were submitted.
pub type TaskId = u64;
/// A lease's number is made of its task, pod and generation: see [`crate::lease_id`].
pub type LeaseId = u64;
/// Milliseconds since the Unix epoch.
pub type Moment = u64;
/// Base units; 1 GTY = 10^12 base units.
pub type Balance = u128;
/// SHA-256 of the exact bytes.
pub type Digest = [u8; 32];

/// The most devices one host may offer and one pod may use.
pub const MAX_DEVICES: u32 = 16;
/// The most pods one task may have.
pub const MAX_PODS: u32 = 16;
/// The most victims of one preemption notice.
pub const MAX_VICTIMS: u32 = 16;
/// The most tasks one call may submit.
pub const MAX_ARRAY: u32 = 4_096;
/// The most tasks one call may assign.
pub const MAX_ASSIGNMENTS: u32 = 512;
/// The most reports, settlements or prunings of one call.
pub const MAX_BATCH: u32 = 1_024;
/// The longest manifest, in bytes.
pub const MAX_MANIFEST_BYTES: u32 = 16_384;
/// The thousandths of a whole device.
pub const MILLI_PER_DEVICE: u16 = 1_000;

/// Up to `N` bytes; text is UTF-8 by convention, compared byte by byte.
pub type Bytes<const N: u32> = BoundedVec<u8, ConstU32<N>>;
/// Up to `N` of something.
pub type UpTo<T, const N: u32> = BoundedVec<T, ConstU32<N>>;

/// The name of a device's model.
pub type ModelName = Bytes<64>;
/// The name of a region.
pub type RegionName = Bytes<32>;
/// How to reach a host, as the agent of that host writes it.
pub type Endpoint = Bytes<256>;
/// The bytes of a manifest.
pub type Manifest = Bytes<MAX_MANIFEST_BYTES>;
/// Indices into the devices of a host.
pub type DeviceIndices = UpTo<u8, MAX_DEVICES>;
