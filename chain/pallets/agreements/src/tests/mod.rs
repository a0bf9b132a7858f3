//! What offers, tickets and attestations do, and what abuse of them costs.

mod attestations;
mod agreements;
mod offers;
mod random_calls;
mod tickets;
