"""Conversion of the chain's records to the values of the core. No other module knows both."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from offchain.adapters.chain.typed import TaskAndSpec
from offchain.core.values import (
    UNKNOWN_PPM,
    Host,
    HostStatus,
    Layout,
    Lease,
    LeaseState,
    Periods,
    RetainedData,
    Task,
    TaskState,
)
from offchain.schema.chain_types import _generated_chain as chain
from offchain.schema.chain_types.replicas import is_audited, is_compared, replicas_of
from offchain.schema.chain_types.score import host_ppm

LIVE_TASK_STATES = tuple(chain.IndexTag(state.value) for state in TaskState)
_TASK_STATES = frozenset(TaskState)
_LEASE_STATES = frozenset(LeaseState)

V = TypeVar("V")


@lru_cache(maxsize=1 << 13)
def _one(value: V) -> V:
    """Return the first of equal values: a million waiting tasks have a few hundred different requests."""
    return value


@lru_cache(maxsize=1 << 16)
def _one_name(name: str) -> str:
    return name


def host_of(host_id: str, record: chain.HostRecord, score: chain.HostScore | None) -> Host:
    """Return a host with its score, if it has one.

    A challenged device counts as not free: the chain refuses leases of it until the host has answered.
    """
    return Host(
        id=host_id,
        provider=record.provider,
        status=HostStatus(record.status.tag),
        total=record.total,
        free=record.free,
        devices=_devices(record),
        ask=record.ask,
        region=record.region,
        tier=record.tier,
        capabilities=record.capabilities,
        network_mbps_down=record.network_mbps_down,
        network_mbps_up=record.network_mbps_up,
        latency_ms=record.latency_ms,
        last_heartbeat=record.last_heartbeat,
        downtime_ms=record.downtime_ms,
        live_leases=record.live_leases,
        score_ppm=UNKNOWN_PPM if score is None else host_ppm(score),
    )


def _devices(record: chain.HostRecord) -> tuple[chain.Device, ...]:
    if record.challenged is None:
        return record.devices
    return tuple(
        replace(device, milli_free=0) if place == record.challenged else device
        for place, device in enumerate(record.devices)
    )


def task_of(task: TaskAndSpec, source: TaskAndSpec | None = None, audit_surcharge_ppm: int = 0) -> Task | None:
    """Return a task; None if it is final.

    `source`: the task of the lease whose data it takes over; None if that is gone, and then the chain refuses it.
    `audit_surcharge_ppm`: the chain's parameter, for audited jobs.
    """
    record, spec = task.record, task.spec
    if record.state.tag not in _TASK_STATES:
        return None
    takes_over = None
    wanted = source_of(task)
    lease = None if source is None or wanted is None else source.lease(wanted)
    if lease is not None:
        takes_over = RetainedData(lease.record.host, lease.task.spec.resources.disk_gib)
    return Task(
        id=task.id,
        tenant=_one_name(record.tenant),
        state=TaskState(record.state.tag),
        kind=spec.kind,
        resources=_one(spec.resources),
        placement=_one(spec.placement),
        unit=spec.unit,
        pods_min=spec.pods_min,
        max_rate_per_hour=_max_rate(task),
        max_duration_ms=spec.max_duration_ms,
        deadline=None if _has_met_deadline(task) else spec.deadline,
        priority=spec.priority,
        queue=_one(spec.queue),
        generation=record.generation,
        submitted_at=record.submitted_at,
        changed_at=record.changed_at,
        open_pods=_one(_open_pods(task)),
        takes_over=takes_over,
        refused_by=tuple(sorted(attempt.host for attempt in record.attempts if attempt.refused)),
        leases=tuple(_leases(task)),
        spot=spec.spot,
        preemption=record.preemption,
        notice_ends_at=record.notice.value if isinstance(record.notice, chain.NoticeStateStanding) else None,
        asks_from=record.notice.value if isinstance(record.notice, chain.NoticeStateWithdrawn) else 0,
        manifest=spec.manifest_digest,
        layout=layout_of(spec) if spec.pods_max > 1 or _is_repeated(task) else Layout.ANY,
        survival=spec.survival,
        replicas=replicas_of(spec),
        audited=is_audited(spec),
        surcharge_ppm=0 if _is_repeated(task) or not is_audited(spec) else audit_surcharge_ppm,
        ended_on=_ended_on(task) if is_compared(spec) else (),
    )


def _is_repeated(task: TaskAndSpec) -> bool:
    """Return whether another pod of the task repeats the work of the first one."""
    return is_audited(task.spec) and len(task.record.leases) > 0


def _max_rate(task: TaskAndSpec) -> int:
    """Return the limit for the next pod: a host that repeats the work of another costs no more than that one."""
    limit = task.spec.max_rate_per_hour
    return min(limit, task.record.leases[0].escrow.rate_per_hour) if _is_repeated(task) else limit


def layout_of(spec: chain.TaskSpec) -> Layout:
    """Return the affinity of the task's pods: those whose results are compared run at different providers."""
    return Layout.PROVIDERS if is_compared(spec) else spec.placement.layout


def is_comparable(spec: chain.TaskSpec) -> bool:
    """Return whether honest hosts have equal results: GPUs of different models may round differently."""
    return not spec.resources.gpus.count or len(spec.resources.gpus.models) == 1


def source_of(task: TaskAndSpec) -> int | None:
    """Return the lease whose retained data the task takes over with its first placement."""
    return task.spec.data_from if task.record.generation == 0 else None


def _has_met_deadline(task: TaskAndSpec) -> bool:
    """Return whether the deadline no longer applies.

    It does not to services and rentals that were placed, to running jobs whose results are compared, and to preempted
    tasks.
    """
    was_there = task.spec.kind is not chain.TaskKind.JOB and task.record.generation > 0
    runs = is_compared(task.spec) and task.record.state.tag != TaskState.QUEUED
    return was_there or runs or task.record.preemption is not None


def _open_pods(task: TaskAndSpec) -> tuple[int, ...]:
    """Return the pods that may be placed now: of a running service or compared job, those that are missing."""
    record, spec = task.record, task.spec
    if is_compared(spec) and not is_comparable(spec):
        return ()
    if record.state.tag == TaskState.QUEUED:
        return tuple(range(record.pods_wanted))
    replaced = spec.kind is not chain.TaskKind.JOB or is_compared(spec)
    if not replaced or record.state.tag not in (TaskState.ASSIGNED, TaskState.RUNNING):
        return ()
    there = {lease.pod for lease in record.leases}
    return tuple(pod for pod in range(record.pods_wanted) if pod not in there)


def _ended_on(task: TaskAndSpec) -> tuple[str, ...]:
    return tuple(lease.record.host for lease in task.leases if lease.record.state.tag not in _LEASE_STATES)


def _leases(task: TaskAndSpec) -> list[Lease]:
    return [
        Lease(
            id=lease.id,
            host=lease.record.host,
            devices=tuple(lease.record.devices),
            state=LeaseState(lease.record.state.tag),
            created_at=lease.record.created_at,
            escrow=lease.record.escrow,
            reclaim_at=lease.record.reclaim_at,
            standby=lease.record.standby,
            assigned_by=lease.record.assigned_by,
        )
        for lease in task.leases
        if lease.record.state.tag in _LEASE_STATES
    ]


def overdue_ms(hosts: chain.HostsParams) -> int:
    """Return how long a host may be silent before its heartbeat is overdue, in ms, by the rule of the hosts pallet."""
    period, limit = hosts.heartbeat_period_ms, hosts.absence_limit_ms
    return min(2 * period, period + (limit - period) // 2)


def periods_of(tasks: chain.TasksParams, hosts: chain.HostsParams) -> Periods:
    """Return the periods among the parameters."""
    return Periods(
        start_timeout_ms=tasks.start_timeout_ms,
        dispute_window_ms=tasks.dispute_window_ms,
        report_grace_ms=tasks.report_grace_ms,
        absence_limit_ms=hosts.absence_limit_ms,
        archive_after_ms=tasks.archive_after_ms,
        late_ms=overdue_ms(hosts),
        poor_ppm=tasks.poor_ppm,
        notice_ms=tasks.preemption_notice_ms,
    )
