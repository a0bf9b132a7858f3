//! Transaction fees and their receivers.

use super::network::Treasury;
use crate::{coins::Coins, AccountId, Authorship, Balance, Balances, Hosts, Runtime, RuntimeEvent, System};
use frame_support::{
    dispatch::DispatchClass,
    pallet_prelude::OptionQuery,
    parameter_types, storage_alias,
    traits::{
        fungible::{Balanced, Credit},
        ConstU8, Imbalance, NoDrop, OnUnbalanced, PostTransactions, SuppressedDrop,
    },
    weights::{ConstantMultiplier, IdentityFee, Weight},
};
use frame_system::BlockWeight;
use pallet_transaction_payment::{FungibleAdapter, Multiplier, MultiplierUpdate, TargetedFeeAdjustment};
use sp_runtime::{
    traits::{Convert, Get, One, Zero},
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

/// Fees of the block's transactions that are not paid out yet: the author's share and the treasury's.
#[storage_alias]
type CollectedFees = StorageValue<TransactionFees, (NoDrop<Fees>, NoDrop<Fees>), OptionQuery>;

/// Collects a fifth of each inclusion fee for the treasury, rounded down, so that an author that fills its own blocks pays
/// for them; the rest and the whole tip for the author: the tip is paid for the author's choice of the transaction.
///
/// [`PayCollectedFees`] pays them out once in a block. To credit both accounts for each transaction would take a quarter of
/// the reads of state that a transaction makes besides its call (docs/adr/0062).
pub struct CollectFees;

impl OnUnbalanced<Fees> for CollectFees {
    /// The inclusion fee of a transaction, then its tip.
    fn on_unbalanceds(mut fee_then_tip: impl Iterator<Item = Fees>) {
        let fee = fee_then_tip.next().unwrap_or_default();
        let tip = fee_then_tip.reduce(Imbalance::merge).unwrap_or_default();
        let (to_treasury, to_author) = fee.ration(1, 4);
        CollectedFees::mutate(|collected| {
            let (author, treasury) = collected.get_or_insert_default();
            author.as_mut().subsume(to_author.merge(tip));
            treasury.as_mut().subsume(to_treasury);
        });
    }
}

/// Pays the fees of a block to its author and to the treasury, after its last transaction.
pub struct PayCollectedFees;

impl PostTransactions for PayCollectedFees {
    fn post_transactions() {
        System::register_extra_weight_unchecked(
            <Runtime as frame_system::Config>::DbWeight::get().reads_writes(4, 3),
            DispatchClass::Mandatory,
        );
        let Some((author, treasury)) = CollectedFees::take() else { return };
        pay(Authorship::author(), author.into_inner());
        // Genesis gives the treasury the existential deposit, so that it can be credited.
        pay(Some(Treasury::get()), treasury.into_inner());
    }
}

/// Credits `fees`. Those that cannot be credited (no author, or one below the existential deposit) are burnt.
fn pay(to: Option<AccountId>, fees: Fees) {
    if let Some(to) = to.filter(|_| !fees.peek().is_zero()) {
        drop(Coins::resolve(&to, fees));
    }
}

impl pallet_transaction_payment::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type OnChargeTransaction = FungibleAdapter<Coins, CollectFees>;
    type WeightToFee = IdentityFee<Balance>;
    type LengthToFee = ConstantMultiplier<Balance, TransactionByteFee>;
    type FeeMultiplierUpdate = PaidLoad;
    type OperationalFeeMultiplier = ConstU8<5>;
    type WeightInfo = pallet_transaction_payment::weights::SubstrateWeight<Runtime>;
}

impl pallet_skip_feeless_payment::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
}
