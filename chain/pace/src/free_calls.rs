//! Which free calls an author tries.

/// So many free calls one after another that did not fit, and the others are left for the next block. It is half of what
/// the SDK's author allows of all extrinsics before it ends a block.
const MISSES: u32 = 4;

/// Follows the free calls that an author tries for one block. The runtime bounds their weight in a block, so where several
/// did not fit, the others will not either.
#[derive(Debug, Default)]
pub struct FreeCalls {
    misses: u32,
    /// Whether the extrinsic that was tried last is free, and nothing is known about it yet.
    is_open: bool,
}

impl FreeCalls {
    /// Whether to try this extrinsic, which is the next one. What was tried before fits, unless it was reported.
    pub fn admits(&mut self, is_free: bool) -> bool {
        if std::mem::take(&mut self.is_open) {
            self.misses = 0;
        }
        self.is_open = is_free && self.misses < MISSES;
        !is_free || self.is_open
    }

    /// The extrinsic that was admitted last does not fit, or is not valid any more.
    pub fn report(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.misses += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that are tried of `free` free calls and `paying` others after them, where `fits` says which fit.
    fn tried(free: u32, paying: u32, fits: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut calls = FreeCalls::default();
        let mut numbers = Vec::new();
        for number in 0..free + paying {
            if calls.admits(number < free) {
                numbers.push(number);
                if !fits(number) {
                    calls.report();
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
    fn free_calls_go_on_where_one_of_a_few_fits() {
        assert_eq!(tried(20, 2, |number| number % 4 == 3), (0..22).collect::<Vec<_>>());
    }

    #[test]
    fn paying_calls_that_do_not_fit_leave_nothing_out() {
        assert_eq!(tried(5, 15, |number| number < 5), (0..20).collect::<Vec<_>>());
    }
}
