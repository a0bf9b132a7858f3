"""The scheduling cycle: tasks in queue order, on hosts that no filter excludes.

What a cycle places is assumed until the chain's records contain it or the placement is released. A cycle in the same
moment as the last one continues it where possible.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from operator import itemgetter

import numpy as np

from offchain.core.scheduler.assumed_pods import PodBatch
from offchain.core.scheduler.backfill import max_hold_ms
from offchain.core.scheduler.cycle_filters import (
    AntiAffinity,
    CooldownFilter,
    HostFilter,
    OwnHostsFilter,
    own_hosts,
    spread_groups,
)
from offchain.core.scheduler.equivalence import EquivalenceClass
from offchain.core.scheduler.explain import DecisionLog
from offchain.core.scheduler.fair_share import FairShareQueue
from offchain.core.scheduler.host_health import FailureHistory
from offchain.core.scheduler.migration import MigrationPlan, MigrationPlanner
from offchain.core.scheduler.partition import HostShards, WorkPartition
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.plan import PlanResult, TaskBatch
from offchain.core.scheduler.pod_request import NO_RESOURCES, ResourceAmount, exclusive_shape
from offchain.core.scheduler.preemption import ReservedHostsFilter, host_rows
from offchain.core.scheduler.reservation_manager import ReservationManager
from offchain.core.scheduler.reservations import Reservation, ReservationRequest, waiting_since_ms
from offchain.core.scheduler.task_registry import TaskRegistry
from offchain.core.scheduler.try_budget import TryBudget
from offchain.core.scheduler.unschedulable import IncrementalCycle
from offchain.core.values import Task


class SchedulingCycle:
    """Runs one cycle after the other, and is the order in which each plans tasks.

    `account`: the scheduler's own. `records_decisions`: whether :attr:`decisions` records placed tasks.
    """

    def __init__(
        self,
        account: str,
        planner: Planner,
        registry: TaskRegistry,
        queue: FairShareQueue,
        reservations: ReservationManager,
        memory: FailureHistory,
        migration: MigrationPlanner,
        partition: WorkPartition,
        *,
        records_decisions: bool,
    ) -> None:
        self._account = account
        self._planner = planner
        self._registry = registry
        self._queue = queue
        self._reservations = reservations
        self._memory = memory
        self._migration = migration
        self._partition = partition
        self._shards = HostShards(account)
        self._tasks = registry.tasks
        self._classes = registry.classes
        self._incremental = IncrementalCycle(planner, reservations, queue, self._classes.unschedulable_index)
        self.decisions = DecisionLog(planner, is_on=records_decisions)
        self._busy_since = 0
        """Since when some tasks have always waited, chain time in ms."""
        self._totals = -1, NO_RESOURCES
        """The version of the host table, and the sum of its resources."""
        self._next: tuple[Sequence[Task], EquivalenceClass] | None = None
        """The current batch."""
        self._budget = TryBudget()
        self._waiting_since: dict[bytes, int] = {}
        """[class key]: since when tasks of the class wait, as far as this scheduler knows, chain time in ms."""
        self._now_ms = 0
        """The time of the cycle."""

    def invalidate(self) -> None:
        """Note that something other than tasks changed: the next cycle plans all tasks."""
        self._incremental.invalidate()

    def on_hosts_changed(self, changed: Sequence[int]) -> None:
        """Note the rows of hosts whose records changed."""
        self._incremental.invalidate()
        self._shards.on_changed(changed)

    def set_schedulers(self, accounts: frozenset[str], seed: bytes) -> None:
        """Set the accounts of all bonded schedulers, and the random seed of the chain's session."""
        self._incremental.invalidate()
        self._partition.set_schedulers(accounts, seed)
        self._shards.set_schedulers(accounts)
        if self._partition.is_alone:
            self._planner.scores.close(np.zeros(0, dtype=np.bool_))

    def next_ms(self, now_ms: int) -> int | None:
        """Return when more may be placed although no record changes: after a cool-down, or in a new slot."""
        if not len(self._queue):
            return None
        next_cycle = self._now_ms + 1 if self._incremental.is_continuing or self._budget.has_left else None
        more = self._partition.next_ms(now_ms), next_cycle, self._memory.next_ms(now_ms)
        return min((moment for moment in more if moment is not None), default=None)

    def run(self, now_ms: int) -> tuple[PlanResult, MigrationPlan]:
        """Place waiting tasks, and before them the pods that have to move."""
        self._registry.requeue_due(now_ms)
        self._update_history(now_ms)
        demand = self._registry.demand.refresh(len(self._planner.hosts.cluster))
        if demand is not None:
            self._planner.set_demand(demand)
        self._planner.update_sharing_levels(self._registry.demand.sharing)
        filters = self._filters(now_ms)
        if self._incremental.can_continue(now_ms) and not filters and not self._migration.is_due(now_ms):
            return self._continue(now_ms), MigrationPlan()
        self._incremental.begin_full()
        self._budget.begin()
        excluded_classes = self._classes_of_others(now_ms)
        if not self._partition.is_alone:
            self._close_other_shards(now_ms)
        self._queue.begin_cycle(now_ms, self._total_resources(), excluded_classes)
        self._now_ms = now_ms
        batches: list[PodBatch] = []
        self.decisions.begin()
        self._place_due(
            self._reservations.begin(self._tasks, now_ms, self._waiting_for), excluded_classes, filters, batches
        )
        reserved = self._reservations.backfill_filter(self._tasks, self._registry.reserved_hosts)
        self.decisions.filters = filters if reserved is None else (*filters, reserved)
        migration = self._migration.plan(self.decisions.filters, now_ms)
        result = self._planner.plan(self, self.decisions.filters, batches)
        unschedulable = [one.task for one in result.unschedulable]
        if self._place_due(
            self._reservations.end(self._tasks, unschedulable, now_ms, self._waiting_for),
            excluded_classes,
            filters,
            batches,
        ):
            result = PlanResult(
                result.placements, tuple(one for one in result.unschedulable if one.task not in result.placements)
            )
        may_continue = not filters and self._partition.is_alone and not self._budget.has_left
        self._incremental.end_full(now_ms if may_continue else None, result.unschedulable)
        return result, migration

    def _classes_of_others(self, now_ms: int) -> set[int]:
        """Return the numbers of the classes that other schedulers place now."""
        if self._partition.is_alone:
            return set()
        keys, since = self._classes.class_keys, self._waiting_since
        self._waiting_since = {key: since.get(key, now_ms) for key in keys.values()}
        return {
            number for number, key in keys.items() if not self._partition.is_mine(key, now_ms, self._waiting_since[key])
        }

    def _continue(self, now_ms: int) -> PlanResult:
        """Plan new tasks, and of the others only those that may fit by now."""
        self._incremental.begin_continued()
        self._budget.begin()
        reserved = self._reservations.continue_filter(self._tasks, self._registry.reserved_hosts, now_ms)
        self.decisions.filters = () if reserved is None else (reserved,)
        batches: list[PodBatch] = []
        for number in self._incremental.retryable_reservations():
            self._place_reserved(number, batches)
        result = self._planner.plan(self, self.decisions.filters, batches)
        self._incremental.end_continued(result.unschedulable)
        if self._budget.has_left:
            self._incremental.invalidate()
        return PlanResult(result.placements, self._classes.unschedulable_index.tasks())

    def _place_reserved(self, number: int, batches: list[PodBatch]) -> None:
        """Place a task with a reservation for one pod first, where it fits now."""
        task, task_class = self._tasks[number], self._registry.class_of(number)
        request = task_class[0]
        if self._queue.quota_exceeded(number) is not None:
            return
        slot = self._planner.best_slot_on(self._incremental.freed, request)
        if slot is None or self._planner.is_excluded(task, request, [slot], self.decisions.filters):
            return
        if self._planner.place_at(task, request, [slot], batches):
            self._queue.commit(number)
            self._registry.on_placed_batch(task_class, [task], self._now_ms)

    def _place_due(
        self,
        due: Iterable[Reservation],
        excluded_classes: Container[int],
        filters: Sequence[HostFilter],
        batches: list[PodBatch],
    ) -> bool:
        """Place tasks whose reservation begins now, and return whether there were any."""
        any_placed = False
        for reservation in due:
            number, slots = reservation.task, reservation.places
            task, task_class = self._tasks[number], self._registry.class_of(number)
            request = task_class[0]
            if self._queue.class_of(number) in excluded_classes or self._planner.is_excluded(
                task, request, slots, filters
            ):
                # Its slots stay reserved.
                continue
            if self._planner.place_at(task, request, slots, batches):
                any_placed = True
                self._queue.commit(number)
                self._registry.on_placed_batch(task_class, [task], self._now_ms)
            else:
                self._reservations.on_refused(number, self._now_ms)
        return any_placed

    def _waiting_for(self, number: int) -> ReservationRequest | None:
        """Return what a task waits for; None: it was placed, or a quota holds it back."""
        if number not in self._queue or self._queue.quota_exceeded(number) is not None:
            return None
        task, (request, least, *_) = self._tasks[number], self._registry.class_of(number)
        hosts = self._planner.hosts
        among, own = self._reservations.reservable(request), self._reservations.window_claims_of(task.tenant)
        # Hosts in cool-down for such pods can be used by others.
        cooling = self._memory.hosts_in_cooldown(request.shape, request.manifest, self._now_ms)
        if cooling:
            among = among & ~hosts.attributes.hosts.among(cooling, hosts.attributes.host)
        groups = spread_groups(request.layout, hosts.attributes)
        return ReservationRequest(
            number,
            exclusive_shape(request.shape),
            least,
            max_hold_ms(task),
            waiting_since_ms(task),
            among,
            own,
            groups,
        )

    def next_batch(self) -> TaskBatch | None:
        """Return the next tasks of this cycle."""
        while (batch := self._queue.next_batch()) is not None:
            if self._is_admitted(self._queue.class_of(batch.tasks[0])):
                break
            # All at once: each of them would cost a look at those before it.
            refused = [number for number in self._classes.class_keys if not self._is_admitted(number)]
            self._queue.block(np.array(refused, dtype=np.int64))
        else:
            return None
        tasks = itemgetter(*batch.tasks)(self._tasks) if len(batch.tasks) > 1 else (self._tasks[batch.tasks[0]],)
        task_class = self._registry.class_of(batch.tasks[0])
        self.decisions.look(tasks[0], task_class[0])
        self._next = tasks, task_class
        return TaskBatch(tasks, batch.tasks, task_class[0])

    def _is_admitted(self, number: int) -> bool:
        """Whether the accounts of this class may have it tried in this cycle."""
        return self._budget.admits(self._classes.accounts[number], self._classes.class_keys[number])

    def on_placed(self, tasks: int) -> None:
        """The first tasks of the batch were placed."""
        if self._next is None:
            raise RuntimeError("no batch was taken")
        tasks_of_batch, task_class = self._next
        self._queue.commit_batch(tasks)
        self._registry.on_placed_batch(task_class, tasks_of_batch[:tasks], self._now_ms)
        self._incremental.on_placed()

    def unschedulable(self, task: Task) -> None:
        """The task cannot be placed now."""
        number = self._queue.class_of(task.id)
        self._budget.note_failed(self._classes.accounts[number], self._classes.class_keys[number])
        self._queue.mark_unschedulable(task.id)
        self._classes.set_unschedulable(self._registry.class_of(task.id), task.id)

    def _close_other_shards(self, now_ms: int) -> None:
        """Close the hosts of other schedulers."""
        leaders = {self._partition.leader(class_key, now_ms) for class_key in self._classes.class_keys.values()}
        if not leaders:
            self._busy_since = now_ms
        # Hosts are not kept for a leader that may be silent, unless nobody is known not to be.
        active = leaders & self._partition.active(now_ms) or leaders
        gang = any(self._partition.is_mine(class_key, now_ms) for class_key in self._classes.gang_keys())
        names = self._planner.hosts.cluster.names
        closed = self._shards.closed(now_ms, names, active, self._busy_since, has_gang=gang)
        for one in self._registry.reserved_hosts.values():
            closed[host_rows(one.hosts, self._planner.hosts.cluster)] = False
        self._planner.scores.close(closed)

    def _update_history(self, now_ms: int) -> None:
        """Update failure scores, and requeue tasks whose manifest some hosts cannot run."""
        for host, score in self._memory.changed_scores(now_ms).items():
            self._planner.set_failure_score(host, score)
        manifests = self._memory.new_manifest_cooldowns()
        if manifests:
            for number in [number for number in self._queue if self._tasks[number].manifest in manifests]:
                self._registry.enqueue_task(self._tasks[number])

    def _filters(self, now_ms: int) -> tuple[HostFilter, ...]:
        """Return the filters of a full cycle; only without any can it be continued."""
        hosts, kept = self._planner.hosts, self._registry.reserved_hosts
        filters: list[HostFilter] = []
        if kept:
            filters.append(ReservedHostsFilter(kept, hosts.cluster))
        if self._memory.next_ms(now_ms) is not None:
            filters.append(CooldownFilter(self._memory, hosts.attributes, now_ms))
        if self._classes.with_layout:
            filters.append(AntiAffinity(hosts))
        if own_hosts(hosts.attributes, self._account).any():
            filters.append(OwnHostsFilter(hosts, self._account))
        return tuple(filters)

    def _total_resources(self) -> ResourceAmount:
        """Return the resources of hosts that are online."""
        hosts = self._planner.hosts
        if hosts.version != self._totals[0]:
            online, whole = hosts.attributes.online, hosts.cluster.whole
            columns = whole.cpu, whole.memory, whole.device
            self._totals = hosts.version, ResourceAmount(*(int(column[online].sum()) for column in columns))
        return self._totals[1]
