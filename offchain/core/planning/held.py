"""What was placed and is not yet in the chain's records for good, by task and by host.

Small batches are entered at their hosts one by one. Large ones are sorted by host when somebody asks for a host, so
that a round which places a hundred thousand tasks does nothing for each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import KeysView, Sequence
from typing import Final

import numpy as np

from offchain.core.placing.cluster import Ints
from offchain.core.planning.placements import Batch

FEW: Final = 16
"""Pods of a batch that are entered one by one."""

_FORGET: Final = 4096
"""So many tasks that are held no more may always be in the layers."""


class _Layer:
    """Large batches, sorted by host."""

    def __init__(self, hosts: Ints, tasks: Ints) -> None:
        order = np.argsort(hosts, kind="stable")
        self.hosts, self.tasks = hosts[order], tasks[order]

    @classmethod
    def of(cls, batches: Sequence[Batch]) -> _Layer:
        hosts = np.concatenate([np.asarray(batch.hosts) for batch in batches])
        return cls(hosts, np.concatenate([batch.task_of_pods() for batch in batches]))

    def at(self, row: int) -> list[int]:
        # Of the column's own type: else the whole column would be converted for a look at one host.
        host = self.hosts.dtype.type(row)
        found: list[int] = self.tasks[self.hosts.searchsorted(host) : self.hosts.searchsorted(host, "right")].tolist()
        return found


class Held:
    """Each task is held once at a time."""

    def __init__(self) -> None:
        self._batches: dict[int, Batch] = {}
        self._at: defaultdict[int, set[int]] = defaultdict(set)
        """[row]: of small batches, the tasks that hold something there."""
        self._new: list[Batch] = []
        """Large ones that are in no layer yet."""
        self._layers: list[_Layer] = []
        """Each less than half as large as the one before it; tasks that are held no more may be in them still."""
        self._gone = 0
        """How many of those."""

    def get(self, task: int) -> Batch | None:
        """Where it was placed; None: it holds nothing."""
        return self._batches.get(task)

    @property
    def tasks(self) -> KeysView[int]:
        """Those that hold something."""
        return self._batches.keys()

    def add(self, batch: Batch) -> None:
        """Its tasks hold this."""
        self._batches.update(dict.fromkeys(batch.tasks, batch))
        if len(batch.hosts) > FEW:
            self._new.append(batch)
            return
        for place, host in enumerate(batch.hosts):
            self._at[host].add(batch.tasks[place // batch.each])

    def drop(self, task: int) -> Batch | None:
        """It holds nothing any more. Gives what it held."""
        batch = self._batches.pop(task, None)
        if batch is None:
            return None
        if len(batch.hosts) > FEW:
            self._gone += 1
            if self._gone > max(_FORGET, len(self._batches)):
                self._sweep()
            return batch
        for row in batch.rows(task):
            here = self._at[row]
            here.discard(task)
            if not here:
                del self._at[row]
        return batch

    def at(self, row: int) -> list[int]:
        """The tasks that hold something on this host, the lowest number first."""
        if self._new:
            self._stack(_Layer.of(self._new))
            self._new = []
        found = set(self._at.get(row, ()))
        for layer in self._layers:
            found.update(layer.at(row))
        return sorted(task for task in found if task in self._batches)

    def _stack(self, top: _Layer) -> None:
        """So that there are few layers, and each pod is seldom sorted anew."""
        while self._layers and len(self._layers[-1].tasks) <= 2 * len(top.tasks):
            top = self._merged([self._layers.pop(), top])
        self._layers.append(top)

    def _sweep(self) -> None:
        if self._layers:
            self._layers = [self._merged(self._layers)]
        self._gone = 0

    def _merged(self, layers: Sequence[_Layer]) -> _Layer:
        """As one, without tasks that are held no more."""
        hosts = np.concatenate([layer.hosts for layer in layers])
        tasks = np.concatenate([layer.tasks for layer in layers])
        live = np.array([task in self._batches for task in tasks.tolist()], dtype=np.bool_)
        return _Layer(hosts[live], tasks[live])
