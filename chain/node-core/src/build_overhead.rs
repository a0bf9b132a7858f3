//! How long it takes to complete a block after its last extrinsic.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// An estimate of the time from the last extrinsic of a full block until the block is built, relative to the time in which
/// its extrinsics were applied. The ratio depends on the extrinsics: a batch changes more state in a millisecond than single
/// calls, whose signatures take most of the time.
pub struct BuildOverhead(AtomicU64);

impl BuildOverhead {
    /// The estimate before the first full block: the highest ratio that was measured for any kind of extrinsic.
    const INITIAL: f64 = 0.25;
    /// The upper limit of an observation: a machine that was suspended says nothing about blocks.
    const MAX: f64 = 0.6;
    /// The weight of an observation below the estimate. One above the estimate replaces it, because the slot was lost.
    const DECAY: f64 = 0.1;

    /// Returns the current estimate.
    pub fn ratio(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Returns for how long to apply extrinsics so that the block is built within `total`.
    pub fn fill_time(&self, total: Duration) -> Duration {
        total.div_f64(1.0 + self.ratio())
    }

    /// Updates the estimate by a block whose extrinsics were applied for `filled` and that was built after `total`.
    pub fn observe(&self, filled: Duration, total: Duration) {
        let Some(overhead) = total.checked_sub(filled) else { return };
        let observed = (overhead.as_secs_f64() / filled.as_secs_f64()).min(Self::MAX);
        let estimate = self.ratio();
        let updated = if observed > estimate { observed } else { estimate + (observed - estimate) * Self::DECAY };
        self.0.store(updated.to_bits(), Ordering::Relaxed);
    }
}

impl Default for BuildOverhead {
    fn default() -> Self {
        Self(AtomicU64::new(Self::INITIAL.to_bits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: Duration = Duration::from_millis(1_600);

    #[test]
    fn a_block_that_is_built_late_shortens_the_fill_time_at_once() {
        let overhead = BuildOverhead::default();
        let before = overhead.fill_time(TOTAL);
        overhead.observe(before, before.mul_f64(1.5));
        assert!((overhead.fill_time(TOTAL).mul_f64(1.5).as_secs_f64() - TOTAL.as_secs_f64()).abs() < 0.001);
    }

    #[test]
    fn blocks_that_are_built_early_lengthen_the_fill_time_gradually() {
        let overhead = BuildOverhead::default();
        let first = overhead.fill_time(TOTAL);
        let fill_times: Vec<_> = (0..60)
            .map(|_| {
                let filled = overhead.fill_time(TOTAL);
                overhead.observe(filled, filled.mul_f64(1.05));
                filled
            })
            .collect();
        assert!(fill_times.windows(2).all(|pair| pair[0] <= pair[1]) && fill_times[1] < first.mul_f64(1.05));
        assert!((fill_times[59].mul_f64(1.05).as_secs_f64() - TOTAL.as_secs_f64()).abs() < 0.01);
    }

    #[test]
    fn blocks_that_were_not_full_are_ignored_and_a_suspended_machine_counts_at_most_the_limit() {
        let overhead = BuildOverhead::default();
        let before = overhead.fill_time(TOTAL);
        overhead.observe(before, before / 2);
        assert_eq!(overhead.fill_time(TOTAL), before);
        overhead.observe(before, before * 20);
        assert_eq!(overhead.ratio(), BuildOverhead::MAX);
    }
}
