//! From chains whose parameters had neither a minimum charge nor a limit of replicas.

use core::marker::PhantomData;

use codec::{DecodeAll, Encode};
use frame_support::{
    storage::unhashed,
    traits::{Get, OnRuntimeUpgrade},
    weights::Weight,
};

use crate::{Config, CurrentParams, Params};

/// Appends the default minimum charge and limit of replicas to stored parameters that end before them. The parameters of release 1 have another
/// length and are left to `gantry-migrations`. Running it again changes nothing.
pub struct AddMinimumCharge<T>(PhantomData<T>);

impl<T: Config> OnRuntimeUpgrade for AddMinimumCharge<T> {
    fn on_runtime_upgrade() -> Weight {
        let key = CurrentParams::<T>::hashed_key();
        let added = (Params::default().min_charge_ms, Params::default().max_replicas).encode();
        let complete = unhashed::get_raw(&key)
            .filter(|stored| stored.len() + added.len() == Params::default().encoded_size())
            .and_then(|stored| Params::decode_all(&mut &[&stored[..], &added[..]].concat()[..]).ok());
        let Some(params) = complete else {
            return T::DbWeight::get().reads(1);
        };
        CurrentParams::<T>::put(params);
        T::DbWeight::get().reads_writes(1, 1)
    }
}
