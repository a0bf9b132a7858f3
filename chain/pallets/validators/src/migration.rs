//! From chains whose validators were those of genesis for ever.

use core::marker::PhantomData;
use frame_support::{
    traits::{Get, OnRuntimeUpgrade},
    weights::Weight,
    BoundedVec,
};

use crate::{Config, Validators};

/// Puts the validators of the present session on the list of a chain that has none yet. Running it again changes
/// nothing.
pub struct TakeOverSession<T>(PhantomData<T>);

impl<T: Config> OnRuntimeUpgrade for TakeOverSession<T> {
    fn on_runtime_upgrade() -> Weight {
        if !Validators::<T>::get().is_empty() {
            return T::DbWeight::get().reads(1);
        }
        Validators::<T>::put(BoundedVec::truncate_from(pallet_session::Pallet::<T>::validators()));
        T::DbWeight::get().reads_writes(2, 1)
    }

    #[cfg(feature = "try-runtime")]
    fn post_upgrade(_: alloc::vec::Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
        frame_support::ensure!(!Validators::<T>::get().is_empty(), "the list of validators is still empty");
        Ok(())
    }
}
