"""Pods that are placed, chained by host: columns, and the compiled loops that go through them.

From a host's last pod each pod leads to the one before it, so that a hundred thousand are entered in one loop, and only
those of the hosts that have changed are looked at.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.columns import as_long
from offchain.core.placing.compiled import compiled, inner
from offchain.core.placing.devices import copy
from offchain.core.placing.free import MOST_DEVICES, Bools, Columns, Ints
from offchain.core.placing.shapes import Shape

Ints32 = npt.NDArray[np.int32]
States = npt.NDArray[np.int8]

GONE: Final = 0
"""It is held no more."""
BEHIND: Final = 1
"""It is held, and the chain's records have it already."""
AHEAD: Final = 2
"""It is held, and the records do not have it yet."""

_FEW: Final = 16
_NONE: Final = -1


class _Links(NamedTuple):
    last: Ints32
    """[row]: the last pod there; -1: none."""
    before: Ints32
    """[pod]: the one before it on the same host; -1: none."""
    devices: Ints32
    """[pod]: as bits."""
    ask: Ints32
    """[pod]: what it asks for, a row of :class:`_Asks`."""
    state: States
    """[pod]"""


class _Asks(NamedTuple):
    """What pods ask for, each different wish once."""

    cpu: Ints
    memory: Ints
    disk: Ints
    milli: Ints
    accepts: Bools
    """[ask, kind]"""


class Chains:
    """Pods have numbers, in the order in which they were added; each is ahead of the records at first."""

    def __init__(self) -> None:
        self._pods = 0
        self._links = _Links(
            np.full(_FEW, _NONE, dtype=np.int32),
            np.zeros(_FEW, dtype=np.int32),
            np.zeros(_FEW, dtype=np.int32),
            np.zeros(_FEW, dtype=np.int32),
            np.zeros(_FEW, dtype=np.int8),
        )
        self._shapes: dict[Shape, int] = {}
        self._accounts: dict[int, str] = {}
        """[ask]: whose pods ask for it, where they are shares."""
        self._asks = _asks((), Cluster())

    def __len__(self) -> int:
        """How many pods were added."""
        return self._pods

    def add(self, hosts: Sequence[array[int]], devices: Sequence[array[int]], shapes: Sequence[Shape]) -> None:
        """Pods that were placed together, one list after the other: their hosts' rows, their devices as bits.

        All of one list are of one shape.
        """
        rows = np.frombuffer(b"".join(hosts), dtype=np.int32)
        asks = [self._shapes.setdefault(shape, len(self._shapes)) for shape in shapes]
        self._accounts.update({ask: one.account for ask, one in zip(asks, shapes, strict=True) if one.account})
        first, self._pods = self._pods, self._pods + len(rows)
        self._grow(1 + int(rows.max()))
        links, new = self._links, slice(first, self._pods)
        links.devices[new] = np.frombuffer(b"".join(devices), dtype=np.int32)
        links.ask[new] = np.repeat(asks, [len(one) for one in hosts])
        links.state[new] = AHEAD
        _link(rows, first, links)

    def mark(self, pods: Sequence[int], states: Sequence[int]) -> None:
        """Each of these pods is in this state from now on; of several for one pod, the last counts."""
        self._links.state[np.array(pods, dtype=np.int64)] = states

    def ahead(self, row: int) -> list[int]:
        """The pods on this host that are ahead of the records, the last first."""
        found = []
        pod = int(self._links.last[row]) if row < len(self._links.last) else _NONE
        while pod != _NONE:
            if self._links.state[pod] == AHEAD:
                found.append(pod)
            pod = int(self._links.before[pod])
        return found

    def take(self, rows: Sequence[int], cluster: Cluster) -> list[int]:
        """On each of these hosts, take the shares of all pods that are ahead of the records.

        Gives the rows of hosts that have no room for all; nothing was taken there.
        """
        if len(self._shapes) != len(self._asks.cpu) or len(cluster.kinds) != self._asks.accepts.shape[1]:
            self._asks = _asks(list(self._shapes), cluster)
        of = np.array(rows, dtype=np.int64)
        of = of[of < len(self._links.last)]
        short = np.zeros(len(of), dtype=np.bool_)
        cluster.free_milli -= _take(of, self._links, self._asks, cluster.free, short)
        found: list[int] = of[short].tolist()
        if self._accounts:
            self._share(of[~short].tolist(), cluster)
        return found

    def take_each(self, rows: Sequence[int], pods: Sequence[int], cluster: Cluster) -> None:
        """The share of each of these pods on its host, one after the other, where there is room; after :meth:`take`."""
        of = np.array(rows, dtype=np.int64), np.array(pods, dtype=np.int64)
        cluster.free_milli -= _take_each(*of, self._links, self._asks, cluster.free)
        if self._accounts:
            self._share(rows, cluster)

    def _share(self, rows: Iterable[int], cluster: Cluster) -> None:
        """Devices on these hosts of which shares were taken are whose pods those are."""
        for row in dict.fromkeys(rows):
            for pod in self.ahead(row):
                account = self._accounts.get(int(self._links.ask[pod]))
                if account is not None:
                    cluster.share(row, int(self._links.devices[pod]), account)

    def _grow(self, rows: int) -> None:
        last, before, devices, ask, state = self._links
        pods = self._pods
        more = _longer(before, pods), _longer(devices, pods), _longer(ask, pods), _longer(state, pods)
        self._links = _Links(_longer(last, rows, _NONE), *more)


def _longer(column: npt.NDArray[Any], count: int, of: int = 0) -> npt.NDArray[Any]:
    return column if count <= len(column) else as_long(column, max(count, 2 * len(column)), of)


def _asks(shapes: Sequence[Shape], cluster: Cluster) -> _Asks:
    known: dict[tuple[object, ...], Bools] = {}
    accepts = np.zeros((len(shapes), len(cluster.kinds)), dtype=np.bool_)
    for number, one in enumerate(shapes):
        rule = one.models, one.min_vram_mib, one.verified_only, one.allow_simulated, one.account
        if rule not in known:
            known[rule] = cluster.accepts(one)
        accepts[number] = known[rule]
    return _Asks(
        np.array([one.cpu_milli for one in shapes], dtype=np.int64),
        np.array([one.memory_mib for one in shapes], dtype=np.int64),
        np.array([one.disk_gib for one in shapes], dtype=np.int64),
        np.array([one.gpu_milli for one in shapes], dtype=np.int64),
        accepts,
    )


@compiled
def _link(rows: Ints32, first: int, links: _Links) -> None:
    """Enter pods on these hosts, numbered from `first` on."""
    last, before = links.last, links.before
    for place in range(len(rows)):
        row = rows[place]
        before[first + place] = last[row]
        last[row] = first + place


@compiled
def _take(rows: Ints, links: _Links, asks: _Asks, free: Columns, short: Bools) -> int:
    """Take shares where all have room, else mark the host as `short`. Gives the thousandths of devices in all.

    As room only falls, all have room one after the other, in any order, if nothing is below zero at the end.
    """
    left = np.zeros(MOST_DEVICES, dtype=np.int64)
    total = 0
    for place in range(len(rows)):
        row = rows[place]
        cpu, memory, disk = free.cpu[row], free.memory[row], free.disk[row]
        copy(free.device[row], left)
        taken = 0
        any_pods = False
        fine = True
        after = _NONE
        pod = links.last[row]
        while pod != _NONE:
            before = links.before[pod]
            if links.state[pod] == GONE:
                # Nobody looks at it again.
                if after == _NONE:
                    links.last[row] = before
                else:
                    links.before[after] = before
            else:
                after = pod
                if links.state[pod] == AHEAD:
                    any_pods = True
                    ask = links.ask[pod]
                    cpu -= asks.cpu[ask]
                    memory -= asks.memory[ask]
                    disk -= asks.disk[ask]
                    for index in range(MOST_DEVICES):
                        if links.devices[pod] >> index & 1:
                            left[index] -= asks.milli[ask]
                            taken += asks.milli[ask]
                            fine &= index < free.gpus[row] and asks.accepts[ask, free.kind[row, index]]
            pod = before
        if any_pods:
            if not fine or cpu < 0 or memory < 0 or disk < 0 or _least(left) < 0:
                short[place] = True
            else:
                free.cpu[row], free.memory[row], free.disk[row] = cpu, memory, disk
                copy(left, free.device[row])
                free.state[row] = 0
                total += taken
    return total


@inner
def _least(device: Ints) -> int:
    least = device[0]
    for left in device:
        least = min(least, left)
    return int(least)


@compiled
def _take_each(rows: Ints, pods: Ints, links: _Links, asks: _Asks, free: Columns) -> int:
    """Gives the thousandths of devices in all."""
    total = 0
    for place in range(len(rows)):
        row, pod = rows[place], pods[place]
        ask, devices = links.ask[pod], links.devices[pod]
        milli = asks.milli[ask]
        fine = free.cpu[row] >= asks.cpu[ask] and free.memory[row] >= asks.memory[ask]
        fine &= free.disk[row] >= asks.disk[ask]
        for index in range(MOST_DEVICES):
            if devices >> index & 1:
                fine &= index < free.gpus[row] and asks.accepts[ask, free.kind[row, index]]
                fine &= free.device[row, index] >= milli
        if fine:
            free.cpu[row] -= asks.cpu[ask]
            free.memory[row] -= asks.memory[ask]
            free.disk[row] -= asks.disk[ask]
            free.state[row] = 0
            for index in range(MOST_DEVICES):
                if devices >> index & 1:
                    free.device[row, index] -= milli
                    total += milli
    return total
