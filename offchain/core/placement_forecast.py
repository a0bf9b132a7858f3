"""Forecast of a task's placement: the feasible hosts, their prices, the start, and why other hosts are excluded.

The CLI shows it before a task is submitted and while it waits. It examines every host of a snapshot by the rules that
:mod:`offchain.core.scheduler` applies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from offchain.core.capacity import GangCapacity, allowed_hosts, count_pods, emptied, max_pods_per_host
from offchain.core.feasibility import Fit, Misfit, candidate
from offchain.core.snapshot import Snapshot
from offchain.core.start_estimate import StartEstimate, estimate_start
from offchain.core.values import Task


@dataclass(frozen=True, slots=True)
class HostOffer:
    """A host on which `pods` pods of the task are feasible now. `rate_per_hour`: of the first one, in base units."""

    host: str
    provider: str
    pods: int
    rate_per_hour: int


@dataclass(frozen=True, slots=True)
class PlacementForecast:
    """The forecast of a task in one snapshot.

    `offers`: the cheapest first. `later`: number of hosts that are feasible only without their present leases. `now`:
    number of hosts that are not feasible now, by reason. `never`: number of hosts that would not be feasible without
    leases either, by reason. `ahead`: number of waiting tasks that have a higher priority, or the same and are older.
    `pods_now`, `pods_ever`: how many of its pods fit now, and without any leases.
    """

    hosts: int
    pods_needed: int
    offers: tuple[HostOffer, ...]
    later: int
    now: Mapping[Misfit, int]
    never: Mapping[Misfit, int]
    pods_ever: int
    starts: StartEstimate
    ahead: int
    pods_now: int

    @property
    def starts_now(self) -> bool:
        """Return whether enough pods fit now and no task is ahead."""
        return self.pods_now >= self.pods_needed and not self.ahead


def forecast_placement(snapshot: Snapshot, task: Task) -> PlacementForecast:
    """Return the forecast of a task that waits or would wait; it need not be in the snapshot."""
    layout = task.layout
    offers: list[HostOffer] = []
    now: Counter[Misfit] = Counter()
    never: Counter[Misfit] = Counter()
    later = 0
    current, ever = GangCapacity(layout), GangCapacity(layout)
    most = max_pods_per_host(task)
    for there in allowed_hosts(task, snapshot.hosts):
        host = candidate(task, there)
        if isinstance(host, Misfit):
            now[host] += 1
            never[host] += 1
            continue
        pods, verdict = count_pods(host, task, most)
        if isinstance(verdict, Fit):
            offers.append(HostOffer(host.id, host.provider, pods, verdict.rate_per_hour))
            current.update(host.provider, 0, pods)
            ever.update(host.provider, 0, count_pods(emptied(host), task, most)[0])
            continue
        now[verdict] += 1
        when_empty, reason = count_pods(emptied(host), task, most)
        ever.update(host.provider, 0, when_empty)
        if isinstance(reason, Misfit):
            never[reason] += 1
        else:
            later += 1
    offers.sort(key=lambda offer: (offer.rate_per_hour, offer.host))
    ahead = [other for other in snapshot.tasks.values() if _is_ahead(other, task)]
    return PlacementForecast(
        hosts=len(snapshot.hosts),
        pods_needed=task.least,
        offers=tuple(offers),
        later=later,
        now=_ordered(now),
        never=_ordered(never),
        pods_ever=ever.pods,
        starts=estimate_start(snapshot, task, sorted(ahead, key=_queue_order)),
        ahead=len(ahead),
        pods_now=current.pods,
    )


def _is_ahead(other: Task, task: Task) -> bool:
    return bool(other.open_pods) and other.id != task.id and _queue_order(other) < _queue_order(task)


def _queue_order(task: Task) -> tuple[int, int, int]:
    return -task.priority, task.submitted_at, task.id


def _ordered(counts: Counter[Misfit]) -> Mapping[Misfit, int]:
    return {misfit: counts[misfit] for misfit in Misfit if counts[misfit]}
