"""Unschedulable classes within one block time, and which of them may fit on hosts where resources were freed.

Within one moment of chain time only tasks change, and resources are freed only where tasks end. So a cycle that
continues the last one plans new tasks, and of the unschedulable ones only those that may fit on such hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import AnyInts, Bools, Ints
from offchain.core.scheduler.fair_share import FairShareQueue
from offchain.core.scheduler.jit import compiled
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.plan import UnschedulableTask
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.core.scheduler.reservation_manager import ReservationManager

_MIN_ROWS: Final = 16
_COLUMNS: Final = 6


class UnschedulableIndex:
    """Classes that could not be placed, by number. Some are marked as retryable."""

    def __init__(self) -> None:
        self._tasks: dict[int, UnschedulableTask] = {}
        """[class]: its unschedulable task."""
        self._vacant: set[int] = set()
        """Classes whose unschedulable task is gone: another task of them is to be tried."""
        self._rows: dict[int, int] = {}
        self._numbers: Ints = np.zeros(_MIN_ROWS, dtype=np.int64)
        self._requests: Ints = np.zeros((_MIN_ROWS, _COLUMNS), dtype=np.int64)
        """[row]: cores, memory, disk, GPUs, thousandths of each, and the account of a share."""
        self._retryable: Bools = np.zeros(_MIN_ROWS, dtype=np.bool_)

    def clear(self) -> None:
        self._tasks.clear()
        self._vacant.clear()
        self._rows.clear()

    def put(self, number: int, task: UnschedulableTask, cluster: Cluster) -> None:
        """Note that a class could not be placed."""
        self._tasks[number] = task
        self._vacant.discard(number)
        row = self._rows.get(number)
        if row is None:
            row = self._rows[number] = len(self._rows)
            if row == len(self._requests):
                self._requests = np.concatenate([self._requests, np.zeros_like(self._requests)])
                self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
                self._retryable = np.concatenate([self._retryable, np.zeros_like(self._retryable)])
            self._numbers[row] = number
            self._requests[row] = _shape_row(task.request.shape, cluster)
        self._retryable[row] = False

    def on_tasks_left(self, number: int, tasks: Sequence[int]) -> None:
        """Note that tasks of the class wait no more.

        If its unschedulable task is among them, another is to be tried.
        """
        found = self._tasks.get(number)
        if found is not None and found.task in tasks:
            del self._tasks[number]
            self._vacant.add(number)

    def remove(self, number: int) -> None:
        """Remove a class without waiting tasks."""
        if number not in self._rows:
            return
        self._tasks.pop(number, None)
        self._vacant.discard(number)
        row, last = self._rows.pop(number), len(self._rows)
        if row != last:
            moved = int(self._numbers[last])
            self._rows[moved] = row
            for column in (self._numbers, self._requests, self._retryable):
                column[row] = column[last]

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def tasks(self) -> tuple[UnschedulableTask, ...]:
        """Return the unschedulable tasks, the oldest entries first."""
        return tuple(self._tasks.values())

    def mark_retryable(self, hosts: Iterable[int], cluster: Cluster) -> None:
        """Mark the classes that may fit on one of these hosts; device models are not looked at.

        Vacant classes are always marked.
        """
        count = len(self._rows)
        self._retryable[:count] = False
        self._mark(hosts, cluster, self._retryable[:count])
        for number in self._vacant:
            self._retryable[self._rows[number]] = True

    def retryable(self) -> Ints:
        """Return the marked classes."""
        found: Ints = self._numbers[np.flatnonzero(self._retryable[: len(self._rows)])]
        return found

    def is_retryable(self, number: int) -> bool:
        row = self._rows.get(number)
        return row is not None and bool(self._retryable[row])

    def unmark_full(self, hosts: Iterable[int], cluster: Cluster) -> Ints:
        """Unmark the classes that do not fit on these hosts any more, and return them."""
        count = len(self._rows)
        full = self._retryable[:count].copy()
        if not full.any():
            return _NO_CLASSES
        fits = np.zeros(count, dtype=np.bool_)
        self._mark(hosts, cluster, fits)
        full &= ~fits
        for number in self._vacant:
            full[self._rows[number]] = False
        self._retryable[:count] &= ~full
        found: Ints = self._numbers[np.flatnonzero(full)]
        return found

    def clear_retryable(self) -> None:
        self._retryable[:] = False

    def _mark(self, hosts: Iterable[int], cluster: Cluster, fits: Bools) -> None:
        if len(fits):
            on, free = np.fromiter(hosts, dtype=np.int64), cluster.free
            requests, account_ids = self._requests[: len(fits)], cluster.account_ids
            _mark_fitting(
                requests, on, free.cpu, free.memory, free.disk, free.device, free.device_class, account_ids, fits
            )


_NO_CLASSES: Ints = np.zeros(0, dtype=np.int64)


def _shape_row(shape: PodShape, cluster: Cluster) -> tuple[int, ...]:
    account = cluster.account(shape.account)
    return shape.cpu_milli, shape.memory_mib, shape.disk_gib, shape.gpus, shape.gpu_milli, account


@compiled
def _mark_fitting(
    requests: Ints,
    hosts: Ints,
    cpu: Ints,
    memory: Ints,
    disk: Ints,
    device: AnyInts,
    device_class: AnyInts,
    account_ids: Ints,
    fits: Bools,
) -> None:
    """Mark the requests that fit on one of these hosts. `account_ids`: [device class].

    Wherever :func:`offchain.core.feasibility.fits` finds no misfit, the request is marked; models are not looked at.
    """
    for row in range(len(requests)):
        cores, mib, gib, gpus, milli, account = requests[row]
        for host in hosts:
            if fits[row]:
                break
            if cores <= cpu[host] and mib <= memory[host] and gib <= disk[host]:
                usable = 0
                for index in range(device.shape[1] if gpus else 0):
                    left = device[host, index]
                    own = account == 0 or left == WHOLE_GPU or account_ids[device_class[host, index]] == account
                    usable += left >= milli and own
                fits[row] = usable >= gpus


_MAX_FREED_HOSTS: Final = 128
"""Beyond this many hosts, planning all tasks anew takes less time than finding those that may fit."""


class IncrementalCycle:
    """Decides whether a cycle continues the last one, and which tasks it plans."""

    def __init__(
        self, planner: Planner, reservations: ReservationManager, queue: FairShareQueue, index: UnschedulableIndex
    ) -> None:
        self._planner = planner
        self._reservations = reservations
        self._queue = queue
        self._index = index
        self._moment_ms: int | None = None
        """The chain time of the last full cycle, while nothing but tasks has changed since."""
        self.is_continuing = False
        """Whether the last cycle continued another one."""
        self.freed: set[int] = set()
        """The rows of hosts where resources were freed since the last cycle."""

    def invalidate(self) -> None:
        """Note that something other than tasks changed: the next cycle plans all tasks."""
        self._moment_ms = None

    def can_continue(self, now_ms: int) -> bool:
        """Return whether the last cycle can be continued, after marking the classes that may fit now.

        Reservations are kept until the next moment, unless resources were freed on one of their hosts, or for one of
        several pods.
        """
        self.freed |= self._planner.take_freed_rows()
        if self._moment_ms != now_ms or len(self.freed) > _MAX_FREED_HOSTS:
            return False
        self._index.mark_retryable(self.freed, self._planner.hosts.cluster)
        for number, reservation in self._reservations.reservations.items():
            gang = len(reservation.places) > 1 and self._index.is_retryable(self._queue.class_of(number))
            if gang or any(slot.host in self.freed for slot in reservation.places):
                return False
        return True

    def begin_continued(self) -> None:
        self.is_continuing = True
        self._queue.unblock(self._index.retryable())

    def begin_full(self) -> None:
        self.is_continuing = False
        self.freed.clear()
        self._index.clear_retryable()

    def retryable_reservations(self) -> list[int]:
        """Return the tasks with a reservation that are to be tried."""
        retryable = self._index.is_retryable
        return [number for number in self._reservations.reservations if retryable(self._queue.class_of(number))]

    def on_placed(self) -> None:
        """Unmark classes that do not fit any more."""
        if not self.is_continuing:
            return
        self._queue.block(self._index.unmark_full(self.freed, self._planner.hosts.cluster))

    def end_continued(self, tasks: Iterable[UnschedulableTask]) -> None:
        """Enter the tasks that could not be placed."""
        for one in tasks:
            self._index.put(self._queue.class_of(one.task), one, self._planner.hosts.cluster)
        self._index.clear_retryable()
        self.freed.clear()

    def end_full(self, now_ms: int | None, tasks: Iterable[UnschedulableTask]) -> None:
        """Enter the tasks that a full cycle could not place. `now_ms`: None if the cycle cannot be continued."""
        self._moment_ms = now_ms
        self._index.clear()
        self.end_continued(tasks)
