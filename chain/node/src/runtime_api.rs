//! The runtime APIs that a Gantry runtime offers, for the type checker only.
//!
//! The client needs a type that names the APIs it may call in the wasm. No body here ever runs.

use sp_api::impl_runtime_apis;
use sp_consensus_grandpa::AuthorityList;
use sp_runtime::{
    traits::{Block as BlockT, NumberFor},
    transaction_validity::{TransactionSource, TransactionValidity},
    ApplyExtrinsicResult, ExtrinsicInclusionMode, OpaqueExtrinsic,
};

/// 32-byte public key or hash of one.
pub type AccountId = sp_runtime::AccountId32;
/// Coins, in base units.
pub type Balance = u128;
/// Number of extrinsics an account has sent.
pub type Nonce = u32;
/// Block header.
pub type Header = sp_runtime::generic::Header<u32, sp_runtime::traits::BlakeTwo256>;
/// A block whose extrinsics stay bytes: decoding them is the runtime's business.
pub type Block = sp_runtime::generic::Block<Header, OpaqueExtrinsic>;

/// Declares the APIs of the runtime that the chain specification contains.
#[allow(dead_code)]
pub struct Runtime;

impl_runtime_apis! {
    impl sp_api::Core<Block> for Runtime {
        fn version() -> sp_version::RuntimeVersion { unreachable!() }
        fn execute_block(_: <Block as BlockT>::LazyBlock) { unreachable!() }
        fn initialize_block(_: &<Block as BlockT>::Header) -> ExtrinsicInclusionMode { unreachable!() }
    }

    impl sp_api::Metadata<Block> for Runtime {
        fn metadata() -> sp_core::OpaqueMetadata { unreachable!() }
        fn metadata_at_version(_: u32) -> Option<sp_core::OpaqueMetadata> { unreachable!() }
        fn metadata_versions() -> Vec<u32> { unreachable!() }
    }

    impl sp_block_builder::BlockBuilder<Block> for Runtime {
        fn apply_extrinsic(_: <Block as BlockT>::Extrinsic) -> ApplyExtrinsicResult { unreachable!() }
        fn finalize_block() -> <Block as BlockT>::Header { unreachable!() }
        fn inherent_extrinsics(_: sp_inherents::InherentData) -> Vec<<Block as BlockT>::Extrinsic> { unreachable!() }
        fn check_inherents(
            _: <Block as BlockT>::LazyBlock,
            _: sp_inherents::InherentData,
        ) -> sp_inherents::CheckInherentsResult { unreachable!() }
    }

    impl sp_transaction_pool::runtime_api::TaggedTransactionQueue<Block> for Runtime {
        fn validate_transaction(
            _: TransactionSource,
            _: <Block as BlockT>::Extrinsic,
            _: <Block as BlockT>::Hash,
        ) -> TransactionValidity { unreachable!() }
    }

    impl gantry_runtime_api::BatchValidation<Block> for Runtime {
        fn validate_transactions(
            _: TransactionSource,
            _: Vec<OpaqueExtrinsic>,
            _: <Block as BlockT>::Hash,
        ) -> Vec<Option<TransactionValidity>> { unreachable!() }
    }

    impl sp_offchain::OffchainWorkerApi<Block> for Runtime {
        fn offchain_worker(_: &<Block as BlockT>::Header) { unreachable!() }
    }

    impl sp_session::SessionKeys<Block> for Runtime {
        fn generate_session_keys(_: Vec<u8>, _: Option<Vec<u8>>) -> sp_session::OpaqueGeneratedSessionKeys {
            unreachable!()
        }
        fn decode_session_keys(_: Vec<u8>) -> Option<Vec<(Vec<u8>, sp_core::crypto::KeyTypeId)>> { unreachable!() }
    }

    impl sp_consensus_babe::BabeApi<Block> for Runtime {
        fn configuration() -> sp_consensus_babe::BabeConfiguration { unreachable!() }
        fn current_epoch_start() -> sp_consensus_babe::Slot { unreachable!() }
        fn current_epoch() -> sp_consensus_babe::Epoch { unreachable!() }
        fn next_epoch() -> sp_consensus_babe::Epoch { unreachable!() }
        fn generate_key_ownership_proof(
            _: sp_consensus_babe::Slot,
            _: sp_consensus_babe::AuthorityId,
        ) -> Option<sp_consensus_babe::OpaqueKeyOwnershipProof> { unreachable!() }
        fn submit_report_equivocation_unsigned_extrinsic(
            _: sp_consensus_babe::EquivocationProof<<Block as BlockT>::Header>,
            _: sp_consensus_babe::OpaqueKeyOwnershipProof,
        ) -> Option<()> { unreachable!() }
    }

    impl sp_consensus_grandpa::GrandpaApi<Block> for Runtime {
        fn grandpa_authorities() -> AuthorityList { unreachable!() }
        fn current_set_id() -> sp_consensus_grandpa::SetId { unreachable!() }
        fn submit_report_equivocation_unsigned_extrinsic(
            _: sp_consensus_grandpa::EquivocationProof<<Block as BlockT>::Hash, NumberFor<Block>>,
            _: sp_consensus_grandpa::OpaqueKeyOwnershipProof,
        ) -> Option<()> { unreachable!() }
        fn generate_key_ownership_proof(
            _: sp_consensus_grandpa::SetId,
            _: sp_consensus_grandpa::AuthorityId,
        ) -> Option<sp_consensus_grandpa::OpaqueKeyOwnershipProof> { unreachable!() }
    }

    impl frame_system_rpc_runtime_api::AccountNonceApi<Block, AccountId, Nonce> for Runtime {
        fn account_nonce(_: AccountId) -> Nonce { unreachable!() }
    }

    impl pallet_transaction_payment_rpc_runtime_api::TransactionPaymentApi<Block, Balance> for Runtime {
        fn query_info(
            _: <Block as BlockT>::Extrinsic,
            _: u32,
        ) -> pallet_transaction_payment_rpc_runtime_api::RuntimeDispatchInfo<Balance> { unreachable!() }
        fn query_fee_details(
            _: <Block as BlockT>::Extrinsic,
            _: u32,
        ) -> pallet_transaction_payment_rpc_runtime_api::FeeDetails<Balance> { unreachable!() }
        fn query_weight_to_fee(_: sp_weights::Weight) -> Balance { unreachable!() }
        fn query_length_to_fee(_: u32) -> Balance { unreachable!() }
    }
}
