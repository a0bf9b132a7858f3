//! Strategies of schedulers, and of providers that work with one. As in strategies.rs, a strategy plays one round and
//! returns the cost of the work that it did.

use frame_support::assert_ok;
use gantry_primitives::{Ask, PodPlacement, TaskId, TaskKind, TaskState, UpTo, MAX_PODS};
use gantry_runtime::{Hosts, Runtime, Tasks, GTY};
use pallet_gantry_tasks::Schedulers;

use super::{setup::*, strategies::*};

/// The scheduler of the cheat, who is also the provider of host [`CHEAT`].
const SCHEDULER: u8 = CHEATS[0];

/// Bonds the scheduler, anew where penalties have left too little of its bond.
fn bond() {
    if !Schedulers::<Runtime>::contains_key(account(SCHEDULER)) {
        assert_ok!(Tasks::bond_scheduler(signed(SCHEDULER)));
    }
}

fn ask_for(rate: u128) {
    assert_ok!(Hosts::set_ask(signed(SCHEDULER), host(CHEAT), Ask { gpu_per_hour: rate, ..ask() }));
}

/// One pod on the first device of a host, planned with this rate.
fn at(number: u8, rate_per_hour: u128) -> UpTo<PodPlacement, MAX_PODS> {
    let devices = vec![0].try_into().expect("one fits");
    vec![PodPlacement { pod: 0, host: host(number), devices, rate_per_hour }].try_into().expect("one fits")
}

/// A job whose tenant would pay twice what hosts ask for.
fn generous() -> gantry_primitives::TaskSpec {
    gantry_primitives::TaskSpec { max_rate_per_hour: 2 * RATE, ..job() }
}

/// Finding 10: asks for little until a pod is planned, then raises the price to the limit of the tenant.
pub fn raise_the_price_of_a_planned_pod() -> i128 {
    bond();
    ask_for(RATE);
    let task = submit(TENANT, generous());
    ask_for(2 * RATE);
    assert!(Tasks::assign(signed(SCHEDULER), task, at(CHEAT, RATE)).is_err(), "the rate is above the plan");
    ask_for(RATE);
    assert_ok!(Tasks::cancel(signed(TENANT), task));
    0
}

/// Finding 10: places a pod on an own host at the limit of the tenant, although others ask for half of it. Somebody notices.
pub fn favour_an_own_host() -> i128 {
    bond();
    ask_for(2 * RATE);
    // The offers of the others have stood for a while, and their scores are older than the assignment.
    wait(5 * MINUTE, &HOSTS);
    wait(1, &[]);
    let task = submit(TENANT, generous());
    assert_ok!(Tasks::assign(signed(SCHEDULER), task, at(CHEAT, 2 * RATE)));
    let lease = Tasks::leases_of(task).expect("it exists")[0].0;
    let device = vec![0].try_into().expect("one fits");
    assert_ok!(Tasks::report_self_assignment(signed(TENANT), lease, host(HONEST), device));
    // A host that ran the pod would have a better score than the others afterwards, and with it a reason to be chosen.
    assert_ok!(Tasks::cancel(signed(TENANT), task));
    ask_for(RATE);
    0
}

/// Finding 10: makes a spot task of a competitor leave for a task that cannot run.
pub fn preempt_for_nothing() -> i128 {
    bond();
    let mut spot = job();
    spot.spot = true;
    let (victim, leases) = start(TENANT, spot, &[HONEST]);
    let mut wanting = spec(TaskKind::Job, 1);
    (wanting.priority, wanting.resources.gpus.count) = (255, 9);
    let wanting: TaskId = submit(CHEATS[1], wanting);
    let told =
        Tasks::preempt(signed(SCHEDULER), wanting, vec![victim].try_into().expect("one fits"), at(HONEST, u128::MAX));
    assert!(told.is_err(), "the task does not fit");
    assert!(Tasks::finish_preemption(signed(SCHEDULER), wanting).is_err(), "nobody was told to leave");
    assert_eq!(record(victim).state, TaskState::Running);
    pass(LONG, &HOSTS);
    finish(HONEST, leases[0], LONG);
    paid(victim);
    assert_ok!(Tasks::cancel(signed(CHEATS[1]), wanting));
    0
}

/// Finding 10: leaves at once, to be out of reach of any penalty.
pub fn leave_at_once() -> i128 {
    bond();
    let before = free(SCHEDULER);
    assert_ok!(Tasks::unbond_scheduler(signed(SCHEDULER)));
    assert_eq!(free(SCHEDULER), before, "the bond is held");
    assert_ok!(Tasks::bond_scheduler(signed(SCHEDULER)));
    0
}

/// Assigns the job of a tenant to the cheapest host, and has its share of the fee. The cost of a plan is little.
pub fn schedule_honestly() -> i128 {
    bond();
    let task = submit(TENANT, job());
    assert_ok!(Tasks::assign(signed(SCHEDULER), task, at(HONEST, RATE)));
    let lease = Tasks::leases_of(task).expect("it exists")[0].0;
    assert_ok!(Tasks::report_started(by_host(HONEST), lease));
    pass(LONG, &HOSTS);
    finish(HONEST, lease, LONG);
    paid(task);
    (GTY / 100_000) as i128
}
