//! What happens to a validator that is proven to have equivocated.

use frame_support::{traits::Get, weights::Weight};
use gantry_primitives::AccountId;
use pallet_session::Pallet as Session;
use sp_runtime::Perbill;
use sp_staking::{
    offence::{OffenceDetails, OffenceSeverity, OnOffenceHandler},
    SessionIndex,
};

use crate::{Config, Event, Pallet, RemovalReason, Validators};

impl<T: Config> OnOffenceHandler<AccountId, (AccountId, ()), Weight> for Pallet<T> {
    /// Disables the offenders for what is left of their time as validators, as far as the session's disabling strategy
    /// goes, and takes them off the list.
    fn on_offence(
        offenders: &[OffenceDetails<AccountId, (AccountId, ())>],
        fractions: &[Perbill],
        _session: SessionIndex,
    ) -> Weight {
        for (OffenceDetails { offender: (who, ()), .. }, fraction) in offenders.iter().zip(fractions) {
            Session::<T>::report_offence(who.clone(), OffenceSeverity(*fraction));
            Self::drop_equivocator(who);
        }
        let each = T::DbWeight::get().reads_writes(5, 3);
        each.saturating_mul(offenders.len() as u64)
    }
}

impl<T: Config> Pallet<T> {
    fn drop_equivocator(who: &AccountId) {
        let list = Validators::<T>::get();
        // Not there: an earlier report of the same deed, or a validator that has been replaced since.
        let Some(place) = list.iter().position(|listed| listed == who) else { return };
        if list.len() > T::MinValidators::get() as usize {
            Self::take_off(list, place, RemovalReason::Equivocated);
        } else {
            Self::deposit_event(Event::EquivocatorKept { validator: who.clone() });
        }
    }
}
