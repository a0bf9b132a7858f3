//! Random calls by random accounts on all pallets. After each call every invariant holds and the sum of coins is
//! unchanged; a report is accepted exactly if it is free of charge; and no call weighs more than it declared.

mod arguments;
mod subjects;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        atomic::{AtomicU64, Ordering},
        Mutex,
    },
    thread,
    time::{Duration, Instant},
};

use frame_support::{
    assert_ok,
    dispatch::{CheckIfFeeless, GetDispatchInfo},
    storage::with_storage_layer,
    traits::{GetCallMetadata, GetCallName, UnfilteredDispatchable},
};
use gantry_primitives::HostStatus;
use sp_runtime::DispatchError;

use crate::{mock::*, Call};
use subjects::HOSTS;
use table::{Deed, ACTIONS};

/// Runs that are made however slow the machine is. After the time that GANTRY_RANDOM_SECONDS gives, by default 15
/// seconds, no further one begins, unless something has never succeeded.
const RUNS_AT_LEAST: u64 = 6;
/// What has not succeeded in so many runs will not.
const RUNS_AT_MOST: u64 = 120;
const STEPS: usize = 400;

/// Time passes, as a rule a little; most hosts say that they are there.
fn pass_time(rng: &mut SplitMix64) {
    if rng.one_in(3) {
        advance(rng.pick(&[1, 1_000, 20_000, START_TIMEOUT + 1, DISPUTE_WINDOW]));
    }
    if rng.one_in(25) {
        advance(rng.pick(&[ABSENCE_LIMIT + 1, HOUR, HOUR, 12 * HOUR, 25 * HOUR]));
    }
    let silent = rng.one_in(6);
    for number in HOSTS {
        let due = Hosts::host(&host(number)).is_ok_and(|record| {
            matches!(record.status, HostStatus::Online | HostStatus::Draining)
                && Hosts::now() >= record.last_heartbeat + HEARTBEAT_PERIOD
        });
        // The last one is not to be relied on.
        let forgets = (silent && rng.one_in(2)) || (number + 1 == HOSTS.end && !rng.one_in(8));
        if due && !forgets {
            assert_ok!(Hosts::heartbeat(host_origin(number)));
        }
    }
    if rng.one_in(15) {
        run_hooks();
    }
}

fn is_report(call: &RuntimeCall) -> bool {
    matches!(
        call,
        RuntimeCall::Tasks(
            Call::report_started { .. } | Call::report_result { .. } | Call::report_failed { .. } | Call::report { .. }
        )
    )
}

/// Does one thing, and says whether it succeeded.
fn step(told: &str, deed: Deed) -> bool {
    match deed {
        Deed::Call(call, origin) => {
            let told = format!("{told}: {call:?}");
            let free = call.is_feeless(&origin);
            let is_report = is_report(&call);
            let declared = call.get_dispatch_info().call_weight;
            let done = call.dispatch_bypass_filter(origin);
            let weighed = done.as_ref().map_or_else(|refused| refused.post_info, |info| *info).actual_weight;
            assert!(weighed.is_none_or(|weight| weight.all_lte(declared)), "{told} weighs {weighed:?} of {declared:?}");
            match done {
                Ok(_) => {
                    assert!(free || !is_report, "{told} succeeded and was not free");
                    true
                }
                Err(refused) => {
                    assert!(!free, "{told} was free and yet refused: {refused:?}");
                    assert_ne!(refused.error, DispatchError::Corruption, "{told}");
                    false
                }
            }
        }
        Deed::Decision(decision) => with_storage_layer(decision).is_ok(),
    }
}

/// One run. Counts, by what was done, how often it succeeded.
fn make_run(run: u64, succeeded: &mut BTreeMap<&'static str, u32>) {
    let mut rng = SplitMix64(run);
    let treasury = rng.pick(&[0, ED]);
    let mut builder = ExtBuilder { treasury, ..Default::default() };
    (builder.billing.scheduler_share_ppm, builder.billing.settler_share_ppm) = (200_000, 100_000);
    builder.leases.reclaim_notice_ms = rng.pick(&[1, START_TIMEOUT, NOTICE]);
    builder.tasks.max_attempts = 1 + rng.below(3) as u8;
    builder.tasks.max_refusals = 1 + rng.below(3) as u8;
    builder.hosts.verification_required = rng.one_in(2);
    let all: u64 = ACTIONS.iter().map(|action| action.weight).sum();
    builder.build_and_execute(|| {
        for number in HOSTS {
            let mut hardware = hardware();
            hardware.devices[1].simulated = rng.one_in(2);
            assert_ok!(register(provider_of(number), number, hardware));
            let _ = Hosts::verify(RuntimeOrigin::root(), host(number));
            assert_ok!(Hosts::heartbeat(host_origin(number)));
        }
        for provider in [PROVIDER, OTHER_PROVIDER] {
            assert_ok!(Tasks::bond_scheduler(signed(provider)));
        }
        for number in 0..STEPS {
            pass_time(&mut rng);
            let mut offset = rng.below(all);
            let action = ACTIONS
                .iter()
                .find(|action| {
                    let is_selected = offset < action.weight;
                    offset = offset.saturating_sub(action.weight);
                    is_selected
                })
                .expect("the offset is below the sum");
            let told = format!("run {run}, step {number}, {}", action.name);
            if step(&told, (action.make)(&mut rng)) {
                *succeeded.entry(action.name).or_default() += 1;
            }
            let complaint = std::panic::catch_unwind(check_everything);
            assert!(complaint.is_ok(), "{told} broke an invariant");
        }
    });
}

/// The calls of Gantry's pallets.
fn all_calls() -> BTreeSet<String> {
    ["Tasks", "Leases", "Hosts", "Billing"]
        .into_iter()
        .flat_map(|pallet| {
            let names = <RuntimeCall as GetCallMetadata>::get_call_names(pallet);
            names.iter().map(move |name| format!("{pallet}.{name}"))
        })
        .collect()
}

#[test]
fn the_table_has_every_call() {
    let listed: BTreeSet<String> = ACTIONS.iter().map(|action| action.name.to_string()).collect();
    assert_eq!(listed.len(), ACTIONS.len(), "each line has a name of its own");
    let missing: Vec<_> = all_calls().difference(&listed).cloned().collect();
    assert!(missing.is_empty(), "the table lacks {missing:?}");
    assert_eq!(Call::<Test>::get_call_names().len(), 29);
}

#[test]
fn random_calls_break_nothing() {
    let seconds = std::env::var("GANTRY_RANDOM_SECONDS").map_or(Ok(15), |text| text.parse());
    let limit = Duration::from_secs(seconds.expect("GANTRY_RANDOM_SECONDS is a number"));
    let begin = Instant::now();
    let (started, succeeded) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    // Each run has a chain of its own and is decided by its number alone: so they go side by side.
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| loop {
                let run = started.load(Ordering::Relaxed);
                let missing = succeeded.lock().unwrap().len() < ACTIONS.len();
                if run >= RUNS_AT_LEAST && begin.elapsed() >= limit && !(missing && run < RUNS_AT_MOST) {
                    break;
                }
                let mut counts = BTreeMap::new();
                make_run(1 + started.fetch_add(1, Ordering::Relaxed), &mut counts);
                let mut all = succeeded.lock().unwrap();
                for (name, count) in counts {
                    *all.entry(name).or_insert(0) += count;
                }
            });
        }
    });
    let (runs, succeeded) = (started.into_inner(), succeeded.into_inner().unwrap());
    println!("{runs} runs: {succeeded:#?}");
    // What never succeeds proves nothing.
    let never: Vec<_> = ACTIONS.iter().map(|action| action.name).filter(|name| !succeeded.contains_key(name)).collect();
    assert!(never.is_empty(), "{never:?} never succeeded in {runs} runs: {succeeded:?}");
}
