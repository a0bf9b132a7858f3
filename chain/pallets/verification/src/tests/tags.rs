//! Whether results are equal is found out before any of them is known.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{Misconduct, ResultsOutcome, ResultsPhase};

use super::results::{agreed, commit, commit_all, lease, outcome, phase, punished, reveal, reveal_all, tag, tag_all};
use crate::{mock::*, Error, Event, Results};

fn revealed() -> usize {
    events().iter().filter(|event| matches!(event, Event::ResultRevealed { .. })).count()
}

#[test]
fn a_further_host_commits_before_any_result_is_known() {
    on_chain(|| {
        replicated(2);
        tag_all([1, 2]);
        assert_eq!((phase(), revealed()), (ResultsPhase::Committing, 0));
        add_replica(2);
        assert_ok!(commit(2, result(1)));
        assert_ok!(tag(2, result(1)));
        assert_eq!((phase(), revealed()), (ResultsPhase::Revealing, 0));
    });
}

/// It does not know the result that it would have to commit to.
#[test]
fn a_further_host_that_copies_a_tag_cannot_reveal_the_result() {
    on_chain(|| {
        replicated(2);
        tag_all([1, 2]);
        add_replica(2);
        assert_ok!(commit(2, result(9)));
        assert_ok!(tag(2, result(1)));
        assert_eq!(phase(), ResultsPhase::Revealing);
        assert_ok!(reveal(0, result(1)));
        assert_noop!(reveal(2, result(1)), Error::<Test>::CommitmentMismatch);
        assert_noop!(reveal(2, result(9)), Error::<Test>::TagMismatch);
        assert_ok!(reveal(1, result(2)));
        wait_past(RESULT_REVEAL);
        assert_eq!(punished(2), [Misconduct::ResultNotRevealed]);
        assert_eq!((outcome(), task_state()), (Some(ResultsOutcome::NoAgreement), MockState::Failed));
        assert!(punished(0).is_empty() && punished(1).is_empty());
    });
}

#[test]
fn a_host_that_shows_no_tag_is_punished_and_replaced() {
    on_chain(|| {
        replicated(2);
        commit_all([1, 1]);
        assert_ok!(tag(0, result(1)));
        wait_past(RESULT_REVEAL);
        assert_eq!(punished(1), [Misconduct::ResultNotRevealed]);
        assert_eq!(lease_state(lease(1)), Some(MockLease::Void));
        assert_eq!((phase(), revealed()), (ResultsPhase::Committing, 0));
        add_replica(2);
        assert_ok!(commit(2, result(1)));
        assert_ok!(tag(2, result(1)));
        assert_ok!(reveal(0, result(1)));
        assert_ok!(reveal(2, result(1)));
        assert_eq!(outcome(), agreed(1));
    });
}

#[test]
fn results_whose_hosts_show_no_tags_fail_the_task() {
    on_chain(|| {
        replicated(2);
        commit_all([1, 1]);
        wait_past(RESULT_REVEAL);
        assert_eq!((outcome(), task_state()), (Some(ResultsOutcome::NoAgreement), MockState::Failed));
        assert_eq!(
            (punished(0), punished(1)),
            (vec![Misconduct::ResultNotRevealed], vec![Misconduct::ResultNotRevealed])
        );
    });
}

#[test]
fn a_tag_is_shown_once_in_its_time_by_the_host_of_the_lease() {
    on_chain(|| {
        replicated(2);
        assert_noop!(tag(0, result(1)), Error::<Test>::NoSuchResults);
        assert_ok!(commit(0, result(1)));
        assert_noop!(tag(0, result(1)), Error::<Test>::NotTagging);
        assert_ok!(commit(1, result(1)));
        assert_noop!(Verification::tag_result(signed(HOST + 1), lease(0), [1; 32]), Error::<Test>::NotHostOfLease);
        assert_ok!(tag(0, result(1)));
        assert_noop!(tag(0, result(1)), Error::<Test>::AlreadyTagged);
        pass(RESULT_REVEAL + 1);
        assert_noop!(tag(1, result(1)), Error::<Test>::TooLate);
    });
}

#[test]
fn of_a_minority_that_hides_its_result_more_is_not_known_and_it_is_punished() {
    on_chain(|| {
        replicated(3);
        tag_all([1, 2, 1]);
        assert_ok!(reveal(0, result(1)));
        assert_ok!(reveal(2, result(1)));
        wait_past(RESULT_REVEAL);
        assert_eq!((outcome(), punished(1)), (agreed(1), vec![Misconduct::ResultNotRevealed]));
    });
}

#[test]
fn a_result_that_was_revealed_before_tags_were_known_is_compared_without_one() {
    on_chain(|| {
        replicated(2);
        tag_all([1, 1]);
        Results::<Test>::mutate(TASK, |record| {
            record.as_mut().expect("it is open").replicas.iter_mut().for_each(|replica| replica.tag = None);
        });
        reveal_all([1, 1]);
        assert_eq!(outcome(), agreed(1));
    });
}
