//! The life of tasks, told as sentences. Every test ends with every pallet's invariants.

mod assigning;
mod endings;
mod feeless;
mod genesis;
mod money;
//mod random_calls;
mod reports;
mod submitting;
