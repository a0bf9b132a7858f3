"""What large batches that were just placed hold until when: rows of claims, without anything for each of their tasks.

They stay until the chain's records tell more of a task.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from offchain.core.placing.cluster import Ints
from offchain.core.planning.placements import Batch
from offchain.core.planning.reserved import START_MS, WAY_MS
from offchain.core.timing.claims import FOREVER, Column
from offchain.core.values import Task


class Ahead:
    """Of one scheduler. Nothing is counted before somebody asks."""

    def __init__(self) -> None:
        self._new: list[tuple[Batch, Sequence[Task], int]] = []
        self._rows: Ints = np.zeros((0, Column.COUNT), dtype=np.int64)
        self._tasks: Ints = np.zeros(0, dtype=np.int64)
        """[row]: whose it is."""

    def add(self, batch: Batch, tasks: Sequence[Task], now_ms: int) -> None:
        """These tasks, all of the batch, have their places from now on."""
        self._new.append((batch, tasks, now_ms))

    def rows(self, gone: Collection[int]) -> Ints:
        """[pod, column], without those of the tasks in `gone`, from now on; to be read only."""
        if self._new:
            self._rows = np.concatenate([self._rows, *(_rows(*one) for one in self._new)])
            self._tasks = np.concatenate([self._tasks, *(batch.task_of_pods() for batch, *_ in self._new)])
            self._new = []
        if gone and len(self._tasks):
            left = ~np.isin(self._tasks, np.fromiter(gone, dtype=np.int64, count=len(gone)))
            if not left.all():
                self._rows, self._tasks = self._rows[left], self._tasks[left]
        return self._rows


def _rows(batch: Batch, tasks: Sequence[Task], now_ms: int) -> Ints:
    """See :func:`offchain.core.planning.reserved.lasts_ms`."""
    shape = batch.want.shape
    longest = np.array([task.max_duration_ms for task in tasks], dtype=np.uint64)
    start = WAY_MS + START_MS
    lasts = np.minimum(longest, np.uint64(FOREVER - start)).astype(np.int64) + start
    rows = np.empty((len(batch.hosts), Column.COUNT), dtype=np.int64)
    rows[:, Column.HOST], rows[:, Column.DEVICES] = batch.hosts, batch.devices
    rows[:, Column.CPU], rows[:, Column.MEMORY] = shape.cpu_milli, shape.memory_mib
    rows[:, Column.MILLI], rows[:, Column.FROM] = shape.gpu_milli, now_ms
    rows[:, Column.UNTIL] = now_ms + np.repeat(lasts, batch.each)[: len(rows)]
    return rows
