"""The scheduler's state: hosts, waiting tasks in their queues, and assumed pods.

A state machine without a clock: records and refusals go in, the result of a scheduling cycle comes out. Equal inputs in
equal order with an equal seed give equal placements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from operator import itemgetter

import numpy as np

from offchain.core.scheduler.assumed_pods import PodBatch
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
from offchain.core.scheduler.host_observations import HostObservation
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.partition import HostShards, WorkPartition, class_key_of
from offchain.core.scheduler.placement import Planner, PlanResult, TaskBatch
from offchain.core.scheduler.pod_request import PodRequest, exclusive_shape
from offchain.core.scheduler.preemption import QueueEntitlements, ReservedHosts, host_rows
from offchain.core.scheduler.queue_definitions import QueueTree, queue_tree
from offchain.core.scheduler.queue_usage import QuotaExceeded
from offchain.core.scheduler.reservation_candidates import waiting_since_ms
from offchain.core.scheduler.reservation_filter import max_hold_ms
from offchain.core.scheduler.reservation_manager import ReservationManager
from offchain.core.scheduler.reservation_windows import ReservationWindow
from offchain.core.scheduler.reservations import Reservation, ReservationRequest
from offchain.core.scheduler.resources import NO_RESOURCES, ResourceAmount, queue_name
from offchain.core.scheduler.scores import ScoreWeights
from offchain.core.scheduler.task_registry import TaskRegistry
from offchain.core.scheduler.unschedulable import IncrementalCycle
from offchain.core.values import Host, Lease, Task
from offchain.schema.protocol.decisions import SchedulingStatus


class SchedulerState:
    """`queues`: their definitions; None for equal shares of all accounts. `account`: the scheduler's own.

    `windows`: times for which hosts are reserved for some accounts.
    """

    def __init__(
        self,
        seed: bytes,
        queues: QueueTree | None = None,
        weights: ScoreWeights | None = None,
        account: str = "",
        windows: Sequence[ReservationWindow] = (),
    ) -> None:
        self._account = account
        self._partition = WorkPartition(account)
        self._shards = HostShards(account)
        self._busy_since = 0
        """Since when some tasks have always waited, chain time in ms."""
        self.planner = Planner(seed, weights)
        self.memory = FailureHistory()
        """Recent failures."""
        self.decisions = DecisionLog(self.planner)
        self._reservations = ReservationManager(self.planner, queues or queue_tree(), windows)
        self._queue = FairShareQueue(queues or queue_tree(), NO_RESOURCES)
        self._registry = TaskRegistry(self.planner, self._reservations, self._queue, self.memory)
        self._tasks: Mapping[int, Task] = self._registry.tasks
        self._classes = self._registry.classes
        self._totals = -1, NO_RESOURCES
        """The version of the host table, and the sum of its resources."""
        self._next: tuple[Sequence[Task], EquivalenceClass] | None = None
        """The current batch."""
        self._incremental = IncrementalCycle(
            self.planner, self._reservations, self._queue, self._classes.unschedulable_index
        )
        self._now_ms = 0
        """The time of the cycle."""

    def update_hosts(self, hosts: Iterable[Host]) -> None:
        self._incremental.invalidate()
        self._shards.on_changed(self.planner.update_hosts(hosts))

    def remove_hosts(self, hosts: Iterable[str]) -> None:
        self._incremental.invalidate()
        self.planner.remove_hosts(hosts)

    def put_task(self, task: Task) -> None:
        """Take in the record of a task that is not final."""
        self._registry.put_task(task)

    def put_tasks(self, tasks: Iterable[Task]) -> None:
        """Take in records of tasks that are not final."""
        self._registry.put_tasks(tasks)

    def remove_task(self, number: int) -> None:
        """Remove a final task."""
        self._registry.remove_tasks((number,))

    def remove_tasks(self, numbers: Sequence[int]) -> None:
        """Remove final tasks."""
        self._registry.remove_tasks(numbers)

    def release(self, number: int) -> None:
        """What was placed of this task is final, or was refused."""
        self._registry.release(number)

    def delay(self, number: int, until_ms: int) -> None:
        """Do not place this task before then, because the chain has refused it."""
        self._registry.delay(number, until_ms)

    def keep_rooms(self, kept_rooms: Mapping[int, ReservedHosts]) -> None:
        """Set the hosts that preemption keeps for tasks, which are planned one by one then.

        The hosts belong to the part of every scheduler: a filter excludes them for all other tasks.
        """
        self._incremental.invalidate()
        self._registry.keep_rooms(kept_rooms)

    def run_cycle(
        self,
        now_ms: int,
        filters: Sequence[HostFilter] = (),
        before_plan: Callable[[Sequence[HostFilter]], None] | None = None,
    ) -> PlanResult:
        """Place tasks in queue order where no filter excludes the host.

        What is placed is assumed until :meth:`release`.

        `before_plan` is called with the filters before waiting tasks are planned, and may assume slots for running
        pods.
        """
        self._registry.requeue_due(now_ms)
        self._update_history(now_ms)
        demand = self._registry.demand.refresh(len(self.planner.hosts.cluster))
        if demand is not None:
            self.planner.set_demand(demand)
        cycle_filters = self._cycle_filters(now_ms)
        if self._incremental.can_continue(now_ms) and not filters and not cycle_filters:
            return self._continue_cycle(now_ms)
        self._incremental.begin_full()
        excluded_classes = {
            number
            for number, class_key in self._classes.class_keys.items()
            if not self._partition.is_mine(class_key, now_ms)
        }
        if not self._partition.is_alone:
            self._close_other_shards(now_ms)
        self._queue.begin_cycle(now_ms, self._total_resources(), excluded_classes)
        self._now_ms = now_ms
        filters = (*filters, *cycle_filters)
        batches: list[PodBatch] = []
        self.decisions.begin()
        self._place_due(
            self._reservations.begin(self._tasks, now_ms, self._waiting_for), excluded_classes, filters, batches
        )
        reserved = self._reservations.backfill_filter(self._tasks, self._registry.kept_rooms)
        self.decisions.filters = filters if reserved is None else (*filters, reserved)
        if before_plan is not None:
            before_plan(self.decisions.filters)
        result = self.planner.plan(self, self.decisions.filters, batches)
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
        self._incremental.end_full(None if filters or not self._partition.is_alone else now_ms, result.unschedulable)
        return result

    def _continue_cycle(self, now_ms: int) -> PlanResult:
        """Plan new tasks, and of the others only those that may fit by now."""
        self._incremental.begin_continued()
        reserved = self._reservations.continue_filter(self._tasks, self._registry.kept_rooms, now_ms)
        self.decisions.filters = () if reserved is None else (reserved,)
        batches: list[PodBatch] = []
        for number in self._incremental.retryable_reservations():
            self._place_reserved(number, batches)
        result = self.planner.plan(self, self.decisions.filters, batches)
        self._incremental.end_continued(result.unschedulable)
        return PlanResult(result.placements, self._classes.unschedulable_index.tasks())

    def _place_reserved(self, number: int, batches: list[PodBatch]) -> None:
        """Place a task with a reservation for one pod first, where it fits now."""
        task, task_class = self._tasks[number], self._registry.class_of(number)
        request = task_class[0]
        if self._queue.quota_exceeded(number) is not None:
            return
        slot = self.planner.best_slot_on(self._incremental.freed, request)
        if slot is None or self.planner.is_excluded(task, request, [slot], self.decisions.filters):
            return
        if self.planner.place_at(task, request, [slot], batches):
            self._queue.commit(number)
            self._on_placed_batch(task_class, [task])

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
            if self._queue.class_of(number) in excluded_classes or self.planner.is_excluded(
                task, request, slots, filters
            ):
                # Its slots stay reserved.
                continue
            if self.planner.place_at(task, request, slots, batches):
                any_placed = True
                self._queue.commit(number)
                self._on_placed_batch(task_class, [task])
            else:
                self._reservations.on_refused(number, self._now_ms)
        return any_placed

    def _waiting_for(self, number: int) -> ReservationRequest | None:
        """Return what a task waits for; None where it does not wait for resources.

        It was placed, or a limit holds it.
        """
        if number not in self._queue or self._queue.quota_exceeded(number) is not None:
            return None
        task, (request, least, *_) = self._tasks[number], self._registry.class_of(number)
        hosts = self.planner.hosts
        among, own = self._reservations.reservable(request), self._reservations.window_claims_of(task.tenant)
        # Hosts in cool-down for such pods can be used by others.
        cooling = self.memory.hosts_in_cooldown(request.shape, request.manifest, self._now_ms)
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
        batch = self._queue.next_batch()
        if batch is None:
            return None
        tasks = itemgetter(*batch.tasks)(self._tasks) if len(batch.tasks) > 1 else (self._tasks[batch.tasks[0]],)
        task_class = self._registry.class_of(batch.tasks[0])
        self.decisions.look(tasks[0], task_class[0])
        self._next = tasks, task_class
        return TaskBatch(tasks, batch.tasks, task_class[0])

    def on_placed(self, tasks: int) -> None:
        """The first tasks of the batch were placed."""
        if self._next is None:
            raise RuntimeError("no batch was taken")
        tasks_of_batch, task_class = self._next
        self._queue.commit_batch(tasks)
        self._on_placed_batch(task_class, tasks_of_batch[:tasks])
        self._incremental.on_placed()

    def unschedulable(self, task: Task) -> None:
        """The task cannot be placed now."""
        self._queue.mark_unschedulable(task.id)
        self._classes.set_unschedulable(self._registry.class_of(task.id), task.id)

    def observe(self, observation: HostObservation) -> None:
        """Take in an observation of a host."""
        self._incremental.invalidate()
        self.memory.observe(observation)

    def leases_on(self, hosts: Container[str]) -> list[tuple[Task, Lease]]:
        """Return the leases on these hosts, assigned ones included."""
        return [(task, lease) for task in self._tasks.values() for lease in task.leases if lease.host in hosts]

    def left_alone(self, request: PodRequest, now_ms: int) -> int:
        """Return the number of hosts in cool-down for such pods."""
        return len(
            self.memory.hosts_in_cooldown(request.shape, request.manifest, now_ms) & self.planner.hosts.records.keys()
        )

    def is_responsible_for(self, task: Task, now_ms: int) -> bool:
        """Whether this scheduler looks after running pods of this task in this slot."""
        return self._partition.is_alone or self._partition.is_mine(class_key_of(PodRequest.of(task), 1, 1), now_ms)

    @property
    def is_alone(self) -> bool:
        """Whether there is no other scheduler."""
        return self._partition.is_alone

    def set_schedulers(self, accounts: Iterable[str]) -> None:
        """Set the accounts of all bonded schedulers."""
        self._incremental.invalidate()
        known = frozenset(accounts)
        self._partition.set_schedulers(known)
        self._shards.set_schedulers(known)
        if self._partition.is_alone:
            self.planner.close(np.zeros(0, dtype=np.bool_))

    def next_ms(self, now_ms: int) -> int | None:
        """Return when more may be placed although no record changes: after a refusal, a cool-down, or in a new slot."""
        slot = self.next_slot_ms(now_ms) if len(self._queue) else None
        next_cycle = self._now_ms + 1 if self._incremental.is_continuing and len(self._queue) else None
        more = (
            slot,
            next_cycle,
            self._reservations.next_ms(now_ms),
            self.memory.next_ms(now_ms) if len(self._queue) else None,
        )
        moments = [*self._registry.not_before.values(), *(moment for moment in more if moment is not None)]
        return min(moments, default=None)

    def next_slot_ms(self, now_ms: int) -> int | None:
        """Return when this scheduler may get other classes; None while it is alone."""
        return self._partition.next_ms(now_ms)

    @property
    def reserved(self) -> Mapping[int, Reservation]:
        """[task]: its reservation."""
        return self._reservations.reservations

    def reservations_binding_on(self, task: Task, now_ms: int) -> Mapping[int, Reservation]:
        """Return the reservations of others that hold against this task."""
        return self._reservations.binding_on(task, self._tasks, now_ms)

    def request_of(self, task: Task) -> PodRequest:
        """Return the request of the task's pods."""
        return self._registry.request_of(task)

    def limit(self, number: int) -> QuotaExceeded | None:
        """Return the limit of a queue or an account that keeps a task waiting."""
        return self._queue.quota_exceeded(number) if number in self._queue else None

    def queues(self) -> QueueEntitlements:
        """Return what the queues allow a task to preempt."""
        return QueueEntitlements(
            self._queue.entitlements(), lambda task: self._queue.leaf(queue_name(task), task.tenant)
        )

    def standing(self, number: int, now_ms: int) -> SchedulingStatus:
        """Return the current state of a task."""
        queued = number in self._queue
        delayed_until = self._registry.not_before.get(number)
        if not queued and delayed_until is None:
            return SchedulingStatus("placed" if self.planner.holds(number) else "unknown")
        limit = self.limit(number)
        theirs = queued and not self._partition.is_mine(
            self._classes.class_key(self._registry.class_of(number)), now_ms
        )
        reservation = self._reservations.reservations.get(number)
        return SchedulingStatus(
            "waits",
            None if limit is None else str(limit),
            delayed_until,
            theirs,
            None if reservation is None else reservation.start_ms,
        )

    def last_unschedulable(self, number: int) -> int | None:
        """Return the last task with an equal request that could not be placed."""
        return self._classes.last_unschedulable(self._registry.class_of(number)) if number in self._queue else None

    @property
    def waiting(self) -> Collection[int]:
        """The tasks in the queues."""
        return self._queue

    def task(self, number: int) -> Task | None:
        """Return the record of a task."""
        return self._tasks.get(number)

    def _close_other_shards(self, now_ms: int) -> None:
        """Close the hosts of other schedulers."""
        active = {self._partition.leader(class_key, now_ms) for class_key in self._classes.class_keys.values()}
        if not active:
            self._busy_since = now_ms
        gang = any(self._partition.is_mine(class_key, now_ms) for class_key in self._classes.gang_keys())
        names = self.planner.hosts.cluster.names
        closed = self._shards.closed(now_ms, names, active, self._busy_since, has_gang=gang)
        for room in self._registry.kept_rooms.values():
            closed[host_rows(room.hosts, self.planner.hosts.cluster)] = False
        self.planner.close(closed)

    def _update_history(self, now_ms: int) -> None:
        """Update failure scores, and requeue tasks whose manifest some hosts cannot run."""
        for host, score in self.memory.changed_scores(now_ms).items():
            self.planner.set_failure_score(host, score)
        manifests = self.memory.new_manifest_cooldowns()
        if manifests:
            for number in [number for number in self._queue if self._tasks[number].manifest in manifests]:
                self._registry.enqueue_task(self._tasks[number])

    def _cycle_filters(self, now_ms: int) -> list[HostFilter]:
        hosts = self.planner.hosts
        filters: list[HostFilter] = []
        if self.memory.next_ms(now_ms) is not None:
            filters.append(CooldownFilter(self.memory, hosts.attributes, now_ms))
        if self._classes.with_layout:
            filters.append(AntiAffinity(hosts))
        if own_hosts(hosts.attributes, self._account).any():
            filters.append(OwnHostsFilter(hosts, self._account))
        return filters

    def _on_placed_batch(self, task_class: EquivalenceClass, tasks: Sequence[Task]) -> None:
        self._registry.on_placed_batch(task_class, tasks, self._now_ms)

    def _total_resources(self) -> ResourceAmount:
        """Return the resources of hosts that are online."""
        hosts = self.planner.hosts
        if hosts.version != self._totals[0]:
            self._totals = hosts.version, self._sum_online(hosts)
        return self._totals[1]

    @staticmethod
    def _sum_online(hosts: HostTable) -> ResourceAmount:
        online, whole = hosts.attributes.online, hosts.cluster.whole
        return ResourceAmount(
            int(whole.cpu[online].sum()), int(whole.memory[online].sum()), int(whole.device[online].sum())
        )
