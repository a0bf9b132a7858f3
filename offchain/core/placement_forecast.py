"""Forecast of a task's placement from a snapshot: the feasible hosts, their prices, and why others are excluded.

:func:`forecast_placement` asks :func:`offchain.core.feasibility.fit` of every host and needs no numpy. When the task
would start, and whom it would preempt, is the scheduler's own answer: :mod:`offchain.core.scheduler.start_forecast`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from offchain.core.feasibility import Fit, Misfit, count_pods, emptied
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Host, Layout, Task


@dataclass(frozen=True, slots=True)
class HostOffer:
    """A host on which `pods` pods of the task are feasible now. `rate_per_hour`: of the first one, in base units."""

    host: str
    provider: str
    pods: int
    rate_per_hour: int


@dataclass(frozen=True, slots=True)
class PlacementForecast:
    """The feasible hosts of a task in one snapshot.

    `offers`: the cheapest first. `later`: number of hosts that are feasible only without their present leases. `now`:
    number of hosts that are not feasible now, by reason. `never`: number of hosts that would not be feasible without
    leases either, by reason. `pods_now`, `pods_ever`: how many of its pods fit now, and without any leases.
    """

    hosts: int
    pods_needed: int
    offers: tuple[HostOffer, ...]
    later: int
    now: Mapping[Misfit, int]
    never: Mapping[Misfit, int]
    pods_now: int
    pods_ever: int


@dataclass(frozen=True, slots=True)
class PreemptionForecast:
    """The spot tasks that would be preempted, by number; if there are none, `why` is the reason.

    `by_queue`: number of victims by queue, or by account for those of the default queue.
    """

    victims: tuple[int, ...] = ()
    by_queue: Mapping[str, int] = field(default_factory=dict)
    why: str | None = None


@dataclass(frozen=True, slots=True)
class StartForecast:
    """The earliest and the latest start of a task, in ms of chain time.

    `earliest_ms`: the start if all running jobs finished now, preempted tasks ended after their grace period, and no
    other task waited; None: it depends on leases without an end. `latest_ms`: the start if every lease had its maximum
    duration; None: unknown. `too_many`: it is unknown because too many tasks are ahead. `ahead`: number of waiting
    tasks that the scheduler places before it, as far as that is known; None: the scheduler was not asked. `preemption`:
    None where the task starts now, may not preempt, or no spot tasks of lower priority hold enough.
    """

    earliest_ms: int | None
    latest_ms: int | None
    too_many: bool = False
    ahead: int | None = 0
    preemption: PreemptionForecast | None = None


UNKNOWN_START = StartForecast(None, None, ahead=None)
"""Where numpy and numba, which the scheduler needs, are not installed."""


def forecast_placement(hosts: Mapping[str, Host], task: Task) -> PlacementForecast:
    """Return the forecast of a task that waits or would wait."""
    offers: list[HostOffer] = []
    now: Counter[Misfit] = Counter()
    never: Counter[Misfit] = Counter()
    later = 0
    ever: list[tuple[str, int]] = []
    most, request = max_pods_per_host(task), PodRequest.of(task)
    for host in allowed_hosts(task, hosts):
        pods, verdict = count_pods(host, request, most)
        pods_when_empty, reason = count_pods(emptied(host), request, most)
        ever.append((host.provider, pods_when_empty))
        if isinstance(verdict, Fit):
            offers.append(HostOffer(host.id, host.provider, pods, verdict.rate_per_hour))
            continue
        now[verdict] += 1
        if isinstance(reason, Misfit):
            never[reason] += 1
        else:
            later += 1
    offers.sort(key=lambda offer: (offer.rate_per_hour, offer.host))
    return PlacementForecast(
        len(hosts),
        task.least,
        tuple(offers),
        later,
        _ordered(now),
        _ordered(never),
        pods_now=pods_together(task.layout, ((offer.provider, offer.pods) for offer in offers)),
        pods_ever=pods_together(task.layout, ever),
    )


def allowed_hosts(task: Task, hosts: Mapping[str, Host]) -> list[Host]:
    """Return the hosts on which the task's layout allows another of its pods."""
    taken = task.hosts
    if task.layout is Layout.HOSTS:
        return [host for host in hosts.values() if host.id not in taken]
    if task.layout is Layout.PROVIDERS:
        providers = {hosts[name].provider for name in taken if name in hosts}
        return [host for host in hosts.values() if host.provider not in providers]
    return list(hosts.values())


def max_pods_per_host(task: Task) -> int:
    """Return how many of the task's pods its layout allows on one host."""
    return 1 if task.layout in (Layout.HOSTS, Layout.PROVIDERS) else max(1, len(task.open_pods))


def pods_together(layout: Layout, pods_by_host: Iterable[tuple[str, int]]) -> int:
    """Return how many pods of one task fit in all. `pods_by_host`: each host's provider, and how many fit there."""
    if layout is Layout.PROVIDERS:
        return len({provider for provider, pods in pods_by_host if pods})
    return sum(min(pods, 1) if layout is Layout.HOSTS else pods for _, pods in pods_by_host)


def _ordered(counts: Counter[Misfit]) -> Mapping[Misfit, int]:
    return {misfit: counts[misfit] for misfit in Misfit if counts[misfit]}
