//! A validator's session keys.

use crate::{Babe, Grandpa};
use alloc::vec::Vec;
use sp_runtime::impl_opaque_keys;

impl_opaque_keys! {
    /// One key to make blocks, one to finalize them.
    pub struct SessionKeys {
        pub babe: Babe,
        pub grandpa: Grandpa,
    }
}
