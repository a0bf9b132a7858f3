//! When a pool revalidates the extrinsics that it holds.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The delay before a throttled validation. A validation takes a validator about 0.5 ms, so a pool that makes one after
/// another uses 2.5 % of a processor for them, and makes about 100 in a slot of 2 s.
pub const DELAY: Duration = Duration::from_millis(20);

/// Decides which revalidations of a pool are throttled: those against the state of the newest block.
///
/// The SDK's pool revalidates one extrinsic after another against the newest block until the next block arrives. Against
/// earlier blocks it validates each extrinsic once: replacements of others, and those that were in the pool for ten final
/// blocks.
#[derive(Debug, Default)]
pub struct RevalidationThrottle {
    newest: AtomicU64,
}

impl RevalidationThrottle {
    /// Returns the delay before a revalidation against the state of the block with this number.
    pub fn delay(&self, block: u64) -> Duration {
        let newest = self.newest.fetch_max(block, Ordering::Relaxed);
        if block < newest {
            Duration::ZERO
        } else {
            DELAY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validations_against_the_newest_block_are_throttled() {
        let throttle = RevalidationThrottle::default();
        for block in [0, 7, 7, 8, 8] {
            assert_eq!(throttle.delay(block), DELAY, "block {block}");
        }
    }

    #[test]
    fn validations_against_earlier_blocks_are_not_throttled() {
        let throttle = RevalidationThrottle::default();
        throttle.delay(8);
        for block in [7, 0, 7] {
            assert_eq!(throttle.delay(block), Duration::ZERO, "block {block}");
        }
        assert_eq!(throttle.delay(8), DELAY);
    }
}
