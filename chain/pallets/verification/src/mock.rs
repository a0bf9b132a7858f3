//! A runtime with this pallet only. `network.rs` replaces its hosts and tasks.

mod network;

use frame_support::{
    assert_ok,
    dispatch::{DispatchResult, DispatchResultWithPostInfo},
    parameter_types,
    traits::{fungible::InspectHold, Hooks, Randomness},
    weights::Weight,
};
pub use gantry_mock::{account, bytes, SplitMix64, GTY};
use gantry_primitives::{commitments::vote_commitment, *};
use sp_core::H256;

use crate as pallet_gantry_verification;
use crate::{Event, HoldReason, Params};
pub use network::*;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Timestamp: pallet_timestamp,
        Balances: pallet_balances,
        Verification: pallet_gantry_verification,
    }
);

gantry_mock::system!();
gantry_mock::clock!();
gantry_mock::balances!();

parameter_types! {
    pub TreasuryAccount: AccountId = account(TREASURY);
    pub storage HookWeight: Weight = Weight::MAX;
    /// The randomness of the block before, as BABE would leave it; none where no block had any.
    pub storage Random: Option<H256> = Some(H256::repeat_byte(1));
}

pub struct MockRandomness;

impl Randomness<Option<H256>, u64> for MockRandomness {
    fn random(subject: &[u8]) -> (Option<H256>, u64) {
        let hash = Random::get().map(|random| {
            let bytes = [subject, random.as_bytes()].concat();
            H256(sp_io::hashing::blake2_256(&bytes))
        });
        (hash, System::block_number() - 1)
    }
}

impl pallet_gantry_verification::Config for Test {
    type Currency = Balances;
    type RuntimeHoldReason = RuntimeHoldReason;
    type Time = Timestamp;
    type Randomness = MockRandomness;
    type Hosts = MockNetwork;
    type Tasks = MockNetwork;
    type Treasury = TreasuryAccount;
    type AdminOrigin = frame_system::EnsureRoot<AccountId>;
    type HookWeight = HookWeight;
    type WeightInfo = ();
    #[cfg(feature = "runtime-benchmarks")]
    type BenchmarkHelper = MockNetwork;
}

/// The time at which every test begins.
pub const START: Moment = 1_000_000;
/// How long a block takes, in milliseconds.
pub const BLOCK_MS: u64 = 2_000;
pub const BOND: Balance = 100 * GTY;
pub const ABSENCE: Balance = 4 * GTY;
pub const MINORITY: Balance = 2 * GTY;
pub const FEE: Balance = 3 * GTY;
pub const STAKE: Balance = 10 * GTY;
pub const JURY_FEE: Balance = 6 * GTY;
pub const REST: u64 = 1_000_000;
pub const MISS_PERIOD: u64 = 5_000_000;
pub const ANSWER: u64 = 20_000;
pub const COMMIT: u64 = 30_000;
pub const REVEAL: u64 = 40_000;
pub const RESULT_COMMIT: u64 = 60_000;
pub const RESULT_REVEAL: u64 = 50_000;
pub const HEARING: u64 = 70_000;
pub const APPEAL: u64 = 80_000;
pub const UNBONDING: u64 = 500_000;
pub const COINS: Balance = 1_000 * GTY;
/// The deposit of every lease, and the treasury's fee for it.
pub const DEPOSIT: Balance = GTY;
pub const LEASE_FEE: Balance = GTY / 50;
pub const SLASH_DEPOSITS: u16 = 3;
pub const AUDIT_SLASH_DEPOSITS: u16 = 19;
pub const AUDITED_FIRST: u32 = 4;
/// The fee of a committee of a service check. It can be divided by two and three.
pub const SERVICE_FEE: Balance = 6 * GTY;
pub const WINDOW: u64 = 10_000;
/// The lease of a running service of [`TENANT`] on [`HOST`].
pub const SERVED: LeaseId = 50_000;

pub const PROVIDER: u8 = 1;
pub const OTHER_PROVIDER: u8 = 2;
pub const TENANT: u8 = 3;
pub const ANYONE: u8 = 4;
/// Someone who has no coins.
pub const NOBODY: u8 = 5;
pub const TREASURY: u8 = 9;
/// The host that most tests are about; of [`PROVIDER`]. The next belongs to [`OTHER_PROVIDER`], and so in turn.
pub const HOST: u8 = 10;
/// The verifiers from the start.
pub const JUDGES: core::ops::Range<u8> = 100..130;
/// The verifier that opens what verifiers open.
pub const OPENER: u8 = 100;
/// The task that most tests are about.
pub const TASK: TaskId = 1;
pub const SALT: Salt = [7; 32];

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

pub fn by(who: &AccountId) -> RuntimeOrigin {
    RuntimeOrigin::signed(who.clone())
}

pub fn number_of(who: &AccountId) -> u8 {
    <[u8; 32]>::from(who.clone())[0]
}

pub fn held(who: u8, reason: HoldReason) -> Balance {
    Balances::balance_on_hold(&reason.into(), &account(who))
}

/// Free and held coins together.
pub fn total_balance(who: u8) -> Balance {
    let data = System::account(account(who)).data;
    data.free + data.reserved
}

/// The next block begins: with fresh randomness, and the hook at work.
pub fn next_block() {
    let random = sp_io::hashing::blake2_256(&System::block_number().to_le_bytes());
    begin_block(Some(H256(random)));
}

/// The next block begins, with this randomness of the one before.
pub fn begin_block(random: Option<H256>) {
    Random::set(&random);
    let number = System::block_number() + 1;
    System::set_block_number(number);
    let weight = Verification::on_initialize(number);
    assert!(weight.all_lte(HookWeight::get()), "the hook keeps to its share");
    // As on a chain, the hook sees the time of the block before.
    pallet_timestamp::Now::<Test>::put(Verification::now() + BLOCK_MS);
}

pub fn blocks(count: u32) {
    (0..count).for_each(|_| next_block());
}

/// The clock moves; no block begins.
pub fn pass(ms: u64) {
    pallet_timestamp::Now::<Test>::put(Verification::now() + ms);
}

/// The clock moves past a period and a block begins.
pub fn wait_past(ms: u64) {
    pass(ms + 1);
    next_block();
}

pub fn open_challenge(opener: u8) -> ChallengeId {
    assert_ok!(Verification::open_challenge(signed(opener), account(HOST), 0, None));
    crate::NextChallengeId::<Test>::get() - 1
}

/// A challenge by [`OPENER`] that is answered and has its committee.
pub fn answered() -> (Matter, Vec<AccountId>) {
    answered_by(OPENER)
}

/// A challenge by `opener` that is answered and has its committee.
pub fn answered_by(opener: u8) -> (Matter, Vec<AccountId>) {
    let id = open_challenge(opener);
    blocks(2);
    assert_ok!(Verification::answer(signed(HOST), id, [8; 32], Moment::MAX));
    let matter = Matter::Challenge(id);
    (matter, members(matter))
}

pub fn ballot(matter: Matter) -> Ballot {
    match matter {
        Matter::Challenge(id) => crate::Challenges::<Test>::get(id).expect("it is open").ballot,
        Matter::Dispute(task) => crate::Disputes::<Test>::get(task).expect("it is open").ballot,
        Matter::Service(lease) => crate::Services::<Test>::get(lease).expect("it is open").ballot,
        Matter::Results(_) => panic!("nobody votes on results"),
    }
}

pub fn members(matter: Matter) -> Vec<AccountId> {
    ballot(matter).seats.into_iter().map(|seat| seat.who).collect()
}

pub fn commit(matter: Matter, who: &AccountId, vote: Vote) -> DispatchResult {
    let commitment = vote_commitment(matter, ballot(matter).round, vote, &SALT, who);
    Verification::commit_vote(by(who), matter, commitment)
}

pub fn reveal(matter: Matter, who: &AccountId, vote: Vote) -> DispatchResultWithPostInfo {
    Verification::reveal_vote(by(who), matter, vote, SALT)
}

/// Each member commits and reveals its vote, in order; those without one stay away.
pub fn vote(matter: Matter, members: &[AccountId], votes: &[Option<Vote>]) {
    let votes: Vec<_> = members.iter().zip(votes).filter_map(|(who, vote)| vote.map(|vote| (who, vote))).collect();
    for (who, vote) in &votes {
        assert_ok!(commit(matter, who, *vote));
    }
    if votes.len() < members.len() {
        wait_past(COMMIT);
    }
    for (who, vote) in &votes {
        assert_ok!(reveal(matter, who, *vote));
    }
}

/// A check of [`SERVED`] by `opener`, which has its committee. Returns that.
pub fn service_check(opener: u8) -> (Matter, Vec<AccountId>) {
    assert_ok!(Verification::open_service_check(signed(opener), SERVED));
    blocks(2);
    let matter = Matter::Service(SERVED);
    (matter, members(matter))
}

/// The outcome of the service check that was closed last.
pub fn service_outcome() -> ServiceOutcome {
    let closed = events().into_iter().rev().find_map(|event| match event {
        Event::ServiceCheckClosed { outcome, .. } => Some(outcome),
        _ => None,
    });
    closed.expect("a check was closed")
}

/// The outcome of the challenge that was closed last.
pub fn outcome() -> ChallengeOutcome {
    let closed = events().into_iter().rev().find_map(|event| match event {
        Event::ChallengeClosed { outcome, .. } => Some(outcome),
        _ => None,
    });
    closed.expect("a challenge was closed")
}

pub fn result(digest: u8) -> PodResult {
    PodResult { digest: [digest; 32], exit_code: 0, usage: Usage { wall_ms: 1, cpu_ms: 1, memory_peak_mib: 1 } }
}

/// The events of this pallet so far.
pub fn events() -> Vec<Event<Test>> {
    let ours = |record: frame_system::EventRecord<RuntimeEvent, H256>| match record.event {
        RuntimeEvent::Verification(event) => Some(event),
        _ => None,
    };
    System::events().into_iter().filter_map(ours).collect()
}

pub fn params() -> Params {
    Params {
        verifier_bond: BOND,
        unbonding_ms: UNBONDING,
        absence_penalty: ABSENCE,
        minority_penalty: MINORITY,
        committee_size: 3,
        challenge_fee: FEE,
        challenge_rest_ms: REST,
        answer_ms: ANSWER,
        challenge_commit_ms: COMMIT,
        challenge_reveal_ms: REVEAL,
        result_commit_ms: RESULT_COMMIT,
        result_reveal_ms: RESULT_REVEAL,
        jury_size: 3,
        appeal_jury_size: 7,
        dispute_stake: STAKE,
        jury_fee: JURY_FEE,
        hearing_ms: HEARING,
        dispute_commit_ms: COMMIT,
        dispute_reveal_ms: REVEAL,
        appeal_ms: APPEAL,
        miss_period_ms: MISS_PERIOD,
        min_verifiers: 7,
        replica_slash_deposits: SLASH_DEPOSITS,
        slash_to_tenant_ppm: 300_000,
        slash_to_hosts_ppm: 200_000,
        audit_valid_results: AUDITED_FIRST,
        audit_min_ppm: 50_000,
        audit_slash_deposits: AUDIT_SLASH_DEPOSITS,
        service_fee: SERVICE_FEE,
        service_share_ppm: 500_000,
        service_window_ms: WINDOW,
        service_rest_ms: REST,
    }
}

pub struct ExtBuilder {
    pub params: Params,
    /// How many of [`JUDGES`] are verifiers.
    pub verifiers: usize,
}

impl Default for ExtBuilder {
    fn default() -> Self {
        Self { params: params(), verifiers: JUDGES.len() }
    }
}

impl ExtBuilder {
    pub fn build(self) -> sp_io::TestExternalities {
        let people = [PROVIDER, OTHER_PROVIDER, TENANT, ANYONE, TREASURY].into_iter();
        let balances = people.chain(JUDGES).map(|who| (account(who), COINS)).collect();
        let genesis = RuntimeGenesisConfig {
            balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
            verification: crate::GenesisConfig {
                params: self.params,
                verifiers: JUDGES.take(self.verifiers).map(account).collect(),
                ..Default::default()
            },
            ..Default::default()
        };
        let mut externalities = gantry_mock::begin_at::<Test>(genesis, START);
        externalities.execute_with(network::begin);
        externalities
    }

    pub fn build_and_execute(self, test: impl FnOnce()) {
        self.build().execute_with(|| {
            let issued = pallet_balances::TotalIssuance::<Test>::get();
            test();
            check(issued);
        });
    }
}

/// Every invariant holds, and no coin was made or lost.
pub fn check(issued: Balance) {
    assert_ok!(Verification::do_try_state());
    assert_eq!(gantry_mock::coins::<Test>(), issued, "no coin was made or lost");
}

/// Runs a test on the default chain.
pub fn on_chain(test: impl FnOnce()) {
    ExtBuilder::default().build_and_execute(test);
}
