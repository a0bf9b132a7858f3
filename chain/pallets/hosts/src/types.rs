//! Parameters of the hosts pallet.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use gantry_primitives::{rate::PPM, Balance, SlaTerms, Tier};
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

/// A year in milliseconds: no period is longer.
const YEAR_MS: u64 = 365 * 24 * 3_600_000;
/// The greatest bond of a device. With it, the bond of the largest host, times three, times a million fits its type.
const MAX_BOND: Balance = Balance::MAX / 1_000_000_000;

/// The most hosts of one batch of heartbeats.
pub const MAX_HEARTBEATS: u32 = 256;

/// The periods and amounts of the hosts pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// Coins held for each device of a consumer host; a host without devices counts as one with one.
    pub bond_consumer: Balance,
    /// Coins held for each device of a professional host.
    pub bond_professional: Balance,
    /// Coins held for each device of a data centre host.
    pub bond_datacenter: Balance,
    /// The heartbeat period of hosts in milliseconds; at least 1. A heartbeat is free of charge after half of it.
    pub heartbeat_period_ms: u64,
    /// The time in milliseconds after which a silent host may be reported absent; at least five quarters of a heartbeat
    /// period.
    pub absence_limit_ms: u64,
    /// The bounty for a report of an absent host, out of its bond; the treasury gets the same amount. Twice the bounty
    /// is at most the least bond of a device.
    pub absence_bounty: Balance,
    /// The time in milliseconds for which the bond of a host stays on hold after it has left; at most a year.
    pub unbonding_ms: u64,
    /// Whether simulated devices may be registered.
    pub allow_simulated: bool,
    /// Whether a new host must be verified before it may come online.
    pub verification_required: bool,
    /// The least time without blocks, in milliseconds, that does not count as silence of a host; at least 1, and at
    /// most `absence_limit_ms`.
    pub halt_after_ms: u64,
    /// The weight that a host may use free of charge in a heartbeat period for each `bond_consumer` of its bond, in
    /// microseconds of `ref_time`; at least 1.
    pub free_weight_us: u32,
    /// The greatest `penalty_ppm` of a price list, in parts per million; at most 1,000,000.
    pub max_penalty_ppm: u32,
    /// The greatest `notice_ms` of a price list, in milliseconds; at most a year.
    pub max_notice_ms: u64,
}

/// Why parameters are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// `heartbeat_period_ms` is zero.
    HeartbeatPeriodZero,
    /// `absence_limit_ms` is less than five quarters of a heartbeat period.
    AbsenceLimitTooShort,
    /// A period is longer than a year.
    PeriodTooLong,
    /// A bond for a device is too great to be added up.
    BondTooGreat,
    /// `absence_bounty` is more than half of a bond for a device.
    AbsenceBountyTooGreat,
    /// `halt_after_ms` is zero or more than `absence_limit_ms`.
    HaltAfterInvalid,
    /// `free_weight_us` is zero.
    FreeWeightZero,
    /// `max_penalty_ppm` is more than the whole price.
    PenaltyTooGreat,
}

impl Params {
    /// The bond for one device of a host of this tier.
    pub const fn bond_of(&self, tier: Tier) -> Balance {
        match tier {
            Tier::Consumer => self.bond_consumer,
            Tier::Professional => self.bond_professional,
            Tier::Datacenter => self.bond_datacenter,
        }
    }

    /// Returns the time in milliseconds after which a heartbeat is overdue: two periods, or the middle between a period
    /// and the absence limit if that is shorter.
    pub const fn overdue_ms(&self) -> u64 {
        let (period, limit) = (self.heartbeat_period_ms, self.absence_limit_ms);
        let between = period.saturating_add(limit.saturating_sub(period) / 2);
        let twice = period.saturating_mul(2);
        if twice < between {
            twice
        } else {
            between
        }
    }

    /// Whether a host may promise these terms.
    pub const fn allow_terms(&self, terms: &SlaTerms) -> bool {
        terms.penalty_ppm <= self.max_penalty_ppm && terms.notice_ms <= self.max_notice_ms
    }

    /// Checks the parameters. Fails with the first [`ParamsError`].
    pub fn check(&self) -> Result<(), ParamsError> {
        let bonds = [self.bond_consumer, self.bond_professional, self.bond_datacenter];
        if self.heartbeat_period_ms == 0 {
            return Err(ParamsError::HeartbeatPeriodZero);
        }
        let periods = [self.heartbeat_period_ms, self.absence_limit_ms, self.unbonding_ms, self.max_notice_ms];
        if periods.iter().any(|period| *period > YEAR_MS) {
            return Err(ParamsError::PeriodTooLong);
        }
        if self.absence_limit_ms < self.heartbeat_period_ms + self.heartbeat_period_ms / 4 {
            return Err(ParamsError::AbsenceLimitTooShort);
        }
        if bonds.iter().any(|bond| *bond > MAX_BOND) {
            return Err(ParamsError::BondTooGreat);
        }
        if bonds.iter().any(|bond| self.absence_bounty > bond / 2) {
            return Err(ParamsError::AbsenceBountyTooGreat);
        }
        if self.halt_after_ms == 0 || self.halt_after_ms > self.absence_limit_ms {
            return Err(ParamsError::HaltAfterInvalid);
        }
        if self.free_weight_us == 0 {
            return Err(ParamsError::FreeWeightZero);
        }
        if Balance::from(self.max_penalty_ppm) > PPM {
            return Err(ParamsError::PenaltyTooGreat);
        }
        Ok(())
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            bond_consumer: 10_000_000_000_000,
            bond_professional: 25_000_000_000_000,
            bond_datacenter: 100_000_000_000_000,
            heartbeat_period_ms: 60_000,
            absence_limit_ms: 180_000,
            absence_bounty: 100_000_000_000,
            unbonding_ms: 7 * 24 * 3_600_000,
            allow_simulated: false,
            verification_required: false,
            halt_after_ms: 30_000,
            free_weight_us: 5_000,
            max_penalty_ppm: 500_000,
            max_notice_ms: 30 * 24 * 3_600_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut Params)) -> Option<ParamsError> {
        let mut params = Params::default();
        change(&mut params);
        params.check().err()
    }

    #[test]
    fn each_bad_value_is_refused_by_its_name() {
        assert_eq!(refusal(|_| ()), None);
        assert_eq!(refusal(|params| params.heartbeat_period_ms = 0), Some(ParamsError::HeartbeatPeriodZero));
        assert_eq!(refusal(|params| params.absence_limit_ms = 74_999), Some(ParamsError::AbsenceLimitTooShort));
        assert_eq!(refusal(|params| params.absence_limit_ms = 75_000), None);
        assert_eq!(refusal(|params| params.free_weight_us = 0), Some(ParamsError::FreeWeightZero));
        assert_eq!(refusal(|params| params.unbonding_ms = YEAR_MS + 1), Some(ParamsError::PeriodTooLong));
        assert_eq!(refusal(|params| params.max_notice_ms = YEAR_MS + 1), Some(ParamsError::PeriodTooLong));
        assert_eq!(refusal(|params| params.max_penalty_ppm = 1_000_001), Some(ParamsError::PenaltyTooGreat));
        assert_eq!(refusal(|params| params.max_penalty_ppm = 1_000_000), None);
        assert_eq!(refusal(|params| params.heartbeat_period_ms = u64::MAX), Some(ParamsError::PeriodTooLong));
        assert_eq!(refusal(|params| params.absence_limit_ms = u64::MAX), Some(ParamsError::PeriodTooLong));
        assert_eq!(refusal(|params| params.bond_datacenter = Balance::MAX), Some(ParamsError::BondTooGreat));
        assert_eq!(refusal(|params| params.bond_professional = 0), Some(ParamsError::AbsenceBountyTooGreat));
        assert_eq!(
            refusal(|params| params.absence_bounty = params.bond_consumer / 2 + 1),
            Some(ParamsError::AbsenceBountyTooGreat)
        );
        assert_eq!(refusal(|params| params.absence_bounty = params.bond_consumer / 2), None);
        assert_eq!(refusal(|params| params.halt_after_ms = 0), Some(ParamsError::HaltAfterInvalid));
        assert_eq!(
            refusal(|params| params.halt_after_ms = params.absence_limit_ms + 1),
            Some(ParamsError::HaltAfterInvalid)
        );
    }
}
