use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{IndexTag, TaskKey, TaskKind, TaskSpec, TaskState, VerificationPolicy};

use crate::{mock::*, ByTenant, Error, Event, Manifests, Specs, Tasks as TaskRecords};

fn refused(change: impl FnOnce(&mut TaskSpec), error: Error<Test>) {
    let mut spec = spec();
    change(&mut spec);
    assert_noop!(Tasks::submit(signed(TENANT), spec, manifest()), error);
}

#[test]
fn the_deposit_of_a_task_follows_the_pods_that_it_may_have() {
    on_chain(|| {
        for (spec, pods) in [(gang(1), 1), (gang(16), 16), (service(16), 16)] {
            let before = Tasks::deposit_held(&account(TENANT));
            let task = submit(spec);
            let deposit = DEPOSIT_BASE + DEPOSIT_PER_BYTE * manifest().len() as u128;
            let expected = deposit + DEPOSIT_PER_TASK + (pods - 1) * DEPOSIT_PER_POD;
            assert_eq!(Tasks::deposit_held(&account(TENANT)) - before, expected);
            assert_ok!(Tasks::cancel(signed(TENANT), task));
            advance(ARCHIVE_AFTER);
            assert_ok!(Tasks::prune(signed(ANYONE), vec![task].try_into().expect("one fits")));
            assert_eq!(Tasks::deposit_held(&account(TENANT)), before, "it comes back");
        }
    });
}

#[test]
fn a_submitted_task_is_queued_and_its_deposit_held() {
    on_chain(|| {
        let task = submit(spec());
        let deposit = DEPOSIT_BASE + DEPOSIT_PER_BYTE * manifest().len() as u128;
        assert_eq!(record(task).state, TaskState::Queued);
        let key = TaskKey::from(task);
        assert_eq!(Specs::<Test>::get(key).map(|shared| shared.manifest_deposit), Some(deposit));
        assert_eq!(Tasks::deposit_held(&account(TENANT)), deposit + DEPOSIT_PER_TASK);
        assert_eq!(Manifests::<Test>::get(key), Some(manifest()));
        assert!(is_listed(IndexTag::Queued, task));
        assert_eq!(ByTenant::<Test>::get(account(TENANT), key), Some(1));
        let submitted = Event::Submitted {
            first: task,
            count: 1,
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
fn tasks_whose_results_are_compared_are_refused_unless_the_chain_offers_it() {
    on_chain(|| {
        let three = || {
            let mut spec = redundant();
            (spec.pods_min, spec.pods_max) = (3, 3);
            spec.verification = VerificationPolicy::Redundant { replicas: 3 };
            spec
        };
        let offer = |max_replicas| {
            let params = crate::Params { max_replicas, ..crate::CurrentParams::<Test>::get() };
            assert_ok!(Tasks::set_params(RuntimeOrigin::root(), params));
        };
        let send = |spec: TaskSpec| Tasks::submit(signed(TENANT), spec, manifest());
        assert_eq!(crate::Params::default().max_replicas, 0, "a chain offers it only where it was told so");
        offer(0);
        assert_noop!(send(redundant()), Error::<Test>::ReplicasNotOffered);
        assert_ok!(send(gang(2)));
        offer(2);
        assert_ok!(send(redundant()));
        assert_noop!(send(three()), Error::<Test>::ReplicasNotOffered);
        offer(3);
        assert_ok!(send(three()));
    });
}

#[test]
fn a_kind_that_does_not_go_with_the_rest_is_refused_by_name() {
    on_chain(|| {
        let two = |spec: &mut TaskSpec| (spec.pods_min, spec.pods_max) = (2, 2);
        let replicas = |replicas| VerificationPolicy::Redundant { replicas };
        refused(
            |spec| {
                two(spec);
                spec.kind = TaskKind::Rental;
            },
            Error::RentalHasOnePod,
        );
        refused(|spec| spec.data_from = Some(0), Error::OnlyRentalsTakeData);
        refused(|spec| spec.verification = replicas(1), Error::ReplicasInvalid);
        refused(|spec| spec.verification = replicas(2), Error::ReplicasInvalid);
        refused(
            |spec| {
                two(spec);
                spec.kind = TaskKind::Service;
                spec.verification = replicas(2);
            },
            Error::ReplicasInvalid,
        );
    });
}

#[test]
fn an_array_is_as_many_tasks_of_one_spec() {
    on_chain(|| {
        submit(spec());
        assert_ok!(Tasks::submit_array(signed(TENANT), spec(), manifest(), 300));
        assert_eq!(crate::NextTaskId::<Test>::get(), 301);
        assert_eq!(TaskRecords::<Test>::iter_keys().count(), 301);
        assert_eq!(Specs::<Test>::iter_keys().count(), 2);
        assert_eq!(Tasks::tasks_in(IndexTag::Queued, 0, 300).len(), 256, "a view has a limit");
        assert_eq!(Tasks::tasks_in(IndexTag::Queued, 250, 10), (250..260).collect::<Vec<_>>());
        let (held, one) = (Tasks::deposit_held(&account(TENANT)), DEPOSIT_BASE + DEPOSIT_PER_BYTE * 12);
        assert_eq!(held, 2 * one + 301 * DEPOSIT_PER_TASK, "the manifest is paid for once");
    });
}

#[test]
fn an_array_has_jobs_and_a_bounded_number_of_them() {
    on_chain(|| {
        let submit = |spec, count| Tasks::submit_array(signed(TENANT), spec, manifest(), count);
        assert_noop!(submit(spec(), 0), Error::<Test>::CountInvalid);
        assert_noop!(submit(spec(), 4_097), Error::<Test>::CountInvalid);
        let mut service = spec();
        service.kind = TaskKind::Service;
        assert_noop!(submit(service, 2), Error::<Test>::OnlyJobsInArrays);
    });
}

#[test]
fn the_numbers_of_tasks_are_bounded() {
    on_chain(|| {
        // Not checked at the end: the tasks before were never submitted.
        crate::NextTaskId::<Test>::put((1 << 40) - 1);
        let over = Tasks::submit_array(signed(TENANT), spec(), manifest(), 2);
        assert_eq!(over, Err(Error::<Test>::NoTaskIdsLeft.into()));
        crate::NextTaskId::<Test>::put(0);
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
        refused(|spec| spec.resources.gpus.milli = 999, Error::SharesNotAskedFor);
        refused(|spec| spec.pods_min = 0, Error::PodRangeInvalid);
        refused(|spec| spec.pods_min = 2, Error::PodRangeInvalid);
        refused(|spec| spec.pods_max = 17, Error::PodRangeInvalid);
        refused(|spec| spec.max_duration_ms = MIN_CHARGE - 1, Error::DurationInvalid);
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
    let needed = DEPOSIT_BASE + DEPOSIT_PER_BYTE * manifest().len() as u128 + DEPOSIT_PER_TASK + 2 * GTY + ED;
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
fn only_root_changes_the_params() {
    on_chain(|| {
        let params = crate::Params { max_attempts: 9, ..Default::default() };
        assert_noop!(Tasks::set_params(signed(ANYONE), params.clone()), sp_runtime::DispatchError::BadOrigin);
        assert_ok!(Tasks::set_params(RuntimeOrigin::root(), params.clone()));
        assert_eq!(crate::CurrentParams::<Test>::get(), params);
    });
}

#[test]
fn params_by_which_the_chain_cannot_work_are_refused_by_name() {
    on_chain(|| {
        let refused = |change: fn(&mut crate::Params), error: Error<Test>| {
            let mut params = crate::Params::default();
            change(&mut params);
            assert_noop!(Tasks::set_params(RuntimeOrigin::root(), params), error);
        };
        refused(|params| params.start_timeout_ms = 0, Error::StartTimeoutZero);
        refused(|params| params.dispute_window_ms = 0, Error::DisputeWindowZero);
        refused(|params| params.max_attempts = 0, Error::MaxAttemptsZero);
        refused(|params| params.max_duration_ms = 0, Error::MaxDurationZero);
        refused(|params| params.archive_after_ms = 0, Error::ArchiveAfterZero);
        refused(|params| params.refused_item_fine = 0, Error::RefusedItemFineZero);
        refused(|params| params.preemption_notice_ms = 0, Error::PreemptionNoticeZero);
        refused(|params| params.poor_ppm = 1_000_001, Error::PoorPpmTooHigh);
        refused(|params| params.checkpoint_min_ms = 0, Error::CheckpointMinZero);
        refused(|params| params.max_replicas = 4, Error::MaxReplicasTooHigh);
        refused(|params| params.audit_surcharge_ppm = 1_000_001, Error::AuditSurchargeTooHigh);
        refused(|params| params.scheduler_penalty_ppm = 1_000_001, Error::SchedulerPenaltyTooHigh);
        refused(|params| params.evidence_ms = params.scheduler_unbonding_ms + 1, Error::EvidenceOutlivesBond);
        refused(|params| params.scheduler_unbonding_ms = 365 * 24 * HOUR + 1, Error::SchedulerUnbondingTooLong);
    });
}
