//! What offers, tickets and attestations do, and what abuse of them costs.

mod agreements;
mod attestations;
mod offers;
mod random_calls;
mod tickets;
