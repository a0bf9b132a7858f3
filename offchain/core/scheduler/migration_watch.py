"""Follows the tasks whose pods may be moved: which are to be examined, and what they need.

Its cost depends on what has changed, not on how much runs.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from offchain.backoff import Backoff
from offchain.core.scheduler.host_risk import AGENT_DELAY_MS, GRACEFUL, HealthLimits, Risk, host_risk, move_reason
from offchain.core.values import Host, Lease, Survival, Task, TaskState

RETRY_FIRST_MS: Final = 10_000
RETRY_LONGEST_MS: Final = 600_000
RETRY_FORGET_MS: Final = 7_200_000
"""Attempts further apart are not counted together."""

HEARTBEAT_FRESH_MS: Final = 6_000
"""How long a record that was read for its heartbeat is believed: heartbeats leave no event."""

_RUNNING: Final = frozenset({TaskState.ASSIGNED, TaskState.RUNNING})
_CERTAINTY: Final = {
    risk: rank
    for rank, risk in enumerate((Risk.RECLAIMED, Risk.AWAY, Risk.SILENT, Risk.DEVICE, Risk.DRAINED, Risk.REPUTATION))
}
"""The most certain risk first."""

StandbyFits = Callable[[Task, Lease], bool]
"""Whether the lease's standby, whose host is healthy, has room for the pod now."""


@dataclass(frozen=True, slots=True)
class MigrationCandidate:
    """A pod that is to be moved because of a risk; without a risk, one that needs a standby."""

    task: Task
    lease: Lease
    risk: Risk | None = None


class MigrationWatch:
    """Tasks to examine for moves and standbys. `hosts`: the chain's current records."""

    def __init__(self, hosts: Mapping[str, Host], limits: HealthLimits) -> None:
        self.limits = limits
        self._hosts = hosts
        self._tasks: dict[int, Task] = {}
        self._tasks_on: defaultdict[str, set[int]] = defaultdict(set)
        """[host]: tasks that have a pod or a standby there."""
        self._to_examine: set[int] = set()
        self._examine_at: list[tuple[int, int]] = []
        """A heap: from when on to examine a task."""
        self._silent_at: list[tuple[int, str]] = []
        """A heap: when the heartbeat of a watched host is overdue; one entry for each."""
        self._awaited: set[str] = set()
        """Hosts in that heap."""
        self._read_ms: dict[str, int] = {}
        """[host]: when its record was read for its heartbeat."""
        self._unconfirmed: set[str] = set()
        self._notice_since: dict[int, int] = {}
        """[lease]: since when it is to leave a host that still works."""
        self.move_retries: Backoff[int] = Backoff(RETRY_FIRST_MS, RETRY_LONGEST_MS, RETRY_FORGET_MS)
        """[task]"""
        self.standby_retries: Backoff[int] = Backoff(RETRY_FIRST_MS, RETRY_LONGEST_MS, RETRY_FORGET_MS)
        """[lease]"""

    def put_task(self, task: Task) -> None:
        """Update from a record of a task that is not final."""
        before = self._tasks.get(task.id)
        if (before is None and not _is_movable(task)) or before == task:
            return
        self._forget(task.id, _hosts_of(before) - _hosts_of(task), before, task)
        if not _is_movable(task):
            self.task_gone(task.id)
            return
        self._tasks[task.id] = task
        for host in _hosts_of(task):
            self._tasks_on[host].add(task.id)
            self._await_heartbeat(host)
        self._to_examine.add(task.id)

    def task_gone(self, number: int) -> None:
        """Remove a task that is final, or of which no pod may be moved."""
        before = self._tasks.pop(number, None)
        if before is None:
            return
        self._forget(number, _hosts_of(before), before, None)
        self._to_examine.discard(number)
        self.move_retries.succeeded(number)

    def host_changed(self, name: str) -> None:
        """Examine the tasks of a host whose record changed or is gone."""
        if name not in self._hosts:
            self._read_ms.pop(name, None)
        there = self._tasks_on.get(name)
        if there:
            self._to_examine |= there
            self._await_heartbeat(name)

    def due(self, now_ms: int, standby_fits: StandbyFits) -> tuple[list[MigrationCandidate], list[MigrationCandidate]]:
        """Return which pods to move, the most certain risk first, and which leases need a standby; the oldest first.

        A task with a candidate is examined again next time, unless an attempt is recorded for it.
        """
        self._wake(now_ms)
        moves: list[MigrationCandidate] = []
        standbys: list[MigrationCandidate] = []
        for number in sorted(self._to_examine):
            task = self._tasks[number]
            before = len(moves) + len(standbys) + len(self._unconfirmed)
            for lease in task.leases:
                self._examine(task, lease, now_ms, standby_fits, moves, standbys)
            if before == len(moves) + len(standbys) + len(self._unconfirmed):
                self._to_examine.discard(number)
        moves.sort(key=lambda one: (-1 if one.risk is None else _CERTAINTY[one.risk], one.lease.id))
        return moves, standbys

    def is_healthy(self, host: Host, now_ms: int) -> bool:
        """Return whether a pod may be moved to the host, as far as is known; an unconfirmed heartbeat is noted."""
        return not self._is_unconfirmed(host, now_ms) and host_risk(host, now_ms, self.limits) is None

    @property
    def has_unconfirmed(self) -> bool:
        """Whether records of hosts are to be read again."""
        return bool(self._unconfirmed)

    def take_unconfirmed(self, now_ms: int) -> frozenset[str]:
        """Return the hosts whose records are to be read again before the next cycle, which will believe them."""
        found = frozenset(self._unconfirmed)
        self._unconfirmed.clear()
        self._read_ms.update(dict.fromkeys(found, now_ms))
        return found

    def examine_at(self, number: int, at_ms: int) -> None:
        """Examine a task again at that time."""
        heapq.heappush(self._examine_at, (at_ms, number))

    @property
    def has_work(self) -> bool:
        """Whether tasks are to be examined."""
        return bool(self._to_examine)

    def is_due(self, now_ms: int) -> bool:
        """Whether there is something to examine now."""
        return self.has_work or any(heap and heap[0][0] <= now_ms for heap in (self._examine_at, self._silent_at))

    def next_ms(self, now_ms: int) -> int | None:
        """Return when there may be something to do although no record changes."""
        moments = [heap[0][0] for heap in (self._examine_at, self._silent_at) if heap]
        return min((moment for moment in moments if moment > now_ms), default=None)

    def _is_unconfirmed(self, host: Host, now_ms: int) -> bool:
        """Return whether the record is too old to tell whether the host is silent; then it is to be read again."""
        read_ms = self._read_ms.get(host.id)
        fresh = read_ms is not None and now_ms - read_ms <= HEARTBEAT_FRESH_MS
        if fresh or now_ms <= host.last_heartbeat + self.limits.heartbeat_ms:
            return False
        self._unconfirmed.add(host.id)
        return True

    def _examine(
        self,
        task: Task,
        lease: Lease,
        now_ms: int,
        standby_fits: StandbyFits,
        moves: list[MigrationCandidate],
        standbys: list[MigrationCandidate],
    ) -> None:
        host = self._hosts.get(lease.host)
        if host is None or self._is_unconfirmed(host, now_ms):
            return
        risk = move_reason(lease, host, now_ms, self.limits)
        had_notice = self._had_notice(task, lease, risk, now_ms)
        if risk is not None and had_notice and self._is_past(task.id, self.move_retries.not_before(task.id), now_ms):
            moves.append(MigrationCandidate(task, lease, risk))
        elif (
            task.survival is Survival.STANDBY
            and not self._has_standby(task, lease, host, now_ms, standby_fits)
            and self._is_past(task.id, self.standby_retries.not_before(lease.id), now_ms)
        ):
            standbys.append(MigrationCandidate(task, lease))

    def _had_notice(self, task: Task, lease: Lease, risk: Risk | None, now_ms: int) -> bool:
        """Return whether the pod's notice is over, if the risk requires one; else the task is examined again then."""
        if risk not in GRACEFUL:
            self._notice_since.pop(lease.id, None)
            return True
        until_ms = self._notice_since.setdefault(lease.id, now_ms) + self.limits.notice_ms
        if lease.reclaim_at is not None:
            until_ms = min(until_ms, lease.reclaim_at - AGENT_DELAY_MS)
        return self._is_past(task.id, until_ms, now_ms)

    def _is_past(self, number: int, at_ms: int, now_ms: int) -> bool:
        """Return whether a time is past; else the task is examined again then."""
        if now_ms >= at_ms:
            return True
        self.examine_at(number, at_ms)
        return False

    def _has_standby(self, task: Task, lease: Lease, host: Host, now_ms: int, standby_fits: StandbyFits) -> bool:
        """Return whether the standby would take over if the host failed now."""
        there = None if lease.standby is None else self._hosts.get(lease.standby.host)
        if there is None or there.provider == host.provider:
            return False
        if self._is_unconfirmed(there, now_ms):
            return True
        return self.is_healthy(there, now_ms) and standby_fits(task, lease)

    def _wake(self, now_ms: int) -> None:
        while self._examine_at and self._examine_at[0][0] <= now_ms:
            number = heapq.heappop(self._examine_at)[1]
            if number in self._tasks:
                self._to_examine.add(number)
        while self._silent_at and self._silent_at[0][0] <= now_ms:
            name = heapq.heappop(self._silent_at)[1]
            self._awaited.discard(name)
            host = self._hosts.get(name)
            if host is not None and now_ms > host.last_heartbeat + self.limits.heartbeat_ms:
                # If a heartbeat arrives after all, that is a change of its record.
                self._to_examine |= self._tasks_on.get(name, set())
            elif self._tasks_on.get(name):
                self._await_heartbeat(name)

    def _await_heartbeat(self, name: str) -> None:
        host = self._hosts.get(name)
        if host is not None and name not in self._awaited:
            self._awaited.add(name)
            heapq.heappush(self._silent_at, (host.last_heartbeat + self.limits.heartbeat_ms + 1, name))

    def _forget(self, number: int, hosts: Iterable[str], before: Task | None, after: Task | None) -> None:
        """Remove a task from hosts that it left, and what is known of its former leases."""
        for host in hosts:
            self._tasks_on[host].discard(number)
            if not self._tasks_on[host]:
                del self._tasks_on[host]
        for lease in _leases_of(before) - _leases_of(after):
            self.standby_retries.succeeded(lease)
            self._notice_since.pop(lease, None)


def _is_movable(task: Task) -> bool:
    """Return whether the task's pods may be moved. A preempted task has to end."""
    runs = task.state in _RUNNING and bool(task.leases)
    return runs and task.survival is not Survival.RESTART and task.preemption is None


def _leases_of(task: Task | None) -> frozenset[int]:
    return frozenset() if task is None else frozenset(lease.id for lease in task.leases)


def _hosts_of(task: Task | None) -> frozenset[str]:
    """Return the hosts of the task's pods and standbys."""
    if task is None:
        return frozenset()
    standbys = (lease.standby.host for lease in task.leases if lease.standby is not None)
    return frozenset((*(lease.host for lease in task.leases), *standbys))
