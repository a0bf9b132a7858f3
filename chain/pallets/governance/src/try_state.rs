//! What must always be true of enactments. See docs/invariants.md.

use frame_support::{ensure, traits::schedule::v3::Named};
use sp_runtime::TryRuntimeError;

use crate::{dispatchables::task_name, Config, NextEnactmentId, Pallet};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        let next = NextEnactmentId::<T>::get();
        ensure!(T::Scheduler::next_dispatch_time(task_name(next)).is_err(), "GOV-1: no id is used before it is given");
        Ok(())
    }
}
