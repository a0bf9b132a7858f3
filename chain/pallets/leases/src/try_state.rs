//! What must always be true of the lists and the agenda. See docs/invariants.md.

use alloc::collections::BTreeMap;
use frame_support::ensure;
use sp_runtime::TryRuntimeError;

use crate::{agenda::page_key, Agenda, AgendaPages, Bucket, ByHost, Config, CurrentParams, Pallet};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime. That the lists and the agenda
    /// have what the leases say is for the keeper of the leases to check.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        for list in ByHost::<T>::iter_values() {
            ensure!(!list.is_empty(), "LEASE-1: a list has something on it");
            ensure!(
                list.is_sorted_by(|a, b| a < b),
                "LEASE-2: a list has each lease once, in the order of their numbers"
            );
        }
        let mut pages_of: BTreeMap<Bucket, u32> = BTreeMap::new();
        for (bucket, _, page) in Agenda::<T>::iter() {
            ensure!(!page.is_empty(), "LEASE-3: a page of the agenda has something on it");
            *pages_of.entry(bucket).or_default() += 1;
        }
        ensure!(
            AgendaPages::<T>::iter().collect::<BTreeMap<_, _>>() == pages_of,
            "LEASE-4: the pages of the agenda are counted"
        );
        for (bucket, pages) in pages_of {
            ensure!(
                (0..pages).all(|page| Agenda::<T>::contains_key(bucket, page_key(page))),
                "LEASE-5: the pages of a bucket are numbered from 0 without a gap"
            );
        }
        ensure!(Self::ensure_sound(&CurrentParams::<T>::get()).is_ok(), "LEASE-6: the periods are sound");
        Ok(())
    }
}
