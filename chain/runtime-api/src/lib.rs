//! The runtime APIs that are Gantry's own.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

use alloc::vec::Vec;
use sp_runtime::{
    transaction_validity::{TransactionSource, TransactionValidity},
    OpaqueExtrinsic,
};

sp_api::decl_runtime_apis! {
    /// Checks of several transactions in one call: to begin a call takes a node a good part of the time of a check.
    pub trait BatchValidation {
        /// The answers of `TaggedTransactionQueue::validate_transaction` about each of these transactions alone. `None`
        /// where a transaction cannot be decoded.
        fn validate_transactions(
            source: TransactionSource,
            transactions: Vec<OpaqueExtrinsic>,
            block_hash: Block::Hash,
        ) -> Vec<Option<TransactionValidity>>;
    }
}
