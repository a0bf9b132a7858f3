//! The share of a slot in which an author builds its block, adapted to whether its earlier blocks stayed in the chain.

/// Additive increase and multiplicative decrease, as in TCP's congestion control: an author whose full block did not stay in
/// the chain makes the next ones smaller, because other validators had not executed it when the next slot began. A
/// validator that makes no blocks does not change the share of the others.
pub struct SlotShare {
    factor: f64,
    last: Option<Attempt>,
}

/// A full block that the author began.
struct Attempt {
    slot: u64,
    number: u32,
}

impl SlotShare {
    /// The lower limit of the factor: if validators are missing or hostile, blocks of any size are lost.
    const MIN_FACTOR: f64 = 0.5;
    /// The factor after a lost block, relative to the factor before it.
    const DECREASE: f64 = 0.85;
    /// What a block that stayed adds to the factor. With these numbers a machine at its limit loses one full block in 30.
    const INCREASE: f64 = 0.005;

    /// Returns the share of a slot, at most `max`, for a block whose parent has the number `parent`. `slot_of` returns the
    /// slot of the block with a number among the parent and its ancestors, or `None` if that block is too old to look up.
    pub fn next_share(&mut self, max: f64, parent: u32, slot_of: impl FnOnce(u32) -> Option<u64>) -> f64 {
        if let Some(last) = self.last.take() {
            // A parent below the number of the last attempt is on a fork without it.
            let found = if parent < last.number { Some(None) } else { slot_of(last.number).map(Some) };
            match found {
                Some(slot) if slot == Some(last.slot) => self.factor = (self.factor + Self::INCREASE).min(1.0),
                Some(_) => self.factor = (self.factor * Self::DECREASE).max(Self::MIN_FACTOR),
                None => {}
            }
        }
        max * self.factor
    }

    /// Records that the author begins the block with this `number` in this `slot`.
    pub fn begin_attempt(&mut self, slot: u64, number: u32) {
        self.last = Some(Attempt { slot, number });
    }

    /// Forgets the last attempt, because the block did not use its time: its fate says nothing about the size of blocks.
    pub fn discard_attempt(&mut self) {
        self.last = None;
    }
}

impl Default for SlotShare {
    fn default() -> Self {
        Self { factor: 1.0, last: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: f64 = 0.4;

    fn share_after(share: &mut SlotShare, stayed: bool) -> f64 {
        share.begin_attempt(10, 5);
        share.next_share(MAX, 8, |_| Some(if stayed { 10 } else { 11 }))
    }

    #[test]
    fn the_first_block_may_take_the_whole_share() {
        assert_eq!(SlotShare::default().next_share(MAX, 0, |_| None), MAX);
    }

    #[test]
    fn a_block_that_did_not_stay_makes_the_next_one_smaller() {
        let mut share = SlotShare::default();
        assert_eq!(share_after(&mut share, false), MAX * 0.85);
        // Without another attempt the factor stays.
        assert_eq!(share.next_share(MAX, 9, |_| Some(11)), MAX * 0.85);
    }

    #[test]
    fn a_parent_below_the_attempt_is_a_loss_without_a_look_up() {
        let mut share = SlotShare::default();
        share.begin_attempt(10, 5);
        assert_eq!(share.next_share(MAX, 4, |_| unreachable!()), MAX * 0.85);
    }

    #[test]
    fn the_factor_stays_between_one_half_and_one() {
        let mut share = SlotShare::default();
        for _ in 0..20 {
            share_after(&mut share, false);
        }
        assert_eq!(share_after(&mut share, false), MAX * 0.5);
        for _ in 0..120 {
            share_after(&mut share, true);
        }
        assert_eq!(share_after(&mut share, true), MAX);
    }

    #[test]
    fn discarded_attempts_and_blocks_too_old_to_look_up_change_nothing() {
        let mut share = SlotShare::default();
        share.begin_attempt(10, 5);
        share.discard_attempt();
        assert_eq!(share.next_share(MAX, 4, |_| None), MAX);
        share.begin_attempt(10, 5);
        assert_eq!(share.next_share(MAX, 500, |_| None), MAX);
    }
}
