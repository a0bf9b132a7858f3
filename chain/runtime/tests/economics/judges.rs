//! Strategies of verifiers, of juries, and of those who open challenges and disputes. As in strategies.rs, a strategy plays
//! one round and returns the cost of the work that it did.
//!
//! 24 verifiers are bonded, of which the cheat has four.

use frame_support::assert_ok;
use gantry_primitives::{ChallengeId, DisputePhase, HostRecord, HostStatus, Matter, TaskId, TaskKind, Vote};
use gantry_runtime::{AccountId, Hosts, Runtime, RuntimeOrigin, System, Verification, GTY};

use super::{ballots::*, setup::*, strategies::*};

/// Every verifier.
pub const VERIFIERS: core::ops::Range<u8> = 50..74;
/// The verifiers of the cheat.
pub const CHEAT_VERIFIERS: [u8; 4] = [50, 51, 52, 53];
/// A verifier that works with nobody.
const OPENER: u8 = 60;
/// A host of an honest provider whose device is not what the host says, for verifiers to find out.
const FAKE: u8 = 18;
/// What it costs a verifier to check a proof or a result.
const CHECK: i128 = (GTY / 100) as i128;
/// One of so many challenged hosts is a fake.
const FAKES_ONE_IN: u64 = 4;
/// One of so many complaints about a result is right.
const RIGHT_ONE_IN: u64 = 3;

/// Verifiers bond, and hosts answer challenges.
pub fn appoint() {
    for number in HOSTS {
        let record = Hosts::host(&host(number)).expect("it is registered");
        Hosts::store(&host(number), &HostRecord { answers_challenges: true, ..record });
    }
    for who in VERIFIERS {
        assert_ok!(Verification::bond_verifier(signed(who)));
    }
    // Verifiers are drawn for matters of later blocks alone.
    System::set_block_number(System::block_number() + 1);
}

/// Brings bonds of verifiers back to what the chain asks for, and suspended hosts online.
pub fn restore() {
    for who in VERIFIERS {
        let record = pallet_gantry_verification::Verifiers::<Runtime>::get(account(who));
        if record.is_some_and(|record| record.bond < pallet_gantry_verification::Params::default().verifier_bond) {
            let _ = Verification::unbond_verifier(signed(who));
            assert_ok!(Verification::bond_verifier(signed(who)));
        }
    }
    System::set_block_number(System::block_number() + 1);
    for number in HOSTS {
        if Hosts::unsuspend(RuntimeOrigin::root(), host(number)).is_ok() {
            assert_ok!(Hosts::heartbeat(by_host(number)));
        }
    }
}

fn is_online(number: u8) -> bool {
    Hosts::host(&host(number)).is_ok_and(|record| record.status == HostStatus::Online)
}

fn is_cheat(who: &AccountId) -> bool {
    CHEAT_VERIFIERS.map(account).contains(who)
}

/// A challenge of a device, up to the votes.
fn challenge(opener: u8, number: u8) -> ChallengeId {
    wait(pallet_gantry_verification::CurrentParams::<Runtime>::get().challenge_rest_ms, &HOSTS);
    assert_ok!(Verification::open_challenge(signed(opener), host(number), 0, None));
    draw_committees();
    let challenge = last_challenge();
    assert_ok!(Verification::answer(by_host(number), challenge, [1; 32], u64::MAX));
    challenge
}

/// Committees and juries judge a matter until it is closed. Verifiers of the cheat vote as `cheat` says, others vote `truth`.
/// Returns how many seats the cheat had.
pub fn judge(matter: Matter, truth: Vote, cheat: impl Fn() -> Option<Vote>) -> i128 {
    let mut seats = 0;
    loop {
        let committee = vote(matter, |who| if is_cheat(who) { cheat() } else { Some(truth) });
        seats += committee.iter().filter(|who| is_cheat(who)).count() as i128;
        if ballot(matter).is_none() {
            return seats;
        }
        if members(matter).is_empty() {
            go_on(matter, truth);
        }
    }
}

/// A matter without a committee goes on until it has one, or is closed. Whoever is wronged by a verdict appeals.
fn go_on(matter: Matter, truth: Vote) {
    match matter {
        Matter::Challenge(id) => {
            draw_committees();
            if let Some(record) = pallet_gantry_verification::Challenges::<Runtime>::get(id) {
                assert_ok!(Verification::answer(RuntimeOrigin::signed(record.host), id, [1; 32], u64::MAX));
            }
        }
        Matter::Dispute(task) => {
            let record = pallet_gantry_verification::Disputes::<Runtime>::get(task).expect("it is open");
            let wronged = if truth == Vote::No { record.providers[0].clone() } else { record.opener.clone() };
            let is_wrong = record.verdict.is_some_and(|verdict| verdict != truth);
            match record.phase {
                DisputePhase::Waiting => draw_committees(),
                DisputePhase::Decided if is_wrong => {
                    assert_ok!(Verification::appeal(RuntimeOrigin::signed(wronged), task));
                }
                // The time of the hearing or of an appeal.
                _ => advance(matter),
            }
        }
        Matter::Results(_) | Matter::Service(_) => {}
    }
}

/// A host is challenged; the cheat's verifiers that are drawn vote as `cheat` says of the truth. Returns their seats.
fn judge_a_host(cheat: impl Fn(Vote) -> Option<Vote>) -> i128 {
    let is_fake = last_number().is_multiple_of(FAKES_ONE_IN);
    let (number, truth) = if is_fake { (FAKE, Vote::No) } else { (HONEST, Vote::Yes) };
    let challenge = challenge(OPENER, number);
    judge(Matter::Challenge(challenge), truth, || cheat(truth))
}

fn last_number() -> u64 {
    pallet_gantry_verification::NextChallengeId::<Runtime>::get()
}

/// Checks each proof and votes what it found.
pub fn check_proofs() -> i128 {
    judge_a_host(Some) * CHECK
}

/// Votes for every host without a check.
pub fn trust_every_host() -> i128 {
    judge_a_host(|_| Some(Vote::Yes));
    0
}

/// Votes on nothing.
pub fn stay_away() -> i128 {
    judge_a_host(|_| None);
    0
}

/// Finding 9: four verifiers have a competitor's host challenged and vote against it.
pub fn suspend_a_competitor() -> i128 {
    let challenge = challenge(CHEAT_VERIFIERS[0], HONEST);
    judge(Matter::Challenge(challenge), Vote::Yes, || Some(Vote::No));
    assert!(is_online(HONEST), "the host is not suspended");
    0
}

/// Finding 9: a provider has its own fake device challenged and its four verifiers vote for it.
pub fn attest_an_own_fake() -> i128 {
    let challenge = challenge(CHEATS[0], CHEAT);
    judge(Matter::Challenge(challenge), Vote::No, || Some(Vote::Yes));
    0
}

/// Finding 9: challenges a host while it restarts, which keeps it from an answer, but not for longer than it may be absent.
pub fn challenge_a_restart() -> i128 {
    wait(pallet_gantry_verification::CurrentParams::<Runtime>::get().challenge_rest_ms, &HOSTS);
    assert_ok!(Verification::open_challenge(signed(CHEAT_VERIFIERS[0]), host(HONEST), 0, None));
    draw_committees();
    wait(absence_limit_ms(), &HOSTS);
    let challenge = last_challenge();
    assert_ok!(Verification::answer(by_host(HONEST), challenge, [1; 32], u64::MAX));
    judge(Matter::Challenge(challenge), Vote::Yes, || Some(Vote::Yes));
    assert!(is_online(HONEST), "the host is not suspended");
    0
}

/// A job that a host has reported, and that nobody has settled.
fn reported(tenant: u8, number: u8) -> (TaskId, u64) {
    let (task, leases) = start(tenant, job(), &[number]);
    pass(LONG, &HOSTS);
    finish(number, leases[0], LONG);
    (task, leases[0])
}

/// A dispute about a lease is decided and closed. Returns the seats of the cheat.
fn dispute(opener: u8, task: TaskId, lease: u64, truth: Vote, cheat: impl Fn(Vote) -> Option<Vote>) -> i128 {
    let accused = vec![lease].try_into().expect("one fits");
    assert_ok!(Verification::open_dispute(signed(opener), task, accused, [1; 32]));
    judge(Matter::Dispute(task), truth, || cheat(truth))
}

fn judge_a_result(cheat: impl Fn(Vote) -> Option<Vote>) -> i128 {
    let (task, lease) = reported(TENANT, HONEST);
    let truth = if task % RIGHT_ONE_IN == 0 { Vote::Yes } else { Vote::No };
    dispute(TENANT, task, lease, truth, cheat)
}

/// Checks each result in dispute and votes what it found.
pub fn check_results() -> i128 {
    judge_a_result(Some) * CHECK
}

/// Votes for the host without a check.
pub fn trust_every_result() -> i128 {
    judge_a_result(|_| Some(Vote::No));
    0
}

/// Runs its job on an honest host and pays for it.
pub fn pay_for_a_job() -> i128 {
    let (task, _) = reported(CHEATS[0], HONEST);
    paid(task);
    0
}

/// A tenant complains although the result is right, and its verifiers on the jury vote for it.
pub fn complain_about_a_right_result() -> i128 {
    let (task, lease) = reported(CHEATS[0], HONEST);
    dispute(CHEATS[0], task, lease, Vote::No, |_| Some(Vote::Yes));
    0
}

/// A host reports results without any work. One tenant in three notices and complains.
pub fn invent_results() -> i128 {
    let (task, lease) = reported(TENANT, CHEAT);
    if task % 3 == 0 {
        dispute(TENANT, task, lease, Vote::Yes, |_| Some(Vote::No));
    } else {
        paid(task);
    }
    0
}

/// Finding 6: a gang with one pod on an own host, which invents its result, and one on a competitor's host; the tenant, who
/// is the same cheat, complains and is right.
pub fn slash_a_gang() -> i128 {
    let bond = Hosts::host(&host(HONEST)).expect("it is registered").bond;
    let (task, leases) = start(CHEATS[1], spec(TaskKind::Job, 2), &[CHEAT, HONEST]);
    pass(LONG, &HOSTS);
    finish(CHEAT, leases[0], LONG);
    finish(HONEST, leases[1], LONG);
    dispute(CHEATS[1], task, leases[0], Vote::Yes, |_| Some(Vote::Yes));
    assert!(Hosts::host(&host(HONEST)).expect("it is registered").bond >= bond, "who did its work is not slashed");
    0
}
