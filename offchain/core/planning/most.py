"""A second look at a plan that leaves somebody waiting: whether another one would leave fewer.

A planner that places one task after the other can leave more waiting than need be, and so one more host can cost
others their places. Whoever has found the fewest tasks that must wait, and of such plans the one with the most pods, is
safe from that: docs/adr/0024. The search is exact, over the chain's own rules and how pods lie to each other, and ends
after a number of steps; what it has found by then is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeVar

from offchain.core.fit import Misfit, candidate, fits, placement_misfit, take
from offchain.core.fleet.want import Want
from offchain.core.rate import offers, rate_per_hour
from offchain.core.values import Device, Host, HostStatus, Layout, PodPlacement, Task

MOST_STEPS: Final = 2_000
"""Choices of devices for a pod that are looked at before the search gives up: some 0.1 s."""

MOST_HOSTS: Final = 200
MOST_TASKS: Final = 200
"""Of more, no second look is taken."""

Places = tuple[PodPlacement, ...]
Hosts = tuple[Host, ...]
Seen = tuple[Host | Misfit, ...]
"""Hosts as one task finds them, by :func:`candidate`."""

_Kind = tuple[Want, int, int]


@dataclass(frozen=True, slots=True)
class Fewest:
    """`placements`: of all that were looked at those that leave the fewest tasks waiting, and then the fewest pods.

    `proven`: no other plan is better. Where it is, no snapshot that has some of these hosts less, and is the same
    otherwise, has a better one either.
    """

    placements: Mapping[int, Places]
    proven: bool


def fewest_waiting(hosts: Sequence[Host], tasks: Sequence[Task], first: Mapping[int, Places]) -> Fewest:
    """`tasks`: in the order of the queue. `first`: a plan for them; of others only one that places more is better."""
    if len(hosts) > MOST_HOSTS or len(tasks) > MOST_TASKS:
        return Fewest(first, proven=False)
    search = _Search(tasks, first)
    try:
        search.run(tuple(hosts))
    except _SpentError:
        return Fewest(search.best, proven=False)
    return Fewest(search.best, proven=True)


def carried_out(
    hosts: Mapping[str, Host], tasks: Iterable[Task], placements: Mapping[int, Places]
) -> Mapping[str, Host]:
    """The hosts as they are when these placements have been made. ValueError: one has no room."""
    after = dict(hosts)
    for task in tasks:
        places = placements.get(task.id, ())
        for name in {place.host for place in places}:
            there = candidate(task, after[name])
            after[name] = there if isinstance(there, Host) else after[name]
        for place in places:
            after[place.host] = take(after[place.host], task.resources, place.devices, task.placement, task.tenant)
    return after


class _SpentError(Exception):
    """So many steps were made that the search ends."""


class _Search:
    """Depth first: each task is put everywhere it can be, and at last left out."""

    def __init__(self, tasks: Sequence[Task], first: Mapping[int, Places]) -> None:
        self.best = first
        self._tasks = tasks
        self._best = len(first), sum(map(len, first.values()))
        """Tasks and pods that have a place in it."""
        self._placed: dict[int, Places] = {}
        self._left_out: list[_Kind] = []
        self._steps = 0

    def run(self, hosts: Hosts) -> None:
        """Find the best. _SpentError: there may be better ones."""
        # Who fits nowhere, were it alone, is in no plan.
        self._tasks = [
            task for task in self._tasks if task.id in self.best or any(True for _ in self._ways(task, hosts))
        ]
        self._from(0, hosts, 0, sum(len(task.open_pods) for task in self._tasks))

    def _from(self, index: int, hosts: Hosts, pods: int, left: int) -> None:
        """`pods` have places, and `left` belong to tasks that were not looked at."""
        tasks = len(self._placed)
        if (tasks, pods) > self._best:
            self.best, self._best = dict(self._placed), (tasks, pods)
        if (tasks + len(self._tasks) - index, pods + left) <= self._best:
            return
        task = self._tasks[index]
        left -= len(task.open_pods)
        kind = Want.of(task), task.least, len(task.open_pods)
        # Of those that ask for the same, it does not matter which are left out.
        if kind not in self._left_out:
            for places, after in self._ways(task, hosts):
                self._placed[task.id] = places
                self._from(index + 1, after, pods + len(places), left)
                del self._placed[task.id]
        self._left_out.append(kind)
        self._from(index + 1, hosts, pods, left)
        self._left_out.pop()

    def _ways(self, task: Task, hosts: Hosts) -> Iterator[tuple[Places, Hosts]]:
        """Each way in which as many pods have room as must start together, or more, and what the hosts are then."""
        leased = {lease.host for lease in task.leases}
        taken = frozenset(_apart(task, host) for host in hosts if host.id in leased)
        return self._pods(task, taken, (), tuple(candidate(task, host) for host in hosts), hosts, 0)

    def _pods(
        self, task: Task, taken: frozenset[str | None], places: Places, seen: Seen, hosts: Hosts, start: int
    ) -> Iterator[tuple[Places, Hosts]]:
        """`taken`: where pods of the task are already, as far as they must lie apart."""
        more = len(places) < len(task.open_pods)
        for at in range(start, len(hosts)) if more else ():
            host = seen[at]
            if isinstance(host, Misfit):
                continue
            group = _apart(task, host)
            if group is not None and group in taken:
                continue
            for chosen in self._devices(task, host):
                after = take(host, task.resources, chosen, task.placement, task.tenant)
                rate = rate_per_hour(task.resources, host.devices, chosen, host.ask, task.unit)
                place = PodPlacement(task.open_pods[len(places)], host.id, bytes(chosen), rate)
                yield from self._pods(
                    task, taken | {group}, (*places, place), _with(seen, at, after), _with(hosts, at, after), at
                )
        if len(places) >= task.least:
            yield places, hosts

    def _devices(self, task: Task, host: Host) -> Iterator[tuple[int, ...]]:
        """Each choice of devices for a pod there that is not like another."""
        wanted, placement = task.resources, task.placement
        if host.status is not HostStatus.ONLINE or placement_misfit(host, placement) is not None:
            return
        if not offers(host.ask, task.unit):
            return
        alike: set[frozenset[tuple[Device, int]]] = set()
        for chosen in combinations(range(len(host.devices)), wanted.gpus.count):
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise _SpentError
            kind = frozenset(Counter(host.devices[index] for index in chosen).items())
            if kind in alike or fits(host.free, host.devices, wanted, chosen, placement, task.tenant) is not None:
                continue
            alike.add(kind)
            if rate_per_hour(wanted, host.devices, chosen, host.ask, task.unit) <= task.max_rate_per_hour:
                yield chosen


def _apart(task: Task, host: Host) -> str | None:
    """Of hosts for which this is the same only one takes a pod of the task; None: it does not matter."""
    if task.layout is Layout.HOSTS:
        return host.id
    return host.provider if task.layout is Layout.PROVIDERS else None


T = TypeVar("T")


def _with(hosts: tuple[T, ...], at: int, host: T) -> tuple[T, ...]:
    return (*hosts[:at], host, *hosts[at + 1 :])
