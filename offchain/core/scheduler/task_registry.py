"""The records of tasks: which of them wait in the queues, and what they hold."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from offchain.core.scheduler.assumed_pods import PodBatch
from offchain.core.scheduler.bulk_enqueue import BulkEnqueue, is_new_and_waiting
from offchain.core.scheduler.demand import DemandEstimator
from offchain.core.scheduler.equivalence import EquivalenceClass, EquivalenceClasses
from offchain.core.scheduler.fair_share import FairShareQueue, QueuedTask
from offchain.core.scheduler.host_health import FailureHistory
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.pod_request import (
    PodRequest,
    ResourceAmount,
    ResourceUsage,
    queue_name,
    shape_of,
    sharing_account,
    task_amount,
    task_usage,
)
from offchain.core.scheduler.preemption import ReservedHosts
from offchain.core.scheduler.queue_usage import ChargeTarget
from offchain.core.scheduler.reservation_manager import ReservationManager
from offchain.core.scheduler.reservations import is_large
from offchain.core.values import LeaseState, Resources, Task, TaskState


class UsageAccounting:
    """Charges what each task holds or has assumed to its queue and account."""

    def __init__(self, queue: FairShareQueue, planner: Planner) -> None:
        self._queue = queue
        self._planner = planner
        self._holdings: dict[int, ResourceUsage] = {}
        self._placed: dict[int, Task] = {}
        """Tasks of which exactly all open pods of this record are charged."""

    def update(self, task: Task) -> None:
        """Charge the task's leases and assumed pods."""
        pods = len(task.leases) + len(self._planner.assumed_pods(task.id))
        self._charge(task.id, task_usage(task, pods) if pods else None)

    def remove(self, numbers: Iterable[int]) -> None:
        """Release everything that these tasks are charged with."""
        charged: list[tuple[int, ...]] = []
        places: dict[tuple[bytes, str], ChargeTarget] = {}
        amounts: dict[tuple[int, int], tuple[Resources, ResourceAmount]] = {}
        for number in numbers:
            task = self._placed.pop(number, None)
            if task is None:
                held = self._holdings.pop(number, None)
                if held is not None:
                    charged.append((*self._queue.target(held.queue, held.account), *held.amount))
                continue
            # Records share equal values: comparing identities is faster.
            what = id(task.resources), len(task.open_pods)
            if what not in amounts:
                amounts[what] = task.resources, task_amount(task, what[1])
            who = task.queue, task.tenant
            if who not in places:
                places[who] = self._queue.target(queue_name(task), task.tenant)
            charged.append((*places[who], *amounts[what][1]))
        self._queue.release_all(charged)

    def on_placed(self, tasks: Sequence[Task], numbers: Sequence[int]) -> list[int]:
        """Note that the queue has charged these tasks (equal requests) for all of their open pods.

        Return those that held something before.
        """
        if self._holdings.keys().isdisjoint(numbers) and self._placed.keys().isdisjoint(numbers):
            self._placed.update(zip(numbers, tasks, strict=True))
            return []
        held = []
        for task in tasks:
            before, more = self._pop(task.id), _full_holding(task)
            if before is not None:
                held.append(task.id)
                more = more._replace(amount=more.amount.plus(before.amount))
            self._holdings[task.id] = more
        return held

    def _charge(self, number: int, holding: ResourceUsage | None) -> None:
        before = self._pop(number)
        if before != holding:
            if before is not None:
                self._queue.release(before)
            if holding is not None:
                self._queue.charge(holding)
        if holding is not None:
            self._holdings[number] = holding

    def _pop(self, number: int) -> ResourceUsage | None:
        """Return and forget what the task was charged with."""
        placed = self._placed.pop(number, None)
        return self._holdings.pop(number, None) if placed is None else _full_holding(placed)


def _full_holding(task: Task) -> ResourceUsage:
    """Return what its open pods hold."""
    return task_usage(task, len(task.open_pods))


_FEW_DEADLINES: Final = 64
"""Entries of tasks that are gone are removed only when there are more than this many."""

_CHUNK: Final = 1 << 14
"""Tasks that are added at once: temporary lists stay small beside what is kept."""


class TaskRegistry:
    """The waiting tasks and those that hold something, by the chain's records and assumed pods."""

    def __init__(
        self, planner: Planner, reservations: ReservationManager, queue: FairShareQueue, memory: FailureHistory
    ) -> None:
        self.tasks: dict[int, Task] = {}
        self.classes = EquivalenceClasses()
        self.demand = DemandEstimator()
        self.not_before: dict[int, int] = {}
        """[task]: delayed until then, ms of chain time."""
        self.reserved_hosts: Mapping[int, ReservedHosts] = {}
        """Hosts kept for tasks by preemption; each of these tasks is a class of its own."""
        self._planner = planner
        self._reservations = reservations
        self._queue = queue
        self._memory = memory
        self._usage = UsageAccounting(queue, planner)
        self._bulk = BulkEnqueue(queue, self.classes, reservations.windows)
        self._deadlines: list[tuple[int, int]] = []

    def put_task(self, task: Task) -> None:
        """Add or replace the record of a task that is not final."""
        before = self.tasks.get(task.id)
        if before is None and task.open_pods:
            shape = shape_of(task.resources, task.placement, task.takes_over)
            self.demand.observe(shape, len(task.open_pods), account=sharing_account(task))
        for lease in task.leases:
            if lease.state is LeaseState.ACTIVE:
                self._planner.record_manifest(task.manifest, lease.host)
        self.tasks[task.id] = task
        held = self._planner.placed_pods(task.id)
        if held:
            self._planner.set_assumed(task.id, assumed=held <= set(task.open_pods))
        if held or task.leases or (before is not None and before.leases):
            self._reservations.on_changed((task.id,))
        if before is not None or task.leases:
            self._usage.update(task)
        self.enqueue_task(task)

    def put_tasks(self, tasks: Iterable[Task]) -> None:
        """Add or replace records; new waiting tasks are added in bulk."""
        left = iter(tasks)
        while some := list(islice(left, _CHUNK)):
            self._put_some(some)

    def _put_some(self, tasks: Sequence[Task]) -> None:
        new, known = [], self.tasks
        for task in tasks:
            number = task.id
            known_already = (
                number in known
                or number in self.not_before
                or number in self.reserved_hosts
                or self._planner.holds(number)
            )
            if known_already or not is_new_and_waiting(task):
                self.put_task(task)
            else:
                known[number] = task
                new.append(task)
        for task_class, same in self._bulk.enqueue(new, self.request_of, self._has_history):
            shape = shape_of(same[0].resources, same[0].placement)
            self.demand.observe(shape, task_class[2], len(same), sharing_account(same[0]))
            self._remove_former_accounts(self._queue.class_of(same[0].id))
            if is_large(same[0]):
                for task in same:
                    self._reservations.on_waiting(task)
        for task in new:
            self._note_deadline(task)

    def remove_tasks(self, numbers: Sequence[int]) -> None:
        """Remove final tasks."""
        self._planner.release(numbers)
        self._reservations.on_changed(numbers)
        for number in self._queue.among(numbers):
            self.remove(number)
        self._usage.remove(numbers)
        for number in numbers:
            self.tasks.pop(number, None)
        for number in self.not_before.keys() & numbers:
            del self.not_before[number]

    def release(self, number: int) -> None:
        """Forget the placement of this task, which is final or was refused."""
        self._planner.release((number,))
        self._reservations.on_changed((number,))
        task = self.tasks.get(number)
        if task is not None:
            self._usage.update(task)
            self.enqueue_task(task)

    def delay(self, number: int, until_ms: int) -> None:
        """Do not place this task before then, because the chain has refused it."""
        self.not_before[number] = until_ms
        self.remove(number)

    def set_reserved_hosts(self, reserved_hosts: Mapping[int, ReservedHosts]) -> None:
        """Set the hosts that are kept for these tasks."""
        changed, self.reserved_hosts = self.reserved_hosts.keys() ^ reserved_hosts.keys(), dict(reserved_hosts)
        for number in sorted(changed & self.tasks.keys()):
            self.enqueue_task(self.tasks[number])

    def enqueue_task(self, task: Task) -> None:
        """Enqueue the task, or remove it from the queue, by its record and its assumed pods."""
        if not task.open_pods or self._planner.holds(task.id) or task.id in self.not_before:
            self.remove(task.id)
            return
        task_class = self._bulk.class_for(task, self.request_of(task))
        amount = task_amount(task, len(task.open_pods))
        if task.id in self._queue:
            current = QueuedTask(
                task.id,
                queue_name(task),
                task.tenant,
                self._queue.class_of(task.id),
                amount,
                task.priority,
                task.submitted_at,
            )
            if self.class_of(task.id) == task_class and self._queue.matches(current):
                return
            self.remove(task.id)
        number = self.classes.join(task_class, (task.tenant,))
        self._queue.add(
            QueuedTask(task.id, queue_name(task), task.tenant, number, amount, task.priority, task.submitted_at)
        )
        self._remove_former_accounts(number)
        self._reservations.on_waiting(task)
        if task.state is TaskState.QUEUED:
            self._note_deadline(task)

    def _note_deadline(self, task: Task) -> None:
        if task.deadline is None:
            return
        heapq.heappush(self._deadlines, (task.deadline, task.id))
        if len(self._deadlines) > 2 * len(self.tasks) + _FEW_DEADLINES:
            # Most are those of tasks that are gone, or were entered several times.
            waiting = (one for one in self.tasks.values() if one.state is TaskState.QUEUED)
            self._deadlines = [(one.deadline, one.id) for one in waiting if one.deadline is not None]
            heapq.heapify(self._deadlines)

    def _remove_former_accounts(self, class_number: int) -> None:
        """Remove accounts without waiting tasks from a class, where they are most of its accounts."""
        if self.classes.has_former_accounts(class_number):
            accounts = {self.tasks[number].tenant for number in self._queue.tasks_of(class_number)}
            self.classes.accounts[class_number] = accounts

    def request_of(self, task: Task) -> PodRequest:
        """Return the request of the task's pods.

        With the manifest only where hosts differ for it, as each costs a cache entry.
        """
        request = PodRequest.of(task, task.id if task.id in self.reserved_hosts else None)
        return replace(request, manifest=task.manifest) if self._has_history(task.manifest) else request

    def _has_history(self, manifest: bytes) -> bool:
        """Whether hosts differ for pods with this manifest."""
        return manifest in self._planner.hosts.attributes.recent_manifests or self._memory.has_failed(manifest)

    def class_of(self, number: int) -> EquivalenceClass:
        """Return the equivalence class of a waiting task."""
        return self.classes.by_number(self._queue.class_of(number))

    def remove(self, number: int) -> None:
        """Remove the task from the queue."""
        if number not in self._queue:
            return
        task_class = self.class_of(number)
        self._queue.remove(number)
        self._reservations.on_removed(number)
        self.classes.leave(task_class, (number,))

    def requeue_due(self, now_ms: int) -> None:
        """Requeue tasks whose delay is over, and remove those whose deadline has passed."""
        for number in [number for number, when in self.not_before.items() if when <= now_ms]:
            del self.not_before[number]
            task = self.tasks.get(number)
            if task is not None:
                self.enqueue_task(task)
        while self._deadlines and self._deadlines[0][0] < now_ms:
            _, number = heapq.heappop(self._deadlines)
            if number in self.tasks and self.is_late(number, now_ms):
                self.remove(number)

    def is_late(self, number: int, now_ms: int) -> bool:
        """Whether the deadline for the task's start has passed."""
        task = self.tasks[number]
        return task.state is TaskState.QUEUED and task.deadline is not None and now_ms > task.deadline

    def on_placed_batch(self, task_class: EquivalenceClass, tasks: Sequence[Task], now_ms: int) -> None:
        """Account for tasks of one class that were placed together."""
        batch: PodBatch = self._planner.batch(tasks[0].id)
        again = dict.fromkeys(self._usage.on_placed(tasks, batch.tasks))
        if len(batch.hosts) < batch.pods_each * len(tasks):
            # Of the last task, not all pods were placed.
            again[tasks[-1].id] = None
        for number in again:
            self._usage.update(self.tasks[number])
        self._reservations.on_placed(batch, tasks, now_ms)
        self.classes.leave(task_class, batch.tasks)
