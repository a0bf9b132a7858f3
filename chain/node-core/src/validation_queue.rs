//! Validations of extrinsics that wait for the runtime, grouped in batches.

use std::collections::VecDeque;

/// The maximum number of validations in a batch. Each of them waits for all others.
const MAX_ITEMS: usize = 16;
/// The maximum total size of the extrinsics of a batch, in bytes. A longer extrinsic is validated alone.
const MAX_BYTES: usize = 64 * 1024;

/// Why an extrinsic is validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationKind {
    /// It was just submitted.
    Submitted,
    /// It is in the pool already.
    Revalidation,
}

/// A queue of validations. Those of one kind and with the same `Key` are made in one call into the runtime.
#[derive(Debug)]
pub struct ValidationQueue<Key, Item> {
    submitted: VecDeque<Entry<Key, Item>>,
    revalidations: VecDeque<Entry<Key, Item>>,
    /// The kind of the next batch, if there are items of both.
    next: ValidationKind,
}

#[derive(Debug)]
struct Entry<Key, Item> {
    key: Key,
    bytes: usize,
    item: Item,
}

impl<Key, Item> Default for ValidationQueue<Key, Item> {
    fn default() -> Self {
        Self { submitted: VecDeque::new(), revalidations: VecDeque::new(), next: ValidationKind::Revalidation }
    }
}

impl<Key: Eq, Item> ValidationQueue<Key, Item> {
    /// Adds the validation of an extrinsic of this size.
    pub fn push(&mut self, kind: ValidationKind, key: Key, bytes: usize, item: Item) {
        let entry = Entry { key, bytes, item };
        match kind {
            ValidationKind::Submitted => self.submitted.push_back(entry),
            ValidationKind::Revalidation => self.revalidations.push_back(entry),
        }
    }

    /// Removes and returns the next batch, in the order in which its items were added. The two kinds alternate, so neither
    /// waits for all items of the other.
    pub fn pop_batch(&mut self) -> Option<(Key, Vec<Item>)> {
        let kind = match (self.submitted.is_empty(), self.revalidations.is_empty()) {
            (true, true) => return None,
            (false, true) => ValidationKind::Submitted,
            (true, false) => ValidationKind::Revalidation,
            (false, false) => self.next,
        };
        let queue = match kind {
            ValidationKind::Submitted => {
                self.next = ValidationKind::Revalidation;
                &mut self.submitted
            }
            ValidationKind::Revalidation => {
                self.next = ValidationKind::Submitted;
                &mut self.revalidations
            }
        };
        let Entry { key, mut bytes, item } = queue.pop_front()?;
        let mut batch = vec![item];
        while batch.len() < MAX_ITEMS {
            let Some(entry) = queue.pop_front_if(|entry| entry.key == key && bytes + entry.bytes <= MAX_BYTES) else {
                break;
            };
            bytes += entry.bytes;
            batch.push(entry.item);
        }
        Some((key, batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ValidationKind::{Revalidation, Submitted};

    fn batches(items: &[(ValidationKind, char, usize)]) -> Vec<(char, Vec<usize>)> {
        let mut queue = ValidationQueue::default();
        for (number, (kind, key, bytes)) in items.iter().enumerate() {
            queue.push(*kind, *key, *bytes, number);
        }
        std::iter::from_fn(|| queue.pop_batch()).collect()
    }

    #[test]
    fn a_single_item_is_a_batch() {
        let mut queue = ValidationQueue::default();
        assert_eq!(queue.pop_batch(), None);
        for number in 0..3 {
            queue.push(Submitted, 'a', 200, number);
            assert_eq!(queue.pop_batch(), Some(('a', vec![number])));
            assert_eq!(queue.pop_batch(), None);
        }
    }

    #[test]
    fn items_with_the_same_key_are_one_batch_in_their_order() {
        let item = |key| (Submitted, key, 200);
        let expected = [('a', vec![0, 1]), ('b', vec![2]), ('a', vec![3])];
        assert_eq!(batches(&[item('a'), item('a'), item('b'), item('a')]), expected);
    }

    #[test]
    fn batches_are_bounded_in_number_and_bytes() {
        let counts = |items: &[_]| batches(items).iter().map(|(_, batch)| batch.len()).collect::<Vec<_>>();
        assert_eq!(counts(&[(Submitted, 'a', 200); 40]), [16, 16, 8]);
        assert_eq!(counts(&[(Submitted, 'a', MAX_BYTES / 4); 10]), [4, 4, 2]);
        assert_eq!(counts(&[(Submitted, 'a', 1), (Submitted, 'a', 2 * MAX_BYTES), (Submitted, 'a', 1)]), [1, 1, 1]);
        assert_eq!(counts(&[(Submitted, 'a', usize::MAX / 2); 3]), [1, 1, 1]);
    }

    #[test]
    fn the_two_kinds_alternate() {
        let items: Vec<_> =
            [Submitted, Revalidation].into_iter().flat_map(|kind| [(kind, 'a', MAX_BYTES); 3]).collect();
        let expected = [3, 0, 4, 1, 5, 2].map(|number| ('a', vec![number]));
        assert_eq!(batches(&items), expected);
    }

    #[test]
    fn an_item_waits_for_at_most_two_batches_of_the_other_kind() {
        let mut queue = ValidationQueue::default();
        for number in 0..100 {
            queue.push(Submitted, 'a', MAX_BYTES, number);
        }
        queue.push(Revalidation, 'b', 1, 100);
        let taken: Vec<_> = std::iter::from_fn(|| queue.pop_batch()).take(2).collect();
        assert!(taken.contains(&('b', vec![100])));
    }
}
