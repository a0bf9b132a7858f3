//! What transactions cost and who gets it.

use super::network::Treasury;
use crate::{AccountId, Authorship, Balance, Balances, Hosts, Runtime, RuntimeEvent};
use frame_support::{
    dispatch::DispatchClass,
    parameter_types,
    traits::{
        fungible::{Balanced, Credit},
        tokens::imbalance::SplitTwoWays,
        ConstU8, Imbalance, OnUnbalanced,
    },
    weights::{ConstantMultiplier, IdentityFee, Weight},
};
use frame_system::BlockWeight;
use pallet_transaction_payment::{FungibleAdapter, Multiplier, MultiplierUpdate, TargetedFeeAdjustment};
use sp_runtime::{
    traits::{Convert, Get, One},
    FixedPointNumber, Perquintill,
};

parameter_types! {
    /// A byte in a block costs as much as ten microseconds of work.
    pub const TransactionByteFee: Balance = 10_000_000;
    /// Share of the room for normal calls above which fees rise, and below which they fall. Among several validators blocks
    /// are filled to less than half of that room, so that it must be well below a half.
    pub const TargetFullness: Perquintill = Perquintill::from_percent(25);
    /// With full blocks fees double within 310 blocks (10 minutes), with empty ones they halve within 920 (half an hour).
    pub AdjustmentVariable: Multiplier = Multiplier::saturating_from_rational(3, 1_000);
    /// A chain with room costs what the calls weigh.
    pub MinimumMultiplier: Multiplier = Multiplier::one();
    /// The most that a client has to be prepared for.
    pub MaximumMultiplier: Multiplier = Multiplier::saturating_from_integer(100);
}

/// The SDK's rule on a block with all its normal calls.
type Targeted =
    TargetedFeeAdjustment<Runtime, TargetFullness, AdjustmentVariable, MinimumMultiplier, MaximumMultiplier>;

/// The SDK's rule on the weight of the normal calls that pay. Free calls of hosts have a limit of their own (see
/// [`crate::charging`]); no fee reduces them, so that they must not raise the fees of others.
pub struct PaidLoad;

impl Convert<Multiplier, Multiplier> for PaidLoad {
    fn convert(previous: Multiplier) -> Multiplier {
        let all = BlockWeight::<Runtime>::get();
        let mut paid = all.clone();
        paid.reduce(Weight::from_parts(Hosts::free_weight_of_block(), 0), DispatchClass::Normal);
        BlockWeight::<Runtime>::put(paid);
        let next = Targeted::convert(previous);
        BlockWeight::<Runtime>::put(all);
        next
    }
}

impl MultiplierUpdate for PaidLoad {
    fn min() -> Multiplier {
        Targeted::min()
    }

    fn max() -> Multiplier {
        Targeted::max()
    }

    fn target() -> Perquintill {
        Targeted::target()
    }

    fn variability() -> Multiplier {
        Targeted::variability()
    }
}

/// Coins of which somebody has to be the owner again.
type Fees = Credit<AccountId, Balances>;

/// To the author of the block.
pub struct ToAuthor;

impl OnUnbalanced<Fees> for ToAuthor {
    fn on_nonzero_unbalanced(credit: Fees) {
        if let Some(author) = Authorship::author() {
            // What cannot be credited (an author below the existential deposit) is burnt with the credit.
            let _ = Balances::resolve(&author, credit);
        }
    }
}

/// To the treasury.
pub struct ToTreasury;

impl OnUnbalanced<Fees> for ToTreasury {
    fn on_nonzero_unbalanced(credit: Fees) {
        // Genesis gives the treasury the existential deposit, so that it can be credited.
        let _ = Balances::resolve(&Treasury::get(), credit);
    }
}

/// A fifth of the inclusion fee to the treasury, rounded down, so that an author that fills its own blocks pays for them.
/// The rest and the whole tip to the author: the tip is paid for the author's choice of the transaction.
pub struct ToTreasuryAndAuthor;

impl OnUnbalanced<Fees> for ToTreasuryAndAuthor {
    /// The inclusion fee of a transaction, then its tip.
    fn on_unbalanceds(mut fee_then_tip: impl Iterator<Item = Fees>) {
        if let Some(fee) = fee_then_tip.next() {
            SplitTwoWays::<Balance, Fees, ToTreasury, ToAuthor, 1, 4>::on_unbalanced(fee);
        }
        if let Some(tip) = fee_then_tip.reduce(Imbalance::merge) {
            ToAuthor::on_unbalanced(tip);
        }
    }
}

impl pallet_transaction_payment::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type OnChargeTransaction = FungibleAdapter<Balances, ToTreasuryAndAuthor>;
    type WeightToFee = IdentityFee<Balance>;
    type LengthToFee = ConstantMultiplier<Balance, TransactionByteFee>;
    type FeeMultiplierUpdate = PaidLoad;
    type OperationalFeeMultiplier = ConstU8<5>;
    type WeightInfo = pallet_transaction_payment::weights::SubstrateWeight<Runtime>;
}

impl pallet_skip_feeless_payment::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
}
