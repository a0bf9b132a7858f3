"""The chain's records in plain form made into the values decisions are made of. The one place that knows both."""

from __future__ import annotations

from typing import Any

from offchain.core.values import Host, HostStatus, Lease, LeaseState, Periods, Task, TaskState
from offchain.schema import _generated_chain as chain

LIVE_TASK_STATES = tuple(TaskState)
_TASK_STATES = frozenset(TaskState)
_LEASE_STATES = frozenset(LeaseState)


def variant(value: Any) -> str:
    """The name of an enum's variant, with or without payload."""
    if isinstance(value, str):
        return value
    (name,) = value
    return str(name)


def host_of(host_id: str, plain: Any) -> Host:
    """A `HostRecord`."""
    record = chain.HostRecord.decode(plain)
    return Host(
        id=host_id,
        provider=record.provider,
        status=HostStatus(record.status.tag),
        free=record.free,
        devices=record.devices,
        ask=record.ask,
        region=record.region,
        last_heartbeat=record.last_heartbeat,
        live_leases=record.live_leases,
    )


def task_of(task_id: int, plain: Any) -> Task | None:
    """A `TaskRecord`; None where the task is final."""
    record = chain.TaskRecord.decode(plain)
    if record.state.tag not in _TASK_STATES:
        return None
    spec = record.spec
    return Task(
        id=task_id,
        tenant=record.tenant,
        state=TaskState(record.state.tag),
        resources=spec.resources,
        placement=spec.placement,
        pods_min=spec.pods_min,
        max_rate_per_hour=spec.max_rate_per_hour,
        max_duration_ms=spec.max_duration_ms,
        deadline=spec.deadline,
        priority=spec.priority,
        attempts=record.attempts,
        submitted_at=record.submitted_at,
        reported_at=record.reported_at,
    )


def lease_of(lease_id: int, plain: Any, escrow: Any | None) -> Lease | None:
    """A `LeaseRecord` and its `Escrow`; None where the lease holds nothing any more."""
    record = chain.LeaseRecord.decode(plain)
    if record.state.tag not in _LEASE_STATES:
        return None
    return Lease(
        id=lease_id,
        task=record.task,
        host=record.host,
        state=LeaseState(record.state.tag),
        created_at=record.created_at,
        depletes_at=None if escrow is None else chain.Escrow.decode(escrow).depletes_at,
    )


def periods_of(tasks_params: Any, hosts_params: Any) -> Periods:
    """The `Params` of the pallets Tasks and Hosts."""
    tasks = chain.TasksParams.decode(tasks_params)
    return Periods(
        start_timeout_ms=tasks.start_timeout_ms,
        dispute_window_ms=tasks.dispute_window_ms,
        absence_limit_ms=chain.HostsParams.decode(hosts_params).absence_limit_ms,
    )
