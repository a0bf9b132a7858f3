//! Strategies of hosts and tenants, each with the finding of the chain audit that it comes from. A strategy plays one round
//! and returns the cost of the work that it did, which is not on the chain.
//!
//! Accounts: 1 is an honest tenant, 2 an honest provider with host 12, 3 and 4 are accounts of one cheat with hosts 13 and
//! 14, 5 to 8 are other honest providers with hosts 15 to 18.

use frame_support::assert_ok;
use gantry_primitives::{EndReason, HostFailure, LeaseState, Report, TaskKind, TaskState, VerificationPolicy};
use gantry_runtime::{Hosts, Leases, Runtime, Tasks};

use super::setup::*;

pub const TENANT: u8 = 1;
pub const HONEST: u8 = 12;
pub const CHEAT: u8 = 13;
pub const SECOND_CHEAT: u8 = 14;
/// The accounts of the cheat: two with hosts, and four verifiers.
pub const CHEATS: [u8; 6] = [3, 4, 50, 51, 52, 53];
/// Every host.
pub const HOSTS: [u8; 7] = [12, 13, 14, 15, 16, 17, 18];

pub const LONG: u64 = 50 * MINUTE;

/// Free calls of one round of a flood, the `ref_time` of each, and the fee that anybody else would pay for it.
pub const FLOOD: u64 = 1_000;
pub const CALL_REF_TIME: u64 = 250_000_000;
pub const CALL_FEE: gantry_primitives::Balance = CALL_REF_TIME as gantry_primitives::Balance;

/// Finding 1: sends free calls as fast as blocks take them.
pub fn flood_free_calls() -> i128 {
    let who = host(CHEAT);
    for _ in 0..FLOOD {
        let call = Hosts::free_call(&who, CALL_REF_TIME, CALL_FEE).expect("the bond covers it");
        assert_ok!(Hosts::use_free_call(&who, call, CALL_REF_TIME, u64::MAX));
    }
    pass(dispute_window_ms(), &HOSTS);
    0
}

/// Lets the dispute window pass and settles.
pub fn paid(task: u64) {
    wait(dispute_window_ms(), &HOSTS);
    settle(task);
}

fn dispute_window_ms() -> u64 {
    pallet_gantry_tasks::CurrentParams::<Runtime>::get().dispute_window_ms
}

/// Runs a job and reports its result.
pub fn run_a_job() -> i128 {
    let (task, leases) = start(TENANT, job(), &[CHEAT]);
    pass(LONG, &HOSTS);
    finish(CHEAT, leases[0], LONG);
    paid(task);
    cost(LONG)
}

/// Finding 2: starts a job, runs nothing and reports nothing.
pub fn stall_a_job() -> i128 {
    let (task, leases) = start(TENANT, job(), &[CHEAT]);
    pass(HOUR + pallet_gantry_tasks::CurrentParams::<Runtime>::get().report_grace_ms + 1, &HOSTS);
    assert_ok!(Tasks::expire_lease(signed(CHEATS[0]), leases[0]));
    assert!(matches!(record(task).state, TaskState::Failed(_)));
    0
}

/// Finding 2: stalls as one of two replicas, so that the task fails.
pub fn stall_a_replica() -> i128 {
    let mut spec = spec(TaskKind::Job, 2);
    spec.verification = VerificationPolicy::Redundant { replicas: 2 };
    let (task, leases) = start(TENANT, spec, &[HONEST, CHEAT]);
    pass(HOUR + pallet_gantry_tasks::CurrentParams::<Runtime>::get().report_grace_ms + 1, &HOSTS);
    assert_ok!(Tasks::expire_lease(signed(CHEATS[0]), leases[1]));
    assert!(!record(task).state.tag().is_final(), "the task goes on");
    assert_ok!(Tasks::cancel(signed(TENANT), task));
    0
}

/// Finding 2: two hosts of one provider in a gang; one runs nothing, the other gives its pod up late.
pub fn abort_an_own_gang() -> i128 {
    let (task, leases) = start(TENANT, spec(TaskKind::Job, 2), &[CHEAT, SECOND_CHEAT]);
    pass(LONG, &HOSTS);
    refuse(SECOND_CHEAT, leases[1], HostFailure::ImageInvalid);
    assert_ok!(Tasks::cancel(signed(TENANT), task));
    0
}

/// Runs a rental until its end.
pub fn run_a_rental() -> i128 {
    let (task, leases) = start(TENANT, spec(TaskKind::Rental, 1), &[CHEAT]);
    pass(HOUR + 1, &HOSTS);
    assert_ok!(Tasks::expire_lease(signed(39), leases[0]));
    paid(task);
    put_away(CHEAT, leases[0]);
    cost(HOUR)
}

/// Finding 3: runs a rental, then leaves it with a reason that blames the tenant, and removes the data.
pub fn leave_a_rental() -> i128 {
    let (task, leases) = start(TENANT, spec(TaskKind::Rental, 1), &[CHEAT]);
    pass(LONG, &HOSTS);
    refuse(CHEAT, leases[0], HostFailure::ImageInvalid);
    assert_ok!(Tasks::report(by_host(CHEAT), leases[0], Report::DataLost));
    paid(task);
    cost(LONG)
}

/// Runs a service until its tenant ends it.
pub fn run_a_service() -> i128 {
    let (task, _) = start(TENANT, spec(TaskKind::Service, 1), &[CHEAT]);
    pass(LONG, &HOSTS);
    assert_ok!(Tasks::end(signed(TENANT), task));
    paid(task);
    cost(LONG)
}

/// Finding 3: starts a service, runs nothing, and leaves with a reason that blames the tenant.
pub fn leave_a_service() -> i128 {
    let (task, leases) = start(TENANT, spec(TaskKind::Service, 1), &[CHEAT]);
    pass(LONG, &HOSTS);
    refuse(CHEAT, leases[0], HostFailure::ImageInvalid);
    assert_ok!(Tasks::cancel(signed(TENANT), task));
    0
}

/// Finding 4: refuses every pod. Each task runs elsewhere, and never comes back.
pub fn refuse_everything() -> i128 {
    let task = submit(TENANT, job());
    let leases = assign(TENANT, task, &[CHEAT]);
    refuse(CHEAT, leases[0], HostFailure::ResourcesUnavailable);
    assert!(try_assign(TENANT, task, &[CHEAT]).is_err(), "it is excluded");
    let leases = assign(TENANT, task, &[SECOND_CHEAT]);
    refuse(SECOND_CHEAT, leases[0], HostFailure::ResourcesUnavailable);
    let leases = assign(TENANT, task, &[HONEST]);
    assert_ok!(Tasks::report_started(by_host(HONEST), leases[0]));
    finish(HONEST, leases[0], 1);
    paid(task);
    0
}

/// Finding 4, and ADR 0037: refuses pods and blames the tenant.
pub fn blame_the_tenant() -> i128 {
    let task = submit(TENANT, job());
    let leases = assign(TENANT, task, &[CHEAT]);
    refuse(CHEAT, leases[0], HostFailure::ImageInvalid);
    assert_ok!(Tasks::cancel(signed(TENANT), task));
    0
}

/// A cheat as the tenant: images that do not start, to empty the bond of an honest host.
pub fn empty_a_bond() -> i128 {
    let task = submit(CHEATS[0], job());
    let leases = assign(CHEATS[0], task, &[HONEST]);
    refuse(HONEST, leases[0], HostFailure::ImageInvalid);
    assert_ok!(Tasks::cancel(signed(CHEATS[0]), task));
    0
}

/// Finding 5: holds a device until just before the start timeout, then cancels.
pub fn hold_a_device() -> i128 {
    let task = submit(CHEATS[0], job());
    assign(CHEATS[0], task, &[HONEST]);
    pass(10 * MINUTE, &HOSTS);
    assert_ok!(Tasks::cancel(signed(CHEATS[0]), task));
    0
}

/// Finding 5: ends a rental after a second, so that its disk stays held.
pub fn hold_a_disk() -> i128 {
    let mut spec = spec(TaskKind::Rental, 1);
    spec.resources.disk_gib = 100;
    let (task, leases) = start(CHEATS[0], spec, &[HONEST]);
    pass(SECOND, &HOSTS);
    assert_ok!(Tasks::end(signed(CHEATS[0]), task));
    let of = &record(task).leases[0];
    let LeaseState::Retained(until) = of.state else { panic!("the data is kept") };
    let owed_for_the_disk = 100 * ask().storage_gib_per_hour * u128::from(until - now()) / u128::from(HOUR);
    assert!(owed_for_the_disk <= of.escrow.accrued, "the disk is held for no longer than what was paid");
    wait(until - now(), &HOSTS);
    put_away(HONEST, leases[0]);
    paid(task);
    0
}

/// Finding 7: a host whose tenant is its own second account, with leases that cost nothing.
pub fn praise_itself_for_nothing() -> i128 {
    assert_ok!(Hosts::set_ask(signed(CHEATS[0]), host(CHEAT), gantry_primitives::Ask { gpu_per_hour: 0, ..ask() }));
    let before = score(CHEAT);
    let (task, leases) = start(CHEATS[1], job(), &[CHEAT]);
    pass(MINUTE, &HOSTS);
    finish(CHEAT, leases[0], MINUTE);
    assert_ok!(Tasks::accept_result(signed(CHEATS[1]), task));
    settle(task);
    assert_ok!(Tasks::rate(signed(CHEATS[1]), leases[0], 5));
    assert_eq!(score(CHEAT), before, "leases without a fee are no evidence");
    0
}

/// Finding 7: the same with leases that cost a little.
pub fn praise_itself_for_little() -> i128 {
    let before = score(CHEAT);
    let (task, leases) = start(CHEATS[1], job(), &[CHEAT]);
    pass(SECOND, &HOSTS);
    finish(CHEAT, leases[0], SECOND);
    assert_ok!(Tasks::accept_result(signed(CHEATS[1]), task));
    settle(task);
    assert_ok!(Tasks::rate(signed(CHEATS[1]), leases[0], 5));
    assert!(score(CHEAT) - before <= 100, "{} ppm more by a lease of a second", score(CHEAT) - before);
    0
}

/// Finding 7: bad ratings of leases that cost a little.
pub fn slander_for_little() -> i128 {
    let (task, leases) = start(CHEATS[0], job(), &[HONEST]);
    pass(SECOND, &HOSTS);
    finish(HONEST, leases[0], SECOND);
    assert_ok!(Tasks::accept_result(signed(CHEATS[0]), task));
    settle(task);
    let before = score(HONEST);
    assert_ok!(Tasks::rate(signed(CHEATS[0]), leases[0], 1));
    assert!(before.abs_diff(score(HONEST)) <= 100, "{} ppm less by one rating", before.abs_diff(score(HONEST)));
    cost(SECOND)
}

/// Reports its own absence by a second account, for the bounty.
pub fn report_its_own_absence() -> i128 {
    pass(absence_limit_ms() + 1, &[HONEST]);
    assert_ok!(Hosts::report_absent(signed(CHEATS[1]), host(CHEAT)));
    assert_ok!(Hosts::heartbeat(by_host(CHEAT)));
    pass(1, &HOSTS);
    0
}

/// Finding 8: reports every host that could not send heartbeats while the chain stood still, for the bounties.
pub fn report_hosts_after_a_halt() -> i128 {
    halt(2 * HOUR);
    for number in HOSTS.into_iter().filter(|number| ![CHEAT, SECOND_CHEAT].contains(number)) {
        let _ = Hosts::report_absent(signed(CHEATS[0]), host(number));
    }
    wait(1, &HOSTS);
    0
}

/// The score of a host in parts per million.
pub fn score(number: u8) -> u32 {
    gantry_runtime::Reputation::host_priority_ppm(&host(number))
}

/// The data of a rental is removed when its time is over.
fn put_away(number: u8, lease: u64) {
    let (task, _, _) = gantry_primitives::lease_parts(lease);
    if let LeaseState::Retained(until) = record(task).leases[0].state {
        wait(until.saturating_sub(now()), &HOSTS);
        assert_ok!(Tasks::report(by_host(number), lease, Report::Purged { receipt: [0; 32] }));
    }
    let ended =
        matches!(record(task).leases[0].state, LeaseState::Purged | LeaseState::Ended(EndReason::HostRefused(_)));
    assert!(ended);
}

/// Finding 10: a provider settles its own jobs, for the settler's share of the fee.
pub fn settle_its_own_job() -> i128 {
    let (task, leases) = start(TENANT, job(), &[CHEAT]);
    pass(LONG, &HOSTS);
    finish(CHEAT, leases[0], LONG);
    wait(dispute_window_ms(), &HOSTS);
    assert_ok!(Tasks::settle(signed(CHEATS[0]), task));
    cost(LONG)
}

/// A rental whose tenant pays for ten more days of its data, until a moment before they are over.
fn with_kept_data() -> (u64, u64, u64) {
    let (task, leases) = start(TENANT, spec(TaskKind::Rental, 1), &[CHEAT]);
    pass(LONG, &HOSTS);
    assert_ok!(Tasks::end(signed(TENANT), task));
    assert_ok!(Leases::keep(signed(TENANT), leases[0], 10 * 24 * HOUR, RATE));
    let LeaseState::Retained(until) = record(task).leases[0].state else { panic!("the data is kept") };
    paid(task);
    wait(until - now() - 1, &HOSTS);
    (task, leases[0], until)
}

/// Keeps the data of a rental for as long as its tenant pays for it.
pub fn keep_data() -> i128 {
    let (_, lease, until) = with_kept_data();
    wait(until - now(), &HOSTS);
    put_away(CHEAT, lease);
    cost(LONG)
}

/// Finding 11: takes what is paid for kept data, and loses the data just before the end.
pub fn lose_kept_data() -> i128 {
    let (_, lease, _) = with_kept_data();
    assert_ok!(Tasks::report(by_host(CHEAT), lease, Report::DataLost));
    cost(LONG)
}
