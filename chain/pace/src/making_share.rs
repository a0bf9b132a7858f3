//! The share of a slot in which an author makes its block, by what became of the author's blocks before.

/// Additive increase and multiplicative decrease, as TCP controls its window: an author whose full block did not stay in
/// the chain makes the next ones smaller, because other validators had not run it when the next slot began. A validator
/// that makes no blocks does not make those of the others smaller.
pub struct MakingShare {
    factor: f64,
    last: Option<Attempt>,
}

/// A full block that the author began.
struct Attempt {
    slot: u64,
    number: u32,
}

impl MakingShare {
    /// The least factor: fewer validators than needed, or a hostile one, lose blocks of any size.
    const LEAST: f64 = 0.5;
    /// The factor after a lost block, relative to the one before.
    const AFTER_LOSS: f64 = 0.85;
    /// What a block that stayed adds to the factor. With these numbers a machine at its limit loses one full block in 30.
    const AFTER_SUCCESS: f64 = 0.005;

    /// The share of a slot for a block on a parent of number `parent`: at most `most`. `slot_of` gives the slot of the
    /// block with a number among the parent and its ancestors; `None` where the number is too far back to be looked up.
    pub fn next(&mut self, most: f64, parent: u32, slot_of: impl FnOnce(u32) -> Option<u64>) -> f64 {
        if let Some(last) = self.last.take() {
            // A parent below the last attempt's number is on a chain without it.
            let found = if parent < last.number { Some(None) } else { slot_of(last.number).map(Some) };
            match found {
                Some(slot) if slot == Some(last.slot) => self.factor = (self.factor + Self::AFTER_SUCCESS).min(1.0),
                Some(_) => self.factor = (self.factor * Self::AFTER_LOSS).max(Self::LEAST),
                None => {}
            }
        }
        most * self.factor
    }

    /// Remembers that the author begins the block with this `number` in this `slot`.
    pub fn begin(&mut self, slot: u64, number: u32) {
        self.last = Some(Attempt { slot, number });
    }

    /// The block that was begun last did not use its time: what becomes of it says nothing about the size of blocks.
    pub fn not_full(&mut self) {
        self.last = None;
    }
}

impl Default for MakingShare {
    fn default() -> Self {
        Self { factor: 1.0, last: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: f64 = 0.4;

    fn after(share: &mut MakingShare, kept: bool) -> f64 {
        share.begin(10, 5);
        share.next(MOST, 8, |_| Some(if kept { 10 } else { 11 }))
    }

    #[test]
    fn the_first_block_may_take_the_whole_share() {
        assert_eq!(MakingShare::default().next(MOST, 0, |_| None), MOST);
    }

    #[test]
    fn a_block_that_the_chain_did_not_keep_makes_the_next_one_smaller() {
        let mut share = MakingShare::default();
        assert_eq!(after(&mut share, false), MOST * 0.85);
        // Without another attempt nothing is learned again.
        assert_eq!(share.next(MOST, 9, |_| Some(11)), MOST * 0.85);
    }

    #[test]
    fn a_parent_below_the_attempt_is_a_loss_without_a_look_up() {
        let mut share = MakingShare::default();
        share.begin(10, 5);
        assert_eq!(share.next(MOST, 4, |_| unreachable!()), MOST * 0.85);
    }

    #[test]
    fn losses_stop_at_half_and_successes_at_the_whole() {
        let mut share = MakingShare::default();
        for _ in 0..20 {
            after(&mut share, false);
        }
        assert_eq!(after(&mut share, false), MOST * 0.5);
        for _ in 0..120 {
            after(&mut share, true);
        }
        assert_eq!(after(&mut share, true), MOST);
    }

    #[test]
    fn blocks_that_were_not_full_and_blocks_too_far_back_teach_nothing() {
        let mut share = MakingShare::default();
        share.begin(10, 5);
        share.not_full();
        assert_eq!(share.next(MOST, 4, |_| None), MOST);
        share.begin(10, 5);
        assert_eq!(share.next(MOST, 500, |_| None), MOST);
    }
}
