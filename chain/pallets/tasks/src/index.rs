//! The lists of tasks by state: bitmaps of 256 tasks, so that a batch about neighbouring tasks changes few pages.

use alloc::{collections::BTreeMap, vec::Vec};
use core::marker::PhantomData;

use gantry_primitives::{IndexTag, PageKey, TaskId};

use crate::{ByState, Config, Pallet};

/// One bit for each of 256 neighbouring tasks.
pub type Page = [u8; 32];

const fn bit_of(task: TaskId) -> (usize, u8) {
    let bit = task % 256;
    ((bit / 8) as usize, 1 << (bit % 8))
}

/// Whether the bit of a task is set on its page.
pub(crate) const fn contains(page: &Page, task: TaskId) -> bool {
    let (byte, bit) = bit_of(task);
    page[byte] & bit != 0
}

fn set(page: &mut Page, task: TaskId, listed: bool) {
    let (byte, bit) = bit_of(task);
    if listed {
        page[byte] |= bit;
    } else {
        page[byte] &= !bit;
    }
}

/// Returns the tasks of a page from `from` on, in their order.
fn listed(key: PageKey, page: Page, from: TaskId) -> impl Iterator<Item = TaskId> {
    let first = key.first_task();
    (first..first.saturating_add(256)).filter(move |task| *task >= from && contains(&page, *task))
}

/// The pages that an extrinsic changes, each read once and written once.
pub(crate) struct Index<T> {
    pages: BTreeMap<(IndexTag, PageKey), Page>,
    _config: PhantomData<T>,
}

impl<T: Config> Index<T> {
    pub(crate) const fn new() -> Self {
        Self { pages: BTreeMap::new(), _config: PhantomData }
    }

    /// Adds a task to a list, or removes it.
    pub(crate) fn put(&mut self, tag: IndexTag, task: TaskId, is_listed: bool) {
        let key = PageKey::of(task);
        let page = self.pages.entry((tag, key)).or_insert_with(|| ByState::<T>::get(tag, key).unwrap_or_default());
        set(page, task, is_listed);
    }

    /// Writes the pages. An empty page is removed.
    pub(crate) fn commit(self) {
        for ((tag, key), page) in self.pages {
            if page == Page::default() {
                ByState::<T>::remove(tag, key);
            } else {
                ByState::<T>::insert(tag, key, page);
            }
        }
    }
}

impl<T: Config> Pallet<T> {
    /// Up to `limit` tasks of a list, from `from` on, in their order.
    pub(crate) fn listed_from(tag: IndexTag, from: TaskId, limit: usize) -> Vec<TaskId> {
        let first = PageKey::of(from);
        let first_page = ByState::<T>::get(tag, first).map(|page| (first, page));
        let later_pages = ByState::<T>::iter_prefix_from(tag, ByState::<T>::hashed_key_for(tag, first));
        first_page.into_iter().chain(later_pages).flat_map(|(key, page)| listed(key, page, from)).take(limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_lists_what_was_put_on_it() {
        let mut page = Page::default();
        for task in [256u64, 257, 300, 511] {
            set(&mut page, task, true);
        }
        set(&mut page, 300, false);
        set(&mut page, 301, false);
        assert_eq!(listed(PageKey::of(256), page, 0).collect::<Vec<_>>(), [256, 257, 511]);
        assert_eq!(listed(PageKey::of(256), page, 257).collect::<Vec<_>>(), [257, 511]);
        assert!(contains(&page, 511) && !contains(&page, 510));
    }
}
