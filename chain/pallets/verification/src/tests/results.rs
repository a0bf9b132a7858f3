use frame_support::{assert_noop, assert_ok, dispatch::CheckIfFeeless, dispatch::DispatchResult};
use gantry_primitives::{
    commitments::{result_commitment, result_tag},
    Matter, Misconduct, PodResult, ResultsOutcome, ResultsPhase, Usage,
};
use sp_runtime::DispatchError;

use crate::{mock::*, Call, Error, Event, Results};

const REFUSED: DispatchError = DispatchError::Other("refused by the tasks pallet");

pub(super) fn lease(number: u8) -> u64 {
    100 + u64::from(number)
}

/// The host of this number from [`HOST`] on commits to a result.
pub(super) fn commit(number: u8, result: PodResult) -> DispatchResult {
    let host = HOST + number;
    Verification::commit_result(signed(host), lease(number), result_commitment(&result, &SALT, &account(host)))
}

pub(super) fn tag(number: u8, result: PodResult) -> DispatchResult {
    Verification::tag_result(signed(HOST + number), lease(number), result_tag(TASK, &result))
}

pub(super) fn reveal(number: u8, result: PodResult) -> DispatchResult {
    Verification::reveal_result(signed(HOST + number), lease(number), result, SALT)
}

/// The hosts from [`HOST`] on commit to results of these digests.
pub(super) fn commit_all<const N: usize>(digests: [u8; N]) {
    for (number, digest) in (0..).zip(digests) {
        assert_ok!(commit(number, result(digest)));
    }
}

/// They commit, and show the tags.
pub(super) fn tag_all<const N: usize>(digests: [u8; N]) {
    commit_all(digests);
    for (number, digest) in (0..).zip(digests) {
        assert_ok!(tag(number, result(digest)));
    }
}

pub(super) fn reveal_all<const N: usize>(digests: [u8; N]) {
    for (number, digest) in (0..).zip(digests) {
        assert_ok!(reveal(number, result(digest)));
    }
}

pub(super) fn outcome() -> Option<ResultsOutcome> {
    events().into_iter().rev().find_map(|event| match event {
        Event::ResultsClosed { outcome, .. } => Some(outcome),
        _ => None,
    })
}

pub(super) fn agreed(digest: u8) -> Option<ResultsOutcome> {
    Some(ResultsOutcome::Agreed { digest: [digest; 32], exit_code: 0 })
}

pub(super) fn punished(number: u8) -> Vec<Misconduct> {
    MockNetwork::get().hosts[&account(HOST + number)].punished.iter().map(|(why, _)| *why).collect()
}

pub(super) fn phase() -> ResultsPhase {
    Results::<Test>::get(TASK).expect("results are compared").phase
}

#[test]
fn equal_results_verify_a_task_whatever_they_used() {
    on_chain(|| {
        replicated(2);
        let used_more = PodResult { usage: Usage { wall_ms: 99, cpu_ms: 9, memory_peak_mib: 9 }, ..result(1) };
        assert_ok!(commit(0, result(1)));
        assert_eq!(lease_state(lease(0)), Some(MockLease::Committed), "it is billed no further");
        assert_noop!(reveal(0, result(1)), Error::<Test>::NotRevealing);
        assert_ok!(commit(1, used_more));
        assert_eq!(phase(), ResultsPhase::Tagging);
        assert_ok!(tag(0, result(1)));
        assert_noop!(reveal(0, result(1)), Error::<Test>::NotRevealing);
        assert_ok!(tag(1, used_more));
        assert_eq!(phase(), ResultsPhase::Revealing);
        assert_ok!(reveal(0, result(1)));
        assert_ok!(reveal(1, used_more));
        assert_eq!(outcome(), agreed(1));
        assert_eq!(task_state(), MockState::Verified);
        assert!(punished(0).is_empty() && punished(1).is_empty());
        assert_eq!(Results::<Test>::iter().count(), 0);
    });
}

#[test]
fn of_three_results_the_odd_one_is_punished_and_unpaid() {
    on_chain(|| {
        replicated(3);
        tag_all([1, 2, 1]);
        reveal_all([1, 2, 1]);
        assert_eq!(outcome(), agreed(1));
        assert_eq!(punished(1), [Misconduct::WrongResult]);
        assert_eq!(lease_state(lease(1)), Some(MockLease::Void));
        assert!(punished(0).is_empty() && punished(2).is_empty());
    });
}

#[test]
fn a_third_host_decides_between_two() {
    on_chain(|| {
        replicated(2);
        tag_all([1, 2]);
        assert!(MockNetwork::get().tasks[&TASK].extra_wanted);
        assert_eq!((phase(), task_state()), (ResultsPhase::Committing, MockState::Running));
        assert_eq!(lease_state(lease(0)), Some(MockLease::Committed), "nobody is rejected yet");
        add_replica(2);
        wait_past(RESULT_COMMIT);
        assert_eq!(phase(), ResultsPhase::Committing, "the third runs");
        assert_ok!(commit(2, result(2)));
        assert_noop!(tag(0, result(1)), Error::<Test>::AlreadyTagged);
        assert_ok!(tag(2, result(2)));
        reveal_all([1, 2, 2]);
        assert_eq!(outcome(), agreed(2));
        assert_eq!(punished(0), [Misconduct::WrongResult]);
        assert!(punished(1).is_empty());
    });
}

#[test]
fn three_different_results_fail_the_task_and_punish_nobody() {
    on_chain(|| {
        replicated(3);
        network(|network| network.tasks.get_mut(&TASK).expect("it exists").can_extend = false);
        tag_all([0, 1, 2]);
        assert_eq!((outcome(), task_state()), (Some(ResultsOutcome::NoAgreement), MockState::Failed));
        assert!((0..3).all(|number| punished(number).is_empty()));
    });
}

#[test]
fn a_further_host_is_asked_once() {
    on_chain(|| {
        replicated(2);
        tag_all([0, 1]);
        add_replica(2);
        assert_ok!(commit(2, result(2)));
        assert_ok!(tag(2, result(2)));
        assert_eq!((outcome(), task_state()), (Some(ResultsOutcome::NoAgreement), MockState::Failed));
    });
}

#[test]
fn a_further_host_that_never_comes_is_not_waited_for() {
    on_chain(|| {
        replicated(2);
        tag_all([0, 1]);
        wait_past(RESULT_COMMIT);
        assert_eq!(outcome(), Some(ResultsOutcome::NoAgreement));
    });
}

#[test]
fn a_host_that_commits_and_does_not_reveal_is_punished_and_replaced() {
    on_chain(|| {
        replicated(2);
        tag_all([1, 1]);
        assert_ok!(reveal(0, result(1)));
        wait_past(RESULT_REVEAL);
        assert_eq!(punished(1), [Misconduct::ResultNotRevealed]);
        assert_eq!(lease_state(lease(1)), Some(MockLease::Void));
        assert_noop!(reveal(1, result(1)), Error::<Test>::NotRevealing);
        add_replica(2);
        assert_ok!(commit(2, result(1)));
        assert_ok!(tag(2, result(1)));
        assert_ok!(reveal(2, result(1)));
        assert_eq!(outcome(), agreed(1));
        assert!(punished(0).is_empty());
    });
}

#[test]
fn results_that_nobody_reveals_fail_the_task() {
    on_chain(|| {
        replicated(2);
        tag_all([1, 1]);
        wait_past(RESULT_REVEAL);
        assert_eq!((outcome(), task_state()), (Some(ResultsOutcome::NoAgreement), MockState::Failed));
        assert_eq!(punished(0), [Misconduct::ResultNotRevealed]);
    });
}

#[test]
fn hosts_that_still_run_are_waited_for_and_those_that_do_not_are_left_out() {
    on_chain(|| {
        replicated(3);
        commit_all([1, 1]);
        wait_past(RESULT_COMMIT);
        assert_eq!(phase(), ResultsPhase::Committing);
        set_lease(lease(2), MockLease::Ended);
        wait_past(RESULT_COMMIT);
        assert_eq!(phase(), ResultsPhase::Tagging);
        assert_ok!(tag(0, result(1)));
        assert_ok!(tag(1, result(1)));
        reveal_all([1, 1]);
        assert_eq!(outcome(), agreed(1));
        assert!(punished(2).is_empty(), "what it did wrong, if anything, the tasks pallet knows");
    });
}

#[test]
fn a_replaced_host_does_not_count() {
    on_chain(|| {
        replicated(2);
        assert_ok!(commit(0, result(1)));
        set_lease(lease(0), MockLease::Ended);
        add_replica(2);
        assert_ok!(commit(1, result(1)));
        assert_eq!(phase(), ResultsPhase::Committing, "one of two that count");
        assert_ok!(commit(2, result(1)));
        assert_noop!(tag(0, result(1)), Error::<Test>::NotCommitted);
        assert_ok!(tag(1, result(1)));
        assert_ok!(tag(2, result(1)));
        assert_noop!(reveal(0, result(1)), Error::<Test>::NotCommitted);
        assert_ok!(reveal(1, result(1)));
        assert_ok!(reveal(2, result(1)));
        assert_eq!(outcome(), agreed(1));
    });
}

#[test]
fn nothing_is_compared_for_a_task_that_was_ended() {
    on_chain(|| {
        replicated(2);
        assert_ok!(commit(0, result(1)));
        network(|network| network.tasks.get_mut(&TASK).expect("it exists").state = MockState::Cancelled);
        assert_noop!(commit(1, result(1)), REFUSED);
        wait_past(RESULT_COMMIT);
        assert_eq!(outcome(), Some(ResultsOutcome::Overtaken));
        assert!(punished(0).is_empty());
    });
}

#[test]
fn nothing_is_revealed_for_a_task_that_was_ended() {
    on_chain(|| {
        replicated(2);
        tag_all([1, 1]);
        network(|network| network.tasks.get_mut(&TASK).expect("it exists").state = MockState::Cancelled);
        assert_noop!(reveal(0, result(1)), Error::<Test>::NotReplicated);
        wait_past(RESULT_REVEAL);
        assert_eq!(outcome(), Some(ResultsOutcome::Overtaken));
        assert!(punished(0).is_empty() && punished(1).is_empty());
    });
}

#[test]
fn a_commitment_is_made_once_by_the_host_of_the_lease() {
    on_chain(|| {
        replicated(2);
        assert_noop!(Verification::commit_result(signed(HOST + 1), lease(0), [1; 32]), REFUSED);
        assert_noop!(Verification::commit_result(signed(HOST), 999, [1; 32]), REFUSED);
        assert_ok!(commit(0, result(1)));
        assert_noop!(commit(0, result(2)), REFUSED);
        assert_noop!(reveal(1, result(1)), Error::<Test>::NotRevealing);
        assert_ok!(commit(1, result(1)));
        add_replica(2);
        assert_noop!(commit(2, result(1)), Error::<Test>::CommitmentsClosed);
        assert_noop!(tag(2, result(1)), Error::<Test>::NotCommitted);
        assert_noop!(
            Verification::commit_vote(signed(HOST), Matter::Results(TASK), [0; 32]),
            Error::<Test>::NoVoteOnResults
        );
        let show = Verification::reveal_vote(signed(HOST), Matter::Results(TASK), gantry_primitives::Vote::Yes, SALT);
        assert_noop!(show, Error::<Test>::NoVoteOnResults);
    });
}

#[test]
fn what_is_revealed_must_be_what_was_committed_in_time_and_once() {
    on_chain(|| {
        replicated(2);
        assert_noop!(reveal(0, result(1)), Error::<Test>::NoSuchResults);
        tag_all([1, 1]);
        assert_noop!(reveal(0, result(2)), Error::<Test>::CommitmentMismatch);
        let wrong_salt = Verification::reveal_result(signed(HOST), lease(0), result(1), [0; 32]);
        assert_noop!(wrong_salt, Error::<Test>::CommitmentMismatch);
        let other = Verification::reveal_result(signed(HOST + 1), lease(0), result(1), SALT);
        assert_noop!(other, Error::<Test>::NotHostOfLease);
        assert_ok!(reveal(0, result(1)));
        assert_noop!(reveal(0, result(1)), Error::<Test>::AlreadyRevealed);
        pass(RESULT_REVEAL + 1);
        assert_noop!(reveal(1, result(1)), Error::<Test>::TooLate);
    });
}

#[test]
fn a_pod_that_nobody_waits_for_ends_unpaid_when_the_others_agree() {
    on_chain(|| {
        replicated(2);
        tag_all([1, 1]);
        add_replica(2);
        reveal_all([1, 1]);
        assert_eq!((outcome(), task_state()), (agreed(1), MockState::Verified));
        assert_eq!(lease_state(lease(2)), Some(MockLease::Ended));
        assert!(punished(2).is_empty());
    });
}

#[test]
fn a_host_that_copies_a_commitment_cannot_open_it() {
    on_chain(|| {
        replicated(2);
        let honest = result_commitment(&result(1), &SALT, &account(HOST));
        assert_ok!(Verification::commit_result(signed(HOST), lease(0), honest));
        assert_ok!(Verification::commit_result(signed(HOST + 1), lease(1), honest));
        assert_ok!(tag(0, result(1)));
        assert_ok!(tag(1, result(1)));
        assert_ok!(reveal(0, result(1)));
        // Now the result and the salt are public.
        assert_noop!(reveal(1, result(1)), Error::<Test>::CommitmentMismatch);
        wait_past(RESULT_REVEAL);
        assert_eq!(punished(1), [Misconduct::ResultNotRevealed]);
    });
}

#[test]
fn hosts_pay_nothing_for_calls_that_are_valid() {
    on_chain(|| {
        replicated(2);
        let commitment = result_commitment(&result(1), &SALT, &account(HOST));
        let free = |call: &Call<Test>, who| RuntimeCall::from(call.clone()).is_feeless(&signed(who));
        let commits = Call::commit_result { lease: lease(0), commitment };
        let reveals = Call::reveal_result { lease: lease(0), result: result(1), salt: SALT };
        assert!(free(&commits, HOST) && !free(&commits, HOST + 1) && !free(&reveals, HOST));
        assert_ok!(commit(0, result(1)));
        assert!(!free(&commits, HOST) && !free(&reveals, HOST));
        assert_ok!(commit(1, result(1)));
        let tags = Call::tag_result { lease: lease(0), tag: result_tag(TASK, &result(1)) };
        assert!(free(&tags, HOST) && !free(&tags, HOST + 1) && !free(&reveals, HOST));
        assert_ok!(tag(0, result(1)));
        assert!(!free(&tags, HOST));
        assert_ok!(tag(1, result(1)));
        assert!(free(&reveals, HOST) && !free(&reveals, HOST + 1));
        assert!(!free(&Call::reveal_result { lease: lease(0), result: result(2), salt: SALT }, HOST));
        assert_ok!(reveal(0, result(1)));
        assert!(!free(&reveals, HOST));
    });
}
