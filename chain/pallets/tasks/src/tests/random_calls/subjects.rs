//! Who calls and what a call is about: what suits, as a rule.

use gantry_primitives::{
    lease_id, HostId, HostRecord, IndexTag, Lease, LeaseId, LeaseState, TaskId, TaskKey, TaskKind, TaskRecord, TaskSpec,
};

use crate::mock::*;

/// The hosts that are registered at the start; one more may come.
pub const HOSTS: std::ops::Range<u8> = 10..16;

pub fn any_account(dice: &mut Dice) -> u8 {
    dice.pick(&[TENANT, OTHER_TENANT, PROVIDER, OTHER_PROVIDER, SCHEDULER, ANYONE, NOBODY])
}

pub fn anyone(dice: &mut Dice) -> RuntimeOrigin {
    signed(any_account(dice))
}

pub fn any_host(dice: &mut Dice) -> u8 {
    HOSTS.start + dice.below(u64::from(HOSTS.end - HOSTS.start)) as u8
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
pub fn task_where(dice: &mut Dice, suits: impl Fn(&TaskRecord, &TaskSpec) -> bool) -> (TaskId, RuntimeOrigin) {
    let matching: Vec<_> = all_tasks().into_iter().filter(|(_, record, spec)| suits(record, spec)).collect();
    if matching.is_empty() || dice.one_in(12) {
        return (dice.below(crate::NextTaskId::<Test>::get() + 1), anyone(dice));
    }
    let (task, record, _) = dice.pick(&matching);
    let tenant = if dice.one_in(12) { anyone(dice) } else { RuntimeOrigin::signed(record.tenant) };
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
pub fn lease_where(dice: &mut Dice, suits: impl Fn(&Lease, &TaskRecord, &TaskSpec) -> bool) -> Found {
    let mut matching = Vec::new();
    for (task, record, spec) in all_tasks() {
        for lease in record.leases.iter().filter(|lease| suits(lease, &record, &spec)) {
            let id = lease_id(task, lease.pod, lease.generation);
            let provider = Hosts::provider_of(&lease.host).expect("the host of a lease exists");
            matching.push((id, record.tenant.clone(), lease.host.clone(), provider));
        }
    }
    if matching.is_empty() || dice.one_in(12) {
        let any = dice.below(crate::NextTaskId::<Test>::get() + 1);
        let id = lease_id(any, dice.below(3) as u8, dice.below(3) as u16);
        return Found { id, tenant: anyone(dice), host: host_origin(any_host(dice)), provider: anyone(dice) };
    }
    let (id, tenant, host, provider) = dice.pick(&matching);
    Found {
        id,
        tenant: RuntimeOrigin::signed(tenant),
        host: RuntimeOrigin::signed(host),
        provider: RuntimeOrigin::signed(provider),
    }
}

pub fn task_to_assign(dice: &mut Dice) -> TaskId {
    let tag = dice.pick(&[IndexTag::Queued, IndexTag::Queued, IndexTag::Short]);
    let listed = Tasks::tasks_in(tag, 0, 256);
    if listed.is_empty() {
        return dice.below(crate::NextTaskId::<Test>::get() + 1);
    }
    dice.pick(&listed)
}

pub fn any_lease(dice: &mut Dice, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(dice, |lease, _, _| state(&lease.state))
}

pub fn rental_lease(dice: &mut Dice, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(dice, |lease, _, spec| spec.kind == TaskKind::Rental && state(&lease.state))
}

pub fn long_lease(dice: &mut Dice, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(dice, |lease, _, spec| spec.kind != TaskKind::Job && state(&lease.state))
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
pub fn host_where(dice: &mut Dice, suits: impl Fn(&HostRecord) -> bool) -> u8 {
    let matching: Vec<_> = HOSTS.filter(|number| Hosts::host(&host(*number)).is_ok_and(|host| suits(&host))).collect();
    if matching.is_empty() || dice.one_in(12) {
        return any_host(dice);
    }
    dice.pick(&matching)
}

/// A host that suits and its provider, as a rule; sometimes anyone.
pub fn host_and_provider(dice: &mut Dice, suits: impl Fn(&HostRecord) -> bool) -> (HostId, RuntimeOrigin) {
    let number = host_where(dice, suits);
    let provider = if dice.one_in(8) { anyone(dice) } else { signed(provider_of(number)) };
    (host(number), provider)
}
