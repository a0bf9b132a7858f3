//! What each piece of the migration costs. By hand, on the safe side: a migration runs once, and a block that it fills
//! too well would miss its slot.

use frame_support::{pallet_prelude::Get, weights::Weight};

/// Decoding, encoding and hashing of one record.
const RECORD: Weight = Weight::from_parts(20_000_000, 0);

fn db<T: frame_system::Config>(reads: u32, writes: u32) -> Weight {
    T::DbWeight::get().reads_writes(u64::from(reads), u64::from(writes))
}

/// All periods and amounts, or all versions.
pub(super) fn params<T: frame_system::Config>() -> Weight {
    db::<T>(8, 8).saturating_add(RECORD)
}

/// A host or a score: read and written under its own key.
pub(super) fn record<T: frame_system::Config>() -> Weight {
    db::<T>(1, 1).saturating_add(RECORD)
}

/// A task with so many leases: its record, manifest and page are read, nine entries change, and for each lease its
/// record and escrow are read, and the list of its host is read and written.
pub(super) fn task<T: frame_system::Config>(leases: u32) -> Weight {
    let records = u64::from(leases).saturating_add(2);
    db::<T>(leases.saturating_mul(3).saturating_add(3), leases.saturating_add(9))
        .saturating_add(RECORD.saturating_mul(records))
}

/// An entry is found and removed.
pub(super) fn removal<T: frame_system::Config>() -> Weight {
    db::<T>(1, 1)
}

/// The most that is done at once, whatever the stage.
pub(super) fn largest_item<T: frame_system::Config>() -> Weight {
    task::<T>(gantry_primitives::MAX_PODS).max(params::<T>())
}
