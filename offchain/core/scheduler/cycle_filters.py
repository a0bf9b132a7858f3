"""Filters of one scheduling cycle beside the chain's rules: anti-affinity, cool-down, and the scheduler's own hosts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from offchain.core.feasibility import Fit, fit
from offchain.core.scheduler.availability_kernels import pods_that_fit
from offchain.core.scheduler.columns import AnyInts, Bools, Ints
from offchain.core.scheduler.filters import max_rates, min_rates, permitted
from offchain.core.scheduler.host_attributes import ALL_LISTS, HostAttributes
from offchain.core.scheduler.host_health import FailureHistory
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pod_request import PodRequest, PodShape
from offchain.core.scheduler.score_column import AnyFloats
from offchain.core.values import Layout, Task


class HostFilter(ABC):
    """Excludes hosts for the tasks of one scheduling cycle."""

    has_preference: ClassVar[bool] = False
    """Whether :meth:`preferred` may prefer hosts."""

    @abstractmethod
    def excluded(self, task: Task, request: PodRequest, devices: AnyInts) -> Bools | None:
        """[host]: whether no pod of this task may go there now. None: no host is excluded.

        The result holds for all tasks with an equal request and the same reservation windows, until a pod is placed.

        `devices[host]`, bits, are those that the pod would take there; -1 where it is not feasible. Whether any host is
        excluded may depend only on where the pod is feasible.
        """

    def preferred(self, task: Task, request: PodRequest, feasible: Bools) -> Bools | None:  # noqa: ARG002
        """[host]: the preferred hosts, if any of them is feasible. None: no preference.

        `feasible[host]`: whether the pod can go there.
        """
        return None

    def on_assume(self, task: Task, request: PodRequest, host: int, devices: int) -> None:  # noqa: B027
        """A pod of this task was placed there."""

    def on_forget(self, task: Task, request: PodRequest, host: int, devices: int) -> None:  # noqa: B027
        """That placement was undone: other pods of its gang found no host."""


def costs_of_preferred(filter_: HostFilter, task: Task, request: PodRequest, costs: AnyFloats) -> AnyFloats:
    """Return the costs with all but the filter's preferred hosts excluded, if it prefers any of the feasible ones."""
    if not filter_.has_preference:
        return costs
    feasible = costs < np.inf
    preferred = filter_.preferred(task, request, feasible) if feasible.any() else None
    if preferred is None or not (preferred & feasible).any():
        return costs
    costs_left = costs.copy()
    costs_left[~preferred] = np.inf
    return costs_left


def spread_groups(layout: Layout, attributes: HostAttributes) -> Ints | None:
    """[host]: at most one pod of the task may go to hosts with the same number. None: no such limit."""
    if layout is Layout.HOSTS:
        return np.arange(len(attributes))
    return attributes.provider if layout is Layout.PROVIDERS else None


def excluded_by_layout(layout: Layout, rows: Sequence[int], attributes: HostAttributes) -> Bools:
    """[host]: whether no pod may go there, since others of its task are on the hosts in these rows."""
    excluded = np.zeros(len(attributes), dtype=np.bool_)
    numbers = spread_groups(layout, attributes)
    if rows and numbers is not None:
        excluded |= np.isin(numbers, numbers[list(rows)])
    return excluded


def excluded_by_pods(request: PodRequest, hosts: HostTable) -> Bools:
    """[host]: whether no pod may go there, since others of its task have leases."""
    return excluded_by_layout(request.layout, rows_of_pods(request, hosts), hosts.attributes)


def rows_of_pods(request: PodRequest, hosts: HostTable) -> list[int]:
    """Return the rows of hosts where other pods of the task have leases."""
    cluster = hosts.cluster
    return [cluster.row(host) for host in sorted(request.beside) if host in cluster]


class AntiAffinity(HostFilter):
    """Spreads pods of one task over hosts or providers, or packs them on as few hosts as possible.

    Created for each cycle. The pods of a task are placed one after the other.
    """

    has_preference = True

    def __init__(self, hosts: HostTable) -> None:
        self._hosts = hosts
        self._task: int | None = None
        self._rows: list[int] = []
        """Hosts where this cycle has placed pods of this task."""

    def excluded(self, task: Task, request: PodRequest, devices: AnyInts) -> Bools | None:
        """[host]: whether another pod of the task is there, or on a host of its provider."""
        del devices
        if request.layout is Layout.ANY:
            return None
        return excluded_by_layout(request.layout, self._pod_rows(task, request), self._hosts.attributes)

    def preferred(self, task: Task, request: PodRequest, feasible: Bools) -> Bools | None:
        """[host]: for packed pods, hosts with other pods of the task; else hosts where most of its pods fit."""
        if request.layout is not Layout.PACKED:
            return None
        beside = np.zeros(len(feasible), dtype=np.bool_)
        beside[self._pod_rows(task, request)] = True
        if (beside & feasible).any():
            return beside
        cluster = self._hosts.cluster
        fitting = pods_that_fit(cluster, cluster.free, request.shape, len(task.open_pods) - len(self._rows))
        most = np.where(feasible, fitting, -1)
        best: Bools = most == most.max()
        return best

    def on_assume(self, task: Task, request: PodRequest, host: int, devices: int) -> None:
        del devices
        if request.layout is not Layout.ANY:
            self._start_task(task)
            self._rows.append(host)

    def on_forget(self, task: Task, request: PodRequest, host: int, devices: int) -> None:
        del devices
        if request.layout is not Layout.ANY:
            self._start_task(task)
            self._rows.remove(host)

    def _pod_rows(self, task: Task, request: PodRequest) -> list[int]:
        """Return the rows of hosts with pods of this task."""
        self._start_task(task)
        return self._rows + rows_of_pods(request, self._hosts)

    def _start_task(self, task: Task) -> None:
        if self._task != task.id:
            self._task, self._rows = task.id, []


class CooldownFilter(HostFilter):
    """Excludes hosts where such pods failed repeatedly, for the time of the cool-down."""

    def __init__(self, memory: FailureHistory, attributes: HostAttributes, now_ms: int) -> None:
        self._memory = memory
        self._attributes = attributes
        self._now_ms = now_ms
        self._excluded: dict[tuple[PodShape, bytes | None], Bools | None] = {}

    def excluded(self, task: Task, request: PodRequest, devices: AnyInts) -> Bools | None:
        """[host]: whether it is in cool-down for such pods."""
        del task, devices
        key = request.shape, request.manifest
        if key not in self._excluded:
            hosts = self._memory.hosts_in_cooldown(*key, self._now_ms)
            self._excluded[key] = self._attributes.hosts.among(hosts, self._attributes.host) if hosts else None
        return self._excluded[key]


_SAVING = 0.1
"""The chain takes a part of the bond of a scheduler that places a pod on a host of its own where another host costs
less by this part of the rate (`report_self_assignment`).
"""

_NOWHERE = float("inf")


class OwnHostsFilter(HostFilter):
    """Excludes hosts of the scheduler's own account where another host is as good and clearly cheaper.

    It excludes more than the chain's rule asks for: scores are not compared, and rates are bounds over all devices of a
    host. A host counts while the pod is feasible by its record: an assignment on its way there may be refused.
    """

    def __init__(self, hosts: HostTable, account: str) -> None:
        self._hosts = hosts
        self._account = account
        self._own = own_hosts(hosts.attributes, account)
        self._cheapest: dict[PodRequest, float] = {}

    def excluded(self, task: Task, request: PodRequest, devices: AnyInts) -> Bools | None:
        """[host]: whether it is an own one and a feasible host costs at least a tenth less."""
        if len(task.open_pods) != 1 or task.tenant == self._account or request.takes_over is not None:
            return None
        attributes = self._hosts.attributes
        feasible = self._own & (devices >= 0)
        if not feasible.any():
            return None
        most = max_rates(request, attributes.price_lists, ALL_LISTS)[attributes.price_list]
        if request not in self._cheapest:
            limit = float(most[self._own].max()) * (1 - _SAVING)
            self._cheapest[request] = self._cheapest_of(request, limit)
        cheapest = self._cheapest[request]
        excluded: Bools = feasible & (cheapest < most) & (cheapest <= most * (1 - _SAVING))
        return excluded if excluded.any() else None

    def _cheapest_of(self, request: PodRequest, limit: float) -> float:
        """Return a lower bound of the rate at the cheapest host where the pod is feasible by its record.

        Infinite above `limit`.
        """
        hosts = self._hosts
        rows = np.flatnonzero(permitted(request, hosts.attributes))
        least = min_rates(request, hosts.attributes.price_lists, ALL_LISTS)[hosts.attributes.price_list][rows]
        for place in np.argsort(least, kind="stable").tolist():
            if least[place] > limit:
                break
            host = hosts.records.get(hosts.cluster.names[rows[place]])
            if host is None:
                continue
            found = fit(host, request)
            if isinstance(found, Fit):
                return float(least[place])
        return _NOWHERE


def own_hosts(attributes: HostAttributes, account: str) -> Bools:
    """[host]: whether the account is its provider."""
    return attributes.providers.among({account}, attributes.provider)
