"""Records of the chain as values of the core."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from node_agent.core.checkpoints import ReportedCheckpoint, TaskCheckpoints
from node_agent.core.values import HostLease, LeaseStatus
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask, TaskAndSpec
from offchain.schema.chain_types._generated_chain import (
    HostStatusDraining,
    IndexTag,
    LeaseStateActive,
    LeaseStatePending,
    LeaseStateRetained,
    Survival,
)
from offchain.schema.chain_types.escrow import ends_at
from offchain.schema.chain_types.replicas import is_compared
from offchain.schema.chain_types.values import FINAL_TASK_STATES, LIVE_LEASE_STATES

HOLDING = frozenset(status.value for status in LeaseStatus)
"""States of leases that hold resources of their host."""
REPORT_MS = 10_000
"""A lease is given back at least this long before its start timeout: five blocks with slots of 2 s."""


async def live_leases(
    chain: GantryChain, host: str, at: bytes, known: Container[int] = frozenset()
) -> tuple[HostLease, ...]:
    """Return the leases that hold resources of this host at a block, without `known` ones, joined with their tasks."""
    numbers = [number for number in await chain.leases_of_host(host, at=at) if number not in known]
    found = await chain.leases(numbers, at=at)
    live = [lease for lease in found.values() if lease.record.state.tag in HOLDING and lease.record.host == host]
    record = await chain.host(host, at=at) if live else None
    downtime_ms = 0 if record is None else record.downtime_ms
    drained = record is not None and isinstance(record.status, HostStatusDraining)
    moves = [lease for lease in live if _may_move(lease) and (drained or lease.record.reclaim_at is not None)]
    pending = any(isinstance(lease.record.state, LeaseStatePending) for lease in live)
    params = await chain.params("Tasks") if moves or pending else None
    notice_ms = None if params is None else params.preemption_notice_ms
    timeout_ms = None if params is None else params.start_timeout_ms
    return tuple(_lease(lease, downtime_ms, notice_ms if lease in moves else None, timeout_ms) for lease in live)


def executed_lease(lease: LeaseOfTask) -> HostLease:
    """Return an ended lease of any host as one that this machine executes again, without devices."""
    active = replace(lease.record, state=LeaseStateActive(), devices=b"")
    return _lease(replace(lease, record=active), 0, None, None)


def start_by_ms(created_at_ms: int, start_timeout_ms: int) -> int:
    """Return when a pod that has not started is given back, so that the report precedes the start timeout.

    The margin is a tenth of the timeout and at least :data:`REPORT_MS`, but never more than half of the timeout.
    """
    margin_ms = max(start_timeout_ms // 10, REPORT_MS)
    return created_at_ms + start_timeout_ms - min(margin_ms, start_timeout_ms // 2)


def _may_move(lease: LeaseOfTask) -> bool:
    """Whether its pod may move to another host; the pod of a preempted task may not."""
    return lease.task.spec.survival is not Survival.RESTART and lease.task.record.preemption is None


def _lease(lease: LeaseOfTask, downtime_ms: int, moves_after_ms: int | None, start_timeout_ms: int | None) -> HostLease:
    record, spec = lease.record, lease.task.spec
    starts_by_ms = None
    if isinstance(record.state, LeaseStatePending) and start_timeout_ms is not None:
        starts_by_ms = start_by_ms(record.created_at, start_timeout_ms)
    preempted = lease.task.record.preemption if lease.task.record.state.tag == "Running" else None
    ends = [at for at in (None if preempted is None else preempted.ends_at, record.reclaim_at) if at is not None]
    return HostLease(
        number=lease.id,
        task=lease.task.id,
        pod=record.pod,
        attempt=record.generation,
        kind=spec.kind,
        redundant=is_compared(spec),
        status=LeaseStatus(record.state.tag),
        devices=tuple(record.devices),
        gpu_milli=spec.resources.gpus.milli,
        cpu_milli=spec.resources.cpu_milli,
        memory_mib=spec.resources.memory_mib,
        disk_gib=spec.resources.disk_gib,
        manifest_digest=spec.manifest_digest,
        max_duration_ms=spec.max_duration_ms,
        created_at_ms=record.created_at,
        started=record.started_at is not None,
        depletes_at_ms=ends_at(record.escrow, downtime_ms, record.reclaim_at),
        retained_until_ms=record.state.value if isinstance(record.state, LeaseStateRetained) else None,
        data_from=spec.data_from,
        notice_ends_ms=min(ends, default=None),
        moves_after_ms=moves_after_ms,
        start_by_ms=starts_by_ms,
        tenant=lease.task.record.tenant,
        sandboxed=spec.placement.capabilities.sandboxed,
        array_index=lease.task.id - lease.task.record.first,
    )


_TASKS_AT_ONCE = 256


async def task_views(chain: GantryChain, tasks: Iterable[int], host: str) -> dict[int, TaskCheckpoints | None]:
    """Return the checkpoints of these tasks on the chain, as seen by this host; None for unknown tasks."""
    wanted = sorted(set(tasks))
    found = await chain.tasks(wanted)
    return {task: task_view(found[task], host) if task in found else None for task in wanted}


def task_view(task: TaskAndSpec, host: str) -> TaskCheckpoints:
    """Return the checkpoints of a task."""
    record = task.record
    known = {one.pod: ReportedCheckpoint(one.digest, one.bytes_, one.host, one.at) for one in record.checkpoints}
    live = [lease for lease in task.leases if lease.record.state.tag in LIVE_LEASE_STATES]
    standby = {one.record.pod: one.id for one in live if standby_of(one) == host}
    sources: dict[int, tuple[str, ...]] = {}
    for pod, last in known.items():
        others = [name for one in live if one.record.pod == pod for name in (standby_of(one), one.record.host)]
        sources[pod] = tuple(name for name in dict.fromkeys((last.host, *others)) if name not in (None, host))
    return TaskCheckpoints(record.state.tag in FINAL_TASK_STATES, known, standby, sources)


async def standby_tasks(chain: GantryChain, host: str) -> frozenset[int]:
    """Return the tasks with a lease that names this host as its standby, by reading all tasks with leases."""
    found: set[int] = set()
    for tag in (IndexTag.ASSIGNED, IndexTag.RUNNING):
        numbers = await chain.tasks_by_state(tag)
        for first in range(0, len(numbers), _TASKS_AT_ONCE):
            tasks = await chain.tasks(numbers[first : first + _TASKS_AT_ONCE])
            found |= {task.id for task in tasks.values() if any(standby_of(one) == host for one in task.leases)}
    return frozenset(found)


def standby_of(lease: LeaseOfTask) -> str | None:
    """Return the host that takes over if the lease's own is lost."""
    place = lease.record.standby
    return None if place is None else place.host
