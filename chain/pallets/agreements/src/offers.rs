//! Offers, until they are accepted.

use frame_support::pallet_prelude::*;
use gantry_primitives::{rate, AccountId, Balance, Moment};

use crate::{
    Config, CurrentParams, Due, Error, Event, HoldReason, Network, NextOfferId, OfferId, OfferOutcome, OfferRecord,
    OfferState, OfferTerms, Offers, OffersOf, Pallet, Params, Place, Side, MAX_COUNTERS,
};

impl OfferRecord {
    /// The account of a side.
    pub fn account(&self, side: Side) -> &AccountId {
        match side {
            Side::Tenant => &self.tenant,
            Side::Provider => &self.provider,
        }
    }

    /// Which side an account is; none where it is no party.
    pub fn side(&self, who: &AccountId) -> Option<Side> {
        [Side::Tenant, Side::Provider].into_iter().find(|side| self.account(*side) == who)
    }
}

impl<T: Config> Pallet<T> {
    pub(crate) fn do_propose(
        tenant: AccountId,
        provider: AccountId,
        terms: OfferTerms,
        until: Moment,
    ) -> DispatchResult {
        let params = CurrentParams::<T>::get();
        ensure!(tenant != provider, Error::<T>::OfferToOneself);
        let bond = Self::bond_for(&provider, &terms, until, &params)?;
        let kept = OffersOf::<T>::get(&tenant);
        ensure!(kept < params.max_offers, Error::<T>::TooManyOffers);
        let offer = NextOfferId::<T>::get();
        NextOfferId::<T>::put(offer.checked_add(1).ok_or(Error::<T>::Overflow)?);
        OffersOf::<T>::insert(&tenant, kept.saturating_add(1));
        let deposit = params.offer_deposit;
        Self::hold(&tenant, HoldReason::OfferDeposit, deposit)?;
        Self::hold(&tenant, HoldReason::AgreementBond, bond)?;
        let (rate_per_hour, duration_ms) = (terms.rate_per_hour, terms.duration_ms);
        let record = OfferRecord {
            tenant: tenant.clone(),
            provider: provider.clone(),
            proposer: Side::Tenant,
            terms,
            place: None,
            counters: 0,
            state: OfferState::Open(until),
            bond,
            deposit,
            due_at: Self::schedule(Due::Offer(offer), until),
        };
        Offers::<T>::insert(offer, record);
        Self::deposit_event(Event::Proposed { offer, tenant, provider, rate_per_hour, duration_ms, until });
        Ok(())
    }

    pub(crate) fn do_counter(
        who: AccountId,
        offer: OfferId,
        terms: OfferTerms,
        place: Option<Place>,
        until: Moment,
    ) -> DispatchResult {
        let mut record = Self::offer(offer)?;
        let side = Self::ensure_turn(&record, &who)?;
        ensure!(record.counters < MAX_COUNTERS, Error::<T>::TooManyCounters);
        let bond = Self::bond_for(&record.provider, &terms, until, &CurrentParams::<T>::get())?;
        Self::check_place(side, &terms, place.as_ref())?;
        Self::release(record.account(record.proposer), HoldReason::AgreementBond, record.bond)?;
        Self::hold(&who, HoldReason::AgreementBond, bond)?;
        let (rate_per_hour, duration_ms) = (terms.rate_per_hour, terms.duration_ms);
        (record.proposer, record.terms, record.place, record.bond) = (side, terms, place, bond);
        record.counters = record.counters.saturating_add(1);
        record.state = OfferState::Open(until);
        Self::reschedule_offer(offer, &mut record, until);
        Offers::<T>::insert(offer, record);
        Self::deposit_event(Event::Countered { offer, by: side, rate_per_hour, duration_ms, until });
        Ok(())
    }

    pub(crate) fn do_accept(who: AccountId, offer: OfferId, place: Option<Place>) -> DispatchResult {
        let mut record = Self::offer(offer)?;
        let side = Self::ensure_turn(&record, &who)?;
        Self::check_place(side, &record.terms, place.as_ref())?;
        let place = place.or(record.place.take()).ok_or(Error::<T>::PlaceMissing)?;
        Self::hold(&who, HoldReason::AgreementBond, record.bond)?;
        T::Network::reserve(&place, &record.terms, &record.tenant)?;
        let (host, bond, start_until) = (place.host.clone(), record.bond, record.terms.start_until);
        record.place = Some(place);
        record.state = OfferState::Accepted { unavailable: false };
        Self::reschedule_offer(offer, &mut record, start_until);
        Offers::<T>::insert(offer, record);
        Self::deposit_event(Event::Accepted { offer, host, bond, start_until });
        Ok(())
    }

    pub(crate) fn do_decline(who: AccountId, offer: OfferId) -> DispatchResult {
        let record = Self::offer(offer)?;
        ensure!(record.side(&who).is_some(), Error::<T>::NotParty);
        ensure!(matches!(record.state, OfferState::Open(_)), Error::<T>::OfferNotOpen);
        Self::unschedule(Due::Offer(offer), record.due_at);
        Self::close_offer(offer, record, OfferOutcome::NotAccepted, 0)
    }

    /// What an offer with these terms holds of each side: the price of the time for which the place may be reserved, and
    /// of a part of the lease. Fails where the terms or the time for an answer cannot be accepted.
    fn bond_for(
        provider: &AccountId,
        terms: &OfferTerms,
        until: Moment,
        params: &Params,
    ) -> Result<Balance, DispatchError> {
        let now = Self::now();
        let hosts = &terms.hosts;
        let is_repeated = |place: usize| hosts[..place].contains(&hosts[place]);
        ensure!(!hosts.is_empty() && !(0..hosts.len()).any(is_repeated), Error::<T>::HostsInvalid);
        let is_theirs = |host| T::Network::provider_of(host).as_ref() == Some(provider);
        ensure!(hosts.iter().all(is_theirs), Error::<T>::NotHostOfProvider);
        ensure!(terms.duration_ms > 0, Error::<T>::DurationIsZero);
        let lead_ms = terms.start_until.saturating_sub(now);
        let start_ms = terms.start_until.saturating_sub(terms.start_from.max(now));
        let start_is_sound = start_ms >= params.min_start_ms && lead_ms <= params.max_lead_ms;
        ensure!(start_is_sound, Error::<T>::StartInvalid);
        let answer_ms = until.saturating_sub(now);
        let answer_is_sound = (1..=params.max_offer_ms).contains(&answer_ms) && until <= terms.start_until;
        ensure!(answer_is_sound, Error::<T>::AnswerTimeInvalid);
        let bonded_ms = lead_ms.saturating_add(terms.duration_ms.min(params.bond_ms));
        let bond = rate::deposit(terms.rate_per_hour, bonded_ms).ok_or(Error::<T>::BondTooHigh)?;
        Ok(bond.max(params.min_bond))
    }

    /// The side of an account that has to answer an open offer.
    fn ensure_turn(record: &OfferRecord, who: &AccountId) -> Result<Side, DispatchError> {
        let side = record.side(who).ok_or(Error::<T>::NotParty)?;
        let OfferState::Open(until) = record.state else { return Err(Error::<T>::OfferNotOpen.into()) };
        ensure!(Self::now() <= until, Error::<T>::OfferNotOpen);
        ensure!(side != record.proposer, Error::<T>::NotYourTurn);
        Ok(side)
    }

    /// A provider names a place on a host of the terms; a tenant names none.
    fn check_place(side: Side, terms: &OfferTerms, place: Option<&Place>) -> DispatchResult {
        match (side, place) {
            (Side::Tenant, Some(_)) => Err(Error::<T>::PlaceNotYours.into()),
            (Side::Provider, None) => Err(Error::<T>::PlaceMissing.into()),
            (Side::Provider, Some(place)) if !terms.hosts.contains(&place.host) => {
                Err(Error::<T>::PlaceElsewhere.into())
            }
            _ => Ok(()),
        }
    }

    /// Ends an offer: `forfeited` of the bond of the side that broke it goes to the other, and everything else back.
    /// The caller has taken it off the agenda.
    pub(crate) fn close_offer(
        offer: OfferId,
        record: OfferRecord,
        outcome: OfferOutcome,
        forfeited: Balance,
    ) -> DispatchResult {
        let is_bound = !matches!(record.state, OfferState::Open(_));
        let mut compensation = 0;
        for side in [Side::Tenant, Side::Provider] {
            if !is_bound && side != record.proposer {
                continue;
            }
            let who = record.account(side);
            let lost = match outcome {
                OfferOutcome::BrokenBy(by) if by == side => {
                    let to = record.account(side.other());
                    Self::pay(who, HoldReason::AgreementBond, to, forfeited.min(record.bond))
                }
                _ => 0,
            };
            compensation += lost;
            Self::release(who, HoldReason::AgreementBond, record.bond.saturating_sub(lost))?;
        }
        Self::release(&record.tenant, HoldReason::OfferDeposit, record.deposit)?;
        OffersOf::<T>::mutate_exists(&record.tenant, |count| {
            *count = count.and_then(|kept| kept.checked_sub(1)).filter(|kept| *kept > 0);
        });
        Offers::<T>::remove(offer);
        Self::deposit_event(Event::OfferClosed { offer, outcome, compensation });
        Ok(())
    }

    /// Moves an offer on the agenda; the caller stores the record.
    pub(crate) fn reschedule_offer(offer: OfferId, record: &mut OfferRecord, at: Moment) {
        Self::unschedule(Due::Offer(offer), record.due_at);
        record.due_at = Self::schedule(Due::Offer(offer), at);
    }

    pub(crate) fn offer(offer: OfferId) -> Result<OfferRecord, DispatchError> {
        Offers::<T>::get(offer).ok_or_else(|| Error::<T>::NoSuchOffer.into())
    }
}
