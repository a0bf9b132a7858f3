use gantry_primitives::{score::HALF_LIFE_MS, Conduct};

use crate::{mock::*, Event, HostScores};

#[test]
fn a_host_that_nobody_knows_scores_one_half() {
    on_chain(|| assert_eq!(Reputation::score_ppm(&account(1)), 500_000));
}

#[test]
fn conduct_is_written_down_and_told() {
    on_chain(|| {
        Reputation::observe(&account(1), Conduct::Started, 10);
        Reputation::observe(&account(1), Conduct::Completed, 10);
        let score = HostScores::<Test>::get(account(1)).expect("it is written");
        assert_eq!((score.started.positive, score.completed.positive), (1_000_000, 1_000_000));
        assert_eq!((score.settled_leases, score.updated_at), (1, 10));
        System::assert_last_event(Event::Scored { host: account(1), score_ppm: 666_666 }.into());
        assert_eq!(Reputation::score_ppm(&account(2)), 500_000, "another host is not concerned");
    });
}

#[test]
fn old_evidence_counts_for_less() {
    on_chain(|| {
        Reputation::observe(&account(1), Conduct::NotCompleted, 0);
        let low = Reputation::score_ppm(&account(1));
        Reputation::observe(&account(1), Conduct::Started, HALF_LIFE_MS);
        let score = HostScores::<Test>::get(account(1)).expect("it is written");
        assert_eq!(score.completed.negative, 500_000);
        assert!(Reputation::score_ppm(&account(1)) > low);
    });
}

#[test]
fn the_check_of_all_scores_finds_a_wrong_one() {
    on_chain(|| {
        Reputation::observe(&account(1), Conduct::Completed, 0);
        let good = HostScores::<Test>::get(account(1)).expect("it is written");
        let mut wrong = good;
        wrong.settled_leases = 0;
        HostScores::<Test>::insert(account(1), wrong);
        assert!(Reputation::do_try_state().is_err());
        HostScores::<Test>::insert(account(1), good);
    });
}
