//! The Gantry runtime: which pallets a Gantry chain is made of.
//!
//! Configurations are in [`configs`], runtime APIs in [`apis`], genesis presets in [`genesis`].

#![cfg_attr(not(feature = "std"), no_std)]
// The runtime macros nest once for each pallet.
#![recursion_limit = "256"]

extern crate alloc;

mod apis;
#[cfg(feature = "runtime-benchmarks")]
mod benches;
pub mod charging;
pub mod coins;
mod configs;
pub mod genesis;

use alloc::{borrow::Cow, vec::Vec};
use sp_runtime::{
    generic,
    traits::{BlakeTwo256, IdentifyAccount, Verify},
    MultiAddress, MultiSignature,
};
use sp_version::RuntimeVersion;

pub use configs::{fees, proxies, session_keys::SessionKeys};

/// sr25519, ed25519 or ecdsa.
pub type Signature = MultiSignature;
/// 32 bytes: a public key or the hash of one.
pub type AccountId = <<Signature as Verify>::Signer as IdentifyAccount>::AccountId;
/// Coins in base units; 10^12 are one GTY.
pub type Balance = u128;
/// Count of an account's extrinsics.
pub type Nonce = u32;
/// Block number.
pub type BlockNumber = u32;
/// Block and extrinsic hash.
pub type Hash = sp_core::H256;
/// How extrinsics name accounts.
pub type Address = MultiAddress<AccountId, ()>;
/// Block header.
pub type Header = generic::Header<BlockNumber, BlakeTwo256>;
/// Block.
pub type Block = generic::Block<Header, UncheckedExtrinsic>;
/// Extrinsic; format V4 signed transactions are accepted.
pub type UncheckedExtrinsic = generic::UncheckedExtrinsic<Address, RuntimeCall, Signature, TxExtension>;

/// The transaction extensions. All of them are known to wallets.
pub type TxExtension = (
    frame_system::CheckNonZeroSender<Runtime>,
    frame_system::CheckSpecVersion<Runtime>,
    frame_system::CheckTxVersion<Runtime>,
    frame_system::CheckGenesis<Runtime>,
    frame_system::CheckMortality<Runtime>,
    charging::CheckNonceOrNext,
    charging::ChargeOrFree,
    // After those that give weight back.
    frame_system::CheckWeight<Runtime>,
    // Signing devices that show a call need proof of what its bytes mean.
    frame_metadata_hash_extension::CheckMetadataHash<Runtime>,
);

/// Migrations that run in the first block after an upgrade.
pub type Migrations = (
    gantry_migrations::ExtendParams<Runtime, pallet_gantry_verification::CurrentParams<Runtime>>,
    Versioned<Leases>,
    Versioned<Billing>,
    Versioned<Verification>,
    Versioned<Governance>,
    Versioned<Validators>,
);

type Versioned<P> = gantry_migrations::SetStorageVersion<P, <Runtime as frame_system::Config>::DbWeight>;

/// Executes blocks.
pub type Executive =
    frame_executive::Executive<Runtime, Block, frame_system::ChainContext<Runtime>, Runtime, AllPalletsWithSystem>;

/// One GTY in base units.
pub const GTY: Balance = 1_000_000_000_000;
/// The least an account may hold.
pub const EXISTENTIAL_DEPOSIT: Balance = GTY / 1_000;
/// Length of a slot, and so the time between two blocks, in milliseconds, on a chain whose genesis gives no other.
pub const SLOT_DURATION_MS: u64 = pallet_gantry_validators::DEFAULT_SLOT_MS;

/// Tells which runtime this is. Any change of behaviour raises `spec_version`; a change of how
/// transactions are encoded raises `transaction_version` too.
#[sp_version::runtime_version]
pub const VERSION: RuntimeVersion = RuntimeVersion {
    spec_name: Cow::Borrowed("gantry"),
    impl_name: Cow::Borrowed("gantry"),
    authoring_version: 1,
    spec_version: 4,
    impl_version: 1,
    apis: apis::RUNTIME_API_VERSIONS,
    transaction_version: 4,
    system_version: 1,
};

#[frame_support::runtime]
mod runtime {
    #[runtime::runtime]
    #[runtime::derive(
        RuntimeCall,
        RuntimeEvent,
        RuntimeError,
        RuntimeOrigin,
        RuntimeFreezeReason,
        RuntimeHoldReason,
        RuntimeSlashReason,
        RuntimeLockId,
        RuntimeTask,
        RuntimeViewFunction
    )]
    pub struct Runtime;

    #[runtime::pallet_index(0)]
    pub type System = frame_system;
    #[runtime::pallet_index(1)]
    pub type Timestamp = pallet_timestamp;
    // BABE before session: a new session's randomness must be of this block.
    #[runtime::pallet_index(2)]
    pub type Babe = pallet_babe;
    #[runtime::pallet_index(3)]
    pub type Authorship = pallet_authorship;
    #[runtime::pallet_index(4)]
    pub type Session = pallet_session;
    #[runtime::pallet_index(5)]
    pub type Grandpa = pallet_grandpa;
    #[runtime::pallet_index(6)]
    pub type Balances = pallet_balances;
    #[runtime::pallet_index(7)]
    pub type TransactionPayment = pallet_transaction_payment;
    #[runtime::pallet_index(8)]
    pub type SkipFeelessPayment = pallet_skip_feeless_payment;
    #[runtime::pallet_index(9)]
    pub type Utility = pallet_utility;
    #[runtime::pallet_index(10)]
    pub type Multisig = pallet_multisig;
    #[runtime::pallet_index(11)]
    pub type Proxy = pallet_proxy;
    #[runtime::pallet_index(12)]
    pub type Preimage = pallet_preimage;
    #[runtime::pallet_index(13)]
    pub type Scheduler = pallet_scheduler;
    #[runtime::pallet_index(14)]
    pub type Sudo = pallet_sudo;

    // After the session pallet, whose first validators it takes over at genesis.
    #[runtime::pallet_index(15)]
    pub type Validators = pallet_gantry_validators;
    #[runtime::pallet_index(16)]
    pub type Council = pallet_collective<Instance1>;
    #[runtime::pallet_index(17)]
    pub type Governance = pallet_gantry_governance;
    #[runtime::pallet_index(18)]
    pub type Historical = pallet_session::historical;
    #[runtime::pallet_index(19)]
    pub type Offences = pallet_offences;
    #[runtime::pallet_index(20)]
    pub type MultiBlockMigrations = pallet_migrations;

    // The network. Numbers from 40, so that SDK pallets may be added before.
    #[runtime::pallet_index(40)]
    pub type Hosts = pallet_gantry_hosts;
    #[runtime::pallet_index(41)]
    pub type Tasks = pallet_gantry_tasks;
    #[runtime::pallet_index(42)]
    pub type Leases = pallet_gantry_leases;
    #[runtime::pallet_index(43)]
    pub type Billing = pallet_gantry_billing;
    #[runtime::pallet_index(44)]
    pub type Reputation = pallet_gantry_reputation;
    #[runtime::pallet_index(45)]
    pub type Verification = pallet_gantry_verification;
    #[runtime::pallet_index(46)]
    pub type Agreements = pallet_gantry_agreements;
}

/// All vectors that RPC answers carry.
pub(crate) type Bytes = Vec<u8>;
