"""The availability profile: what is free of each host at which time, by leases and reservations.

Hosts are named by their row in the cluster; when hosts come or go, allocations and profiles are made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from offchain.core.scheduler.availability_kernels import (
    AT,
    CPU,
    DEVICES,
    FOREVER,
    MEMORY,
    NONE,
    AllocationColumn,
    AvailabilityChanges,
    apply_allocations,
    link_rows,
    minimum_free,
    unlink_rows,
)
from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import MAX_DEVICES, Bools, Ints, resized
from offchain.core.scheduler.pod_request import PodShape

_INITIAL_ROWS: Final = 64
_SPARE_ROWS: Final = 256


@dataclass(frozen=True, slots=True)
class Allocation:
    """The part of one host that a pod, or a reservation window, uses in the interval [from_ms, until_ms).

    `until_ms` is the latest: a lease ends then by its maximum duration.
    """

    host: int
    shape: PodShape
    devices: int
    from_ms: int
    until_ms: int

    def as_row(self) -> tuple[int, ...]:
        """Return the numbers in the order of AllocationColumn."""
        shape = self.shape
        request = shape.cpu_milli, shape.memory_mib, shape.gpu_milli
        return (self.host, *request, self.devices, self.from_ms, self.until_ms)


def allocation_rows(allocations: Iterable[Allocation]) -> Ints:
    """Return [allocation, column]."""
    rows = [one.as_row() for one in allocations]
    return np.array(rows, dtype=np.int64).reshape(-1, AllocationColumn.COUNT)


class LeaseEnds:
    """When allocations end, by task: a list for each host, in order of time, kept over scheduling cycles.

    The cost of a change depends on the other rows of its host only. Allocations without an end change nothing and are
    left out.
    """

    __slots__ = ("_changes", "_count", "_cpu", "_first_rows", "_free_rows", "_memory", "_next_rows", "_tasks")

    def __init__(self) -> None:
        rows, hosts = np.zeros((_INITIAL_ROWS, DEVICES + 1), dtype=np.int64), np.zeros(_INITIAL_ROWS, dtype=np.int64)
        self._changes = AvailabilityChanges(
            rows, hosts, hosts.copy(), np.full(_INITIAL_ROWS, NONE, dtype=np.int64), hosts.copy()
        )
        self._count = 0
        """Rows that were ever in use."""
        self._free_rows: Ints = np.zeros(0, dtype=np.int64)
        self._first_rows: dict[int, int] = {}
        """[task]: one of its rows."""
        self._next_rows: Ints = np.zeros(_INITIAL_ROWS, dtype=np.int64)
        """[row]: the next row of the same task."""
        self._tasks: Ints = np.zeros(_INITIAL_ROWS, dtype=np.int64)
        """[row]: its task."""
        self._cpu: Ints = np.zeros(_INITIAL_ROWS, dtype=np.int64)
        """[host]: sum over all rows."""
        self._memory: Ints = np.zeros(_INITIAL_ROWS, dtype=np.int64)

    def known(self, tasks: Iterable[int]) -> set[int]:
        """Return those of these tasks that have ends."""
        return self._first_rows.keys() & tasks

    def tasks_on(self, host: int) -> set[int]:
        """Return the tasks with ends on this host."""
        changes, found = self._changes, set()
        row = int(changes.first[host]) if host < len(changes.first) else NONE
        while row != NONE:
            found.add(int(self._tasks[row]))
            row = int(changes.after[row])
        return found

    def put(self, tasks: Ints, allocations: Ints) -> None:
        """Add [allocation, column], each of the task at the same index; rows of a task are adjacent.

        None of these tasks may be known.
        """
        ending = allocations[:, AllocationColumn.UNTIL] < FOREVER
        tasks, allocations = tasks[ending], allocations[ending]
        hosts = allocations[:, AllocationColumn.HOST]
        rows = self._new_rows(len(allocations), 1 + int(hosts.max(initial=NONE)))
        changes = self._changes
        changes.host[rows], self._tasks[rows] = hosts, tasks
        changes.rows[rows, AT] = allocations[:, AllocationColumn.UNTIL]
        changes.rows[rows, CPU:] = allocations[:, AllocationColumn.CPU : AllocationColumn.DEVICES + 1]
        np.add.at(self._cpu, hosts, allocations[:, AllocationColumn.CPU])
        np.add.at(self._memory, hosts, allocations[:, AllocationColumn.MEMORY])
        link_rows(changes, rows[np.argsort(-allocations[:, AllocationColumn.UNTIL], kind="stable")])
        begins = np.append(True, tasks[1:] != tasks[:-1])[: len(tasks)]
        self._next_rows[rows] = np.where(np.append(begins[1:], True)[: len(rows)], NONE, np.roll(rows, -1))
        self._first_rows.update(zip(tasks[begins].tolist(), rows[begins].tolist(), strict=True))

    def put_task(self, task: int, allocations: Sequence[Allocation]) -> None:
        """Add the allocations of one task, which is not known."""
        self.put(np.full(len(allocations), task), allocation_rows(allocations))

    def drop(self, tasks: Iterable[int]) -> None:
        """Remove the ends of these tasks."""
        firsts = self._first_rows
        found: list[Ints] = []
        rows: Ints = np.array([firsts.pop(task) for task in tasks if task in firsts], dtype=np.int64)
        while len(rows):
            found.append(rows)
            rows = self._next_rows[rows]
            rows = rows[rows != NONE]
        if not found:
            return
        rows, changes = np.concatenate(found), self._changes
        unlink_rows(changes, rows)
        np.subtract.at(self._cpu, changes.host[rows], changes.rows[rows, CPU])
        np.subtract.at(self._memory, changes.host[rows], changes.rows[rows, MEMORY])
        self._free_rows = np.concatenate([self._free_rows, rows])

    def sums(self, hosts: int) -> tuple[Ints, Ints]:
        """Return the cores and the memory that will become free, [host]."""
        return resized(self._cpu, hosts), resized(self._memory, hosts)

    def changes(self, hosts: int, at_least_ms: int, spare: int) -> AvailabilityChanges:
        """Return a copy with `spare` unused rows; overdue ends are moved to `at_least_ms`."""
        rows, host, after, first, shrinks_ms = self._changes
        count = self._count
        made = np.empty((count + spare, DEVICES + 1), dtype=np.int64)
        made[:count] = rows[:count]
        np.maximum(made[:count, AT], at_least_ms, out=made[:count, AT])
        columns = resized(host[:count], count + spare), resized(after[:count], count + spare)
        return AvailabilityChanges(made, *columns, resized(first, hosts, NONE), resized(shrinks_ms, hosts))

    def _new_rows(self, count: int, hosts: int) -> Ints:
        """Return `count` unused rows, and extend the columns to that many rows and hosts."""
        left = max(0, len(self._free_rows) - count)
        reused, self._free_rows = self._free_rows[left:], self._free_rows[:left]
        first, self._count = self._count, self._count + count - len(reused)
        if self._count > len(self._next_rows):
            self._next_rows = resized(self._next_rows, 2 * self._count)
            self._tasks = resized(self._tasks, 2 * self._count)
            self._changes = _lengthened(self._changes, 2 * self._count)
        if hosts > len(self._cpu):
            self._cpu, self._memory = resized(self._cpu, 2 * hosts), resized(self._memory, 2 * hosts)
            firsts = resized(self._changes.first, 2 * hosts, NONE)
            self._changes = self._changes._replace(first=firsts, shrinks_ms=np.zeros(2 * hosts, dtype=np.int64))
        return np.concatenate([reused, np.arange(first, self._count)])


def _lengthened(changes: AvailabilityChanges, rows: int) -> AvailabilityChanges:
    host, after = resized(changes.host, rows), resized(changes.after, rows)
    return changes._replace(rows=resized(changes.rows, rows), host=host, after=after)


@dataclass(slots=True)
class HostAvailability:
    """Free resources of one host. Whether a pod accepts its GPU models is not checked here."""

    cpu_milli: int
    memory_mib: int
    device: Ints
    """[device]: free thousandths."""

    def copy(self) -> HostAvailability:
        return HostAvailability(self.cpu_milli, self.memory_mib, self.device.copy())

    def fits(self, shape: PodShape, devices: int) -> bool:
        """Return whether a pod fits on exactly these devices, as bits."""
        return (
            self.cpu_milli >= shape.cpu_milli
            and self.memory_mib >= shape.memory_mib
            and all(left >= shape.gpu_milli for index, left in enumerate(self.device) if devices >> index & 1)
        )

    def pick_devices(self, shape: PodShape) -> int:
        """Return the devices for a pod, as bits; -1 if it does not fit.

        The fullest devices; for a pod with several GPUs the emptiest, so that as many pods as possible fit.
        """
        if self.cpu_milli < shape.cpu_milli or self.memory_mib < shape.memory_mib:
            return -1
        fit = [(int(left), index) for index, left in enumerate(self.device) if left >= shape.gpu_milli]
        if shape.gpus > 1:
            fit.sort(key=lambda one: (-one[0], one[1]))
        else:
            fit.sort()
        if len(fit) < shape.gpus:
            return -1
        return sum(1 << index for _, index in fit[: shape.gpus])

    def take(self, shape: PodShape, devices: int) -> None:
        self._add(shape, devices, -1)

    def give(self, shape: PodShape, devices: int) -> None:
        self._add(shape, devices, 1)

    def _add(self, shape: PodShape, devices: int, sign: int) -> None:
        self.cpu_milli += sign * shape.cpu_milli
        self.memory_mib += sign * shape.memory_mib
        for index in range(len(self.device)):
            if devices >> index & 1:
                self.device[index] += sign * shape.gpu_milli


class AvailabilityProfile:
    """Free resources of each host from `now_ms` on, if every lease ends at its latest end.

    `leases` are part of the cluster's columns already; reservations are added here. An overdue lease still uses its
    part: it counts as ending at the next millisecond.
    """

    __slots__ = ("_base", "_count", "_most", "changes", "cluster", "free", "now_ms", "underway")

    def __init__(self, cluster: Cluster, now_ms: int, leases: LeaseEnds) -> None:
        self.cluster = cluster
        self.now_ms = now_ms
        free = cluster.free
        # At `now_ms`; below 0 where more is allocated than there is.
        self.free = free._replace(cpu=free.cpu.copy(), memory=free.memory.copy(), device=free.device.astype(np.int64))
        # Upper bound: cores and memory after all ends, devices as now.
        cpu, memory = leases.sums(len(cluster))
        self._most = free._replace(cpu=free.cpu + cpu, memory=free.memory + memory)
        self.changes = leases.changes(len(cluster), now_ms + 1, _SPARE_ROWS)
        # Rows of leases, and all rows in use.
        self._base = self._count = len(self.changes.rows) - _SPARE_ROWS
        # [host]: whether something that is not in the cluster's columns is allocated now.
        self.underway: Bools = np.zeros(len(cluster), dtype=np.bool_)

    def add(self, allocations: Iterable[Allocation]) -> None:
        self._apply(allocation_rows(allocations), 1)

    def remove(self, allocations: Iterable[Allocation]) -> None:
        """Remove allocations that were added."""
        self._apply(allocation_rows(allocations), -1)

    def minimum_free(self, host: int, from_ms: int, until_ms: int) -> HostAvailability:
        """Return what is free of this host during the whole interval."""
        device = np.zeros(MAX_DEVICES, dtype=np.int64)
        cpu, memory = minimum_free(host, self.free, self.changes, from_ms, until_ms, device)
        return HostAvailability(int(cpu), int(memory), device)

    def fits(self, allocations: Iterable[Allocation]) -> bool:
        """Return whether these allocations, all of one interval, fit beside each other."""
        free: dict[int, HostAvailability] = {}
        for one in allocations:
            here = free.get(one.host)
            if here is None:
                here = free[one.host] = self.minimum_free(one.host, one.from_ms, one.until_ms)
            if not here.fits(one.shape, one.devices):
                return False
            here.take(one.shape, one.devices)
        return True

    def candidates(self, shape: PodShape) -> Ints:
        """Return the hosts on which such a pod may fit at some time; it fits on no other."""
        accepts: Bools = self.cluster.accepts(shape)[self.free.main_class]
        most = self._most
        fits: Bools = (most.cpu >= shape.cpu_milli) & (most.memory >= shape.memory_mib) & (most.gpus >= shape.gpus)
        return np.flatnonzero(accepts & fits)

    def begins(self) -> tuple[Ints, Ints]:
        """Return hosts and times at which an allocation begins, in this order and without duplicates."""
        added = slice(self._base, self._count)
        shrinks = (self.changes.rows[added, AT + 1 : DEVICES] < 0).any(axis=1)
        hosts, moments = self.changes.host[added][shrinks], self.changes.rows[added, AT][shrinks]
        found: Ints = np.unique(np.stack([hosts, moments], axis=1), axis=0)
        return found[:, 0], found[:, 1]

    def _apply(self, rows: Ints, sign: int) -> None:
        most = self._count + 2 * len(rows)
        if most > len(self.changes.rows):
            self.changes = _lengthened(self.changes, 2 * most)
        args = self.free, self.underway, self.changes, self._count
        self._count = apply_allocations(rows, sign, self.now_ms, *args)
