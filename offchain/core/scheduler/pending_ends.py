"""Ends of new placements, until the availability profile needs them."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from itertools import chain

import numpy as np

from offchain.core.scheduler.assumed_pods import PodBatch
from offchain.core.scheduler.availability import LeaseEnds
from offchain.core.scheduler.availability_kernels import FOREVER, AllocationColumn
from offchain.core.scheduler.backfill import ASSIGN_MS, START_MS
from offchain.core.scheduler.columns import Ints
from offchain.core.values import Task


class PendingEnds:
    """New placements until their claims are computed, for all batches at once.

    A few columns instead of objects for each task: a cycle may place a hundred thousand.
    """

    def __init__(self) -> None:
        self._new: list[tuple[PodBatch, array[int], int]] = []
        """The maximum duration of each task in ms, and the time of placement."""
        self._with_leases: set[int] = set()
        """Tasks among these that have leases."""

    def __len__(self) -> int:
        """The number of batches."""
        return len(self._new)

    def add(self, batch: PodBatch, tasks: Sequence[Task], now_ms: int) -> None:
        """Add tasks of a batch that was placed now."""
        # Read durations now: looking up the records again later takes longer.
        self._new.append((batch, array("Q", [task.max_duration_ms for task in tasks]), now_ms))
        self._with_leases.update([task.id for task in tasks if task.leases])

    def known_tasks(self, ends: LeaseEnds) -> set[int]:
        """Return the tasks that also have leases or claims already."""
        return self._with_leases | ends.known(chain.from_iterable(batch.tasks for batch, *_ in self._new))

    def take(self, without: Collection[int]) -> tuple[Ints, Ints]:
        """Return and clear what was added, except for `without`: [pod], its task, and [pod, column]."""
        new, self._new, self._with_leases = self._new, [], set()
        if not new:
            return np.zeros(0, dtype=np.int64), np.zeros((0, AllocationColumn.COUNT), dtype=np.int64)
        tasks, rows = _claim_rows(new)
        if without:
            left = ~np.isin(tasks, np.fromiter(without, dtype=np.int64, count=len(without)))
            tasks, rows = tasks[left], rows[left]
        return tasks, rows


def _claim_rows(new: Sequence[tuple[PodBatch, array[int], int]]) -> tuple[Ints, Ints]:
    """See :func:`offchain.core.scheduler.backfill.max_hold_ms`."""
    batches = [batch for batch, *_ in new]
    start = ASSIGN_MS + START_MS
    many = np.array([len(batch.tasks) for batch in batches])
    total = int(many.sum())
    longest = np.frombuffer(b"".join(longest for _, longest, _ in new), dtype=np.uint64)
    lasts = np.minimum(longest, np.uint64(FOREVER - start)).astype(np.int64) + start
    pods = np.array([len(batch.hosts) for batch in batches])
    # The last task of a batch may have fewer pods.
    pods_each = np.repeat([batch.pods_each for batch in batches], many)
    ends = np.cumsum(many)
    pods_each[ends - 1] -= np.add.reduceat(pods_each, ends - many) - pods
    shapes = [batch.request.shape for batch in batches]
    rows = np.empty((int(pods.sum()), AllocationColumn.COUNT), dtype=np.int64)
    rows[:, AllocationColumn.HOST] = np.frombuffer(b"".join(batch.hosts for batch in batches), dtype=np.int32)
    rows[:, AllocationColumn.DEVICES] = np.frombuffer(b"".join(batch.devices for batch in batches), dtype=np.int32)
    rows[:, AllocationColumn.CPU] = np.repeat([shape.cpu_milli for shape in shapes], pods)
    rows[:, AllocationColumn.MEMORY] = np.repeat([shape.memory_mib for shape in shapes], pods)
    rows[:, AllocationColumn.MILLI] = np.repeat([shape.gpu_milli for shape in shapes], pods)
    rows[:, AllocationColumn.FROM] = np.repeat([now_ms for *_, now_ms in new], pods)
    rows[:, AllocationColumn.UNTIL] = rows[:, AllocationColumn.FROM] + np.repeat(lasts, pods_each)
    numbers = np.fromiter(chain.from_iterable(batch.tasks for batch in batches), dtype=np.int64, count=total)
    return np.repeat(numbers, pods_each), rows
