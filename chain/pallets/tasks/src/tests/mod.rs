//! The lifecycle of tasks. Every test ends with a check of the invariants of every pallet.

mod agenda;
mod anti_affinity;
mod assignment;
mod attacks;
mod audits;
mod batches;
mod feeless;
mod genesis;
mod halts;
mod migration;
mod money;
mod preemption;
mod pruning;
mod random_calls;
mod rating;
mod rentals;
mod reports;
mod schedulers;
mod self_assignment;
mod services;
mod shares;
mod storage;
mod submission;
mod termination;
mod terms;
mod verdicts;
