//! Coins held for data that its tenant pays to have kept longer: a price fixed in advance, due as the time passes.

use crate::{Balance, Moment, StorageDeposit};

impl StorageDeposit {
    /// Returns the amount due at `now` if the data is retained until `until`: pro rata, rounded down, and all of it
    /// from `until` on.
    pub fn due(&self, until: Moment, now: Moment) -> Balance {
        if now >= until {
            return self.held;
        }
        let passed = Balance::from(now.saturating_sub(self.since));
        let all = Balance::from(until.saturating_sub(self.since)).max(1);
        // Split so that no product overflows: held = whole * all + rest, and passed < all.
        (self.held / all).saturating_mul(passed).saturating_add((self.held % all).saturating_mul(passed) / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_grows_with_the_time_from_its_beginning_to_its_end() {
        let deposit = StorageDeposit { held: 1_001, since: 1_000 };
        for (now, due) in [(0, 0), (1_000, 0), (1_001, 1), (1_500, 500), (1_999, 999), (2_000, 1_001), (9_000, 1_001)] {
            assert_eq!(deposit.due(2_000, now), due, "at {now}");
        }
    }

    #[test]
    fn amounts_and_times_at_the_end_of_their_types_do_not_overflow() {
        let deposit = StorageDeposit { held: Balance::MAX, since: 0 };
        assert!(deposit.due(u64::MAX, u64::MAX - 1) < Balance::MAX);
        assert_eq!(deposit.due(u64::MAX, u64::MAX), Balance::MAX);
        assert_eq!(StorageDeposit { held: 5, since: 9 }.due(9, 8), 0, "before its beginning");
    }
}
