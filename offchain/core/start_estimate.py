"""Estimate of a task's earliest and latest start, from the chain's records alone.

The records contain the latest end of each lease. A job may finish at any time before; services and rentals are assumed
to stay until then.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from offchain.core.capacity import GangCapacity, allowed_hosts, count_pods, emptied, max_pods_per_host, released
from offchain.core.feasibility import Fit, Misfit, candidate, fit, take
from offchain.core.snapshot import Snapshot
from offchain.core.values import Host, Layout, Lease, LeaseState, Resources, Task, TaskKind
from offchain.schema.chain_types.escrow import NEVER, ends_at

MAX_CHECKS: Final = 100_000
"""Maximum number of feasibility checks for all tasks that are ahead together: a few seconds."""

_CACHE_HITS_PER_CHECK: Final = 20
"""Reading this many cached results takes as long as one check."""

_NEVER_FITS: Final = -1


@dataclass(frozen=True, slots=True)
class StartEstimate:
    """The earliest and the latest start of a task, in ms of chain time.

    `earliest_ms`: the start if all running jobs finished now, preempted tasks ended after their grace period, and no
    task were ahead; None: it depends on leases without an end. `latest_ms`: the start if every lease had its maximum
    duration and all tasks ahead were placed first; None: unknown. `too_many`: it is unknown because too many tasks are
    ahead.
    """

    earliest_ms: int | None
    latest_ms: int | None
    too_many: bool = False


def estimate_start(snapshot: Snapshot, task: Task, ahead: Sequence[Task]) -> StartEstimate:
    """Return the estimate for a task that waits or would wait. `ahead`: the tasks before it, in queue order."""
    earliest = _Calendar(snapshot, soonest=True).start(task)
    calendar = _Calendar(snapshot, soonest=False)
    for other in ahead:
        calendar.place(other)
        if calendar.checks > MAX_CHECKS:
            return StartEstimate(_known(earliest), None, too_many=True)
    return StartEstimate(_known(earliest), _known(calendar.start(task)))


def _known(moment: int | None) -> int | None:
    return moment if moment is not None and moment < NEVER else None


class _End(NamedTuple):
    """The end of a lease, or of an assumed one, and the resources that it frees."""

    at_ms: int
    resources: Resources
    devices: tuple[int, ...]


class _Calendar:
    """The free resources of each host from some time on, and the lease ends after it.

    A task is placed on a host after all tasks placed there earlier. Gaps are not filled, so that the latest start is
    never too early.
    """

    def __init__(self, snapshot: Snapshot, *, soonest: bool) -> None:
        self.checks = 0
        self._now_ms = snapshot.now_ms
        self._hosts: dict[str, Host] = dict(snapshot.hosts)
        self._from_ms: dict[str, int] = {}
        """[host]: the time from which its entry in `_hosts` holds, if that is not now."""
        self._ends: dict[str, list[_End]] = {}
        self._known: dict[Hashable, dict[str, tuple[Host, Host | Misfit, int]]] = {}
        """[request][host]: the host that was checked, its candidate or misfit, and the number of pods that fit."""
        for task in snapshot.tasks.values():
            for lease in task.leases:
                if lease.host in self._hosts:
                    at_ms = _soonest(lease, task, snapshot) if soonest else _latest(lease, task, snapshot)
                    self._end(lease.host, max(at_ms, self._now_ms), _held(task.resources, lease), lease.devices)

    def start(self, task: Task) -> int | None:
        """Return when enough pods of the task fit; None: never."""
        return self._first(task)[0]

    def place(self, task: Task) -> None:
        """Place a task at its start for its maximum duration; a task that never fits is ignored."""
        at_ms, pods = self._first(task)
        if at_ms is None:
            return
        left, providers = task.least, set[str]()
        for name in sorted((name for name in pods if pods[name]), key=lambda name: (-pods[name], name)):
            provider = self._hosts[name].provider
            if not left or (task.layout is Layout.PROVIDERS and provider in providers):
                continue
            there = candidate(task, self._at(name, at_ms))
            assert isinstance(there, Host)  # noqa: S101  (pods fit on it)
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
        """Return the start, and the number of pods that fit on each host then."""
        most = min(task.least, max_pods_per_host(task))
        there, pods = self._open(task, most)
        total, held = GangCapacity(task.layout), dict.fromkeys(there, 0)
        # (time, host, number of its leases that have ended by then), in the order of time.
        moments: list[tuple[int, str, int]] = []
        for name in there:
            if name in self._from_ms:
                moments.append((self._from_ms[name], name, 0))
            else:
                total.update(there[name].provider, 0, pods[name])
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
                self.checks += 1
                pods[name] = count_pods(there[name], task, most)[0]
            total.update(there[name].provider, held[name], pods[name])
            held[name] = pods[name]
            if total.pods >= task.least:
                return at_ms, held
            if pods[name] < most and ended < len(ends):
                heapq.heappush(moments, (ends[ended].at_ms, name, ended + 1))
        return None, {}

    def _open(self, task: Task, most: int) -> tuple[dict[str, Host], dict[str, int]]:
        """Return the hosts on which the task is feasible without leases, and how many of its pods fit now.

        Results are cached by request; only hosts that have changed since are checked again.
        """
        alone = None if task.takes_over is None and not task.refused_by else task.id
        request = (task.resources, task.placement, task.unit, task.max_rate_per_hour, task.tenant, alone, most)
        known = self._known.setdefault(request, {})
        there: dict[str, Host] = {}
        pods: dict[str, int] = {}
        for host in allowed_hosts(task, self._hosts):
            cached = known.get(host.id)
            if cached is None or cached[0] is not host:
                found, many = candidate(task, host), _NEVER_FITS
                self.checks += 2
                if isinstance(found, Host) and count_pods(emptied(found), task, 1)[0]:
                    many = count_pods(found, task, most)[0]
                cached = known[host.id] = host, found, many
            _, found, many = cached
            if isinstance(found, Host) and many != _NEVER_FITS:
                there[host.id], pods[host.id] = found, many
        self.checks += len(there) // _CACHE_HITS_PER_CHECK
        return there, pods

    def _at(self, name: str, at_ms: int) -> Host:
        """Return the host at a time, and remove the lease ends up to it."""
        host, ends = self._hosts[name], self._ends.get(name, [])
        while ends and ends[0].at_ms <= at_ms:
            over = ends.pop(0)
            host = released(host, over.resources, over.devices)
        return host

    def _end(self, name: str, at_ms: int, resources: Resources, devices: tuple[int, ...]) -> None:
        ends = self._ends.setdefault(name, [])
        insort(ends, _End(at_ms, resources, devices), key=lambda end: end.at_ms)


def _held(resources: Resources, lease: Lease) -> Resources:
    """Return the resources that a lease holds: a suspended one holds only disk."""
    if lease.state is not LeaseState.SUSPENDED:
        return resources
    return replace(resources, cpu_milli=0, memory_mib=0, gpus=replace(resources.gpus, milli=0))


def _soonest(lease: Lease, task: Task, snapshot: Snapshot) -> int:
    """Return the earliest end of a lease."""
    if task.kind is TaskKind.JOB:
        return snapshot.now_ms
    latest = _latest(lease, task, snapshot)
    return latest if task.preemption is None else min(latest, task.preemption.ends_at)


def _latest(lease: Lease, task: Task, snapshot: Snapshot) -> int:
    """Return the latest end of a lease. One that has not started is assumed to start now."""
    end = ends_at(lease.escrow, snapshot.hosts[lease.host].downtime_ms, lease.reclaim_at)
    return snapshot.now_ms + task.max_duration_ms if end is None else end
