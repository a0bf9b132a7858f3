//! Agreements: accepted offers, their leases, and the settlement of the bonds.

use frame_support::pallet_prelude::*;
use gantry_primitives::{AccountId, Balance, LeaseId, Manifest, Moment, Survival, TaskKind, TaskSpec};
use sp_runtime::Perbill;

use crate::{
    Config, CurrentParams, Due, Error, Event, LeaseStatus, Network, OfferId, OfferOutcome, OfferRecord, OfferState,
    OfferTerms, Offers, Pallet, Side,
};

impl<T: Config> Pallet<T> {
    /// Returns the agreements whose place is reserved and whose lease has not begun. Reads all offers: for checks of the
    /// state only.
    pub fn reservations() -> impl Iterator<Item = OfferRecord> {
        Offers::<T>::iter_values().filter(|record| matches!(record.state, OfferState::Accepted { .. }))
    }

    pub(crate) fn do_begin(tenant: AccountId, offer: OfferId, spec: TaskSpec, manifest: Manifest) -> DispatchResult {
        let mut record = Self::offer_to_begin(&tenant, offer)?;
        ensure!(is_agreed(&record.terms, &spec), Error::<T>::TaskDiffers);
        let place = record.place.clone().ok_or(Error::<T>::PlaceMissing)?;
        T::Network::release(&place, &record.terms)?;
        let lease = T::Network::begin(&tenant, spec, manifest, place, record.terms.rate_per_hour)?;
        let now = Self::now();
        let ends_at = now.saturating_add(record.terms.duration_ms);
        record.state = OfferState::Begun { lease, ends_at };
        Self::schedule_check(offer, &mut record, ends_at, now);
        Offers::<T>::insert(offer, record);
        Self::deposit_event(Event::Begun { offer, lease, ends_at });
        Ok(())
    }

    pub(crate) fn do_report_unavailable(tenant: AccountId, offer: OfferId) -> DispatchResult {
        let mut record = Self::offer_to_begin(&tenant, offer)?;
        let place = record.place.clone().ok_or(Error::<T>::PlaceMissing)?;
        ensure!(!T::Network::is_available(&place), Error::<T>::HostAvailable);
        record.state = OfferState::Accepted { unavailable: true };
        Offers::<T>::insert(offer, record);
        Self::deposit_event(Event::UnavailableReported { offer, host: place.host });
        Ok(())
    }

    pub(crate) fn do_conclude(offer: OfferId) -> DispatchResult {
        let record = Self::offer(offer)?;
        let OfferState::Begun { lease, ends_at } = record.state else { return Err(Error::<T>::LeaseNotBegun.into()) };
        let status = Self::lease_status(&record, lease)?;
        ensure!(status != LeaseStatus::Live || ends_at <= Self::now(), Error::<T>::LeaseLives);
        Self::unschedule(Due::Offer(offer), record.due_at);
        Self::close_with_lease(offer, record, ends_at, status)
    }

    /// Processes an offer that is due.
    pub(crate) fn process_due_offer(offer: OfferId) -> DispatchResult {
        let mut record = Self::offer(offer)?;
        let now = Self::now();
        match record.state {
            OfferState::Open(_) => Self::close_offer(offer, record, OfferOutcome::NotAccepted, 0),
            OfferState::Accepted { unavailable } => Self::close_without_lease(offer, record, unavailable),
            OfferState::Begun { lease, ends_at } => {
                let status = Self::lease_status(&record, lease)?;
                if status != LeaseStatus::Live || ends_at <= now {
                    return Self::close_with_lease(offer, record, ends_at, status);
                }
                Self::schedule_check(offer, &mut record, ends_at, now);
                Offers::<T>::insert(offer, record);
                Ok(())
            }
        }
    }

    /// Closes an agreement whose lease the tenant did not begin. If the host cannot take the pod now, its provider broke the
    /// agreement; if the tenant reported earlier that it could not, nobody did; else the tenant did.
    fn close_without_lease(offer: OfferId, record: OfferRecord, unavailable: bool) -> DispatchResult {
        let place = record.place.clone().ok_or(Error::<T>::PlaceMissing)?;
        let outcome = match (T::Network::is_available(&place), unavailable) {
            (false, _) => OfferOutcome::BrokenBy(Side::Provider),
            (true, true) => OfferOutcome::NotBegun,
            (true, false) => OfferOutcome::BrokenBy(Side::Tenant),
        };
        T::Network::release(&place, &record.terms)?;
        let bond = record.bond;
        Self::close_offer(offer, record, outcome, bond)
    }

    /// Closes an agreement whose lease began. The side that ended the lease early loses its bond, in the proportion of the
    /// rest of the duration to the duration.
    fn close_with_lease(offer: OfferId, record: OfferRecord, ends_at: Moment, status: LeaseStatus) -> DispatchResult {
        let (rest_ms, by) = match status {
            LeaseStatus::Ended { at, by } => (ends_at.saturating_sub(at), by),
            LeaseStatus::Live => (0, None),
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

    fn lease_status(record: &OfferRecord, lease: LeaseId) -> Result<LeaseStatus, DispatchError> {
        let place = record.place.as_ref().ok_or(Error::<T>::PlaceMissing)?;
        Ok(T::Network::lease_status(lease, &place.host))
    }

    /// Schedules the next check of a lease.
    fn schedule_check(offer: OfferId, record: &mut OfferRecord, ends_at: Moment, now: Moment) {
        let next = now.saturating_add(CurrentParams::<T>::get().watch_ms);
        Self::reschedule_offer(offer, record, next.min(ends_at));
    }

    /// Returns an accepted offer of this tenant whose lease may begin now.
    fn offer_to_begin(tenant: &AccountId, offer: OfferId) -> Result<OfferRecord, DispatchError> {
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
