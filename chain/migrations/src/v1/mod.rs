//! The state of release 1 (spec_version 1), as chains that started then still hold it.
//!
//! These are copies that never change again: records exactly as release 1 encoded them, under the keys at which it kept
//! them. Nothing here knows today's types.

pub mod billing;
pub mod hosts;
pub mod leases;
pub mod reputation;
pub mod tasks;

use frame_support::{pallet_prelude::ConstU32, BoundedVec};
use sp_runtime::AccountId32;

/// An account.
pub type AccountId = AccountId32;
/// A host's key.
pub type HostId = AccountId32;
/// The number of a task.
pub type TaskId = u64;
/// The number of a lease; release 1 counted them from 0 over the whole chain.
pub type LeaseId = u64;
/// Milliseconds since the Unix epoch.
pub type Moment = u64;
/// Base units.
pub type Balance = u128;
/// SHA-256.
pub type Digest = [u8; 32];
/// Up to `N` bytes.
pub type Bytes<const N: u32> = BoundedVec<u8, ConstU32<N>>;
/// Up to `N` of something.
pub type UpTo<T, const N: u32> = BoundedVec<T, ConstU32<N>>;
/// Indices into the devices of a host.
pub type DeviceIndices = UpTo<u8, 16>;
/// The bytes of a manifest.
pub type Manifest = Bytes<16_384>;
