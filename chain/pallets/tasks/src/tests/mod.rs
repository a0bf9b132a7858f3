//! The lifecycle of tasks. Every test ends with the invariants of every pallet.

mod agenda;
mod assigning;
mod attacks;
mod audits;
mod batches;
mod endings;
mod evidence;
mod feeless;
mod genesis;
mod halts;
mod judging;
mod layouts;
mod money;
mod preempting;
mod pruning;
mod random_calls;
mod rating;
mod rentals;
mod reports;
mod schedulers;
mod services;
mod shares;
mod storage;
mod submitting;
mod surviving;
