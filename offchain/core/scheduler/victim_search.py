"""The search for victims: which tasks must end so that the pods of another fit, at the least cost that is found.

Host by host, always where one more pod is cheapest; on a host with few tasks the cheapest set of all, on others the
cheapest tasks until they are enough. Finally, victims that are not needed are dropped. All hosts count, but only those
with the least bounds (:mod:`offchain.core.scheduler.victim_bounds`) are examined. For a gang over several hosts the sum
may exceed the optimum. If the queues allow none of the sets found, the search is repeated with tasks first that use the
least of what their queues may lose, and then over all sets of few tasks.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

import numpy as np

from offchain.core.scheduler.availability import HostAvailability
from offchain.core.scheduler.availability_kernels import pods_on, pods_that_fit
from offchain.core.scheduler.cluster import Cluster, HostSlot
from offchain.core.scheduler.columns import MAX_DEVICES, Bools, Floats, HostColumns, Ints
from offchain.core.scheduler.device_choice import KernelRequest
from offchain.core.scheduler.entitlements import ReclaimPolicy, RetainedShare
from offchain.core.scheduler.pod_request import PodShape, ResourceAmount
from offchain.core.scheduler.reservations import one_per_group
from offchain.core.scheduler.victim_bounds import VictimPods, can_free, least_cost, missing_resources
from offchain.core.scheduler.victim_sets import SearchBudget, Victim, cheapest_set, exhaustive_set

SEARCH_BUDGET: Final = 100_000
"""How many times the effect of ending one task is evaluated for one preemptor."""

_MAX_GANG_EXHAUSTIVE: Final = 64
"""For a gang, sets of this many tasks are examined, those first that take the least from their queues."""

_LOSS_UNITS: Final = 1 << 20
"""Units in which the fraction of a queue's `max_loss` is counted."""

_EXCLUDED: Final = -(1 << 60)
"""Free cores of an excluded host."""


class GangCounter:
    """How many pods of a gang fit, by the pods that fit on each host. `groups`: see :func:`earliest_start`."""

    def __init__(self, fitting: Ints, groups: Ints | None) -> None:
        self._groups = groups
        self._open_hosts: Ints = np.zeros(0, dtype=np.int64)
        """[group]: hosts on which a pod fits."""
        if groups is not None:
            self._open_hosts = np.bincount(groups, weights=fitting > 0).astype(np.int64)
        self.total = int(fitting.sum()) if groups is None else int((self._open_hosts > 0).sum())

    def change(self, host: int, before: int, after: int) -> None:
        """Change how many pods fit on a host."""
        if self._groups is None:
            self.total += after - before
            return
        group = self._groups[host]
        had = bool(self._open_hosts[group])
        self._open_hosts[group] += (after > 0) - (before > 0)
        self.total += bool(self._open_hosts[group]) - had


_Candidates = Mapping[int, tuple[float, list[Victim]]]
"""[host]: the least cost of one more pod there, and the tasks that may end, the cheapest first."""


class VictimSearch:
    """Search for victims for `pods` pods of a shape, on hosts not `excluded`, with anti-affinity by `groups`.

    Used once: for one call of :meth:`find`.
    """

    def __init__(
        self, shape: PodShape, pods: int, cluster: Cluster, excluded: Bools | None, groups: Ints | None = None
    ) -> None:
        self._shape, self._pods, self._groups = shape, pods, groups
        self._each = pods if groups is None else 1
        self._wish = KernelRequest.of(shape, cluster)
        self._cluster, free = cluster, cluster.free
        self._free = free._replace(cpu=free.cpu.copy())
        if excluded is not None:
            self._free.cpu[excluded] = _EXCLUDED
        self._fitting = self._count(self._free)
        """[host]: pods that fit now, up to all of them."""
        self._counter = GangCounter(self._fitting, groups)
        """When the chosen victims have ended."""
        self.pods_fitting = self._counter.total
        """Before any victim has ended."""
        self._chosen: dict[int, Victim] = {}
        self._hosts: dict[int, tuple[HostAvailability, int]] = {}
        """[host]: what is free when the chosen victims have ended, and how many pods fit then."""
        self._chosen_sums: dict[RetainedShare, ResourceAmount] | None = None
        """Of `ReclaimPolicy.sums` over the chosen victims; None: they have changed."""
        self._budget = SearchBudget(SEARCH_BUDGET)

    def is_enough(self, eligible: Collection[Victim]) -> bool:
        """Return whether the pods would fit if all of these ended. To be asked before :meth:`find`."""
        ended = _without(self._free, _victim_pods(eligible))
        return GangCounter(self._count(ended), self._groups).total >= self._pods

    def find(self, eligible: Collection[Victim], reclaim: ReclaimPolicy) -> list[Victim] | None:
        """Return a set that is enough, and of which each is needed; None: `reclaim` allows none."""
        eligible = _each_allowed(eligible, reclaim)
        candidates = self._candidates(eligible, reclaim)
        if candidates is None or not (self._by_host(candidates, reclaim) or self._thrifty(eligible, reclaim)):
            return None
        # The most expensive first. One pass suffices: with fewer victims, no more pods fit.
        for victim in sorted(self._chosen.values(), key=lambda victim: victim.order, reverse=True):
            self._keep(victim)
            if self._counter.total < self._pods:
                self._end(victim)
        return sorted(self._chosen.values(), key=lambda victim: victim.order)

    def _by_host(self, candidates: _Candidates, reclaim: ReclaimPolicy) -> bool:
        """Choose victims on one host after the other; return whether they are enough."""
        # By cost per pod: a lower bound until a set was searched for.
        hosts: list[tuple[float, int, list[Victim] | None]]
        hosts = [(least, host, None) for host, (least, _) in candidates.items()]
        heapq.heapify(hosts)
        while self._counter.total < self._pods:
            if not hosts or self._budget.left <= 0:
                return False
            least, host, more = heapq.heappop(hosts)
            search = more is None or any(victim.running.task in self._chosen for victim in more)
            search = search or not self._is_allowed(more or (), reclaim)
            if search:
                others = [victim for victim in candidates[host][1] if victim.running.task not in self._chosen]
                more = self._cheapest_on(host, others, reclaim)
            gained = self._gain(more) if more else 0
            if not more or not gained:
                # No pod more fits there, or none may: another host of its group has one.
                continue
            each = max(least, sum(victim.cost for victim in more) / gained)
            if search or each > least:
                heapq.heappush(hosts, (each, host, more))
                continue
            for victim in more:
                self._end(victim)
            heapq.heappush(hosts, (0.0, host, None))
        return True

    def _thrifty(self, eligible: Sequence[Victim], reclaim: ReclaimPolicy) -> bool:
        """Choose victims of a gang by what their queues may lose instead of cost; return whether they are enough."""
        self._keep_all()
        if self._pods == 1:
            return False
        by_task = {victim.running.task: victim for victim in eligible}
        frugal = [Victim(_loss(victim, reclaim), victim.running) for victim in eligible]
        candidates = self._candidates(frugal, reclaim)
        if candidates is not None and self._by_host(candidates, reclaim):
            self._chosen = {task: by_task[task] for task in self._chosen}
            return True
        self._keep_all()
        few = sorted(frugal, key=lambda victim: victim.order)[:_MAX_GANG_EXHAUSTIVE]
        return self._exhaustive([by_task[victim.running.task] for victim in few], reclaim)

    def _keep_all(self) -> None:
        for victim in list(self._chosen.values()):
            self._keep(victim)

    def _exhaustive(self, eligible: Sequence[Victim], reclaim: ReclaimPolicy) -> bool:
        """Choose among all sets of these; return whether one is enough."""

        def is_enough(some: Sequence[Victim]) -> bool:
            self._budget.left -= 1 + len(some)
            for victim in some:
                self._end(victim)
            found = self._counter.total >= self._pods
            for victim in some:
                self._keep(victim)
            return found

        victims = sorted(eligible, key=lambda victim: victim.order)
        found = exhaustive_set(victims, is_enough, lambda some: reclaim.allows(_usage(some)), self._budget, first=True)
        for victim in found or ():
            self._end(victim)
        return found is not None

    def places(self) -> tuple[HostSlot, ...]:
        """Return the places of the pods after the chosen victims have ended, first on the hosts of the victims."""
        found: list[HostSlot] = []
        others = (int(host) for host in np.flatnonzero(self._fitting) if int(host) not in self._hosts)
        hosts = [host for host in (*sorted(self._hosts), *others) if self._on_host(host)[1]]
        for host in hosts if self._groups is None else one_per_group(hosts, self._groups):
            kept, pods = self._on_host(host)
            free = kept.copy()
            for _ in range(min(pods, self._pods - len(found))):
                devices = free.pick_devices(self._shape)
                free.take(self._shape, devices)
                found.append(HostSlot(host, devices))
            if len(found) == self._pods:
                break
        return tuple(found)

    def _candidates(self, eligible: Collection[Victim], reclaim: ReclaimPolicy) -> _Candidates | None:
        """Return the hosts on which one more pod may fit; None: the pods would not fit if all victims ended."""
        pods = _victim_pods(eligible)
        ended = _without(self._free, pods)
        gain = self._count(ended) - self._fitting
        if GangCounter(self._fitting + gain, self._groups).total < self._pods:
            return None
        if self._groups is not None:
            # A host whose group already has a pod gains nothing.
            gain = np.where(np.isin(self._groups, self._groups[self._fitting > 0]), 0, gain)
        # Where pods fit already, all that is known of one more pod is that some task has to end.
        need = np.where((self._fitting > 0)[:, None], 0, missing_resources(self._free, ended, self._wish))
        bounds = {leaf: reclaim.bound(leaf) for leaf in {victim.running.leaf for victim in eligible}}
        nodes = {node: at for at, node in enumerate(sorted({bound[0] for bound in bounds.values() if bound}))}
        limits: Ints = np.zeros((len(nodes), 3), dtype=np.int64)
        indices = dict.fromkeys(bounds, -1)
        for leaf, bound in bounds.items():
            if bound is not None:
                indices[leaf] = nodes[bound[0]]
                limits[indices[leaf]] = bound[1]
        of_pods = [indices[victim.running.leaf] for victim in eligible for _ in victim.running.places]
        pods = pods._replace(bound=np.array(of_pods, dtype=np.int64))
        least = least_cost(pods, need).tolist()
        hosts = np.flatnonzero((gain > 0) & can_free(pods, limits, need)).tolist()
        on: dict[int, list[Victim]] = {host: [] for host in hosts}
        for victim in sorted(eligible, key=lambda victim: victim.order):
            for host in {place.host for place in victim.running.places}:
                if host in on:
                    on[host].append(victim)
        return {host: (max(least[host], some[0].cost / self._pods), some) for host, some in on.items()}

    def _cheapest_on(self, host: int, others: Sequence[Victim], reclaim: ReclaimPolicy) -> list[Victim] | None:
        """Return whom to end on this host, beside those chosen, so that one more pod fits; None: impossible."""
        free, had = self._on_host(host)

        def is_enough(some: Sequence[Victim]) -> bool:
            self._budget.left -= 1 + len(some)
            with_some = free.copy()
            for victim in some:
                _move(with_some, host, victim, 1)
            return self._pods_on(host, with_some) > had

        return cheapest_set(others, is_enough, lambda some: self._is_allowed(some, reclaim), self._budget)

    def _is_allowed(self, some: Iterable[Victim], reclaim: ReclaimPolicy) -> bool:
        """Return whether these may end in addition to those chosen."""
        self._budget.left -= 1
        if self._chosen_sums is None:
            self._chosen_sums = reclaim.sums(_usage(self._chosen.values()))
        return reclaim.allows(_usage(some), self._chosen_sums)

    def _gain(self, more: Sequence[Victim]) -> int:
        """Return how many more of the missing pods would fit."""
        before, sums = self._counter.total, self._chosen_sums
        for victim in more:
            self._end(victim)
        gained = min(self._counter.total, self._pods) - before
        for victim in more:
            self._keep(victim)
        self._chosen_sums = sums
        return gained

    def _end(self, victim: Victim) -> None:
        self._chosen[victim.running.task] = victim
        self._update(victim, 1)

    def _keep(self, victim: Victim) -> None:
        del self._chosen[victim.running.task]
        self._update(victim, -1)

    def _update(self, victim: Victim, sign: int) -> None:
        self._chosen_sums = None
        for host in {place.host for place in victim.running.places}:
            free, before = self._on_host(host)
            _move(free, host, victim, sign)
            pods = self._pods_on(host, free)
            self._hosts[host] = (free, pods)
            self._counter.change(host, before, pods)

    def _on_host(self, host: int) -> tuple[HostAvailability, int]:
        if host in self._hosts:
            return self._hosts[host]
        free = self._free
        here = HostAvailability(int(free.cpu[host]), int(free.memory[host]), free.device[host].copy())
        return here, int(self._fitting[host])

    def _pods_on(self, host: int, free: HostAvailability) -> int:
        if not self._wish.accepts[self._free.main_class[host]]:
            return 0
        return int(pods_on(free.cpu_milli, free.memory_mib, free.device, self._wish, self._each))

    def _count(self, free: HostColumns) -> Ints:
        return pods_that_fit(self._cluster, free, self._shape, self._each)


def _move(free: HostAvailability, host: int, victim: Victim, sign: int) -> None:
    """Give (`sign` 1) or take (-1) what the victim uses of this host."""
    change = free.give if sign > 0 else free.take
    for place in victim.running.places:
        if place.host == host:
            change(victim.running.shape, place.devices)


def _each_allowed(victims: Iterable[Victim], reclaim: ReclaimPolicy) -> list[Victim]:
    """Return those that may end alone; equal tasks of a leaf are checked once."""
    known: dict[tuple[int, int, int], bool] = {}
    found = []
    for victim in victims:
        running = victim.running
        # Equal requests share one shape object, which lives as long as the tasks.
        key = running.leaf, id(running.shape), len(running.places)
        if key not in known:
            known[key] = reclaim.allows(_usage([victim]))
        if known[key]:
            found.append(victim)
    return found


def _loss(victim: Victim, reclaim: ReclaimPolicy) -> int:
    """Return which fraction of its queue's `max_loss` ends with it, in 1 / _LOSS_UNITS; 0 if it is not bounded."""
    bound = reclaim.bound(victim.running.leaf)
    if bound is None:
        return 0
    # One resource that stays within its bound is enough.
    amounts = zip(victim.running.amount, bound[1], strict=True)
    fractions = [_LOSS_UNITS * used // most for used, most in amounts if most > 0 and used]
    return max(1, min(fractions, default=_LOSS_UNITS))


def _usage(victims: Iterable[Victim]) -> Iterator[tuple[int, ResourceAmount]]:
    return ((victim.running.leaf, victim.running.amount) for victim in victims)


def _victim_pods(victims: Collection[Victim]) -> VictimPods:
    """Return a row for each pod, without bounds."""
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
    bound: Ints = np.full(len(rows), -1, dtype=np.int64)
    cost: Floats = np.array(costs, dtype=np.float64)
    return VictimPods(host, np.column_stack([cpu, memory, gpus]), milli, devices, cost, bound)


def _without(free: HostColumns, pods: VictimPods) -> HostColumns:
    """Return what is free when these pods have ended."""
    made = free._replace(cpu=free.cpu.copy(), memory=free.memory.copy(), device=free.device.astype(np.int64))
    np.add.at(made.cpu, pods.host, pods.freed[:, 0])
    np.add.at(made.memory, pods.host, pods.freed[:, 1])
    np.add.at(made.device, pods.host, (pods.devices[:, None] >> np.arange(MAX_DEVICES) & 1) * pods.milli[:, None])
    return made
