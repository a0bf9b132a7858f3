"""Which tasks must end so that the pods of another have room, at the least cost that is found.

Host by host, the next one where the next pod's room is cheapest; on a host with few tasks the set that is cheapest of
all, on others the cheapest tasks until it is enough. At last whoever is not needed is left alone. All hosts count, and
few are looked at: first those where it can cost the least (:mod:`offchain.core.preempting.reach`). For a gang over
several hosts the sum may be more than the least there is. Where no way is found so that the queues allow, the same is
tried with those first who take the least of what may leave, and at last all sets of few tasks are looked at.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

import numpy as np

from offchain.core.preempting.reach import Rows, least_cost, missing, within
from offchain.core.preempting.sets import Looks, Victim, cheapest, of_all
from offchain.core.preempting.tally import Tally, useful
from offchain.core.queues.amount import Amount
from offchain.core.queues.rights import Least, Taking
from offchain.core.scheduler.cluster import Cluster, HostSlot, KernelRequest
from offchain.core.scheduler.columns import MAX_DEVICES, Bools, Floats, HostColumns, Ints
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.timing.loops import counts, pods_on
from offchain.core.timing.room import Room
from offchain.core.timing.spread import one_of_each

MOST_LOOKS: Final = 100_000
"""So many times it is tried for a task that waits what the end of another gives, at most."""

_FEW: Final = 64
"""Of so many tasks, those that take the least, all sets are looked at for a gang, as long as looks are left."""

_PARTS: Final = 1 << 20
"""What may leave of a queue is counted in so many parts."""

_NO_ROOM: Final = -(1 << 60)
"""Cores of a host where nothing may go."""


class Search:
    """For room for `pods` of one shape, beside each other, or `apart`: of hosts with the same number one takes a pod.

    Used once.
    """

    def __init__(
        self, shape: PodShape, pods: int, cluster: Cluster, closed: Bools | None, apart: Ints | None = None
    ) -> None:
        self._shape, self._pods, self._apart = shape, pods, apart
        self._each = pods if apart is None else 1
        self._wish = KernelRequest.of(shape, cluster)
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
        self._before: dict[Least, Amount] | None = None
        """What counts of those chosen; None: they have changed."""
        self._looks = Looks(MOST_LOOKS)

    def enough(self, eligible: Collection[Victim]) -> bool:
        """Whether there would be room if all of them ended. Asked before any is looked for."""
        rows = _rows(eligible)
        return Tally(self._counts(_without(self._free, rows)), self._apart).total >= self._pods

    def find(self, eligible: Collection[Victim], taking: Taking) -> list[Victim] | None:
        """A set that is enough, while without any one of it it is not; None: there is none that `taking` allows."""
        eligible = _each_allowed(eligible, taking)
        on = self._candidates(eligible, taking)
        if on is None or not (self._one_by_one(on, taking) or self._thrifty(eligible, taking)):
            return None
        # The most expensive first. One pass is enough: less never makes more room.
        for victim in sorted(self._chosen.values(), key=lambda victim: victim.order, reverse=True):
            self._keep(victim)
            if self._tally.total < self._pods:
                self._end(victim)
        return sorted(self._chosen.values(), key=lambda victim: victim.order)

    def _one_by_one(self, on: Mapping[int, tuple[float, list[Victim]]], taking: Taking) -> bool:
        """Choose on one host after the other. Whether it is enough."""
        # By cost for each pod: the least that it can be, until it is looked for.
        hosts: list[tuple[float, int, list[Victim] | None]]
        hosts = [(least, host, None) for host, (least, _) in on.items()]
        heapq.heapify(hosts)
        while self._tally.total < self._pods:
            if not hosts or self._looks.left <= 0:
                return False
            least, host, more = heapq.heappop(hosts)
            looked_for = more is None or any(victim.running.task in self._chosen for victim in more)
            looked_for = looked_for or not self._allowed(more or (), taking)
            if looked_for:
                others = [victim for victim in on[host][1] if victim.running.task not in self._chosen]
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
        return True

    def _thrifty(self, eligible: Sequence[Victim], taking: Taking) -> bool:
        """Choose for a gang with what may leave in mind, not what it costs. Whether it is enough."""
        self._keep_all()
        if self._pods == 1:
            return False
        by_task = {victim.running.task: victim for victim in eligible}
        frugal = [Victim(_takes(victim, taking), victim.running) for victim in eligible]
        on = self._candidates(frugal, taking)
        found = on is not None and self._one_by_one(on, taking)
        if found:
            self._chosen = {task: by_task[task] for task in self._chosen}
            return True
        self._keep_all()
        few = sorted(frugal, key=lambda victim: victim.order)[:_FEW]
        return self._of_all([by_task[victim.running.task] for victim in few], taking)

    def _keep_all(self) -> None:
        for victim in list(self._chosen.values()):
            self._keep(victim)

    def _of_all(self, eligible: Sequence[Victim], taking: Taking) -> bool:
        """Choose among all sets of these. Whether there is one that is enough."""

        def enough(some: Sequence[Victim]) -> bool:
            self._looks.left -= 1 + len(some)
            for victim in some:
                self._end(victim)
            found = self._tally.total >= self._pods
            for victim in some:
                self._keep(victim)
            return found

        victims = sorted(eligible, key=lambda victim: victim.order)
        found = of_all(victims, enough, lambda some: taking.allows(_held(some)), self._looks, first=True)
        for victim in found or ():
            self._end(victim)
        return found is not None

    def places(self) -> tuple[HostSlot, ...]:
        """Where the pods go when those found have ended: where room was made first."""
        found: list[HostSlot] = []
        others = (int(host) for host in np.flatnonzero(self._now) if int(host) not in self._rooms)
        hosts = [host for host in (*sorted(self._rooms), *others) if self._room(host)[1]]
        for host in hosts if self._apart is None else one_of_each(hosts, self._apart):
            kept, pods = self._room(host)
            room = kept.copy()
            for _ in range(min(pods, self._pods - len(found))):
                devices = room.pick(self._shape)
                room.take(self._shape, devices)
                found.append(HostSlot(host, devices))
            if len(found) == self._pods:
                break
        return tuple(found)

    def _candidates(
        self, eligible: Collection[Victim], taking: Taking
    ) -> Mapping[int, tuple[float, list[Victim]]] | None:
        """[host]: the least that one pod more costs there, and who may end, the cheapest first.

        None: there would not be room if all of them did.
        """
        rows = _rows(eligible)
        ended = _without(self._free, rows)
        gain = self._counts(ended) - self._now
        if Tally(self._now + gain, self._apart).total < self._pods:
            return None
        gain = useful(gain, self._now, self._apart)
        # For one pod more beside others nothing is known but that somebody has to end.
        need = np.where((self._now > 0)[:, None], 0, missing(self._free, ended, self._wish))
        bounds = {part: taking.bound(part) for part in {victim.running.part for victim in eligible}}
        nodes = {node: at for at, node in enumerate(sorted({bound[0] for bound in bounds.values() if bound}))}
        most: Ints = np.zeros((len(nodes), 3), dtype=np.int64)
        groups = dict.fromkeys(bounds, -1)
        for part, bound in bounds.items():
            if bound is not None:
                groups[part] = nodes[bound[0]]
                most[groups[part]] = bound[1]
        parts = [groups[victim.running.part] for victim in eligible for _ in victim.running.places]
        rows = rows._replace(group=np.array(parts, dtype=np.int64))
        least = least_cost(rows, need).tolist()
        hosts = np.flatnonzero((gain > 0) & within(rows, most, need)).tolist()
        on: dict[int, list[Victim]] = {host: [] for host in hosts}
        for victim in sorted(eligible, key=lambda victim: victim.order):
            places = victim.running.places
            for host in (places[0].host,) if len(places) == 1 else {place.host for place in places}:
                if host in on:
                    on[host].append(victim)
        return {host: (max(least[host], some[0].cost / self._pods), some) for host, some in on.items()}

    def _cheapest(self, host: int, others: Sequence[Victim], taking: Taking) -> list[Victim] | None:
        """Whom to end on this host, beside those chosen, for one pod more at least; None: there cannot be more."""
        room, had = self._room(host)

        def enough(some: Sequence[Victim]) -> bool:
            self._looks.left -= 1 + len(some)
            with_some = room.copy()
            for victim in some:
                _move(with_some, host, victim, 1)
            return self._on(host, with_some) > had

        return cheapest(others, enough, lambda some: self._allowed(some, taking), self._looks)

    def _allowed(self, some: Iterable[Victim], taking: Taking) -> bool:
        """Whether these may leave, too."""
        self._looks.left -= 1
        if self._before is None:
            self._before = taking.sums(_held(self._chosen.values()))
        return taking.allows(_held(some), self._before)

    def _gained(self, more: Sequence[Victim]) -> int:
        """For how many pods more there would be room, of those that need it."""
        before, counted = self._tally.total, self._before
        for victim in more:
            self._end(victim)
        gained = min(self._tally.total, self._pods) - before
        for victim in more:
            self._keep(victim)
        self._before = counted
        return gained

    def _end(self, victim: Victim) -> None:
        self._chosen[victim.running.task] = victim
        self._update(victim, 1)

    def _keep(self, victim: Victim) -> None:
        del self._chosen[victim.running.task]
        self._update(victim, -1)

    def _update(self, victim: Victim, sign: int) -> None:
        self._before = None
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
        if not self._wish.accepts[self._free.main_class[host]]:
            return 0
        return int(pods_on(room.cpu_milli, room.memory_mib, room.device, self._wish, self._each))

    def _counts(self, free: HostColumns) -> Ints:
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


def _each_allowed(victims: Iterable[Victim], taking: Taking) -> list[Victim]:
    """Those who may leave if nobody else does; asked once for all of a part that hold as much."""
    known: dict[tuple[int, int, int], bool] = {}
    found = []
    for victim in victims:
        running = victim.running
        # Tasks that ask for the same have the same shape, which lives as long as they do.
        key = running.part, id(running.shape), len(running.places)
        may = known.get(key)
        if may is None:
            may = known[key] = taking.allows(_held([victim]))
        if may:
            found.append(victim)
    return found


def _takes(victim: Victim, taking: Taking) -> int:
    """Which part of what may leave of its queue goes with it, in 1 / :data:`_PARTS`; 0 where nothing bounds it."""
    bound = taking.bound(victim.running.part)
    if bound is None:
        return 0
    # One resource that stays within its bound is enough.
    parts = [
        _PARTS * held // most for held, most in zip(victim.running.amount, bound[1], strict=True) if most > 0 and held
    ]
    return max(1, min(parts, default=_PARTS))


def _held(victims: Iterable[Victim]) -> Iterator[tuple[int, Amount]]:
    """Of which parts of the queues they are, and what they hold."""
    return ((victim.running.part, victim.running.amount) for victim in victims)


def _rows(victims: Collection[Victim]) -> Rows:
    """What each of their places frees, and costs; nothing bounds it."""
    rows = [
        (place.host, shape.cpu_milli, shape.memory_mib, shape.gpu_milli, place.devices)
        for victim in victims
        for shape in (victim.running.shape,)
        for place in victim.running.places
    ]
    costs = [victim.cost / len(victim.running.places) for victim in victims for _ in victim.running.places]
    numbers = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=5 * len(rows))
    host, cpu, memory, milli, devices = numbers.reshape(-1, 5).T
    gpus = milli * np.bitwise_count(devices)
    group: Ints = np.full(len(rows), -1, dtype=np.int64)
    cost: Floats = np.array(costs, dtype=np.float64)
    return Rows(host, np.column_stack([cpu, memory, gpus]), milli, devices, cost, group)


def _without(free: HostColumns, rows: Rows) -> HostColumns:
    """What is free when these have ended."""
    made = free._replace(cpu=free.cpu.copy(), memory=free.memory.copy(), device=free.device.astype(np.int64))
    np.add.at(made.cpu, rows.host, rows.held[:, 0])
    np.add.at(made.memory, rows.host, rows.held[:, 1])
    np.add.at(made.device, rows.host, (rows.devices[:, None] >> np.arange(MAX_DEVICES) & 1) * rows.milli[:, None])
    return made
