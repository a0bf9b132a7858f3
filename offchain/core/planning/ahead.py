"""What was just placed holds until when: rows of claims, made at once for all batches that have come.

Without anything for each task or batch but a few columns: a round may place a hundred thousand.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from itertools import chain

import numpy as np

from offchain.core.placing.free import Ints
from offchain.core.planning.placements import Batch
from offchain.core.planning.reserved import START_MS, WAY_MS
from offchain.core.scheduler.availability import LeaseEnds
from offchain.core.scheduler.availability_kernels import FOREVER, AllocationColumn
from offchain.core.values import Task


class Ahead:
    """Of one scheduler. Nothing is counted before somebody asks."""

    def __init__(self) -> None:
        self._new: list[tuple[Batch, array[int], int]] = []
        """With the longest that each of its tasks may run, ms, and since when they have their places."""
        self._more_known: set[int] = set()
        """Tasks among these that have leases."""

    def __len__(self) -> int:
        """How many batches."""
        return len(self._new)

    def add(self, batch: Batch, tasks: Sequence[Task], now_ms: int) -> None:
        """These tasks, all of the batch, have their places from now on."""
        # Not later: where a task's record is it takes longer to look again.
        self._new.append((batch, array("Q", [task.max_duration_ms for task in tasks]), now_ms))
        self._more_known.update([task.id for task in tasks if task.leases])

    def not_new(self, ends: LeaseEnds) -> set[int]:
        """Tasks among these of which more is known than that they were placed: leases, or what they hold already."""
        return self._more_known | ends.known(chain.from_iterable(batch.tasks for batch, *_ in self._new))

    def take(self, without: Collection[int]) -> tuple[Ints, Ints]:
        """What was added since this was last asked, less the tasks in `without`: [pod], its task, and [pod, column]."""
        new, self._new, self._more_known = self._new, [], set()
        if not new:
            return np.zeros(0, dtype=np.int64), np.zeros((0, AllocationColumn.COUNT), dtype=np.int64)
        tasks, rows = _rows(new)
        if without:
            left = ~np.isin(tasks, np.fromiter(without, dtype=np.int64, count=len(without)))
            tasks, rows = tasks[left], rows[left]
        return tasks, rows


def _rows(new: Sequence[tuple[Batch, array[int], int]]) -> tuple[Ints, Ints]:
    """See :func:`offchain.core.planning.reserved.lasts_ms`."""
    batches = [batch for batch, *_ in new]
    start = WAY_MS + START_MS
    many = np.array([len(batch.tasks) for batch in batches])
    total = int(many.sum())
    longest = np.frombuffer(b"".join(longest for _, longest, _ in new), dtype=np.uint64)
    lasts = np.minimum(longest, np.uint64(FOREVER - start)).astype(np.int64) + start
    pods = np.array([len(batch.hosts) for batch in batches])
    # Of the last task of a batch there may be fewer pods.
    each = np.repeat([batch.each for batch in batches], many)
    ends = np.cumsum(many)
    each[ends - 1] -= np.add.reduceat(each, ends - many) - pods
    shapes = [batch.want.shape for batch in batches]
    rows = np.empty((int(pods.sum()), AllocationColumn.COUNT), dtype=np.int64)
    rows[:, AllocationColumn.HOST] = np.frombuffer(b"".join(batch.hosts for batch in batches), dtype=np.int32)
    rows[:, AllocationColumn.DEVICES] = np.frombuffer(b"".join(batch.devices for batch in batches), dtype=np.int32)
    rows[:, AllocationColumn.CPU] = np.repeat([shape.cpu_milli for shape in shapes], pods)
    rows[:, AllocationColumn.MEMORY] = np.repeat([shape.memory_mib for shape in shapes], pods)
    rows[:, AllocationColumn.MILLI] = np.repeat([shape.gpu_milli for shape in shapes], pods)
    rows[:, AllocationColumn.FROM] = np.repeat([now_ms for *_, now_ms in new], pods)
    rows[:, AllocationColumn.UNTIL] = rows[:, AllocationColumn.FROM] + np.repeat(lasts, each)
    numbers = np.fromiter(chain.from_iterable(batch.tasks for batch in batches), dtype=np.int64, count=total)
    return np.repeat(numbers, each), rows
