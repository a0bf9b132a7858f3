//! What a lease owes: segments of time, each at one rate, out of a deposit that is never exceeded.
//!
//! Everything is reckoned when it is asked for, from the moment the running segment began; nothing changes with time
//! alone. `host_downtime` is always the host's whole downtime in milliseconds, a number that never falls: what it has
//! grown by since the segment began is not billed.

use crate::{
    rate::{self, MS_PER_HOUR},
    Balance, Billing, BillingUnit, Escrow, Moment,
};

impl Escrow {
    /// An escrow of `deposit` that is not billed yet.
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
        }
    }

    /// What is held of the tenant for it.
    pub const fn held(&self) -> Balance {
        if self.open {
            self.deposit.saturating_sub(self.paid)
        } else {
            0
        }
    }

    /// Billing begins, and never goes past `until`.
    pub fn start(&mut self, now: Moment, host_downtime: u64, until: Option<Moment>) {
        self.since = Some(now);
        self.downtime_mark = host_downtime;
        self.until = until;
    }

    /// For how many milliseconds of the running segment there is something to bill.
    pub fn billed_ms(&self, now: Moment, host_downtime: u64) -> u64 {
        let Some(since) = self.since else { return 0 };
        let end = self.until.map_or(now, |until| now.min(until));
        end.saturating_sub(since).saturating_sub(host_downtime.saturating_sub(self.downtime_mark))
    }

    /// What is owed in all at `now`, by the unit. Never more than the deposit, never less than what is paid.
    pub fn owed(&self, now: Moment, host_downtime: u64) -> Balance {
        self.reckon(Billing::ByUnit, self.billed_ms(now, host_downtime))
    }

    /// What is owed in all at `now` where the host is at fault for the end: the running segment is pro rata.
    pub fn owed_pro_rata(&self, now: Moment, host_downtime: u64) -> Balance {
        self.reckon(Billing::ProRata, self.billed_ms(now, host_downtime))
    }

    /// What is owed at `now` and not paid yet.
    pub fn due(&self, now: Moment, host_downtime: u64) -> Balance {
        self.owed(now, host_downtime) - self.paid
    }

    /// The running segment ends; from now on nothing is billed. What is owed is [`Self::accrued`] then.
    pub fn stop(&mut self, billing: Billing, now: Moment, host_downtime: u64) {
        self.accrued = self.reckon(billing, self.billed_ms(now, host_downtime));
        self.since = None;
    }

    /// As [`Self::stop`] by the unit, but for at most the time that the host measured, in milliseconds.
    pub fn stop_measured(&mut self, now: Moment, host_downtime: u64, measured_ms: u64) {
        self.accrued = self.reckon(Billing::ByUnit, self.billed_ms(now, host_downtime).min(measured_ms));
        self.since = None;
    }

    /// The rate changes: where a segment runs, it ends and another begins.
    pub fn change_rate(&mut self, rate_per_hour: Balance, now: Moment, host_downtime: u64) {
        if self.since.is_some() {
            self.stop(Billing::ByUnit, now, host_downtime);
            self.since = Some(now);
            self.downtime_mark = host_downtime;
        }
        self.rate_per_hour = rate_per_hour;
    }

    /// More coins are deposited. None where there are more than any number of coins.
    pub fn top_up(&mut self, amount: Balance) -> Option<()> {
        self.deposit = self.deposit.checked_add(amount)?;
        Some(())
    }

    /// When the running segment has used the rest of the deposit: a lower bound, as further downtime moves it. None
    /// while nothing is billed; the end of time where the rate is 0.
    pub fn depletes_at(&self, host_downtime: u64) -> Option<Moment> {
        let since = self.since?;
        if self.rate_per_hour == 0 {
            return Some(Moment::MAX);
        }
        let rest = self.deposit - self.accrued;
        let covered_ms = covered_ms(rest, self.rate_per_hour);
        Some(since.saturating_add(covered_ms).saturating_add(host_downtime.saturating_sub(self.downtime_mark)))
    }

    /// When billing ends by itself: at `until`, or when the deposit is used up before. None while nothing is billed.
    pub fn ends_at(&self, host_downtime: u64) -> Option<Moment> {
        let depleted = self.depletes_at(host_downtime)?;
        Some(self.until.map_or(depleted, |until| until.min(depleted)))
    }

    /// Billing goes on for as long as the deposit lasts. Where the lease costs nothing the deposit says nothing, and
    /// `until` stays.
    pub fn follow_deposit(&mut self, host_downtime: u64) {
        if self.rate_per_hour > 0 {
            self.until = self.depletes_at(host_downtime).or(self.until);
        }
    }

    /// So many coins of the deposit left the tenant: `share` to the provider or in its stead, `fee` to the treasury.
    pub fn pay(&mut self, share: Balance, fee: Balance) {
        self.paid = self.paid.saturating_add(share).saturating_add(fee);
        self.fee = self.fee.saturating_add(fee);
        debug_assert!(self.paid <= self.deposit, "no more is paid than was deposited");
    }

    /// Coins are deposited and leave the tenant at once, for something else than the time of a segment. None where
    /// there are more than any number of coins.
    pub fn prepay(&mut self, share: Balance, fee: Balance) -> Option<()> {
        let amount = share.checked_add(fee)?;
        self.top_up(amount)?;
        self.accrued = self.accrued.checked_add(amount)?;
        self.pay(share, fee);
        Some(())
    }

    /// Nothing is held any more. Returns what goes back to the tenant.
    pub fn close(&mut self) -> Balance {
        let refunded = self.held();
        self.open = false;
        refunded
    }

    /// What is owed in all where the running segment has lasted for `billed_ms`.
    fn reckon(&self, billing: Billing, billed_ms: u64) -> Balance {
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
        // What was paid before a host's absence came to light is not asked back.
        (self.accrued + running).max(self.paid)
    }
}

/// For how many whole milliseconds `coins` cover a rate that is not 0: a millisecond less than that at the most.
fn covered_ms(coins: Balance, rate_per_hour: Balance) -> u64 {
    let per_hour = Balance::from(MS_PER_HOUR);
    // Split so that no product overflows: coins = hours * rate + part, with part < rate.
    let hours = coins / rate_per_hour;
    let part = coins % rate_per_hour;
    let part_ms = match part.checked_mul(per_hour) {
        Some(product) => product / rate_per_hour,
        None => part / rate_per_hour.div_ceil(per_hour),
    };
    u64::try_from(hours.saturating_mul(per_hour).saturating_add(part_ms)).unwrap_or(u64::MAX)
}
