//! The invariants of the list. See docs/invariants.md.

use alloc::collections::BTreeSet;
use frame_support::{ensure, traits::Get};
use sp_runtime::TryRuntimeError;

use crate::{is_valid_slot_ms, Config, EpochSlots, Pallet, SlotMs, Validators, MIN_EPOCH_SLOTS};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        let list = Validators::<T>::get();
        let distinct: BTreeSet<_> = list.iter().collect();
        ensure!(distinct.len() == list.len(), "VAL-1: nobody is on the list twice");
        ensure!(list.len() >= T::MinValidators::get() as usize, "VAL-2: the list never becomes too short");
        ensure!(EpochSlots::<T>::get() >= MIN_EPOCH_SLOTS, "VAL-3: a session has enough slots");
        ensure!(is_valid_slot_ms(SlotMs::<T>::get()), "VAL-4: a slot has a length that BABE can halve");
        Ok(())
    }
}
