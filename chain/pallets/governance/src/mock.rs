//! A runtime with this pallet, a scheduler and preimages. Accounts 1 and 2 represent the majorities of the council.

use frame_support::{
    assert_ok, derive_impl, ord_parameter_types, parameter_types,
    traits::{ConstU32, EqualPrivilegeOnly, Hooks},
    weights::Weight,
};
use frame_system::{EnsureRoot, EnsureSignedBy};

use crate as pallet_gantry_governance;

pub type Block = frame_system::mocking::MockBlock<Test>;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Preimage: pallet_preimage,
        Scheduler: pallet_scheduler,
        Governance: pallet_gantry_governance,
    }
);

/// May enact.
pub const ENACTER: u64 = 1;
/// May cancel.
pub const CANCELLER: u64 = 2;
/// Blocks between decision and effect.
pub const DELAY: u32 = 5;

ord_parameter_types! {
    pub const Enacter: u64 = ENACTER;
    pub const Canceller: u64 = CANCELLER;
}

parameter_types! {
    pub MaxCallWeight: Weight = Weight::from_parts(50_000_000_000, 10_000_000);
}

#[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
impl frame_system::Config for Test {
    type Block = Block;
}

impl pallet_preimage::Config for Test {
    type RuntimeEvent = RuntimeEvent;
    type WeightInfo = ();
    type Currency = ();
    type ManagerOrigin = EnsureRoot<u64>;
    type Consideration = ();
}

impl pallet_scheduler::Config for Test {
    type RuntimeEvent = RuntimeEvent;
    type RuntimeOrigin = RuntimeOrigin;
    type PalletsOrigin = OriginCaller;
    type RuntimeCall = RuntimeCall;
    type MaximumWeight = MaxCallWeight;
    type ScheduleOrigin = EnsureRoot<u64>;
    type OriginPrivilegeCmp = EqualPrivilegeOnly;
    type MaxScheduledPerBlock = ConstU32<10>;
    type WeightInfo = ();
    type Preimages = Preimage;
    type BlockNumberProvider = System;
}

impl pallet_gantry_governance::Config for Test {
    type RuntimeCall = RuntimeCall;
    type Scheduler = Scheduler;
    type Preimages = Preimage;
    type MaxCallWeight = MaxCallWeight;
    type EnactOrigin = EnsureSignedBy<Enacter, u64>;
    type CancelOrigin = EnsureSignedBy<Canceller, u64>;
    type WeightInfo = ();
}

/// Lets blocks pass until `block` is open.
pub fn run_to(block: u64) {
    while System::block_number() < block {
        System::set_block_number(System::block_number() + 1);
        Scheduler::on_initialize(System::block_number());
    }
}

/// A chain at block 1.
pub fn new_chain() -> sp_io::TestExternalities {
    let genesis = RuntimeGenesisConfig {
        governance: crate::GenesisConfig { params: crate::Params { delay_blocks: DELAY }, ..Default::default() },
        ..Default::default()
    };
    gantry_mock::begin::<Test>(genesis)
}

/// Runs a test on a new chain.
pub fn on_chain(test: impl FnOnce()) {
    new_chain().execute_with(|| {
        test();
        assert_ok!(Governance::do_try_state());
    });
}
