//! Handling of validators that are proven to have equivocated.

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
    /// Disables the offenders for the rest of their session, as far as the session's disabling strategy allows, and
    /// removes them from the list.
    fn on_offence(
        offenders: &[OffenceDetails<AccountId, (AccountId, ())>],
        fractions: &[Perbill],
        _session: SessionIndex,
    ) -> Weight {
        for (OffenceDetails { offender: (who, ()), .. }, fraction) in offenders.iter().zip(fractions) {
            Session::<T>::report_offence(who.clone(), OffenceSeverity(*fraction));
            Self::remove_equivocator(who);
        }
        let each = T::DbWeight::get().reads_writes(5, 3);
        each.saturating_mul(offenders.len() as u64)
    }
}

impl<T: Config> Pallet<T> {
    fn remove_equivocator(who: &AccountId) {
        let list = Validators::<T>::get();
        // Not listed: there was an earlier report of the same offence, or the validator was replaced since.
        let Some(position) = list.iter().position(|listed| listed == who) else { return };
        if list.len() > T::MinValidators::get() as usize {
            Self::remove_at(list, position, RemovalReason::Equivocated);
        } else {
            Self::deposit_event(Event::EquivocatorKept { validator: who.clone() });
        }
    }
}
