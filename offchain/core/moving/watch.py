"""Follows the tasks whose pods may go on elsewhere: which of them are to be looked at, and what is to be done for them.

A state machine without a clock. What it costs depends on what has changed, not on how much runs.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from offchain.core.conduct.deteriorating import SEEN_LATE_MS, TOLD, Limits, Risk, amiss, leaves
from offchain.core.moving.rests import Rests
from offchain.core.values import Host, Lease, Survival, Task, TaskState

_RUNS: Final = frozenset({TaskState.ASSIGNED, TaskState.RUNNING})
_CERTAIN: Final = {
    risk: place
    for place, risk in enumerate((Risk.RECLAIMED, Risk.AWAY, Risk.SILENT, Risk.DEVICE, Risk.DRAINED, Risk.REPUTATION))
}
"""The most certain first."""

FRESH_MS: Final = 6_000
"""So long a record that was read for the sake of a heartbeat is believed: heartbeats leave no event."""

HasRoom = Callable[[Task, Lease], bool]
"""Whether the lease's standby, which is in order, has room for the pod now."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """A pod that is to go on elsewhere, and why."""

    task: Task
    lease: Lease
    risk: Risk


@dataclass(frozen=True, slots=True)
class Unguarded:
    """A lease that needs a standby."""

    task: Task
    lease: Lease


Due = tuple[list[Leaving], list[Unguarded]]


class Watch:
    """`hosts`: the chain's records, as they are when it is asked."""

    def __init__(self, hosts: Mapping[str, Host], limits: Limits) -> None:
        self.limits = limits
        self._hosts = hosts
        self._tasks: dict[int, Task] = {}
        self._at: defaultdict[str, set[int]] = defaultdict(set)
        """[host]: tasks that are there, or would go on there."""
        self._look: set[int] = set()
        """Tasks to look at."""
        self._later: list[tuple[int, int]] = []
        """A heap: from when on to look at a task."""
        self._silent: list[tuple[int, str]] = []
        """A heap: when a host that is of concern may be silent. One entry for each."""
        self._listened: set[str] = set()
        self._checked: dict[str, int] = {}
        """[host]: when its record was read for the sake of its heartbeat."""
        self._doubted: set[str] = set()
        self._seen: dict[int, int] = {}
        """[lease]: since when it is to leave a host that works."""
        self.moved: Rests[int] = Rests()
        """[task]"""
        self.named: Rests[int] = Rests()
        """[lease]"""

    def put_task(self, task: Task) -> None:
        """Take in a record of a task that is not final."""
        before = self._tasks.get(task.id)
        if before is None and not _may_go_on(task):
            return
        if before == task:
            return
        self._leave(task.id, _places(before) - _places(task), before, task)
        if not _may_go_on(task):
            self.task_gone(task.id)
            return
        self._tasks[task.id] = task
        for host in _places(task):
            self._at[host].add(task.id)
            self._listen(host)
        self._look.add(task.id)

    def task_gone(self, number: int) -> None:
        """It is final, or none of its pods may go on elsewhere."""
        before = self._tasks.pop(number, None)
        self._leave(number, _places(before), before, None)
        self._look.discard(number)
        self.moved.drop(number)

    def host_changed(self, name: str) -> None:
        """Its record is another one, or there is none any more."""
        if name not in self._hosts:
            self._checked.pop(name, None)
        there = self._at.get(name)
        if there:
            self._look |= there
            self._listen(name)

    def due(self, now_ms: int, has_room: HasRoom) -> Due:
        """What is to be done now: who leaves, the most certain risk first, and who needs a standby; the oldest first.

        A task of which something is due is looked at again next time, unless a rest is noted for it.
        """
        self._wake(now_ms)
        leaving: list[Leaving] = []
        unguarded: list[Unguarded] = []
        for number in sorted(self._look):
            task = self._tasks[number]
            before = len(leaving) + len(unguarded) + len(self._doubted)
            for lease in task.leases:
                self._judge(task, lease, now_ms, has_room, leaving, unguarded)
            if before == len(leaving) + len(unguarded) + len(self._doubted):
                self._look.discard(number)
        leaving.sort(key=lambda one: (_CERTAIN[one.risk], one.lease.id))
        return leaving, unguarded

    def doubtful(self, host: Host, now_ms: int) -> bool:
        """Whether its record is too old to tell whether it is silent. Then it is among those to be read again."""
        known = self._checked.get(host.id)
        fresh = known is not None and now_ms - known <= FRESH_MS
        if fresh or now_ms <= host.last_heartbeat + self.limits.late_ms:
            return False
        self._doubted.add(host.id)
        return True

    def in_order(self, host: Host, now_ms: int) -> bool:
        """Whether a pod may go there, as far as is known; a doubt is noted."""
        return not self.doubtful(host, now_ms) and amiss(host, now_ms, self.limits) is None

    @property
    def in_doubt(self) -> bool:
        """Whether records are to be read again."""
        return bool(self._doubted)

    def doubts(self, now_ms: int) -> frozenset[str]:
        """The hosts whose records are to be read again before the next round, which will believe them."""
        found = frozenset(self._doubted)
        self._doubted.clear()
        self._checked.update(dict.fromkeys(found, now_ms))
        return found

    def again(self, number: int, at_ms: int) -> None:
        """Look at this task again then."""
        heapq.heappush(self._later, (at_ms, number))

    @property
    def anything(self) -> bool:
        """Whether there are tasks to look at now."""
        return bool(self._look)

    def next_ms(self, now_ms: int) -> int | None:
        """When there may be something to do although no record changes."""
        moments = [heap[0][0] for heap in (self._later, self._silent) if heap]
        return min((moment for moment in moments if moment > now_ms), default=None)

    def _judge(
        self,
        task: Task,
        lease: Lease,
        now_ms: int,
        has_room: HasRoom,
        leaving: list[Leaving],
        unguarded: list[Unguarded],
    ) -> None:
        host = self._hosts.get(lease.host)
        if host is None or self.doubtful(host, now_ms):
            return
        risk = leaves(lease, host, now_ms, self.limits)
        told = self._told(task, lease, risk, now_ms)
        if risk is not None and told and self._rested(task.id, self.moved.until_ms(task.id), now_ms):
            leaving.append(Leaving(task, lease, risk))
        elif (
            task.survival is Survival.STANDBY
            and not self._stands(task, lease, host, now_ms, has_room)
            and self._rested(task.id, self.named.until_ms(lease.id), now_ms)
        ):
            unguarded.append(Unguarded(task, lease))

    def _told(self, task: Task, lease: Lease, risk: Risk | None, now_ms: int) -> bool:
        """Whether the pod was told for long enough that it is to leave, where it is told; else looked at again then."""
        if risk not in TOLD:
            self._seen.pop(lease.id, None)
            return True
        until_ms = self._seen.setdefault(lease.id, now_ms) + self.limits.told_ms
        if lease.reclaim_at is not None:
            until_ms = min(until_ms, lease.reclaim_at - SEEN_LATE_MS)
        return self._rested(task.id, until_ms, now_ms)

    def _rested(self, number: int, until_ms: int, now_ms: int) -> bool:
        if now_ms >= until_ms:
            return True
        self.again(number, until_ms)
        return False

    def _stands(self, task: Task, lease: Lease, host: Host, now_ms: int, has_room: HasRoom) -> bool:
        """Whether its standby would take over if its host failed now."""
        there = None if lease.standby is None else self._hosts.get(lease.standby.host)
        if there is None or there.provider == host.provider:
            return False
        if self.doubtful(there, now_ms):
            return True
        return self.in_order(there, now_ms) and has_room(task, lease)

    def _wake(self, now_ms: int) -> None:
        while self._later and self._later[0][0] <= now_ms:
            number = heapq.heappop(self._later)[1]
            if number in self._tasks:
                self._look.add(number)
        while self._silent and self._silent[0][0] <= now_ms:
            name = heapq.heappop(self._silent)[1]
            self._listened.discard(name)
            host = self._hosts.get(name)
            if host is not None and now_ms > host.last_heartbeat + self.limits.late_ms:
                # If a heartbeat comes after all, that is a change of its record.
                self._look |= self._at.get(name, set())
            elif self._at.get(name):
                self._listen(name)

    def _listen(self, name: str) -> None:
        host = self._hosts.get(name)
        if host is not None and name not in self._listened:
            self._listened.add(name)
            heapq.heappush(self._silent, (host.last_heartbeat + self.limits.late_ms + 1, name))

    def _leave(self, number: int, hosts: Iterable[str], before: Task | None, after: Task | None) -> None:
        for host in hosts:
            self._at[host].discard(number)
            if not self._at[host]:
                del self._at[host]
        for lease in _leases(before) - _leases(after):
            self.named.drop(lease)
            self._seen.pop(lease, None)


def _may_go_on(task: Task) -> bool:
    """Whether its pods may be moved. One that was told to leave has to leave."""
    runs = task.state in _RUNS and bool(task.leases)
    return runs and task.survival is not Survival.RESTART and task.preemption is None


def _leases(task: Task | None) -> frozenset[int]:
    return frozenset() if task is None else frozenset(lease.id for lease in task.leases)


def _places(task: Task | None) -> frozenset[str]:
    if task is None:
        return frozenset()
    standbys = (lease.standby.host for lease in task.leases if lease.standby is not None)
    return frozenset((*(lease.host for lease in task.leases), *standbys))
