"""Execution of preemptions: chooses victims for unschedulable tasks and reserves the victims' hosts for them.

The chain checks each call again: that the victims are spot tasks, run, have a lower priority and were not preempted
before, and that the task fits in their place. After the grace period one call, which any account may make, ends the
victims and assigns the task. The reserved hosts follow from the chain's records, so all schedulers reserve the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from offchain.core.scheduler.assumed_pods import placement_at
from offchain.core.scheduler.entitlements import may_preempt
from offchain.core.scheduler.placement import PlanResult
from offchain.core.scheduler.preemption import (
    PreemptionDecision,
    PreemptionPolicy,
    PreemptionRefused,
    QueueEntitlements,
    ReservedHostsFilter,
)
from offchain.core.scheduler.preemption_planner import PreemptionPlanner
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import PodPlacement, Task
from offchain.schema.chain_types._generated_chain import calls
from offchain.services.log import EventLog
from offchain.services.submitter import PendingCalls, SubmitCall

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


class PreemptionExecutor:
    """Submits preemptions through `perform`; `running` holds the pending calls.

    Pass it every record of a task that the scheduler state receives.
    """

    def __init__(self, state: SchedulerState, perform: SubmitCall, running: PendingCalls, log: EventLog) -> None:
        self._state = state
        self._perform = perform
        self._running = running
        self._log = log
        self._planner = PreemptionPlanner(state)
        self._heads: dict[_QueueAccount, list[_SortKey]] | None = None
        """[queue and account]: a heap of waiting tasks by priority, then age. Tasks that no longer wait are removed
        lazily. None while there are no spot tasks."""
        self._not_before: dict[int, int] = {}
        self._shares_not_before: dict[_QueueAccount, int] = {}
        self._why: dict[int, str] = {}
        """[task]: why it preempts no task."""

    def put_task(self, task: Task) -> None:
        """Update from a record of a task that is not final."""
        self._planner.put_task(task)
        if not may_preempt(task):
            self._not_before.pop(task.id, None)
            self._why.pop(task.id, None)
        elif task.asks_from > self._not_before.get(task.id, 0):
            self._not_before[task.id] = task.asks_from
        if may_preempt(task) and self._heads is not None:
            heapq.heappush(self._heads.setdefault(_queue_account(task), []), _sort_key(task))

    def task_gone(self, number: int) -> None:
        """Remove a task that is final."""
        self._planner.task_gone(number)
        self._not_before.pop(number, None)
        self._why.pop(number, None)

    def why(self, number: int) -> str | None:
        """Return why a waiting task preempts no other; None: it does, or no victims were searched for."""
        return self._why.get(number)

    def host_filters(self, now_ms: int) -> tuple[ReservedHostsFilter, ...]:
        """Return the filter of reserved hosts for a cycle that starts now; none if no host is reserved."""
        return self._planner.host_filters(now_ms)

    def preempt_for(self, made: PlanResult, now_ms: int) -> None:
        """Preempt spot tasks for the first unschedulable task for which there are victims."""
        if not self._planner.spot:
            self._heads = None
        if not self._planner.spot or not made.unschedulable:
            return
        blocked = {one.request for one in made.unschedulable}
        fleet = self._state.planner.hosts
        kept = self._planner.reserved_hosts.reserved(now_ms)
        queues: QueueEntitlements | None = None

        def is_searching(task: Task) -> bool:
            known = task.id in kept or task.id in self._planner.pending or now_ms < self._not_before.get(task.id, 0)
            return not known and self._state.request_of(task) in blocked and self._state.limit(task.id) is None

        for task in self._first(is_searching, now_ms):
            queues = queues or self._planner.entitlements(now_ms)
            found = self._planner.choose(task, now_ms, queues)
            self._not_before[task.id] = now_ms + SEARCH_AGAIN_MS
            if isinstance(found, PreemptionRefused):
                self._why[task.id] = queues.refusal_text(task, found)
                if found is PreemptionRefused.SHARES:
                    self._shares_not_before[_queue_account(task)] = now_ms + SHARES_AGAIN_MS
            else:
                self._why.pop(task.id, None)
                self._planner.pending[task.id] = frozenset(victim.task for victim in found.victims)
                request = self._state.request_of(task)
                pods = [
                    placement_at(fleet, request, pod, *place)
                    for pod, place in zip(task.open_pods, found.places, strict=False)
                ]
                self._running.spawn(self._carry_out(task, found, pods, now_ms))
                return

    def next_ms(self, now_ms: int) -> int | None:
        """Return when a search is due, or a reserved host is released, although no record changes."""
        again = (*self._not_before.values(), *self._shares_not_before.values()) if self._planner.spot else ()
        ends = (room.until_ms + 1 for room in self._planner.reserved_hosts.reserved(now_ms).values())
        return min((moment for moment in (*again, *ends) if moment > now_ms), default=None)

    def _first(self, is_searching: Callable[[Task], bool], now_ms: int) -> list[Task]:
        """Return the first searching task of each queue and account, of these the ones with the highest priorities."""
        self._shares_not_before = {part: when for part, when in self._shares_not_before.items() if now_ms < when}
        heads = self._heads
        if heads is None or sum(map(len, heads.values())) > 2 * len(self._state.waiting) + MAX_STALE:
            heads = self._heads = {}
            for task in map(self._state.task, self._state.waiting):
                if task is not None and may_preempt(task):
                    heads.setdefault(_queue_account(task), []).append(_sort_key(task))
            for heap in heads.values():
                heapq.heapify(heap)
        open_ = (heap for part, heap in heads.items() if part not in self._shares_not_before)
        found = (self._first_of(heap, is_searching) for heap in open_)
        return heapq.nsmallest(MAX_SEARCHES, (task for task in found if task is not None), key=_sort_key)

    def _first_of(self, heap: list[_SortKey], is_searching: Callable[[Task], bool]) -> Task | None:
        later: set[_SortKey] = set()
        first: Task | None = None
        while heap and first is None and len(later) < MAX_SKIPPED:
            place = heapq.heappop(heap)
            task = self._state.task(place[-1])
            if task is None or not may_preempt(task):
                continue
            later.add(place)
            if is_searching(task):
                first = task
        for place in later:
            heapq.heappush(heap, place)
        return first

    async def _carry_out(
        self, task: Task, found: PreemptionDecision, pods: Sequence[PodPlacement], now_ms: int
    ) -> None:
        numbers = [victim.task for victim in found.victims]
        victims = "+".join(f"{number}.{self._planner.spot[number].generation}" for number in numbers)
        # The same tasks may be preempted again after a preemption that was not carried out.
        name = f"preempt:{task.id}:{task.generation}.{task.asks_from}:{victims}"
        self._log.info("preempt", task=task.id, victims=victims)
        verdict = await self._perform(name, calls.tasks_preempt(wanting=task.id, victims=numbers, pods=pods))
        del self._planner.pending[task.id]
        if verdict.done:
            self._planner.history = self._planner.history.after(found, now_ms, PreemptionPolicy())
        self._log.info("preempted" if verdict.done else "refused", act=name, reason=verdict.refusal)


def _queue_account(task: Task) -> _QueueAccount:
    """Return the queue and account that share an entitlement."""
    return task.queue, task.tenant


def _sort_key(task: Task) -> _SortKey:
    """Return the sort key of a waiting task."""
    return -task.priority, task.submitted_at, task.id
