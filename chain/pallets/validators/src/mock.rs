//! A runtime with this pallet and the session pallet. The test sets the length of a session; keys are the account's
//! number.

use frame_support::{
    assert_ok,
    traits::{ConstU128, ConstU32},
};
pub use gantry_mock::account;
use gantry_primitives::AccountId;
use pallet_session::{disabling::UpToLimitDisablingStrategy, historical::NoteHistoricalRoot, TestSessionHandler};
use sp_runtime::{impl_opaque_keys, testing::UintAuthorityId, traits::ConvertInto};

use crate::{self as pallet_gantry_validators, UnitIdentification};

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Balances: pallet_balances,
        Session: pallet_session,
        Historical: pallet_session::historical,
        List: pallet_gantry_validators,
    }
);

gantry_mock::system!();
gantry_mock::balances!(1);

impl_opaque_keys! {
    pub struct Keys {
        pub dummy: UintAuthorityId,
    }
}

/// Sessions end when a test says so.
pub struct Never;

impl pallet_session::ShouldEndSession<u64> for Never {
    fn should_end_session(_: u64) -> bool {
        false
    }
}

impl frame_support::traits::EstimateNextSessionRotation<u64> for Never {
    fn average_session_length() -> u64 {
        1
    }
    fn estimate_current_session_progress(_: u64) -> (Option<sp_runtime::Permill>, frame_support::weights::Weight) {
        Default::default()
    }
    fn estimate_next_session_rotation(_: u64) -> (Option<u64>, frame_support::weights::Weight) {
        Default::default()
    }
}

impl pallet_session::Config for Test {
    type RuntimeEvent = RuntimeEvent;
    type ValidatorId = AccountId;
    type ValidatorIdOf = ConvertInto;
    type ShouldEndSession = Never;
    type NextSessionRotation = Never;
    type SessionManager = NoteHistoricalRoot<Self, List>;
    type SessionHandler = TestSessionHandler;
    type Keys = Keys;
    type DisablingStrategy = UpToLimitDisablingStrategy;
    type WeightInfo = ();
    type Currency = Balances;
    type KeyDeposit = ConstU128<10>;
}

impl pallet_session::historical::Config for Test {
    type RuntimeEvent = RuntimeEvent;
    type FullIdentification = ();
    type FullIdentificationOf = UnitIdentification;
}

impl pallet_gantry_validators::Config for Test {
    type AdminOrigin = frame_system::EnsureRoot<AccountId>;
    type MaxValidators = ConstU32<6>;
    type MinValidators = ConstU32<2>;
    type HistorySessions = ConstU32<3>;
    type WeightInfo = ();
}

pub fn keys(number: u64) -> Keys {
    Keys { dummy: UintAuthorityId(number) }
}

/// The keys' owner sets them, and has the coins for their deposit.
pub fn set_keys(who: u8, number: u64) {
    let proof = Keys::create_ownership_proof_for(number, &account(who));
    assert_ok!(Session::set_keys(RuntimeOrigin::signed(account(who)), keys(number), proof));
}

impl Keys {
    /// The proof that a signer with these keys would give.
    fn create_ownership_proof_for(number: u64, owner: &AccountId) -> Vec<u8> {
        use codec::Encode;
        use sp_runtime::traits::OpaqueKeys;
        let mut keys = keys(number);
        let proof = sp_runtime::RuntimeAppPublic::generate_proof_of_possession(&mut keys.dummy, &owner.encode())
            .expect("test keys sign")
            .encode();
        assert!(keys.ownership_proof_is_valid(&owner.encode(), &proof));
        proof
    }
}

/// Ends `count` sessions.
pub fn sessions(count: u32) {
    for _ in 0..count {
        Session::rotate_session();
    }
}

/// The validators of the present session.
pub fn validating() -> Vec<u8> {
    Session::validators().iter().map(|who| who.as_ref() as &[u8]).map(|bytes: &[u8]| bytes[0]).collect()
}

/// A chain whose validators are the accounts 1 to 4. The accounts up to 9 have coins.
pub fn new_chain() -> sp_io::TestExternalities {
    let genesis = RuntimeGenesisConfig {
        balances: pallet_balances::GenesisConfig {
            balances: (1..=9).map(|who| (account(who), 1_000)).collect(),
            ..Default::default()
        },
        session: pallet_session::GenesisConfig {
            keys: (1..=4).map(|who| (account(who), account(who), keys(who.into()))).collect(),
            ..Default::default()
        },
        list: crate::GenesisConfig { epoch_slots: 20, slot_ms: 300, ..Default::default() },
        ..Default::default()
    };
    gantry_mock::begin::<Test>(genesis)
}

/// Runs a test on a new chain.
pub fn on_chain(test: impl FnOnce()) {
    new_chain().execute_with(|| {
        test();
        assert_ok!(List::do_try_state());
    });
}
