//! The amount that a lease owes: segments of time, each at one rate, out of a deposit that is never exceeded.
//!
//! Amounts are computed on demand, from the moment at which the running segment began; nothing changes with time alone.
//! `host_downtime` is always the total downtime of the host in milliseconds, which never falls: its growth since the
//! segment began is not billed. Rust and Python both run the cases of tests/vectors/escrow.json.

use crate::{
    rate::{self, MS_PER_HOUR},
    Balance, Billing, BillingUnit, Escrow, Fee, Moment,
};

impl Escrow {
    /// An escrow of `deposit` that is not billed yet and costs no fee.
    pub const fn new(deposit: Balance, rate_per_hour: Balance, unit: BillingUnit) -> Self {
        Self {
            deposit,
            rate_per_hour,
            unit,
            accrued: 0,
            since: None,
            downtime_mark: 0,
            until: None,
            paid: 0,
            fee: 0,
            open: true,
            fee_ppm: 0,
            scheduler_ppm: 0,
            scheduler_fee: 0,
            settler_fee: 0,
            credit: 0,
            storage: None,
        }
    }

    /// Returns the amount on hold of the tenant.
    pub fn held(&self) -> Balance {
        self.held_for_time().saturating_add(self.storage.map_or(0, |storage| storage.held))
    }

    /// Returns the amount on hold of the tenant for the time of the pod.
    pub const fn held_for_time(&self) -> Balance {
        if self.open {
            self.deposit.saturating_sub(self.paid)
        } else {
            0
        }
    }

    /// Starts billing, which never goes past `until`.
    pub fn start(&mut self, now: Moment, host_downtime: u64, until: Option<Moment>) {
        self.since = Some(now);
        self.downtime_mark = host_downtime;
        self.until = until;
    }

    /// Returns the billed milliseconds of the running segment. Downtime past `until` shortens it, too: the time of the
    /// downtime is not known, and no downtime is ever billed.
    pub fn billed_ms(&self, now: Moment, host_downtime: u64) -> u64 {
        self.passed_ms(now).saturating_sub(host_downtime.saturating_sub(self.downtime_mark))
    }

    fn passed_ms(&self, now: Moment) -> u64 {
        let Some(since) = self.since else { return 0 };
        let end = self.until.map_or(now, |until| now.min(until));
        end.saturating_sub(since)
    }

    /// Returns the total amount owed at `now`, by the billing unit. Never more than the deposit, never less than the
    /// paid amount.
    pub fn owed(&self, now: Moment, host_downtime: u64) -> Balance {
        self.compute_owed(Billing::ByUnit, self.billed_ms(now, host_downtime))
    }

    /// Returns the total amount owed at `now` if the host is at fault for the end: the running segment is pro rata.
    pub fn owed_pro_rata(&self, now: Moment, host_downtime: u64) -> Balance {
        self.compute_owed(Billing::ProRata, self.billed_ms(now, host_downtime))
    }

    /// Returns the amount owed at `now` and not paid yet.
    pub fn due(&self, now: Moment, host_downtime: u64) -> Balance {
        self.owed(now, host_downtime) - self.paid
    }

    /// Ends the running segment, and billing with it. The amount owed is then [`Self::accrued`].
    pub fn stop(&mut self, billing: Billing, now: Moment, host_downtime: u64) {
        self.accrued = self.compute_owed(billing, self.billed_ms(now, host_downtime));
        self.since = None;
        self.credit = 0;
    }

    /// As [`Self::stop`] by the unit, but for the time in milliseconds that the host measured, at most for the time
    /// that has passed. Downtime is billed, because the result is there.
    pub fn stop_measured(&mut self, now: Moment, measured_ms: u64) {
        self.accrued = self.compute_owed(Billing::ByUnit, self.passed_ms(now).min(measured_ms));
        self.since = None;
        self.credit = 0;
    }

    /// Changes the rate: a running segment ends, and another begins.
    pub fn change_rate(&mut self, rate_per_hour: Balance, now: Moment, host_downtime: u64) {
        if self.since.is_some() {
            self.stop(Billing::ByUnit, now, host_downtime);
            self.since = Some(now);
            self.downtime_mark = host_downtime;
        }
        self.rate_per_hour = rate_per_hour;
    }

    /// Increases the deposit. None on overflow.
    pub fn top_up(&mut self, amount: Balance) -> Option<()> {
        self.deposit = self.deposit.checked_add(amount)?;
        Some(())
    }

    /// Returns the time at which the running segment has used the rest of the deposit; further downtime moves it. None
    /// while nothing is billed; the greatest time if the rate is 0.
    pub fn depletes_at(&self, host_downtime: u64) -> Option<Moment> {
        let since = self.since?;
        if self.rate_per_hour == 0 {
            return Some(Moment::MAX);
        }
        let rest = self.deposit - self.accrued;
        let covered_ms = covered_ms(rest, self.rate_per_hour);
        Some(since.saturating_add(covered_ms).saturating_add(host_downtime.saturating_sub(self.downtime_mark)))
    }

    /// Returns the time at which billing ends: at `until`, or when the deposit is used up before. None while nothing is
    /// billed.
    pub fn ends_at(&self, host_downtime: u64) -> Option<Moment> {
        let depleted = self.depletes_at(host_downtime)?;
        Some(self.until.map_or(depleted, |until| until.min(depleted)))
    }

    /// Sets `until` to the end of the deposit. If the rate is 0, the deposit sets no end and `until` stays.
    pub fn follow_deposit(&mut self, host_downtime: u64) {
        if self.rate_per_hour > 0 {
            self.until = self.depletes_at(host_downtime).or(self.until);
        }
    }

    /// Counts a payment out of the deposit: `share` to the provider or in its stead, and `fee`.
    pub fn pay(&mut self, share: Balance, fee: Fee) {
        self.paid = self.paid.saturating_add(share).saturating_add(fee.total());
        self.fee = self.fee.saturating_add(fee.total());
        self.scheduler_fee = self.scheduler_fee.saturating_add(fee.scheduler);
        self.settler_fee = self.settler_fee.saturating_add(fee.settler);
        debug_assert!(self.paid <= self.deposit, "no more is paid than was deposited");
    }

    /// Counts a payment out of the storage deposit. It counts as deposited, owed and paid.
    pub fn pay_storage(&mut self, share: Balance, fee: Fee) {
        let amount = share.saturating_add(fee.total());
        if let Some(storage) = &mut self.storage {
            storage.held = storage.held.saturating_sub(amount);
        }
        self.deposit = self.deposit.saturating_add(amount);
        self.accrued = self.accrued.saturating_add(amount);
        self.pay(share, fee);
    }

    /// Counts a charge out of the deposit that goes to the treasury alone and is not for the time of a segment.
    pub fn charge(&mut self, amount: Balance) {
        self.accrued = self.accrued.saturating_add(amount);
        self.pay(0, Fee::of_treasury(amount));
    }

    /// Lowers the amount owed, which is `owed` now, by up to `amount`: what is paid stays paid. Returns the difference.
    pub fn apply_credit(&mut self, amount: Balance, owed: Balance) -> Balance {
        let taken = amount.min(owed.saturating_sub(self.paid));
        match self.since {
            Some(_) => self.credit = self.credit.saturating_add(taken),
            None => self.accrued = self.accrued.saturating_sub(taken),
        }
        taken
    }

    /// Closes the escrow for the time of the pod. Returns the amount to refund to the tenant.
    pub fn close(&mut self) -> Balance {
        let refunded = self.held_for_time();
        self.open = false;
        refunded
    }

    /// Returns the total amount owed if the running segment has lasted for `billed_ms`.
    fn compute_owed(&self, billing: Billing, billed_ms: u64) -> Balance {
        if self.since.is_none() {
            return match billing {
                Billing::Forfeit => self.paid,
                _ => self.accrued.max(self.paid),
            };
        }
        let rest = self.deposit - self.accrued;
        let running = match billing {
            Billing::ByUnit => rate::owed(self.unit, rest, self.rate_per_hour, billed_ms),
            Billing::ProRata => rate::owed_pro_rata(rest, self.rate_per_hour, billed_ms),
            Billing::Forfeit => return self.paid,
        };
        // A payment from before an absence was detected is not reclaimed.
        (self.accrued + running).saturating_sub(self.credit).max(self.paid)
    }
}

/// Returns the milliseconds for which `coins` cover a rate that is not 0, rounded up.
fn covered_ms(coins: Balance, rate_per_hour: Balance) -> u64 {
    let per_hour = Balance::from(MS_PER_HOUR);
    // Split so that no product overflows: coins = hours * rate + part, with part < rate.
    let hours = coins / rate_per_hour;
    let part = coins % rate_per_hour;
    let part_ms = match part.checked_mul(per_hour) {
        Some(product) => product.div_ceil(rate_per_hour),
        None => part.div_ceil(rate_per_hour / per_hour),
    };
    u64::try_from(hours.saturating_mul(per_hour).saturating_add(part_ms)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fees::{MAX_FEE_PPM, MAX_SHARES_PPM},
        rate::MS_PER_DAY,
        StorageDeposit,
    };
    use BillingUnit::{Day, Hour, Second};

    const BEGIN: Moment = 1_800_000_000_000;
    const HOUR: u64 = MS_PER_HOUR;

    /// An escrow over a day at 24 an hour that has begun.
    fn begun(unit: BillingUnit) -> Escrow {
        let mut escrow = Escrow::new(24 * 24, 24, unit);
        escrow.start(BEGIN, 0, Some(BEGIN + MS_PER_DAY));
        escrow
    }

    #[test]
    fn nothing_is_owed_before_billing_begins() {
        let escrow = Escrow::new(100, 10, Hour);
        assert_eq!((escrow.owed(BEGIN, 0), escrow.owed_pro_rata(BEGIN, 0)), (0, 0));
        assert_eq!((escrow.depletes_at(0), escrow.ends_at(0)), (None, None));
    }

    #[test]
    fn seconds_are_pro_rata_and_hours_and_days_whole_and_in_advance() {
        assert_eq!(begun(Second).owed(BEGIN, 0), 0);
        assert_eq!(begun(Second).owed(BEGIN + HOUR / 2, 0), 12);
        assert_eq!(begun(Hour).owed(BEGIN, 0), 24);
        assert_eq!(begun(Hour).owed(BEGIN + HOUR, 0), 24);
        assert_eq!(begun(Hour).owed(BEGIN + HOUR + 1, 0), 48);
        assert_eq!(begun(Day).owed(BEGIN + 1, 0), 24 * 24);
        assert_eq!(begun(Day).owed_pro_rata(BEGIN + HOUR / 2, 0), 12);
    }

    #[test]
    fn each_segment_owes_at_least_one_unit() {
        let mut escrow = begun(Hour);
        escrow.change_rate(2, BEGIN + HOUR / 4, 0);
        assert_eq!((escrow.accrued, escrow.owed(BEGIN + HOUR / 4, 0)), (24, 26));
        escrow.change_rate(24, BEGIN + HOUR / 2, 0);
        assert_eq!((escrow.accrued, escrow.owed(BEGIN + HOUR / 2, 0)), (26, 50));
        escrow.stop(Billing::ByUnit, BEGIN + HOUR, 0);
        assert_eq!((escrow.accrued, escrow.owed(BEGIN + MS_PER_DAY, 0)), (50, 50));
    }

    #[test]
    fn downtime_is_not_billed_but_only_that_of_the_segment() {
        let mut escrow = Escrow::new(24 * 24, 24, Second);
        escrow.start(BEGIN, 5 * HOUR, None);
        assert_eq!(escrow.owed(BEGIN + 2 * HOUR, 5 * HOUR), 48);
        assert_eq!(escrow.owed(BEGIN + 2 * HOUR, 6 * HOUR), 24);
        assert_eq!(escrow.owed(BEGIN + 2 * HOUR, 50 * HOUR), 0);
        escrow.change_rate(12, BEGIN + 2 * HOUR, 6 * HOUR);
        assert_eq!(escrow.owed(BEGIN + 4 * HOUR, 7 * HOUR), 24 + 12);
        assert_eq!(escrow.depletes_at(7 * HOUR), Some(BEGIN + 2 * HOUR + HOUR * (24 * 24 - 24) / 12 + HOUR));
    }

    #[test]
    fn nothing_is_billed_past_the_end() {
        let mut escrow = begun(Second);
        assert_eq!(escrow.owed(BEGIN + 100 * MS_PER_DAY, 0), 24 * 24);
        escrow.until = Some(BEGIN + HOUR);
        assert_eq!(escrow.owed(BEGIN + MS_PER_DAY, 0), 24);
        assert_eq!(escrow.ends_at(0), Some(BEGIN + HOUR));
    }

    #[test]
    fn a_clock_that_jumps_back_owes_nothing_and_asks_nothing_back() {
        let mut escrow = begun(Second);
        assert_eq!(escrow.owed(BEGIN - HOUR, 0), 0);
        escrow.pay(10, Fee::of_treasury(2));
        assert_eq!((escrow.owed(BEGIN - HOUR, 0), escrow.due(BEGIN - HOUR, 0)), (12, 0));
        escrow.stop(Billing::ByUnit, BEGIN - HOUR, 0);
        assert_eq!((escrow.accrued, escrow.close()), (12, 24 * 24 - 12));
    }

    #[test]
    fn a_host_bills_no_more_than_it_measured() {
        let mut escrow = begun(Second);
        escrow.stop_measured(BEGIN + 3 * HOUR, HOUR);
        assert_eq!(escrow.accrued, 24);
        let mut escrow = begun(Second);
        escrow.stop_measured(BEGIN + HOUR, u64::MAX);
        assert_eq!(escrow.accrued, 24);
        let mut never_begun = Escrow::new(100, 10, Hour);
        never_begun.stop_measured(BEGIN, HOUR);
        assert_eq!(never_begun.accrued, 0);
    }

    #[test]
    fn what_is_forfeited_is_what_is_not_paid_yet() {
        let mut escrow = begun(Hour);
        escrow.pay(20, Fee::of_treasury(4));
        escrow.stop(Billing::Forfeit, BEGIN + 5 * HOUR, 0);
        assert_eq!((escrow.accrued, escrow.close()), (24, 24 * 24 - 24));
        assert_eq!((escrow.held(), escrow.close()), (0, 0), "an escrow is closed once");
    }

    #[test]
    fn a_lease_that_costs_nothing_ends_when_its_time_is_over() {
        let mut escrow = Escrow::new(0, 0, Second);
        escrow.start(BEGIN, 0, Some(BEGIN + HOUR));
        assert_eq!(escrow.depletes_at(0), Some(Moment::MAX));
        escrow.follow_deposit(0);
        assert_eq!(escrow.ends_at(0), Some(BEGIN + HOUR));
    }

    #[test]
    fn what_is_paid_for_storage_is_not_owed_for_the_time_of_the_pod() {
        let mut escrow = begun(Second);
        escrow.stop(Billing::ByUnit, BEGIN + HOUR, 0);
        escrow.storage = Some(StorageDeposit { held: 30, since: BEGIN });
        assert_eq!((escrow.held(), escrow.held_for_time()), (24 * 24 + 30, 24 * 24));
        escrow.pay_storage(9, Fee::of_treasury(1));
        assert_eq!((escrow.deposit, escrow.accrued, escrow.paid, escrow.fee), (24 * 24 + 10, 34, 10, 1));
        assert_eq!((escrow.held(), escrow.due(BEGIN, 0)), (24 * 24 + 20, 24));
        assert_eq!(escrow.close(), 24 * 24, "storage is held on");
        assert_eq!(escrow.held(), 20);
    }

    #[test]
    fn a_charge_before_the_start_is_all_that_is_ever_paid() {
        for billing in [Billing::ByUnit, Billing::ProRata, Billing::Forfeit] {
            let mut escrow = Escrow::new(100, 10, Hour);
            escrow.charge(7);
            escrow.stop(billing, BEGIN + 5 * HOUR, 0);
            assert_eq!((escrow.accrued, escrow.paid, escrow.fee, escrow.close()), (7, 7, 7, 93));
        }
    }

    #[test]
    fn amounts_at_the_end_of_their_type_do_not_overflow() {
        let mut escrow = Escrow::new(Balance::MAX, Balance::MAX, Day);
        escrow.start(0, 0, None);
        assert_eq!(escrow.owed(Moment::MAX, 0), Balance::MAX);
        assert_eq!(escrow.owed(0, 0), Balance::MAX, "a day in advance is more than there is");
        assert_eq!(escrow.owed_pro_rata(0, 0), 0);
        assert_eq!(escrow.depletes_at(0), Some(HOUR));
        assert_eq!(escrow.depletes_at(u64::MAX), Some(Moment::MAX));
        assert_eq!(escrow.top_up(1), None);
        let cheap = Escrow { rate_per_hour: 1, since: Some(BEGIN), ..escrow };
        assert_eq!(cheap.depletes_at(0), Some(Moment::MAX));
    }

    /// Numbers that look random, the same for each seed.
    struct SplitMix64(u64);

    impl SplitMix64 {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)) % end
        }

        fn coins(&mut self) -> Balance {
            match self.below(8) {
                0 => 0,
                1 => Balance::from(self.below(10)),
                2 => Balance::MAX - Balance::from(self.below(1_000)),
                _ => Balance::from(self.below(1_000_000_000_000)),
            }
        }

        fn time(&mut self) -> u64 {
            match self.below(4) {
                0 => self.below(2),
                1 => self.below(HOUR),
                _ => self.below(3 * MS_PER_DAY),
            }
        }
    }

    /// One life of an escrow: what may happen to it, in any order, while time goes on and the host is absent at times.
    fn live(seed: u64) {
        let mut rng = SplitMix64(seed);
        let unit = [Second, Hour, Day][rng.below(3) as usize];
        let (mut now, mut downtime) = (BEGIN, rng.time());
        let [fee_ppm, scheduler_ppm, settler_ppm] =
            [MAX_FEE_PPM, MAX_SHARES_PPM, MAX_SHARES_PPM].map(|most| rng.below(u64::from(most) + 1) as u32);
        let mut escrow = Escrow::new(rng.coins(), rng.coins(), unit).with_fee(fee_ppm, scheduler_ppm);
        let mut deposited = escrow.deposit;
        escrow.start(now, downtime, (rng.below(2) == 0).then_some(now + 5 * MS_PER_DAY));
        let mut owed_before = 0;
        for step in 0..40 {
            let about = |escrow: &Escrow| format!("seed {seed}, step {step}: {escrow:?}");
            let passed = rng.time();
            let (billed, owed) = (escrow.billed_ms(now, downtime), escrow.owed(now, downtime));
            now += passed;
            // Downtime past the end shortens what was billed before it; it is not asked for here.
            let is_over = escrow.until.is_some_and(|until| until < now);
            if !is_over && rng.below(3) == 0 {
                // The host was absent for a part of it: time that is not billed.
                downtime += passed;
                assert!(escrow.billed_ms(now, downtime) <= billed, "downtime is billed: {}", about(&escrow));
                assert_eq!(escrow.owed(now, downtime), owed, "{}", about(&escrow));
            }
            let owed = escrow.owed(now, downtime);
            assert!(owed >= owed_before, "what is owed falls: {}", about(&escrow));
            assert!(owed <= escrow.deposit, "more is owed than was deposited: {}", about(&escrow));
            assert!(escrow.owed_pro_rata(now, downtime) <= owed, "a host at fault gets more: {}", about(&escrow));
            assert!(escrow.due(now - passed.min(HOUR), downtime) <= owed - escrow.paid);
            owed_before = owed;
            match rng.below(6) {
                0 => {
                    let ends_at = escrow.ends_at(downtime);
                    let amount = Balance::from(rng.below(1_000_000_000));
                    if escrow.top_up(amount).is_some() {
                        deposited += amount;
                    }
                    assert!(escrow.ends_at(downtime) >= ends_at, "a top-up shortens: {}", about(&escrow));
                    let until = escrow.until;
                    escrow.follow_deposit(downtime);
                    assert!(escrow.ends_at(downtime) >= until.min(ends_at), "it ends earlier: {}", about(&escrow));
                }
                1 => {
                    let rate_per_hour = rng.coins();
                    escrow.change_rate(rate_per_hour, now, downtime);
                    assert_eq!(escrow.accrued, owed, "a change of rate changes what is owed: {}", about(&escrow));
                    owed_before = escrow.owed(now, downtime);
                }
                2 => {
                    let due = escrow.due(now, downtime);
                    let part = due / 3;
                    let (share, fee) = escrow.divide(part, settler_ppm);
                    assert_eq!(share + fee.total(), part, "{}", about(&escrow));
                    escrow.pay(share, fee);
                    assert_eq!(escrow.due(now, downtime), due - part, "{}", about(&escrow));
                }
                3 => {
                    if let Some(depletes_at) = escrow.depletes_at(downtime).filter(|at| *at < Moment::MAX) {
                        let endless = Escrow { until: None, ..escrow.clone() };
                        assert_eq!(endless.owed_pro_rata(depletes_at, downtime), escrow.deposit, "{}", about(&escrow));
                    }
                }
                _ => {}
            }
        }
        let ended = [Billing::ByUnit, Billing::ProRata, Billing::Forfeit][rng.below(3) as usize];
        let (by_unit, pro_rata) = (escrow.owed(now, downtime), escrow.owed_pro_rata(now, downtime));
        escrow.stop(ended, now, downtime);
        let expected = [by_unit, pro_rata, escrow.paid][ended as usize];
        assert_eq!(escrow.accrued, expected, "seed {seed}");
        assert_eq!(escrow.owed(now + MS_PER_DAY, downtime), expected, "a stopped escrow owes more with time");
        let due = escrow.accrued - escrow.paid;
        let (share, fee) = escrow.divide(due, settler_ppm);
        escrow.pay(share, fee);
        let refunded = escrow.close();
        assert_eq!(escrow.deposit, deposited);
        assert_eq!(escrow.paid.checked_add(refunded), Some(deposited), "coins were made or lost: seed {seed}");
        assert!(escrow.fee <= escrow.paid);
        assert!(
            escrow.scheduler_fee + escrow.settler_fee <= escrow.fee / 2,
            "the treasury has less than half of the fee"
        );
    }

    #[test]
    fn whatever_happens_to_an_escrow_its_coins_are_conserved() {
        (0..3_000).for_each(live);
    }
}
