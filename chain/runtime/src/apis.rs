//! The runtime APIs: what a node may ask this runtime.

use crate::{
    configs::consensus::BABE_EPOCH, genesis, AccountId, Balance, Block, Bytes, Executive, Header, Historical,
    InherentDataExt, Nonce, Runtime, RuntimeGenesisConfig, SessionKeys, System, TransactionPayment, UncheckedExtrinsic,
    VERSION,
};
use alloc::vec::Vec;
use codec::{DecodeLimit, Encode};
use frame_support::{
    genesis_builder_helper::get_preset, storage::with_transaction_unchecked, traits::KeyOwnerProofSystem,
    MAX_EXTRINSIC_DEPTH,
};
use sp_api::impl_runtime_apis;
use sp_consensus_grandpa::AuthorityList;
use sp_core::{crypto::KeyTypeId, OpaqueMetadata};
use sp_inherents::{CheckInherentsResult, InherentData};
use sp_runtime::{
    traits::{Block as BlockT, NumberFor},
    transaction_validity::{TransactionSource, TransactionValidity},
    ApplyExtrinsicResult, ExtrinsicInclusionMode, OpaqueExtrinsic, TransactionOutcome,
};

/// Reads metadata as it is on every chain of this runtime, so that clients can be made for a runtime. The lengths of an
/// epoch and of a slot are set at genesis, but pallets show them as constants. The metadata therefore holds the default
/// values; `Validators.EpochSlots` and `Validators.SlotMs` hold those of the chain.
fn with_default_constants<R>(read: impl FnOnce() -> R) -> R {
    // A runtime API call works on an overlay that is thrown away.
    pallet_gantry_validators::EpochSlots::<Runtime>::kill();
    pallet_gantry_validators::SlotMs::<Runtime>::kill();
    read()
}

/// Checks a transaction and drops what that changes, so that the next check finds the state of the block.
fn validate_alone(
    source: TransactionSource,
    transaction: &OpaqueExtrinsic,
    block_hash: <Block as BlockT>::Hash,
) -> Option<TransactionValidity> {
    let encoded = transaction.encode();
    let decoded = UncheckedExtrinsic::decode_all_with_depth_limit(MAX_EXTRINSIC_DEPTH, &mut &encoded[..]).ok()?;
    Some(with_transaction_unchecked(|| {
        TransactionOutcome::Rollback(Executive::validate_transaction(source, decoded, block_hash))
    }))
}

impl_runtime_apis! {
    impl sp_api::Core<Block> for Runtime {
        fn version() -> sp_version::RuntimeVersion {
            VERSION
        }

        fn execute_block(block: <Block as BlockT>::LazyBlock) {
            Executive::execute_block(block)
        }

        fn initialize_block(header: &Header) -> ExtrinsicInclusionMode {
            Executive::initialize_block(header)
        }
    }

    impl sp_api::Metadata<Block> for Runtime {
        fn metadata() -> OpaqueMetadata {
            OpaqueMetadata::new(with_default_constants(Runtime::metadata).into())
        }

        fn metadata_at_version(version: u32) -> Option<OpaqueMetadata> {
            with_default_constants(|| Runtime::metadata_at_version(version))
        }

        fn metadata_versions() -> Vec<u32> {
            Runtime::metadata_versions()
        }
    }

    impl frame_support::view_functions::runtime_api::RuntimeViewFunction<Block> for Runtime {
        fn execute_view_function(
            id: frame_support::view_functions::ViewFunctionId,
            input: Bytes,
        ) -> Result<Bytes, frame_support::view_functions::ViewFunctionDispatchError> {
            Runtime::execute_view_function(id, input)
        }
    }

    impl sp_block_builder::BlockBuilder<Block> for Runtime {
        fn apply_extrinsic(extrinsic: <Block as BlockT>::Extrinsic) -> ApplyExtrinsicResult {
            Executive::apply_extrinsic(extrinsic)
        }

        fn finalize_block() -> Header {
            Executive::finalize_block()
        }

        fn inherent_extrinsics(data: InherentData) -> Vec<<Block as BlockT>::Extrinsic> {
            data.create_extrinsics()
        }

        fn check_inherents(block: <Block as BlockT>::LazyBlock, data: InherentData) -> CheckInherentsResult {
            data.check_extrinsics(&block)
        }
    }

    impl sp_transaction_pool::runtime_api::TaggedTransactionQueue<Block> for Runtime {
        fn validate_transaction(
            source: TransactionSource,
            tx: <Block as BlockT>::Extrinsic,
            block_hash: <Block as BlockT>::Hash,
        ) -> TransactionValidity {
            Executive::validate_transaction(source, tx, block_hash)
        }
    }

    impl gantry_runtime_api::BatchValidation<Block> for Runtime {
        fn validate_transactions(
            source: TransactionSource,
            transactions: Vec<OpaqueExtrinsic>,
            block_hash: <Block as BlockT>::Hash,
        ) -> Vec<Option<TransactionValidity>> {
            transactions.iter().map(|transaction| validate_alone(source, transaction, block_hash)).collect()
        }
    }

    impl sp_offchain::OffchainWorkerApi<Block> for Runtime {
        fn offchain_worker(header: &Header) {
            Executive::offchain_worker(header)
        }
    }

    impl sp_session::SessionKeys<Block> for Runtime {
        fn generate_session_keys(owner: Bytes, seed: Option<Bytes>) -> sp_session::OpaqueGeneratedSessionKeys {
            SessionKeys::generate(&owner, seed).into()
        }

        fn decode_session_keys(encoded: Bytes) -> Option<Vec<(Bytes, KeyTypeId)>> {
            SessionKeys::decode_into_raw_public_keys(&encoded)
        }
    }

    impl sp_consensus_babe::BabeApi<Block> for Runtime {
        fn configuration() -> sp_consensus_babe::BabeConfiguration {
            let epoch = crate::Babe::epoch_config().unwrap_or(BABE_EPOCH);
            sp_consensus_babe::BabeConfiguration {
                slot_duration: crate::Babe::slot_duration(),
                epoch_length: pallet_gantry_validators::EpochSlots::<Runtime>::get(),
                c: epoch.c,
                authorities: crate::Babe::authorities().to_vec(),
                randomness: crate::Babe::randomness(),
                allowed_slots: epoch.allowed_slots,
            }
        }

        fn current_epoch_start() -> sp_consensus_babe::Slot {
            crate::Babe::current_epoch_start()
        }

        fn current_epoch() -> sp_consensus_babe::Epoch {
            crate::Babe::current_epoch()
        }

        fn next_epoch() -> sp_consensus_babe::Epoch {
            crate::Babe::next_epoch()
        }

        fn generate_key_ownership_proof(
            _slot: sp_consensus_babe::Slot,
            authority: sp_consensus_babe::AuthorityId,
        ) -> Option<sp_consensus_babe::OpaqueKeyOwnershipProof> {
            let proof = Historical::prove((sp_consensus_babe::KEY_TYPE, authority))?;
            Some(sp_consensus_babe::OpaqueKeyOwnershipProof::new(proof.encode()))
        }

        fn submit_report_equivocation_unsigned_extrinsic(
            proof: sp_consensus_babe::EquivocationProof<Header>,
            owner: sp_consensus_babe::OpaqueKeyOwnershipProof,
        ) -> Option<()> {
            crate::Babe::submit_unsigned_equivocation_report(proof, owner.decode()?)
        }
    }

    impl sp_consensus_grandpa::GrandpaApi<Block> for Runtime {
        fn grandpa_authorities() -> AuthorityList {
            crate::Grandpa::grandpa_authorities()
        }

        fn current_set_id() -> sp_consensus_grandpa::SetId {
            pallet_grandpa::CurrentSetId::<Runtime>::get()
        }

        fn submit_report_equivocation_unsigned_extrinsic(
            proof: sp_consensus_grandpa::EquivocationProof<<Block as BlockT>::Hash, NumberFor<Block>>,
            owner: sp_consensus_grandpa::OpaqueKeyOwnershipProof,
        ) -> Option<()> {
            crate::Grandpa::submit_unsigned_equivocation_report(proof, owner.decode()?)
        }

        fn generate_key_ownership_proof(
            _set_id: sp_consensus_grandpa::SetId,
            authority: sp_consensus_grandpa::AuthorityId,
        ) -> Option<sp_consensus_grandpa::OpaqueKeyOwnershipProof> {
            let proof = Historical::prove((sp_consensus_grandpa::KEY_TYPE, authority))?;
            Some(sp_consensus_grandpa::OpaqueKeyOwnershipProof::new(proof.encode()))
        }
    }

    impl frame_system_rpc_runtime_api::AccountNonceApi<Block, AccountId, Nonce> for Runtime {
        fn account_nonce(account: AccountId) -> Nonce {
            System::account_nonce(account)
        }
    }

    impl pallet_transaction_payment_rpc_runtime_api::TransactionPaymentApi<Block, Balance> for Runtime {
        fn query_info(
            uxt: <Block as BlockT>::Extrinsic,
            len: u32,
        ) -> pallet_transaction_payment_rpc_runtime_api::RuntimeDispatchInfo<Balance> {
            TransactionPayment::query_info(uxt, len)
        }

        fn query_fee_details(
            uxt: <Block as BlockT>::Extrinsic,
            len: u32,
        ) -> pallet_transaction_payment_rpc_runtime_api::FeeDetails<Balance> {
            TransactionPayment::query_fee_details(uxt, len)
        }

        fn query_weight_to_fee(weight: frame_support::weights::Weight) -> Balance {
            TransactionPayment::weight_to_fee(weight)
        }

        fn query_length_to_fee(length: u32) -> Balance {
            TransactionPayment::length_to_fee(length)
        }
    }

    impl sp_genesis_builder::GenesisBuilder<Block> for Runtime {
        fn build_state(config: Bytes) -> sp_genesis_builder::Result {
            genesis::build(config)
        }

        fn get_preset(id: &Option<sp_genesis_builder::PresetId>) -> Option<Bytes> {
            get_preset::<RuntimeGenesisConfig>(id, genesis::preset)
        }

        fn preset_names() -> Vec<sp_genesis_builder::PresetId> {
            genesis::names()
        }
    }

    #[cfg(feature = "runtime-benchmarks")]
    impl frame_benchmarking::Benchmark<Block> for Runtime {
        fn benchmark_metadata(
            extra: bool,
        ) -> (Vec<frame_benchmarking::BenchmarkList>, Vec<frame_support::traits::StorageInfo>) {
            use crate::*;
            use frame_benchmarking::BenchmarkList;
            use frame_support::traits::StorageInfoTrait;

            let mut list = Vec::<BenchmarkList>::new();
            list_benchmarks!(list, extra);
            (list, AllPalletsWithSystem::storage_info())
        }

        fn dispatch_benchmark(
            config: frame_benchmarking::BenchmarkConfig,
        ) -> Result<Vec<frame_benchmarking::BenchmarkBatch>, alloc::string::String> {
            use crate::*;
            use frame_benchmarking::BenchmarkBatch;
            use frame_support::traits::WhitelistedStorageKeys;

            // Values that most calls read: charged once a block (`configs::system::SHARED_VALUES`).
            let mut whitelist = AllPalletsWithSystem::whitelisted_storage_keys();
            whitelist.push(pallet_timestamp::Now::<Runtime>::hashed_key().to_vec().into());
            let mut batches = Vec::<BenchmarkBatch>::new();
            let params = (&config, &whitelist);
            add_benchmarks!(params, batches);
            Ok(batches)
        }
    }

    #[cfg(feature = "try-runtime")]
    impl frame_try_runtime::TryRuntime<Block> for Runtime {
        fn on_runtime_upgrade(
            checks: frame_try_runtime::UpgradeCheckSelect,
        ) -> (frame_support::weights::Weight, frame_support::weights::Weight) {
            let weight = Executive::try_runtime_upgrade(checks).expect("the upgrade's checks hold");
            (weight, <Runtime as frame_system::Config>::BlockWeights::get().max_block)
        }

        fn execute_block(
            block: <Block as BlockT>::LazyBlock,
            state_root_check: bool,
            signature_check: bool,
            select: frame_try_runtime::TryStateSelect,
        ) -> frame_support::weights::Weight {
            Executive::try_execute_block(block, state_root_check, signature_check, select)
                .expect("the block and every pallet's invariants hold")
        }
    }
}
