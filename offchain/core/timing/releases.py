"""What is free when: a cluster now, and the changes to come, in the order of time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import MAX_DEVICES, Bools, Ints
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.timing.claims import Claim, Claims, Column, as_row
from offchain.core.timing.ends import Ends, longer
from offchain.core.timing.loops import AT, DEVICES, hold, lowest
from offchain.core.timing.room import Room

_SPARE: Final = 256
"""For so many rows there is place before the columns are made longer."""


class Profile:
    """What is free of each host from `now_ms` on, if every lease ends when it must and not before.

    `leases` are in the cluster's columns already; what `reserved` holds is taken out here, from its beginning to its
    end. A lease that should have ended but has not holds its part still: it counts as ending in the next moment.
    """

    __slots__ = ("_base", "_many", "changes", "cluster", "free", "most", "now_ms", "underway")

    def __init__(
        self,
        cluster: Cluster,
        now_ms: int,
        leases: Claims | Ends,
        reserved: Claims | None = None,
    ) -> None:
        self.cluster = cluster
        self.now_ms = now_ms
        free = cluster.free
        # At `now_ms`; less than 0 where more is held than there is.
        self.free = free._replace(cpu=free.cpu.copy(), memory=free.memory.copy(), device=free.device.astype(np.int64))
        ends = leases if isinstance(leases, Ends) else Ends.of(leases.rows)
        # Cores and memory when all that ends has ended and nothing else begins; devices as now.
        cpu, memory = ends.sums(len(cluster))
        self.most = free._replace(cpu=free.cpu + cpu, memory=free.memory + memory)
        self.changes = ends.changes(len(cluster), now_ms + 1, _SPARE)
        # How many rows are of leases, and how many there are.
        self._base = self._many = len(self.changes.rows) - _SPARE
        # [host]: whether something of it is held now that was not in the cluster.
        self.underway: Bools = np.zeros(len(cluster), dtype=np.bool_)
        if reserved is not None:
            self._change(reserved.rows, 1)

    def add(self, claims: Iterable[Claim]) -> None:
        """These are held, too."""
        self._change(_rows(claims), 1)

    def remove(self, claims: Iterable[Claim]) -> None:
        """These, which were added, are not held any more."""
        self._change(_rows(claims), -1)

    def room(self, host: int, from_ms: int, until_ms: int) -> Room:
        """What is free of this host all the time from one moment up to another."""
        device = np.zeros(MAX_DEVICES, dtype=np.int64)
        cpu, memory = lowest(host, self.free, self.changes, from_ms, until_ms, device)
        return Room(int(cpu), int(memory), device)

    def holds(self, claims: Iterable[Claim]) -> bool:
        """Whether all of these have room, beside each other and what is held; all of one time."""
        rooms: dict[int, Room] = {}
        for claim in claims:
            room = rooms.get(claim.host)
            if room is None:
                room = rooms[claim.host] = self.room(claim.host, claim.from_ms, claim.until_ms)
            if not room.has(claim.shape, claim.devices):
                return False
            room.take(claim.shape, claim.devices)
        return True

    def candidates(self, shape: PodShape) -> Ints:
        """Hosts that may have room for such a pod at some time; no other can."""
        accepts: Bools = self.cluster.accepts(shape)[self.free.main_class]
        most = self.most
        fits: Bools = (most.cpu >= shape.cpu_milli) & (most.memory >= shape.memory_mib) & (most.gpus >= shape.gpus)
        return np.flatnonzero(accepts & fits)

    def begins(self) -> tuple[Ints, Ints]:
        """When something begins to be held of which host: hosts and moments, in this order, each once."""
        added = slice(self._base, self._many)
        goes = (self.changes.rows[added, AT + 1 : DEVICES] < 0).any(axis=1)
        hosts, moments = self.changes.host[added][goes], self.changes.rows[added, AT][goes]
        found: Ints = np.unique(np.stack([hosts, moments], axis=1), axis=0)
        return found[:, 0], found[:, 1]

    def _change(self, claims: Ints, sign: int) -> None:
        """`sign`: 1 where the claims come, -1 where they go."""
        most = self._many + 2 * len(claims)
        if most > len(self.changes.rows):
            self.changes = longer(self.changes, 2 * most)
        self._many = hold(claims, sign, self.now_ms, self.free, self.underway, self.changes, self._many)


def _rows(claims: Iterable[Claim]) -> Ints:
    return np.array([as_row(claim) for claim in claims], dtype=np.int64).reshape(-1, Column.COUNT)
