//! The price of a pod: its rate, the deposit of its lease, and the amount owed for the time it ran.
//!
//! Each division rounds down except that of the deposit, so a deposit always covers what can be owed.

use crate::{Ask, Balance, BillingUnit, Device, ModelName, Resources, MAX_UNIT_PPM};

/// Milliseconds in an hour, the time a price is for.
pub const MS_PER_HOUR: u64 = 3_600_000;
/// Milliseconds in a day.
pub const MS_PER_DAY: u64 = 24 * MS_PER_HOUR;
/// Thousandths of a core or device.
const MILLI: u128 = 1_000;
/// MiB in a GiB.
const MIB_PER_GIB: u128 = 1_024;
/// Parts in a million.
pub const PPM: u128 = 1_000_000;

/// The reason why a rate cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateError {
    /// The host offers no leases that are billed by the unit.
    NotOffered,
    /// The rate does not fit its type.
    Overflow,
}

/// Returns the rate of a pod in base units per hour at the price list `ask`: it needs `resources`, on the devices of
/// the host with the indices `chosen`, and is billed by `unit`.
///
/// Each device costs what its model costs, by the thousandths taken of it; each part is rounded down, their sum is
/// multiplied by the unit's factor, and that is rounded down. An index without a device costs nothing: `fit::fits`
/// refuses it first. Fails with [`RateError::NotOffered`] or [`RateError::Overflow`].
pub fn rate_per_hour(
    resources: &Resources,
    devices: &[Device],
    chosen: &[u8],
    ask: &Ask,
    unit: BillingUnit,
) -> Result<Balance, RateError> {
    at_unit(list_rate(resources, devices, chosen, ask), ask, unit)
}

/// Returns the rate of the disk of a stopped rental in base units per hour at the price list `ask`, billed by `unit`.
///
/// Fails with [`RateError::NotOffered`] or [`RateError::Overflow`].
pub fn storage_rate_per_hour(resources: &Resources, ask: &Ask, unit: BillingUnit) -> Result<Balance, RateError> {
    at_unit(u128::from(resources.disk_gib).checked_mul(ask.storage_gib_per_hour), ask, unit)
}

/// Returns the price of one whole device of `model` per hour.
fn gpu_price(ask: &Ask, model: &ModelName) -> Balance {
    ask.gpu.iter().find(|price| price.model == *model).map_or(ask.gpu_per_hour, |price| price.per_hour)
}

/// Returns the list price of a pod per hour. None on overflow.
fn list_rate(resources: &Resources, devices: &[Device], chosen: &[u8], ask: &Ask) -> Option<Balance> {
    let mut gpu: Balance = 0;
    for device in chosen.iter().filter_map(|index| devices.get(usize::from(*index))) {
        let price = gpu_price(ask, &device.spec.model);
        gpu = gpu.checked_add(u128::from(resources.gpus.milli).checked_mul(price)? / MILLI)?;
    }
    let cpu = u128::from(resources.cpu_milli).checked_mul(ask.cpu_core_per_hour)? / MILLI;
    let memory = u128::from(resources.memory_mib).checked_mul(ask.memory_gib_per_hour)? / MIB_PER_GIB;
    let disk = u128::from(resources.disk_gib).checked_mul(ask.disk_gib_per_hour)?;
    gpu.checked_add(cpu)?.checked_add(memory)?.checked_add(disk)
}

/// A list price times the unit's factor, rounded down.
fn at_unit(list: Option<Balance>, ask: &Ask, unit: BillingUnit) -> Result<Balance, RateError> {
    let factor = match unit {
        BillingUnit::Second => ask.second_ppm,
        BillingUnit::Hour => ask.hour_ppm,
        BillingUnit::Day => ask.day_ppm,
    };
    if factor == 0 {
        return Err(RateError::NotOffered);
    }
    let (list, factor) = (list.ok_or(RateError::Overflow)?, u128::from(factor));
    // Split so that only a result that is too great overflows: list = whole * PPM + rest.
    let whole = (list / PPM).checked_mul(factor).ok_or(RateError::Overflow)?;
    whole.checked_add((list % PPM) * factor / PPM).ok_or(RateError::Overflow)
}

/// Why a price list is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskError {
    /// It prices a model twice.
    ModelRepeated,
    /// The factor of a unit is greater than [`MAX_UNIT_PPM`].
    FactorTooGreat,
    /// Its terms promise more than all of the time, or credit more than all of the price.
    TermsInvalid,
}

/// Checks a price list. Fails with the first [`AskError`].
pub fn check_ask(ask: &Ask) -> Result<(), AskError> {
    for (position, price) in ask.gpu.iter().enumerate() {
        if ask.gpu[..position].iter().any(|before| before.model == price.model) {
            return Err(AskError::ModelRepeated);
        }
    }
    if [ask.second_ppm, ask.hour_ppm, ask.day_ppm].iter().any(|factor| *factor > MAX_UNIT_PPM) {
        return Err(AskError::FactorTooGreat);
    }
    if [ask.terms.uptime_ppm, ask.terms.penalty_ppm].iter().any(|share| Balance::from(*share) > PPM) {
        return Err(AskError::TermsInvalid);
    }
    Ok(())
}

/// Returns the deposit of a lease: its rate for its longest duration, rounded up. None on overflow.
pub fn deposit(rate_per_hour: Balance, max_duration_ms: u64) -> Option<Balance> {
    let product = rate_per_hour.checked_mul(u128::from(max_duration_ms))?;
    Some(product.div_ceil(u128::from(MS_PER_HOUR)))
}

/// Returns the amount owed for `time_ms`, pro rata, at most the deposit.
pub fn owed_pro_rata(deposit: Balance, rate_per_hour: Balance, time_ms: u64) -> Balance {
    match rate_per_hour.checked_mul(u128::from(time_ms)) {
        Some(product) => deposit.min(product / u128::from(MS_PER_HOUR)),
        // The product that made the deposit did not overflow, so this one is greater.
        None => deposit,
    }
}

/// Returns the milliseconds for which `amount` pays at a rate, which is not 0; rounded down.
pub fn time_paid_ms(amount: Balance, rate_per_hour: Balance) -> u64 {
    let product = amount.saturating_mul(u128::from(MS_PER_HOUR));
    product.checked_div(rate_per_hour).map_or(u64::MAX, |ms| ms.min(u128::from(u64::MAX)) as u64)
}

/// Returns the amount owed for `time_ms` by `unit`, at most the deposit.
///
/// Hours and days are charged whole and in advance: the first at the start, each further one when the one before it is
/// over.
pub fn owed(unit: BillingUnit, deposit: Balance, rate_per_hour: Balance, time_ms: u64) -> Balance {
    let unit_ms = match unit {
        BillingUnit::Second => return owed_pro_rata(deposit, rate_per_hour, time_ms),
        BillingUnit::Hour => MS_PER_HOUR,
        BillingUnit::Day => MS_PER_DAY,
    };
    let units = time_ms.div_ceil(unit_ms).max(1);
    owed_pro_rata(deposit, rate_per_hour, units.saturating_mul(unit_ms))
}

/// Returns the protocol's part of a payment, or a share of a fee, rounded down.
pub fn fee(paid: Balance, fee_ppm: u32) -> Balance {
    // Split so that no product overflows: paid = whole * PPM + rest.
    let ppm = u128::from(fee_ppm).min(PPM);
    (paid / PPM) * ppm + (paid % PPM) * ppm / PPM
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GpuPrice, SlaTerms};

    #[test]
    fn a_deposit_covers_what_can_be_owed_within_the_duration() {
        for rate in [0, 1, 7, 999, 1_000_000_007, 3_599_999, 10u128.pow(18)] {
            for duration in [1, 999, 1_000, 3_600_000, 86_400_001] {
                let held = deposit(rate, duration).unwrap();
                assert!(held * u128::from(MS_PER_HOUR) >= rate * u128::from(duration));
                assert!(owed_pro_rata(u128::MAX, rate, duration) <= held);
            }
        }
    }

    #[test]
    fn a_rate_that_overflows_is_refused() {
        assert_eq!(deposit(u128::MAX, 2), None);
        assert_eq!(deposit(u128::MAX, 1), Some(u128::MAX / 3_600_000 + 1));
    }

    #[test]
    fn time_that_overflows_owes_the_deposit() {
        let rate = u128::MAX / 10;
        let held = deposit(rate, 10).unwrap();
        assert_eq!(owed_pro_rata(held, rate, 11), held);
        assert_eq!(owed(BillingUnit::Day, held, rate, 1), held);
    }

    #[test]
    fn started_hours_and_days_are_owed_whole() {
        let held = 1_000_000;
        assert_eq!(owed(BillingUnit::Hour, held, 10, 0), 10);
        assert_eq!(owed(BillingUnit::Hour, held, 10, MS_PER_HOUR), 10);
        assert_eq!(owed(BillingUnit::Hour, held, 10, MS_PER_HOUR + 1), 20);
        assert_eq!(owed(BillingUnit::Day, held, 10, 1), 240);
        assert_eq!(owed(BillingUnit::Day, 100, 10, 1), 100);
    }

    #[test]
    fn a_price_list_prices_a_model_once_and_within_ten_times_itself() {
        let price = |model: &[u8]| GpuPrice { model: model.to_vec().try_into().unwrap(), per_hour: 1 };
        let mut ask = Ask {
            gpu: vec![price(b"L4"), price(b"l4")].try_into().unwrap(),
            gpu_per_hour: 0,
            cpu_core_per_hour: 0,
            memory_gib_per_hour: 0,
            disk_gib_per_hour: 0,
            network_gib: u128::MAX,
            storage_gib_per_hour: u128::MAX,
            second_ppm: 0,
            hour_ppm: MAX_UNIT_PPM,
            day_ppm: MAX_UNIT_PPM,
            terms: SlaTerms { uptime_ppm: 1_000_000, penalty_ppm: 1_000_000, ..Default::default() },
        };
        assert_eq!(check_ask(&ask), Ok(()));
        let too_much = |change: fn(&mut SlaTerms)| {
            let mut ask = ask.clone();
            change(&mut ask.terms);
            check_ask(&ask)
        };
        assert_eq!(too_much(|terms| terms.uptime_ppm += 1), Err(AskError::TermsInvalid));
        assert_eq!(too_much(|terms| terms.penalty_ppm += 1), Err(AskError::TermsInvalid));
        ask.day_ppm += 1;
        assert_eq!(check_ask(&ask), Err(AskError::FactorTooGreat));
        ask.gpu.force_push(price(b"L4"));
        assert_eq!(check_ask(&ask), Err(AskError::ModelRepeated));
    }

    #[test]
    fn a_fee_never_exceeds_what_is_paid() {
        assert_eq!(fee(u128::MAX, 1_000_000), u128::MAX);
        assert_eq!(fee(u128::MAX, 2_000_000), u128::MAX);
        assert_eq!(fee(999_999, 50_000), 49_999);
        assert_eq!(fee(0, 50_000), 0);
        assert_eq!(fee(123_456_789, 0), 0);
    }
}
