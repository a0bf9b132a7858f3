"""Preemption for the tasks of a cycle that could not be placed, and the hosts that are reserved for preemptors.

The chain checks each call again: that the victims are spot tasks, run, have a lower priority and were not preempted
before, and that the task fits in their place. After the grace period one call, which any account may make, ends the
victims and assigns the task. The reserved hosts follow from the chain's records, so all schedulers reserve the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from offchain.core.scheduler.assumed_pods import placement_at
from offchain.core.scheduler.backfill import max_hold_ms
from offchain.core.scheduler.entitlements import is_preemptible, may_preempt
from offchain.core.scheduler.events import PreemptTasks
from offchain.core.scheduler.fair_share import FairShareQueue
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.plan import PlanResult
from offchain.core.scheduler.pod_request import queue_name
from offchain.core.scheduler.preemption import (
    GRACE_MS,
    PreemptionDecision,
    PreemptionHistory,
    PreemptionPolicy,
    PreemptionRefused,
    QueueEntitlements,
    ReservedHosts,
    ReservedHostsFilter,
    ReservedHostsTracker,
    choose_victims,
)
from offchain.core.scheduler.reservation_manager import ReservationManager
from offchain.core.scheduler.task_registry import TaskRegistry
from offchain.core.values import Task, TaskState

MAX_SEARCHES = 4
"""Maximum number of tasks, each the first of its queue and account, for which one step searches for victims."""
MAX_SKIPPED = 8
"""Maximum number of tasks of a queue and account that are skipped because they do not search now."""
SEARCH_AGAIN_MS = 10_000
"""Pause before the next search for a task without victims, or whose call was refused."""
SHARES_AGAIN_MS = 60_000
"""Pause for a whole queue and account that its share kept from preempting, so that others get their searches."""
MAX_STALE = 1024
"""Number of stale entries after which the heaps are rebuilt."""

_QueueAccount = tuple[bytes, str]
_SortKey = tuple[int, int, int]


class PreemptionPlanner:
    """Follows the records of all tasks, and searches victims for a few unschedulable tasks at a time."""

    def __init__(
        self, hosts: HostTable, registry: TaskRegistry, queue: FairShareQueue, reservations: ReservationManager
    ) -> None:
        self._hosts = hosts
        self._registry = registry
        self._queue = queue
        self._reservations = reservations
        self._spot: dict[int, Task] = {}
        """Tasks that may be preempted."""
        self._heads: dict[_QueueAccount, list[_SortKey]] | None = None
        """[queue and account]: a heap of waiting tasks by priority, then age. Tasks that no longer wait are removed
        lazily. None while there are no spot tasks."""
        self._reserved_hosts = ReservedHostsTracker()
        self._past = PreemptionHistory()
        self._pending: dict[int, tuple[PreemptionDecision, int]] = {}
        """[task]: its preemption and the time of the decision, until the chain has executed or refused the call."""
        self._not_before: dict[int, int] = {}
        self._shares_not_before: dict[_QueueAccount, int] = {}
        self._preempted: dict[int, Task] = {}
        """Preempted tasks that still run."""
        self._why: dict[int, str] = {}
        """[task]: why it preempts no task."""

    def put_task(self, task: Task) -> None:
        """Update from a record of a task that is not final."""
        self._reserved_hosts.put_task(task)
        if is_preemptible(task):
            self._spot[task.id] = task
        else:
            self._spot.pop(task.id, None)
        if task.state is TaskState.RUNNING and task.preemption is not None:
            self._preempted[task.id] = task
        else:
            self._preempted.pop(task.id, None)
        if not may_preempt(task):
            self._not_before.pop(task.id, None)
            self._why.pop(task.id, None)
        elif task.asks_from > self._not_before.get(task.id, 0):
            self._not_before[task.id] = task.asks_from
        if may_preempt(task) and self._heads is not None:
            heapq.heappush(self._heads.setdefault(_queue_account(task), []), _sort_key(task))

    def task_gone(self, number: int) -> None:
        """Remove a task that is final."""
        self._reserved_hosts.task_gone(number)
        self._spot.pop(number, None)
        self._preempted.pop(number, None)
        self._past = self._past.ended(number)
        self._not_before.pop(number, None)
        self._why.pop(number, None)

    def why(self, number: int) -> str | None:
        """Return why a waiting task preempts no other; None: it does, or no victims were searched for."""
        return self._why.get(number)

    def reserved(self, now_ms: int) -> Mapping[int, ReservedHosts]:
        """Return the hosts that are reserved now, by preemptor."""
        return self._reserved_hosts.reserved(now_ms)

    def plan(self, result: PlanResult, now_ms: int) -> PreemptTasks | None:
        """Return a preemption for the first unschedulable task for which there are victims."""
        if not self._spot:
            self._heads = None
            return None
        if not result.unschedulable:
            return None
        blocked = {one.request for one in result.unschedulable}
        kept = self.reserved(now_ms)
        queues: QueueEntitlements | None = None

        def is_searching(task: Task) -> bool:
            known = task.id in kept or task.id in self._pending or now_ms < self._not_before.get(task.id, 0)
            return (
                not known
                and self._registry.request_of(task) in blocked
                and (task.id not in self._queue or self._queue.quota_exceeded(task.id) is None)
            )

        for task in self._first(is_searching, now_ms):
            queues = queues or self.entitlements(now_ms)
            found = self.choose(task, now_ms, queues)
            self._not_before[task.id] = now_ms + SEARCH_AGAIN_MS
            if isinstance(found, PreemptionDecision):
                self._why.pop(task.id, None)
                self._pending[task.id] = found, now_ms
                return self._command(task, found)
            self._why[task.id] = queues.refusal_text(task, found)
            if found is PreemptionRefused.SHARES:
                self._shares_not_before[_queue_account(task)] = now_ms + SHARES_AGAIN_MS
        return None

    def preview(self, task: Task, now_ms: int) -> tuple[Sequence[Task], str] | None:
        """Return the tasks that a waiting task would preempt now; without any, the reason why its share allows none.

        None: it may not preempt, or there are no victims.
        """
        if not may_preempt(task) or task.id not in self._queue or self._queue.quota_exceeded(task.id) is not None:
            return None
        queues = self.entitlements(now_ms)
        found = self.choose(task, now_ms, queues)
        if isinstance(found, PreemptionDecision):
            return [self._spot[number] for number in sorted(victim.task for victim in found.victims)], ""
        return ((), queues.refusal_text(task, found)) if found is PreemptionRefused.SHARES else None

    def choose(self, task: Task, now_ms: int, queues: QueueEntitlements) -> PreemptionDecision | PreemptionRefused:
        """Return whom to preempt for an unschedulable task. `queues`: the result of :meth:`entitlements`."""
        pending = self._pending_victims()
        spot = [one for one in self._spot.values() if one.id not in pending]
        reserved = {**self.reserved(now_ms), **self._binding_reservations(task, now_ms)}
        excluded = ReservedHostsFilter(reserved, self._hosts.cluster).excluded_for(task.id)
        return choose_victims(task, spot, self._hosts, now_ms, self._past, excluded, queues)

    def finished(self, number: int, *, accepted: bool) -> None:
        """Note that the chain has executed or refused the preemption for this task."""
        decision, decided_ms = self._pending.pop(number)
        if accepted:
            self._past = self._past.after(decision, decided_ms, PreemptionPolicy())
            if number not in self._registry.tasks:
                self._past = self._past.ended(number)

    def _command(self, task: Task, found: PreemptionDecision) -> PreemptTasks:
        request = self._registry.request_of(task)
        pods = tuple(
            placement_at(self._hosts, request, pod, *place)
            for pod, place in zip(task.open_pods, found.places, strict=False)
        )
        return PreemptTasks(task, tuple(self._spot[victim.task] for victim in found.victims), pods)

    def _pending_victims(self) -> set[int]:
        return {victim.task for decision, _ in self._pending.values() for victim in decision.victims}

    def entitlements(self, now_ms: int) -> QueueEntitlements:
        """Return the entitlements as if all announced and pending preemptions had been carried out."""
        leaving = *self._preempted.values(), *(self._spot[one] for one in self._pending_victims() & self._spot.keys())
        preemptors = [number for number in {*self.reserved(now_ms), *self._pending} if number in self._queue]
        found = QueueEntitlements(
            self._queue.entitlements(), lambda task: self._queue.leaf(queue_name(task), task.tenant)
        )
        found.apply_pending(leaving, (self._registry.tasks[number] for number in preemptors))
        return found

    def _binding_reservations(self, task: Task, now_ms: int) -> dict[int, ReservedHosts]:
        """Return the hosts with reservations that bind `task` and start before its end, by the reservation's task.

        Preempting there would be useless, because the reservation excludes the task.
        """
        names = self._hosts.cluster.names
        over_ms = now_ms + PreemptionPolicy().notice_ms + GRACE_MS + max_hold_ms(task)
        reserved = self._reservations.binding_on(task, self._registry.tasks, now_ms).items()
        return {
            number: ReservedHosts(frozenset(names[place.host] for place in found.places), 0)
            for number, found in reserved
            if found.start_ms < over_ms
        }

    def next_ms(self, now_ms: int) -> int | None:
        """Return when a search is due, or a reserved host is released, although no record changes."""
        again = (*self._not_before.values(), *self._shares_not_before.values()) if self._spot else ()
        ends = (room.until_ms + 1 for room in self._reserved_hosts.reserved(now_ms).values())
        return min((moment for moment in (*again, *ends) if moment > now_ms), default=None)

    def _first(self, is_searching: Callable[[Task], bool], now_ms: int) -> list[Task]:
        """Return the first searching task of each queue and account, of these the ones with the highest priorities."""
        self._shares_not_before = {part: when for part, when in self._shares_not_before.items() if now_ms < when}
        heads = self._heads
        if heads is None or sum(map(len, heads.values())) > 2 * len(self._queue) + MAX_STALE:
            heads = self._heads = {}
            for task in (self._registry.tasks[number] for number in self._queue):
                if may_preempt(task):
                    heads.setdefault(_queue_account(task), []).append(_sort_key(task))
            for heap in heads.values():
                heapq.heapify(heap)
        open_ = (heap for part, heap in heads.items() if part not in self._shares_not_before)
        found = (self._first_of(heap, is_searching) for heap in open_)
        first = heapq.nsmallest(MAX_SEARCHES, (task for task in found if task is not None), key=_sort_key)
        for part in [part for part, heap in heads.items() if not heap]:
            del heads[part]
        return first

    def _first_of(self, heap: list[_SortKey], is_searching: Callable[[Task], bool]) -> Task | None:
        later: set[_SortKey] = set()
        first: Task | None = None
        while heap and first is None and len(later) < MAX_SKIPPED:
            place = heapq.heappop(heap)
            task = self._registry.tasks.get(place[-1])
            if task is None or not may_preempt(task):
                continue
            later.add(place)
            if is_searching(task):
                first = task
        for place in later:
            heapq.heappush(heap, place)
        return first


def _queue_account(task: Task) -> _QueueAccount:
    """Return the queue and account that share an entitlement."""
    return task.queue, task.tenant


def _sort_key(task: Task) -> _SortKey:
    """Return the sort key of a waiting task."""
    return -task.priority, task.submitted_at, task.id
