//! Checks of extrinsics that wait, in batches.

use std::collections::VecDeque;

/// The most checks in a batch. Each of them waits for all others.
const MOST_CHECKS: usize = 16;
/// The most bytes that the extrinsics of a batch have together. A longer one is checked alone.
const MOST_BYTES: usize = 64 * 1024;

/// Whose check it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOf {
    /// An extrinsic that somebody just sent.
    Submitted,
    /// An extrinsic that waits in the pool.
    Waiting,
}

/// Checks that wait until the runtime is free. Those of one kind, with the same `Key`, are made in one call.
#[derive(Debug)]
pub struct Batches<Key, Check> {
    submitted: VecDeque<Entry<Key, Check>>,
    waiting: VecDeque<Entry<Key, Check>>,
    /// Whose turn it is, where there are checks of both.
    next: CheckOf,
}

#[derive(Debug)]
struct Entry<Key, Check> {
    key: Key,
    bytes: usize,
    check: Check,
}

impl<Key, Check> Default for Batches<Key, Check> {
    fn default() -> Self {
        Self { submitted: VecDeque::new(), waiting: VecDeque::new(), next: CheckOf::Waiting }
    }
}

impl<Key: Eq, Check> Batches<Key, Check> {
    /// Adds a check of an extrinsic with so many bytes.
    pub fn push(&mut self, of: CheckOf, key: Key, bytes: usize, check: Check) {
        let entry = Entry { key, bytes, check };
        match of {
            CheckOf::Submitted => self.submitted.push_back(entry),
            CheckOf::Waiting => self.waiting.push_back(entry),
        }
    }

    /// Takes the batch that is due, in the order in which its checks came. Neither kind of check waits for all of the
    /// other.
    pub fn take(&mut self) -> Option<(Key, Vec<Check>)> {
        let of = match (self.submitted.is_empty(), self.waiting.is_empty()) {
            (true, true) => return None,
            (false, true) => CheckOf::Submitted,
            (true, false) => CheckOf::Waiting,
            (false, false) => self.next,
        };
        let queue = match of {
            CheckOf::Submitted => {
                self.next = CheckOf::Waiting;
                &mut self.submitted
            }
            CheckOf::Waiting => {
                self.next = CheckOf::Submitted;
                &mut self.waiting
            }
        };
        let Entry { key, mut bytes, check } = queue.pop_front()?;
        let mut batch = vec![check];
        while batch.len() < MOST_CHECKS {
            let Some(entry) = queue.pop_front_if(|entry| entry.key == key && bytes + entry.bytes <= MOST_BYTES) else {
                break;
            };
            bytes += entry.bytes;
            batch.push(entry.check);
        }
        Some((key, batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CheckOf::{Submitted, Waiting};

    fn batches(checks: &[(CheckOf, char, usize)]) -> Vec<(char, Vec<usize>)> {
        let mut batches = Batches::default();
        for (number, (of, key, bytes)) in checks.iter().enumerate() {
            batches.push(*of, *key, *bytes, number);
        }
        std::iter::from_fn(|| batches.take()).collect()
    }

    #[test]
    fn a_check_that_comes_alone_is_a_batch() {
        let mut batches = Batches::default();
        assert_eq!(batches.take(), None);
        for number in 0..3 {
            batches.push(Submitted, 'a', 200, number);
            assert_eq!(batches.take(), Some(('a', vec![number])));
            assert_eq!(batches.take(), None);
        }
    }

    #[test]
    fn checks_against_the_same_state_are_made_together_in_their_order() {
        let of = |key| (Submitted, key, 200);
        let expected = [('a', vec![0, 1]), ('b', vec![2]), ('a', vec![3])];
        assert_eq!(batches(&[of('a'), of('a'), of('b'), of('a')]), expected);
    }

    #[test]
    fn batches_are_bounded_in_number_and_bytes() {
        let counts = |checks: &[_]| batches(checks).iter().map(|(_, batch)| batch.len()).collect::<Vec<_>>();
        assert_eq!(counts(&[(Submitted, 'a', 200); 40]), [16, 16, 8]);
        assert_eq!(counts(&[(Submitted, 'a', MOST_BYTES / 4); 10]), [4, 4, 2]);
        assert_eq!(counts(&[(Submitted, 'a', 1), (Submitted, 'a', 2 * MOST_BYTES), (Submitted, 'a', 1)]), [1, 1, 1]);
        assert_eq!(counts(&[(Submitted, 'a', usize::MAX / 2); 3]), [1, 1, 1]);
    }

    #[test]
    fn checks_of_submitted_and_of_waiting_extrinsics_take_turns() {
        let checks: Vec<_> = [Submitted, Waiting].into_iter().flat_map(|of| [(of, 'a', MOST_BYTES); 3]).collect();
        let expected = [3, 0, 4, 1, 5, 2].map(|number| ('a', vec![number]));
        assert_eq!(batches(&checks), expected);
    }

    #[test]
    fn a_check_waits_for_two_batches_at_most_where_others_keep_coming() {
        let mut batches = Batches::default();
        for number in 0..100 {
            batches.push(Submitted, 'a', MOST_BYTES, number);
        }
        batches.push(Waiting, 'b', 1, 100);
        let taken: Vec<_> = std::iter::from_fn(|| batches.take()).take(2).collect();
        assert!(taken.contains(&('b', vec![100])));
    }
}
