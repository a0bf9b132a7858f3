//! Credits to tenants for broken SLA terms.
//!
//! A lease is measured in periods: from its start, or from the last credit, to a settlement or its end. Each division
//! rounds down.

use sp_runtime::{helpers_128bit::multiply_by_rational_with_rounding, Rounding};

use crate::{
    rate::{owed_pro_rata, PPM},
    Balance, Lease, LeaseSla, LeaseState, Moment, SlaTerms,
};

/// What was measured in a period of a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The amount that the lease owes for the period.
    pub price: Balance,
    /// The rate of the lease in base units an hour.
    pub rate_per_hour: Balance,
    /// How long the host had to serve the pod, in milliseconds.
    pub promised_ms: u64,
    /// How long of that it was absent, in milliseconds.
    pub down_ms: u64,
    /// By how much the pod started later than promised, in milliseconds.
    pub late_ms: u64,
    /// The part of the promised notice that was not given, in milliseconds.
    pub missing_notice_ms: u64,
}

/// Returns the credit for a period: at most `penalty_ppm` of its price.
///
/// Downtime up to the allowed part of the time costs nothing. Beyond it the credit grows linearly, and is the whole
/// penalty at twice the allowed downtime. A late start and a missing notice cost the price of the time.
pub fn credit(terms: &SlaTerms, measured: &Measured) -> Balance {
    let most = share(measured.price, terms.penalty_ppm);
    let allowed_ms = share(measured.promised_ms.into(), 1_000_000u32.saturating_sub(terms.uptime_ppm));
    let excess_ms = Balance::from(measured.down_ms).saturating_sub(allowed_ms);
    let for_downtime = if excess_ms == 0 || terms.uptime_ppm == 0 {
        0
    } else if excess_ms >= allowed_ms {
        most
    } else {
        multiply_by_rational_with_rounding(most, excess_ms, allowed_ms, Rounding::Down).unwrap_or(most)
    };
    let time_ms = measured.late_ms.saturating_add(measured.missing_notice_ms);
    for_downtime.saturating_add(owed_pro_rata(most, measured.rate_per_hour, time_ms)).min(most)
}

/// Returns `ppm` parts per million of an amount, at most the amount.
fn share(amount: Balance, ppm: u32) -> Balance {
    let ppm = Balance::from(ppm).min(PPM);
    // Split so that no product overflows: amount = whole * PPM + rest.
    (amount / PPM) * ppm + (amount % PPM) * ppm / PPM
}

impl LeaseSla {
    /// The measurement of a lease that has not started. None if nothing can be credited.
    pub fn new(terms: SlaTerms) -> Option<Self> {
        (terms.penalty_ppm > 0).then_some(Self {
            terms,
            began_at: 0,
            since: None,
            down_mark: 0,
            promised_ms: 0,
            down_ms: 0,
            late_ms: 0,
            owed_mark: 0,
            credited: 0,
        })
    }

    /// Begins the first period. The pod started `waited_ms` after the lease was opened.
    pub fn start(&mut self, now: Moment, host_downtime: u64, waited_ms: u64) {
        self.began_at = now;
        if self.terms.start_ms > 0 {
            self.late_ms = waited_ms.saturating_sub(self.terms.start_ms.into());
        }
        self.resume(now, host_downtime);
    }

    /// Measures from `now` on.
    pub fn resume(&mut self, now: Moment, host_downtime: u64) {
        self.since = Some(now);
        self.down_mark = host_downtime;
    }

    /// Measures up to `now` and no longer, because the machine is stopped or the lease ends.
    pub fn pause(&mut self, now: Moment, host_downtime: u64) {
        let Some(since) = self.since.take() else { return };
        let passed_ms = now.saturating_sub(since);
        self.promised_ms = self.promised_ms.saturating_add(passed_ms);
        let down_ms = host_downtime.saturating_sub(self.down_mark).min(passed_ms);
        self.down_ms = self.down_ms.saturating_add(down_ms);
    }

    /// Ends the period of a paused measurement, in which the lease came to owe `owed` in all. Returns the credit. The
    /// caller applies it, and calls [`Self::begin_period`].
    fn credit(&self, owed: Balance, rate_per_hour: Balance, missing_notice_ms: u64) -> Balance {
        let measured = Measured {
            price: owed.saturating_sub(self.owed_mark),
            rate_per_hour,
            promised_ms: self.promised_ms,
            down_ms: self.down_ms,
            late_ms: self.late_ms,
            missing_notice_ms,
        };
        credit(&self.terms, &measured)
    }

    /// Begins a period, at whose beginning the lease owes `owed` in all.
    fn begin_period(&mut self, now: Moment, owed: Balance) {
        self.began_at = now;
        self.promised_ms = 0;
        self.down_ms = 0;
        self.late_ms = 0;
        self.owed_mark = owed;
    }
}

/// A credit, by where it is taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    /// From the amount that is not paid yet.
    pub unpaid: Balance,
    /// The rest, which the bond of the host has to pay.
    pub from_bond: Balance,
}

impl Lease {
    /// Ends the present period of a running lease if it has lasted for `period_ms`, and credits what was broken. None
    /// if it has not, or the lease has no terms.
    pub fn credit_period(&mut self, now: Moment, host_downtime: u64, period_ms: u64) -> Option<Credit> {
        let now = self.measured_to(now);
        let mut sla = self.sla.take_if(|sla| now.saturating_sub(sla.began_at) >= period_ms)?;
        let is_measured = sla.since.is_some();
        sla.pause(now, host_downtime);
        let owed = self.escrow.owed(now, host_downtime);
        let amount = sla.credit(owed, self.escrow.rate_per_hour, 0);
        let credit = self.apply_credit(&mut sla, amount, owed);
        sla.begin_period(now, owed.saturating_sub(credit.unpaid));
        if is_measured {
            sla.resume(now, host_downtime);
        }
        self.sla = Some(sla);
        Some(credit)
    }

    /// Credits what was broken in the last period of a lease that has just ended. If its host did not serve the pod, the
    /// forfeited milliseconds count as downtime. Returns no credit for a lease without terms, or that never started.
    pub fn credit_end(&mut self, host_downtime: u64, forfeited_ms: u64) -> Credit {
        let (LeaseState::Ended(reason), Some(ended_at)) = (self.state, self.ended_at) else { return Credit::default() };
        let now = self.measured_to(ended_at);
        let Some(mut sla) = self.sla.take() else { return Credit::default() };
        sla.pause(now, host_downtime);
        if reason.is_service_failure() {
            sla.down_ms = sla.down_ms.saturating_add(forfeited_ms).min(sla.promised_ms);
        }
        let is_broken = reason.is_hosts_failure() && self.started_at.is_some();
        let missing_notice_ms = if is_broken { sla.terms.notice_ms } else { 0 };
        let owed = self.escrow.accrued;
        let amount = sla.credit(owed, self.escrow.rate_per_hour, missing_notice_ms);
        let credit = self.apply_credit(&mut sla, amount, owed);
        sla.begin_period(now, owed.saturating_sub(credit.unpaid));
        self.sla = Some(sla);
        credit
    }

    /// Subtracts a credit from the unpaid part of the amount owed, as far as it goes.
    fn apply_credit(&mut self, sla: &mut LeaseSla, amount: Balance, owed: Balance) -> Credit {
        sla.credited = sla.credited.saturating_add(amount);
        let unpaid = self.escrow.apply_credit(amount, owed);
        Credit { unpaid, from_bond: amount.saturating_sub(unpaid) }
    }

    /// Returns the time up to which the lease is measured at `now`.
    fn measured_to(&self, now: Moment) -> Moment {
        let billed_to = self.billed_to(now);
        self.escrow.until.map_or(billed_to, |until| billed_to.min(until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{rate::MS_PER_HOUR, BillingUnit, EndReason, Escrow, Fee, HostId, TaskKind};

    const BEGIN: Moment = 1_800_000_000_000;
    const HOUR: u64 = MS_PER_HOUR;
    const TERMS: SlaTerms = SlaTerms { uptime_ppm: 990_000, start_ms: 60_000, notice_ms: HOUR, penalty_ppm: 100_000 };

    fn measured() -> Measured {
        Measured { price: 10_000, rate_per_hour: 100, promised_ms: 100 * HOUR, ..Default::default() }
    }

    /// A service at 100 an hour that has begun, with a deposit for 1,000 hours.
    fn lease() -> Lease {
        let escrow = Escrow::new(100_000, 100, BillingUnit::Second);
        let mut lease = Lease::new(0, 0, HostId::new([1; 32]), Default::default(), BEGIN, escrow);
        lease.sla = LeaseSla::new(TERMS);
        lease.start(BEGIN, 0, Some(BEGIN + 1_000 * HOUR));
        lease.sla.as_mut().expect("it has terms").start(BEGIN, 0, 60_000);
        lease
    }

    #[test]
    fn nothing_is_credited_while_the_terms_are_kept() {
        assert_eq!(credit(&TERMS, &measured()), 0);
        assert_eq!(credit(&TERMS, &Measured { down_ms: HOUR, ..measured() }), 0, "one per cent is allowed");
        let nothing = SlaTerms { penalty_ppm: 100_000, ..Default::default() };
        assert_eq!(credit(&nothing, &Measured { down_ms: 100 * HOUR, ..measured() }), 0, "no uptime is promised");
    }

    #[test]
    fn the_credit_for_downtime_grows_to_the_penalty_at_twice_the_allowed_downtime() {
        let of = |down_ms| credit(&TERMS, &Measured { down_ms, ..measured() });
        assert_eq!([of(HOUR + HOUR / 2), of(2 * HOUR), of(100 * HOUR)], [500, 1_000, 1_000]);
        let always = SlaTerms { uptime_ppm: 1_000_000, ..TERMS };
        assert_eq!(credit(&always, &Measured { down_ms: 1, ..measured() }), 1_000, "no downtime is allowed");
    }

    #[test]
    fn a_late_start_and_a_missing_notice_cost_the_price_of_the_time() {
        assert_eq!(credit(&TERMS, &Measured { late_ms: HOUR, ..measured() }), 100);
        assert_eq!(credit(&TERMS, &Measured { missing_notice_ms: 2 * HOUR, ..measured() }), 200);
        assert_eq!(credit(&TERMS, &Measured { missing_notice_ms: u64::MAX, ..measured() }), 1_000);
    }

    #[test]
    fn no_credit_exceeds_the_penalty_for_any_numbers() {
        for price in [0, 1, 999_999, Balance::MAX] {
            for penalty_ppm in [1, 100_000, 1_000_000, u32::MAX] {
                let terms = SlaTerms { penalty_ppm, uptime_ppm: 999_999, ..TERMS };
                let all = Measured {
                    price,
                    rate_per_hour: Balance::MAX,
                    promised_ms: u64::MAX,
                    down_ms: u64::MAX,
                    late_ms: u64::MAX,
                    missing_notice_ms: u64::MAX,
                };
                assert_eq!(credit(&terms, &all), share(price, penalty_ppm));
                assert!(share(price, penalty_ppm) <= price);
            }
        }
    }

    #[test]
    fn a_period_is_credited_once_and_lowers_what_is_owed() {
        let mut lease = lease();
        // 50 of 100 hours down: half of the price is owed, and a tenth of that is credited.
        let (now, downtime) = (BEGIN + 100 * HOUR, 50 * HOUR);
        assert_eq!(lease.credit_period(now, downtime, 101 * HOUR), None, "the period is not over");
        let credit = lease.credit_period(now, downtime, 100 * HOUR).expect("the period is over");
        assert_eq!(credit, Credit { unpaid: 500, from_bond: 0 });
        assert_eq!(lease.escrow.owed(now, downtime), 4_500);
        assert_eq!(lease.credit_period(now, downtime, 0), Some(Credit::default()), "nothing is credited twice");
        assert_eq!(lease.sla.as_ref().map(|sla| sla.credited), Some(500));
        lease.end(EndReason::TenantEnded, TaskKind::Service, now + HOUR, downtime, 0);
        assert_eq!(lease.credit_end(downtime, 0), Credit::default());
        assert_eq!((lease.escrow.accrued, lease.escrow.credit), (4_600, 0));
    }

    #[test]
    fn what_is_paid_already_comes_from_the_bond() {
        let mut lease = lease();
        let (now, downtime) = (BEGIN + 100 * HOUR, 50 * HOUR);
        lease.escrow.pay(4_800, Fee::of_treasury(0));
        let credit = lease.credit_period(now, downtime, 0).expect("the period is over");
        assert_eq!(credit, Credit { unpaid: 200, from_bond: 300 });
        assert_eq!(lease.escrow.due(now, downtime), 0);
    }

    #[test]
    fn a_lost_host_owes_the_notice_and_a_tenant_that_ends_gets_none() {
        for (reason, expected) in [(EndReason::HostLost, 100), (EndReason::TenantEnded, 0)] {
            let mut lease = lease();
            lease.end(reason, TaskKind::Rental, BEGIN + 100 * HOUR, 0, 0);
            assert_eq!(lease.credit_end(0, 0), Credit { unpaid: expected, from_bond: 0 }, "{reason:?}");
        }
    }

    #[test]
    fn a_stopped_machine_is_not_measured() {
        let mut lease = lease();
        let sla = lease.sla.as_mut().expect("it has terms");
        sla.pause(BEGIN + 10 * HOUR, HOUR);
        assert_eq!((sla.promised_ms, sla.down_ms, sla.since), (10 * HOUR, HOUR, None));
        sla.resume(BEGIN + 50 * HOUR, 30 * HOUR);
        sla.pause(BEGIN + 60 * HOUR, 31 * HOUR);
        assert_eq!((sla.promised_ms, sla.down_ms), (20 * HOUR, 2 * HOUR));
    }

    #[test]
    fn a_pod_that_starts_late_is_late_once() {
        let mut lease = lease();
        let sla = lease.sla.as_mut().expect("it has terms");
        sla.start(BEGIN, 0, 60_000 + HOUR);
        let now = BEGIN + 100 * HOUR;
        assert_eq!(lease.credit_period(now, 0, 0), Some(Credit { unpaid: 100, from_bond: 0 }));
        assert_eq!(lease.credit_period(now + 100 * HOUR, 0, 0), Some(Credit::default()));
    }
}
