//! Weights of the steps. They are estimates on the safe side: the migration runs once, and a block that takes longer than its
//! weight says would miss its slot.

use frame_support::weights::{constants::ParityDbWeight, Weight};

/// Decoding and encoding one record.
const RECORD: Weight = Weight::from_parts(20_000_000, 0);

/// The SDK's figures, not the runtime's: those are measured on calls whose keys are cached, and a migration reads records
/// that nobody has read for long.
fn db(reads: u64, writes: u64) -> Weight {
    ParityDbWeight::get().reads_writes(reads, writes)
}

/// All parameters, or all storage versions.
pub(super) fn values() -> Weight {
    db(10, 10).saturating_add(RECORD)
}

/// One record, read and written under its key; of a dispute the task, too.
pub(super) fn record() -> Weight {
    db(3, 1).saturating_add(RECORD)
}

/// The heaviest item of any stage.
pub(super) fn largest_item() -> Weight {
    record().max(values())
}
