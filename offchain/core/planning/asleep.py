"""Groups of tasks that found no place, and who of them could fit where hosts have got room since.

Within one moment of chain time nothing but room can help them: so a round looks again only at those whom it may.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.compiled import compiled
from offchain.core.placing.free import AnyInts, Bools, Ints
from offchain.core.placing.shapes import WHOLE_GPU, Shape
from offchain.core.planning.planner import Blocked

_FEWEST: Final = 16
_COLUMNS: Final = 6


class Asleep:
    """By the numbers of their groups. Some are woken: those that are to be looked at again."""

    def __init__(self) -> None:
        self._blocked: dict[int, Blocked] = {}
        """Of the others, who found no place."""
        self._vacant: set[int] = set()
        """Groups of which the task that found no place is gone: another of them is to be looked at."""
        self._places: dict[int, int] = {}
        self._numbers: Ints = np.zeros(_FEWEST, dtype=np.int64)
        self._asks: Ints = np.zeros((_FEWEST, _COLUMNS), dtype=np.int64)
        """[place]: cores, memory, disk, GPUs, thousandths of each, and of a share whose it is, that a pod asks for."""
        self._woken: Bools = np.zeros(_FEWEST, dtype=np.bool_)

    def clear(self) -> None:
        """Nobody sleeps."""
        self._blocked.clear()
        self._vacant.clear()
        self._places.clear()

    def put(self, number: int, blocked: Blocked, cluster: Cluster) -> None:
        """A group found no place."""
        self._blocked[number] = blocked
        self._vacant.discard(number)
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = len(self._places)
            if place == len(self._asks):
                self._asks = np.concatenate([self._asks, np.zeros_like(self._asks)])
                self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
                self._woken = np.concatenate([self._woken, np.zeros_like(self._woken)])
            self._numbers[place] = number
            self._asks[place] = _row(blocked.want.shape, cluster)
        self._woken[place] = False

    def leave(self, number: int, tasks: Sequence[int]) -> None:
        """These of the group wait no more: if the one that found no place is among them, another is to be looked at."""
        found = self._blocked.get(number)
        if found is not None and found.task in tasks:
            del self._blocked[number]
            self._vacant.add(number)

    def drop(self, number: int) -> None:
        """None of this group waits any more, if it slept."""
        if number not in self._places:
            return
        self._blocked.pop(number, None)
        self._vacant.discard(number)
        place, last = self._places.pop(number), len(self._places)
        if place != last:
            moved = int(self._numbers[last])
            self._places[moved] = place
            for column in (self._numbers, self._asks, self._woken):
                column[place] = column[last]

    def __contains__(self, number: int) -> bool:
        """Whether it found no place."""
        return number in self._places

    def blocked(self) -> tuple[Blocked, ...]:
        """Who found no place and is not gone, those that have slept the longest first."""
        return tuple(self._blocked.values())

    def wake(self, rows: Iterable[int], cluster: Cluster) -> None:
        """Wake those of which a pod may have room on one of these hosts; what models will do is not asked.

        Of those with a vacant place one is looked at in any case.
        """
        count = len(self._places)
        self._woken[:count] = False
        self._mark(rows, cluster, self._woken[:count])
        for number in self._vacant:
            self._woken[self._places[number]] = True

    def woken(self) -> Ints:
        """Those that are to be looked at."""
        found: Ints = self._numbers[np.flatnonzero(self._woken[: len(self._places)])]
        return found

    def is_woken(self, number: int) -> bool:
        """Whether a group is."""
        place = self._places.get(number)
        return place is not None and bool(self._woken[place])

    def fall_asleep(self, rows: Iterable[int], cluster: Cluster) -> Ints:
        """Those of the woken that have no room on these hosts any more, as others took it: they are woken no more."""
        count = len(self._places)
        over = self._woken[:count].copy()
        if not over.any():
            return _NOBODY
        fits = np.zeros(count, dtype=np.bool_)
        self._mark(rows, cluster, fits)
        over &= ~fits
        for number in self._vacant:
            over[self._places[number]] = False
        self._woken[:count] &= ~over
        found: Ints = self._numbers[np.flatnonzero(over)]
        return found

    def all_asleep(self) -> None:
        """Nobody is woken any more."""
        self._woken[:] = False

    def _mark(self, rows: Iterable[int], cluster: Cluster, fits: Bools) -> None:
        if len(fits):
            on, free = np.fromiter(rows, dtype=np.int64), cluster.free
            asks, whose = self._asks[: len(fits)], cluster.whose
            _fitting(asks, on, free.cpu, free.memory, free.disk, free.device, free.kind, whose, fits)


_NOBODY: Ints = np.zeros(0, dtype=np.int64)


def _row(shape: Shape, cluster: Cluster) -> tuple[int, ...]:
    account = cluster.account(shape.account)
    return shape.cpu_milli, shape.memory_mib, shape.disk_gib, shape.gpus, shape.gpu_milli, account


@compiled
def _fitting(
    asks: Ints,
    hosts: Ints,
    cpu: Ints,
    memory: Ints,
    disk: Ints,
    device: AnyInts,
    kind: AnyInts,
    whose: Ints,
    fits: Bools,
) -> None:
    """Mark those that fit on one of these hosts; what is free of each by its row. `whose`: [kind], the account."""
    for place in range(len(asks)):
        cores, mib, gib, gpus, milli, account = asks[place]
        for host in hosts:
            if fits[place]:
                break
            if cores <= cpu[host] and mib <= memory[host] and gib <= disk[host]:
                usable = 0
                for index in range(device.shape[1] if gpus else 0):
                    left = device[host, index]
                    own = account == 0 or left == WHOLE_GPU or whose[kind[host, index]] == account
                    usable += left >= milli and own
                fits[place] = usable >= gpus
