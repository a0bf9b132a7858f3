//! The calls of the tasks pallet.

use gantry_primitives::{HostFailure, IndexTag, LeaseState, NoticeState, Report, Survival, TaskKind, TaskState};
use gantry_runtime::{Hosts, Runtime, RuntimeOrigin, Tasks, GTY};
use pallet_gantry_tasks::{Call, CurrentParams};

use super::{actions, call, host_of, signed_by};
use crate::sequences::{arguments::*, chain::*, choices::Choices, subjects::*};

type TasksCall = Call<Runtime>;

/// A scheduler, as a rule.
fn scheduler(choices: &mut Choices) -> RuntimeOrigin {
    by(choices, account(SCHEDULER))
}

actions! {
    "Tasks.submit" 120 |choices| {
        let tenant = choices.pick(&[TENANT, TENANT, POOR_TENANT, 3]);
        call(TasksCall::submit { spec: spec(choices), manifest: manifest() }, signed(tenant))
    };
    "Tasks.submit_array" 10 |choices| {
        let count = choices.pick(&[2, 3, 0, 5]);
        let tenant = choices.pick(&[TENANT, POOR_TENANT]);
        call(TasksCall::submit_array { spec: spec(choices), manifest: manifest(), count }, signed(tenant))
    };
    "Tasks.assign" 220 |choices| {
        let task = task_to_assign(choices);
        let pods = pods(choices, task).try_into().unwrap_or_default();
        call(TasksCall::assign { task, pods }, scheduler(choices))
    };
    "Tasks.assign_batch" 20 |choices| {
        let count = 1 + choices.below(3);
        let some: Vec<_> = (0..count)
            .map(|_| {
                let task = task_to_assign(choices);
                (task, pods(choices, task).try_into().unwrap_or_default())
            })
            .collect();
        call(TasksCall::assign_batch { assignments: some.try_into().expect("few") }, scheduler(choices))
    };
    "Tasks.assign_to_own_host" 20 |choices| {
        let task = task_to_assign(choices);
        let pods = pods(choices, task);
        let own = pods.first().and_then(|pod| Hosts::provider_of(&pod.host).ok());
        let origin = signed_by(own.unwrap_or_else(|| account(SCHEDULER)));
        call(TasksCall::assign { task, pods: pods.try_into().unwrap_or_default() }, origin)
    };
    "Tasks.report_started" 200 |choices| {
        let found = any_lease(choices, is_pending);
        call(TasksCall::report_started { lease: found.id }, host_of(choices, &found))
    };
    "Tasks.report_result" 60 |choices| {
        let found = lease_where(choices, |lease, _, spec| is_active(&lease.state) && spec.kind == TaskKind::Job);
        let origin = host_of(choices, &found);
        call(TasksCall::report_result { lease: found.id, result: result(choices) }, origin)
    };
    "Tasks.report_failed" 25 |choices| {
        let found = any_lease(choices, is_live);
        let reasons = [
            HostFailure::DriverError, HostFailure::ImageInvalid, HostFailure::InputMissing,
            HostFailure::ResourcesUnavailable, HostFailure::ImageUnavailable, HostFailure::ManifestInvalid,
            HostFailure::ImageCannotRun, HostFailure::ImageTooSlow,
        ];
        let origin = host_of(choices, &found);
        call(TasksCall::report_failed { lease: found.id, reason: choices.pick(&reasons) }, origin)
    };
    "Tasks.report" 40 |choices| {
        let found = any_lease(choices, |state| !matches!(state, LeaseState::Ended(_) | LeaseState::Purged));
        let origin = host_of(choices, &found);
        let state = Tasks::lease(found.id).map_or(LeaseState::Pending, |(lease, ..)| lease.state);
        call(TasksCall::report { lease: found.id, report: report(choices, &state) }, origin)
    };
    "Tasks.report_batch" 40 |choices| {
        let busy = host_where(choices, |record| record.live_leases > 0);
        let reports = reports(choices, &host(busy));
        call(TasksCall::report_batch { reports: reports.try_into().expect("few") }, by(choices, host(busy)))
    };
    "Tasks.requeue" 30 |choices| {
        call(TasksCall::requeue { lease: any_lease(choices, is_live).id }, anyone(choices))
    };
    "Tasks.expire_lease" 30 |choices| {
        call(TasksCall::expire_lease { lease: any_lease(choices, is_live).id }, anyone(choices))
    };
    "Tasks.cancel" 15 |choices| {
        let (task, tenant) = task_where(choices, |record, _| !record.state.tag().is_final());
        call(TasksCall::cancel { task }, tenant)
    };
    "Tasks.expire" 15 |choices| {
        let (task, _) = task_where(choices, |record, spec| {
            record.state == TaskState::Queued && spec.deadline.is_some()
        });
        call(TasksCall::expire { task }, anyone(choices))
    };
    "Tasks.accept_result" 30 |choices| {
        let (task, tenant) = task_where(choices, |record, _| record.state == TaskState::Reported);
        call(TasksCall::accept_result { task }, tenant)
    };
    "Tasks.settle" 40 |choices| {
        let (task, _) = task_where(choices, |record, _| {
            matches!(record.state, TaskState::Reported | TaskState::Verified)
        });
        call(TasksCall::settle { task }, anyone(choices))
    };
    "Tasks.settle_batch" 15 |choices| {
        let tag = choices.pick(&[IndexTag::Verified, IndexTag::Reported]);
        let tasks = Tasks::tasks_in(tag, choices.byte().into(), 8);
        call(TasksCall::settle_batch { tasks: tasks.try_into().expect("few") }, anyone(choices))
    };
    "Tasks.prune" 20 |choices| {
        let tasks = tasks_where(choices, 4, |record, _| record.state.tag().is_final());
        call(TasksCall::prune { tasks: tasks.try_into().expect("few") }, anyone(choices))
    };
    "Tasks.preempt" 50 |choices| {
        let (wanting, _) = task_where(choices, |record, spec| {
            record.state == TaskState::Queued && spec.priority > 0
        });
        let victims = tasks_where(choices, 2, |record, spec| record.state == TaskState::Running && spec.spot);
        let pods = pods_instead(choices, wanting, &victims).try_into().unwrap_or_default();
        let victims = victims.try_into().expect("few");
        call(TasksCall::preempt { wanting, victims, pods }, scheduler(choices))
    };
    "Tasks.finish_preemption" 30 |choices| {
        let (wanting, _) = task_where(choices, |record, _| matches!(record.notice, NoticeState::Standing(_)));
        call(TasksCall::finish_preemption { wanting }, anyone(choices))
    };
    "Tasks.name_standby" 50 |choices| {
        let found = lease_where(choices, |lease, _, spec| lease.state.is_live() && spec.survival == Survival::Standby);
        let (host, devices) = place(choices, found.id);
        let origin = if choices.byte() < 200 { signed(SCHEDULER) } else { signed_by(found.tenant) };
        let rate_per_hour = rate(choices);
        call(TasksCall::name_standby { lease: found.id, host, devices, rate_per_hour }, origin)
    };
    "Tasks.move_pod" 40 |choices| {
        let found = lease_where(choices, |lease, _, spec| lease.state.is_live() && spec.moves_pods());
        let (host, devices) = place(choices, found.id);
        let origin = if choices.byte() < 160 { signed_by(found.tenant) } else { signed(SCHEDULER) };
        let rate_per_hour = rate(choices);
        call(TasksCall::move_pod { lease: found.id, host, devices, rate_per_hour }, origin)
    };
    "Tasks.report_checkpoint" 30 |choices| {
        let found = any_lease(choices, is_active);
        let origin = host_of(choices, &found);
        let (digest, bytes) = ([choices.byte(); 32], choices.pick(&[1, 0, u64::MAX]));
        call(TasksCall::report { lease: found.id, report: Report::Checkpoint { digest, bytes } }, origin)
    };
    "Tasks.scale" 25 |choices| {
        let (task, tenant) = task_where(choices, |record, spec| {
            spec.kind == TaskKind::Service && !record.state.tag().is_final()
        });
        call(TasksCall::scale { task, pods: choices.pick(&[2, 1, 3, 0, 17]) }, tenant)
    };
    "Tasks.end" 40 |choices| {
        let (task, tenant) = task_where(choices, |record, spec| {
            spec.kind != TaskKind::Job && record.state == TaskState::Running
        });
        call(TasksCall::end { task }, tenant)
    };
    "Tasks.rate" 15 |choices| {
        let found = lease_where(choices, |lease, record, _| record.state == TaskState::Settled && !lease.rated);
        let origin = by(choices, found.tenant);
        call(TasksCall::rate { lease: found.id, stars: choices.pick(&[5, 1, 3, 0, 6]) }, origin)
    };
    "Tasks.bond_scheduler" 8 |choices| {
        call(TasksCall::bond_scheduler {}, anyone(choices))
    };
    "Tasks.unbond_scheduler" 5 |choices| {
        call(TasksCall::unbond_scheduler {}, scheduler(choices))
    };
    "Tasks.publish_queues" 5 |choices| {
        call(TasksCall::publish_queues { digest: choices.pick(&[None, Some([1; 32])]) }, scheduler(choices))
    };
    "Tasks.report_self_assignment" 20 |choices| {
        let found = lease_where(choices, |lease, _, _| lease.self_assigned_ppm.is_some());
        let (host, devices) = place(choices, found.id);
        call(TasksCall::report_self_assignment { lease: found.id, host, devices }, anyone(choices))
    };
    "Tasks.set_params" 8 |choices| {
        let mut params = CurrentParams::<Runtime>::get();
        params.max_attempts = choices.pick(&[3, 1, 2, 16]);
        params.max_refusals = choices.pick(&[2, 1, 3]);
        params.deposit_per_task = choices.pick(&[GTY / 1_000, 0, GTY]);
        params.deposit_per_pod = choices.pick(&[GTY / 1_000, 0, GTY]);
        params.refusal_fee = choices.pick(&[GTY / 1_000, 0, 6 * GTY]);
        params.refused_item_fine = choices.pick(&[GTY / 1_000, 6 * GTY, 1]);
        params.scheduler_bond = choices.pick(&[100 * GTY, 0]);
        params.scheduler_unbonding_ms = choices.pick(&[MINUTE, 0, HOUR]);
        params.evidence_ms = choices.pick(&[MINUTE / 2, 0, HOUR]);
        params.scheduler_penalty_ppm = choices.pick(&[100_000, 0, 1_000_000]);
        params.min_charge_ms = choices.pick(&[10_000, 0, HOUR]);
        params.poor_ppm = choices.pick(&[300_000, 1_000_000, 1_000_001]);
        params.start_timeout_ms = choices.pick(&[MINUTE, 1, HOUR]);
        params.dispute_window_ms = choices.pick(&[6_000, 1, HOUR]);
        call(TasksCall::set_params { params }, admin(choices))
    };
}
