"""The costs of every request on every host, cached, and computed anew for hosts that have changed since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler.columns import UNUSED_ACCOUNT, AnyInts, Bools, Floats, Ints, resized
from offchain.core.scheduler.filters import permitted_by_attributes
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.kernels import unscored_devices
from offchain.core.scheduler.packing import FragmentationScore
from offchain.core.scheduler.pod_request import PodRequest, PodShape
from offchain.core.scheduler.score_column import (
    AnyFloats,
    ChangeLog,
    Penalties,
    extended_column,
    update_tree,
)
from offchain.core.scheduler.score_entry import CachedRequest, ScoreBounds, ScoreEntry, StaticCosts
from offchain.core.scheduler.scores import ScoreWeights, cost_parts, cost_without_price, random_score
from offchain.core.values import Placement, RetainedData

Costs = npt.NDArray[np.float32]

MAX_ENTRIES = 8192
"""Requests in the cache; beyond that the least recently used ones are removed."""

MIN_ENTRIES = 1024
"""Requests that are always kept; further ones only while costs are fewer than"""
MAX_COSTS = 40_000_000
"""this, at 6 bytes each."""

FEW = 16
"""Up to this many hosts are scored at once, without bounds."""

LOWEST = np.float32(-1e9)
"""Below all costs and bounds."""

_NO_HOSTS: Ints = np.zeros(0, dtype=np.int64)
_NO_BOUNDS: AnyFloats = np.zeros(0, dtype=np.float32)

_StaticKey = tuple[Placement, RetainedData | None, tuple[str, ...], bytes | None]
"""What of a request decides its costs beside resources and price."""


class ScoreCache:
    """Lower is better; infinite where the pod cannot go. The same hosts and seed give the same costs."""

    def __init__(self, table: HostTable, policy: FragmentationScore, weights: ScoreWeights, seed: bytes) -> None:
        self._hosts = table
        self._policy = policy
        self._weights = weights
        self._seed = seed
        self._entries: OrderedDict[PodRequest, ScoreEntry] = OrderedDict()
        self._static: WeakValueDictionary[_StaticKey, StaticCosts] = WeakValueDictionary()
        self._bounds: WeakValueDictionary[tuple[PodShape, int], ScoreBounds] = WeakValueDictionary()
        """[shape that asks for GPUs alone, level of its account]"""
        self._free, self._attributes = ChangeLog(), ChangeLog()
        self._max_free = table.cluster.max_free.tolist()
        """The unit of how full hosts are."""
        self._excluded: set[int] = set()
        """Hosts that were too expensive for some request on the devices that it would have taken."""
        self._all_hosts = _NO_HOSTS
        self._random: Floats = np.zeros(0)
        self._drawn_for: list[str] = []
        """[host]: the name for which :attr:`_random` was drawn."""
        self._closed: Bools = np.zeros(0, dtype=np.bool_)

    def close(self, hosts: Bools) -> None:
        """[host]: nothing is placed there until the next call; hosts that come later are open, also in these rows."""
        before, self._closed = self._closed_hosts(), hosts
        self._free.add(np.flatnonzero(before != self._closed_hosts()).tolist())

    def is_closed(self, host: int) -> bool:
        return bool(self._closed_hosts()[host])

    def changed(self, hosts: Iterable[int], *, attributes: bool = False) -> None:
        """Note that free resources of hosts changed. `attributes`: attributes too, or the host is new."""
        self._free.add(hosts)
        if attributes:
            self._attributes.add(hosts)
            self._replace_hosts(hosts)
        max_free = self._hosts.cluster.max_free.tolist()
        if max_free != self._max_free:
            # The fullness of all hosts is relative to it.
            self._max_free = max_free
            self._free.add(range(len(self._hosts.cluster)))

    def use_policy(self, policy: FragmentationScore) -> None:
        """Replace the policy, and forget all scores."""
        self._policy = policy
        self._entries.clear()

    def place(self, request: PodRequest, pods: int) -> tuple[list[int], list[int], int]:
        """Place up to `pods` pods one after the other, each on the best host, and take their resources.

        Return their hosts, their devices as bits, and the host at which it stopped because only the exact rule can tell
        whether it is too expensive; -1: none.
        """
        entry, stale = self._stale_entry(request)
        chosen, on = np.empty(pods, dtype=np.int64), np.empty(pods, dtype=np.int64)
        bounds = self._bounds_for(entry, stale)
        placed, stopped = self._policy.place(
            entry.kernel_request.current(self._hosts.cluster),
            stale,
            entry.column,
            self._penalties(entry),
            chosen,
            on,
            bounds,
        )
        hosts: list[int] = chosen[:placed].tolist()
        if request.shape.account:
            self._hosts.cluster.share_all(chosen[:placed], on[:placed], request.shape.account)
        self._free.add_shrunk(chosen[:placed])
        entry.seen_free = self._free.end()
        if self._excluded and not self._excluded.isdisjoint(hosts):
            # Other devices may be the cheapest there now.
            self._free.add(self._excluded.intersection(hosts))
        return hosts, on[:placed].tolist(), stopped

    def costs(self, request: PodRequest) -> Costs:
        """[host]: the cost of each host."""
        costs: Costs = self._entry(request).column.costs
        return costs

    def devices(self, request: PodRequest) -> AnyInts:
        """[host]: the devices that the pod would take there, as bits; -1 where it cannot go."""
        costs, devices, _ = self._entry(request).column
        return np.where(costs < np.inf, devices.astype(np.int32), -1)

    def feasible(self, request: PodRequest) -> AnyInts:
        """[host]: -1 where the pod cannot go, else 0."""
        return (self._approximate(request).column.costs < np.inf).astype(np.int32) - 1

    def devices_on(self, request: PodRequest, host: int) -> int:
        """Return the devices that the pod would take on one host, as bits; -1 where it cannot go."""
        entry = self._approximate(request)
        costs, devices, _ = entry.column
        if entry.is_bounded and devices[host] == unscored_devices(entry.kernel_request.shape.gpus):
            self._score(entry, np.array([host]))
        return int(devices[host]) if costs[host] < np.inf else -1

    def cost_parts(self, request: PodRequest, hosts: Ints) -> dict[str, Floats]:
        """[host of `hosts`]: the parts of its cost, by name, where the pod is feasible."""
        count = len(self._hosts.cluster)
        scores, devices = np.zeros(count), np.zeros(count, dtype=np.int64)
        self._policy.score(request.shape, hosts, scores, devices)
        penalties = cost_parts(request, self._hosts.attributes.at(hosts), self._weights)
        return self._policy.parts(scores[hosts]) | penalties | {"draw": self._random_costs()[hosts]}

    def is_affordable(self, request: PodRequest, host: int) -> bool:
        """Whether pods of this request certainly cost no more than their limit there, on any devices."""
        return bool(self._approximate(request).certain[self._hosts.attributes.price_list[host]])

    def mark_affordable(self, request: PodRequest, host: int) -> None:
        """Note that the exact rule found it so, for all hosts with the same price list."""
        self._approximate(request).certain[self._hosts.attributes.price_list[host]] = True

    def exclude(self, request: PodRequest, host: int) -> None:
        """Note that no pod of this request can go there, by an exact rule, until the host changes."""
        entry = self._approximate(request)
        entry.was_priced_out, column = True, entry.column
        column.costs[host] = np.inf
        self._excluded.add(host)
        update_tree(column, np.array([host]))

    def was_priced_out(self, request: PodRequest) -> bool:
        """Whether :meth:`exclude` was called for a request that was just tried: it says nothing about other devices."""
        return self._entries[request].was_priced_out

    def _entry(self, request: PodRequest) -> ScoreEntry:
        entry, stale = self._stale_entry(request)
        if entry.is_bounded:
            costs, devices, _ = entry.column
            low = np.flatnonzero((devices == unscored_devices(entry.kernel_request.shape.gpus)) & (costs < np.inf))
            entry.is_bounded, stale = False, np.union1d(stale, low)
        if len(stale):
            self._score(entry, stale)
            entry.seen_free = self._free.end()
        return entry

    def _approximate(self, request: PodRequest) -> ScoreEntry:
        """Return the entry; hosts to be scored anew may have costs that are too low."""
        entry, stale = self._stale_entry(request)
        if len(stale):
            bounds = self._bounds_for(entry, stale)
            self._score(entry, stale, bounds)
            entry.seen_free = self._free.end()
            if len(bounds) and entry.kernel_request.shape.account:
                # There is no bound for these hosts.
                self._score(entry, np.flatnonzero(entry.column.costs < LOWEST / 2))
        return entry

    def _score(self, entry: ScoreEntry, hosts: Ints, bounds: AnyFloats = _NO_BOUNDS) -> None:
        """Score these hosts. `bounds`: as of :meth:`_bounds_for`; with them the costs may be too low."""
        self._policy.place(
            entry.kernel_request.current(self._hosts.cluster),
            hosts,
            entry.column,
            self._penalties(entry),
            _NO_HOSTS,
            _NO_HOSTS,
            bounds,
        )

    def _bounds_for(self, entry: ScoreEntry, stale: Ints) -> AnyFloats:
        """Return the bounds that these hosts are to have until they are scored; none where they are few."""
        if len(stale) <= FEW:
            return _NO_BOUNDS
        of, hosts = entry.bounds, len(self._hosts.cluster)
        if len(of.column.costs) < hosts:
            of.column = extended_column(of.column, hosts)
        if of.seen_free != self._free.end():
            kernel_request = of.kernel_request.current(self._hosts.cluster)
            self._policy.bound(kernel_request, self._free.since_for(of.seen_free, of.column.costs), of.column)
            of.seen_free = self._free.end()
        entry.is_bounded = True
        own = (
            self._hosts.cluster.rows_shared_by(entry.kernel_request.shape.account)
            if entry.kernel_request.shape.account
            else _NO_HOSTS
        )
        if not len(own):
            return of.column.costs
        costs = of.column.costs.copy()
        costs[own] = LOWEST
        return costs

    def _stale_entry(self, request: PodRequest) -> tuple[ScoreEntry, Ints]:
        """Return the entry, and the hosts that are to be scored anew in it."""
        entry = self._entries.get(request)
        level = self._hosts.cluster.sharing_level(request.shape.account)
        if entry is None or entry.kernel_request.level != level:
            entry = self._entries[request] = ScoreEntry(
                CachedRequest(request.shape, level), self._static_of(request), self._bounds_of(request.shape, level)
            )
            if len(self._entries) > min(MAX_ENTRIES, max(MIN_ENTRIES, MAX_COSTS // (1 + len(self._hosts.cluster)))):
                self._entries.popitem(last=False)
        self._entries.move_to_end(request)
        self._update_static(request, entry)
        hosts = len(self._hosts.cluster)
        if len(entry) < hosts:
            entry.column = extended_column(entry.column, hosts)
        if entry.seen_free == self._free.end():
            return entry, _NO_HOSTS
        if not entry.seen_free:
            if len(self._all_hosts) != hosts:
                self._all_hosts = np.arange(hosts)
            return entry, self._all_hosts
        return entry, self._free.since_for(entry.seen_free, entry.column.costs)

    def _update_static(self, request: PodRequest, entry: ScoreEntry) -> None:
        """Update what does not depend on free resources."""
        table, static = self._hosts, entry.static
        entry.add_price_lists(request, table.attributes.price_lists, self._weights)
        if static.seen != self._attributes.end():
            hosts = self._attributes.since(static.seen, len(table.cluster))
            attributes = table.attributes.at(hosts)
            costs = cost_without_price(request, attributes, self._weights) + self._random_costs()[hosts]
            if len(static.costs) < len(table.cluster):
                static.costs = resized(static.costs, len(table.cluster))
            static.costs[hosts] = np.where(permitted_by_attributes(request, attributes), costs, np.inf)
            static.seen = self._attributes.end()

    def _static_of(self, request: PodRequest) -> StaticCosts:
        who = request.placement, request.takes_over, request.refused_by, request.manifest
        found = self._static.get(who)
        if found is None:
            found = self._static[who] = StaticCosts()
        return found

    def _bounds_of(self, shape: PodShape, level: int) -> ScoreBounds:
        account = UNUSED_ACCOUNT if shape.account else ""
        of = replace(shape, cpu_milli=0, memory_mib=0, disk_gib=0, account=account)
        found = self._bounds.get((of, level))
        if found is None:
            found = self._bounds[of, level] = ScoreBounds(CachedRequest(of, level))
        return found

    def _penalties(self, entry: ScoreEntry) -> Penalties:
        return Penalties(
            entry.static.costs, self._hosts.attributes.price_list, entry.by_list, entry.certain, self._closed_hosts()
        )

    def _closed_hosts(self) -> Bools:
        """[host]: whether it is closed."""
        hosts = len(self._hosts.cluster)
        if len(self._closed) < hosts:
            self._closed = resized(self._closed, hosts)
        return self._closed

    def _random_costs(self) -> Floats:
        """[host]: a number that depends on its name and the seed."""
        names = self._hosts.cluster.names
        if len(self._random) < len(names):
            more = names[len(self._random) :]
            self._random = np.concatenate([self._random, [self._random_cost(name) for name in more]])
            self._drawn_for += more
        return self._random

    def _replace_hosts(self, rows: Iterable[int]) -> None:
        """Forget what is known of the hosts that had these rows before, where others have them now."""
        names = self._hosts.cluster.names
        for row in rows:
            if row < len(self._drawn_for) and self._drawn_for[row] != names[row]:
                self._random[row], self._drawn_for[row] = self._random_cost(names[row]), names[row]
                self._closed[row : row + 1] = False

    def _random_cost(self, name: str) -> float:
        return random_score(name, self._seed) * self._weights.draw
