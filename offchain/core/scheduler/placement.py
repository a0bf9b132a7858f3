"""The planner: keeps the host table and assumed pods, and finds hosts for waiting tasks.

A state machine: records and answers of the chain go in, placements come out. What it has placed stays allocated until
the chain's records contain it or the chain refuses it. It reads no clock; equal inputs and seeds give equal placements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from offchain.core.scheduler.assumed_pods import InFlightAssignments, Placements, PodBatch, TaskPlacement
from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.cycle_filters import HostFilter, costs_of_preferred
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.filters import permitted
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.infeasible_requests import InfeasibleRequests
from offchain.core.scheduler.packing import FragmentationScore
from offchain.core.scheduler.plan import PlacementOrder, PlanResult, TaskBatch, UnschedulableTask
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.score_cache import ScoreCache
from offchain.core.scheduler.scores import ScoreWeights
from offchain.core.scheduler.sharing_demand import SharingDemand
from offchain.core.values import Host, Task


class Planner:
    """Places tasks on the hosts with the lowest costs, and holds what is assumed. `seed` breaks ties of equal hosts."""

    def __init__(self, seed: bytes, weights: ScoreWeights | None = None) -> None:
        self.hosts = HostTable()
        self._demand = DemandDistribution()
        self.scores = ScoreCache(
            self.hosts, FragmentationScore(self.hosts.cluster, self._demand), weights or ScoreWeights(), seed
        )
        self._in_flight = InFlightAssignments()
        self._freed_rows: set[int] = set()
        self._overcommitted: set[int] = set()
        """Hosts whose records leave too little free for all that is assumed there."""
        self._removed: set[int] = set()
        """Rows of hosts that are gone, until :meth:`vacate_rows`."""

    def take_freed_rows(self) -> set[int]:
        """Return the rows of hosts where resources were freed since the last call, other than by their records."""
        found, self._freed_rows = self._freed_rows, set()
        return found

    def set_demand(self, demand: DemandDistribution) -> None:
        """Score by this distribution of expected pods."""
        self._demand = demand
        self.scores.use_policy(FragmentationScore(self.hosts.cluster, demand))

    def update_sharing_levels(self, demand: SharingDemand) -> None:
        """Value devices with shares by the shares that are expected of their accounts now."""
        levels = demand.refresh(self.hosts.cluster)
        if levels is not None:
            self.scores.changed(self.hosts.cluster.set_sharing_levels(levels))

    def update_hosts(self, hosts: Iterable[Host]) -> list[int]:
        """Take in host records. Return the rows of hosts whose free resources changed."""
        if self.hosts.cluster.compact_classes():
            # Scores, and what they are computed from, name classes by number.
            self.scores.use_policy(FragmentationScore(self.hosts.cluster, self._demand))
        free, attributes = self.hosts.put(hosts)
        self._removed.difference_update(attributes)
        self._allocate_assumed(free)
        self.scores.changed(free)
        self.scores.changed(attributes, attributes=True)
        return free

    def remove_hosts(self, hosts: Iterable[str]) -> None:
        for host in hosts:
            row = self.hosts.remove(host)
            if row is not None:
                self._removed.add(row)
                self.scores.changed((row,), attributes=True)

    def vacate_rows(self, is_referred_to: Callable[[int], bool]) -> None:
        """Let new hosts have the rows of removed hosts to which nothing refers any more.

        `is_referred_to`: whether something outside of the planner refers to the row.
        """
        for row in sorted(self._removed, reverse=True):
            if not self._in_flight.has_pods(row) and not is_referred_to(row):
                self.hosts.vacate(row)
                self._removed.discard(row)
                self._overcommitted.discard(row)

    def set_failure_score(self, host: str, score: float) -> None:
        """Set a host's recent failures, from 0 to 1."""
        row = self.hosts.set_failure_score(host, score)
        if row is not None:
            self.scores.changed((row,), attributes=True)

    def record_manifest(self, manifest: bytes, host: str) -> None:
        """Record that a pod of this manifest runs on the host."""
        self.scores.changed(self.hosts.record_manifest(manifest, host), attributes=True)

    def set_assumed(self, task: int, *, assumed: bool) -> None:
        """Set whether the task's placed pods are missing in the records; a block with them may be reverted."""
        if self._in_flight.set_assumed(task, assumed=assumed):
            for row in self.batch(task).rows(task):
                self._reallocate(row)

    def release(self, tasks: Iterable[int]) -> None:
        """Forget what was placed of these tasks: it is final in the records, or never will be in them."""
        known: dict[int, int] = {}
        requests: list[PodRequest] = []
        rows: list[int] = []
        devices: list[int] = []
        kinds: list[int] = []
        to_reset: dict[int, None] = {}
        irregular = self._overcommitted | self._removed
        for batch, pods, confirmed in self._in_flight.remove(tasks):
            hosts = batch.hosts
            kind = known.get(id(batch.request))
            if kind is None:
                kind = known[id(batch.request)] = len(requests)
                requests.append(batch.request)
            for pod in pods:
                row = hosts[pod]
                if row in irregular:
                    to_reset[row] = None
                elif not confirmed:
                    # Everything assumed there is allocated, so this one can be released alone.
                    rows.append(row)
                    devices.append(batch.devices[pod])
                    kinds.append(kind)
        for row in to_reset:
            self._reallocate(row)
        if rows:
            self.hosts.cluster.release_all(rows, devices, kinds, [request.shape for request in requests])
            self._on_freed(rows)

    def placed_pods(self, task: int) -> frozenset[int]:
        """Return the pods of this task that were placed and not released."""
        batch = self._in_flight.batch_of(task)
        return frozenset(batch.pods(task)) if batch else frozenset()

    def holds(self, task: int) -> bool:
        """Whether something was placed of this task and not released."""
        return task in self._in_flight

    def assumed_pods(self, task: int) -> frozenset[int]:
        """Return the placed pods that the records do not contain yet."""
        return frozenset() if self._in_flight.is_confirmed(task) else self.placed_pods(task)

    def assumed_placement(self, task: int) -> TaskPlacement | None:
        """Return where these pods go; None: there are none."""
        return self.batch(task).placement_of(task) if self.assumed_pods(task) else None

    def batch(self, task: int) -> PodBatch:
        """Return the batch with which this task was placed. KeyError: nothing is assumed of it."""
        batch = self._in_flight.batch_of(task)
        if batch is None:
            raise KeyError(task)
        return batch

    @property
    def held_tasks(self) -> frozenset[int]:
        """The tasks of which something is assumed."""
        return frozenset(self._in_flight.tasks)

    def plan(
        self, order: PlacementOrder, filters: Sequence[HostFilter] = (), batches: list[PodBatch] | None = None
    ) -> PlanResult:
        """Place tasks in this order where no filter excludes the host. What is placed is assumed.

        `batches`: what was placed in this cycle already.
        """
        batches = [] if batches is None else batches
        unschedulable: list[UnschedulableTask] = []
        full: dict[tuple[PodRequest, int, int], int] = {}
        infeasible = InfeasibleRequests()
        while (batch := order.next_batch()) is not None:
            tasks, _, request = batch
            first = tasks[0]
            key = request, first.least, len(first.open_pods)
            # Free resources only fall during a cycle.
            if key in full:
                unschedulable.append(UnschedulableTask(first.id, request, full[key], first.least))
                order.unschedulable(first)
                continue
            if infeasible.covers(request):
                unschedulable.append(UnschedulableTask(first.id, request, 0, first.least))
                order.unschedulable(first)
                continue
            placed, fitting, is_alike = self._place_some(batch, filters, batches)
            if placed:
                order.on_placed(placed)
            if placed < (len(tasks) if is_alike else 1):
                failed = tasks[placed]
                if is_alike:
                    full[key] = fitting
                    if not fitting and not self.scores.was_priced_out(request):
                        infeasible.add(request)
                unschedulable.append(UnschedulableTask(failed.id, request, fitting, failed.least))
                order.unschedulable(failed)
        return PlanResult(Placements(batches, self.hosts), tuple(unschedulable))

    def is_excluded(
        self, task: Task, request: PodRequest, slots: Sequence[HostSlot], filters: Sequence[HostFilter]
    ) -> bool:
        """Whether one of these slots is closed, or excluded by a filter."""
        if any(self.scores.is_closed(slot.host) for slot in slots):
            return True
        devices = self.scores.devices(request)
        masks = [mask for filter_ in filters if (mask := filter_.excluded(task, request, devices)) is not None]
        return any(mask[slot.host] for mask in masks for slot in slots)

    def best_slot_on(self, rows: Iterable[int], request: PodRequest) -> HostSlot | None:
        """Return the best of these hosts for a pod; None where it is feasible on none of them."""
        costs, devices = self.scores.costs(request), self.scores.devices(request)
        best = min((row for row in rows if costs[row] < np.inf), key=lambda row: (costs[row], row), default=None)
        return None if best is None else HostSlot(best, int(devices[best]))

    def place_at(self, task: Task, request: PodRequest, slots: Sequence[HostSlot], batches: list[PodBatch]) -> bool:
        """Place the task's first pods exactly there; return False where a rule is against it."""
        hosts, devices = [slot.host for slot in slots], [slot.devices for slot in slots]
        for index, slot in enumerate(slots):
            if not self.is_feasible(request, *slot):
                self._release(request, hosts[:index], devices[:index])
                return False
            self._take(request, *slot)
        self._assume(PodBatch(request, (task,), hosts, devices), batches)
        return True

    def best_slot(self, task: Task, request: PodRequest, filters: Sequence[HostFilter]) -> HostSlot | None:
        """Return the best slot for one pod of this task now, without assuming it; None: none is feasible."""
        found = self._best_host(task, request, filters)
        return None if found is None else HostSlot(*found)

    def assume(self, task: Task, request: PodRequest, slot: HostSlot) -> None:
        """Take this slot for the one pod of the task, until :meth:`release` of its number."""
        self._take(request, slot.host, slot.devices)
        self._in_flight.add(PodBatch(request, (task,), (slot.host,), (slot.devices,)))

    def is_feasible(self, request: PodRequest, host: int, devices: int) -> bool:
        """Whether the host accepts such a pod on these devices, by the chain's own rules."""
        if not permitted(request, self.hosts.attributes.at(np.array([host])))[0]:
            return False
        rate = self.hosts.rate_per_hour(request, host, devices)
        return rate <= request.max_rate_per_hour and self.hosts.cluster.fits_on(host, request.shape, devices)

    def _place_some(
        self, batch: TaskBatch, filters: Sequence[HostFilter], batches: list[PodBatch]
    ) -> tuple[int, int, bool]:
        """Place these tasks, or the first of them where a filter is to be asked before each.

        Return how many were placed, the feasible pods of the first that was not, and whether what was found holds for
        all tasks with an equal request.
        """
        tasks, _, request = batch
        first = tasks[0]
        if filters:
            feasible = self.scores.feasible(request)
            if feasible.max(initial=-1) < 0:
                return 0, 0, True
            if len(first.open_pods) != 1 or any(
                filter_.excluded(first, request, feasible) is not None for filter_ in filters
            ):
                return *self._place_filtered(first, request, filters, batches), False
        return *self._place_batch(batch, filters, batches), True

    def _place_batch(self, batch: TaskBatch, filters: Sequence[HostFilter], batches: list[PodBatch]) -> tuple[int, int]:
        """Place these tasks one after the other.

        Return how many were placed, and the feasible pods of the first that was not.
        """
        tasks, numbers, request = batch
        least, pods_each = tasks[0].least, len(tasks[0].open_pods)
        hosts, devices = self._fill(request, len(tasks) * pods_each)
        placed, over = divmod(len(hosts), pods_each)
        if over >= least:
            placed, over = placed + 1, 0
        elif over:
            self._release(request, hosts[-over:], devices[-over:])
        if placed:
            pods = min(len(hosts), placed * pods_each)
            self._assume(PodBatch(request, tasks[:placed], hosts[:pods], devices[:pods], numbers[:placed]), batches)
            for filter_ in filters:
                for pod in range(pods):
                    filter_.on_assume(tasks[pod // pods_each], request, hosts[pod], devices[pod])
        return placed, over

    def _place_filtered(
        self, task: Task, request: PodRequest, filters: Sequence[HostFilter], batches: list[PodBatch]
    ) -> tuple[int, int]:
        """Place one task, asking the filters before each of its pods. Return as :meth:`_place_batch`."""
        hosts: list[int] = []
        devices: list[int] = []
        for _ in task.open_pods:
            found = self._best_host(task, request, filters)
            if found is None:
                break
            host, on = found
            self._take(request, host, on)
            for filter_ in filters:
                filter_.on_assume(task, request, host, on)
            hosts.append(host)
            devices.append(on)
        if len(hosts) < task.least:
            self._release(request, hosts, devices)
            for filter_ in filters:
                for host, on in zip(hosts, devices, strict=True):
                    filter_.on_forget(task, request, host, on)
            return 0, len(hosts)
        self._assume(PodBatch(request, (task,), hosts, devices), batches)
        return 1, len(hosts)

    def _fill(self, request: PodRequest, pods: int) -> tuple[list[int], list[int]]:
        """Take the best hosts for `pods` pods. Return the hosts and their devices as bits."""
        hosts, devices, doubtful = self.scores.place(request, pods)
        while doubtful >= 0:
            on = self.scores.devices_on(request, doubtful)
            if self._is_within_limit(request, doubtful, on):
                self._take(request, doubtful, on)
                hosts.append(doubtful)
                devices.append(on)
            more, on_more, doubtful = self.scores.place(request, pods - len(hosts))
            hosts += more
            devices += on_more
        return hosts, devices

    def _best_host(self, task: Task, request: PodRequest, filters: Sequence[HostFilter]) -> tuple[int, int] | None:
        """Return the best host that no filter excludes and whose exact price is within the limit."""
        while True:
            costs, devices = self.scores.costs(request), self.scores.devices(request)
            excluded = [mask for filter_ in filters if (mask := filter_.excluded(task, request, devices)) is not None]
            costs_left = np.where(np.logical_or.reduce(excluded), np.inf, costs) if excluded else costs
            for filter_ in filters:
                costs_left = costs_of_preferred(filter_, task, request, costs_left)
            host = int(np.argmin(costs_left)) if len(costs_left) else -1
            if host < 0 or costs_left[host] == np.inf:
                return None
            if self.scores.is_affordable(request, host) or self._is_within_limit(request, host, int(devices[host])):
                return host, int(devices[host])

    def _is_within_limit(self, request: PodRequest, host: int, devices: int) -> bool:
        """Whether the price there is within the limit by the chain's own rule; where not, the host is excluded."""
        if self.hosts.rate_per_hour(request, host, devices) > request.max_rate_per_hour:
            self.scores.exclude(request, host)
            return False
        record = self.hosts.records[self.hosts.cluster.names[host]]
        if len({device.spec.model for device in record.devices}) <= 1:
            self.scores.mark_affordable(request, host)
        return True

    def _take(self, request: PodRequest, host: int, devices: int) -> None:
        self.hosts.cluster.take(host, request.shape, devices)
        self.scores.changed((host,))

    def _release(self, request: PodRequest, hosts: Sequence[int], devices: Sequence[int]) -> None:
        for host, on in zip(hosts, devices, strict=True):
            self.hosts.cluster.release(host, request.shape, on)
            self.scores.changed((host,))

    def _assume(self, batch: PodBatch, batches: list[PodBatch]) -> None:
        self._in_flight.add(batch)
        batches.append(batch)

    def _reallocate(self, row: int) -> None:
        """Reset the host to its record, less what is assumed there."""
        record = self.hosts.records.get(self.hosts.cluster.names[row])
        if record is not None:
            self.hosts.reset_free(record)
            self._allocate_assumed((row,))
        self._on_freed((row,))

    def _on_freed(self, rows: Sequence[int]) -> None:
        self._freed_rows.update(rows)
        self.scores.changed(rows)

    def _allocate_assumed(self, rows: Sequence[int]) -> None:
        """Take what is assumed off new records. Pods for which the record leaves too little get nothing."""
        self._overcommitted.difference_update(rows)
        self._overcommitted.update(self._in_flight.allocate(rows, self.hosts.cluster))
