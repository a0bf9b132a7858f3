//! What each piece of the migration costs. By hand, on the safe side: a migration runs once, and a block that it fills
//! too well would miss its slot.

use frame_support::weights::{constants::ParityDbWeight, Weight};

/// Decoding, encoding and hashing of one record.
const RECORD: Weight = Weight::from_parts(20_000_000, 0);

/// By these figures and not by the runtime's, which are measured on calls that find everything in the cache. A
/// migration reads what nobody has read for long.
fn db(reads: u32, writes: u32) -> Weight {
    ParityDbWeight::get().reads_writes(u64::from(reads), u64::from(writes))
}

/// All periods and amounts, or all versions.
pub(super) fn params() -> Weight {
    db(8, 8).saturating_add(RECORD)
}

/// A host or a score: read and written under its own key.
pub(super) fn record() -> Weight {
    db(1, 1).saturating_add(RECORD)
}

/// A task with so many leases: its record, manifest and page are read, nine entries change, and for each lease its
/// record and escrow are read, and the list of its host is read and written.
pub(super) fn task(leases: u32) -> Weight {
    let records = u64::from(leases).saturating_add(2);
    db(leases.saturating_mul(3).saturating_add(3), leases.saturating_add(9))
        .saturating_add(RECORD.saturating_mul(records))
}

/// An entry is found and removed.
pub(super) fn removal() -> Weight {
    db(1, 1)
}

/// The most that is done at once, whatever the stage.
pub(super) fn largest_item() -> Weight {
    task(gantry_primitives::MAX_PODS).max(params())
}
