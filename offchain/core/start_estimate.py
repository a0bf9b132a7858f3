"""Between which moments a task starts, by the chain's records alone.

What is known of leases is when they end at the latest. Jobs may be done at any moment before; services and rentals
stay, as far as anybody knows, until then.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from offchain.core.capacity import Together, emptied, most_of, open_to, released, room
from offchain.core.feasibility import Fit, Misfit, candidate, fit, take
from offchain.core.snapshot import Snapshot
from offchain.core.values import Host, Layout, Lease, LeaseState, Resources, Task, TaskKind
from offchain.schema.chain_types.escrow import NEVER, ends_at

MOST_LOOKS: Final = 100_000
"""So many times it is looked what a host has room for, for all tasks ahead together: some seconds."""


_PASSED: Final = 20
"""To pass over so many hosts that were looked at for the same before takes as long as to look at one."""

_NEVER_FITS: Final = -1


@dataclass(frozen=True, slots=True)
class Starts:
    """In ms of chain time.

    `earliest_ms`: when its pods have room if all running jobs were done now, whoever was told to leave left at the end
    of its notice, and nobody came before it; None: what is in its way has no end. `latest_ms`: the same if every lease
    lasts as long as it may, and whoever is ahead takes its room first and keeps it as long; None: no such moment is
    known. `too_many`: since more are ahead than were looked at.
    """

    earliest_ms: int | None
    latest_ms: int | None
    too_many: bool = False


def starts(snapshot: Snapshot, task: Task, ahead: Sequence[Task]) -> Starts:
    """Of a task that waits, or would wait, in this snapshot. `ahead`: who waits before it, in this order."""
    earliest = _Calendar(snapshot, soonest=True).start(task)
    calendar = _Calendar(snapshot, soonest=False)
    for other in ahead:
        calendar.place(other)
        if calendar.looks > MOST_LOOKS:
            return Starts(_known(earliest), None, too_many=True)
    return Starts(_known(earliest), _known(calendar.start(task)))


def _known(moment: int | None) -> int | None:
    return moment if moment is not None and moment < NEVER else None


class _End(NamedTuple):
    """A lease, or what counts as one, gives this back."""

    at_ms: int
    resources: Resources
    devices: tuple[int, ...]


class _Calendar:
    """What is free of each host from some moment on, and which ends come after it.

    Whoever is placed on a host is placed after all that were before: gaps are not filled, so that nobody is told a
    moment that comes too soon.
    """

    def __init__(self, snapshot: Snapshot, *, soonest: bool) -> None:
        self.looks = 0
        self._now_ms = snapshot.now_ms
        self._hosts: dict[str, Host] = dict(snapshot.hosts)
        self._from_ms: dict[str, int] = {}
        """[host]: where it is not now."""
        self._ends: dict[str, list[_End]] = {}
        self._known: dict[Hashable, dict[str, tuple[Host, Host | Misfit, int]]] = {}
        """[what is asked for][host]: as it was looked at, as the task finds it, and for how many it has room."""
        for task in snapshot.tasks.values():
            for lease in task.leases:
                if lease.host in self._hosts:
                    at_ms = _soonest(lease, task, snapshot) if soonest else _latest(lease, task, snapshot)
                    self._end(lease.host, max(at_ms, self._now_ms), _held(task.resources, lease), lease.devices)

    def start(self, task: Task) -> int | None:
        """When as many pods as it needs have room; None: never."""
        return self._first(task)[0]

    def place(self, task: Task) -> None:
        """It takes its room at that moment, and keeps it as long as it may. Who never has room takes none."""
        at_ms, pods = self._first(task)
        if at_ms is None:
            return
        left, providers = task.least, set[str]()
        for name in sorted((name for name in pods if pods[name]), key=lambda name: (-pods[name], name)):
            provider = self._hosts[name].provider
            if not left or (task.layout is Layout.PROVIDERS and provider in providers):
                continue
            there = candidate(task, self._at(name, at_ms))
            assert isinstance(there, Host)  # noqa: S101  (it has room for pods)
            providers.add(provider)
            self._from_ms[name] = at_ms
            for _ in range(min(left, pods[name])):
                found = fit(there, task.resources, task.placement, task.unit, task.max_rate_per_hour, task.tenant)
                if isinstance(found, Fit):
                    there = take(there, task.resources, found.devices, task.placement, task.tenant)
                    self._end(name, at_ms + task.max_duration_ms, task.resources, found.devices)
                    left -= 1
            self._hosts[name] = there

    def _first(self, task: Task) -> tuple[int | None, Mapping[str, int]]:
        """The moment, and for how many pods each host has room then. Leases are ended in the order of time."""
        most = min(task.least, most_of(task))
        there, pods = self._open(task, most)
        total, held = Together(task.layout), dict.fromkeys(there, 0)
        # Moments at which each host is looked at, and how many of its leases have ended then.
        moments: list[tuple[int, str, int]] = []
        for name in there:
            if name in self._from_ms:
                moments.append((self._from_ms[name], name, 0))
            else:
                total.changed(there[name].provider, 0, pods[name])
                held[name] = pods[name]
                if pods[name] < most and (ends := self._ends.get(name)):
                    moments.append((ends[0].at_ms, name, 1))
        if total.pods >= task.least:
            return self._now_ms, held
        heapq.heapify(moments)
        while moments:
            at_ms, name, ended = heapq.heappop(moments)
            ends = self._ends.get(name, [])
            if ended:
                over = ends[ended - 1]
                there[name] = released(there[name], over.resources, over.devices)
                self.looks += 1
                pods[name] = room(there[name], task, most)[0]
            total.changed(there[name].provider, held[name], pods[name])
            held[name] = pods[name]
            if total.pods >= task.least:
                return at_ms, held
            if pods[name] < most and ended < len(ends):
                heapq.heappush(moments, (ends[ended].at_ms, name, ended + 1))
        return None, {}

    def _open(self, task: Task, most: int) -> tuple[dict[str, Host], dict[str, int]]:
        """Hosts that can have room for its pods some time, and for how many they have it, none of their leases ended.

        Of tasks that ask for the same the first is looked at, and after it hosts that have changed since.
        """
        alone = None if task.takes_over is None and not task.refused_by else task.id
        wish = (task.resources, task.placement, task.unit, task.max_rate_per_hour, task.tenant, alone, most)
        known = self._known.setdefault(wish, {})
        there: dict[str, Host] = {}
        pods: dict[str, int] = {}
        for host in open_to(task, self._hosts):
            seen = known.get(host.id)
            if seen is None or seen[0] is not host:
                found, many = candidate(task, host), _NEVER_FITS
                self.looks += 2
                if isinstance(found, Host) and room(emptied(found), task, 1)[0]:
                    many = room(found, task, most)[0]
                seen = known[host.id] = host, found, many
            _, found, many = seen
            if isinstance(found, Host) and many != _NEVER_FITS:
                there[host.id], pods[host.id] = found, many
        self.looks += len(there) // _PASSED
        return there, pods

    def _at(self, name: str, at_ms: int) -> Host:
        """The host at that moment; what has ended by then is not to come any more."""
        host, ends = self._hosts[name], self._ends.get(name, [])
        while ends and ends[0].at_ms <= at_ms:
            over = ends.pop(0)
            host = released(host, over.resources, over.devices)
        return host

    def _end(self, name: str, at_ms: int, resources: Resources, devices: tuple[int, ...]) -> None:
        ends = self._ends.setdefault(name, [])
        insort(ends, _End(at_ms, resources, devices), key=lambda end: end.at_ms)


def _held(resources: Resources, lease: Lease) -> Resources:
    """Whose machine is stopped holds its disk alone."""
    if lease.state is not LeaseState.SUSPENDED:
        return resources
    return replace(resources, cpu_milli=0, memory_mib=0, gpus=replace(resources.gpus, milli=0))


def _soonest(lease: Lease, task: Task, snapshot: Snapshot) -> int:
    """When it may be over, as far as the chain tells."""
    if task.kind is TaskKind.JOB:
        return snapshot.now_ms
    latest = _latest(lease, task, snapshot)
    return latest if task.preemption is None else min(latest, task.preemption.ends_at)


def _latest(lease: Lease, task: Task, snapshot: Snapshot) -> int:
    """When it is over at the latest. One that has not begun is taken to begin now."""
    end = ends_at(lease.escrow, snapshot.hosts[lease.host].downtime_ms, lease.reclaim_at)
    return snapshot.now_ms + task.max_duration_ms if end is None else end
