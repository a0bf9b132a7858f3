//! BABE makes blocks, GRANDPA finalizes them, the session pallet rotates their keys.

use super::{governance::AdminOrigin, session_keys::SessionKeys};
use crate::{AccountId, Babe, Balance, Balances, Historical, Offences, Runtime, RuntimeEvent, Session, Validators};
use frame_support::{
    parameter_types,
    traits::{ConstU32, ConstU64, Get},
};
use pallet_gantry_validators::{EpochLength, SlotDuration, UnitIdentification};
use pallet_session::historical;
use sp_consensus_babe::{AllowedSlots, BabeEpochConfiguration};
use sp_runtime::traits::{ConvertInto, OpaqueKeys};

/// One slot in four has a primary author on average; the others fall to a secondary one, so none stays empty.
/// VRF outputs in every block give the randomness for committees and challenges.
pub const BABE_EPOCH: BabeEpochConfiguration =
    BabeEpochConfiguration { c: (1, 4), allowed_slots: AllowedSlots::PrimaryAndSecondaryVRFSlots };

/// The most validators a network may have.
pub type MaxAuthorities = ConstU32<1_000>;

/// For how many sessions after it an equivocation may be proven: a week of sessions of ten minutes.
pub const HISTORY_SESSIONS: u32 = 1_008;

/// How many blocks long a report of an equivocation may wait in the pool.
pub struct ReportLongevity;

impl Get<u64> for ReportLongevity {
    fn get() -> u64 {
        u64::from(HISTORY_SESSIONS).saturating_mul(EpochLength::<Runtime>::get())
    }
}

impl pallet_babe::Config for Runtime {
    type EpochDuration = EpochLength<Runtime>;
    type ExpectedBlockTime = SlotDuration<Runtime>;
    type EpochChangeTrigger = pallet_babe::ExternalTrigger;
    type DisabledValidators = Session;
    type WeightInfo = ();
    type MaxAuthorities = MaxAuthorities;
    type MaxNominators = ConstU32<0>;
    type KeyOwnerProof = sp_session::MembershipProof;
    type EquivocationReportSystem = pallet_babe::EquivocationReportSystem<Self, Offences, Historical, ReportLongevity>;
}

impl pallet_grandpa::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type WeightInfo = ();
    type MaxAuthorities = MaxAuthorities;
    type MaxNominators = ConstU32<0>;
    type MaxSetIdSessionEntries = ConstU64<{ HISTORY_SESSIONS as u64 }>;
    type KeyOwnerProof = sp_session::MembershipProof;
    type EquivocationReportSystem =
        pallet_grandpa::EquivocationReportSystem<Self, Offences, Historical, ReportLongevity>;
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
    type SessionManager = historical::NoteHistoricalRoot<Self, Validators>;
    type SessionHandler = <SessionKeys as OpaqueKeys>::KeyTypeIdProviders;
    type Keys = SessionKeys;
    type DisablingStrategy = pallet_session::disabling::UpToLimitDisablingStrategy;
    type WeightInfo = pallet_session::weights::SubstrateWeight<Runtime>;
    type Currency = Balances;
    type KeyDeposit = KeyDeposit;
}

impl historical::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type FullIdentification = ();
    type FullIdentificationOf = UnitIdentification;
}

impl pallet_offences::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type IdentificationTuple = historical::IdentificationTuple<Self>;
    type OnOffenceHandler = Validators;
}

impl pallet_gantry_validators::Config for Runtime {
    type AdminOrigin = AdminOrigin;
    type MaxValidators = MaxAuthorities;
    type MinValidators = ConstU32<1>;
    type HistorySessions = ConstU32<HISTORY_SESSIONS>;
    type WeightInfo = pallet_gantry_validators::weights::SubstrateWeight<Runtime>;
}
