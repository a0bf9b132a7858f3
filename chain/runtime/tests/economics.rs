//! Honest and cheating strategies on the real runtime, with the parameters of production: no cheating strategy earns more
//! than the honest one, and none that harms others costs less than the bound that docs/economics.md states.
//!
//! `cargo test -p gantry-runtime --test economics -- --nocapture` prints the table.

mod common;
mod economics {
    pub mod agreements;
    #[allow(dead_code, reason = "challenges.rs uses the rest")]
    pub mod ballots;
    pub mod judges;
    pub mod market;
    pub mod replicas;
    pub mod services;
    pub mod setup;
    pub mod strategies;
}

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Mutex,
    },
    thread,
};

use economics::{agreements::*, judges::*, market::*, replicas::*, services::*, setup::*, strategies::*};
use gantry_runtime::System;
use pallet_gantry_hosts::Params;

/// Rounds of one strategy. GANTRY_ROUNDS changes it: `scripts/test --long` plays 10,000.
fn rounds() -> u32 {
    std::env::var("GANTRY_ROUNDS").map_or(50, |text| text.parse().expect("GANTRY_ROUNDS is a number"))
}

/// What is known after so many rounds, in base units.
#[derive(Clone, Copy)]
struct Outcome {
    /// What the accounts of the strategy gained, less the cost of their work.
    gain: i128,
    /// What honest tenants, providers and verifiers gained.
    others: i128,
}

/// Accounts with their hosts.
const PROVIDERS: [(u8, u8); 7] = [(2, 12), (3, 13), (4, 14), (5, 15), (6, 16), (7, 17), (8, 18)];

/// A round of a strategy. Returns the cost of the work that was done.
type Strategy = fn() -> i128;

fn outcome(strategy: Strategy) -> Outcome {
    let others: Vec<u8> = [TENANT, 2, 5, 6, 7, 8].into_iter().chain(VERIFIERS.skip(CHEAT_VERIFIERS.len())).collect();
    play(|| {
        for (provider, number) in PROVIDERS {
            join(provider, number);
        }
        appoint();
        let before = (wealth(&CHEATS), wealth(&others));
        let mut work = 0;
        for _ in 0..rounds() {
            // The log of a block; a round looks at its own alone.
            System::reset_events();
            PROVIDERS.iter().for_each(|(provider, number)| restore_bond(*provider, *number));
            restore();
            work += strategy();
        }
        check();
        Outcome { gain: wealth(&CHEATS) - before.0 - work, others: wealth(&others) - before.1 }
    })
}

fn gty(amount: i128) -> String {
    format!("{:.4}", amount as f64 / GTY_UNITS)
}

const GTY_UNITS: f64 = 1e12;

/// A cheating strategy, and the honest one in the same place.
struct Game {
    actor: &'static str,
    /// The number of the rule's reason in docs/economics.md.
    finding: &'static str,
    name: &'static str,
    cheat: Strategy,
    /// None: to do nothing, which earns nothing.
    honest: Option<Strategy>,
}

const fn game(
    actor: &'static str,
    finding: &'static str,
    name: &'static str,
    cheat: Strategy,
    honest: Option<Strategy>,
) -> Game {
    Game { actor, finding, name, cheat, honest }
}

const GAMES: &[Game] = &[
    game("host", "1", "flood free calls", flood_free_calls, None),
    game("host", "2", "stall a job", stall_a_job, Some(run_a_job)),
    game("host", "2", "stall as a replica", stall_a_replica, Some(run_a_job)),
    game("host", "2", "abort an own gang", abort_an_own_gang, Some(run_a_job)),
    game("host", "3", "leave a rental", leave_a_rental, Some(run_a_rental)),
    game("host", "3", "leave a service", leave_a_service, Some(run_a_service)),
    game("host", "-", "serve nothing", serve_nothing, Some(run_a_service)),
    game("host", "-", "serve nothing, and blame the pod", blame_the_pod, Some(run_a_service)),
    game("tenant", "-", "close its own port", close_its_own_port, Some(pay_for_a_service)),
    game("host", "4", "refuse everything", refuse_everything, Some(run_a_job)),
    game("host", "4", "blame the tenant", blame_the_tenant, Some(run_a_job)),
    game("host", "-", "invent results", invent_results, Some(run_a_job)),
    game("host", "-", "lie as a replica", lie_as_a_replica, Some(run_a_job)),
    game("tenant", "-", "slash an own host", slash_an_own_host, None),
    game("tenant", "-", "outvote a host", outvote_a_host, None),
    game("host", "-", "lie in audited jobs", lie_where_audited, Some(run_an_audited_job)),
    game("host", "-", "lie when seldom audited", lie_when_trusted, Some(run_an_audited_job)),
    game("tenant", "-", "slash an own audited host", slash_an_own_audited_host, None),
    game("host", "7", "praise itself for nothing", praise_itself_for_nothing, None),
    game("host", "7", "praise itself for little", praise_itself_for_little, None),
    game("host", "9", "attest an own fake", attest_an_own_fake, None),
    game("host", "-", "report its own absence", report_its_own_absence, None),
    game("tenant", "4", "empty a bond", empty_a_bond, None),
    game("tenant", "5", "hold a device", hold_a_device, None),
    game("tenant", "5", "hold a disk", hold_a_disk, None),
    game("tenant", "6", "slash a gang", slash_a_gang, None),
    game("tenant", "7", "slander for little", slander_for_little, None),
    game("tenant", "-", "complain about a right result", complain_about_a_right_result, Some(pay_for_a_job)),
    game("scheduler", "10", "raise the price of a planned pod", raise_the_price_of_a_planned_pod, Some(run_a_job)),
    game("scheduler", "10", "favour an own host", favour_an_own_host, Some(run_a_job)),
    game("scheduler", "10", "preempt for nothing", preempt_for_nothing, Some(schedule_honestly)),
    game("scheduler", "10", "leave at once", leave_at_once, Some(schedule_honestly)),
    game("reporter", "8", "report hosts after a halt", report_hosts_after_a_halt, None),
    game("verifier", "9", "suspend a competitor", suspend_a_competitor, None),
    game("verifier", "9", "challenge a restart", challenge_a_restart, None),
    game("verifier", "-", "trust every host", trust_every_host, Some(check_proofs)),
    game("verifier", "-", "stay away", stay_away, Some(check_proofs)),
    game("juror", "-", "trust every result", trust_every_result, Some(check_results)),
    game("settler", "10", "settle its own job", settle_its_own_job, Some(run_a_job)),
    game("host", "11", "lose kept data", lose_kept_data, Some(keep_data)),
    game("tenant", "-", "lock a place by an agreement", lock_a_place, None),
    game("host", "-", "hide from the begin of an agreement", hide_from_the_begin, Some(keep_an_agreement)),
    game("host", "-", "refuse an agreed pod", refuse_an_agreed_pod, Some(keep_an_agreement)),
    game("host", "-", "leave an agreement", leave_an_agreement, Some(keep_an_agreement)),
];

/// The outcome of each strategy that a game names. Each has a chain of its own, and so they run side by side.
fn outcomes() -> BTreeMap<usize, Outcome> {
    let all: Vec<Strategy> = GAMES.iter().flat_map(|game| [Some(game.cheat), game.honest]).flatten().collect();
    let all: BTreeMap<usize, Strategy> = all.into_iter().map(|strategy| (strategy as usize, strategy)).collect();
    let all: Vec<(usize, Strategy)> = all.into_iter().collect();
    let (next, ended) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((key, strategy)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = outcome(*strategy);
                    ended.lock().expect("no game has panicked").insert(*key, found);
                }
            });
        }
    });
    ended.into_inner().expect("no game has panicked")
}

#[test]
fn no_cheating_strategy_earns_more_than_the_honest_one() {
    let each = i128::from(rounds());
    let outcomes = outcomes();
    println!("| actor | finding | strategy | gain per round, GTY | honest | others |\n|---|---|---|---|---|---|");
    let mut wrong = Vec::new();
    for Game { actor, finding, name, cheat, honest } in GAMES {
        let found = outcomes[&(*cheat as usize)];
        let bound = honest.map_or(0, |honest| outcomes[&(honest as usize)].gain);
        let [gain, most, others] = [found.gain, bound, found.others].map(|amount| gty(amount / each));
        println!("| {actor} | {finding} | {name} | {gain} | {most} | {others} |");
        if found.gain > bound {
            wrong.push(*name);
        }
    }
    assert!(wrong.is_empty(), "these strategies earn more than honest ones: {wrong:?}");
}

#[test]
fn harm_costs_at_least_as_much_as_it_does() {
    let bond = outcome(empty_a_bond);
    assert!(-bond.gain >= -bond.others && bond.others < 0, "{} {}", bond.gain, bond.others);
    let held = outcome(hold_a_device);
    let price = (RATE / 6) as i128 * i128::from(rounds());
    assert!(-held.gain >= price, "ten minutes cost {}, and the host asks for {price}", -held.gain);
    let flood = outcome(flood_free_calls);
    // What a bond of eight devices allows, and the fee for all else.
    let allowed = 8 * u64::from(Params::default().free_weight_us) * 1_000_000 / CALL_REF_TIME;
    let fees = (FLOOD - allowed) as i128 * CALL_FEE as i128 * i128::from(rounds());
    assert!(-flood.gain >= fees, "a flood costs {}, and others pay {fees} for the same", -flood.gain);
    let blamed = outcome(blame_the_tenant);
    assert!(blamed.gain < 0, "a host that blames the tenant pays for it");
}
