//! The protocol fee: a part of the payments of a lease, fixed when the lease is opened, and its division.
//!
//! The scheduler that opened the lease and the account whose call settles or ends it each have a share of the fee. The
//! rest, at least half, goes to the treasury.

use crate::{rate, Balance, Escrow, Fee};

/// The highest protocol fee in parts per million of what is paid.
pub const MAX_FEE_PPM: u32 = 100_000;
/// The highest sum of the shares of scheduler and settler in parts per million of the fee.
pub const MAX_SHARES_PPM: u32 = 500_000;

impl Fee {
    /// A fee that goes to the treasury alone.
    pub const fn of_treasury(treasury: Balance) -> Self {
        Self { treasury, scheduler: 0, settler: 0 }
    }

    /// All of it.
    pub const fn total(&self) -> Balance {
        self.treasury.saturating_add(self.scheduler).saturating_add(self.settler)
    }
}

impl Escrow {
    /// The escrow with a protocol fee of `fee_ppm`, of which the scheduler gets `scheduler_ppm`.
    pub const fn with_fee(self, fee_ppm: u32, scheduler_ppm: u32) -> Self {
        Self { fee_ppm, scheduler_ppm, ..self }
    }

    /// Divides a payment of `due` into the share of the provider and the fee.
    pub fn divide(&self, due: Balance, settler_ppm: u32) -> (Balance, Fee) {
        let fee = rate::fee(due, self.fee_ppm);
        (due.saturating_sub(fee), self.divide_fee(fee, settler_ppm))
    }

    /// Divides a fee. The shares of scheduler and settler are rounded down, and are [`MAX_SHARES_PPM`] of it at most: the
    /// settler has less where both would be more.
    pub fn divide_fee(&self, fee: Balance, settler_ppm: u32) -> Fee {
        let scheduler_ppm = self.scheduler_ppm.min(MAX_SHARES_PPM);
        let scheduler = rate::fee(fee, scheduler_ppm);
        let settler = rate::fee(fee, settler_ppm.min(MAX_SHARES_PPM.saturating_sub(scheduler_ppm)));
        Fee { treasury: fee.saturating_sub(scheduler).saturating_sub(settler), scheduler, settler }
    }

    /// The part of the fee paid so far that went to the treasury.
    pub const fn treasury_fee(&self) -> Balance {
        self.fee.saturating_sub(self.scheduler_fee).saturating_sub(self.settler_fee)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BillingUnit::Hour;

    #[test]
    fn a_fee_is_divided_between_scheduler_settler_and_treasury() {
        let escrow = Escrow::new(1_000, 10, Hour).with_fee(20_000, 200_000);
        assert_eq!(
            escrow.divide(1_000_000, 100_000),
            (980_000, Fee { treasury: 14_000, scheduler: 4_000, settler: 2_000 })
        );
        // 19 of fee: 3.8 and 1.9 are rounded down.
        assert_eq!(escrow.divide(999, 100_000), (980, Fee { treasury: 15, scheduler: 3, settler: 1 }));
        let dear = Escrow { scheduler_ppm: 450_000, ..escrow };
        assert_eq!(dear.divide_fee(100, 400_000), Fee { treasury: 50, scheduler: 45, settler: 5 }, "no more than half");
    }
}
