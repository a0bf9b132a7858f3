//! The runtime's latest answers about extrinsics, which a pool is given again for the next blocks.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

/// For how many blocks before and after the one that it was given for an answer counts.
pub const BLOCKS: u64 = 2;
/// How many answers are kept of each period of [`BLOCKS`] blocks; later ones are not kept.
const MOST: usize = 20_000;

/// Answers by extrinsic. Each counts for the block that it was given for, the next [`BLOCKS`] and as many before: a pool
/// that is still at work for an earlier block must not refuse what is valid since.
#[derive(Debug)]
pub struct Answers<Id, Answer> {
    kept: Mutex<Kept<Id, Answer>>,
}

/// The answers of this period and of the one before it.
#[derive(Debug)]
struct Kept<Id, Answer> {
    begun: u64,
    present: HashMap<Id, (u64, Answer)>,
    past: HashMap<Id, (u64, Answer)>,
}

impl<Id, Answer> Default for Answers<Id, Answer> {
    fn default() -> Self {
        Self { kept: Mutex::new(Kept { begun: 0, present: HashMap::new(), past: HashMap::new() }) }
    }
}

impl<Id: Eq + Hash, Answer: Clone> Answers<Id, Answer> {
    /// Keeps what the runtime says about an extrinsic for the state of the block with this number.
    pub fn note(&self, block: u64, id: Id, answer: Answer) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if block > kept.begun + BLOCKS {
            let present = std::mem::take(&mut kept.present);
            kept.past = if block > kept.begun + 2 * BLOCKS + 1 { HashMap::new() } else { present };
            kept.begun = block;
        }
        if kept.present.len() < MOST || kept.present.contains_key(&id) {
            kept.present.insert(id, (block, answer));
        }
    }

    /// The answer about an extrinsic, if it counts for the block with this number.
    pub fn recall(&self, block: u64, id: &Id) -> Option<Answer> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (given_for, answer) = kept.present.get(id).or_else(|| kept.past.get(id))?;
        (given_for.abs_diff(block) <= BLOCKS).then(|| answer.clone())
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let kept = self.kept.lock().expect("no test panics while it holds it");
        kept.present.len() + kept.past.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_for_its_block_and_two_before_and_after() {
        let answers = Answers::default();
        answers.note(7, "a", 1);
        let counts: Vec<_> = (4..11).map(|block| answers.recall(block, &"a")).collect();
        assert_eq!(counts, [None, Some(1), Some(1), Some(1), Some(1), Some(1), None]);
        assert_eq!(answers.recall(7, &"b"), None);
    }

    #[test]
    fn answers_of_the_period_before_still_count_where_they_are_recent() {
        let answers = Answers::default();
        answers.note(1, "a", 1);
        answers.note(3, "b", 2);
        answers.note(4, "c", 3);
        assert_eq!(answers.recall(5, &"b"), Some(2));
        assert_eq!(answers.recall(5, &"a"), None);
        answers.note(4, "b", 4);
        assert_eq!(answers.recall(6, &"b"), Some(4), "a later answer replaces an earlier one");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let answers = Answers::default();
        for block in 0..50 {
            for id in 0..1_000 {
                answers.note(block, (block, id), ());
            }
            assert!(answers.len() <= 2 * (BLOCKS as usize + 1) * 1_000);
        }
        for id in 0..3 * MOST as u64 {
            answers.note(60, (60, id), ());
        }
        assert!(answers.len() <= 2 * MOST);
    }
}
