"""Which tasks must end so that the pods of another have room, at the least cost that is found.

Host by host, the next one where the next pod's room is cheapest; on a host with few tasks the set that is cheapest of
all, on others the cheapest tasks until it is enough. At last whoever is not needed is left alone. A single pod so gets
the cheapest set of any host; for a gang over several hosts, the sum may be more than the least there is.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from offchain.core.placing.cluster import MOST_DEVICES, Bools, Cluster, Columns, Ints
from offchain.core.placing.devices import Wish
from offchain.core.placing.shapes import Shape
from offchain.core.preempting.rules import Running
from offchain.core.timing.claims import Place
from offchain.core.timing.loops import counts, pods_on
from offchain.core.timing.room import Room

ALL_SETS: Final = 10
"""Of so many tasks on one host, every set is looked at that may be cheaper."""

_NO_ROOM: Final = -(1 << 60)
"""Cores of a host where nothing may go."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A task that may be ended, and what is lost with it."""

    cost: int
    running: Running

    @property
    def order(self) -> tuple[int, int]:
        """The cheapest first; of equals, the later one."""
        return self.cost, -self.running.task


class Search:
    """For room for `pods` of one shape, beside each other."""

    def __init__(self, shape: Shape, pods: int, cluster: Cluster, closed: Bools | None) -> None:
        self._shape, self._pods = shape, pods
        self._wish = Wish.of(shape, cluster)
        free = cluster.free
        self._free = free._replace(cpu=free.cpu.copy())
        if closed is not None:
            self._free.cpu[closed] = _NO_ROOM
        self._now = self._counts(self._free)
        self.spare = int(self._now.sum())
        """For so many there is room already, each host counted up to all of them."""

    def find(self, eligible: Collection[Victim]) -> list[Victim] | None:
        """A set that is enough, while without any one of it it is not; None: all of them are not enough."""
        gain = self._counts(_without(self._free, eligible)) - self._now
        if self.spare + int(gain.sum()) < self._pods:
            return None
        on: dict[int, list[Victim]] = {int(host): [] for host in np.flatnonzero(gain > 0)}
        for victim in sorted(eligible, key=lambda victim: victim.order):
            for host in {place.host for place in victim.running.places} & on.keys():
                on[host].append(victim)
        chosen: list[Victim] = []
        # By cost for each pod. None: not looked for yet; the cheapest victim over all pods is the least it can be.
        hosts: list[tuple[float, int, list[Victim] | None]]
        hosts = [(victims[0].cost / self._pods, host, None) for host, victims in on.items()]
        heapq.heapify(hosts)
        while (need := self._pods - self._total(chosen)) > 0:
            least, host, more = heapq.heappop(hosts)
            if more is not None and not any(victim in chosen for victim in more):
                chosen += more
                heapq.heappush(hosts, (0.0, host, None))
                continue
            more = self._cheapest(host, [victim for victim in on[host] if victim not in chosen], chosen)
            if more:
                gained = self._total([*chosen, *more]) - self._total(chosen)
                each = sum(victim.cost for victim in more) / min(gained, need)
                heapq.heappush(hosts, (max(least, each), host, more))
        # The most expensive first. One pass is enough: less never makes more room.
        for victim in sorted(chosen, key=lambda victim: victim.order, reverse=True):
            rest = [other for other in chosen if other is not victim]
            if self._total(rest) >= self._pods:
                chosen = rest
        return chosen

    def places(self, chosen: Sequence[Victim]) -> tuple[Place, ...]:
        """Where the pods go: where room was made first."""
        touched = _hosts(chosen)
        found: list[Place] = []
        for host in [*touched, *(int(host) for host in np.flatnonzero(self._now) if int(host) not in touched)]:
            room = self._room(host, chosen)
            for _ in range(min(self._on(host, chosen), self._pods - len(found))):
                devices = room.pick(self._shape)
                room.take(self._shape, devices)
                found.append(Place(host, devices))
            if len(found) == self._pods:
                break
        return tuple(found)

    def _cheapest(self, host: int, others: Sequence[Victim], chosen: Sequence[Victim]) -> list[Victim] | None:
        """Whom to end on this host, beside those chosen, for one pod more at least; None: there cannot be more."""
        had = self._on(host, chosen)
        best: list[Victim] = []
        for victim in others:
            best.append(victim)
            if self._on(host, [*chosen, *best]) > had:
                break
        else:
            return None
        # The last one is needed: without it, it was not enough.
        for victim in reversed(best[:-1]):
            rest = [other for other in best if other is not victim]
            if self._on(host, [*chosen, *rest]) > had:
                best = rest
        if len(others) > ALL_SETS:
            return best
        least = sum(victim.cost for victim in best)
        open_: list[tuple[int, int, list[Victim]]] = [(0, 0, [])]
        while open_:
            begin, spent, taken = open_.pop()
            for index in range(begin, len(others)):
                cost = spent + others[index].cost
                if cost >= least:
                    break
                some = [*taken, others[index]]
                if self._on(host, [*chosen, *some]) > had:
                    best, least = some, cost
                else:
                    open_.append((index + 1, cost, some))
        return best

    def _total(self, gone: Sequence[Victim]) -> int:
        """For how many pods there is room when these have ended."""
        return self.spare + sum(self._on(host, gone) - int(self._now[host]) for host in _hosts(gone))

    def _on(self, host: int, gone: Sequence[Victim]) -> int:
        if not self._wish.accepts[self._free.model[host]]:
            return 0
        room = self._room(host, gone)
        return int(pods_on(room.cpu_milli, room.memory_mib, room.device, self._wish, self._pods))

    def _room(self, host: int, gone: Sequence[Victim]) -> Room:
        free = self._free
        room = Room(int(free.cpu[host]), int(free.memory[host]), free.device[host].copy())
        for victim in gone:
            for place in victim.running.places:
                if place.host == host:
                    room.give(victim.running.shape, place.devices)
        return room

    def _counts(self, free: Columns) -> Ints:
        found: Ints = np.zeros(len(free.cpu), dtype=np.int64)
        counts(free, self._wish, self._pods, found)
        return found


def _hosts(victims: Sequence[Victim]) -> list[int]:
    return sorted({place.host for victim in victims for place in victim.running.places})


def _without(free: Columns, victims: Collection[Victim]) -> Columns:
    """What is free when these have ended."""
    rows = [
        (place.host, shape.cpu_milli, shape.memory_mib, shape.gpu_milli, place.devices)
        for victim in victims
        for shape in (victim.running.shape,)
        for place in victim.running.places
    ]
    host, cpu, memory, milli, devices = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    made = free._replace(cpu=free.cpu.copy(), memory=free.memory.copy(), device=free.device.copy())
    np.add.at(made.cpu, host, cpu)
    np.add.at(made.memory, host, memory)
    np.add.at(made.device, host, (devices[:, None] >> np.arange(MOST_DEVICES) & 1) * milli[:, None])
    return made
