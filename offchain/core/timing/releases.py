"""What is free when: a cluster now, and the changes to come, in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from offchain.core.placing.cluster import MOST_DEVICES, Bools, Cluster, Ints
from offchain.core.placing.shapes import Shape
from offchain.core.timing.claims import FOREVER, Claim, Claims, Column, Rows, as_row
from offchain.core.timing.loops import AT, DEVICES, MILLI, Changes, lowest
from offchain.core.timing.room import Room

PPM: Final = 1_000_000

ENOUGH_KNOWN: Final = 3
"""So many tasks must have ended before they say something about the next one."""

_BITS: Ints = np.arange(MOST_DEVICES, dtype=np.int64)


def taken_ppm(ended: Sequence[tuple[int, int]]) -> int:
    """The part of its maximum that a tenant's next task will probably take, in millionths.

    The median of its earlier ones, given as (took, maximum) in ms; all of it where too few are known.
    """
    parts = sorted(min(PPM, took * PPM // most) for took, most in ended if most > 0)
    return parts[len(parts) // 2] if len(parts) >= ENOUGH_KNOWN else PPM


class Profile:
    """What is free of each host from `now_ms` on, if every lease ends when it must and not before.

    `leases` are in the cluster's columns already; what `reserved` holds is taken out here, from its beginning to its
    end. A lease that should have ended but has not holds its part still: it counts as ending in the next moment. With
    `expected`, leases end when they probably will; reservations are never made on that.
    """

    __slots__ = ("changes", "cluster", "free", "most", "now_ms", "underway")

    def __init__(
        self,
        cluster: Cluster,
        now_ms: int,
        leases: Claims | Rows,
        reserved: Claims | None = None,
        *,
        expected: bool = False,
    ) -> None:
        self.cluster = cluster
        self.now_ms = now_ms
        free = cluster.free
        # At `now_ms`; less than 0 where more is held than there is.
        self.free = free._replace(cpu=free.cpu.copy(), memory=free.memory.copy(), device=free.device.astype(np.int64))
        ends = leases.rows.copy()
        ends[:, Column.UNTIL] = np.maximum(ends[:, Column.EXPECTED if expected else Column.UNTIL], now_ms + 1)
        rows = ends[ends[:, Column.UNTIL] < FOREVER]
        # Cores and memory when all that ends has ended and nothing else begins; devices as now.
        self.most = free._replace(cpu=free.cpu.copy(), memory=free.memory.copy())
        hosts = rows[:, Column.HOST]
        np.add.at(self.most.cpu, hosts, rows[:, Column.CPU])
        np.add.at(self.most.memory, hosts, rows[:, Column.MEMORY])
        order = np.lexsort((rows[:, Column.UNTIL], hosts))
        first = np.zeros(len(cluster) + 1, dtype=np.int64)
        np.cumsum(np.bincount(hosts, minlength=len(cluster)), out=first[1:])
        self.changes = Changes(_comes(rows)[order], first, np.zeros(len(cluster), dtype=np.int64))
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
        device = np.zeros(MOST_DEVICES, dtype=np.int64)
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

    def candidates(self, shape: Shape) -> Ints:
        """Hosts that may have room for such a pod at some time; no other can."""
        accepts: Bools = self.cluster.accepts(shape)[self.free.main]
        most = self.most
        fits: Bools = (most.cpu >= shape.cpu_milli) & (most.memory >= shape.memory_mib) & (most.gpus >= shape.gpus)
        return np.flatnonzero(accepts & fits)

    def _change(self, rows: Ints, sign: int) -> None:
        """`sign`: 1 where the claims come, -1 where they go."""
        rows = rows[rows[:, Column.UNTIL] > self.now_ms]
        if not len(rows):
            return
        underway = rows[rows[:, Column.FROM] <= self.now_ms]
        hosts = underway[:, Column.HOST]
        self.underway[hosts] = True
        np.add.at(self.free.cpu, hosts, -sign * underway[:, Column.CPU])
        np.add.at(self.free.memory, hosts, -sign * underway[:, Column.MEMORY])
        bits = underway[:, Column.DEVICES, None] >> _BITS & 1
        np.add.at(self.free.device, hosts, -sign * bits * underway[:, Column.MILLI, None])
        later = rows[rows[:, Column.FROM] > self.now_ms]
        ends = rows[rows[:, Column.UNTIL] < FOREVER]
        begins, comes = _comes(later), _comes(ends)
        begins[:, AT] = later[:, Column.FROM]
        begins[:, AT + 1 : DEVICES] *= -sign
        comes[:, AT + 1 : DEVICES] *= sign
        shrinking = (later[:, Column.HOST], begins[:, AT]) if sign > 0 else (ends[:, Column.HOST], comes[:, AT])
        np.maximum.at(self.changes.shrinks_ms, *shrinking)
        self._insert(np.concatenate([begins, comes]), np.concatenate([later[:, Column.HOST], ends[:, Column.HOST]]))

    def _insert(self, rows: Ints, hosts: Ints) -> None:
        order = np.lexsort((rows[:, AT], hosts))
        rows, hosts = rows[order], hosts[order]
        old, first, shrinks_ms = self.changes
        places = [
            first[host] + np.searchsorted(old[first[host] : first[host + 1], AT], at)
            for host, at in zip(hosts, rows[:, AT], strict=True)
        ]
        more = np.zeros_like(first)
        np.cumsum(np.bincount(hosts, minlength=len(first) - 1), out=more[1:])
        self.changes = Changes(np.insert(old, places, rows, axis=0), first + more, shrinks_ms)


def _rows(claims: Iterable[Claim]) -> Ints:
    return np.array([as_row(claim) for claim in claims], dtype=np.int64).reshape(-1, Column.COUNT)


def _comes(rows: Ints) -> Ints:
    """What becomes free when these end."""
    made = np.empty((len(rows), MILLI + 2), dtype=np.int64)
    made[:, AT] = rows[:, Column.UNTIL]
    made[:, AT + 1 : DEVICES + 1] = rows[:, Column.CPU : Column.DEVICES + 1]
    return made
