//! Parameters of the verification pallet.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use gantry_primitives::{Balance, MAX_APPEALS, MAX_SEATS, MAX_VERIFIERS};
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

/// The longest period: 366 days.
pub const MAX_PERIOD_MS: u64 = 366 * 24 * 3_600_000;

/// The periods (milliseconds), sizes (members) and amounts (base units) of the verification pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// Coins held for a verifier. A verifier with less than half of it is removed from the list.
    pub verifier_bond: Balance,
    /// How long the bond of a verifier that leaves stays on hold.
    pub unbonding_ms: u64,
    /// The penalty of a verifier that does not commit and reveal its vote.
    pub absence_penalty: Balance,
    /// The penalty of a verifier that votes against the majority.
    pub minority_penalty: Balance,
    /// How many verifiers judge a challenge.
    pub committee_size: u8,
    /// The fee that the opener of a challenge pays to its committee.
    pub challenge_fee: Balance,
    /// The least time between two challenges of a host by verifiers, and by its own provider.
    pub challenge_rest_ms: u64,
    /// The time within which a host must answer after the seed is drawn. In the runtime's presets it is longer than the
    /// absence limit of hosts, so that a restart of a host is no missed challenge.
    pub answer_ms: u64,
    /// How long a committee has to commit its votes on a challenge.
    pub challenge_commit_ms: u64,
    /// The time within which they reveal them.
    pub challenge_reveal_ms: u64,
    /// How long the chain waits for a replicated result while no pod of the task runs.
    pub result_commit_ms: u64,
    /// How long hosts have to reveal the results that they committed.
    pub result_reveal_ms: u64,
    /// How many verifiers are a first jury.
    pub jury_size: u8,
    /// How many verifiers are the jury of an appeal.
    pub appeal_jury_size: u8,
    /// The stake of the opener of a dispute. The first appeal stakes twice, the second four times as much.
    pub dispute_stake: Balance,
    /// The part of a stake that the requested jury gets.
    pub jury_fee: Balance,
    /// How long both sides may name evidence.
    pub hearing_ms: u64,
    /// How long a jury has to commit its votes.
    pub dispute_commit_ms: u64,
    /// The time within which they reveal them.
    pub dispute_reveal_ms: u64,
    /// How long a verdict may be appealed.
    pub appeal_ms: u64,
    /// The longest time between two missed challenges for which a host is punished. At least `challenge_rest_ms`.
    pub miss_period_ms: u64,
    /// The least number of listed verifiers for a draw, because few accounts would form the whole committee of a short
    /// list. At least two committees and the opener of a challenge.
    pub min_verifiers: u16,
    /// The slash of a host whose replica has a wrong result, or does not reveal it, in deposits of its lease; at most
    /// its bond. At least 1.
    pub replica_slash_deposits: u16,
    /// The reward of the tenant if replicas agree and another host is slashed, in parts per million of the slash or of
    /// the treasury's fees for the leases that agree, whichever is less.
    pub slash_to_tenant_ppm: u32,
    /// The reward of the providers of the hosts that agree, together. With `slash_to_tenant_ppm` at most 500,000.
    pub slash_to_hosts_ppm: u32,
    /// The number of consecutive valid results below which a host is always audited.
    pub audit_valid_results: u32,
    /// The least probability of an audit, in parts per million; more than 0.
    pub audit_min_ppm: u32,
    /// The slash of a host whose audited result is wrong, in deposits of its lease; at most its bond. At least 1.
    pub audit_slash_deposits: u16,
    /// The fee of a committee of a service check; the opener holds or spends it twice. A verifier that opened a check
    /// gets it from the bond of the host if two committees confirm that the host failed.
    pub service_fee: Balance,
    /// The most that the treasury pays for the checks of a lease, in parts per million of the fees that the treasury got
    /// for the lease; at most 1,000,000.
    pub service_share_ppm: u32,
    /// The time before the opening of a check that the votes are about. With the periods of two committees at most
    /// `held_back_ms` of billing, or a host is paid for time in which it served nothing.
    pub service_window_ms: u64,
    /// The least time between two checks of a lease that verifiers open, and that its tenant opens.
    pub service_rest_ms: u64,
}

impl Default for Params {
    fn default() -> Self {
        const SECOND: u64 = 1_000;
        const HOUR: u64 = 3_600 * SECOND;
        const GTY: Balance = 1_000_000_000_000;
        Self {
            verifier_bond: 100 * GTY,
            unbonding_ms: 7 * 24 * HOUR,
            absence_penalty: 2 * GTY,
            minority_penalty: GTY,
            committee_size: 5,
            challenge_fee: GTY,
            challenge_rest_ms: 6 * HOUR,
            answer_ms: 900 * SECOND,
            challenge_commit_ms: 300 * SECOND,
            challenge_reveal_ms: 120 * SECOND,
            result_commit_ms: HOUR,
            result_reveal_ms: 600 * SECOND,
            jury_size: 3,
            appeal_jury_size: 7,
            dispute_stake: 10 * GTY,
            jury_fee: 2 * GTY,
            hearing_ms: 6 * HOUR,
            dispute_commit_ms: 6 * HOUR,
            dispute_reveal_ms: HOUR,
            appeal_ms: 12 * HOUR,
            miss_period_ms: 7 * 24 * HOUR,
            // A jury of three, two of seven and four parties of a dispute.
            min_verifiers: 21,
            // A lie does not pay where another provider checks it with a probability of 1 / (1 + 3).
            replica_slash_deposits: 3,
            slash_to_tenant_ppm: 250_000,
            slash_to_hosts_ppm: 250_000,
            audit_valid_results: 10,
            audit_min_ppm: 50_000,
            // A lie does not pay where one result in 1 + 19 is audited.
            audit_slash_deposits: 19,
            service_fee: GTY / 10,
            service_share_ppm: 500_000,
            service_window_ms: HOUR / 2,
            service_rest_ms: 6 * HOUR,
        }
    }
}

/// Why parameters are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// A committee or jury is even, empty or larger than a ballot.
    SeatsInvalid,
    /// An appeal has a smaller jury than what it appeals.
    AppealJuryTooSmall,
    /// The bond or the stake is zero.
    BondOrStakeZero,
    /// A penalty is more than half of the bond.
    PenaltyTooHigh,
    /// The penalty for absence is lower than that for a vote against the majority.
    AbsenceTooCheap,
    /// The jury's fee is more than the stake.
    JuryFeeTooHigh,
    /// The stake cannot be doubled for each appeal.
    StakeTooHigh,
    /// A period is zero, or longer than [`MAX_PERIOD_MS`].
    PeriodInvalid,
    /// The period of misses is shorter than the interval between challenges, so that no second challenge can be opened
    /// in time.
    MissPeriodTooShort,
    /// `min_verifiers` is less than two committees and an opener, so that no verdict against a host can be confirmed.
    MinVerifiersTooLow,
    /// `min_verifiers` is more than the list can contain.
    MinVerifiersTooHigh,
    /// A wrong result of a replica costs its host nothing.
    ResultSlashZero,
    /// More than half of a slash would go to others than the treasury.
    RewardsTooHigh,
    /// The least probability of an audit is none, or more than certain.
    AuditProbabilityInvalid,
    /// Checks of a lease could cost the treasury more than the lease brings in.
    ServiceShareTooHigh,
}

/// The most of a slash that goes to tenants and hosts, in parts per million.
pub const MAX_REWARDS_PPM: u32 = 500_000;

impl Params {
    /// Checks the parameters. Fails with the first invalid one.
    pub fn check(&self) -> Result<(), ParamsError> {
        let sound_size = |size: u8| size % 2 == 1 && u32::from(size) <= MAX_SEATS;
        let sizes = [self.committee_size, self.jury_size, self.appeal_jury_size];
        if !sizes.into_iter().all(sound_size) {
            return Err(ParamsError::SeatsInvalid);
        }
        if self.appeal_jury_size < self.jury_size {
            return Err(ParamsError::AppealJuryTooSmall);
        }
        if self.verifier_bond == 0 || self.dispute_stake == 0 {
            return Err(ParamsError::BondOrStakeZero);
        }
        if self.absence_penalty > self.verifier_bond / 2 {
            return Err(ParamsError::PenaltyTooHigh);
        }
        if self.minority_penalty > self.absence_penalty {
            return Err(ParamsError::AbsenceTooCheap);
        }
        if self.jury_fee > self.dispute_stake {
            return Err(ParamsError::JuryFeeTooHigh);
        }
        if self.dispute_stake.checked_mul(1 << MAX_APPEALS).is_none() {
            return Err(ParamsError::StakeTooHigh);
        }
        let periods = [
            self.unbonding_ms,
            self.challenge_rest_ms,
            self.answer_ms,
            self.challenge_commit_ms,
            self.challenge_reveal_ms,
            self.result_commit_ms,
            self.result_reveal_ms,
            self.hearing_ms,
            self.dispute_commit_ms,
            self.dispute_reveal_ms,
            self.appeal_ms,
            self.miss_period_ms,
            self.service_window_ms,
            self.service_rest_ms,
        ];
        if !periods.into_iter().all(|period| (1..=MAX_PERIOD_MS).contains(&period)) {
            return Err(ParamsError::PeriodInvalid);
        }
        if self.miss_period_ms < self.challenge_rest_ms {
            return Err(ParamsError::MissPeriodTooShort);
        }
        if self.min_verifiers <= 2 * u16::from(self.committee_size) {
            return Err(ParamsError::MinVerifiersTooLow);
        }
        if u32::from(self.min_verifiers) > MAX_VERIFIERS {
            return Err(ParamsError::MinVerifiersTooHigh);
        }
        if self.replica_slash_deposits == 0 || self.audit_slash_deposits == 0 {
            return Err(ParamsError::ResultSlashZero);
        }
        if self.slash_to_tenant_ppm.saturating_add(self.slash_to_hosts_ppm) > MAX_REWARDS_PPM {
            return Err(ParamsError::RewardsTooHigh);
        }
        if !(1..=1_000_000).contains(&self.audit_min_ppm) {
            return Err(ParamsError::AuditProbabilityInvalid);
        }
        if self.service_share_ppm > 1_000_000 {
            return Err(ParamsError::ServiceShareTooHigh);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut Params)) -> Result<(), ParamsError> {
        let mut params = Params::default();
        change(&mut params);
        params.check()
    }

    #[test]
    fn the_default_is_sound() {
        assert_eq!(Params::default().check(), Ok(()));
    }

    #[test]
    fn each_unsound_value_is_refused_with_its_own_reason() {
        for size in [0, 2, 4, 9] {
            assert_eq!(with(|params| params.committee_size = size), Err(ParamsError::SeatsInvalid));
            assert_eq!(with(|params| params.jury_size = size), Err(ParamsError::SeatsInvalid));
            assert_eq!(with(|params| params.appeal_jury_size = size), Err(ParamsError::SeatsInvalid));
        }
        assert_eq!(with(|params| params.appeal_jury_size = 1), Err(ParamsError::AppealJuryTooSmall));
        assert_eq!(with(|params| params.verifier_bond = 0), Err(ParamsError::BondOrStakeZero));
        assert_eq!(with(|params| params.dispute_stake = 0), Err(ParamsError::BondOrStakeZero));
        assert_eq!(with(|params| params.absence_penalty = params.verifier_bond), Err(ParamsError::PenaltyTooHigh));
        assert_eq!(with(|params| params.absence_penalty = 0), Err(ParamsError::AbsenceTooCheap));
        assert_eq!(with(|params| params.jury_fee = params.dispute_stake + 1), Err(ParamsError::JuryFeeTooHigh));
        assert_eq!(with(|params| params.dispute_stake = Balance::MAX), Err(ParamsError::StakeTooHigh));
        assert_eq!(with(|params| params.appeal_ms = 0), Err(ParamsError::PeriodInvalid));
        assert_eq!(with(|params| params.answer_ms = u64::MAX), Err(ParamsError::PeriodInvalid));
        let too_short = with(|params| params.miss_period_ms = params.challenge_rest_ms - 1);
        assert_eq!(too_short, Err(ParamsError::MissPeriodTooShort));
        assert_eq!(with(|params| params.miss_period_ms = params.challenge_rest_ms), Ok(()));
        assert_eq!(with(|params| params.min_verifiers = 10), Err(ParamsError::MinVerifiersTooLow));
        assert_eq!(with(|params| params.min_verifiers = 11), Ok(()));
        assert_eq!(with(|params| params.min_verifiers = 513), Err(ParamsError::MinVerifiersTooHigh));
        assert_eq!(with(|params| params.replica_slash_deposits = 0), Err(ParamsError::ResultSlashZero));
        assert_eq!(with(|params| params.audit_slash_deposits = 0), Err(ParamsError::ResultSlashZero));
        assert_eq!(with(|params| params.audit_min_ppm = 0), Err(ParamsError::AuditProbabilityInvalid));
        assert_eq!(with(|params| params.audit_min_ppm = 1_000_001), Err(ParamsError::AuditProbabilityInvalid));
        assert_eq!(with(|params| params.service_share_ppm = 1_000_001), Err(ParamsError::ServiceShareTooHigh));
        assert_eq!(with(|params| params.service_window_ms = 0), Err(ParamsError::PeriodInvalid));
        assert_eq!(with(|params| params.slash_to_tenant_ppm = 250_001), Err(ParamsError::RewardsTooHigh));
        assert_eq!(with(|params| params.slash_to_hosts_ppm = u32::MAX), Err(ParamsError::RewardsTooHigh));
    }
}
