//! The agenda: a queue of the leases that are due, ordered by time.
//!
//! Times are grouped into buckets of [`BUCKET_MS`], each a stack of pages of [`PAGE_ENTRIES`]. The key of a bucket is
//! its big-endian number under an identity hash, so the first key in the trie is the earliest bucket: an empty bucket
//! is never read, however far the clock jumps. Entries are popped from the last page of the earliest bucket; entries
//! that are not processed in one block stay for the next.
//!
//! A key that a block removes stays in the trie of the state until the block is committed, and an iteration over it
//! costs a step for each such key. So the iteration begins after the bucket that was emptied last ([`AgendaEmptied`]):
//! buckets are emptied in order, and no entry is added to a bucket that is due, because a time in the past counts as
//! the next millisecond.

use frame_support::pallet_prelude::*;
use gantry_primitives::{Lease, LeaseId, Moment};

use crate::{Agenda, AgendaEmptied, AgendaPages, Bucket, Config, Page, Pallet};

/// The width of a bucket in milliseconds: a lease is processed at most this long after its time.
pub const BUCKET_MS: u64 = 6_000;
/// The most entries of a page.
pub const PAGE_ENTRIES: u32 = 64;

/// Returns the bucket that is due at `at`.
pub(crate) fn bucket_of(at: Moment) -> Bucket {
    at.div_ceil(BUCKET_MS).to_be_bytes()
}

/// Whether all times of a bucket are in the past.
pub(crate) fn is_due(bucket: Bucket, now: Moment) -> bool {
    u64::from_be_bytes(bucket) <= now / BUCKET_MS
}

/// The key of a page of a bucket, counted from 0.
pub(crate) const fn page_key(page: u32) -> Page {
    page.to_be_bytes()
}

impl<T: Config> Pallet<T> {
    /// Schedules the lease at `at`, unless it is due earlier. The caller stores the lease.
    ///
    /// A time in the past counts as the next millisecond.
    pub fn schedule(id: LeaseId, lease: &mut Lease, at: Moment) {
        let at = at.max(Self::now().saturating_add(1));
        if lease.due_at.is_none_or(|due_at| at < due_at) {
            lease.due_at = Some(at);
            Self::agenda_add(at, id);
        }
    }

    /// Adds a lease to the agenda at `at`, which must be in the future.
    pub(crate) fn agenda_add(at: Moment, id: LeaseId) {
        let bucket = bucket_of(at);
        let pages = AgendaPages::<T>::get(bucket);
        if let Some(top) = pages.checked_sub(1) {
            if Agenda::<T>::try_append(bucket, page_key(top), id).is_ok() {
                return;
            }
        }
        let page = BoundedVec::truncate_from(alloc::vec![id]);
        Agenda::<T>::insert(bucket, page_key(pages), page);
        AgendaPages::<T>::insert(bucket, pages.saturating_add(1));
    }

    /// The earliest bucket that has entries, if it is due.
    pub(crate) fn due_bucket(now: Moment) -> Option<Bucket> {
        let mut buckets = match AgendaEmptied::<T>::get() {
            Some(emptied) => AgendaPages::<T>::iter_keys_from(AgendaPages::<T>::hashed_key_for(emptied)),
            None => AgendaPages::<T>::iter_keys(),
        };
        buckets.next().filter(|bucket| is_due(*bucket, now))
    }

    /// Pops an entry of the earliest bucket.
    pub(crate) fn agenda_take(bucket: Bucket) -> Option<LeaseId> {
        let top = AgendaPages::<T>::get(bucket).checked_sub(1)?;
        let mut page = Agenda::<T>::get(bucket, page_key(top));
        let taken = page.pop();
        if page.is_empty() {
            Agenda::<T>::remove(bucket, page_key(top));
            match top {
                0 => {
                    AgendaPages::<T>::remove(bucket);
                    AgendaEmptied::<T>::put(bucket);
                }
                _ => AgendaPages::<T>::insert(bucket, top),
            }
        } else {
            Agenda::<T>::insert(bucket, page_key(top), page);
        }
        taken
    }

    /// Whether the agenda contains the lease in the bucket of `at`.
    pub fn is_on_agenda(id: LeaseId, at: Moment) -> bool {
        let bucket = bucket_of(at);
        (0..AgendaPages::<T>::get(bucket)).any(|page| Agenda::<T>::get(bucket, page_key(page)).contains(&id))
    }
}
