//! Due entries of the agenda are processed, for any number of entries and any course of the clock.

use frame_support::{assert_noop, assert_ok, weights::Weight};
use gantry_primitives::{
    BillingUnit::Second,
    EndReason, LeaseId, LeaseState,
    TaskKind::{Rental, Service},
};
use sp_runtime::DispatchError;

use crate::{mock::*, weights::WeightInfo, Agenda, AgendaPages, Error, Event, Pallet, BUCKET_MS};

fn live(ids: core::ops::Range<LeaseId>) -> usize {
    ids.filter(|id| lease(*id).state.is_live()).count()
}

fn entries() -> usize {
    Agenda::<Test>::iter_values().map(|page| page.len()).sum()
}

#[test]
fn a_thousand_leases_that_are_over_at_once_carry_over_from_block_to_block_and_none_is_lost() {
    on_chain(|| {
        for id in 0..1_000 {
            open(id, Service, Second, HOUR);
        }
        advance(HOUR + BUCKET_MS);
        let share = BlockWeights::get().max_block / 10;
        let mut left = 1_000;
        let mut blocks = 0;
        while left > 0 {
            let cost = next_block();
            assert!(cost.all_lte(share), "the agenda takes no more than its share of a block");
            let still = live(0..1_000);
            assert!(still < left, "each block does some");
            assert_eq!(entries(), still, "what is not done is still on the agenda");
            left = still;
            blocks += 1;
            assert_ok!(Leases::do_try_state());
        }
        assert!(blocks > 1, "they do not all fit one block");
        let ended = |id: LeaseId| lease(id).state == LeaseState::Ended(EndReason::Expired);
        assert!((0..1_000).all(|id| ended(id) && lease(id).escrow.paid == RATE));
        assert_eq!(AgendaPages::<Test>::iter().count(), 0);
    });
}

#[test]
fn what_a_block_leaves_free_is_used_for_the_agenda() {
    on_chain(|| {
        for id in 0..10 {
            open(id, Service, Second, HOUR);
        }
        advance(HOUR + BUCKET_MS);
        let (base, entry) = (<() as WeightInfo>::agenda_base(), <() as WeightInfo>::due_entry());
        assert_eq!(idle(Weight::zero()), Weight::zero());
        assert_eq!(idle(base), base);
        assert_eq!(live(0..10), 10);
        assert_eq!(idle(base + entry * 3 + entry / 2), base + entry * 3);
        assert_eq!(live(0..10), 7);
    });
}

#[test]
fn anyone_cranks_the_agenda_up_to_a_limit() {
    on_chain(|| {
        for id in 0..300 {
            open(id, Service, Second, HOUR);
        }
        assert_noop!(Leases::crank(signed(ANYONE), 10), Error::<Test>::NothingOnAgenda);
        advance(HOUR + BUCKET_MS);
        assert_noop!(Leases::crank(signed(ANYONE), 0), Error::<Test>::NothingOnAgenda);
        assert_ok!(Leases::crank(signed(ANYONE), 7));
        assert_eq!(live(0..300), 293);
        assert_ok!(Leases::crank(signed(ANYONE), u32::MAX));
        assert_eq!(live(0..300), 37);
        let after = Leases::crank(signed(ANYONE), 256).expect("there is some left");
        assert_eq!(after.actual_weight, Some(<() as WeightInfo>::crank(37)), "what was not done is not charged");
        assert_eq!(events().last(), Some(&Event::Cranked { entries: 37 }));
    });
}

#[test]
fn nothing_is_done_before_its_time() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        advance(HOUR - 1);
        next_block();
        assert!(lease(1).state.is_live());
        assert_eq!(entries(), 1);
    });
}

#[test]
fn a_clock_that_jumps_by_years_costs_no_more_and_forgets_nothing() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        open(2, Rental, Second, 300 * DAY);
        advance(20 * 365 * DAY);
        let weight = next_block();
        let (base, entry) = (<() as WeightInfo>::agenda_base(), <() as WeightInfo>::due_entry());
        assert_eq!(weight, base + entry * 2, "two entries were looked at, and nothing else");
        assert_eq!(lease(1).escrow.paid, RATE, "no more is paid than was deposited");
        assert!(matches!(lease(2).state, LeaseState::Retained(_)));
    });
}

#[test]
fn a_clock_that_jumps_back_ends_nothing_early() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        advance(HOUR / 2);
        pallet_timestamp::Now::<Test>::put(START - DAY);
        next_block();
        open(2, Service, Second, HOUR);
        assert_eq!(live(1..3), 2);
        pallet_timestamp::Now::<Test>::put(START + HOUR + BUCKET_MS);
        next_block();
        assert_eq!(live(1..3), 0);
    });
}

#[test]
fn a_lease_that_is_due_earlier_than_before_is_looked_at_then() {
    on_chain(|| {
        open(1, Service, Second, DAY);
        assert_ok!(Leases::reclaim(signed(PROVIDER), 1));
        assert_eq!(entries(), 2, "the entry for its first end is out of date");
        advance(NOTICE + BUCKET_MS);
        next_block();
        assert!(!lease(1).state.is_live());
        advance(DAY);
        next_block();
        assert_eq!((entries(), lease(1).state), (0, LeaseState::Ended(EndReason::Reclaimed)));
    });
}

#[test]
fn entries_of_a_lease_that_is_stopped_and_started_again_and_again_do_not_stay() {
    on_chain(|| {
        open(1, Rental, Second, DAY);
        for _ in 0..20 {
            advance(60_000);
            assert_ok!(Leases::suspend(signed(TENANT), 1));
            advance(60_000);
            assert_ok!(Leases::resume(signed(TENANT), 1));
        }
        assert!(entries() <= 2, "there are {} entries", entries());
        advance(2 * DAY);
        next_block();
        assert!(matches!(lease(1).state, LeaseState::Retained(_)));
        assert_eq!(entries(), 1, "the one for the purge");
    });
}

#[test]
fn what_is_refused_leaves_no_trace_and_is_tried_again() {
    on_chain(|| {
        open(1, Rental, Second, HOUR);
        advance(HOUR + BUCKET_MS);
        refuse(true);
        next_block();
        let again_at = Leases::now() + crate::due_leases::RETRY_DELAY_MS;
        let failed = Event::DueFailed { lease: 1, error: DispatchError::Unavailable, again_at };
        assert_eq!(events(), [failed]);
        assert!(lease(1).state.is_live());
        next_block();
        assert_eq!(events(), [], "not in each block");
        refuse(false);
        advance(crate::due_leases::RETRY_DELAY_MS + BUCKET_MS);
        next_block();
        assert!(!lease(1).state.is_live());
    });
}

#[test]
fn an_entry_of_a_lease_that_is_no_more_does_nothing() {
    on_chain(|| {
        Pallet::<Test>::agenda_add(START, 77);
        next_block();
        assert_eq!((entries(), events()), (0, vec![]));
    });
}

#[test]
fn a_bucket_is_a_pile_of_pages_and_the_earliest_bucket_comes_first() {
    on_chain(|| {
        for id in 0..200 {
            Pallet::<Test>::agenda_add(START + 10 * BUCKET_MS, id);
        }
        Pallet::<Test>::agenda_add(START, 1_000);
        assert_eq!(AgendaPages::<Test>::iter_values().collect::<Vec<_>>(), [1, 4]);
        assert_ok!(Leases::do_try_state());
        let now = START + 20 * BUCKET_MS;
        let mut taken = Vec::new();
        while let Some(bucket) = Pallet::<Test>::due_bucket(now) {
            taken.push(Pallet::<Test>::agenda_take(bucket).expect("a bucket has entries"));
            assert_ok!(Leases::do_try_state());
        }
        assert_eq!(taken[0], 1_000);
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 201);
    });
}
