//! Mocks of the ports to hosts and tasks, which a test creates and inspects.

use frame_support::{assert_ok, dispatch::DispatchResult, ensure, parameter_types};
use gantry_primitives::*;
use sp_runtime::DispatchError;
use std::collections::BTreeMap;

use super::{
    account, bytes, Balances, RuntimeOrigin, DEPOSIT, GTY, HOST, LEASE_FEE, OTHER_PROVIDER, PROVIDER, SERVED,
    SERVICE_FEE, TASK, TENANT, TREASURY,
};

parameter_types! {
    /// The hosts, the tasks, and the calls of this pallet.
    pub storage MockNetwork: MockNetworkState = MockNetworkState::default();
}

/// The state of the mocks.
#[derive(Clone, Default, codec::Encode, codec::Decode)]
pub struct MockNetworkState {
    pub hosts: BTreeMap<HostId, MockHost>,
    pub tasks: BTreeMap<TaskId, MockTask>,
    /// The leases of running services.
    pub services: BTreeMap<LeaseId, MockService>,
    /// The services that were ended, and whether their pods refused connections.
    pub unserved: Vec<(LeaseId, bool)>,
    /// Whether `resolve` fails, as a bug would make it.
    pub broken: bool,
}

#[derive(Clone, codec::Encode, codec::Decode)]
pub struct MockHost {
    pub provider: AccountId,
    pub listed: bool,
    pub answers: bool,
    /// The lease that holds each device that is leased, and its tenant.
    pub leased: BTreeMap<u8, (LeaseId, AccountId)>,
    pub challenged: Option<u8>,
    pub devices: Vec<DeviceSpec>,
    pub attested: bool,
    pub verified: bool,
    pub suspended: bool,
    pub bond: Balance,
    pub generation: u32,
    pub punished: Vec<(Misconduct, u64)>,
}

#[derive(Clone, codec::Encode, codec::Decode)]
pub struct MockService {
    pub host: HostId,
    pub started_at: Moment,
    pub treasury_fees: Balance,
    pub checks: ServiceChecks,
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
    pub audited: bool,
    pub leases: Vec<(LeaseId, HostId, MockLease)>,
    pub extra_wanted: bool,
    pub can_extend: bool,
}

pub fn network<R>(change: impl FnOnce(&mut MockNetworkState) -> R) -> R {
    let mut network = MockNetwork::get();
    let answer = change(&mut network);
    MockNetwork::set(&network);
    answer
}

fn with_host<R: Default>(host: &HostId, change: impl FnOnce(&mut MockHost) -> R) -> R {
    network(|network| network.hosts.get_mut(host).map(change)).unwrap_or_default()
}

impl crate::Hosts for MockNetwork {
    fn provider_of(host: &HostId) -> Option<AccountId> {
        MockNetwork::get().hosts.get(host).map(|host| host.provider.clone())
    }

    fn is_listed(host: &HostId) -> bool {
        MockNetwork::get().hosts.get(host).is_some_and(|host| host.listed && !host.suspended)
    }

    fn device_of(host: &HostId, device: u8) -> Option<DeviceSpec> {
        MockNetwork::get().hosts.get(host)?.devices.get(usize::from(device)).cloned()
    }

    fn answers_challenges(host: &HostId) -> bool {
        MockNetwork::get().hosts.get(host).is_some_and(|host| host.answers)
    }

    fn is_leased(host: &HostId, device: u8) -> bool {
        MockNetwork::get().hosts.get(host).is_some_and(|host| host.leased.contains_key(&device))
    }

    fn set_challenged(host: &HostId, device: Option<u8>) {
        with_host(host, |host| host.challenged = device)
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

    fn slash_for_misconduct(host: &HostId, why: Misconduct, duration_ms: u64) {
        with_host(host, |host| host.punished.push((why, duration_ms)))
    }

    fn slash(host: &HostId, why: Misconduct, amount: Balance, rewards: &[(AccountId, Balance)]) -> Vec<Balance> {
        with_host(host, |host| host.punished.push((why, 0)));
        let mut left = amount;
        let mut pay = |to: &AccountId, amount: Balance| {
            let paid = <Self as crate::Hosts>::compensate(host, to, left.min(amount));
            left -= paid;
            paid
        };
        let paid = rewards.iter().map(|(to, amount)| pay(to, *amount)).collect();
        pay(&account(TREASURY), amount);
        paid
    }

    fn bond_of(host: &HostId) -> Balance {
        MockNetwork::get().hosts[host].bond
    }

    fn generation_of(host: &HostId) -> u32 {
        MockNetwork::get().hosts[host].generation
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

impl crate::Tasks for MockNetwork {
    fn tenant_of(task: TaskId) -> Option<AccountId> {
        MockNetwork::get().tasks.get(&task).map(|task| task.tenant.clone())
    }

    fn leases_of(task: TaskId) -> Vec<(LeaseId, HostId)> {
        let network = MockNetwork::get();
        let leases = network.tasks.get(&task).map(|task| task.leases.clone()).unwrap_or_default();
        leases.into_iter().map(|(lease, host, _)| (lease, host)).collect()
    }

    fn task_of(lease: LeaseId) -> TaskId {
        lease / 100
    }

    fn holds_device(lease: LeaseId, tenant: &AccountId, host: &HostId, device: u8) -> bool {
        MockNetwork::get()
            .hosts
            .get(host)
            .is_some_and(|host| host.leased.get(&device) == Some(&(lease, tenant.clone())))
    }

    fn served_lease(lease: LeaseId) -> Option<crate::ServedLease> {
        let network = MockNetwork::get();
        let MockService { host, started_at, treasury_fees, checks } = network.services.get(&lease)?.clone();
        let provider = network.hosts.get(&host)?.provider.clone();
        Some(crate::ServedLease { host, provider, tenant: account(TENANT), started_at, treasury_fees, checks })
    }

    fn set_checks(lease: LeaseId, checks: ServiceChecks) {
        network(|network| {
            if let Some(service) = network.services.get_mut(&lease) {
                service.checks = checks;
            }
        });
    }

    fn end_unserved(lease: LeaseId, pod_refused: bool) {
        network(|network| {
            network.services.remove(&lease).expect("it runs");
            network.unserved.push((lease, pod_refused));
        });
    }

    fn replicas_of(task: TaskId) -> Option<u8> {
        let network = MockNetwork::get();
        network.tasks.get(&task).filter(|task| task.state == MockState::Running)?.replicas
    }

    fn is_audited(task: TaskId) -> bool {
        MockNetwork::get().tasks.get(&task).is_some_and(|task| task.audited)
    }

    fn can_commit(lease: LeaseId, host: &HostId) -> DispatchResult {
        let task = MockNetwork::get().tasks.get(&Self::task_of(lease)).cloned().ok_or(REFUSED)?;
        let runs = task.leases.contains(&(lease, host.clone(), MockLease::Running));
        ensure!(runs && task.state == MockState::Running && task.replicas.is_some(), REFUSED);
        Ok(())
    }

    fn end_committed_pod(lease: LeaseId) {
        set_lease(lease, MockLease::Committed);
    }

    fn is_current(lease: LeaseId) -> bool {
        lease_state(lease).is_some_and(|state| !matches!(state, MockLease::Ended | MockLease::Void))
    }

    fn has_other_pods(task: TaskId, committed: &[LeaseId]) -> bool {
        let leases = MockNetwork::get().tasks[&task].leases.clone();
        leases.iter().any(|(lease, _, state)| !committed.contains(lease) && *state == MockLease::Running)
    }

    fn end_other_pods(task: TaskId, committed: &[LeaseId]) {
        for (lease, _, state) in MockNetwork::get().tasks[&task].leases.clone() {
            if state == MockLease::Running && !committed.contains(&lease) {
                set_lease(lease, MockLease::Ended);
            }
        }
    }

    fn complete_pod(lease: LeaseId, _result: PodResult) -> DispatchResult {
        set_lease(lease, MockLease::Completed);
        Ok(())
    }

    fn deposit_of(_lease: LeaseId) -> Balance {
        DEPOSIT
    }

    fn treasury_fees(_task: TaskId, right: &[LeaseId]) -> Balance {
        LEASE_FEE * right.len() as Balance
    }

    fn void_pod(lease: LeaseId) {
        set_lease(lease, MockLease::Void);
    }

    fn request_extra_pod(task: TaskId) -> DispatchResult {
        network(|network| {
            let task = network.tasks.get_mut(&task).ok_or(REFUSED)?;
            ensure!(task.can_extend, REFUSED);
            task.extra_wanted = true;
            Ok(())
        })
    }

    fn mark_reported(task: TaskId) -> DispatchResult {
        ensure!(!Self::has_other_pods(task, &[]), REFUSED);
        move_task(task, MockState::Running, MockState::Reported)
    }

    fn mark_verified(task: TaskId) -> DispatchResult {
        ensure!(!Self::has_other_pods(task, &[]), REFUSED);
        move_task(task, MockState::Running, MockState::Verified)
    }

    fn fail_without_agreement(task: TaskId) -> DispatchResult {
        move_task(task, MockState::Running, MockState::Failed)
    }

    fn mark_disputed(task: TaskId, accused: &[LeaseId]) -> DispatchResult {
        let leases = Self::leases_of(task);
        ensure!(accused.iter().all(|lease| leases.iter().any(|(known, _)| known == lease)), REFUSED);
        move_task(task, MockState::Reported, MockState::Disputed)
    }

    fn resolve_dispute(task: TaskId, accused: &[LeaseId], verdict: Option<Vote>, _by_tenant: bool) -> DispatchResult {
        ensure!(!MockNetwork::get().broken, REFUSED);
        let upheld = verdict == Some(Vote::Yes);
        let all = accused.len() == Self::leases_of(task).len();
        let to = if upheld && all { MockState::Failed } else { MockState::Verified };
        if upheld {
            accused.iter().for_each(|lease| set_lease(*lease, MockLease::Void));
        }
        move_task(task, MockState::Disputed, to)
    }
}

fn move_task(task: TaskId, from: MockState, to: MockState) -> DispatchResult {
    network(|network| {
        let task = network.tasks.get_mut(&task).ok_or(REFUSED)?;
        ensure!(task.state == from, REFUSED);
        task.state = to;
        Ok(())
    })
}

pub fn set_lease(lease: LeaseId, to: MockLease) {
    network(|network| {
        for (number, _, state) in &mut network.tasks.get_mut(&(lease / 100)).expect("the task exists").leases {
            if *number == lease {
                *state = to.clone();
            }
        }
    })
}

pub fn lease_state(lease: LeaseId) -> Option<MockLease> {
    let network = MockNetwork::get();
    let leases = &network.tasks.get(&(lease / 100))?.leases;
    leases.iter().find(|(number, ..)| *number == lease).map(|(_, _, state)| state.clone())
}

/// Four hosts, of [`PROVIDER`] and [`OTHER_PROVIDER`] in turn.
pub fn begin() {
    network(|network| {
        for number in 0..4 {
            let host = MockHost {
                provider: account(if number % 2 == 0 { PROVIDER } else { OTHER_PROVIDER }),
                listed: true,
                answers: true,
                leased: BTreeMap::new(),
                challenged: None,
                devices: vec![model("L4"), model("H100")],
                attested: false,
                verified: false,
                suspended: false,
                bond: 20 * GTY,
                generation: 0,
                punished: Vec::new(),
            };
            network.hosts.insert(account(HOST + number), host);
        }
    });
}

pub fn model(name: &str) -> DeviceSpec {
    DeviceSpec { vendor: Vendor::Nvidia, model: bytes(name), vram_mib: 24_000, simulated: false }
}

pub fn host() -> MockHost {
    MockNetwork::get().hosts[&account(HOST)].clone()
}

/// The service [`SERVED`] runs, and has paid fees for `checks` checks by verifiers.
pub fn serve(checks: u32) {
    let treasury_fees = 4 * SERVICE_FEE * Balance::from(checks);
    let service = MockService { host: account(HOST), started_at: 0, treasury_fees, checks: Default::default() };
    network(|network| drop(network.services.insert(SERVED, service)));
}

/// The leases of services that were ended, and whether their pods refused connections.
pub fn unserved() -> Vec<(LeaseId, bool)> {
    MockNetwork::get().unserved
}

/// Changes [`HOST`].
pub fn change_host(change: impl FnOnce(&mut MockHost)) {
    network(|network| change(network.hosts.get_mut(&account(HOST)).expect("it exists")));
}

pub fn task_state() -> MockState {
    MockNetwork::get().tasks[&TASK].state
}

pub fn task(state: MockState, replicas: Option<u8>) -> MockTask {
    MockTask {
        tenant: account(TENANT),
        state,
        replicas,
        audited: false,
        leases: Vec::new(),
        extra_wanted: false,
        can_extend: true,
    }
}

/// A task of [`TENANT`] that [`HOST`] reported.
pub fn reported() {
    reported_by(&[HOST]);
}

/// A task of [`TENANT`] whose pods these hosts reported, with leases from 100 on.
pub fn reported_by(hosts: &[u8]) {
    network(|network| {
        let leases = (100..).zip(hosts).map(|(lease, host)| (lease, account(*host), MockLease::Completed)).collect();
        network.tasks.insert(TASK, MockTask { leases, ..task(MockState::Reported, None) });
    });
}

/// The leases that a dispute names.
pub fn accused(leases: &[LeaseId]) -> UpTo<LeaseId, 16> {
    leases.to_vec().try_into().expect("at most 16")
}

/// A running task of so many replicas, on hosts from [`HOST`] on.
pub fn replicated(replicas: u8) {
    network(|network| {
        network.tasks.insert(TASK, task(MockState::Running, Some(replicas)));
    });
    (0..replicas).for_each(add_replica);
}

/// A running job on [`HOST`] whose result is audited if the chain draws it.
pub fn audited() {
    replicated(1);
    network(|network| network.tasks.get_mut(&TASK).expect("the task exists").audited = true);
}

/// One more pod of the task runs, on the host of this number from [`HOST`] on.
pub fn add_replica(number: u8) {
    network(|network| {
        let leases = &mut network.tasks.get_mut(&TASK).expect("the task exists").leases;
        leases.push((100 + LeaseId::from(number), account(HOST + number), MockLease::Running));
    });
}

#[cfg(feature = "runtime-benchmarks")]
pub fn leases() -> Vec<(LeaseId, HostId)> {
    <MockNetwork as crate::Tasks>::leases_of(TASK)
}

#[cfg(feature = "runtime-benchmarks")]
impl crate::BenchmarkHelper for MockNetwork {
    fn host() -> (HostId, AccountId) {
        (account(HOST), account(PROVIDER))
    }

    fn reported_task(tenant: &AccountId) -> TaskId {
        network(|network| {
            let leases = (0..16).map(|pod| (300 + pod, account(HOST), MockLease::Completed)).collect();
            let task = MockTask { tenant: tenant.clone(), leases, ..task(MockState::Reported, None) };
            network.tasks.insert(3, task);
        });
        3
    }

    fn running_service() -> LeaseId {
        serve(100);
        SERVED
    }

    fn replicated_task() -> (TaskId, Vec<(LeaseId, HostId)>) {
        replicated(3);
        (TASK, leases())
    }

    fn set_block(number: u32, now: u64, randomness: [u8; 32]) {
        super::System::set_block_number(u64::from(number));
        pallet_timestamp::Now::<super::Test>::put(now);
        super::Random::set(&Some(sp_core::H256(randomness)));
    }
}
