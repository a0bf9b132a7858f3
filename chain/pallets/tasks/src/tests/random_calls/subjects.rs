//! Who calls and what a call is about: what suits, as a rule.

use gantry_primitives::{
    lease_id, HostId, HostRecord, IndexTag, Lease, LeaseId, LeaseState, TaskId, TaskKey, TaskKind, TaskRecord, TaskSpec,
};

use crate::mock::*;

/// The hosts that are registered at the start; one more may come.
pub const HOSTS: std::ops::Range<u8> = 10..16;

pub fn any_account(rng: &mut SplitMix64) -> u8 {
    rng.pick(&[TENANT, OTHER_TENANT, PROVIDER, OTHER_PROVIDER, SCHEDULER, ANYONE, NOBODY])
}

pub fn anyone(rng: &mut SplitMix64) -> RuntimeOrigin {
    signed(any_account(rng))
}

pub fn any_host(rng: &mut SplitMix64) -> u8 {
    HOSTS.start + rng.below(u64::from(HOSTS.end - HOSTS.start)) as u8
}

fn all_tasks() -> Vec<(TaskId, TaskRecord, TaskSpec)> {
    let mut all: Vec<_> = crate::Tasks::<Test>::iter()
        .map(|(key, record)| {
            let shared = crate::Specs::<Test>::get(TaskKey::from(record.first)).expect("its spec is kept");
            (key.task(), record, shared.spec)
        })
        .collect();
    all.sort_by_key(|(task, ..)| *task);
    all
}

/// The tasks that suit.
pub fn tasks_that(suit: impl Fn(&TaskRecord, &TaskSpec) -> bool) -> Vec<TaskId> {
    all_tasks().into_iter().filter(|(_, record, spec)| suit(record, spec)).map(|(task, ..)| task).collect()
}

/// A task that suits, with its tenant, as a rule; sometimes any number.
pub fn task_where(rng: &mut SplitMix64, suits: impl Fn(&TaskRecord, &TaskSpec) -> bool) -> (TaskId, RuntimeOrigin) {
    let matching: Vec<_> = all_tasks().into_iter().filter(|(_, record, spec)| suits(record, spec)).collect();
    if matching.is_empty() || rng.one_in(12) {
        return (rng.below(crate::NextTaskId::<Test>::get() + 1), anyone(rng));
    }
    let (task, record, _) = rng.pick(&matching);
    let tenant = if rng.one_in(12) { anyone(rng) } else { RuntimeOrigin::signed(record.tenant) };
    (task, tenant)
}

/// A lease that a call may be about.
pub struct Found {
    pub id: LeaseId,
    pub tenant: RuntimeOrigin,
    pub host: RuntimeOrigin,
    pub provider: RuntimeOrigin,
}

/// A lease that suits, as a rule; sometimes any number and anyone.
pub fn lease_where(rng: &mut SplitMix64, suits: impl Fn(&Lease, &TaskRecord, &TaskSpec) -> bool) -> Found {
    let mut matching = Vec::new();
    for (task, record, spec) in all_tasks() {
        for lease in record.leases.iter().filter(|lease| suits(lease, &record, &spec)) {
            let id = lease_id(task, lease.pod, lease.generation);
            let provider = Hosts::provider_of(&lease.host).expect("the host of a lease exists");
            matching.push((id, record.tenant.clone(), lease.host.clone(), provider));
        }
    }
    if matching.is_empty() || rng.one_in(12) {
        let any = rng.below(crate::NextTaskId::<Test>::get() + 1);
        let id = lease_id(any, rng.below(3) as u8, rng.below(3) as u16);
        return Found { id, tenant: anyone(rng), host: host_origin(any_host(rng)), provider: anyone(rng) };
    }
    let (id, tenant, host, provider) = rng.pick(&matching);
    Found {
        id,
        tenant: RuntimeOrigin::signed(tenant),
        host: RuntimeOrigin::signed(host),
        provider: RuntimeOrigin::signed(provider),
    }
}

pub fn task_to_assign(rng: &mut SplitMix64) -> TaskId {
    let tag = rng.pick(&[IndexTag::Queued, IndexTag::Queued, IndexTag::Short]);
    let listed = Tasks::tasks_in(tag, 0, 256);
    if listed.is_empty() {
        return rng.below(crate::NextTaskId::<Test>::get() + 1);
    }
    rng.pick(&listed)
}

pub fn any_lease(rng: &mut SplitMix64, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(rng, |lease, _, _| state(&lease.state))
}

pub fn rental_lease(rng: &mut SplitMix64, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(rng, |lease, _, spec| spec.kind == TaskKind::Rental && state(&lease.state))
}

pub fn long_lease(rng: &mut SplitMix64, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(rng, |lease, _, spec| spec.kind != TaskKind::Job && state(&lease.state))
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

/// A host that suits, as a rule; sometimes any.
pub fn host_where(rng: &mut SplitMix64, suits: impl Fn(&HostRecord) -> bool) -> u8 {
    let matching: Vec<_> = HOSTS.filter(|number| Hosts::host(&host(*number)).is_ok_and(|host| suits(&host))).collect();
    if matching.is_empty() || rng.one_in(12) {
        return any_host(rng);
    }
    rng.pick(&matching)
}

/// A host that suits and its provider, as a rule; sometimes anyone.
pub fn host_and_provider(rng: &mut SplitMix64, suits: impl Fn(&HostRecord) -> bool) -> (HostId, RuntimeOrigin) {
    let number = host_where(rng, suits);
    let provider = if rng.one_in(8) { anyone(rng) } else { signed(provider_of(number)) };
    (host(number), provider)
}
