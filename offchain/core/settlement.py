"""Due calls that any account may submit: settle, expire, requeue, report absent, crank.

All times are chain time. As on the chain, a limit is passed strictly after it; only a dispute window of n ms is over
after exactly n ms. Services and rentals end by the chain's agenda, which is cranked when it is behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from offchain.core.snapshot import Snapshot
from offchain.core.values import Host, HostStatus, Lease, LeaseState, Periods, Task, TaskKind, TaskState
from offchain.schema.chain_types.escrow import ends_at


@dataclass(frozen=True, slots=True)
class Settle:
    """Close the task's escrows and pay."""

    task: int


@dataclass(frozen=True, slots=True)
class Expire:
    """Expire a task that was not assigned before its deadline."""

    task: int


@dataclass(frozen=True, slots=True)
class ExpireLease:
    """Expire a lease that has used up its deposit."""

    lease: int


@dataclass(frozen=True, slots=True)
class Requeue:
    """Requeue a pod that its host did not start in time, or whose host was lost."""

    lease: int


@dataclass(frozen=True, slots=True)
class ReportAbsent:
    """Report a host without heartbeats since `last_heartbeat` as absent."""

    host: str
    last_heartbeat: int


@dataclass(frozen=True, slots=True)
class FinishPreemption:
    """End the victims of a preemption, whose grace period ends at `ends_at`, and assign the task in their place."""

    task: int
    ends_at: int


@dataclass(frozen=True, slots=True)
class Crank:
    """Crank the chain's agenda of leases, which has an overdue entry of this chain time."""

    agenda_at: int


Command = Settle | Expire | ExpireLease | Requeue | ReportAbsent | FinishPreemption | Crank

AGENDA_SLACK_MS = 60_000
"""Tolerated delay of the agenda, which full blocks postpone."""


@dataclass(frozen=True, slots=True)
class DueCommands:
    """The due commands, and the chain time at which the next one is due without a change of records (None: never)."""

    commands: tuple[Command, ...]
    wake_at: int | None


HEARTBEAT_STATUSES = frozenset({HostStatus.ONLINE, HostStatus.DRAINING})
"""The statuses in which a host owes heartbeats."""


def due(snapshot: Snapshot, now: int) -> DueCommands:
    """Return the commands due at chain time `now`, in a fixed order."""
    commands: list[Command] = []
    wake_at: int | None = None
    for limit, command in _timers(snapshot, now):
        if limit is None or now > limit:
            commands.append(command)
        elif wake_at is None or limit + 1 < wake_at:
            wake_at = limit + 1
    return DueCommands(tuple(commands), wake_at)


def _timers(snapshot: Snapshot, now: int) -> Iterator[tuple[int | None, Command]]:
    """Yield every possible command with the last time at which it is not due yet; None: it is due."""
    for task_id in sorted(snapshot.tasks):
        task = snapshot.tasks[task_id]
        yield from _task_timers(task, snapshot.periods)
        for lease in task.leases:
            yield from _lease_timers(task, lease, snapshot.hosts.get(lease.host), snapshot.periods, now)
    for host_id in sorted(snapshot.hosts):
        host = snapshot.hosts[host_id]
        if host.status in HEARTBEAT_STATUSES:
            yield (
                host.last_heartbeat + snapshot.periods.absence_limit_ms,
                ReportAbsent(host.id, host.last_heartbeat),
            )
    if snapshot.agenda_at is not None:
        yield snapshot.agenda_at + AGENDA_SLACK_MS, Crank(snapshot.agenda_at)


def _task_timers(task: Task, periods: Periods) -> Iterator[tuple[int | None, Command]]:
    if task.state is TaskState.VERIFIED:
        yield None, Settle(task.id)
    elif task.state is TaskState.REPORTED:
        yield task.changed_at + periods.dispute_window_ms - 1, Settle(task.id)
    elif task.state is TaskState.QUEUED:
        if task.deadline is not None:
            yield task.deadline, Expire(task.id)
        if task.notice_ends_at is not None:
            yield task.notice_ends_at - 1, FinishPreemption(task.id, task.notice_ends_at)


def _lease_timers(
    task: Task, lease: Lease, host: Host | None, periods: Periods, now: int
) -> Iterator[tuple[int | None, Command]]:
    if lease.state is LeaseState.SUSPENDED:
        # Nothing runs, and nothing is billed while the host is absent. Only the tenant may give up the data.
        return
    if host is not None and host.status is HostStatus.OFFLINE:
        yield None, Requeue(lease.id)
        return
    limits: list[tuple[int, Command]] = []
    if host is not None and host.status not in HEARTBEAT_STATUSES:
        # Such a host cannot be reported absent, so its missing heartbeats alone count.
        limits.append((host.last_heartbeat + periods.absence_limit_ms, Requeue(lease.id)))
    if lease.state is LeaseState.PENDING:
        limits.append((lease.created_at + periods.start_timeout_ms, Requeue(lease.id)))
    elif task.kind is TaskKind.JOB:
        over = ends_at(lease.escrow, 0 if host is None else host.downtime_ms, lease.reclaim_at)
        if over is not None:
            limits.append((over + periods.report_grace_ms, ExpireLease(lease.id)))
    # One command ends the lease. A lost host must not be paid for its absence, so requeueing precedes expiry.
    past = [limit for limit in limits if now > limit[0]]
    yield from (past or sorted(limits, key=lambda limit: limit[0]))[:1]
