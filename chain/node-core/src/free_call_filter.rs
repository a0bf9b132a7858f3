//! Which free calls an author tries to add to a block.

/// After this many consecutive free calls that did not fit, the other free calls are left for the next block. It is half of
/// the number of extrinsics that do not fit after which the SDK's author ends a block.
const MAX_MISSES: u32 = 4;

/// Filters the free calls that an author tries for one block. The runtime limits their weight in a block, so if several
/// did not fit, the others will not fit either.
#[derive(Debug, Default)]
pub struct FreeCallFilter {
    misses: u32,
    /// Whether the extrinsic that was tried last is free, and has not been reported as invalid.
    is_pending: bool,
}

impl FreeCallFilter {
    /// Whether to try the next extrinsic. The extrinsic that was tried before fitted, unless it was reported.
    pub fn admits(&mut self, is_free: bool) -> bool {
        if std::mem::take(&mut self.is_pending) {
            self.misses = 0;
        }
        self.is_pending = is_free && self.misses < MAX_MISSES;
        !is_free || self.is_pending
    }

    /// Records that the extrinsic that was admitted last does not fit, or is not valid any more.
    pub fn report_invalid(&mut self) {
        if std::mem::take(&mut self.is_pending) {
            self.misses += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which extrinsics are tried, if `free` free calls come first, then `paying` others, and `fits` says which fit.
    fn tried(free: u32, paying: u32, fits: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut filter = FreeCallFilter::default();
        let mut numbers = Vec::new();
        for number in 0..free + paying {
            if filter.admits(number < free) {
                numbers.push(number);
                if !fits(number) {
                    filter.report_invalid();
                }
            }
        }
        numbers
    }

    #[test]
    fn paying_calls_follow_a_few_free_ones_that_do_not_fit() {
        let expected: Vec<u32> = (0..14).chain(100..103).collect();
        assert_eq!(tried(100, 3, |number| !(10..100).contains(&number)), expected);
    }

    #[test]
    fn all_free_calls_are_tried_if_at_least_one_of_four_fits() {
        assert_eq!(tried(20, 2, |number| number % 4 == 3), (0..22).collect::<Vec<_>>());
    }

    #[test]
    fn paying_calls_that_do_not_fit_are_all_tried() {
        assert_eq!(tried(5, 15, |number| number < 5), (0..20).collect::<Vec<_>>());
    }
}
