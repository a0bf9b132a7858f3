//! The weight of evidence about hosts, tenants and providers: Beta scores with a half-life.
//!
//! An observation weighs by the protocol fee `f` of the lease that it is about: `log2(1 + f / FEE_UNIT)`, linear between
//! two powers of two, at most [`MAX_WEIGHT`]. The fee is what evidence costs somebody who is tenant and provider at
//! once: a lease without a fee is no evidence. A great lease says more than a small one, but not in proportion to
//! its price. The weight is added to the one side of a [`Beta`], or a part to each where conduct is neither good nor
//! bad as a whole.

use crate::{
    faults::{gravity_ppm, Fault},
    Balance, Beta, Conduct, FaultRecord, HostScore, Moment, Sla, TenantConduct, TenantScore,
};

/// One observation, in the parts of [`Beta`].
pub const OBSERVATION: u64 = 1_000_000;
/// The half-life of evidence in milliseconds: 30 days.
pub const HALF_LIFE_MS: u64 = 30 * 24 * 3_600_000;
/// The most that one observation weighs, in the parts of [`Beta`].
pub const MAX_WEIGHT: u64 = 8 * OBSERVATION;
/// The fee in base units with which an observation weighs [`OBSERVATION`]: 0.1 GTY.
pub const FEE_UNIT: Balance = 100_000_000_000;
/// Parts in a million.
const PPM: u64 = 1_000_000;
/// The start latency in milliseconds up to which a start counts wholly in favour of its host.
const SOON_MS: u64 = 10_000;
/// The start latency in milliseconds from which a start counts wholly against its host.
const LATE_MS: u64 = 600_000;
/// The weight of a late cancellation, in parts per million of an observation. It is low, because a tenant may cancel
/// and pays for the used time.
const CANCELLATION_PPM: u64 = 250_000;
/// The weight of a response to a support ticket, in parts per million of an observation. It is low, because the chain
/// does not know what the response says.
const RESPONSE_PPM: u64 = 333_333;
/// The rise of a provider's bonds for a grave fault of its only host, in parts per million.
const BOND_RISE_PPM: u64 = 250_000;
/// The least factor on bonds, in parts per million.
const MIN_BOND_FACTOR_PPM: u64 = 1_000_000;
/// The greatest factor on bonds, in parts per million.
const MAX_BOND_FACTOR_PPM: u64 = 3_000_000;

/// The score of one Beta in parts per million: (positive + 1) / (positive + negative + 2) in observations.
pub fn beta_ppm(beta: &Beta) -> u32 {
    let positive = u128::from(beta.positive) + u128::from(OBSERVATION);
    let all = u128::from(beta.positive) + u128::from(beta.negative) + 2 * u128::from(OBSERVATION);
    // Below one million, as positive < all.
    (positive * 1_000_000 / all) as u32
}

/// The score of a host in parts per million, rounded down: `completed` for 30 of 100, `verified` and `uptime` for 20
/// each, `start_latency` and `rating` for 15 each.
pub fn host_ppm(score: &HostScore) -> u32 {
    let parts = [
        (30, &score.completed),
        (20, &score.verified),
        (20, &score.uptime),
        (15, &score.start_latency),
        (15, &score.rating),
    ];
    parts.into_iter().map(|(hundredths, beta)| hundredths * beta_ppm(beta)).sum::<u32>() / 100
}

/// The score of a tenant in parts per million: the mean of `settled` and `disputes`, rounded down.
pub fn tenant_ppm(score: &TenantScore) -> u32 {
    (beta_ppm(&score.settled) + beta_ppm(&score.disputes)) / 2
}

/// Returns the weight of `amount` after `elapsed_ms`: halved for each half-life, linear in between.
pub fn decayed(amount: u64, elapsed_ms: u64) -> u64 {
    let halvings = elapsed_ms / HALF_LIFE_MS;
    if halvings >= 64 {
        return 0;
    }
    let rest = u128::from(elapsed_ms % HALF_LIFE_MS);
    let full = 2 * u128::from(HALF_LIFE_MS);
    ((u128::from(amount) >> halvings) * (full - rest) / full) as u64
}

/// Returns the weight of one observation about a lease with a protocol fee of `fee` base units, in the parts of a
/// [`Beta`].
pub fn weight(fee: Balance) -> u64 {
    // Below FEE_UNIT * 2^8, so that no product overflows.
    let sum = FEE_UNIT + fee.min(FEE_UNIT << 8);
    let doublings = (sum / FEE_UNIT).ilog2();
    let power = FEE_UNIT << doublings;
    // At most OBSERVATION, as sum < 2 * power.
    let rest = (sum - power) * Balance::from(OBSERVATION) / power;
    (u64::from(doublings) * OBSERVATION + rest as u64).min(MAX_WEIGHT)
}

/// Returns the weight of `count` observations, in the parts of a [`Beta`], if the fees of their leases sum up to `fees`
/// base units.
fn amount(count: u32, fees: Balance) -> u64 {
    weight(fees / Balance::from(count.max(1))).saturating_mul(u64::from(count))
}

/// Returns the credit for a start after `ms`, in parts per million: all up to [`SOON_MS`], none from [`LATE_MS`] on,
/// linear in between.
fn promptness_ppm(ms: u64) -> u64 {
    LATE_MS.saturating_sub(ms.max(SOON_MS)) * PPM / (LATE_MS - SOON_MS)
}

/// Returns the credit for a rating, in parts per million: none for one star, all for five.
fn stars_ppm(stars: u8) -> u64 {
    u64::from(stars.clamp(1, 5) - 1) * PPM / 4
}

/// Returns `up_ms` in parts per million of the sum; all if the sum is 0.
fn uptime_ppm(up_ms: u64, down_ms: u64) -> u64 {
    let all = u128::from(up_ms) + u128::from(down_ms);
    // Not more than PPM, as up_ms <= all.
    (u128::from(up_ms) * u128::from(PPM)).checked_div(all).map_or(PPM, |part| part as u64)
}

fn decay_beta(beta: &Beta, elapsed_ms: u64) -> Beta {
    Beta { positive: decayed(beta.positive, elapsed_ms), negative: decayed(beta.negative, elapsed_ms) }
}

/// Adds `amount` to a Beta: `credit_ppm` of it as positive, the rest as negative evidence.
fn add(beta: &mut Beta, amount: u64, credit_ppm: u64) {
    // Not more than `amount`, as credit_ppm <= PPM.
    let credit = (u128::from(amount) * u128::from(credit_ppm) / u128::from(PPM)) as u64;
    beta.positive = beta.positive.saturating_add(credit);
    beta.negative = beta.negative.saturating_add(amount - credit);
}

/// Returns `score` after the host showed `conduct` at `now`, `count` times, in leases whose fees sum up to `fees` base
/// units.
pub fn with_host_conduct(score: &HostScore, conduct: Conduct, count: u32, fees: Balance, now: Moment) -> HostScore {
    let elapsed = now.saturating_sub(score.updated_at);
    let mut next = HostScore {
        completed: decay_beta(&score.completed, elapsed),
        verified: decay_beta(&score.verified, elapsed),
        uptime: decay_beta(&score.uptime, elapsed),
        start_latency: decay_beta(&score.start_latency, elapsed),
        rating: decay_beta(&score.rating, elapsed),
        sla: score.sla,
        settled_leases: score.settled_leases,
        updated_at: now.max(score.updated_at),
    };
    let (beta, credit_ppm) = match conduct {
        Conduct::Started => (&mut next.start_latency, PPM),
        Conduct::NotStarted => (&mut next.start_latency, 0),
        Conduct::StartedAfter(ms) => (&mut next.start_latency, promptness_ppm(ms)),
        Conduct::Completed => (&mut next.completed, PPM),
        Conduct::NotCompleted => (&mut next.completed, 0),
        Conduct::Verified => (&mut next.verified, PPM),
        Conduct::NotVerified => (&mut next.verified, 0),
        Conduct::Rated(stars) => (&mut next.rating, stars_ppm(stars)),
        Conduct::Uptime { up_ms, down_ms } => (&mut next.uptime, uptime_ppm(up_ms, down_ms)),
        Conduct::Responded(in_time) => (&mut next.rating, if in_time { PPM } else { 0 }),
    };
    let amount = match conduct {
        // Rounded down; `amount` is at most MAX_WEIGHT times `count`.
        Conduct::Responded(_) => (u128::from(amount(count, fees)) * u128::from(RESPONSE_PPM) / u128::from(PPM)) as u64,
        _ => amount(count, fees),
    };
    add(beta, amount, credit_ppm);
    match conduct {
        Conduct::Completed => next.settled_leases = next.settled_leases.saturating_add(count),
        Conduct::Uptime { up_ms, down_ms } => next.sla = updated_sla(&next.sla, up_ms, down_ms),
        _ => {}
    }
    next
}

/// Returns the counters after `up_ms` of uptime and `down_ms` of downtime. Both stop before one of them would overflow.
fn updated_sla(sla: &Sla, up_ms: u64, down_ms: u64) -> Sla {
    let promised = up_ms.checked_add(down_ms).and_then(|lasted| sla.promised_ms.checked_add(lasted));
    // met <= promised, so its sum does not overflow where that of promised does not.
    promised.map_or(*sla, |promised_ms| Sla { promised_ms, met_ms: sla.met_ms.saturating_add(up_ms) })
}

/// Returns `score` after the tenant showed `conduct` at `now`, in leases whose fees sum up to `fees` base units.
pub fn with_tenant_conduct(score: &TenantScore, conduct: TenantConduct, fees: Balance, now: Moment) -> TenantScore {
    let elapsed = now.saturating_sub(score.updated_at);
    let mut next = TenantScore {
        settled: decay_beta(&score.settled, elapsed),
        disputes: decay_beta(&score.disputes, elapsed),
        updated_at: now.max(score.updated_at),
    };
    let one = amount(1, fees);
    match conduct {
        TenantConduct::Settled => add(&mut next.settled, one, PPM),
        // At most MAX_WEIGHT: no overflow.
        TenantConduct::Cancelled => add(&mut next.settled, one * CANCELLATION_PPM / PPM, 0),
        TenantConduct::DisputeLost => add(&mut next.disputes, one, 0),
        TenantConduct::DisputeWon => add(&mut next.disputes, one, PPM),
    }
    next
}

/// Returns the record of a provider after a `fault` of a host at `now`, if that host has `share_ppm` of the provider's
/// bonds: a provider is not judged by the number of its hosts.
pub fn with_fault(record: &FaultRecord, fault: Fault, share_ppm: u32, now: Moment) -> FaultRecord {
    let before = decayed(record.weight, now.saturating_sub(record.updated_at));
    let more = u64::from(gravity_ppm(fault)) * u64::from(share_ppm).min(PPM) / PPM;
    FaultRecord { weight: before.saturating_add(more), updated_at: now.max(record.updated_at) }
}

/// The factor on the bonds that a provider posts at `now`, in parts per million: 1,000,000 to 3,000,000.
pub fn bond_factor_ppm(record: &FaultRecord, now: Moment) -> u32 {
    let weight = decayed(record.weight, now.saturating_sub(record.updated_at));
    let rise = u128::from(weight) * u128::from(BOND_RISE_PPM) / u128::from(PPM);
    let factor = u128::from(MIN_BOND_FACTOR_PPM) + rise;
    // At most MAX_BOND_FACTOR_PPM, which fits.
    factor.min(u128::from(MAX_BOND_FACTOR_PPM)) as u32
}

#[cfg(test)]
mod tests;
