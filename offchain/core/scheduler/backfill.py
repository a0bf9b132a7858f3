"""Backfill: which pods may start now without delaying a reservation.

Reserved places are closed to tasks that would delay the reservation, unless a task takes precedence over it.

A reservation is a promise against tasks that come later. A task takes precedence if it has a strictly higher priority
and the queue would serve it sooner (of the same queue, in `default` of the same account), or, if the holder is
preemptible (spot), if it is such a task of any account. Priorities include aging, so no task is
bypassed for ever. Resources freed by a task's preemption belong to it, even if reserved for tasks of lower priority.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from offchain.core.scheduler.availability import Allocation, AvailabilityProfile
from offchain.core.scheduler.availability_kernels import FOREVER
from offchain.core.scheduler.columns import MAX_DEVICES, AnyInts, Bools, Ints
from offchain.core.scheduler.cycle_filters import HostFilter
from offchain.core.scheduler.pod_request import PodRequest, PodShape, queue_name
from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.core.scheduler.reservations import Reservation, ReservationRequest, reserve
from offchain.core.values import Task


@dataclass(slots=True)
class _PlacedPods:
    free_before: tuple[Ints, ...]
    pods: list[tuple[PodShape, int, int]]


class Backfill:
    """The resources that a pod may use now on hosts with reservations; on other hosts it may use everything.

    A pod that ends before a reservation begins may use what is free now; one that runs on must leave what is reserved:
    it may use the least that is free at any time until its end. As a function of that end the least only falls, where
    reservations begin, so it is stored as a few steps per host. Feasibility otherwise is not checked here.

    `profile` contains the leases and all reservations. The caller reports each pod that it places; when leases end or
    reservations change, it makes a new Backfill.
    """

    def __init__(self, profile: AvailabilityProfile) -> None:
        self._host_count = len(profile.cluster)
        self._hosts: Ints = np.flatnonzero(profile.underway | (profile.changes.shrinks_ms > profile.now_ms))
        self._row = {int(host): row for row, host in enumerate(self._hosts)}
        begins: list[list[int]] = [[] for _ in self._hosts]
        for host, moment in zip(*(column.tolist() for column in profile.begins()), strict=True):
            begins[self._row[host]].append(moment)
        steps = 1 + max((len(moments) for moments in begins), default=0)
        self._from: Ints = np.full((len(begins), steps), FOREVER, dtype=np.int64)
        """[host, step]: when it begins; the first step of each host begins now."""
        self._cpu: Ints = np.zeros((len(begins), steps), dtype=np.int64)
        self._memory: Ints = np.zeros((len(begins), steps), dtype=np.int64)
        self._device: Ints = np.zeros((len(begins), steps, MAX_DEVICES), dtype=np.int64)
        for row, (host, moments) in enumerate(zip(self._hosts, begins, strict=True)):
            for step, moment in enumerate([profile.now_ms, *moments]):
                free = profile.minimum_free(int(host), profile.now_ms, moment + 1)
                self._from[row, step] = moment
                self._cpu[row, step], self._memory[row, step] = free.cpu_milli, free.memory_mib
                self._device[row, step] = free.device
        self._placed: dict[int, _PlacedPods] = {}
        """[row]"""

    def restricts(self, devices: Ints) -> bool:
        """Return whether pods fit on a host with reservations; `devices`, [host], is below 0 where they do not fit."""
        return bool((devices[self._hosts] >= 0).any())

    def allowed_hosts(self, shape: PodShape, devices: Ints, ends_ms: int) -> Bools:
        """Return where such a pod may start now, [host]; `devices`, [host], as bits: those that it would use."""
        mask: Bools = np.ones(self._host_count, dtype=np.bool_)
        rows = np.arange(len(self._hosts))
        step = self._step(rows, ends_ms)
        chosen = devices[self._hosts, None] >> np.arange(MAX_DEVICES) & 1
        mask[self._hosts] = (
            (self._cpu[rows, step] >= shape.cpu_milli)
            & (self._memory[rows, step] >= shape.memory_mib)
            & ((self._device[rows, step] >= shape.gpu_milli) | (chosen == 0)).all(axis=1)
        )
        return mask

    def place(self, host: int, shape: PodShape, devices: int, ends_ms: int) -> None:
        """Record that such a pod starts there now and ends at `ends_ms` at the latest."""
        row = self._row.get(host)
        if row is None:
            return
        columns = self._cpu, self._memory, self._device
        before = self._placed.setdefault(row, _PlacedPods(tuple(column[row].copy() for column in columns), []))
        before.pods.append((shape, devices, ends_ms))
        self._take(row, shape, devices, ends_ms)

    def undo(self, host: int, shape: PodShape, devices: int, ends_ms: int) -> None:
        """Take back a recorded pod, because others of its gang do not fit."""
        row = self._row.get(host)
        if row is None:
            return
        before = self._placed[row]
        before.pods.remove((shape, devices, ends_ms))
        for column, was in zip((self._cpu, self._memory, self._device), before.free_before, strict=True):
            column[row] = was
        for pod in before.pods:
            self._take(row, *pod)

    def _take(self, row: int, shape: PodShape, devices: int, ends_ms: int) -> None:
        # Until its end there is less. After that, the least since now cannot be more than it was at its end.
        until = int(self._step(np.array([row]), ends_ms)[0])
        bits = devices >> np.arange(MAX_DEVICES) & 1
        for column, taken in (
            (self._cpu, shape.cpu_milli),
            (self._memory, shape.memory_mib),
            (self._device, bits * shape.gpu_milli),
        ):
            column[row, : until + 1] -= taken
            column[row, until + 1 :] = np.minimum(column[row, until + 1 :], column[row, until])

    def _step(self, rows: Ints, ends_ms: int) -> Ints:
        """Return the last step that begins before the end."""
        last: Ints = np.maximum((self._from[rows] < min(ends_ms, FOREVER)).sum(axis=1) - 1, 0)
        return last


_NO_TASKS = frozenset[int]()


class ReservationPriority:
    """Compares tasks by the queues' definitions."""

    def __init__(self, queues: QueueTree) -> None:
        self._queues = queues

    def above(self, task: Task, holder: Task, now_ms: int) -> bool:
        """Whether the task's priority is strictly higher, as submitted and with aging."""
        return task.priority > holder.priority and self._effective_priority(task, now_ms) > self._effective_priority(
            holder, now_ms
        )

    def yields_to(self, holder: Task, task: Task, now_ms: int) -> bool:
        """Whether what is reserved for `holder` does not hold against `task`."""
        return self.above(task, holder, now_ms) and (holder.spot or self._part(holder) == self._part(task))

    def _effective_priority(self, task: Task, now_ms: int) -> float:
        ageing = self._queues.ageing(self._part(task)[0])
        return ageing.effective_priority(task.priority, task.submitted_at, now_ms)

    def _part(self, task: Task) -> tuple[str, str]:
        return self._queues.leaf_of(queue_name(task), task.tenant)


class YieldingReservations:
    """The reservations of a cycle that give way to a task.

    `reserved_hosts`: [task], rows of hosts reserved by preemption.
    """

    def __init__(
        self,
        priority_rule: ReservationPriority,
        tasks: Mapping[int, Task],
        reservations: Mapping[int, Reservation],
        reserved_hosts: Mapping[int, frozenset[int]],
        now_ms: int,
    ) -> None:
        self._priority = priority_rule
        self._tasks = tasks
        self._reservations = dict(reservations)
        self._reserved_hosts = reserved_hosts
        self._now_ms = now_ms
        self._lowest_priority = min((tasks[number].priority for number in reservations), default=0)
        self.passed: set[int] = set()
        """Tasks whose reservation was used by another: it may have to move."""

    def yielding_to(self, task: Task) -> frozenset[int]:
        """Return the tasks whose reservations give way to this one, anywhere or where others were preempted for it.

        Including its own, where it could start in resources of theirs.
        """
        if task.priority <= self._lowest_priority:
            return _NO_TASKS
        rule = self._priority.above if task.id in self._reserved_hosts else self._below
        found = frozenset(number for number in self._reservations if rule(task, self._tasks[number], self._now_ms))
        return found | {task.id} if found and task.id in self._reservations else found

    def claims(self, task: Task, numbers: frozenset[int]) -> list[Allocation]:
        """Return what these reservations hold that is open to the task."""
        found = []
        for number in sorted(numbers):
            everywhere = number == task.id or self._below(task, self._tasks[number], self._now_ms)
            hosts = self._reserved_hosts.get(task.id, _NO_TASKS)
            found += [claim for claim in self._reservations[number].allocations() if everywhere or claim.host in hosts]
        return found

    def key(self, task: Task) -> tuple[int, frozenset[int]]:
        """Return a key that is equal for tasks to which the same reservations give way."""
        return (task.id if task.id in self._reserved_hosts else -1), self.yielding_to(task)

    def _below(self, task: Task, holder: Task, now_ms: int) -> bool:
        return self._priority.yields_to(holder, task, now_ms)


def reserve_over(
    profile: AvailabilityProfile,
    wanted: Sequence[ReservationRequest],
    reservations: Mapping[int, Reservation],
    yielding_to_task: Callable[[int], Sequence[int]],
    waiting: Callable[[int], ReservationRequest | None],
) -> tuple[dict[int, Reservation], dict[int, Reservation]]:
    """Return new reservations for `wanted`, and all reservations that are valid then, both by task.

    A reservation of another task that yields to a wanted one is planned anew behind it where that lets the wanted task
    start sooner; otherwise it is kept. `profile` contains `reservations`. `yielding_to_task`: returns the tasks whose
    reservations yield to a task.
    """
    made: dict[int, Reservation] = {}
    reservations = dict(reservations)
    for waiting_task in wanted:
        found = reserve(profile, [waiting_task], {})
        below = [number for number in yielding_to_task(waiting_task.task) if number in reservations]
        if below:
            behind = [claim for reservation in found.values() for claim in reservation.allocations()]
            theirs = [claim for number in below for claim in reservations[number].allocations()]
            profile.remove([*behind, *theirs])
            ahead = reserve(profile, [waiting_task], {})
            if _starts_sooner(ahead.get(waiting_task.task), found.get(waiting_task.task)):
                found = ahead
                again = [waits for number in below if (waits := waiting(number)) is not None]
                moved = reserve(profile, again, {number: reservations[number] for number in below})
                reservations = {
                    number: reservation for number, reservation in reservations.items() if number not in below
                } | moved
            else:
                profile.remove([claim for reservation in ahead.values() for claim in reservation.allocations()])
                profile.add([*behind, *theirs])
        made |= found
        reservations |= found
    return made, reservations


def _starts_sooner(first: Reservation | None, other: Reservation | None) -> bool:
    return first is not None and (other is None or first.start_ms < other.start_ms)


START_MS: Final = 300_000
"""From a lease's creation to its start, the chain's usual limit: a pod's time is counted from then on."""

ASSIGN_MS: Final = 60_000
"""From a placement to the lease's creation. Without it each assumed pod would move the reservations behind it."""


def max_hold_ms(task: Task) -> int:
    """Return how long a pod that is placed now may hold its resources."""
    return min(FOREVER, ASSIGN_MS + START_MS + task.max_duration_ms)


class BackfillFilter(HostFilter):
    """Admits a pod where it ends before a reservation begins, or leaves what that needs.

    `profile` contains everything reserved. `own_claims`: what these windows (bits) hold; it is open to tasks that may
    use the windows.
    """

    def __init__(
        self,
        profile: AvailabilityProfile,
        windows_of: Callable[[str], int],
        own_claims: Callable[[int], Sequence[Allocation]],
        yielding: YieldingReservations,
    ) -> None:
        self._profile = profile
        self._windows_of = windows_of
        self._claims_of_windows = own_claims
        self._yielding = yielding
        self._backfills: dict[Hashable, Backfill] = {}
        """For tasks with the same windows and the same yielding reservations."""
        self._placed: list[tuple[int, PodShape, int, int]] = []

    def excluded(self, task: Task, request: PodRequest, devices: AnyInts) -> Bools | None:
        """[host]: whether the pod must not start there. None: no feasible host has reservations."""
        backfill = self._backfill(task)
        if not backfill.restricts(devices):
            return None
        return ~backfill.allowed_hosts(request.shape, devices, self._ends_ms(task))

    def on_assume(self, task: Task, request: PodRequest, host: int, devices: int) -> None:
        pod = host, request.shape, devices, self._ends_ms(task)
        self._placed.append(pod)
        self._yielding.passed |= self._yielding.yielding_to(task)
        for backfill in self._backfills.values():
            backfill.place(*pod)

    def on_forget(self, task: Task, request: PodRequest, host: int, devices: int) -> None:
        pod = host, request.shape, devices, self._ends_ms(task)
        self._placed.remove(pod)
        for backfill in self._backfills.values():
            backfill.undo(*pod)

    def _backfill(self, task: Task) -> Backfill:
        windows = self._windows_of(task.tenant)
        key = windows, self._yielding.key(task)
        found = self._backfills.get(key)
        if found is None:
            own_claims = [
                *self._claims_of_windows(windows),
                *self._yielding.claims(task, self._yielding.yielding_to(task)),
            ]
            self._profile.remove(own_claims)
            found = self._backfills[key] = Backfill(self._profile)
            self._profile.add(own_claims)
            for pod in self._placed:
                found.place(*pod)
        return found

    def _ends_ms(self, task: Task) -> int:
        return self._profile.now_ms + max_hold_ms(task)
