//! What a call is about, and who makes it: what suits, as a rule.

use gantry_primitives::{
    lease_id, HostId, HostRecord, IndexTag, Lease, LeaseId, LeaseState, Matter, TaskId, TaskKey, TaskKind, TaskRecord,
    TaskSpec,
};
use gantry_runtime::{AccountId, Hosts, Runtime, RuntimeOrigin, Tasks};
use pallet_gantry_tasks as tasks;
use pallet_gantry_verification::{Challenges, Disputes, Results, Services};

use super::{chain::*, choices::Choices};

/// Any account.
pub fn anyone(choices: &mut Choices) -> RuntimeOrigin {
    signed(choices.pick(&ACCOUNTS))
}

/// The account that may make the call; anyone, where the choice is unusual.
pub fn by(choices: &mut Choices, account: AccountId) -> RuntimeOrigin {
    choices.usually(RuntimeOrigin::signed(account), |number| signed(ACCOUNTS[usize::from(number) % ACCOUNTS.len()]))
}

/// An origin that governs the chain: root or two thirds of the council, as a rule; less than that, where the choice is
/// unusual.
pub fn admin(choices: &mut Choices) -> RuntimeOrigin {
    let council = |yes| RuntimeOrigin::from(pallet_collective::RawOrigin::Members(yes, 3));
    match choices.byte() {
        0..=119 => RuntimeOrigin::root(),
        120..=239 => council(2),
        240..=247 => council(1),
        _ => signed(ANYONE),
    }
}

/// A host by its number, registered or not.
pub fn any_host(choices: &mut Choices) -> u8 {
    HOSTS.start + choices.below(HOSTS.end - HOSTS.start)
}

/// A host that suits, by its number; any, where none does.
pub fn host_where(choices: &mut Choices, suits: impl Fn(&HostRecord) -> bool) -> u8 {
    let matching: Vec<_> = HOSTS.filter(|number| Hosts::host(&host(*number)).is_ok_and(|host| suits(&host))).collect();
    choices.suitable(&matching).unwrap_or_else(|| any_host(choices))
}

/// A host that suits, and its provider.
pub fn host_and_provider(choices: &mut Choices, suits: impl Fn(&HostRecord) -> bool) -> (HostId, RuntimeOrigin) {
    let number = host_where(choices, suits);
    (host(number), by(choices, account(provider_of(number))))
}

/// Every task, the newest first.
fn all_tasks() -> Vec<(TaskId, TaskRecord, TaskSpec)> {
    let spec =
        |record: &TaskRecord| tasks::Specs::<Runtime>::get(TaskKey::from(record.first)).expect("it is kept").spec;
    let mut all: Vec<_> = tasks::Tasks::<Runtime>::iter()
        .map(|(key, record)| {
            let spec = spec(&record);
            (key.task(), record, spec)
        })
        .collect();
    all.sort_by_key(|(task, ..)| std::cmp::Reverse(*task));
    all
}

fn any_task(choices: &mut Choices) -> TaskId {
    TaskId::from(choices.byte()) % (tasks::NextTaskId::<Runtime>::get() + 1)
}

/// A task that suits, and its tenant; any, where none does.
pub fn task_where(choices: &mut Choices, suits: impl Fn(&TaskRecord, &TaskSpec) -> bool) -> (TaskId, RuntimeOrigin) {
    let matching: Vec<_> = all_tasks().into_iter().filter(|(_, record, spec)| suits(record, spec)).collect();
    match choices.suitable(&matching) {
        Some((task, record, _)) => (task, by(choices, record.tenant)),
        None => (any_task(choices), anyone(choices)),
    }
}

/// Up to `most` tasks that suit, without their tenants.
pub fn tasks_where(choices: &mut Choices, most: u8, suits: impl Fn(&TaskRecord, &TaskSpec) -> bool) -> Vec<TaskId> {
    let matching: Vec<_> =
        all_tasks().into_iter().filter(|(_, record, spec)| suits(record, spec)).map(|(task, ..)| task).collect();
    let count = 1 + choices.below(most);
    (0..count).map(|_| choices.suitable(&matching).unwrap_or_else(|| any_task(choices))).collect()
}

/// A task that waits for hosts, or that misses a pod.
pub fn task_to_assign(choices: &mut Choices) -> TaskId {
    let mut listed = Tasks::tasks_in(IndexTag::Short, 0, 256);
    listed.extend(Tasks::tasks_in(IndexTag::Queued, 0, 256));
    listed.sort_by_key(|task| std::cmp::Reverse(*task));
    choices.suitable(&listed).unwrap_or_else(|| any_task(choices))
}

/// A lease that a call is about.
#[derive(Clone)]
pub struct Found {
    pub id: LeaseId,
    pub tenant: AccountId,
    pub host: HostId,
    pub provider: AccountId,
}

/// A lease that suits, of the newest task first; any number, where none does.
pub fn lease_where(choices: &mut Choices, suits: impl Fn(&Lease, &TaskRecord, &TaskSpec) -> bool) -> Found {
    let mut matching = Vec::new();
    for (task, record, spec) in all_tasks() {
        for lease in record.leases.iter().filter(|lease| suits(lease, &record, &spec)) {
            let id = lease_id(task, lease.pod, lease.generation);
            let provider = Hosts::provider_of(&lease.host).expect("the host of a lease exists");
            matching.push(Found { id, tenant: record.tenant.clone(), host: lease.host.clone(), provider });
        }
    }
    choices.suitable(&matching).unwrap_or_else(|| {
        let task = any_task(choices);
        let [pod, generation] = [choices.below(3), choices.below(3)];
        let number = any_host(choices);
        Found {
            id: lease_id(task, pod, generation.into()),
            tenant: account(TENANT),
            host: host(number),
            provider: account(provider_of(number)),
        }
    })
}

pub fn any_lease(choices: &mut Choices, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(choices, |lease, _, _| state(&lease.state))
}

pub fn rental_lease(choices: &mut Choices, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(choices, |lease, _, spec| spec.kind == TaskKind::Rental && state(&lease.state))
}

/// A lease of a service or rental.
pub fn long_lease(choices: &mut Choices, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(choices, |lease, _, spec| spec.kind != TaskKind::Job && state(&lease.state))
}

pub fn is_pending(state: &LeaseState) -> bool {
    *state == LeaseState::Pending
}

pub fn is_active(state: &LeaseState) -> bool {
    *state == LeaseState::Active
}

pub fn is_suspended(state: &LeaseState) -> bool {
    *state == LeaseState::Suspended
}

pub fn is_retained(state: &LeaseState) -> bool {
    matches!(state, LeaseState::Retained(_))
}

pub fn is_live(state: &LeaseState) -> bool {
    state.is_live()
}

/// Everything that verification is finding out, in the order of its numbers.
pub fn matters() -> Vec<Matter> {
    let mut challenges: Vec<_> = Challenges::<Runtime>::iter_keys().collect();
    let mut disputes: Vec<_> = Disputes::<Runtime>::iter_keys().collect();
    let mut services: Vec<_> = Services::<Runtime>::iter_keys().collect();
    let mut results: Vec<_> = Results::<Runtime>::iter_keys().collect();
    services.sort();
    challenges.sort();
    disputes.sort();
    results.sort();
    let challenges = challenges.into_iter().map(Matter::Challenge);
    let disputes = disputes.into_iter().map(Matter::Dispute);
    let services = services.into_iter().map(Matter::Service);
    challenges.chain(disputes).chain(services).chain(results.into_iter().map(Matter::Results)).collect()
}
