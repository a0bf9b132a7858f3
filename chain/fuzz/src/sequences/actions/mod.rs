//! What a step may do, as a table: each call of Gantry's pallets, some calls of others, and the next block; with arguments
//! and callers that make sense as a rule.

mod agreements;
mod blocks;
mod governance;
mod hosts;
mod leases;
mod tasks;
mod verification;

use std::sync::LazyLock;

use gantry_runtime::{AccountId, RuntimeCall, RuntimeOrigin};

use super::{
    chain::NextBlock,
    choices::Choices,
    subjects::{by, Found},
};

/// What a step does.
pub enum Operation {
    /// A call, and who makes it.
    Call(Box<RuntimeCall>, RuntimeOrigin),
    /// The next block.
    Block(NextBlock),
}

/// One line of the table.
#[derive(Clone, Copy)]
pub struct Action {
    /// Pallet and call, or `Block.next`.
    pub name: &'static str,
    /// How often mutations insert it, against the others.
    pub weight: u32,
    /// Makes one.
    pub make: fn(&mut Choices) -> Operation,
}

/// Every action. Inputs in bytes name an action by its place, those in text by its name.
pub static ACTIONS: LazyLock<Vec<Action>> = LazyLock::new(|| {
    [
        blocks::ACTIONS,
        tasks::ACTIONS,
        leases::ACTIONS,
        hosts::ACTIONS,
        verification::ACTIONS,
        governance::ACTIONS,
        agreements::ACTIONS,
    ]
    .concat()
});

/// Defines `ACTIONS`, a part of the table: names, weights, and closures that make an action from [`Choices`].
macro_rules! actions {
    ($($name:literal $weight:literal $make:expr;)*) => {
        pub const ACTIONS: &[super::Action] = &[$(super::Action { name: $name, weight: $weight, make: $make },)*];
    };
}
use actions;

fn call(call: impl Into<RuntimeCall>, origin: RuntimeOrigin) -> Operation {
    Operation::Call(Box::new(call.into()), origin)
}

fn signed_by(who: AccountId) -> RuntimeOrigin {
    RuntimeOrigin::signed(who)
}

/// The host of a lease, as a rule.
fn host_of(choices: &mut Choices, found: &Found) -> RuntimeOrigin {
    by(choices, found.host.clone())
}
