//! Jobs whose result another host repeats if the chain draws it.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{AuditState, Balance, Misconduct, ResultsOutcome, ResultsPhase, ValidResults};

use super::results::{agreed, commit, lease, outcome, phase, punished, reveal, reveal_all, tag};
use crate::{mock::*, CurrentParams, Error, Event, Results, Valid};

fn audit() -> AuditState {
    Results::<Test>::get(TASK).expect("it is open").audit
}

fn valid(number: u8) -> u32 {
    Verification::valid_results(&account(HOST + number))
}

/// [`HOST`] has so many valid results.
fn with_valid_results(count: u32) {
    Valid::<Test>::insert(account(HOST), ValidResults { generation: 0, count });
}

/// The first host commits a result of an audited job, and the chain draws.
fn committed(digest: u8) {
    audited();
    assert_ok!(commit(0, result(digest)));
    assert_eq!((phase(), audit()), (ResultsPhase::Drawing, AuditState::Awaited));
    blocks(2);
}

/// The same until the draw comes out like this, with other randomness each time.
fn committed_until(repeated: bool) {
    for _ in 0..200 {
        committed(1);
        if (audit() != AuditState::Single) == repeated {
            return;
        }
        Results::<Test>::remove(TASK);
    }
    panic!("it is never drawn");
}

/// The probability of the last draw in parts per million.
fn probability_ppm() -> u32 {
    let drawn = events().into_iter().rev().find_map(|event| match event {
        Event::AuditDrawn { probability_ppm, .. } => Some(probability_ppm),
        _ => None,
    });
    drawn.expect("it was drawn")
}

/// The host of this number repeats the work with a result of this digest.
fn repeat(number: u8, digest: u8) {
    add_replica(number);
    assert_ok!(commit(number, result(digest)));
    assert_ok!(tag(number, result(digest)));
}

#[test]
fn a_host_without_valid_results_is_audited_and_its_result_compared() {
    on_chain(|| {
        committed(1);
        assert_eq!((phase(), audit()), (ResultsPhase::Committing, AuditState::Repeated { lease: lease(0) }));
        assert_eq!(probability_ppm(), 1_000_000);
        assert!(MockNetwork::get().tasks[&TASK].extra_wanted);
        assert_noop!(reveal(0, result(1)), Error::<Test>::NotRevealing);
        add_replica(1);
        assert_ok!(commit(1, result(1)));
        assert_ok!(tag(0, result(1)));
        assert_ok!(tag(1, result(1)));
        assert_ok!(reveal(0, result(1)));
        assert_ok!(reveal(1, result(1)));
        assert_eq!((outcome(), task_state()), (agreed(1), MockState::Verified));
        assert_eq!((valid(0), valid(1)), (1, 1));
    });
}

#[test]
fn a_host_with_valid_results_is_audited_now_and_then() {
    let drawn = |count: u32| {
        let mut repeated = 0;
        on_chain(|| {
            for _ in 0..200 {
                with_valid_results(count);
                committed(1);
                repeated += u32::from(audit() != AuditState::Single);
                Results::<Test>::remove(TASK);
            }
        });
        repeated
    };
    assert_eq!(drawn(AUDITED_FIRST - 1), 200);
    // 25 % and 5 % are expected; the seeds are fixed.
    let (often, seldom) = (drawn(AUDITED_FIRST), drawn(1_000));
    assert!((30..70).contains(&often) && (3..20).contains(&seldom), "{often} and {seldom} of 200");
}

#[test]
fn a_result_that_is_not_repeated_is_revealed_at_once_and_reported() {
    on_chain(|| {
        with_valid_results(1_000);
        committed_until(false);
        assert_eq!((phase(), probability_ppm()), (ResultsPhase::Revealing, 50_000));
        assert_noop!(tag(0, result(1)), Error::<Test>::NotTagging);
        assert_ok!(reveal(0, result(1)));
        assert_eq!((outcome(), task_state()), (Some(ResultsOutcome::NotRepeated), MockState::Reported));
        assert_eq!(valid(0), 1_001);
    });
}

#[test]
fn a_bond_that_covers_few_deposits_means_more_audits() {
    on_chain(|| {
        with_valid_results(1_000);
        change_host(|host| host.bond = 4 * DEPOSIT);
        committed(1);
        assert_eq!(probability_ppm(), 200_000, "one in 1 + 4");
    });
}

#[test]
fn a_wrong_result_costs_many_deposits_and_the_valid_results() {
    on_chain(|| {
        with_valid_results(1_000);
        change_host(|host| host.bond = 100 * GTY);
        committed_until(true);
        repeat_by_others_with(2);
        assert_eq!((outcome(), punished(0)), (agreed(2), vec![Misconduct::WrongResult]));
        assert_eq!(host().bond, 100 * GTY - DEPOSIT * Balance::from(AUDIT_SLASH_DEPOSITS));
        assert_eq!((valid(0), valid(1), valid(2)), (0, 1, 1));
    });
}

/// Hosts 1 and 2 repeat the work of host 0, with another result.
fn repeat_by_others_with(digest: u8) {
    add_replica(1);
    assert_ok!(commit(1, result(digest)));
    assert_ok!(tag(0, result(1)));
    assert_ok!(tag(1, result(digest)));
    assert_eq!(phase(), ResultsPhase::Committing, "one more is asked");
    repeat(2, digest);
    reveal_all([1, digest, digest]);
}

#[test]
fn who_repeats_work_wrongly_loses_what_a_replica_does() {
    on_chain(|| {
        committed(1);
        add_replica(1);
        assert_ok!(commit(1, result(2)));
        assert_ok!(tag(0, result(1)));
        assert_ok!(tag(1, result(2)));
        repeat(2, 1);
        reveal_all([1, 2, 1]);
        assert_eq!((outcome(), punished(1)), (agreed(1), vec![Misconduct::WrongResult]));
        let bond = MockNetwork::get().hosts[&account(HOST + 1)].bond;
        assert_eq!(bond, 20 * GTY - DEPOSIT * Balance::from(SLASH_DEPOSITS));
    });
}

#[test]
fn where_nobody_comes_to_repeat_the_work_the_result_is_reported() {
    on_chain(|| {
        committed(1);
        add_replica(1);
        wait_past(RESULT_COMMIT);
        assert_eq!(phase(), ResultsPhase::Committing, "the other runs");
        set_lease(lease(1), MockLease::Ended);
        wait_past(RESULT_COMMIT);
        assert_eq!((phase(), audit()), (ResultsPhase::Revealing, AuditState::Single));
        assert_ok!(reveal(0, result(1)));
        assert_eq!((outcome(), task_state()), (Some(ResultsOutcome::NotRepeated), MockState::Reported));
        assert_eq!(valid(0), 0, "it was to be compared and was not");
    });
}

#[test]
fn where_the_task_takes_no_other_pod_the_result_is_reported() {
    on_chain(|| {
        audited();
        network(|network| network.tasks.get_mut(&TASK).expect("it exists").can_extend = false);
        assert_ok!(commit(0, result(1)));
        blocks(2);
        assert_eq!(audit(), AuditState::Single);
    });
}

#[test]
fn who_repeats_work_and_hides_it_is_replaced_or_done_without() {
    on_chain(|| {
        committed(1);
        add_replica(1);
        assert_ok!(commit(1, result(1)));
        assert_ok!(tag(0, result(1)));
        wait_past(RESULT_REVEAL);
        assert_eq!((punished(1), phase()), (vec![Misconduct::ResultNotRevealed], ResultsPhase::Committing));
        wait_past(RESULT_COMMIT);
        assert_eq!((phase(), audit()), (ResultsPhase::Revealing, AuditState::Single));
        assert_ok!(reveal(0, result(1)));
        assert_eq!(task_state(), MockState::Reported);
    });
}

#[test]
fn a_single_result_that_is_not_revealed_fails_the_task_and_costs_what_a_replica_does() {
    on_chain(|| {
        with_valid_results(1_000);
        committed_until(false);
        wait_past(RESULT_REVEAL);
        assert_eq!((outcome(), task_state()), (Some(ResultsOutcome::NoAgreement), MockState::Failed));
        assert_eq!((punished(0), valid(0)), (vec![Misconduct::ResultNotRevealed], 0));
        assert_eq!(host().bond, 20 * GTY - DEPOSIT * Balance::from(SLASH_DEPOSITS));
    });
}

#[test]
fn a_task_that_is_ended_before_the_draw_is_not_audited() {
    on_chain(|| {
        audited();
        assert_ok!(commit(0, result(1)));
        let matter = gantry_primitives::Matter::Results(TASK);
        assert_noop!(Verification::advance(signed(ANYONE), matter), Error::<Test>::WaitsForSeed);
        network(|network| network.tasks.get_mut(&TASK).expect("it exists").state = MockState::Cancelled);
        blocks(2);
        assert_eq!(outcome(), Some(ResultsOutcome::Overtaken));
    });
}

#[test]
fn other_hardware_and_a_lost_dispute_begin_the_count_anew_and_own_tasks_do_not_count() {
    on_chain(|| {
        with_valid_results(7);
        change_host(|host| host.generation += 1);
        assert_eq!(valid(0), 0);
        change_host(|host| host.generation = 0);
        assert_eq!(valid(0), 7);
        replicated(2);
        network(|network| network.tasks.get_mut(&TASK).expect("it exists").tenant = account(PROVIDER));
        super::results::tag_all([1, 1]);
        reveal_all([1, 1]);
        assert_eq!((outcome(), valid(0), valid(1)), (agreed(1), 7, 1));
        reported();
        assert_ok!(Verification::open_dispute(signed(TENANT), TASK, accused(&[lease(0)]), [1; 32]));
        wait_past(HEARING);
        blocks(2);
        let matter = gantry_primitives::Matter::Dispute(TASK);
        vote(matter, &members(matter), &[Some(gantry_primitives::Vote::Yes); 3]);
        wait_past(APPEAL);
        assert_eq!((punished(0), valid(0)), (vec![Misconduct::DisputeLost], 0));
    });
}

#[test]
fn without_a_first_phase_a_host_without_results_is_audited_still() {
    on_chain(|| {
        CurrentParams::<Test>::mutate(|params| params.audit_valid_results = 0);
        committed(1);
        assert_eq!(probability_ppm(), 1_000_000);
    });
}
