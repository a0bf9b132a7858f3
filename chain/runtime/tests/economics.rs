//! Honest and cheating strategies on the real runtime, with the parameters of production: no cheating strategy earns more
//! than the honest one, and none that harms others costs less than the bound that docs/economics.md states.
//!
//! `cargo test -p gantry-runtime --test economics -- --nocapture` prints the table.

mod common;
mod economics {
    pub mod strategies;
    pub mod world;
}

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Mutex,
    },
    thread,
};

use economics::{strategies::*, world::*};
use pallet_gantry_hosts::Params;

/// Rounds of one strategy. GANTRY_ROUNDS changes it: `scripts/test --long` plays 2,000.
fn rounds() -> u32 {
    std::env::var("GANTRY_ROUNDS").map_or(50, |text| text.parse().expect("GANTRY_ROUNDS is a number"))
}

/// What is known after so many rounds, in base units.
struct Outcome {
    /// What the accounts of the strategy gained, less the cost of their work.
    gain: i128,
    /// What honest tenants and providers gained.
    others: i128,
}

const OTHERS: [u8; 6] = [TENANT, 2, 5, 6, 7, 8];

/// Accounts with their hosts.
const PROVIDERS: [(u8, u8); 7] = [(2, 12), (3, 13), (4, 14), (5, 15), (6, 16), (7, 17), (8, 18)];

fn outcome(actors: &[u8], strategy: fn() -> i128) -> Outcome {
    play(|| {
        for (provider, number) in PROVIDERS {
            join(provider, number);
        }
        let before = (wealth(actors), wealth(&OTHERS));
        let mut work = 0;
        for _ in 0..rounds() {
            PROVIDERS.iter().for_each(|(provider, number)| restore_bond(*provider, *number));
            work += strategy();
        }
        check();
        Outcome { gain: wealth(actors) - before.0 - work, others: wealth(&OTHERS) - before.1 }
    })
}

fn gty(amount: i128) -> String {
    format!("{:.4}", amount as f64 / GTY_UNITS)
}

const GTY_UNITS: f64 = 1e12;

/// A cheating strategy, the honest one in the same place, and how much more the cheat may gain in all rounds.
struct Game {
    finding: &'static str,
    name: &'static str,
    cheat: fn() -> i128,
    honest: Option<fn() -> i128>,
}

const GAMES: &[Game] = &[
    Game { finding: "1", name: "flood free calls", cheat: flood_free_calls, honest: None },
    Game { finding: "2", name: "stall a job", cheat: stall_a_job, honest: Some(|| run_a_job(CHEAT)) },
    Game { finding: "2", name: "stall as a replica", cheat: stall_a_replica, honest: Some(|| run_a_job(CHEAT)) },
    Game { finding: "2", name: "abort an own gang", cheat: abort_an_own_gang, honest: Some(|| run_a_job(CHEAT)) },
    Game { finding: "3", name: "leave a rental", cheat: leave_a_rental, honest: Some(|| run_a_rental(CHEAT)) },
    Game { finding: "3", name: "leave a service", cheat: leave_a_service, honest: Some(|| run_a_service(CHEAT)) },
    Game { finding: "4", name: "refuse everything", cheat: refuse_everything, honest: Some(|| run_a_job(CHEAT)) },
    Game { finding: "4", name: "blame the tenant", cheat: blame_the_tenant, honest: Some(|| run_a_job(CHEAT)) },
    Game { finding: "4", name: "empty a bond as a tenant", cheat: empty_a_bond, honest: None },
    Game { finding: "5", name: "hold a device", cheat: hold_a_device, honest: None },
    Game { finding: "5", name: "hold a disk", cheat: hold_a_disk, honest: None },
    Game { finding: "7", name: "praise itself for nothing", cheat: praise_itself_for_nothing, honest: None },
    Game { finding: "7", name: "praise itself for little", cheat: praise_itself_for_little, honest: None },
    Game { finding: "7", name: "slander for little", cheat: slander_for_little, honest: None },
    Game { finding: "10", name: "settle its own job", cheat: settle_its_own_job, honest: Some(|| run_a_job(CHEAT)) },
    Game { finding: "11", name: "lose kept data", cheat: lose_kept_data, honest: Some(keep_data) },
    Game { finding: "-", name: "report its own absence", cheat: report_its_own_absence, honest: None },
];

#[test]
fn no_cheating_strategy_earns_more_than_the_honest_one() {
    let each = i128::from(rounds());
    // Each game has a chain of its own, and so they run side by side.
    let (next, ended) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(Game { cheat, honest, .. }) = GAMES.get(number) else { break };
                let found = outcome(&CHEATS, *cheat);
                // Doing nothing earns nothing.
                let bound = honest.map_or(0, |honest| outcome(&CHEATS, honest).gain);
                ended.lock().expect("no game has panicked").insert(number, (found, bound));
            });
        }
    });
    println!("| finding | strategy | gain per round, GTY | honest | others |\n|---|---|---|---|---|");
    let mut wrong = Vec::new();
    for (number, (found, bound)) in ended.into_inner().expect("no game has panicked") {
        let Game { finding, name, .. } = &GAMES[number];
        let [gain, most, others] = [found.gain, bound, found.others].map(|amount| gty(amount / each));
        println!("| {finding} | {name} | {gain} | {most} | {others} |");
        if found.gain > bound {
            wrong.push(*name);
        }
    }
    assert!(wrong.is_empty(), "these strategies earn more than honest ones: {wrong:?}");
}

#[test]
fn harm_costs_at_least_as_much_as_it_does() {
    let of = |cheat: fn() -> i128| outcome(&CHEATS, cheat);
    let bond = of(empty_a_bond);
    assert!(-bond.gain >= -bond.others && bond.others < 0, "{} {}", bond.gain, bond.others);
    let held = of(hold_a_device);
    let price = (RATE / 6) as i128 * i128::from(rounds());
    assert!(-held.gain >= price, "ten minutes cost {}, and the host asks for {price}", -held.gain);
    let flood = of(flood_free_calls);
    // What a bond of eight devices allows, and the fee for all else.
    let allowed = 8 * u64::from(Params::default().free_weight_us) * 1_000_000 / CALL_REF_TIME;
    let fees = (FLOOD - allowed) as i128 * CALL_FEE as i128 * i128::from(rounds());
    assert!(-flood.gain >= fees, "a flood costs {}, and others pay {fees} for the same", -flood.gain);
    let blamed = of(blame_the_tenant);
    assert!(blamed.gain < 0, "a host that blames the tenant pays for it");
}
