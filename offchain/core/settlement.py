"""Due calls that any account may submit: settle, expire, requeue, report absent, crank.

All times are chain time. As on the chain, a limit is passed strictly after it; only a dispute window of n ms is over
after exactly n ms. Services and rentals end by the chain's agenda, which is cranked when it is behind.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from offchain.core.snapshot import Snapshot, Touched
from offchain.core.values import Host, HostStatus, Lease, LeaseState, Periods, Task, TaskKind, TaskState
from offchain.schema.chain_types.escrow import ends_at
from offchain.schema.chain_types.ids import lease_parts


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


HEARTBEAT_STATUSES = frozenset({HostStatus.ONLINE, HostStatus.DRAINING})
"""The statuses in which a host owes heartbeats."""


Timer = tuple[int | None, Command]
"""A command, and the last chain time at which it is not due yet; None: it is due."""
Subject = int | str
"""A task by its number, or a host by its address."""


class SettlementTimers:
    """The timers of all tasks and hosts. A step costs what has changed and what is due, not what exists."""

    def __init__(self) -> None:
        self._snapshot: Snapshot | None = None
        self._due: dict[Subject, tuple[Command, ...]] = {}
        self._wake_at: dict[Subject, int] = {}
        self._heap: list[tuple[int, str, Subject]] = []
        """(time, kind, subject) of each timer that runs, and of some that were replaced."""
        self._hosts_of: dict[int, frozenset[str]] = {}
        self._tasks_on: dict[str, set[int]] = {}

    def due(self, snapshot: Snapshot, touched: Touched | None, now: int) -> tuple[Command, ...]:
        """Return the commands due at chain time `now`, in a fixed order: those of tasks, of hosts, of the agenda.

        `touched`: the records that may have changed since the last call; None: all.
        """
        known, self._snapshot = self._snapshot, snapshot
        if touched is None or known is None or known.periods != snapshot.periods:
            subjects: set[Subject] = {*self._hosts_of, *snapshot.tasks, *self._tasks_on, *snapshot.hosts}
        else:
            subjects = {*touched.tasks, *touched.hosts}
            subjects.update(task for host in touched.hosts for task in self._tasks_on.get(host, ()))
        while self._heap and self._heap[0][0] <= now:
            at, _, subject = heapq.heappop(self._heap)
            if self._wake_at.get(subject) == at:
                subjects.add(subject)
        for subject in subjects:
            self._evaluate(snapshot, subject, now)
        if len(self._heap) > 2 * len(self._wake_at) + _SPARE_TIMERS:
            self._heap = [_entry(at, subject) for subject, at in self._wake_at.items()]
            heapq.heapify(self._heap)
        ordered = sorted(self._due, key=lambda subject: (isinstance(subject, str), subject))
        commands = [command for subject in ordered for command in self._due[subject]]
        if snapshot.agenda_at is not None and now > snapshot.agenda_at + AGENDA_SLACK_MS:
            commands.append(Crank(snapshot.agenda_at))
        return tuple(commands)

    def _evaluate(self, snapshot: Snapshot, subject: Subject, now: int) -> None:
        """Find what is due of a task or host, and when to look at it again."""
        if isinstance(subject, int):
            self._note_hosts(subject, snapshot.tasks.get(subject))
        timers = list(_timers(snapshot, subject, now))
        due = tuple(command for limit, command in timers if limit is None or now > limit)
        wake_at = min((limit + 1 for limit, _ in timers if limit is not None and now <= limit), default=None)
        if due:
            self._due[subject] = due
        else:
            self._due.pop(subject, None)
        if wake_at is None:
            self._wake_at.pop(subject, None)
        elif self._wake_at.get(subject) != wake_at:
            self._wake_at[subject] = wake_at
            heapq.heappush(self._heap, _entry(wake_at, subject))

    def _note_hosts(self, number: int, task: Task | None) -> None:
        """Keep the index of the tasks on each host, whose timers depend on the host's status."""
        before = self._hosts_of.get(number, frozenset())
        after = frozenset() if task is None else frozenset(lease.host for lease in task.leases)
        for host in before - after:
            self._tasks_on[host].discard(number)
            if not self._tasks_on[host]:
                del self._tasks_on[host]
        for host in after - before:
            self._tasks_on.setdefault(host, set()).add(number)
        if after:
            self._hosts_of[number] = after
        else:
            self._hosts_of.pop(number, None)


_SPARE_TIMERS = 64


def _entry(at: int, subject: Subject) -> tuple[int, str, Subject]:
    """Return an entry of the heap; the kind keeps numbers and addresses from being compared."""
    return at, "task" if isinstance(subject, int) else "host", subject


def still_due(snapshot: Snapshot, commands: Iterable[Command], now: int) -> list[Command]:
    """Return those of the commands that are due in this snapshot, in their order."""
    return [command for command in commands if _is_due(snapshot, command, now)]


def _is_due(snapshot: Snapshot, command: Command, now: int) -> bool:
    match command:
        case Settle(subject) | Expire(subject) | FinishPreemption(subject) | ReportAbsent(subject):
            timers = _timers(snapshot, subject, now)
        case ExpireLease(lease) | Requeue(lease):
            timers = _timers(snapshot, lease_parts(lease)[0], now)
        case Crank(agenda_at):
            return snapshot.agenda_at == agenda_at
    return any(found == command and (limit is None or now > limit) for limit, found in timers)


def _timers(snapshot: Snapshot, subject: Subject, now: int) -> Iterator[Timer]:
    """Yield the possible commands about a task or host."""
    if isinstance(subject, int):
        task = snapshot.tasks.get(subject)
        if task is not None:
            yield from _task_timers(task, snapshot.periods)
            for lease in task.leases:
                yield from _lease_timers(task, lease, snapshot.hosts.get(lease.host), snapshot.periods, now)
        return
    host = snapshot.hosts.get(subject)
    if host is not None and host.status in HEARTBEAT_STATUSES:
        yield host.last_heartbeat + snapshot.periods.absence_limit_ms, ReportAbsent(host.id, host.last_heartbeat)


def _task_timers(task: Task, periods: Periods) -> Iterator[Timer]:
    if task.state is TaskState.VERIFIED:
        yield None, Settle(task.id)
    elif task.state is TaskState.REPORTED:
        yield task.changed_at + periods.dispute_window_ms - 1, Settle(task.id)
    elif task.state is TaskState.QUEUED:
        if task.deadline is not None:
            yield task.deadline, Expire(task.id)
        if task.notice_ends_at is not None:
            yield task.notice_ends_at - 1, FinishPreemption(task.id, task.notice_ends_at)


def _lease_timers(task: Task, lease: Lease, host: Host | None, periods: Periods, now: int) -> Iterator[Timer]:
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
    past = next((number for number, limit in enumerate(limits) if now > limit[0]), None)
    if past is None:
        yield from sorted(limits, key=lambda limit: limit[0])[:1]
    else:
        # The limits before it take precedence once they are past.
        yield limits[past]
        yield from limits[:past]
