//! Support tickets on leases.

use alloc::vec;
use frame_support::pallet_prelude::*;
use gantry_primitives::{AccountId, Digest, LeaseId, Moment};

use crate::{
    Config, CurrentParams, Due, Error, Event, HoldReason, Message, Network, NextTicketId, Pallet, Side, TicketId,
    TicketRecord, Tickets, TicketsOf,
};

impl TicketRecord {
    /// Which side an account is; none where it is no party.
    pub fn side(&self, who: &AccountId) -> Option<Side> {
        match who {
            _ if *who == self.tenant => Some(Side::Tenant),
            _ if *who == self.provider => Some(Side::Provider),
            _ => None,
        }
    }
}

impl<T: Config> Pallet<T> {
    pub(crate) fn do_open_ticket(tenant: AccountId, lease: LeaseId, digest: Digest) -> DispatchResult {
        let parties = T::Network::parties(lease).ok_or(Error::<T>::NoSuchLease)?;
        ensure!(parties.tenant == tenant, Error::<T>::NotParty);
        let params = CurrentParams::<T>::get();
        let ticket = NextTicketId::<T>::get();
        NextTicketId::<T>::put(ticket.checked_add(1).ok_or(Error::<T>::Overflow)?);
        let mut kept = TicketsOf::<T>::get(lease);
        let another_counts = kept.iter().filter_map(Tickets::<T>::get).any(|other| other.counts);
        kept.try_push(ticket).map_err(|_| Error::<T>::TooManyTickets)?;
        TicketsOf::<T>::insert(lease, kept);
        let deposit = params.ticket_deposit;
        Self::hold(&tenant, HoldReason::TicketDeposit, deposit)?;
        let now = Self::now();
        let respond_until = now.saturating_add(params.response_ms);
        let (host, provider) = (parties.host, parties.provider);
        let record = TicketRecord {
            lease,
            counts: !another_counts && tenant != provider,
            tenant,
            host: host.clone(),
            provider,
            messages: BoundedVec::truncate_from(vec![Message { by: Side::Tenant, digest, at: now }]),
            closed: None,
            respond_until,
            in_time: None,
            deposit,
            due_at: Self::schedule(Due::Ticket(ticket), respond_until),
        };
        Tickets::<T>::insert(ticket, record);
        Self::deposit_event(Event::TicketOpened { ticket, lease, host, digest, respond_until });
        Ok(())
    }

    pub(crate) fn do_answer_ticket(who: AccountId, ticket: TicketId, digest: Digest) -> DispatchResult {
        let (mut record, by) = Self::open_ticket_of(&who, ticket)?;
        let now = Self::now();
        let message = Message { by, digest, at: now };
        record.messages.try_push(message).map_err(|_| Error::<T>::TooManyMessages)?;
        Self::count_response(ticket, &mut record, by, now);
        Tickets::<T>::insert(ticket, record);
        Self::deposit_event(Event::TicketAnswered { ticket, by, digest });
        Ok(())
    }

    pub(crate) fn do_close_ticket(who: AccountId, ticket: TicketId) -> DispatchResult {
        let (mut record, by) = Self::open_ticket_of(&who, ticket)?;
        record.closed = Some(by);
        Self::count_response(ticket, &mut record, by, Self::now());
        Tickets::<T>::insert(ticket, record);
        Self::deposit_event(Event::TicketClosed { ticket, by });
        Ok(())
    }

    /// The time of a ticket has come: that for the response, or that until which the chain keeps it.
    pub(crate) fn process_due_ticket(ticket: TicketId) -> DispatchResult {
        let mut record = Tickets::<T>::get(ticket).ok_or(Error::<T>::NoSuchTicket)?;
        if record.due_at > record.respond_until {
            return Self::forget_ticket(ticket, record);
        }
        if record.counts && record.in_time.is_none() && record.closed.is_none() {
            Self::note_response(ticket, &mut record, false);
        }
        let kept_until = record.respond_until.saturating_add(CurrentParams::<T>::get().ticket_kept_ms);
        record.due_at = Self::schedule(Due::Ticket(ticket), kept_until);
        Tickets::<T>::insert(ticket, record);
        Ok(())
    }

    /// The first message of the provider, or that it closes the ticket, is its response.
    fn count_response(ticket: TicketId, record: &mut TicketRecord, by: Side, now: Moment) {
        let is_response = by == Side::Provider && record.counts && record.in_time.is_none();
        if is_response && now <= record.respond_until {
            Self::note_response(ticket, record, true);
        }
    }

    fn note_response(ticket: TicketId, record: &mut TicketRecord, in_time: bool) {
        record.in_time = Some(in_time);
        T::Network::note_response(record.lease, &record.host, in_time);
        Self::deposit_event(Event::ResponseCounted { ticket, host: record.host.clone(), in_time });
    }

    fn forget_ticket(ticket: TicketId, record: TicketRecord) -> DispatchResult {
        Self::release(&record.tenant, HoldReason::TicketDeposit, record.deposit)?;
        TicketsOf::<T>::mutate_exists(record.lease, |kept| {
            if let Some(list) = kept {
                list.retain(|known| *known != ticket);
                if list.is_empty() {
                    *kept = None;
                }
            }
        });
        Tickets::<T>::remove(ticket);
        Self::deposit_event(Event::TicketForgotten { ticket });
        Ok(())
    }

    fn open_ticket_of(who: &AccountId, ticket: TicketId) -> Result<(TicketRecord, Side), DispatchError> {
        let record = Tickets::<T>::get(ticket).ok_or(Error::<T>::NoSuchTicket)?;
        let side = record.side(who).ok_or(Error::<T>::NotParty)?;
        ensure!(record.closed.is_none(), Error::<T>::TicketIsClosed);
        Ok((record, side))
    }
}
