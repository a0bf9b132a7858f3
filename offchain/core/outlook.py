"""What a task has to expect: which hosts would take it, at what price, when, and what stands against the others.

For people who ask before they submit, or while they wait. Reads a snapshot, host by host; the scheduler decides by
:mod:`offchain.core.planning`, which knows the same rules.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offchain.core.fit import Fit, Misfit, candidate, fit, take
from offchain.core.snapshot import Snapshot
from offchain.core.values import Capacity, Host, Layout, Lease, LeaseState, Resources, Task
from offchain.schema.escrow import NEVER, ends_at

WHOLE_GPU: Final = 1000


@dataclass(frozen=True, slots=True)
class Offer:
    """A host that would take pods of the task now: so many, the first at this rate in base units per hour."""

    host: str
    provider: str
    pods: int
    rate_per_hour: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """`offers`: the cheapest first. `later`: hosts that have no room now and would take it when nothing runs there.

    `now`: why hosts that are not in `offers` do not take it now, and how many. `never`: the same of those that would
    not even when nothing ran there. `start_by_ms`: when the pods that it needs at least have room, if every lease
    lasts as long as it may and nobody else comes; None: leases without an end, or too few hosts. `ahead`: tasks that
    wait with a higher priority, or the same for longer. `pods_ever`: how many pods would have room if nothing ran.
    """

    hosts: int
    pods_needed: int
    offers: tuple[Offer, ...]
    later: int
    now: Mapping[Misfit, int]
    never: Mapping[Misfit, int]
    pods_ever: int
    start_by_ms: int | None
    ahead: int
    pods_now: int
    """How many of its pods have room now."""

    @property
    def starts_now(self) -> bool:
        """Whether enough of them have, and nobody is ahead."""
        return self.pods_now >= self.pods_needed and not self.ahead


def outlook(snapshot: Snapshot, task: Task) -> Outlook:
    """The outlook of a task that waits, or would wait, in this snapshot; it need not be in it."""
    layout = task.layout
    offers: list[Offer] = []
    now: Counter[Misfit] = Counter()
    never: Counter[Misfit] = Counter()
    waiting: list[Host] = []
    in_all, ever = Together(layout), Together(layout)
    most = 1 if layout in (Layout.HOSTS, Layout.PROVIDERS) else max(1, len(task.open_pods))
    for there in open_to(task, snapshot.hosts):
        host = candidate(task, there)
        if host is None:
            now[Misfit.DATA_ELSEWHERE] += 1
            never[Misfit.DATA_ELSEWHERE] += 1
            continue
        pods, verdict = room(host, task, most)
        if isinstance(verdict, Fit):
            offers.append(Offer(host.id, host.provider, pods, verdict.rate_per_hour))
            in_all.changed(host.provider, 0, pods)
            ever.changed(host.provider, 0, room(emptied(host), task, most)[0])
            waiting.append(host)
            continue
        now[verdict] += 1
        when_empty, reason = room(emptied(host), task, most)
        ever.changed(host.provider, 0, when_empty)
        if isinstance(reason, Misfit):
            never[reason] += 1
        else:
            waiting.append(host)
    offers.sort(key=lambda offer: (offer.rate_per_hour, offer.host))
    start: int | None = snapshot.now_ms
    if in_all.pods < task.least:
        start = _start(snapshot, task, waiting, most)
    return Outlook(
        hosts=len(snapshot.hosts),
        pods_needed=task.least,
        offers=tuple(offers),
        later=len(waiting) - len(offers),
        now=_ordered(now),
        never=_ordered(never),
        pods_ever=ever.pods,
        start_by_ms=start if start is not None and start < NEVER else None,
        ahead=sum(_before(other, task) for other in snapshot.tasks.values()),
        pods_now=in_all.pods,
    )


def emptied(host: Host) -> Host:
    """The host with nothing leased."""
    devices = tuple(replace(device, milli_free=WHOLE_GPU) for device in host.devices)
    return replace(host, free=host.total, devices=devices)


def room(host: Host, task: Task, most: int) -> tuple[int, Fit | Misfit]:
    """How many pods have room beside each other, up to `most`; and the first one's devices and rate, or why none."""
    first = found = fit(host, task.resources, task.placement, task.unit, task.max_rate_per_hour)
    pods = 0
    while isinstance(found, Fit):
        pods += 1
        if pods == most:
            break
        host = take(host, task.resources, found.devices, task.placement)
        found = fit(host, task.resources, task.placement, task.unit, task.max_rate_per_hour)
    return pods, first


class Together:
    """How many pods of a layout have room in all: of one that spreads them over providers, one for each of these."""

    def __init__(self, layout: Layout) -> None:
        self.pods = 0
        self._by_provider = layout is Layout.PROVIDERS
        self._hosts: Counter[str] = Counter()
        """[provider]: how many have room."""

    def changed(self, provider: str, before: int, after: int) -> None:
        """A host of this provider has room for so many."""
        if not self._by_provider:
            self.pods += after - before
            return
        had = self._hosts[provider] > 0
        self._hosts[provider] += (after > 0) - (before > 0)
        self.pods += (self._hosts[provider] > 0) - had


def open_to(task: Task, hosts: Mapping[str, Host]) -> list[Host]:
    """Those that others of its pods leave to it."""
    taken = {lease.host for lease in task.leases}
    if task.layout is Layout.HOSTS:
        return [host for host in hosts.values() if host.id not in taken]
    if task.layout is Layout.PROVIDERS:
        providers = {hosts[name].provider for name in taken if name in hosts}
        return [host for host in hosts.values() if host.provider not in providers]
    return list(hosts.values())


def _before(other: Task, task: Task) -> bool:
    if not other.open_pods or other.id == task.id:
        return False
    return (-other.priority, other.submitted_at, other.id) < (-task.priority, task.submitted_at, task.id)


def _start(snapshot: Snapshot, task: Task, hosts: Sequence[Host], most: int) -> int | None:
    """When enough pods have room, as leases end one after the other on these hosts."""
    rooms = {host.id: host for host in hosts}
    pods = {host.id: room(host, task, most)[0] for host in hosts}
    total = Together(task.layout)
    for name, count in pods.items():
        total.changed(rooms[name].provider, 0, count)
    ends = _ends(snapshot, rooms)
    heapq.heapify(ends)
    while ends:
        moment, host, _, resources, devices = heapq.heappop(ends)
        rooms[host] = released(rooms[host], resources, devices)
        before, pods[host] = pods[host], room(rooms[host], task, most)[0]
        total.changed(rooms[host].provider, before, pods[host])
        if total.pods >= task.least:
            return max(moment, snapshot.now_ms)
    return None


def _ends(snapshot: Snapshot, hosts: Mapping[str, Host]) -> list[tuple[int, str, int, Resources, tuple[int, ...]]]:
    """When each lease on these hosts ends at the latest, and what it gives back."""
    # Whose machine is stopped holds its disk alone.
    return [
        (_latest(lease, task, snapshot), lease.host, lease.id, _held(task.resources, lease), lease.devices)
        for task in snapshot.tasks.values()
        for lease in task.leases
        if lease.host in hosts
    ]


def _held(resources: Resources, lease: Lease) -> Resources:
    if lease.state is not LeaseState.SUSPENDED:
        return resources
    return replace(resources, cpu_milli=0, memory_mib=0, gpus=replace(resources.gpus, milli=0))


def _latest(lease: Lease, task: Task, snapshot: Snapshot) -> int:
    """One that has not begun is taken to begin now."""
    end = ends_at(lease.escrow, snapshot.hosts[lease.host].downtime_ms, lease.reclaim_at)
    return snapshot.now_ms + task.max_duration_ms if end is None else end


def released(host: Host, resources: Resources, devices: Iterable[int]) -> Host:
    """The host when a lease of so much on these devices has ended."""
    chosen = frozenset(devices)
    free = Capacity(
        min(host.total.cpu_milli, host.free.cpu_milli + resources.cpu_milli),
        min(host.total.memory_mib, host.free.memory_mib + resources.memory_mib),
        min(host.total.disk_gib, host.free.disk_gib + resources.disk_gib),
    )
    milli = resources.gpus.milli
    after = tuple(
        replace(device, milli_free=min(WHOLE_GPU, device.milli_free + milli)) if index in chosen else device
        for index, device in enumerate(host.devices)
    )
    return replace(host, free=free, devices=after)


def _ordered(counts: Counter[Misfit]) -> Mapping[Misfit, int]:
    return {misfit: counts[misfit] for misfit in Misfit if counts[misfit]}
