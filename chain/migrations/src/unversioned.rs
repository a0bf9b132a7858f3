//! Pallets that had no storage version before.

use core::marker::PhantomData;
use frame_support::{
    traits::{Get, GetStorageVersion, OnRuntimeUpgrade, PalletInfoAccess, StorageVersion},
    weights::{RuntimeDbWeight, Weight},
};

/// Writes the version of pallet `P` where none is stored. Its storage is that of version 1: a pallet whose storage changes
/// has a migration of its own.
pub struct SetStorageVersion<P, DbWeight>(PhantomData<(P, DbWeight)>);

impl<P, DbWeight> OnRuntimeUpgrade for SetStorageVersion<P, DbWeight>
where
    P: GetStorageVersion<InCodeStorageVersion = StorageVersion> + PalletInfoAccess,
    DbWeight: Get<RuntimeDbWeight>,
{
    fn on_runtime_upgrade() -> Weight {
        if P::on_chain_storage_version() > StorageVersion::new(0) {
            return DbWeight::get().reads(1);
        }
        StorageVersion::new(1).put::<P>();
        DbWeight::get().reads_writes(1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{chain, Billing, Test};

    type SetVersion = SetStorageVersion<Billing, <Test as frame_system::Config>::DbWeight>;

    #[test]
    fn a_version_is_set_once_and_a_newer_one_is_left() {
        chain().execute_with(|| {
            assert_eq!(Billing::on_chain_storage_version(), 1, "genesis writes it");
            StorageVersion::new(0).put::<Billing>();
            SetVersion::on_runtime_upgrade();
            assert_eq!(Billing::on_chain_storage_version(), 1);
            StorageVersion::new(7).put::<Billing>();
            SetVersion::on_runtime_upgrade();
            assert_eq!(Billing::on_chain_storage_version(), 7);
        });
    }
}
