//! Accounts of tests, by number.

use gantry_primitives::{AccountId, Bytes, HostId};
use sp_core::{ed25519, Pair};

/// The account of this number.
pub fn account(who: u8) -> AccountId {
    AccountId::new([who; 32])
}

/// Returns the key pair of the host with this number.
pub fn host_pair(number: u8) -> ed25519::Pair {
    ed25519::Pair::from_seed(&[number; 32])
}

/// Returns the host with this number. It has a key pair, unlike an [`account`].
pub fn host(number: u8) -> HostId {
    HostId::new(host_pair(number).public().0)
}

/// Returns a text as a bounded vector.
pub fn bytes<const N: u32>(text: &str) -> Bytes<N> {
    text.as_bytes().to_vec().try_into().expect("the text fits")
}
