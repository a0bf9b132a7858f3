//! The agenda: what is to be looked at when.
//!
//! Every offer, ticket and attestation has exactly one entry, at its `due_at`. A key begins with the big-endian number of
//! a bucket of time under an identity hash, so the first key in the trie is the first that is due. A key that a block
//! removes stays in the state's trie until the block is committed; the search begins after the entry that was taken last
//! ([`AgendaTaken`]), because nothing is put into a bucket that is due.

use frame_support::{pallet_prelude::*, storage::with_storage_layer, weights::WeightMeter};
use gantry_primitives::Moment;

use crate::{
    Agenda, AgendaTaken, AttestationId, Attestations, Config, Due, Event, OfferId, Offers, Pallet, TicketId, Tickets,
    WeightInfo,
};

/// The width of a bucket in milliseconds: what is due is looked at no later than this after its time.
pub const BUCKET_MS: u64 = 2_000;
/// What failed is tried again after so many milliseconds.
pub const RETRY_MS: u64 = 600_000;
/// A bucket, the kind of an entry and its number, big-endian.
pub type AgendaKey = [u8; 17];

impl Due {
    const fn parts(&self) -> (u8, u64) {
        match self {
            Self::Offer(id) => (0, *id),
            Self::Ticket(id) => (1, *id),
            Self::Attestation(id) => (2, *id),
        }
    }

    /// The key of this entry at a time.
    pub(crate) fn key(&self, at: Moment) -> AgendaKey {
        let (kind, id) = self.parts();
        let mut key = [0; 17];
        key[..8].copy_from_slice(&at.div_ceil(BUCKET_MS).to_be_bytes());
        key[8] = kind;
        key[9..].copy_from_slice(&id.to_be_bytes());
        key
    }
}

/// Whether the whole bucket of a key has come.
fn is_due(key: &AgendaKey, now: Moment) -> bool {
    let mut bucket = [0; 8];
    bucket.copy_from_slice(&key[..8]);
    u64::from_be_bytes(bucket) <= now / BUCKET_MS
}

impl<T: Config> Pallet<T> {
    /// Puts `due` on the agenda of `at`, or of the next millisecond where that has come. Returns the time, which the caller
    /// stores.
    pub(crate) fn schedule(due: Due, at: Moment) -> Moment {
        let at = at.max(Self::now().saturating_add(1));
        Agenda::<T>::insert(due.key(at), due);
        at
    }

    /// Takes `due` off the agenda of `at`.
    pub(crate) fn unschedule(due: Due, at: Moment) {
        Agenda::<T>::remove(due.key(at));
    }

    /// Looks at what is due until `limit` is used up, and says what it cost.
    pub(crate) fn run_agenda(limit: Weight) -> Weight {
        let mut meter = WeightMeter::with_limit(limit);
        if meter.try_consume(T::WeightInfo::agenda_base()).is_err() {
            return meter.consumed();
        }
        while let Some(key) = Self::first_due() {
            if meter.try_consume(T::WeightInfo::due_entry()).is_err() {
                break;
            }
            Self::process_entry(key);
        }
        meter.consumed()
    }

    /// The first entry that is due.
    fn first_due() -> Option<AgendaKey> {
        let mut keys = match AgendaTaken::<T>::get() {
            Some(taken) => Agenda::<T>::iter_keys_from(Agenda::<T>::hashed_key_for(taken)),
            None => Agenda::<T>::iter_keys(),
        };
        keys.next().filter(|key| is_due(key, Self::now()))
    }

    /// Takes an entry off the agenda and looks at what it is about; what fails is tried again later.
    pub(crate) fn process_entry(key: AgendaKey) {
        let Some(due) = Agenda::<T>::take(key) else { return };
        AgendaTaken::<T>::put(key);
        let done = with_storage_layer(|| match due {
            Due::Offer(id) => Self::process_due_offer(id),
            Due::Ticket(id) => Self::process_due_ticket(id),
            Due::Attestation(id) => Self::process_due_attestation(id),
        });
        if let Err(error) = done {
            let at = Self::schedule(due, Self::now().saturating_add(RETRY_MS));
            Self::set_due(due, at);
            Self::deposit_event(Event::DueFailed { due, error });
        }
    }

    fn set_due(due: Due, at: Moment) {
        match due {
            Due::Offer(id) => Self::set_offer_due(id, at),
            Due::Ticket(id) => Self::set_ticket_due(id, at),
            Due::Attestation(id) => Self::set_attestation_due(id, at),
        }
    }

    fn set_offer_due(id: OfferId, at: Moment) {
        Offers::<T>::mutate(id, |record| {
            if let Some(record) = record {
                record.due_at = at;
            }
        });
    }

    fn set_ticket_due(id: TicketId, at: Moment) {
        Tickets::<T>::mutate(id, |record| {
            if let Some(record) = record {
                record.due_at = at;
            }
        });
    }

    fn set_attestation_due(id: AttestationId, at: Moment) {
        Attestations::<T>::mutate(id, |record| {
            if let Some(record) = record {
                record.due_at = at;
            }
        });
    }
}
