//! A pseudo-random number generator for tests.

/// SplitMix64: the same numbers for each seed on every machine.
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }

    /// Returns true once in `times` calls on average.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns one of the options.
    pub fn pick<T: Clone>(&mut self, options: &[T]) -> T {
        self.pick_if_any(options).expect("there is something to pick")
    }

    /// Returns one of the options; None if there is none.
    pub fn pick_if_any<T: Clone>(&mut self, options: &[T]) -> Option<T> {
        (!options.is_empty()).then(|| options[self.below(options.len() as u64) as usize].clone())
    }
}
