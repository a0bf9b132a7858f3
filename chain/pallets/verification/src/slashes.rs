//! Slashes for wrong or missing results, their division, and the probability of audits. Pure.

use gantry_primitives::{Balance, Seed};

use crate::Params;

/// Parts in a million.
const PPM: Balance = 1_000_000;

/// Returns the slash of a host whose lease has this deposit. The bond limits it.
pub fn slash(deposits: u16, deposit: Balance) -> Balance {
    deposit.saturating_mul(deposits.into())
}

/// Returns the reward of the tenant, and that of each of `providers` providers.
///
/// Both are parts of the slash or, if that is less, of `fees`: the treasury's fees for the leases that agree. The
/// owners of the tenant's account and of every host but the slashed one pay these fees and get at most half of them
/// back, so that outvoting a host is a loss.
pub fn rewards(params: &Params, slash: Balance, fees: Balance, providers: usize) -> (Balance, Balance) {
    let basis = slash.min(fees);
    let part = |ppm: u32| basis.saturating_mul(ppm.into()) / PPM;
    let hosts = part(params.slash_to_hosts_ppm).checked_div(providers as Balance).unwrap_or(0);
    (part(params.slash_to_tenant_ppm), hosts)
}

/// Returns the probability with which a result is audited, in parts per million: always while its host has few `valid`
/// results; then the maximum of the least probability, the inverse of their number, and the probability with which a
/// lie does not pay. A lie gains at most the `deposit` of the lease and costs `slash` if it is detected, so the last
/// one is deposit / (deposit + slash).
pub fn audit_ppm(params: &Params, valid: u32, deposit: Balance, slash: Balance) -> u32 {
    if valid < params.audit_valid_results.max(1) {
        return PPM as u32;
    }
    let by_results = PPM / Balance::from(valid);
    let sum = deposit.saturating_add(slash);
    // Rounded up. With amounts that do not fit the result is always.
    let by_slash = deposit.checked_mul(PPM).map_or(PPM, |parts| if sum == 0 { 0 } else { parts.div_ceil(sum) });
    // At most PPM, as the deposit is at most the sum.
    by_results.max(by_slash).max(params.audit_min_ppm.into()).min(PPM) as u32
}

/// Whether a seed draws an event with a probability of `ppm` parts per million.
pub fn is_drawn(seed: &Seed, ppm: u32) -> bool {
    let [first, second, third, fourth, fifth, sixth, seventh, eighth, ..] = *seed;
    let number = u64::from_le_bytes([first, second, third, fourth, fifth, sixth, seventh, eighth]);
    Balance::from(number) % PPM < Balance::from(ppm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_with_few_valid_results_is_always_audited_and_one_with_many_with_the_least_probability() {
        let params = Params::default();
        let ppm = |valid| audit_ppm(&params, valid, 100, 1_900);
        assert_eq!([0, 9, 10, 15, 20, 1_000_000].map(ppm), [1_000_000, 1_000_000, 100_000, 66_666, 50_000, 50_000]);
        let never_first = Params { audit_valid_results: 0, ..params };
        assert_eq!(audit_ppm(&never_first, 0, 100, 1_900), 1_000_000);
    }

    #[test]
    fn a_lie_does_not_pay_whatever_the_bond() {
        let params = Params::default();
        for (deposit, slash) in [(100, 1_900), (100, 500), (7, 3), (100, 0), (1, 1_000_000), (Balance::MAX, 1)] {
            let ppm = Balance::from(audit_ppm(&params, 1_000, deposit, slash));
            // slash * p >= deposit * (1 - p)
            assert!(ppm == PPM || slash * ppm >= deposit * (PPM - ppm), "{deposit} {slash}");
        }
        assert_eq!(audit_ppm(&params, 1_000, 0, 0), 50_000);
    }

    #[test]
    fn seeds_draw_as_often_as_they_should() {
        let seed = |number: u32| sp_io::hashing::blake2_256(&number.to_le_bytes());
        let drawn = |ppm| (0..20_000).filter(|number| is_drawn(&seed(*number), ppm)).count();
        assert_eq!((drawn(0), drawn(1_000_000)), (0, 20_000));
        // Expected 1,000 with a standard deviation of 31; the seeds are fixed.
        assert!((900..1_100).contains(&drawn(50_000)));
    }

    #[test]
    fn a_slash_is_a_multiple_of_a_deposit() {
        assert_eq!(slash(3, 10), 30);
        assert_eq!(slash(u16::MAX, Balance::MAX), Balance::MAX);
    }

    #[test]
    fn rewards_are_parts_of_the_lesser_of_slash_and_fees() {
        let params = Params { slash_to_tenant_ppm: 300_000, slash_to_hosts_ppm: 200_000, ..Params::default() };
        assert_eq!(rewards(&params, 1_000, 100, 2), (30, 10));
        assert_eq!(rewards(&params, 10, 100, 1), (3, 2));
        assert_eq!(rewards(&params, 1_000, 0, 2), (0, 0));
        assert_eq!(rewards(&params, 1_000, 100, 0), (30, 0));
    }

    #[test]
    fn all_rewards_together_are_at_most_half_of_the_fees() {
        let mut rng = gantry_mock::SplitMix64(1);
        for _ in 0..2_000 {
            let tenant = rng.below(500_001) as u32;
            let hosts = rng.below(u64::from(500_001 - tenant)) as u32;
            let params = Params { slash_to_tenant_ppm: tenant, slash_to_hosts_ppm: hosts, ..Params::default() };
            assert_eq!(params.check(), Ok(()));
            let (lost, fees) = (Balance::from(rng.next_u64() >> 8), Balance::from(rng.next_u64() >> 8));
            let providers = rng.below(4);
            let (to_tenant, to_each) = rewards(&params, lost, fees, providers as usize);
            let all = to_tenant + to_each * Balance::from(providers);
            assert!(2 * all <= fees && 2 * all <= lost);
        }
    }
}
