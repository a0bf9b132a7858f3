//! How a validator fills a block: how long it takes extrinsics so that the block is made in time, and which free calls it
//! tries. And how its pool checks extrinsics: in which batches, and how often again.

mod answers;
mod batches;
mod free_calls;
mod making_share;
mod rechecks;

pub use answers::Answers;
pub use batches::{Batches, CheckOf};
pub use free_calls::FreeCalls;
pub use making_share::MakingShare;
pub use rechecks::Rechecks;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// What it took to finish full blocks after the last extrinsic, as a share of the time of taking them. It depends on
/// what the extrinsics do: a batch changes more state in a millisecond than single calls, whose signatures take long.
pub struct Finish(AtomicU64);

impl Finish {
    /// Before the first full block: as much as the costliest kinds were seen to take.
    const FIRST: f64 = 0.25;
    /// The most that is believed: a machine that stood still says nothing about blocks.
    const MOST: f64 = 0.6;
    /// What a block counts that took less than expected. One that took more counts in full, for a slot is lost with it.
    const CALMS: f64 = 0.1;

    /// The present estimate.
    pub fn share(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// How long to take extrinsics so that the whole is made in `time`.
    pub fn fill(&self, time: Duration) -> Duration {
        time.div_f64(1.0 + self.share())
    }

    /// Learns from a block that was `filled` for so long and made after `took`.
    pub fn learn(&self, filled: Duration, took: Duration) {
        let Some(rest) = took.checked_sub(filled) else { return };
        let seen = (rest.as_secs_f64() / filled.as_secs_f64()).min(Self::MOST);
        let known = self.share();
        let next = if seen > known { seen } else { known + (seen - known) * Self::CALMS };
        self.0.store(next.to_bits(), Ordering::Relaxed);
    }
}

impl Default for Finish {
    fn default() -> Self {
        Self(AtomicU64::new(Self::FIRST.to_bits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(1_600);

    #[test]
    fn blocks_that_finish_slowly_are_filled_for_less_time_at_once() {
        let finish = Finish::default();
        let before = finish.fill(TIME);
        finish.learn(before, before.mul_f64(1.5));
        assert!((finish.fill(TIME).mul_f64(1.5).as_secs_f64() - TIME.as_secs_f64()).abs() < 0.001);
    }

    #[test]
    fn blocks_that_finish_fast_are_filled_for_more_time_by_and_by() {
        let finish = Finish::default();
        let first = finish.fill(TIME);
        let filled: Vec<_> = (0..60)
            .map(|_| {
                let filled = finish.fill(TIME);
                finish.learn(filled, filled.mul_f64(1.05));
                filled
            })
            .collect();
        assert!(filled.windows(2).all(|pair| pair[0] <= pair[1]) && filled[1] < first.mul_f64(1.05));
        assert!((filled[59].mul_f64(1.05).as_secs_f64() - TIME.as_secs_f64()).abs() < 0.01);
    }

    #[test]
    fn a_block_that_was_not_full_and_a_machine_that_stood_still_teach_little() {
        let finish = Finish::default();
        let before = finish.fill(TIME);
        finish.learn(before, before / 2);
        assert_eq!(finish.fill(TIME), before);
        finish.learn(before, before * 20);
        assert_eq!(finish.share(), Finish::MOST);
    }
}
