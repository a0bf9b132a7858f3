"""Groups of tasks that found no place, and who of them could fit where hosts have got room since.

Within one moment of chain time nothing but room can help them: so a round looks again only at those whom it may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from offchain.core.placing.cluster import Bools, Columns, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.shapes import Shape
from offchain.core.planning.planner import Blocked

_FEWEST: Final = 16
_COLUMNS: Final = 5


class Asleep:
    """By the numbers of their groups."""

    def __init__(self) -> None:
        self._blocked: dict[int, Blocked] = {}
        self._places: dict[int, int] = {}
        self._numbers: list[int] = []
        self._asks: Ints = np.zeros((_FEWEST, _COLUMNS), dtype=np.int64)
        """[place]: cores, memory, disk, GPUs, and thousandths of each that a pod asks for."""
        self._fits: Bools = np.zeros(_FEWEST, dtype=np.bool_)

    def clear(self) -> None:
        """Nobody sleeps."""
        self._blocked.clear()
        self._places.clear()
        self._numbers.clear()

    def put(self, number: int, blocked: Blocked) -> None:
        """A group found no place."""
        self._blocked[number] = blocked
        if number in self._places:
            return
        place = self._places[number] = len(self._numbers)
        self._numbers.append(number)
        if place == len(self._asks):
            self._asks = np.concatenate([self._asks, np.zeros_like(self._asks)])
            self._fits = np.zeros(len(self._asks), dtype=np.bool_)
        self._asks[place] = _row(blocked.want.shape)

    def drop(self, number: int) -> None:
        """None of this group waits any more, if it slept."""
        if self._blocked.pop(number, None) is None:
            return
        place, last = self._places.pop(number), self._numbers.pop()
        if last != number:
            self._numbers[place] = last
            self._places[last] = place
            self._asks[place] = self._asks[len(self._numbers)]

    def __contains__(self, number: int) -> bool:
        """Whether it found no place."""
        return number in self._blocked

    def __getitem__(self, number: int) -> Blocked:
        """Who of this group found no place."""
        return self._blocked[number]

    def __iter__(self) -> Iterator[tuple[int, Blocked]]:
        """All groups, those that have slept the longest first, and who of them found no place."""
        return iter(self._blocked.items())

    def fitting(self, rows: Iterable[int], free: Columns) -> set[int]:
        """Those of which a pod may have room on one of these hosts; whom the host's GPUs would do for is not asked."""
        count = len(self._numbers)
        if not count:
            return set()
        self._fits[:count] = False
        for row in rows:
            _fitting(self._asks[:count], free.cpu[row], free.memory[row], free.disk[row], free.device[row], self._fits)
        return {self._numbers[place] for place in np.flatnonzero(self._fits[:count]).tolist()}


def _row(shape: Shape) -> tuple[int, ...]:
    return shape.cpu_milli, shape.memory_mib, shape.disk_gib, shape.gpus, shape.gpu_milli


@compiled
def _fitting(asks: Ints, cpu: int, memory: int, disk: int, device: Ints, fits: Bools) -> None:
    """Mark those that fit on a host with so much free."""
    for place in range(len(asks)):
        cores, mib, gib, gpus, milli = asks[place]
        if cores <= cpu and mib <= memory and gib <= disk:
            usable = 0
            for index in range(len(device) if gpus else 0):
                usable += device[index] >= milli
            fits[place] |= usable >= gpus
