//! What transactions cost and who gets it.

use crate::{AccountId, Authorship, Balance, Balances, Runtime, RuntimeEvent};
use frame_support::{
    parameter_types,
    traits::{
        fungible::{Balanced, Credit},
        ConstU8, OnUnbalanced,
    },
    weights::{ConstantMultiplier, IdentityFee},
};
use pallet_transaction_payment::{FungibleAdapter, Multiplier};
use sp_runtime::traits::One;

parameter_types! {
    /// A byte in a block costs as much as ten microseconds of work.
    pub const TransactionByteFee: Balance = 10_000_000;
    pub FeeMultiplier: Multiplier = Multiplier::one();
}

/// Fees go to the block's author.
pub struct ToAuthor;

impl OnUnbalanced<Credit<AccountId, Balances>> for ToAuthor {
    fn on_nonzero_unbalanced(credit: Credit<AccountId, Balances>) {
        if let Some(author) = Authorship::author() {
            // What cannot be credited (an author below the existential deposit) is burnt with the credit.
            let _ = Balances::resolve(&author, credit);
        }
    }
}

impl pallet_transaction_payment::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type OnChargeTransaction = FungibleAdapter<Balances, ToAuthor>;
    type WeightToFee = IdentityFee<Balance>;
    type LengthToFee = ConstantMultiplier<Balance, TransactionByteFee>;
    type FeeMultiplierUpdate = pallet_transaction_payment::ConstFeeMultiplier<FeeMultiplier>;
    type OperationalFeeMultiplier = ConstU8<5>;
    type WeightInfo = pallet_transaction_payment::weights::SubstrateWeight<Runtime>;
}

impl pallet_skip_feeless_payment::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
}
