//! Halts: times in which the chain made no blocks, so that no transaction could be included.
//!
//! Time limits for sending transactions are measured without halts.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use crate::{Moment, UpTo};

/// The most halts that are stored separately.
pub const MAX_HALTS: u32 = 16;

/// One halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Halt {
    /// The time of the first block after it.
    pub end: Moment,
    /// How long it was, in milliseconds.
    pub ms: u64,
}

/// The halts of a chain in order. If there are more than [`MAX_HALTS`], the oldest two are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Halts(pub UpTo<Halt, MAX_HALTS>);

impl Halts {
    /// Adds a halt that ends later than all others.
    pub fn add(&mut self, halt: Halt) {
        if self.0.is_full() {
            let oldest = self.0.remove(0);
            if let Some(next) = self.0.get_mut(0) {
                next.ms = next.ms.saturating_add(oldest.ms);
            }
        }
        self.0.force_push(halt);
    }

    /// Returns the milliseconds from `moment` to `now`, without the halts that were over by `now`.
    ///
    /// For moments between merged halts, the result may be less than that.
    pub fn elapsed_ms(&self, moment: Moment, now: Moment) -> u64 {
        let over = self.0.iter().filter(|halt| halt.end <= now);
        let without_blocks =
            over.fold(0, |sum: u64, halt| sum.saturating_add(halt.ms.min(halt.end.saturating_sub(moment))));
        now.saturating_sub(moment).saturating_sub(without_blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halts(all: &[(Moment, u64)]) -> Halts {
        let mut halts = Halts::default();
        all.iter().for_each(|(end, ms)| halts.add(Halt { end: *end, ms: *ms }));
        halts
    }

    #[test]
    fn time_passes_while_there_are_blocks_and_not_while_there_are_none() {
        let halts = halts(&[(1_000, 400), (3_000, 500)]);
        assert_eq!(halts.elapsed_ms(500, 600), 100, "before any of them");
        assert_eq!(halts.elapsed_ms(500, 4_000), 2_600);
        assert_eq!(halts.elapsed_ms(1_000, 4_000), 2_500, "the first halt was over");
        assert_eq!(halts.elapsed_ms(3_000, 4_000), 1_000);
        assert_eq!(halts.elapsed_ms(5_000, 4_000), 0);
    }

    #[test]
    fn a_halt_stops_the_time_and_does_not_turn_it_back() {
        let halts = halts(&[(1_000, 400)]);
        // The last block before it was at 600, and the next is at 1,000.
        assert_eq!([599, 600, 1_000, 1_001].map(|now| halts.elapsed_ms(100, now)), [499, 500, 500, 501]);
    }

    #[test]
    fn a_moment_within_a_halt_loses_no_more_than_the_rest_of_it() {
        assert_eq!(halts(&[(1_000, 400)]).elapsed_ms(900, 1_050), 50);
    }

    #[test]
    fn more_halts_than_are_told_apart_are_all_counted() {
        let all: Vec<(Moment, u64)> = (1..=40).map(|number| (number * 1_000, 300)).collect();
        let found = halts(&all);
        assert_eq!(found.0.len() as u32, MAX_HALTS);
        assert_eq!(found.elapsed_ms(0, 40_000), 40 * 700);
        // Those of which it knows the order.
        assert_eq!(found.elapsed_ms(39_000, 40_000), 700);
        assert_eq!(found.elapsed_ms(30_000, 40_000), 10 * 700);
        // Among the oldest it counts in favour of who was silent.
        assert!(found.elapsed_ms(20_000, 40_000) <= 20 * 700);
    }

    #[test]
    fn the_longest_halts_do_not_overflow() {
        let halts = halts(&[(u64::MAX, u64::MAX), (u64::MAX, u64::MAX)]);
        assert_eq!(halts.elapsed_ms(0, u64::MAX), 0);
    }
}
