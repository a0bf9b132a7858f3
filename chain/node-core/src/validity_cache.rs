//! The runtime's latest answers about the validity of extrinsics, reused by a pool for the next blocks.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

/// For how many blocks before and after its own an entry is used; also the number of blocks in a period.
pub const BLOCKS: u64 = 2;
/// The maximum number of entries of each period of [`BLOCKS`] blocks; later ones are not stored.
const MAX_ENTRIES: usize = 20_000;

/// Validity by extrinsic. An entry is used for the block of its state, the next [`BLOCKS`] and as many before: a pool that
/// still works for an earlier block must not refuse an extrinsic that has become valid since.
#[derive(Debug)]
pub struct ValidityCache<Id, Validity> {
    periods: Mutex<Periods<Id, Validity>>,
}

/// The entries of the current period and of the one before it.
#[derive(Debug)]
struct Periods<Id, Validity> {
    /// The first block of the current period.
    start: u64,
    current: HashMap<Id, (u64, Validity)>,
    previous: HashMap<Id, (u64, Validity)>,
}

impl<Id, Validity> Default for ValidityCache<Id, Validity> {
    fn default() -> Self {
        Self { periods: Mutex::new(Periods { start: 0, current: HashMap::new(), previous: HashMap::new() }) }
    }
}

impl<Id: Eq + Hash, Validity: Clone> ValidityCache<Id, Validity> {
    /// Stores what the runtime answered about an extrinsic for the state of the block with this number.
    pub fn insert(&self, block: u64, id: Id, validity: Validity) {
        let mut periods = self.periods.lock().unwrap_or_else(PoisonError::into_inner);
        if block > periods.start + BLOCKS {
            let current = std::mem::take(&mut periods.current);
            periods.previous = if block > periods.start + 2 * BLOCKS + 1 { HashMap::new() } else { current };
            periods.start = block;
        }
        if periods.current.len() < MAX_ENTRIES || periods.current.contains_key(&id) {
            periods.current.insert(id, (block, validity));
        }
    }

    /// Returns the entry of an extrinsic, if it may be used for the block with this number.
    pub fn get(&self, block: u64, id: &Id) -> Option<Validity> {
        let periods = self.periods.lock().unwrap_or_else(PoisonError::into_inner);
        let (validated_at, validity) = periods.current.get(id).or_else(|| periods.previous.get(id))?;
        (validated_at.abs_diff(block) <= BLOCKS).then(|| validity.clone())
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let periods = self.periods.lock().expect("no test panics while it holds the lock");
        periods.current.len() + periods.previous.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_used_for_its_block_and_two_before_and_after() {
        let cache = ValidityCache::default();
        cache.insert(7, "a", 1);
        let found: Vec<_> = (4..11).map(|block| cache.get(block, &"a")).collect();
        assert_eq!(found, [None, Some(1), Some(1), Some(1), Some(1), Some(1), None]);
        assert_eq!(cache.get(7, &"b"), None);
    }

    #[test]
    fn recent_entries_of_the_previous_period_are_used() {
        let cache = ValidityCache::default();
        cache.insert(1, "a", 1);
        cache.insert(3, "b", 2);
        cache.insert(4, "c", 3);
        assert_eq!(cache.get(5, &"b"), Some(2));
        assert_eq!(cache.get(5, &"a"), None);
        cache.insert(4, "b", 4);
        assert_eq!(cache.get(6, &"b"), Some(4), "a later entry replaces an earlier one");
    }

    #[test]
    fn the_number_of_entries_is_bounded() {
        let cache = ValidityCache::default();
        for block in 0..50 {
            for id in 0..1_000 {
                cache.insert(block, (block, id), ());
            }
            assert!(cache.len() <= 2 * (BLOCKS as usize + 1) * 1_000);
        }
        for id in 0..3 * MAX_ENTRIES as u64 {
            cache.insert(60, (60, id), ());
        }
        assert!(cache.len() <= 2 * MAX_ENTRIES);
    }
}
