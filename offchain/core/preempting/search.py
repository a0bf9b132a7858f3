"""Which tasks must end so that the pods of another have room, at the least cost that is found.

Host by host, the next one where the next pod's room is cheapest; on a host with few tasks the set that is cheapest of
all, on others the cheapest tasks until it is enough. At last whoever is not needed is left alone. Looked at are the
hosts where a pod's room would cost least if all of them left. For a gang over several hosts, the sum may be more than
the least there is.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from offchain.core.placing.board import Place
from offchain.core.placing.cluster import MOST_DEVICES, Bools, Cluster, Columns, Floats, Ints
from offchain.core.placing.devices import Wish
from offchain.core.placing.shapes import Shape
from offchain.core.preempting.sets import Victim, cheapest
from offchain.core.preempting.tally import Tally, in_turn, useful
from offchain.core.queues.amount import Amount
from offchain.core.queues.rights import Taking
from offchain.core.timing.loops import counts, pods_on
from offchain.core.timing.room import Room
from offchain.core.timing.spread import one_of_each

HOSTS: Final = 256
"""So many hosts are looked at, and more only where they have no room for several times the pods."""

_SEVERAL: Final = 4

_NO_ROOM: Final = -(1 << 60)
"""Cores of a host where nothing may go."""


class Search:
    """For room for `pods` of one shape, beside each other, or `apart`: of hosts with the same number one takes a pod.

    Used once.
    """

    def __init__(
        self, shape: Shape, pods: int, cluster: Cluster, closed: Bools | None, apart: Ints | None = None
    ) -> None:
        self._shape, self._pods, self._apart = shape, pods, apart
        self._each = pods if apart is None else 1
        self._wish = Wish.of(shape, cluster)
        free = cluster.free
        self._free = free._replace(cpu=free.cpu.copy())
        if closed is not None:
            self._free.cpu[closed] = _NO_ROOM
        self._now = self._counts(self._free)
        # For how many there is room when those chosen have ended, each host counted up to all of them.
        self._tally = Tally(self._now, apart)
        # The same before anybody has; then what is free of hosts when they have, and for how many pods.
        self.spare = self._tally.total
        self._chosen: dict[int, Victim] = {}
        self._rooms: dict[int, tuple[Room, int]] = {}

    def enough(self, eligible: Collection[Victim]) -> bool:
        """Whether there would be room if all of them ended. Asked before any is looked for."""
        rows, _ = _rows(eligible)
        return Tally(self._counts(_without(self._free, rows)), self._apart).total >= self._pods

    def find(self, eligible: Collection[Victim], taking: Taking) -> list[Victim] | None:
        """A set that is enough, while without any one of it it is not; None: there is none that `taking` allows."""
        on = self._candidates(eligible)
        if on is None:
            return None
        # By cost for each pod. None: not looked for yet; the cheapest victim over all pods is the least it can be.
        hosts: list[tuple[float, int, list[Victim] | None]]
        hosts = [(victims[0].cost / self._pods, host, None) for host, victims in on.items()]
        heapq.heapify(hosts)
        while self._tally.total < self._pods:
            if not hosts:
                return None
            least, host, more = heapq.heappop(hosts)
            looked_for = more is None or any(victim.running.task in self._chosen for victim in more)
            looked_for = looked_for or not taking.allows(_held((*self._chosen.values(), *(more or ()))))
            if looked_for:
                others = [victim for victim in on[host] if victim.running.task not in self._chosen]
                more = self._cheapest(host, others, taking)
            gained = self._gained(more) if more else 0
            if not more or not gained:
                # No pod more fits there, or none may: others of its group have room.
                continue
            each = max(least, sum(victim.cost for victim in more) / gained)
            if looked_for or each > least:
                heapq.heappush(hosts, (each, host, more))
                continue
            for victim in more:
                self._end(victim)
            heapq.heappush(hosts, (0.0, host, None))
        # The most expensive first. One pass is enough: less never makes more room.
        for victim in sorted(self._chosen.values(), key=lambda victim: victim.order, reverse=True):
            self._keep(victim)
            if self._tally.total < self._pods:
                self._end(victim)
        return sorted(self._chosen.values(), key=lambda victim: victim.order)

    def places(self) -> tuple[Place, ...]:
        """Where the pods go when those found have ended: where room was made first."""
        found: list[Place] = []
        others = (int(host) for host in np.flatnonzero(self._now) if int(host) not in self._rooms)
        hosts = [host for host in (*sorted(self._rooms), *others) if self._room(host)[1]]
        for host in hosts if self._apart is None else one_of_each(hosts, self._apart):
            kept, pods = self._room(host)
            room = kept.copy()
            for _ in range(min(pods, self._pods - len(found))):
                devices = room.pick(self._shape)
                room.take(self._shape, devices)
                found.append(Place(host, devices))
            if len(found) == self._pods:
                break
        return tuple(found)

    def _candidates(self, eligible: Collection[Victim]) -> dict[int, list[Victim]] | None:
        """[host]: who may end there, the cheapest first; None: there would not be room if all of them did."""
        rows, costs = _rows(eligible)
        gain = self._counts(_without(self._free, rows)) - self._now
        if Tally(self._now + gain, self._apart).total < self._pods:
            return None
        gain = useful(gain, self._now, self._apart)
        cost = np.zeros(len(gain))
        np.add.at(cost, rows[:, 0], costs)
        hosts = np.flatnonzero(gain > 0)
        hosts = hosts[np.argsort(cost[hosts] / gain[hosts], kind="stable")]
        need = self._pods - self.spare
        enough = 1 + int(np.searchsorted(np.cumsum(in_turn(gain, hosts, self._apart)), _SEVERAL * need))
        on: dict[int, list[Victim]] = {int(host): [] for host in hosts[: max(HOSTS, enough)]}
        for victim in sorted(eligible, key=lambda victim: victim.order):
            for host in {place.host for place in victim.running.places} & on.keys():
                on[host].append(victim)
        return on

    def _cheapest(self, host: int, others: Sequence[Victim], taking: Taking) -> list[Victim] | None:
        """Whom to end on this host, beside those chosen, for one pod more at least; None: there cannot be more."""
        room, had = self._room(host)

        def enough(some: Sequence[Victim]) -> bool:
            with_some = room.copy()
            for victim in some:
                _move(with_some, host, victim, 1)
            return self._on(host, with_some) > had

        def allowed(some: Sequence[Victim]) -> bool:
            return taking.allows(_held((*self._chosen.values(), *some)))

        return cheapest(others, enough, allowed)

    def _gained(self, more: Sequence[Victim]) -> int:
        """For how many pods more there would be room, of those that need it."""
        before = self._tally.total
        for victim in more:
            self._end(victim)
        gained = min(self._tally.total, self._pods) - before
        for victim in more:
            self._keep(victim)
        return gained

    def _end(self, victim: Victim) -> None:
        self._chosen[victim.running.task] = victim
        self._update(victim, 1)

    def _keep(self, victim: Victim) -> None:
        del self._chosen[victim.running.task]
        self._update(victim, -1)

    def _update(self, victim: Victim, sign: int) -> None:
        for host in {place.host for place in victim.running.places}:
            room, before = self._room(host)
            _move(room, host, victim, sign)
            pods = self._on(host, room)
            self._rooms[host] = (room, pods)
            self._tally.change(host, before, pods)

    def _room(self, host: int) -> tuple[Room, int]:
        if host in self._rooms:
            return self._rooms[host]
        free = self._free
        return Room(int(free.cpu[host]), int(free.memory[host]), free.device[host].copy()), int(self._now[host])

    def _on(self, host: int, room: Room) -> int:
        if not self._wish.accepts[self._free.main[host]]:
            return 0
        return int(pods_on(room.cpu_milli, room.memory_mib, room.device, self._wish, self._each))

    def _counts(self, free: Columns) -> Ints:
        found: Ints = np.zeros(len(free.cpu), dtype=np.int64)
        counts(free, self._wish, self._each, found)
        return found


def _move(room: Room, host: int, victim: Victim, sign: int) -> None:
    """`sign`: 1 where what the victim has of this host becomes free, -1 where it is taken again."""
    shape = victim.running.shape
    for place in victim.running.places:
        if place.host == host:
            if sign > 0:
                room.give(shape, place.devices)
            else:
                room.take(shape, place.devices)


def _held(victims: Iterable[Victim]) -> Iterator[tuple[int, Amount]]:
    """Of which parts of the queues they are, and what they hold."""
    return ((victim.running.part, victim.running.amount) for victim in victims)


def _rows(victims: Collection[Victim]) -> tuple[Ints, Floats]:
    """[place, column]: host, cores, memory, thousandths of each device, devices; and [place]: what its victim costs."""
    rows = [
        (place.host, shape.cpu_milli, shape.memory_mib, shape.gpu_milli, place.devices)
        for victim in victims
        for shape in (victim.running.shape,)
        for place in victim.running.places
    ]
    costs = [float(victim.cost) for victim in victims for _ in victim.running.places]
    return np.array(rows, dtype=np.int64).reshape(-1, 5), np.array(costs, dtype=np.float64)


def _without(free: Columns, rows: Ints) -> Columns:
    """What is free when these have ended."""
    host, cpu, memory, milli, devices = rows.T
    made = free._replace(cpu=free.cpu.copy(), memory=free.memory.copy(), device=free.device.astype(np.int64))
    np.add.at(made.cpu, host, cpu)
    np.add.at(made.memory, host, memory)
    np.add.at(made.device, host, (devices[:, None] >> np.arange(MOST_DEVICES) & 1) * milli[:, None])
    return made
