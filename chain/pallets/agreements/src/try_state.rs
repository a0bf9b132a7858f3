//! What must always be true of agreements. See docs/invariants.md.

use alloc::collections::{BTreeMap, BTreeSet};
use frame_support::{ensure, traits::fungible::InspectHold};
use gantry_primitives::{AccountId, Balance};
use sp_runtime::TryRuntimeError;

use crate::{
    Agenda, AgendaKey, Attestations, AttestationsOf, Auditors, Config, CurrentParams, Due, HoldReason,
    NextAttestationId, NextOfferId, NextTicketId, OfferState, Offers, OffersOf, Pallet, Tickets, TicketsOf,
};

/// What records come to, to be compared with what is kept besides them.
#[derive(Default)]
struct Totals {
    agenda: BTreeMap<AgendaKey, Due>,
    held: BTreeMap<(u8, AccountId), Balance>,
}

/// A number for each reason to hold coins, by which sums are kept.
const fn number(reason: HoldReason) -> u8 {
    match reason {
        HoldReason::OfferDeposit => 0,
        HoldReason::AgreementBond => 1,
        HoldReason::TicketDeposit => 2,
        HoldReason::AuditorBond => 3,
        HoldReason::AttestationStake => 4,
        HoldReason::ContestStake => 5,
    }
}

impl Totals {
    fn add(&mut self, who: &AccountId, reason: HoldReason, amount: Balance) -> Result<(), TryRuntimeError> {
        let sum = self.held.entry((number(reason), who.clone())).or_default();
        *sum = sum.checked_add(amount).ok_or("AGREE-1: what is held of an account can be added")?;
        Ok(())
    }
}

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        ensure!(CurrentParams::<T>::get().check().is_ok(), "AGREE-8: the parameters are sound");
        let mut totals = Totals::default();
        Self::check_offers(&mut totals)?;
        Self::check_tickets(&mut totals)?;
        Self::check_attestations(&mut totals)?;
        let agenda: BTreeMap<_, _> = Agenda::<T>::iter().collect();
        ensure!(agenda == totals.agenda, "AGREE-2: every record is on the agenda once, at its time");
        for (account, _) in frame_system::Account::<T>::iter() {
            for reason in [
                HoldReason::OfferDeposit,
                HoldReason::AgreementBond,
                HoldReason::TicketDeposit,
                HoldReason::AuditorBond,
                HoldReason::AttestationStake,
                HoldReason::ContestStake,
            ] {
                let sum = totals.held.get(&(number(reason), account.clone())).copied().unwrap_or_default();
                let held = T::Currency::balance_on_hold(&reason.into(), &account);
                ensure!(held == sum, "AGREE-1: what is held of an account is what its records say");
            }
        }
        Ok(())
    }

    fn check_offers(totals: &mut Totals) -> Result<(), TryRuntimeError> {
        let mut counts: BTreeMap<AccountId, u32> = BTreeMap::new();
        for (id, record) in Offers::<T>::iter() {
            ensure!(id < NextOfferId::<T>::get(), "AGREE-3: offers are numbered below the next number");
            totals.agenda.insert(Due::Offer(id).key(record.due_at), Due::Offer(id));
            totals.add(&record.tenant, HoldReason::OfferDeposit, record.deposit)?;
            totals.add(record.account(record.proposer), HoldReason::AgreementBond, record.bond)?;
            if !matches!(record.state, OfferState::Open(_)) {
                totals.add(record.account(record.proposer.other()), HoldReason::AgreementBond, record.bond)?;
                let place = record.place.as_ref().ok_or("AGREE-4: an agreement has a place")?;
                ensure!(record.terms.hosts.contains(&place.host), "AGREE-4: the place is on a host of the terms");
            }
            *counts.entry(record.tenant).or_default() += 1;
        }
        let kept: BTreeMap<_, _> = OffersOf::<T>::iter().collect();
        ensure!(kept == counts, "AGREE-5: the offers of a tenant are counted");
        Ok(())
    }

    fn check_tickets(totals: &mut Totals) -> Result<(), TryRuntimeError> {
        let mut listed = BTreeSet::new();
        for (lease, tickets) in TicketsOf::<T>::iter() {
            ensure!(!tickets.is_empty(), "AGREE-6: a list of tickets is not empty");
            let counting = tickets.iter().filter_map(Tickets::<T>::get).filter(|ticket| ticket.counts).count();
            ensure!(counting <= 1, "AGREE-7: one ticket of a lease counts at most");
            listed.extend(tickets.into_iter().map(|ticket| (lease, ticket)));
        }
        let mut kept = BTreeSet::new();
        for (id, record) in Tickets::<T>::iter() {
            ensure!(id < NextTicketId::<T>::get(), "AGREE-3: tickets are numbered below the next number");
            totals.agenda.insert(Due::Ticket(id).key(record.due_at), Due::Ticket(id));
            totals.add(&record.tenant, HoldReason::TicketDeposit, record.deposit)?;
            ensure!(record.counts || record.in_time.is_none(), "AGREE-7: only a ticket that counts is evidence");
            kept.insert((record.lease, id));
        }
        ensure!(kept == listed, "AGREE-6: each ticket is listed under its lease");
        Ok(())
    }

    fn check_attestations(totals: &mut Totals) -> Result<(), TryRuntimeError> {
        let mut counts: BTreeMap<AccountId, u32> = BTreeMap::new();
        let mut kept = BTreeSet::new();
        for (id, record) in Attestations::<T>::iter() {
            ensure!(id < NextAttestationId::<T>::get(), "AGREE-3: attestations are numbered below the next number");
            totals.agenda.insert(Due::Attestation(id).key(record.due_at), Due::Attestation(id));
            totals.add(&record.auditor, HoldReason::AttestationStake, record.stake)?;
            if let Some(contest) = &record.contest {
                totals.add(&contest.by, HoldReason::ContestStake, contest.stake)?;
            }
            let listed = AttestationsOf::<T>::get(&record.subject);
            ensure!(listed.contains(&id), "AGREE-6: each attestation is listed under its subject");
            *counts.entry(record.auditor).or_default() += 1;
            kept.insert(id);
        }
        let listed: usize = AttestationsOf::<T>::iter_values().map(|list| list.len()).sum();
        ensure!(listed == kept.len(), "AGREE-6: each attestation is listed under its subject");
        for (who, record) in Auditors::<T>::iter() {
            let count = counts.remove(&who).unwrap_or_default();
            ensure!(record.attestations == count, "AGREE-9: the attestations of an auditor are counted");
            totals.add(&who, HoldReason::AuditorBond, record.bond)?;
        }
        ensure!(counts.is_empty(), "AGREE-9: an attestation is of an auditor with a bond");
        Ok(())
    }
}
