//! Sequences of calls on the real runtime. After each step every invariant of every pallet holds, no coin was made or
//! lost, and a call that is free of charge was accepted. docs/testing.md says how it is run.
//!
//! `input.rs` encodes and decodes inputs, `actions/` contains the table of actions, `choices.rs`, `subjects.rs` and
//! `arguments.rs` choose the caller, the subject and the arguments of a step from its bytes, `chain.rs` contains the
//! chain, `checks.rs` the conditions that must hold, `mutations.rs` the mutations of inputs, and `shrinking.rs`
//! shortens a failing input.
//!
//! The fuzzer (chain/fuzz) and a test of the runtime (chain/runtime/tests/sequences.rs) include this module.

pub mod actions;
mod arguments;
pub mod chain;
pub mod checks;
mod choices;
pub mod input;
pub mod mutations;
#[path = "../../../mock/src/rng.rs"]
pub mod rng;
pub mod shrinking;
mod subjects;

use std::{
    collections::BTreeMap,
    panic::{catch_unwind, AssertUnwindSafe},
};

use frame_support::dispatch::CheckIfFeeless;
use gantry_runtime::{Balances, System};
use sp_io::TestExternalities;
use sp_runtime::traits::Dispatchable;

use actions::{Operation, ACTIONS};
use choices::Choices;
use input::Step;

/// Why an input is a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The step after which something did not hold, counted from 0.
    pub step: usize,
    /// What did not hold.
    pub what: String,
}

impl Failure {
    /// Its kind: what did not hold, without numbers. Two failures of one kind are taken for the same.
    pub fn kind(&self) -> String {
        self.what.chars().filter(|letter| !letter.is_ascii_digit()).collect()
    }

    /// The known failure that it is, if it is one.
    pub fn known(&self) -> Option<&'static KnownFailure> {
        KNOWN_FAILURES.iter().find(|known| self.what.contains(known.what))
    }
}

/// A failure that is reported and not yet repaired. The fuzzer ends the input there and goes on.
pub struct KnownFailure {
    /// A part of what did not hold.
    pub what: &'static str,
    /// The file in chain/fuzz/failures that shows it.
    pub input: &'static str,
}

/// Every known failure. One that is repaired is removed here, and its input goes to chain/fuzz/seeds.
pub const KNOWN_FAILURES: &[KnownFailure] = &[];

/// How often each action was tried and how often it succeeded, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Tally(pub BTreeMap<&'static str, (u64, u64)>);

impl Tally {
    fn count(&mut self, name: &'static str, succeeded: bool) {
        let (tried, done) = self.0.entry(name).or_default();
        *tried += 1;
        *done += u64::from(succeeded);
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Self) {
        for (name, (tried, done)) in &other.0 {
            let sum = self.0.entry(name).or_default();
            *sum = (sum.0 + tried, sum.1 + done);
        }
    }

    /// Calls that were tried, and how many of them succeeded. Blocks are not counted.
    pub fn calls(&self) -> (u64, u64) {
        let calls = self.0.iter().filter(|(name, _)| **name != "Block.next").map(|(_, counts)| counts);
        calls.fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1))
    }

    /// The actions that never succeeded.
    pub fn never(&self) -> Vec<&'static str> {
        let done = |name: &str| self.0.get(name).is_some_and(|(_, done)| *done > 0);
        ACTIONS.iter().map(|action| action.name).filter(|name| !done(name)).collect()
    }
}

/// An event of a step.
pub enum StepEvent<'a> {
    /// What it does, before it is done.
    Begins(&'a Step, String),
    /// Why its call was refused.
    Refused(String),
}

type Listener<'a> = Option<&'a mut dyn FnMut(StepEvent)>;

/// Runs an input on a new chain. `listener` receives the events of each step.
pub fn run(steps: &[Step], tally: &mut Tally, mut listener: Listener) -> Result<(), Failure> {
    let mut chain = chain::start();
    for (position, step) in steps.iter().enumerate() {
        let failure = |what: String| Failure { step: position, what };
        let done = catch_unwind(AssertUnwindSafe(|| perform(&mut chain, step, &mut listener)));
        let answer = done.unwrap_or_else(|panic| Err(format!("PANIC: {}", message_of(panic.as_ref()))));
        tally.count(step.name(), answer.map_err(failure)?);
    }
    Ok(())
}

/// Performs a step and checks everything. Returns whether it succeeded.
fn perform(chain: &mut TestExternalities, step: &Step, listener: &mut Listener) -> Result<bool, String> {
    let mut notify = |event: StepEvent| {
        if let Some(listener) = listener {
            listener(event);
        }
    };
    let mut is_block = false;
    let succeeded = chain.execute_with(|| {
        let issued = Balances::total_issuance();
        let succeeded = match (ACTIONS[usize::from(step.action)].make)(&mut Choices::new(step.arguments)) {
            Operation::Call(call, origin) => {
                notify(StepEvent::Begins(step, format!("{call:?} by {:?}", origin.caller)));
                let free = call.is_feeless(&origin);
                let answer = call.clone().dispatch(origin);
                if let Err(refused) = &answer {
                    notify(StepEvent::Refused(format!("{:?}", refused.error)));
                }
                checks::check_answer(&call, free, &answer)?;
                answer.is_ok()
            }
            Operation::Block(next_block) => {
                notify(StepEvent::Begins(step, format!("{next_block:?}")));
                next_block.apply();
                is_block = true;
                true
            }
        };
        // The runtime reverts a refused call.
        if succeeded {
            checks::check_state(issued)?;
            System::reset_events();
        }
        Ok::<_, String>(succeeded)
    })?;
    if is_block {
        // As on a chain: the next block finds the state of this one in the trie.
        chain.commit_all()?;
    }
    Ok(succeeded)
}

/// What a panic said.
fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("(no message)").to_string()
}

/// An input as text in which each step is followed by what it does, and its end by whether it failed.
pub fn explain(steps: &[Step]) -> String {
    let mut text = String::new();
    let mut listener = |event: StepEvent| match event {
        StepEvent::Begins(step, what) => text.push_str(&format!("{step}\n    # {what}\n")),
        StepEvent::Refused(why) => text.push_str(&format!("    # refused: {why}\n")),
    };
    match run(steps, &mut Tally::default(), Some(&mut listener)) {
        Ok(()) => text.push_str("# Nothing failed.\n"),
        Err(Failure { step, what }) => text.push_str(&format!("# Step {} failed: {what}\n", step + 1)),
    }
    text
}
