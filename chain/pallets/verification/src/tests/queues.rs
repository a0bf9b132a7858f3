use frame_support::{assert_noop, assert_ok, weights::Weight};
use gantry_primitives::{ChallengePhase, Matter, Queue};

use crate::{mock::*, queues::SEED_DELAY, Challenges, CurrentParams, Ends, Error, Queued, SeenRandomness, WeightInfo};

fn in_phase(phase: ChallengePhase) -> usize {
    Challenges::<Test>::iter_values().filter(|record| record.phase == phase).count()
}

/// So many hosts of [`OTHER_PROVIDER`], each challenged by root.
fn challenged(count: u32) {
    network(|network| {
        let like = network.hosts[&account(HOST + 1)].clone();
        for number in 0..count {
            network.hosts.insert(host_number(number), like.clone());
        }
    });
    for number in 0..count {
        assert_ok!(Verification::open_challenge(RuntimeOrigin::root(), host_number(number), 0, None));
    }
}

fn host_number(number: u32) -> gantry_primitives::HostId {
    gantry_primitives::HostId::new(sp_io::hashing::blake2_256(&number.to_le_bytes()))
}

/// A block has time for the hook and so many steps.
fn time_for(steps: u64) {
    let step = <() as WeightInfo>::advance().max(<() as WeightInfo>::draw_seed());
    HookWeight::set(&(<() as WeightInfo>::hook() + step.saturating_mul(steps)));
}

#[test]
fn a_seed_is_drawn_in_the_second_block_after_the_one_that_asked_at_the_earliest() {
    on_chain(|| {
        let id = open_challenge(OPENER);
        let asked_in = System::block_number() as u32;
        next_block();
        assert_eq!(in_phase(ChallengePhase::Waiting), 1);
        next_block();
        assert_eq!(in_phase(ChallengePhase::Answering), 1);
        assert_eq!(System::block_number() as u32, asked_in + SEED_DELAY);
        assert!(Challenges::<Test>::get(id).is_some_and(|record| record.ballot.asked_in == asked_in));
    });
}

#[test]
fn what_does_not_fit_into_a_block_waits_for_the_next_and_nothing_is_lost() {
    on_chain(|| {
        time_for(7);
        CurrentParams::<Test>::mutate(|params| params.answer_ms = 100 * BLOCK_MS);
        challenged(100);
        next_block();
        for block in 1..=15usize {
            next_block();
            assert_eq!(in_phase(ChallengePhase::Answering), (7 * block).min(100));
        }
        pass(100 * BLOCK_MS);
        for block in 1..=15usize {
            next_block();
            assert_eq!(Challenges::<Test>::iter().count(), 100usize.saturating_sub(7 * block));
        }
        assert_eq!(Queued::<Test>::iter().count(), 0);
    });
}

#[test]
fn a_hook_without_time_does_nothing_and_says_so() {
    on_chain(|| {
        HookWeight::set(&Weight::zero());
        open_challenge(OPENER);
        blocks(5);
        assert_eq!(in_phase(ChallengePhase::Waiting), 1);
        time_for(1);
        blocks(2);
        assert_eq!(in_phase(ChallengePhase::Answering), 1);
    });
}

#[test]
fn a_jump_of_the_clock_ends_every_phase_once() {
    on_chain(|| {
        challenged(5);
        blocks(2);
        pass(10 * 365 * 24 * 3_600_000);
        next_block();
        assert_eq!(Challenges::<Test>::iter().count(), 0);
        pass(u64::MAX / 2);
        blocks(3);
    });
}

#[test]
fn nobody_can_choose_the_block_of_a_seed() {
    on_chain(|| {
        let matter = Matter::Challenge(open_challenge(OPENER));
        pass(1_000_000);
        assert_noop!(Verification::advance(signed(ANYONE), matter), Error::<Test>::WaitsForSeed);
        next_block();
        assert_noop!(Verification::advance(signed(ANYONE), matter), Error::<Test>::WaitsForSeed);
    });
}

#[test]
fn a_matter_that_went_on_before_leaves_an_entry_that_does_nothing() {
    on_chain(|| {
        let (matter, members) = answered();
        let of = |queue: Queue| Ends::<Test>::get()[queue as usize];
        assert_eq!(of(Queue::Answer).head, 0, "its entry is still there");
        wait_past(ANSWER);
        assert_eq!(of(Queue::Answer).head, 1);
        assert_eq!(in_phase(ChallengePhase::Committing), 1);
        assert_ok!(commit(matter, &members[0], gantry_primitives::Vote::Yes));
    });
}

#[test]
fn entries_out_of_date_cost_a_block_less_than_steps() {
    on_chain(|| {
        let look = <() as WeightInfo>::stale_entry();
        let step = <() as WeightInfo>::advance().max(<() as WeightInfo>::draw_seed());
        assert!(look.ref_time() * 20 < step.ref_time());
        for task in 0..100 {
            Verification::schedule(Queue::Appeal, Matter::Dispute(task), 0);
        }
        HookWeight::set(&(<() as WeightInfo>::hook() + look.saturating_mul(60)));
        next_block();
        assert_eq!(Queued::<Test>::iter().count(), 40, "those of disputes that nobody has opened");
        next_block();
        assert_eq!(Queued::<Test>::iter().count(), 0);
    });
}

#[test]
fn a_chain_on_which_nothing_waits_keeps_nothing() {
    on_chain(|| {
        blocks(3);
        assert!(SeenRandomness::<Test>::get().is_none());
        open_challenge(OPENER);
        blocks(3);
        assert!(SeenRandomness::<Test>::get().is_none());
    });
}
