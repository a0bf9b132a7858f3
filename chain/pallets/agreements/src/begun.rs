//! Agreements: offers that were accepted, their leases, and what becomes of the bonds.

use frame_support::pallet_prelude::*;
use gantry_primitives::{AccountId, Balance, Manifest, Moment, Survival, TaskKind, TaskSpec};
use sp_runtime::Perbill;

use crate::{
    Config, CurrentParams, Due, Error, Event, Network, OfferId, OfferOutcome, OfferRecord, OfferState, OfferTerms,
    Offers, Pallet, Side, Standing,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_begin(tenant: AccountId, offer: OfferId, spec: TaskSpec, manifest: Manifest) -> DispatchResult {
        let mut record = Self::startable(&tenant, offer)?;
        ensure!(is_agreed(&record.terms, &spec), Error::<T>::TaskDiffers);
        let place = record.place.clone().ok_or(Error::<T>::PlaceMissing)?;
        T::Network::release(&place, &record.terms)?;
        let lease = T::Network::begin(&tenant, spec, manifest, place, record.terms.rate_per_hour)?;
        let now = Self::now();
        let ends_at = now.saturating_add(record.terms.duration_ms);
        record.state = OfferState::Begun { lease, ends_at };
        Self::watch(offer, &mut record, ends_at, now);
        Offers::<T>::insert(offer, record);
        Self::deposit_event(Event::Begun { offer, lease, ends_at });
        Ok(())
    }

    pub(crate) fn do_report_unavailable(tenant: AccountId, offer: OfferId) -> DispatchResult {
        let mut record = Self::startable(&tenant, offer)?;
        let place = record.place.clone().ok_or(Error::<T>::PlaceMissing)?;
        ensure!(!T::Network::is_able(&place), Error::<T>::HostAvailable);
        record.state = OfferState::Accepted { unavailable: true };
        Offers::<T>::insert(offer, record);
        Self::deposit_event(Event::UnavailableReported { offer, host: place.host });
        Ok(())
    }

    pub(crate) fn do_conclude(offer: OfferId) -> DispatchResult {
        let record = Self::offer(offer)?;
        let OfferState::Begun { lease, ends_at } = record.state else { return Err(Error::<T>::LeaseNotBegun.into()) };
        let standing = T::Network::standing(lease);
        ensure!(standing != Standing::Live || ends_at <= Self::now(), Error::<T>::LeaseLives);
        Self::unschedule(Due::Offer(offer), record.due_at);
        Self::close_begun(offer, record, ends_at, standing)
    }

    /// The time of an offer has come.
    pub(crate) fn look_at_offer(offer: OfferId) -> DispatchResult {
        let mut record = Self::offer(offer)?;
        let now = Self::now();
        match record.state {
            OfferState::Open(_) => Self::close_offer(offer, record, OfferOutcome::NotAccepted, 0),
            OfferState::Accepted { unavailable } => Self::close_unused(offer, record, unavailable),
            OfferState::Begun { lease, ends_at } => {
                let standing = T::Network::standing(lease);
                if standing != Standing::Live || ends_at <= now {
                    return Self::close_begun(offer, record, ends_at, standing);
                }
                Self::watch(offer, &mut record, ends_at, now);
                Offers::<T>::insert(offer, record);
                Ok(())
            }
        }
    }

    /// The tenant did not begin. Where the host cannot take the pod now, its provider broke the agreement; where the tenant
    /// reported earlier that it could not, nobody did; else the tenant did.
    fn close_unused(offer: OfferId, record: OfferRecord, unavailable: bool) -> DispatchResult {
        let place = record.place.clone().ok_or(Error::<T>::PlaceMissing)?;
        let outcome = match (T::Network::is_able(&place), unavailable) {
            (false, _) => OfferOutcome::BrokenBy(Side::Provider),
            (true, true) => OfferOutcome::NotBegun,
            (true, false) => OfferOutcome::BrokenBy(Side::Tenant),
        };
        T::Network::release(&place, &record.terms)?;
        let bond = record.bond;
        Self::close_offer(offer, record, outcome, bond)
    }

    /// The side that ended the lease early loses the part of its bond that the rest of the time is of the whole.
    fn close_begun(offer: OfferId, record: OfferRecord, ends_at: Moment, standing: Standing) -> DispatchResult {
        let (rest_ms, by) = match standing {
            Standing::Ended { at, by } => (ends_at.saturating_sub(at), by),
            Standing::Live => (0, None),
        };
        let forfeited: Balance =
            Perbill::from_rational(rest_ms.min(record.terms.duration_ms), record.terms.duration_ms)
                .mul_floor(record.bond);
        let outcome = match by {
            Some(side) if rest_ms > 0 => OfferOutcome::BrokenBy(side),
            _ => OfferOutcome::Kept,
        };
        Self::close_offer(offer, record, outcome, forfeited)
    }

    /// Has the agenda look at a lease again.
    fn watch(offer: OfferId, record: &mut OfferRecord, ends_at: Moment, now: Moment) {
        let next = now.saturating_add(CurrentParams::<T>::get().watch_ms);
        Self::reschedule_offer(offer, record, next.min(ends_at));
    }

    /// An accepted offer of this tenant whose lease may begin now.
    fn startable(tenant: &AccountId, offer: OfferId) -> Result<OfferRecord, DispatchError> {
        let record = Self::offer(offer)?;
        ensure!(record.tenant == *tenant, Error::<T>::NotParty);
        ensure!(matches!(record.state, OfferState::Accepted { .. }), Error::<T>::OfferNotAccepted);
        let time = record.terms.start_from..=record.terms.start_until;
        ensure!(time.contains(&Self::now()), Error::<T>::NotStartTime);
        Ok(record)
    }
}

/// Whether a task is what was agreed: one pod of a service or rental that stays where it is for the agreed time.
fn is_agreed(terms: &OfferTerms, spec: &TaskSpec) -> bool {
    spec.kind != TaskKind::Job
        && (spec.pods_min, spec.pods_max) == (1, 1)
        && spec.resources == terms.resources
        && spec.unit == terms.unit
        && spec.max_duration_ms == terms.duration_ms
        && spec.max_rate_per_hour >= terms.rate_per_hour
        && !spec.spot
        && spec.survival == Survival::Restart
}
