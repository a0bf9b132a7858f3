"""Forecast of a task's start: the scheduler state is run in virtual time until it places the task.

Leases end, placed tasks run for their maximum duration, and nothing new arrives. So fair shares, priorities, filters,
reservations and backfill are the worker's. Preemption for other tasks and migration are not simulated.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from offchain.core.feasibility import released
from offchain.core.placement_forecast import PreemptionForecast, StartForecast
from offchain.core.scheduler.availability_kernels import FOREVER
from offchain.core.scheduler.backfill import max_hold_ms
from offchain.core.scheduler.events import CycleDue, HostsChanged, TasksChanged, TasksRemoved, plan_of
from offchain.core.scheduler.pod_request import queue_name
from offchain.core.scheduler.queue_definitions import DEFAULT, EQUAL_SHARES, QueueTree
from offchain.core.scheduler.reservation_manager import latest_end
from offchain.core.scheduler.state import SchedulerState
from offchain.core.snapshot import Snapshot
from offchain.core.values import Lease, LeaseState, Resources, Task, TaskKind

MAX_CYCLES: Final = 100
"""Scheduling cycles of one forecast."""

MAX_TRIES: Final = 100_000
"""Tasks, or groups of equal ones, that the cycles of one forecast place or try to place; some ten seconds."""

PRECISION: Final = 4
"""Ends within the fourth part of the time since the beginning are handled together."""

_ASSUMED: Final = -1
"""Instead of a lease's number: a pod that was placed in virtual time."""

_EndOf = Callable[[Lease, Task], int]


def forecast_start(snapshot: Snapshot, task: Task, queues: QueueTree = EQUAL_SHARES) -> StartForecast:
    """Return the forecast for a task that waits or would wait; it need not be in the snapshot."""

    def last(lease: Lease, of: Task) -> int:
        return latest_end(lease, of, snapshot.hosts[lease.host])

    def soonest(lease: Lease, of: Task) -> int:
        if of.kind is TaskKind.JOB:
            return snapshot.now_ms
        notice = tasks[of.id].preemption
        return last(lease, of) if notice is None else min(last(lease, of), notice.ends_at)

    tasks = {**snapshot.tasks, task.id: task}
    behind = _VirtualNetwork(snapshot, tasks.values(), queues, last).start(task)
    if behind.at_ms == snapshot.now_ms:
        return StartForecast(behind.at_ms, behind.at_ms, ahead=behind.ahead)
    # Nothing is reserved for other tasks either.
    others = [one for one in tasks.values() if one.leases and one.id != task.id]
    running = (replace(one, open_pods=(), preemption=None, spot=False) for one in others)
    alone = _VirtualNetwork(snapshot, (*running, task), queues, soonest).start(task)
    return StartForecast(alone.at_ms, behind.at_ms, behind.too_many, behind.ahead, behind.preemption)


class _Start(NamedTuple):
    """When the task is placed, in ms; None: never, or (`too_many`) after more cycles or tries than are simulated.

    `preemption`: of the first cycle.
    """

    at_ms: int | None
    ahead: int
    preemption: PreemptionForecast | None
    too_many: bool = False


class _VirtualNetwork:
    """The network in virtual time. `end_of`: when a lease ends, in ms."""

    def __init__(self, snapshot: Snapshot, tasks: Iterable[Task], queues: QueueTree, end_of: _EndOf) -> None:
        self._begin_ms = snapshot.now_ms
        self._queues = queues
        self._state = SchedulerState(b"", queues, records_decisions=False)
        self._hosts = dict(snapshot.hosts)
        self._leases: dict[int, tuple[Task, Lease]] = {}
        self._ends: list[tuple[int, int, int]] = []
        """A heap of (time, task, lease); leases without an end are not in it."""
        tasks = tuple(tasks)
        for task in tasks:
            for lease in task.leases:
                at_ms = end_of(lease, task) if lease.host in self._hosts else FOREVER
                if at_ms < FOREVER:
                    self._leases[lease.id] = task, lease
                    self._ends.append((at_ms, task.id, lease.id))
        heapq.heapify(self._ends)
        self._state.handle(HostsChanged(tuple(self._hosts.values())), self._begin_ms)
        self._state.handle(TasksChanged(tasks), self._begin_ms)

    def start(self, task: Task) -> _Start:
        """Return when the scheduler places the task."""
        now_ms, ahead, tries = self._begin_ms, 0, 0
        self._end_leases(now_ms)
        preemption: PreemptionForecast | None = None
        for _ in range(MAX_CYCLES):
            plan = plan_of(self._state.handle(CycleDue(preempt=False), now_ms))
            for number in plan.placements:
                if number == task.id:
                    return _Start(now_ms, ahead, preemption)
                placed = self._state.task(number)
                if placed is not None:
                    ahead += 1
                    heapq.heappush(self._ends, (now_ms + max_hold_ms(placed), number, _ASSUMED))
            if now_ms == self._begin_ms:
                preemption = self._preemption_of(task, now_ms)
            next_ms = self._next_ms(now_ms)
            if next_ms is None or task.id not in self._state.waiting:
                return _Start(None, ahead, preemption)
            tries += len(plan.placements) + len(plan.unschedulable)
            if tries > MAX_TRIES:
                break
            now_ms = max(next_ms, now_ms + (now_ms - self._begin_ms) // PRECISION)
            self._end_leases(now_ms)
        return _Start(None, ahead, preemption, too_many=True)

    def _next_ms(self, now_ms: int) -> int | None:
        """Return when something ends, or a host is no longer reserved for a preemptor."""
        rooms = self._state.preemption.reserved(now_ms).values()
        moments = [room.until_ms + 1 for room in rooms] + [at_ms for at_ms, *_ in self._ends[:1]]
        return max(min(moments), now_ms + 1) if moments else None

    def _end_leases(self, until_ms: int) -> None:
        """End what ends until then."""
        ended: dict[int, set[int]] = {}
        hosts: set[str] = set()
        while self._ends and self._ends[0][0] <= until_ms:
            _, number, lease_id = heapq.heappop(self._ends)
            ended.setdefault(number, set()).add(lease_id)
            if lease_id != _ASSUMED:
                task, lease = self._leases[lease_id]
                hosts.add(lease.host)
                host = self._hosts[lease.host]
                self._hosts[lease.host] = released(host, _held_resources(task.resources, lease), lease.devices)
        self._state.handle(HostsChanged([self._hosts[name] for name in sorted(hosts)]), until_ms)
        gone: list[int] = []
        changed: list[Task] = []
        for number, leases in ended.items():
            of = self._state.task(number)
            if of is None:
                continue
            left = tuple(lease for lease in of.leases if lease.id not in leases)
            if _ASSUMED in leases or not (left or of.open_pods):
                gone.append(number)
            else:
                changed.append(replace(of, leases=left))
        self._state.handle(TasksChanged(changed), until_ms)
        self._state.handle(TasksRemoved(gone), until_ms)

    def _preemption_of(self, task: Task, now_ms: int) -> PreemptionForecast | None:
        """Return the tasks that the scheduler would preempt for this one now."""
        found = self._state.preemption.preview(task, now_ms)
        if found is None:
            return None
        victims, why = found
        if why:
            return PreemptionForecast(why=why)
        return PreemptionForecast(tuple(victim.id for victim in victims), Counter(map(self._queue_text, victims)))

    def _queue_text(self, task: Task) -> str:
        part = self._queues.leaf_of(queue_name(task), task.tenant)
        return f"account {part.account}" if part.queue == DEFAULT else f"queue {part.queue}"


def _held_resources(resources: Resources, lease: Lease) -> Resources:
    """Return the resources that a lease holds: a suspended one holds only disk."""
    if lease.state is not LeaseState.SUSPENDED:
        return resources
    return replace(resources, cpu_milli=0, memory_mib=0, gpus=replace(resources.gpus, milli=0))
