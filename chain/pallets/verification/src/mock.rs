//! A runtime of this pallet alone, with hosts and tasks that a test sets up and looks at.

use frame_support::{
    assert_ok, derive_impl,
    dispatch::DispatchResult,
    parameter_types,
    traits::{fungible::InspectHold, ConstU128, ConstU64, Hooks, Randomness, VariantCountOf},
    weights::Weight,
};
use gantry_primitives::{commitments::vote_commitment, *};
use sp_core::H256;
use sp_runtime::{traits::IdentityLookup, BuildStorage, DispatchError};
use std::collections::BTreeMap;

use crate as pallet_gantry_verification;
use crate::{Event, HoldReason, Params};

pub type Block = frame_system::mocking::MockBlock<Test>;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Timestamp: pallet_timestamp,
        Balances: pallet_balances,
        Verification: pallet_gantry_verification,
    }
);

#[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
impl frame_system::Config for Test {
    type Block = Block;
    type AccountId = AccountId;
    type Lookup = IdentityLookup<AccountId>;
    type AccountData = pallet_balances::AccountData<Balance>;
}

#[derive_impl(pallet_timestamp::config_preludes::TestDefaultConfig)]
impl pallet_timestamp::Config for Test {
    type MinimumPeriod = ConstU64<1>;
}

/// The existential deposit.
pub const ED: Balance = 1_000_000_000;

#[derive_impl(pallet_balances::config_preludes::TestDefaultConfig)]
impl pallet_balances::Config for Test {
    type Balance = Balance;
    type ExistentialDeposit = ConstU128<ED>;
    type AccountStore = System;
    type RuntimeHoldReason = RuntimeHoldReason;
    type RuntimeFreezeReason = RuntimeFreezeReason;
    type FreezeIdentifier = RuntimeFreezeReason;
    type MaxFreezes = VariantCountOf<RuntimeFreezeReason>;
}

parameter_types! {
    pub TreasuryAccount: AccountId = account(TREASURY);
    pub storage HookWeight: Weight = Weight::MAX;
    /// The randomness of the block before, as BABE would leave it; none where no block had any.
    pub storage Random: Option<H256> = Some(H256::repeat_byte(1));
    /// The hosts, the tasks, and what this pallet did to them.
    pub storage World: WorldState = WorldState::default();
}

/// What the mock knows of hosts and tasks.
#[derive(Clone, Default, codec::Encode, codec::Decode)]
pub struct WorldState {
    pub hosts: BTreeMap<HostId, MockHost>,
    pub tasks: BTreeMap<TaskId, MockTask>,
    /// Whether `resolve` fails, as a bug would make it.
    pub broken: bool,
}

#[derive(Clone, codec::Encode, codec::Decode)]
pub struct MockHost {
    pub provider: AccountId,
    pub listed: bool,
    pub devices: Vec<DeviceSpec>,
    pub attested: bool,
    pub verified: bool,
    pub suspended: bool,
    pub bond: Balance,
    pub punished: Vec<(Misconduct, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, codec::Encode, codec::Decode)]
pub enum MockState {
    Running,
    Reported,
    Disputed,
    Verified,
    Failed,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, codec::Encode, codec::Decode)]
pub enum MockLease {
    Running,
    Committed,
    Completed,
    Ended,
    Void,
}

#[derive(Clone, codec::Encode, codec::Decode)]
pub struct MockTask {
    pub tenant: AccountId,
    pub state: MockState,
    pub replicas: Option<u8>,
    pub leases: Vec<(LeaseId, HostId, MockLease)>,
    pub extra_wanted: bool,
    pub can_extend: bool,
}

pub fn world<R>(change: impl FnOnce(&mut WorldState) -> R) -> R {
    let mut world = World::get();
    let answer = change(&mut world);
    World::set(&world);
    answer
}

fn with_host<R: Default>(host: &HostId, change: impl FnOnce(&mut MockHost) -> R) -> R {
    world(|world| world.hosts.get_mut(host).map(change)).unwrap_or_default()
}

impl crate::Hosts for World {
    fn provider_of(host: &HostId) -> Option<AccountId> {
        World::get().hosts.get(host).map(|host| host.provider.clone())
    }

    fn is_listed(host: &HostId) -> bool {
        World::get().hosts.get(host).is_some_and(|host| host.listed && !host.suspended)
    }

    fn device_of(host: &HostId, device: u8) -> Option<DeviceSpec> {
        World::get().hosts.get(host)?.devices.get(usize::from(device)).cloned()
    }

    fn attest(host: &HostId, _device: u8, ok: bool) {
        with_host(host, |host| host.attested = ok)
    }

    fn mark_verified(host: &HostId) {
        with_host(host, |host| host.verified = true)
    }

    fn suspend(host: &HostId) {
        with_host(host, |host| host.suspended = true)
    }

    fn punish(host: &HostId, why: Misconduct, duration_ms: u64) {
        with_host(host, |host| host.punished.push((why, duration_ms)))
    }

    fn compensate(host: &HostId, to: &AccountId, amount: Balance) -> Balance {
        let (provider, amount) = with_host(host, |host| {
            let amount = amount.min(host.bond);
            host.bond -= amount;
            Some((host.provider.clone(), amount))
        })
        .expect("the host exists");
        assert_ok!(Balances::transfer_allow_death(RuntimeOrigin::signed(provider), to.clone(), amount));
        amount
    }
}

/// The mock refuses what the tasks pallet would.
const REFUSED: DispatchError = DispatchError::Other("refused by the tasks pallet");

impl crate::Tasks for World {
    fn tenant_of(task: TaskId) -> Option<AccountId> {
        World::get().tasks.get(&task).map(|task| task.tenant.clone())
    }

    fn leases_of(task: TaskId) -> Vec<(LeaseId, HostId)> {
        let world = World::get();
        let leases = world.tasks.get(&task).map(|task| task.leases.clone()).unwrap_or_default();
        leases.into_iter().map(|(lease, host, _)| (lease, host)).collect()
    }

    fn task_of(lease: LeaseId) -> TaskId {
        lease / 100
    }

    fn replicas_of(task: TaskId) -> Option<u8> {
        let world = World::get();
        world.tasks.get(&task).filter(|task| task.state == MockState::Running)?.replicas
    }

    fn can_commit(lease: LeaseId, host: &HostId) -> DispatchResult {
        let task = World::get().tasks.get(&Self::task_of(lease)).cloned().ok_or(REFUSED)?;
        let runs = task.leases.contains(&(lease, host.clone(), MockLease::Running));
        frame_support::ensure!(runs && task.state == MockState::Running && task.replicas.is_some(), REFUSED);
        Ok(())
    }

    fn committed(lease: LeaseId) {
        set_lease(lease, MockLease::Committed);
    }

    fn is_current(lease: LeaseId) -> bool {
        lease_state(lease).is_some_and(|state| !matches!(state, MockLease::Ended | MockLease::Void))
    }

    fn runs_on(task: TaskId, committed: &[LeaseId]) -> bool {
        let leases = World::get().tasks[&task].leases.clone();
        leases.iter().any(|(lease, _, state)| !committed.contains(lease) && *state == MockLease::Running)
    }

    fn end_others(task: TaskId, committed: &[LeaseId]) {
        for (lease, _, state) in World::get().tasks[&task].leases.clone() {
            if state == MockLease::Running && !committed.contains(&lease) {
                set_lease(lease, MockLease::Ended);
            }
        }
    }

    fn complete_pod(lease: LeaseId, _result: PodResult) -> DispatchResult {
        set_lease(lease, MockLease::Completed);
        Ok(())
    }

    fn void_pod(lease: LeaseId) {
        set_lease(lease, MockLease::Void);
    }

    fn want_extra_pod(task: TaskId) -> DispatchResult {
        world(|world| {
            let task = world.tasks.get_mut(&task).ok_or(REFUSED)?;
            frame_support::ensure!(task.can_extend, REFUSED);
            task.extra_wanted = true;
            Ok(())
        })
    }

    fn verified(task: TaskId) -> DispatchResult {
        frame_support::ensure!(!Self::runs_on(task, &[]), REFUSED);
        move_task(task, MockState::Running, MockState::Verified)
    }

    fn no_agreement(task: TaskId) -> DispatchResult {
        move_task(task, MockState::Running, MockState::Failed)
    }

    fn dispute(task: TaskId) -> DispatchResult {
        move_task(task, MockState::Reported, MockState::Disputed)
    }

    fn resolve(task: TaskId, verdict: Option<Vote>, _by_tenant: bool) -> DispatchResult {
        let to = if verdict == Some(Vote::Yes) { MockState::Failed } else { MockState::Verified };
        frame_support::ensure!(!World::get().broken, REFUSED);
        move_task(task, MockState::Disputed, to)
    }
}

fn move_task(task: TaskId, from: MockState, to: MockState) -> DispatchResult {
    world(|world| {
        let task = world.tasks.get_mut(&task).ok_or(REFUSED)?;
        frame_support::ensure!(task.state == from, REFUSED);
        task.state = to;
        Ok(())
    })
}

pub fn set_lease(lease: LeaseId, to: MockLease) {
    world(|world| {
        for (number, _, state) in &mut world.tasks.get_mut(&(lease / 100)).expect("the task exists").leases {
            if *number == lease {
                *state = to.clone();
            }
        }
    })
}

pub fn lease_state(lease: LeaseId) -> Option<MockLease> {
    let world = World::get();
    let leases = &world.tasks.get(&(lease / 100))?.leases;
    leases.iter().find(|(number, ..)| *number == lease).map(|(_, _, state)| state.clone())
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
    type Hosts = World;
    type Tasks = World;
    type Treasury = TreasuryAccount;
    type AdminOrigin = frame_system::EnsureRoot<AccountId>;
    type HookWeight = HookWeight;
    type WeightInfo = ();
    #[cfg(feature = "runtime-benchmarks")]
    type BenchmarkHelper = World;
}

#[cfg(feature = "runtime-benchmarks")]
impl crate::BenchmarkHelper for World {
    fn host() -> (HostId, AccountId) {
        (account(HOST), account(PROVIDER))
    }

    fn reported_task(tenant: &AccountId) -> TaskId {
        world(|world| {
            let leases = (0..16).map(|pod| (300 + pod, account(HOST), MockLease::Completed)).collect();
            let task = MockTask { tenant: tenant.clone(), leases, ..task(MockState::Reported, None) };
            world.tasks.insert(3, task);
        });
        3
    }

    fn replicated_task() -> (TaskId, Vec<(LeaseId, HostId)>) {
        replicated(3);
        (TASK, leases())
    }

    fn set_block(number: u32, now: u64, randomness: [u8; 32]) {
        System::set_block_number(u64::from(number));
        pallet_timestamp::Now::<Test>::put(now);
        Random::set(&Some(H256(randomness)));
    }
}

/// One coin.
pub const GTY: Balance = 1_000_000_000_000;
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
pub const ANSWER: u64 = 20_000;
pub const COMMIT: u64 = 30_000;
pub const REVEAL: u64 = 40_000;
pub const RESULT_COMMIT: u64 = 60_000;
pub const RESULT_REVEAL: u64 = 50_000;
pub const HEARING: u64 = 70_000;
pub const APPEAL: u64 = 80_000;
pub const UNBONDING: u64 = 500_000;
pub const COINS: Balance = 1_000 * GTY;

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

pub fn account(who: u8) -> AccountId {
    AccountId::new([who; 32])
}

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

pub fn by(who: &AccountId) -> RuntimeOrigin {
    RuntimeOrigin::signed(who.clone())
}

pub fn number_of(who: &AccountId) -> u8 {
    <[u8; 32]>::from(who.clone())[0]
}

pub fn model(name: &str) -> DeviceSpec {
    let model = name.as_bytes().to_vec().try_into().expect("the text fits");
    DeviceSpec { vendor: Vendor::Nvidia, model, vram_mib: 24_000, simulated: false }
}

pub fn held(who: u8, reason: HoldReason) -> Balance {
    Balances::balance_on_hold(&reason.into(), &account(who))
}

/// Free and held coins together.
pub fn worth(who: u8) -> Balance {
    let data = System::account(account(who)).data;
    data.free + data.reserved
}

pub fn host() -> MockHost {
    World::get().hosts[&account(HOST)].clone()
}

pub fn task_state() -> MockState {
    World::get().tasks[&TASK].state
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
    assert_ok!(Verification::open_challenge(signed(opener), account(HOST), 0));
    crate::NextChallengeId::<Test>::get() - 1
}

/// A challenge by [`OPENER`] that is answered and has its committee.
pub fn answered() -> (Matter, Vec<AccountId>) {
    let id = open_challenge(OPENER);
    blocks(2);
    assert_ok!(Verification::answer(signed(HOST), id, [8; 32]));
    let matter = Matter::Challenge(id);
    (matter, members(matter))
}

pub fn ballot(matter: Matter) -> Ballot {
    match matter {
        Matter::Challenge(id) => crate::Challenges::<Test>::get(id).expect("it is open").ballot,
        Matter::Dispute(task) => crate::Disputes::<Test>::get(task).expect("it is open").ballot,
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

pub fn reveal(matter: Matter, who: &AccountId, vote: Vote) -> DispatchResult {
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

pub fn task(state: MockState, replicas: Option<u8>) -> MockTask {
    MockTask { tenant: account(TENANT), state, replicas, leases: Vec::new(), extra_wanted: false, can_extend: true }
}

/// A task of [`TENANT`] that [`HOST`] reported.
pub fn reported() {
    world(|world| {
        let leases = vec![(100, account(HOST), MockLease::Completed)];
        world.tasks.insert(TASK, MockTask { leases, ..task(MockState::Reported, None) });
    });
}

/// A running task of so many replicas, on hosts from [`HOST`] on.
pub fn replicated(replicas: u8) {
    world(|world| {
        world.tasks.insert(TASK, task(MockState::Running, Some(replicas)));
    });
    (0..replicas).for_each(add_replica);
}

/// One more pod of the task runs, on the host of this number from [`HOST`] on.
pub fn add_replica(number: u8) {
    world(|world| {
        let leases = &mut world.tasks.get_mut(&TASK).expect("the task exists").leases;
        leases.push((100 + LeaseId::from(number), account(HOST + number), MockLease::Running));
    });
}

#[cfg(feature = "runtime-benchmarks")]
pub fn leases() -> Vec<(LeaseId, HostId)> {
    <World as crate::Tasks>::leases_of(TASK)
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
        let mut externalities: sp_io::TestExternalities = genesis.build_storage().expect("genesis is sound").into();
        externalities.execute_with(|| {
            System::set_block_number(1);
            Timestamp::set_timestamp(START);
            world(|world| {
                for number in 0..4 {
                    let host = MockHost {
                        provider: account(if number % 2 == 0 { PROVIDER } else { OTHER_PROVIDER }),
                        listed: true,
                        devices: vec![model("L4"), model("H100")],
                        attested: false,
                        verified: false,
                        suspended: false,
                        bond: 20 * GTY,
                        punished: Vec::new(),
                    };
                    world.hosts.insert(account(HOST + number), host);
                }
            });
        });
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
    let sum: Balance =
        frame_system::Account::<Test>::iter_values().map(|account| account.data.free + account.data.reserved).sum();
    assert_eq!(sum, issued, "no coin was made or lost");
}

/// Runs a test on the default chain.
pub fn on_chain(test: impl FnOnce()) {
    ExtBuilder::default().build_and_execute(test);
}
