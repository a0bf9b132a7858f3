//! When a pool checks again the extrinsics that wait in it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The time before a check that is throttled. A check takes a validator about 0.5 ms, so a pool that makes them one after
/// another takes 2.5 % of a processor for them, and makes about 100 in a slot of 2 s.
pub const PAUSE: Duration = Duration::from_millis(20);

/// Decides which repeated checks of a pool are throttled: those against the state of the newest block.
///
/// The SDK's pool revalidates one extrinsic after another against the newest block until the next block comes. Against
/// earlier blocks it checks extrinsics once: the replacements of others, and what has waited for ten final blocks.
#[derive(Debug, Default)]
pub struct Rechecks {
    newest: AtomicU64,
}

impl Rechecks {
    /// The time to wait before a repeated check against the state of the block with this number.
    pub fn pause(&self, block: u64) -> Duration {
        let newest = self.newest.fetch_max(block, Ordering::Relaxed);
        if block < newest {
            Duration::ZERO
        } else {
            PAUSE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_against_the_newest_block_are_throttled() {
        let rechecks = Rechecks::default();
        for block in [0, 7, 7, 8, 8] {
            assert_eq!(rechecks.pause(block), PAUSE, "block {block}");
        }
    }

    #[test]
    fn checks_against_earlier_blocks_are_not() {
        let rechecks = Rechecks::default();
        rechecks.pause(8);
        for block in [7, 0, 7] {
            assert_eq!(rechecks.pause(block), Duration::ZERO, "block {block}");
        }
        assert_eq!(rechecks.pause(8), PAUSE);
    }
}
