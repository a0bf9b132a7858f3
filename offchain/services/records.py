"""The chain's records made into the values decisions are made of. The one place that knows both."""

from __future__ import annotations

from offchain.core.values import Host, HostStatus, Lease, LeaseState, Periods, Task, TaskState
from offchain.schema import _generated_chain as chain

LIVE_TASK_STATES = tuple(chain.TaskStateTag(state.value) for state in TaskState)
_TASK_STATES = frozenset(TaskState)
_LEASE_STATES = frozenset(LeaseState)


def host_of(host_id: str, record: chain.HostRecord) -> Host:
    """A host as its record has it."""
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


def task_of(task_id: int, record: chain.TaskRecord) -> Task | None:
    """A task as its record has it; None where it is final."""
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


def lease_of(lease_id: int, record: chain.LeaseRecord, escrow: chain.Escrow | None) -> Lease | None:
    """A lease as its record and its escrow have it; None where it holds nothing any more."""
    if record.state.tag not in _LEASE_STATES:
        return None
    return Lease(
        id=lease_id,
        task=record.task,
        host=record.host,
        state=LeaseState(record.state.tag),
        created_at=record.created_at,
        depletes_at=None if escrow is None else escrow.depletes_at,
    )


def periods_of(tasks: chain.TasksParams, hosts: chain.HostsParams) -> Periods:
    """The periods among the parameters."""
    return Periods(
        start_timeout_ms=tasks.start_timeout_ms,
        dispute_window_ms=tasks.dispute_window_ms,
        absence_limit_ms=hosts.absence_limit_ms,
    )
