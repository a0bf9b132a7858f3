//! What evidence about a host is worth: a Beta score with a half-life.

use crate::{Beta, Conduct, HostScore, Moment};

/// One observation, in the parts of [`Beta`].
pub const OBSERVATION: u64 = 1_000_000;
/// After so many milliseconds evidence weighs half: 30 days.
pub const HALF_LIFE_MS: u64 = 30 * 24 * 3_600_000;

/// The score of one Beta in parts per million: (positive + 1) / (positive + negative + 2) in observations.
pub fn beta_ppm(beta: &Beta) -> u32 {
    let positive = u128::from(beta.positive) + u128::from(OBSERVATION);
    let all = u128::from(beta.positive) + u128::from(beta.negative) + 2 * u128::from(OBSERVATION);
    // Below one million, as positive < all.
    (positive * 1_000_000 / all) as u32
}

/// The score of a host in parts per million: the mean of `completed` and `started`, rounded down.
pub fn host_ppm(score: &HostScore) -> u32 {
    (beta_ppm(&score.completed) + beta_ppm(&score.started)) / 2
}

/// What `amount` weighs after `elapsed_ms`: halved once for each half-life, and linearly in between.
pub fn decayed(amount: u64, elapsed_ms: u64) -> u64 {
    let halvings = elapsed_ms / HALF_LIFE_MS;
    if halvings >= 64 {
        return 0;
    }
    let rest = u128::from(elapsed_ms % HALF_LIFE_MS);
    let full = 2 * u128::from(HALF_LIFE_MS);
    ((u128::from(amount) >> halvings) * (full - rest) / full) as u64
}

/// The evidence `score` after the host did `conduct` at `now`.
pub fn observed(score: &HostScore, conduct: Conduct, now: Moment) -> HostScore {
    let elapsed = now.saturating_sub(score.updated_at);
    let fade =
        |beta: &Beta| Beta { positive: decayed(beta.positive, elapsed), negative: decayed(beta.negative, elapsed) };
    let mut next = HostScore {
        completed: fade(&score.completed),
        started: fade(&score.started),
        uptime: fade(&score.uptime),
        settled_leases: score.settled_leases,
        updated_at: now.max(score.updated_at),
    };
    let counter = match conduct {
        Conduct::Started => &mut next.started.positive,
        Conduct::NotStarted => &mut next.started.negative,
        Conduct::Completed => &mut next.completed.positive,
        Conduct::NotCompleted => &mut next.completed.negative,
    };
    *counter = counter.saturating_add(OBSERVATION);
    if conduct == Conduct::Completed {
        next.settled_leases = next.settled_leases.saturating_add(1);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_evidence_scores_one_half() {
        assert_eq!(host_ppm(&HostScore::default()), 500_000);
    }

    #[test]
    fn evidence_weighs_half_after_a_half_life() {
        assert_eq!(decayed(1_000_000, 0), 1_000_000);
        assert_eq!(decayed(1_000_000, HALF_LIFE_MS / 2), 750_000);
        assert_eq!(decayed(1_000_000, HALF_LIFE_MS), 500_000);
        assert_eq!(decayed(1_000_000, 3 * HALF_LIFE_MS), 125_000);
        assert_eq!(decayed(u64::MAX, u64::MAX), 0);
    }

    #[test]
    fn good_conduct_raises_and_bad_conduct_lowers_the_score() {
        let good = observed(&HostScore::default(), Conduct::Completed, 10);
        assert_eq!(host_ppm(&good), (666_666 + 500_000) / 2);
        assert_eq!(good.settled_leases, 1);
        let bad = observed(&HostScore::default(), Conduct::NotStarted, 10);
        assert_eq!(host_ppm(&bad), (333_333 + 500_000) / 2);
        assert_eq!(bad.settled_leases, 0);
    }

    #[test]
    fn a_clock_that_stands_still_changes_only_the_counted_side() {
        let first = observed(&HostScore::default(), Conduct::Started, 5);
        let second = observed(&first, Conduct::NotCompleted, 5);
        assert_eq!(second.started, Beta { positive: OBSERVATION, negative: 0 });
        assert_eq!(second.completed, Beta { positive: 0, negative: OBSERVATION });
    }

    #[test]
    fn no_evidence_overflows_the_score() {
        let full = Beta { positive: u64::MAX, negative: 0 };
        assert!(beta_ppm(&full) < 1_000_000);
        let score = HostScore { completed: full, started: full, ..Default::default() };
        assert_eq!(observed(&score, Conduct::Completed, 0).completed.positive, u64::MAX);
    }
}
