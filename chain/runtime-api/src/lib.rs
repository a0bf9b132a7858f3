//! What Gantry's node and runtime share: runtime APIs beyond the SDK's, and the priority of free calls.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

use alloc::vec::Vec;
use sp_runtime::{
    transaction_validity::{TransactionPriority, TransactionSource, TransactionValidity},
    OpaqueExtrinsic,
};

/// The priority that the runtime gives to free calls within the allowance of their host. It is above any reasonable tip and
/// below operational calls: with the priority 0 that no fee buys, free calls would wait behind all paying extrinsics, and
/// whoever filled blocks with those could make hosts miss their deadlines. The node's author recognises free calls by this
/// priority and leaves those beyond their share of a block in the pool, so that it still tries paying calls.
pub const FREE_PRIORITY: TransactionPriority = TransactionPriority::MAX / 2;

sp_api::decl_runtime_apis! {
    /// Validates several extrinsics in one call: starting a call takes a node about as long as validating one extrinsic.
    pub trait BatchValidation {
        /// Returns what `TaggedTransactionQueue::validate_transaction` returns for each of these extrinsics alone. `None` if
        /// an extrinsic cannot be decoded.
        fn validate_transactions(
            source: TransactionSource,
            transactions: Vec<OpaqueExtrinsic>,
            block_hash: Block::Hash,
        ) -> Vec<Option<TransactionValidity>>;
    }
}
