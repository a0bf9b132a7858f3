//! The tables of the transitions between phases of challenges, service checks, results and disputes. Diagrams in docs/verification.md
//! are drawn from these tables. A transition that is not listed fails and changes nothing.

use crate::{ChallengePhase, DisputePhase, ResultsPhase, ServicePhase};

/// (from, to) for challenges.
pub const CHALLENGE_TRANSITIONS: &[(ChallengePhase, ChallengePhase)] = {
    use ChallengePhase::*;
    &[
        (Waiting, Answering),
        (Answering, Committing),
        (Committing, Revealing),
        (Revealing, Closed),
        (Committing, Waiting),
        (Revealing, Waiting),
        (Revealing, Committing),
        (Waiting, Closed),
        (Answering, Closed),
        (Committing, Closed),
    ]
};

/// (from, to) for service checks.
pub const SERVICE_TRANSITIONS: &[(ServicePhase, ServicePhase)] = {
    use ServicePhase::*;
    &[
        (Waiting, Committing),
        (Committing, Revealing),
        (Revealing, Closed),
        (Revealing, Committing),
        (Waiting, Closed),
        (Committing, Closed),
    ]
};

/// (from, to) for replicated results.
pub const RESULTS_TRANSITIONS: &[(ResultsPhase, ResultsPhase)] = {
    use ResultsPhase::*;
    &[
        (Committing, Tagging),
        (Tagging, Revealing),
        (Revealing, Closed),
        (Tagging, Committing),
        (Revealing, Committing),
        (Committing, Closed),
        (Tagging, Closed),
        (Committing, Drawing),
        (Drawing, Committing),
        (Drawing, Revealing),
        (Committing, Revealing),
        (Drawing, Closed),
    ]
};

/// (from, to) for disputes.
pub const DISPUTE_TRANSITIONS: &[(DisputePhase, DisputePhase)] = {
    use DisputePhase::*;
    &[
        (Hearing, Waiting),
        (Waiting, Committing),
        (Committing, Revealing),
        (Revealing, Decided),
        (Decided, Closed),
        (Decided, Hearing),
        (Committing, Waiting),
        (Revealing, Waiting),
        (Waiting, Closed),
        (Committing, Closed),
        (Revealing, Closed),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sound<Phase: Copy + PartialEq + core::fmt::Debug>(table: &[(Phase, Phase)], closed: Phase) {
        for (position, step) in table.iter().enumerate() {
            assert!(!table[..position].contains(step), "{step:?} is listed twice");
            assert_ne!(step.0, step.1, "a phase does not follow itself");
            assert_ne!(step.0, closed, "nothing follows what is closed");
        }
    }

    /// Whether `closed` can be reached from every phase.
    fn ends<Phase: Copy + PartialEq + core::fmt::Debug>(table: &[(Phase, Phase)], closed: Phase) {
        for (from, _) in table {
            let mut reached = alloc::vec![*from];
            let mut next = 0;
            while next < reached.len() {
                let current = reached[next];
                for (_, to) in table.iter().filter(|(before, _)| *before == current) {
                    if !reached.contains(to) {
                        reached.push(*to);
                    }
                }
                next += 1;
            }
            assert!(reached.contains(&closed), "{from:?} never ends");
        }
    }

    #[test]
    fn each_move_is_listed_once_and_nothing_follows_what_is_closed() {
        is_sound(CHALLENGE_TRANSITIONS, ChallengePhase::Closed);
        is_sound(SERVICE_TRANSITIONS, ServicePhase::Closed);
        is_sound(RESULTS_TRANSITIONS, ResultsPhase::Closed);
        is_sound(DISPUTE_TRANSITIONS, DisputePhase::Closed);
    }

    #[test]
    fn everything_can_come_to_an_end() {
        ends(CHALLENGE_TRANSITIONS, ChallengePhase::Closed);
        ends(SERVICE_TRANSITIONS, ServicePhase::Closed);
        ends(RESULTS_TRANSITIONS, ResultsPhase::Closed);
        ends(DISPUTE_TRANSITIONS, DisputePhase::Closed);
    }

    #[test]
    fn votes_are_revealed_only_after_they_were_committed() {
        let before = |to| CHALLENGE_TRANSITIONS.iter().filter(|step| step.1 == to).map(|step| step.0).collect();
        let before: alloc::vec::Vec<_> = before(ChallengePhase::Revealing);
        assert_eq!(before, [ChallengePhase::Committing]);
        assert!(DISPUTE_TRANSITIONS
            .iter()
            .all(|(from, to)| *to != DisputePhase::Revealing || *from == DisputePhase::Committing));
    }
}
