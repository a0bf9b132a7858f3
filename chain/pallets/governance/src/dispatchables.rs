//! The implementation of the calls.

use codec::Encode;
use frame_support::{
    dispatch::GetDispatchInfo,
    pallet_prelude::*,
    traits::{
        schedule::{
            v3::{Named, TaskName},
            DispatchTime, HIGHEST_PRIORITY,
        },
        StorePreimage,
    },
};
use frame_system::{Pallet as System, RawOrigin};
use sp_runtime::traits::{BlockNumberProvider, Hash, One, Saturating};

use crate::{CallOf, Config, CurrentParams, EnactmentId, Error, Event, NextEnactmentId, Pallet};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_enact(call: CallOf<T>) -> DispatchResult {
        let id = NextEnactmentId::<T>::get();
        let next = id.checked_add(1).ok_or(Error::<T>::Overflow)?;
        ensure!(call.get_dispatch_info().call_weight.all_lte(T::MaxCallWeight::get()), Error::<T>::CallTooHeavy);
        let delay = CurrentParams::<T>::get().delay_blocks.into();
        let call_hash = T::Hashing::hash_of(&call);

        let call = T::Preimages::bound(call)?;
        T::Scheduler::schedule_named(
            task_name(id),
            DispatchTime::After(delay),
            None,
            HIGHEST_PRIORITY,
            RawOrigin::Root.into(),
            call,
        )?;
        NextEnactmentId::<T>::put(next);
        let at = System::<T>::current_block_number().saturating_add(delay).saturating_add(One::one());
        Self::deposit_event(Event::Enacting { id, call_hash, at });
        Ok(())
    }

    pub(crate) fn do_cancel(id: EnactmentId) -> DispatchResult {
        T::Scheduler::cancel_named(task_name(id)).map_err(|_| Error::<T>::NotPending)?;
        Self::deposit_event(Event::Cancelled { id });
        Ok(())
    }
}

/// The name under which the scheduler knows an enactment.
pub(crate) fn task_name(id: EnactmentId) -> TaskName {
    ("gantry/enactment", id).using_encoded(sp_io::hashing::blake2_256)
}
