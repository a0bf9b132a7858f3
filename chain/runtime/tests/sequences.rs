//! Sequences of calls of all pallets: the seeds of the fuzzer (`scripts/fuzz chain`), and random mutations of them.
//! The target is the fuzzer's; this test runs it without coverage.

mod common;
#[allow(dead_code, reason = "the fuzzer uses the rest")]
#[path = "../../fuzz/src/sequences/mod.rs"]
mod sequences;

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{
        atomic::{AtomicU64, Ordering},
        Mutex,
    },
    thread,
    time::{Duration, Instant},
};

use frame_support::{
    dispatch::{Pays, PostDispatchInfo},
    traits::{fungible::Mutate, GetCallMetadata},
    weights::Weight,
};
use gantry_runtime::{Balances, Runtime, RuntimeCall, GTY};
use sequences::{
    actions::ACTIONS,
    chain,
    checks::{check_answer, check_state},
    explain, input,
    input::Step,
    mutations,
    rng::SplitMix64,
    run,
    shrinking::shrink,
    Tally,
};
use sp_runtime::DispatchError;

/// Inputs that are run however slow the machine is. After the time that GANTRY_RANDOM_SECONDS gives, by default 15
/// seconds, no further one begins.
const INPUTS_AT_LEAST: u64 = 20;
const PALLETS: [&str; 8] =
    ["Tasks", "Leases", "Hosts", "Billing", "Verification", "Governance", "Validators", "Agreements"];

fn inputs_of(folder: &str) -> Vec<(String, Vec<Step>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz").join(folder);
    let Ok(listed) = fs::read_dir(&folder) else { return Vec::new() };
    let mut paths: Vec<_> = listed.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("an input is text");
        let steps = input::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, steps)
    };
    paths.into_iter().map(read).collect()
}

/// Fails with the input as text, made shorter.
fn fail(steps: &[Step]) -> ! {
    let steps = shrink(steps, Duration::from_secs(60)).map_or(steps.to_vec(), |(steps, _)| steps);
    panic!(
        "An input fails. Put it into a file FILE.txt and repeat it: scripts/fuzz chain --repeat FILE.txt\n{}",
        explain(&steps)
    );
}

#[test]
fn the_table_has_every_call_of_our_pallets() {
    let names = |pallet: &'static str| {
        <RuntimeCall as GetCallMetadata>::get_call_names(pallet).iter().map(move |name| format!("{pallet}.{name}"))
    };
    let listed: BTreeSet<String> = ACTIONS.iter().map(|action| action.name.to_string()).collect();
    assert_eq!(listed.len(), ACTIONS.len(), "each action has a name of its own");
    let missing: Vec<_> = PALLETS.into_iter().flat_map(names).filter(|name| !listed.contains(name)).collect();
    assert!(missing.is_empty(), "the table lacks {missing:?}");
}

#[test]
fn text_and_bytes_say_the_same() {
    let mut rng = SplitMix64(1);
    let steps: Vec<_> = (0..input::MAX_STEPS).map(|_| mutations::random_step(&mut rng)).collect();
    assert_eq!(input::decode(&input::encode(&steps)), steps);
    assert_eq!(input::parse(&input::print(&steps)).as_ref(), Ok(&steps));
    assert!(input::parse("Tasks.unknown").is_err() && input::parse("Tasks.submit 256").is_err());
}

#[test]
fn every_seed_is_sound_and_every_action_succeeds_in_one() {
    let mut all = Tally::default();
    for (name, steps) in inputs_of("seeds") {
        if let Err(failure) = run(&steps, &mut all, None) {
            panic!("{name}: {failure:?}\n{}", explain(&steps));
        }
    }
    let (tried, succeeded) = all.calls();
    println!("{succeeded} of {tried} calls succeed");
    assert!(all.never().is_empty(), "{:?} never succeed", all.never());
    assert!(succeeded * 2 >= tried, "only {succeeded} of {tried} calls succeed");
}

#[test]
fn a_broken_invariant_is_noticed() {
    let after = |breaks: fn()| {
        chain::start().execute_with(|| {
            let issued = Balances::total_issuance();
            breaks();
            check_state(issued)
        })
    };
    assert_eq!(after(|| ()), Ok(()));
    let minted = after(|| assert!(Balances::mint_into(&chain::account(chain::TENANT), GTY).is_ok()));
    assert!(minted.is_err_and(|what| what.starts_with("COINS-1")));
    let lost = after(|| frame_system::Account::<Runtime>::remove(chain::account(chain::ANYONE)));
    assert!(lost.is_err_and(|what| what.starts_with("COINS-2")));
    let unlisted = after(|| drop(pallet_gantry_hosts::HostsByProvider::<Runtime>::clear(u32::MAX, None)));
    assert!(unlisted.is_err_and(|what| what.starts_with("hosts: HOST-1")));
}

#[test]
fn a_call_that_is_free_and_refused_is_noticed() {
    let report = RuntimeCall::from(pallet_gantry_tasks::Call::report_started { lease: 1 });
    let done = |actual_weight| Ok(PostDispatchInfo { actual_weight, pays_fee: Pays::Yes });
    let refused = || Err(DispatchError::CannotLookup.into());
    let kind = |free, answer| check_answer(&report, free, &answer).map_err(|what| what[..6].to_string());
    assert_eq!((kind(true, done(None)), kind(false, refused())), (Ok(()), Ok(())));
    assert_eq!(kind(true, refused()), Err("FREE-2".into()));
    assert_eq!(kind(false, done(None)), Err("FREE-1".into()));
    assert_eq!(kind(true, done(Some(Weight::MAX))), Err("WEIGHT".into()));
    let remark = RuntimeCall::from(frame_system::Call::remark { remark: Vec::new() });
    let unlisted = check_answer(&remark, true, &done(None)).expect_err("no pallet declares this call free");
    assert!(unlisted.starts_with("FREE-3"));
}

#[test]
fn every_known_failure_still_fails() {
    for known in sequences::KNOWN_FAILURES {
        let all = inputs_of("failures");
        let (_, steps) = all.iter().find(|(name, _)| name == known.input).expect("each known failure has an input");
        let failure = run(steps, &mut Tally::default(), None).expect_err("repaired: move the input to the seeds");
        assert!(failure.what.contains(known.what), "{}: {failure:?}", known.input);
    }
}

#[test]
fn no_mutation_of_a_seed_breaks_anything() {
    let seconds = std::env::var("GANTRY_RANDOM_SECONDS").map_or(Ok(15), |text| text.parse());
    let limit = Duration::from_secs(seconds.expect("GANTRY_RANDOM_SECONDS is a number"));
    let begin = Instant::now();
    let seeds: Vec<_> = inputs_of("seeds").into_iter().map(|(_, steps)| steps).collect();
    let (started, tally, failing) = (AtomicU64::new(0), Mutex::new(Tally::default()), Mutex::new(None));
    // Each input has a chain of its own and is decided by its number alone: so they go side by side.
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let mut own = Tally::default();
                loop {
                    let number = started.fetch_add(1, Ordering::Relaxed);
                    let enough = number >= INPUTS_AT_LEAST && begin.elapsed() >= limit;
                    if enough || failing.lock().unwrap().is_some() {
                        break;
                    }
                    let mut rng = SplitMix64(number);
                    let mut steps = mutations::cross(&rng.pick(&seeds), &rng.pick(&seeds), &mut rng);
                    mutations::mutate(&mut steps, &mut rng);
                    if run(&steps, &mut own, None).is_err_and(|failure| failure.known().is_none()) {
                        *failing.lock().unwrap() = Some(steps);
                    }
                }
                tally.lock().unwrap().add(&own);
            });
        }
    });
    if let Some(steps) = failing.into_inner().unwrap() {
        fail(&steps);
    }
    let ((tried, succeeded), inputs) = (tally.into_inner().unwrap().calls(), started.into_inner());
    println!("{inputs} inputs: {succeeded} of {tried} calls succeed");
    assert!(succeeded * 2 >= tried, "only {succeeded} of {tried} calls succeed");
}
