//! Blocks, accounts and coins.

use super::fees::PayCollectedFees;
use crate::{
    AccountId, Balance, Balances, Block, Hash, Migrations, Nonce, PalletInfo, Runtime, RuntimeCall, RuntimeEvent,
    RuntimeFreezeReason, RuntimeHoldReason, RuntimeOrigin, RuntimeTask, System, UncheckedExtrinsic,
    EXISTENTIAL_DEPOSIT, VERSION,
};
use frame_support::{
    derive_impl,
    dispatch::DispatchClass,
    parameter_types,
    traits::{ConstU32, PostTransactions, VariantCountOf},
    weights::{
        constants::{WEIGHT_REF_TIME_PER_MICROS, WEIGHT_REF_TIME_PER_MILLIS},
        RuntimeDbWeight, Weight,
    },
};
use frame_system::limits::{BlockLength, BlockWeights};
use sp_runtime::{traits::AccountIdLookup, Perbill};
use sp_version::RuntimeVersion;

/// Work that fits a block, of a 2 s slot. It bounds what a block may cost anybody. An author fills its blocks by its own
/// clock, and among several to less than this, because the next author must have run the same block before it can build on
/// it (see the node's proposer).
const MAX_BLOCK_WEIGHT: Weight = Weight::from_parts(WEIGHT_REF_TIME_PER_MILLIS * 1_700, u64::MAX);
/// The longest block, in bytes: 40,000 reports of 200 bytes, with room to spare, and under the 16 MiB that the network
/// carries in one answer. The node's proposer fills as much.
const MAX_BLOCK_LENGTH: u32 = 10 * 1024 * 1024;
/// Share of a block that is open to all, 1.56 s; the rest, 0.14 s, is kept for operational calls. An author that is alone
/// has time for about as much. What hooks do counts in the sum of all classes, which [`MAX_BLOCK_WEIGHT`] limits.
const NORMAL_SHARE: Perbill = Perbill::from_percent(92);

/// What a read and a write of state cost an author, the new state root included. Through whole blocks of 10,240
/// operations, each with one read, one write and one event, an operation was measured at 18 µs in all (2 cores, wasm,
/// ParityDB). These two together take 16 of it, and the calls' own weights add what the wasm takes, so that the sum is on
/// the safe side. The SDK's constants for this database (8 and 50 µs) are those of a cold one with a root for each write,
/// and would leave two thirds of each block empty.
const DB_WEIGHT: RuntimeDbWeight =
    RuntimeDbWeight { read: 4 * WEIGHT_REF_TIME_PER_MICROS, write: 12 * WEIGHT_REF_TIME_PER_MICROS };

/// The values that most calls read or write: the clock, the parameters of five pallets, the sum of all escrows, the next task's
/// number and the weight of free calls. Benchmarks do not count them (`whitelist_storage`), because only the first call of
/// a block that uses one pays for the database; so a block is charged for all of them once, whatever it holds.
const SHARED_VALUES: Weight = Weight::from_parts(DB_WEIGHT.read * 9 + DB_WEIGHT.write * 3, 0);

/// What a signed extrinsic costs beside its call and its transaction extensions, in microseconds. A signed
/// `System.remark`, whose call does nothing, took its author 165 µs, signature and state included (`scripts/bench chain
/// --part single`, "overhead", on the slower one of the machines that the benchmarks name); the extensions are charged 100
/// of them. The SDK's constant, 108 µs, would count a part of them twice.
const BASE_EXTRINSIC: Weight = Weight::from_parts(WEIGHT_REF_TIME_PER_MICROS * 68, 0);

fn block_weights() -> BlockWeights {
    let mut weights = BlockWeights::with_sensible_defaults(MAX_BLOCK_WEIGHT, NORMAL_SHARE);
    for class in DispatchClass::all() {
        weights.per_class.get_mut(*class).base_extrinsic = BASE_EXTRINSIC;
    }
    weights
}

parameter_types! {
    pub const DbWeight: RuntimeDbWeight = DB_WEIGHT;
    pub const BlockHashCount: u32 = 4_096;
    pub const Version: RuntimeVersion = VERSION;
    pub RuntimeBlockWeights: BlockWeights = block_weights();
    pub RuntimeBlockLength: BlockLength = BlockLength::builder()
        .max_length(MAX_BLOCK_LENGTH)
        .modify_max_length_for_class(DispatchClass::Normal, |m| { *m = NORMAL_SHARE * *m })
        .build();
    pub const ExistentialDeposit: Balance = EXISTENTIAL_DEPOSIT;
}

/// Charges the shared values of a block, and pays its fees out.
pub struct AfterTransactions;

impl PostTransactions for AfterTransactions {
    fn post_transactions() {
        System::register_extra_weight_unchecked(SHARED_VALUES, DispatchClass::Mandatory);
        PayCollectedFees::post_transactions();
    }
}

#[derive_impl(frame_system::config_preludes::SolochainDefaultConfig)]
impl frame_system::Config for Runtime {
    type Block = Block;
    type BlockWeights = RuntimeBlockWeights;
    type BlockLength = RuntimeBlockLength;
    type AccountId = AccountId;
    type Nonce = Nonce;
    type Hash = Hash;
    type Lookup = AccountIdLookup<AccountId, ()>;
    type BlockHashCount = BlockHashCount;
    type DbWeight = DbWeight;
    type Version = Version;
    type AccountData = pallet_balances::AccountData<Balance>;
    type SS58Prefix = frame_support::traits::ConstU16<42>;
    type MaxConsumers = ConstU32<128>;
    type SingleBlockMigrations = Migrations;
    type MultiBlockMigrator = crate::MultiBlockMigrations;
    type PostTransactions = AfterTransactions;
    type SystemWeightInfo = frame_system::weights::SubstrateWeight<Runtime>;
    type ExtensionsWeightInfo = frame_system::SubstrateExtensionsWeight<Runtime>;
}

impl<C> frame_system::offchain::CreateTransactionBase<C> for Runtime
where
    RuntimeCall: From<C>,
{
    type RuntimeCall = RuntimeCall;
    type Extrinsic = UncheckedExtrinsic;
}

/// For the node's reports of equivocations, which nobody signs.
impl<C> frame_system::offchain::CreateBare<C> for Runtime
where
    RuntimeCall: From<C>,
{
    fn create_bare(call: RuntimeCall) -> UncheckedExtrinsic {
        UncheckedExtrinsic::new_bare(call)
    }
}

impl pallet_timestamp::Config for Runtime {
    type Moment = u64;
    type OnTimestampSet = crate::Babe;
    type MinimumPeriod = pallet_gantry_validators::MinimumPeriod<Runtime>;
    type WeightInfo = pallet_timestamp::weights::SubstrateWeight<Runtime>;
}

impl pallet_balances::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type RuntimeHoldReason = RuntimeHoldReason;
    type RuntimeFreezeReason = RuntimeFreezeReason;
    type WeightInfo = pallet_balances::weights::SubstrateWeight<Runtime>;
    type Balance = Balance;
    type DustRemoval = ();
    type ExistentialDeposit = ExistentialDeposit;
    type AccountStore = System;
    type ReserveIdentifier = [u8; 8];
    type FreezeIdentifier = RuntimeFreezeReason;
    type MaxLocks = ConstU32<50>;
    type MaxReserves = ConstU32<50>;
    type MaxFreezes = VariantCountOf<RuntimeFreezeReason>;
    type DoneSlashHandler = ();
}

impl pallet_utility::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type RuntimeCall = RuntimeCall;
    type PalletsOrigin = crate::OriginCaller;
    type WeightInfo = pallet_utility::weights::SubstrateWeight<Runtime>;
}

/// A deposit for `items` storage entries of `bytes` bytes together.
pub const fn deposit(items: u32, bytes: u32) -> Balance {
    items as Balance * crate::GTY / 10 + bytes as Balance * crate::GTY / 10_000
}

parameter_types! {
    pub const MultisigDepositBase: Balance = deposit(1, 88);
    pub const MultisigDepositFactor: Balance = deposit(0, 32);
}

impl pallet_multisig::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type RuntimeCall = RuntimeCall;
    type Currency = Balances;
    type DepositBase = MultisigDepositBase;
    type DepositFactor = MultisigDepositFactor;
    type MaxSignatories = ConstU32<100>;
    type WeightInfo = pallet_multisig::weights::SubstrateWeight<Runtime>;
    type BlockNumberProvider = System;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Agreements, AllPalletsWithSystem, Billing, Governance, Hosts, Leases, Reputation, Tasks, Validators,
        Verification,
    };
    use frame_support::traits::{PalletInfoAccess, WhitelistedStorageKeys};

    fn prefix<P: PalletInfoAccess>() -> [u8; 16] {
        P::name_hash()
    }

    #[test]
    fn a_block_is_charged_for_the_clock_and_each_value_that_the_pallets_share() {
        let pallets = [
            prefix::<Hosts>(),
            prefix::<Tasks>(),
            prefix::<Leases>(),
            prefix::<Billing>(),
            prefix::<Reputation>(),
            prefix::<Verification>(),
            prefix::<Governance>(),
            prefix::<Validators>(),
            prefix::<Agreements>(),
        ];
        let keys = AllPalletsWithSystem::whitelisted_storage_keys();
        let shared = keys.iter().filter(|key| pallets.iter().any(|pallet| key.key.starts_with(pallet))).count() as u64;
        assert_eq!(SHARED_VALUES.ref_time() / DB_WEIGHT.read, (shared + 1) + 3 * DB_WEIGHT.write / DB_WEIGHT.read);
    }
}
