//! What a host loses for a wrong or missing result, and who gets which part of it. Pure.

use gantry_primitives::Balance;

use crate::Params;

/// Parts in a million.
const PPM: Balance = 1_000_000;

/// What a host loses whose lease has this deposit, as far as its bond goes.
pub fn slash(deposits: u16, deposit: Balance) -> Balance {
    deposit.saturating_mul(deposits.into())
}

/// What the tenant gets of a slash, and what each of so many providers gets.
///
/// Both are parts of the slash or, if that is less, of `fees`: what the treasury gets for the leases that agree. Those who own
/// the tenant's account and every host but the slashed one pay these fees and get at most half of them back, so nobody
/// earns by outvoting a host.
pub fn rewards(params: &Params, slash: Balance, fees: Balance, providers: usize) -> (Balance, Balance) {
    let basis = slash.min(fees);
    let part = |ppm: u32| basis.saturating_mul(ppm.into()) / PPM;
    let hosts = part(params.slash_to_hosts_ppm).checked_div(providers as Balance).unwrap_or(0);
    (part(params.slash_to_tenant_ppm), hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut dice = gantry_mock::Dice(1);
        for _ in 0..2_000 {
            let tenant = dice.below(500_001) as u32;
            let hosts = dice.below(u64::from(500_001 - tenant)) as u32;
            let params = Params { slash_to_tenant_ppm: tenant, slash_to_hosts_ppm: hosts, ..Params::default() };
            assert_eq!(params.check(), Ok(()));
            let (lost, fees) = (Balance::from(dice.roll() >> 8), Balance::from(dice.roll() >> 8));
            let providers = dice.below(4);
            let (to_tenant, to_each) = rewards(&params, lost, fees, providers as usize);
            let all = to_tenant + to_each * Balance::from(providers);
            assert!(2 * all <= fees && 2 * all <= lost);
        }
    }
}
