"""Has spot tasks told to leave for a task of higher priority that finds no room, and keeps their room for it.

The chain checks it all again: that they are spot, run, have a lower priority and were not told before, and that the
task fits in their place. When the notice is over it ends them and assigns the task in one call, which anybody may make.
What is kept is read from its records, so that all schedulers keep the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence

from offchain.core.scheduler.assumed_pods import placement_at
from offchain.core.scheduler.entitlements import is_preemptible, may_preempt
from offchain.core.scheduler.placement import PlanResult
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
from offchain.core.scheduler.reservation_filter import max_hold_ms
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import PodPlacement, Task, TaskState
from offchain.schema.chain_types._generated_chain import calls
from offchain.services.log import EventLog
from offchain.services.submitter import PendingCalls, SubmitCall

MOST_ASKING = 4
"""For so many waiting tasks, each the first of its queue and account, victims are looked for in one step."""
MOST_PASSED = 8
"""Of each, so many that do not look now are passed over for one behind them."""
LOOK_AGAIN_MS = 10_000
"""Who found none, or was refused, looks for victims again after so long."""
SHARES_AGAIN_MS = 60_000
"""Where shares stood against it, all of the same queue and account do: they must not keep others from looking."""
MOST_STALE = 1024
"""So many more entries than tasks that wait are kept before the heap is made anew."""

_Part = tuple[bytes, str]
_Place = tuple[int, int, int]


class PreemptionExecutor:
    """`running` has the acts under way. Give it every record of a task that the desk is given."""

    def __init__(self, desk: SchedulerState, perform: SubmitCall, running: PendingCalls, log: EventLog) -> None:
        self._desk = desk
        self._perform = perform
        self._running = running
        self._log = log
        self._spot: dict[int, Task] = {}
        """Those that may be told to leave."""
        self._heads: dict[_Part, list[_Place]] | None = None
        """[part]: a heap of those that wait: the highest priority first, then the oldest. Those that wait no more go
        late. None while there is nobody to leave."""
        self._rooms = ReservedHostsTracker()
        self._past = PreemptionHistory()
        self._asking: dict[int, frozenset[int]] = {}
        """[task]: whom it asks to leave, until the chain has answered."""
        self._not_before: dict[int, int] = {}
        self._parts_not_before: dict[_Part, int] = {}
        self._told: dict[int, Task] = {}
        """Those that were told to leave and still run."""
        self._why: dict[int, str] = {}
        """[task]: why nobody leaves for it."""

    def put_task(self, task: Task) -> None:
        """Take in a record of a task that is not final."""
        self._rooms.put_task(task)
        if is_preemptible(task):
            self._spot[task.id] = task
        else:
            self._spot.pop(task.id, None)
        if task.state is TaskState.RUNNING and task.preemption is not None:
            self._told[task.id] = task
        else:
            self._told.pop(task.id, None)
        if not may_preempt(task):
            self._not_before.pop(task.id, None)
            self._why.pop(task.id, None)
        elif task.asks_from > self._not_before.get(task.id, 0):
            self._not_before[task.id] = task.asks_from
        if may_preempt(task) and self._heads is not None:
            heapq.heappush(self._heads.setdefault(_part(task), []), _place(task))

    def task_gone(self, number: int) -> None:
        """It is final."""
        self._rooms.task_gone(number)
        self._spot.pop(number, None)
        self._told.pop(number, None)
        self._past = self._past.ended(number)
        self._not_before.pop(number, None)
        self._why.pop(number, None)

    def why(self, number: int) -> str | None:
        """Why nobody leaves for a task that waits; None: somebody does, or it was not looked for."""
        return self._why.get(number)

    def gates(self, now_ms: int) -> tuple[ReservedHostsFilter, ...]:
        """What a round starting now keeps closed; none where no room is kept, for gates make rounds slower."""
        kept = self._rooms.reserved(now_ms)
        self._desk.keep_rooms(kept)
        return (ReservedHostsFilter(kept, self._desk.planner.hosts.cluster),) if kept else ()

    def ask(self, made: PlanResult, now_ms: int) -> None:
        """Make room for the first of those that found none, if there is anybody to leave for it."""
        if not self._spot:
            self._heads = None
        if not self._spot or not made.unschedulable:
            return
        blocked = {one.request for one in made.unschedulable}
        fleet = self._desk.planner.hosts
        kept = self._rooms.reserved(now_ms)
        queues: QueueEntitlements | None = None

        def looks(task: Task) -> bool:
            known = task.id in kept or task.id in self._asking or now_ms < self._not_before.get(task.id, 0)
            return not known and self._desk.request_of(task) in blocked and self._desk.limit(task.id) is None

        for task in self._first(looks, now_ms):
            asked = frozenset[int]().union(*self._asking.values())
            spot = [one for one in self._spot.values() if one.id not in asked]
            gate = ReservedHostsFilter({**kept, **self._reserved(task, now_ms)}, fleet.cluster)
            queues = queues or self._queues(kept)
            found = choose_victims(task, spot, fleet, now_ms, self._past, gate.excluded_for(task.id), queues)
            self._not_before[task.id] = now_ms + LOOK_AGAIN_MS
            if isinstance(found, PreemptionRefused):
                self._why[task.id] = queues.refusal_text(task, found)
                if found is PreemptionRefused.SHARES:
                    self._parts_not_before[_part(task)] = now_ms + SHARES_AGAIN_MS
            else:
                self._why.pop(task.id, None)
                self._asking[task.id] = frozenset(victim.task for victim in found.victims)
                want = self._desk.request_of(task)
                pods = [
                    placement_at(fleet, want, pod, *place)
                    for pod, place in zip(task.open_pods, found.places, strict=False)
                ]
                self._running.spawn(self._carry_out(task, found, pods, now_ms))
                return

    def _queues(self, kept: Iterable[int]) -> QueueEntitlements:
        """What the queues say, as if all had left who were told or are being told, and those had come who asked."""
        asked = {number for numbers in self._asking.values() for number in numbers}
        leaving = *self._told.values(), *(self._spot[number] for number in asked & self._spot.keys())
        coming = (self._desk.task(number) for number in {*kept, *self._asking} if number in self._desk.waiting)
        found = self._desk.queues()
        found.apply_pending(leaving, (task for task in coming if task is not None))
        return found

    def _reserved(self, task: Task, now_ms: int) -> dict[int, ReservedHosts]:
        """Hosts of which something is reserved for others: nobody leaves there for a task that could not stay.

        It can where it is over before that begins, and where it is above those for whom that is.
        """
        names = self._desk.planner.hosts.cluster.names
        over_ms = now_ms + PreemptionPolicy().notice_ms + GRACE_MS + max_hold_ms(task)
        reserved = self._desk.reservations_binding_on(task, now_ms).items()
        return {
            number: ReservedHosts(frozenset(names[place.host] for place in found.places), 0)
            for number, found in reserved
            if found.start_ms < over_ms
        }

    def next_ms(self, now_ms: int) -> int | None:
        """When there may be somebody to ask, or room is kept no more, although no record changes."""
        again = (*self._not_before.values(), *self._parts_not_before.values()) if self._spot else ()
        ends = (room.until_ms + 1 for room in self._rooms.reserved(now_ms).values())
        return min((moment for moment in (*again, *ends) if moment > now_ms), default=None)

    def _first(self, looks: Callable[[Task], bool], now_ms: int) -> list[Task]:
        """Of each queue and account the first that waits and looks for victims, of those the highest priorities."""
        self._parts_not_before = {part: when for part, when in self._parts_not_before.items() if now_ms < when}
        heads = self._heads
        if heads is None or sum(map(len, heads.values())) > 2 * len(self._desk.waiting) + MOST_STALE:
            heads = self._heads = {}
            for task in map(self._desk.task, self._desk.waiting):
                if task is not None and may_preempt(task):
                    heads.setdefault(_part(task), []).append(_place(task))
            for heap in heads.values():
                heapq.heapify(heap)
        open_ = (heap for part, heap in heads.items() if part not in self._parts_not_before)
        found = (self._first_of(heap, looks) for heap in open_)
        return heapq.nsmallest(MOST_ASKING, (task for task in found if task is not None), key=_place)

    def _first_of(self, heap: list[_Place], looks: Callable[[Task], bool]) -> Task | None:
        later: set[_Place] = set()
        first: Task | None = None
        while heap and first is None and len(later) < MOST_PASSED:
            place = heapq.heappop(heap)
            task = self._desk.task(place[-1])
            if task is None or not may_preempt(task):
                continue
            later.add(place)
            if looks(task):
                first = task
        for place in later:
            heapq.heappush(heap, place)
        return first

    async def _carry_out(
        self, task: Task, found: PreemptionDecision, pods: Sequence[PodPlacement], now_ms: int
    ) -> None:
        numbers = [victim.task for victim in found.victims]
        told = "+".join(f"{number}.{self._spot[number].generation}" for number in numbers)
        # The same tasks may be told again after a notice that came to nothing.
        name = f"preempt:{task.id}:{task.generation}.{task.asks_from}:{told}"
        self._log.info("preempt", task=task.id, victims=told)
        verdict = await self._perform(name, calls.tasks_preempt(wanting=task.id, victims=numbers, pods=pods))
        del self._asking[task.id]
        if verdict.done:
            self._past = self._past.after(found, now_ms, PreemptionPolicy())
        self._log.info("preempted" if verdict.done else "refused", act=name, reason=verdict.refusal)


def _part(task: Task) -> _Part:
    """Tasks with the same are in the same part of the queues."""
    return task.queue, task.tenant


def _place(task: Task) -> _Place:
    """Where it stands among those that wait."""
    return -task.priority, task.submitted_at, task.id
