"""Placing queued tasks: first fit over hosts in a seeded order, by priority and then age, gangs whole or not at all.

The same snapshot, time and seed give the same plan. Schedulers with different seeds try hosts in different orders,
so that several of them seldom meet on the same host.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from offchain.core.fit import Fit, Misfit, candidate, fit, take
from offchain.core.snapshot import Snapshot
from offchain.core.values import BillingUnit, Host, Placement, PodPlacement, Resources, RetainedData, Task, TaskState

_Shape = tuple[Resources, Placement, BillingUnit, int, int, int, RetainedData | None]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a task stays in the queue: how many hosts each rule excludes, and how many of its pods found a place."""

    task: int
    hosts: int
    excluded: Mapping[Misfit, int]
    pods_fitting: int
    pods_needed: int
    deadline_passed: bool = False

    def __str__(self) -> str:
        """One line for people."""
        if self.deadline_passed:
            return "its deadline has passed"
        if self.hosts == 0:
            return "no host is registered"
        reasons = ", ".join(f"{count} {misfit}" for misfit, count in self.excluded.items())
        if self.pods_fitting:
            return f"{self.pods_fitting} of {self.pods_needed} pods fit now; of {self.hosts} hosts: {reasons}"
        return f"of {self.hosts} hosts: {reasons}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to assign, in this order, and what waits."""

    placements: Mapping[int, tuple[PodPlacement, ...]]
    waiting: tuple[Waiting, ...]


@dataclass(slots=True)
class _Room:
    """The hosts as they are left by the placements so far. Capacity only falls while a plan is made."""

    hosts: dict[str, Host]
    order: Sequence[str]
    resume: dict[_Shape, int] = field(default_factory=dict)
    """Where the search for a shape goes on: no host before this one can take such a pod any more."""
    refused: dict[_Shape, Waiting] = field(default_factory=dict)


def plan(snapshot: Snapshot, now: int, seed: bytes, *, skip: frozenset[int] = frozenset()) -> Plan:
    """Place what can be placed at chain time `now` (ms). Tasks in `skip` are left out (they wait after a refusal)."""
    room = _Room(dict(snapshot.hosts), host_order(snapshot.hosts, seed))
    placements: dict[int, tuple[PodPlacement, ...]] = {}
    waiting: list[Waiting] = []
    for task in queue_order(snapshot.tasks.values()):
        if task.id in skip:
            continue
        if task.state is TaskState.QUEUED and task.deadline is not None and now > task.deadline:
            waiting.append(Waiting(task.id, len(room.hosts), {}, 0, task.least, deadline_passed=True))
            continue
        placed = _place(room, task)
        if isinstance(placed, Waiting):
            waiting.append(placed)
        else:
            placements[task.id] = placed
    return Plan(placements, tuple(waiting))


def queue_order(tasks: Iterable[Task]) -> list[Task]:
    """Tasks with pods to place, the highest priority first, then the oldest."""
    return sorted(
        (task for task in tasks if task.open_pods), key=lambda task: (-task.priority, task.submitted_at, task.id)
    )


def host_order(hosts: Iterable[str], seed: bytes) -> list[str]:
    """Every host once, in the order in which this seed tries them. `seed`: at most 64 bytes."""
    return sorted(hosts, key=lambda host: hashlib.blake2b(host.encode(), key=seed, digest_size=8).digest())


def _place(room: _Room, task: Task) -> tuple[PodPlacement, ...] | Waiting:
    shape = (
        task.resources,
        task.placement,
        task.unit,
        task.max_rate_per_hour,
        task.least,
        len(task.open_pods),
        task.takes_over,
    )
    known = room.refused.get(shape)
    if known is not None:
        return Waiting(task.id, known.hosts, known.excluded, known.pods_fitting, known.pods_needed)
    taken: dict[str, Host] = {}
    placements: list[PodPlacement] = []
    at = room.resume.get(shape, 0)
    while len(placements) < len(task.open_pods) and at < len(room.order):
        host_id = room.order[at]
        host = taken.get(host_id) or candidate(task, room.hosts[host_id])
        found = fit(host, task.resources, task.placement, task.unit, task.max_rate_per_hour) if host else None
        if host is not None and isinstance(found, Fit):
            placements.append(PodPlacement(task.open_pods[len(placements)], host_id, bytes(found.devices)))
            taken[host_id] = take(host, task.resources, found.devices, task.placement)
        else:
            at += 1
    if len(placements) < task.least:
        waiting = _explain(room, task, len(placements))
        room.refused[shape] = waiting
        return waiting
    room.hosts.update(taken)
    room.resume[shape] = at
    return tuple(placements)


def _explain(room: _Room, task: Task, pods_fitting: int) -> Waiting:
    excluded: Counter[Misfit] = Counter()
    for there in room.hosts.values():
        host = candidate(task, there)
        if host is None:
            excluded[Misfit.DATA_ELSEWHERE] += 1
            continue
        found = fit(host, task.resources, task.placement, task.unit, task.max_rate_per_hour)
        if isinstance(found, Misfit):
            excluded[found] += 1
    ordered = {misfit: excluded[misfit] for misfit in Misfit if excluded[misfit]}
    return Waiting(task.id, len(room.hosts), ordered, pods_fitting, task.least)
