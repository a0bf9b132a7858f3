//! How each pallet is configured.

mod agreements;
pub mod consensus;
pub mod fees;
pub mod governance;
mod migrations;
mod network;
pub mod proxies;
pub mod session_keys;
pub mod system;
mod verification;
