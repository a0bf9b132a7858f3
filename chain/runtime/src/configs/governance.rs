//! The council, its delayed way to root, sudo (development and test networks only), scheduled calls and preimages. See
//! docs/governance.md.

use super::system::{deposit, RuntimeBlockWeights};
use crate::{
    AccountId, Balance, Balances, BlockNumber, OriginCaller, Preimage, Runtime, RuntimeCall, RuntimeEvent,
    RuntimeHoldReason, RuntimeOrigin, Scheduler, System, SLOT_DURATION_MS,
};
use frame_support::{
    parameter_types,
    traits::{fungible::HoldConsideration, ConstU32, EitherOfDiverse, EqualPrivilegeOnly, LinearStoragePrice},
    weights::Weight,
};
use frame_system::EnsureRoot;
use pallet_collective::{EnsureProportionAtLeast, Instance1, PrimeDefaultVote};
use sp_runtime::Perbill;

/// The council, among what could be several such bodies.
pub type CouncilInstance = Instance1;
/// Who sets parameters and the list of validators, at once: two thirds of the council, or root.
pub type AdminOrigin =
    EitherOfDiverse<EnsureRoot<AccountId>, EnsureProportionAtLeast<AccountId, CouncilInstance, 2, 3>>;
/// Who may stop what was decided before it is carried out: half of the council, or root.
pub type CancelOrigin =
    EitherOfDiverse<EnsureRoot<AccountId>, EnsureProportionAtLeast<AccountId, CouncilInstance, 1, 2>>;

/// How long the council may vote on a motion: three days.
const MOTION_BLOCKS: BlockNumber = (3 * 24 * 3_600_000 / SLOT_DURATION_MS) as BlockNumber;

parameter_types! {
    pub const PreimageBase: Balance = deposit(2, 64);
    pub const PreimageByte: Balance = deposit(0, 1);
    pub const PreimageHold: RuntimeHoldReason = RuntimeHoldReason::Preimage(pallet_preimage::HoldReason::Preimage);
    pub const MotionDuration: BlockNumber = MOTION_BLOCKS;
    pub MaxScheduledWeight: Weight = Perbill::from_percent(50) * RuntimeBlockWeights::get().max_block;
}

impl pallet_preimage::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type WeightInfo = pallet_preimage::weights::SubstrateWeight<Runtime>;
    type Currency = Balances;
    type ManagerOrigin = EnsureRoot<AccountId>;
    type Consideration =
        HoldConsideration<AccountId, Balances, PreimageHold, LinearStoragePrice<PreimageBase, PreimageByte, Balance>>;
}

impl pallet_scheduler::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type RuntimeOrigin = RuntimeOrigin;
    type PalletsOrigin = OriginCaller;
    type RuntimeCall = RuntimeCall;
    type MaximumWeight = MaxScheduledWeight;
    type ScheduleOrigin = EnsureRoot<AccountId>;
    type OriginPrivilegeCmp = EqualPrivilegeOnly;
    type MaxScheduledPerBlock = ConstU32<50>;
    type WeightInfo = pallet_scheduler::weights::SubstrateWeight<Runtime>;
    type Preimages = Preimage;
    type BlockNumberProvider = System;
}

impl pallet_sudo::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type RuntimeCall = RuntimeCall;
    type WeightInfo = pallet_sudo::weights::SubstrateWeight<Runtime>;
}

impl pallet_collective::Config<CouncilInstance> for Runtime {
    type RuntimeOrigin = RuntimeOrigin;
    type Proposal = RuntimeCall;
    type RuntimeEvent = RuntimeEvent;
    type MotionDuration = MotionDuration;
    type MaxProposals = ConstU32<100>;
    type MaxMembers = ConstU32<100>;
    type DefaultVote = PrimeDefaultVote;
    type WeightInfo = pallet_collective::weights::SubstrateWeight<Runtime>;
    // Through enact, so that everybody sees a change of the council before it is one.
    type SetMembersOrigin = EnsureRoot<AccountId>;
    type MaxProposalWeight = MaxScheduledWeight;
    type DisapproveOrigin = EnsureRoot<AccountId>;
    type KillOrigin = EnsureRoot<AccountId>;
    type Consideration = ();
}

impl pallet_gantry_governance::Config for Runtime {
    type RuntimeCall = RuntimeCall;
    type Scheduler = Scheduler;
    type Preimages = Preimage;
    type MaxCallWeight = MaxScheduledWeight;
    type EnactOrigin = AdminOrigin;
    type CancelOrigin = CancelOrigin;
    type WeightInfo = pallet_gantry_governance::weights::SubstrateWeight<Runtime>;
}
