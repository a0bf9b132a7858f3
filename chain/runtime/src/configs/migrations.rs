//! Migrations after an upgrade, and their share of a block.

use super::system::RuntimeBlockWeights;
use crate::{Runtime, RuntimeEvent};
use frame_support::{migrations::FreezeChainOnFailedMigration, parameter_types, traits::ConstU32, weights::Weight};
use pallet_gantry_verification::{ByHost, Disputes, Results};
use sp_runtime::Perbill;

parameter_types! {
    /// Nothing but inherents shares a block with a migration; the rest is room for weights that are too low.
    pub MaxServiceWeight: Weight = Perbill::from_percent(60) * RuntimeBlockWeights::get().max_block;
}

/// Migrations over several blocks, oldest first: docs/upgrades.md. What blocks need from the first on is in
/// [`crate::Migrations`] instead.
pub type SteppedMigrations = (gantry_migrations::From3<Runtime, Disputes<Runtime>, ByHost<Runtime>, Results<Runtime>>,);

impl pallet_migrations::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type Migrations = SteppedMigrations;
    type CursorMaxLen = ConstU32<256>;
    type IdentifierMaxLen = ConstU32<64>;
    type MigrationStatusHandler = ();
    // Half of the state is old, half is new: no call may touch it until root has decided (docs/upgrades.md).
    type FailedMigrationHandler = FreezeChainOnFailedMigration;
    type MaxServiceWeight = MaxServiceWeight;
    type WeightInfo = pallet_migrations::weights::SubstrateWeight<Runtime>;
}
