//! The agenda: which lease is to be looked at when.
//!
//! Times are put into buckets of [`BUCKET_MS`], each a pile of pages of [`PAGE_ENTRIES`]. The key of a bucket is its
//! big-endian number under an identity hash, so the first key in the trie is the earliest bucket: no bucket without
//! entries is ever looked at, however far the clock jumps. Entries are taken from the top of the earliest bucket's
//! pile; what is not reached in one block is still there in the next.
//!
//! A key that a block removes stays in the state's trie until the block is committed, and a search over it costs a step
//! for each such key. So the search begins after the bucket that was emptied last ([`AgendaEmptied`]): buckets are
//! emptied in their order, and nothing is put into a bucket that is due, because a time that has come counts as the next
//! millisecond.

use frame_support::pallet_prelude::*;
use gantry_primitives::{Lease, LeaseId, Moment};

use crate::{Agenda, AgendaEmptied, AgendaPages, Bucket, Config, Page, Pallet};

/// The width of a bucket in milliseconds: a lease is looked at no later than this after its time.
pub const BUCKET_MS: u64 = 6_000;
/// The most entries of a page.
pub const PAGE_ENTRIES: u32 = 64;

/// The bucket that is due when `at` has come.
pub(crate) fn bucket_of(at: Moment) -> Bucket {
    at.div_ceil(BUCKET_MS).to_be_bytes()
}

/// Whether all times of a bucket have come.
pub(crate) fn is_due(bucket: Bucket, now: Moment) -> bool {
    u64::from_be_bytes(bucket) <= now / BUCKET_MS
}

/// The key of a page of a bucket, counted from 0.
pub(crate) const fn page_key(page: u32) -> Page {
    page.to_be_bytes()
}

impl<T: Config> Pallet<T> {
    /// Sees to it that the lease is looked at when `at` has come, and not only later. The caller stores the lease.
    ///
    /// A time that has come already counts as the next millisecond.
    pub fn schedule(id: LeaseId, lease: &mut Lease, at: Moment) {
        let at = at.max(Self::now().saturating_add(1));
        if lease.due_at.is_none_or(|due_at| at < due_at) {
            lease.due_at = Some(at);
            Self::agenda_add(at, id);
        }
    }

    /// Puts a lease on the agenda of `at`, which must not have come.
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

    /// Takes an entry off the earliest bucket.
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

    /// Whether the agenda has the lease where `at` says.
    pub fn is_on_agenda(id: LeaseId, at: Moment) -> bool {
        let bucket = bucket_of(at);
        (0..AgendaPages::<T>::get(bucket)).any(|page| Agenda::<T>::get(bucket, page_key(page)).contains(&id))
    }
}
