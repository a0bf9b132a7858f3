//! BABE makes blocks, GRANDPA finalizes them, the session pallet rotates their keys.

use super::session_keys::SessionKeys;
use crate::{AccountId, Babe, Balance, Balances, Runtime, RuntimeEvent, Session, EPOCH_SLOTS, SLOT_DURATION_MS};
use frame_support::{
    parameter_types,
    traits::{ConstU32, ConstU64},
};
use sp_consensus_babe::{AllowedSlots, BabeEpochConfiguration};
use sp_runtime::traits::{ConvertInto, OpaqueKeys};

/// One slot in four has a primary author on average; the others fall to a secondary one, so none stays empty.
/// VRF outputs in every block give the randomness for committees and challenges.
pub const BABE_EPOCH: BabeEpochConfiguration =
    BabeEpochConfiguration { c: (1, 4), allowed_slots: AllowedSlots::PrimaryAndSecondaryVRFSlots };

/// The most validators a network may have.
pub type MaxAuthorities = ConstU32<1_000>;

impl pallet_babe::Config for Runtime {
    type EpochDuration = ConstU64<EPOCH_SLOTS>;
    type ExpectedBlockTime = ConstU64<SLOT_DURATION_MS>;
    type EpochChangeTrigger = pallet_babe::ExternalTrigger;
    type DisabledValidators = Session;
    type WeightInfo = ();
    type MaxAuthorities = MaxAuthorities;
    type MaxNominators = ConstU32<0>;
    type KeyOwnerProof = sp_core::Void;
    type EquivocationReportSystem = ();
}

impl pallet_grandpa::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type WeightInfo = ();
    type MaxAuthorities = MaxAuthorities;
    type MaxNominators = ConstU32<0>;
    type MaxSetIdSessionEntries = ConstU64<0>;
    type KeyOwnerProof = sp_core::Void;
    type EquivocationReportSystem = ();
}

impl pallet_authorship::Config for Runtime {
    type FindAuthor = pallet_session::FindAccountFromAuthorIndex<Self, Babe>;
    type EventHandler = ();
}

parameter_types! {
    pub const KeyDeposit: Balance = super::system::deposit(1, 96);
}

impl pallet_session::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type ValidatorId = AccountId;
    type ValidatorIdOf = ConvertInto;
    type ShouldEndSession = Babe;
    type NextSessionRotation = Babe;
    // The genesis validators stay until the on-chain list replaces them.
    type SessionManager = ();
    type SessionHandler = <SessionKeys as OpaqueKeys>::KeyTypeIdProviders;
    type Keys = SessionKeys;
    type DisablingStrategy = pallet_session::disabling::UpToLimitDisablingStrategy;
    type WeightInfo = pallet_session::weights::SubstrateWeight<Runtime>;
    type Currency = Balances;
    type KeyDeposit = KeyDeposit;
}
