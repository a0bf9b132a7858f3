use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{TaskKind, TaskSpec, TaskState, TaskStateTag};

use crate::{mock::*, ByState, ByTenant, Error, Event, Manifests};

fn refused(change: impl FnOnce(&mut TaskSpec), error: Error<Test>) {
    let mut spec = spec();
    change(&mut spec);
    assert_noop!(Tasks::submit(signed(TENANT), spec, manifest()), error);
}

#[test]
fn a_submitted_task_is_queued_and_its_deposit_held() {
    on_chain(|| {
        let task = submit(spec());
        let deposit = DEPOSIT_BASE + DEPOSIT_PER_BYTE * manifest().len() as u128;
        assert_eq!(record(task).state, TaskState::Queued);
        assert_eq!(record(task).deposit, deposit);
        assert_eq!(Tasks::deposit_held(&account(TENANT)), deposit);
        assert_eq!(Manifests::<Test>::get(task), Some(manifest()));
        assert!(ByState::<Test>::contains_key(TaskStateTag::Queued, task));
        assert!(ByTenant::<Test>::contains_key(account(TENANT), task));
        let submitted = Event::Submitted {
            task,
            tenant: account(TENANT),
            kind: TaskKind::Job,
            manifest_digest: spec().manifest_digest,
        };
        assert_eq!(task_events(), [submitted]);
    });
}

#[test]
fn tasks_are_numbered_in_the_order_they_come() {
    on_chain(|| assert_eq!([submit(spec()), submit(spec()), submit(spec())], [0, 1, 2]));
}

#[test]
fn a_manifest_must_have_the_digest_of_the_spec() {
    on_chain(|| {
        let error = Error::<Test>::ManifestDigestMismatch;
        assert_noop!(Tasks::submit(signed(TENANT), spec(), bytes("other")), error);
        assert_noop!(Tasks::submit(signed(TENANT), spec(), bytes("")), Error::<Test>::ManifestEmpty);
    });
}

#[test]
fn only_jobs_are_supported() {
    on_chain(|| {
        refused(|spec| spec.kind = TaskKind::Service, Error::KindNotSupported);
        refused(|spec| spec.kind = TaskKind::Rental, Error::KindNotSupported);
    });
}

#[test]
fn a_spec_that_makes_no_sense_is_refused_by_name() {
    on_chain(|| {
        refused(|spec| spec.resources.cpu_milli = 0, Error::ResourcesEmpty);
        refused(|spec| spec.resources.memory_mib = 0, Error::ResourcesEmpty);
        refused(|spec| spec.resources.gpus.count = 17, Error::GpuRequestInvalid);
        refused(|spec| spec.resources.gpus.milli = 0, Error::GpuRequestInvalid);
        refused(|spec| spec.resources.gpus.milli = 1_001, Error::GpuRequestInvalid);
        refused(|spec| spec.pods_min = 0, Error::PodRangeInvalid);
        refused(|spec| spec.pods_min = 2, Error::PodRangeInvalid);
        refused(|spec| spec.pods_max = 17, Error::PodRangeInvalid);
        refused(|spec| spec.max_duration_ms = 0, Error::DurationInvalid);
        refused(|spec| spec.max_duration_ms = 24 * HOUR + 1, Error::DurationInvalid);
        refused(|spec| spec.deadline = Some(START - 1), Error::DeadlinePassed);
        refused(|spec| spec.max_rate_per_hour = u128::MAX, Error::CostTooHigh);
    });
}

#[test]
fn a_task_without_devices_may_leave_their_share_empty() {
    on_chain(|| {
        let mut spec = gang(1);
        spec.resources.gpus.milli = 0;
        submit(spec);
    });
}

#[test]
fn a_tenant_must_have_what_every_pod_may_cost() {
    // The task's own deposit, one pod at the highest rate for the whole duration, and what must stay on the account.
    let needed = DEPOSIT_BASE + DEPOSIT_PER_BYTE * manifest().len() as u128 + 2 * GTY + ED;
    ExtBuilder { tenant: needed, ..Default::default() }.build_and_execute(|| {
        submit(spec());
    });
    ExtBuilder { tenant: needed - 1, ..Default::default() }.build_and_execute(|| {
        refused(|_| (), Error::TenantCannotPay);
    });
    ExtBuilder { tenant: needed, ..Default::default() }.build_and_execute(|| {
        refused(|spec| spec.pods_max = 2, Error::TenantCannotPay);
    });
}

#[test]
fn someone_without_coins_cannot_submit() {
    on_chain(|| {
        assert_noop!(Tasks::submit(signed(NOBODY), spec(), manifest()), Error::<Test>::TenantCannotPay);
    });
}

#[test]
fn a_scheduler_bonds_and_unbonds_once() {
    on_chain(|| {
        let before = worth(&account(ANYONE));
        assert_noop!(Tasks::unbond_scheduler(signed(ANYONE)), Error::<Test>::NotScheduler);
        assert_ok!(Tasks::bond_scheduler(signed(ANYONE)));
        assert_eq!(Tasks::scheduler_bond_held(&account(ANYONE)), SCHEDULER_BOND);
        assert_noop!(Tasks::bond_scheduler(signed(ANYONE)), Error::<Test>::AlreadyScheduler);
        assert_ok!(Tasks::unbond_scheduler(signed(ANYONE)));
        assert_eq!(Tasks::scheduler_bond_held(&account(ANYONE)), 0);
        assert_eq!(worth(&account(ANYONE)), before);
        assert_noop!(Tasks::bond_scheduler(signed(NOBODY)), Error::<Test>::SchedulerCannotPay);
    });
}

#[test]
fn only_root_changes_the_params() {
    on_chain(|| {
        let params = crate::Params { max_attempts: 9, ..Default::default() };
        assert_noop!(Tasks::set_params(signed(ANYONE), params.clone()), sp_runtime::DispatchError::BadOrigin);
        assert_ok!(Tasks::set_params(RuntimeOrigin::root(), params.clone()));
        assert_eq!(crate::CurrentParams::<Test>::get(), params);
        let none = crate::Params { max_attempts: 0, ..Default::default() };
        assert_noop!(Tasks::set_params(RuntimeOrigin::root(), none), Error::<Test>::ParamsInvalid);
    });
}
