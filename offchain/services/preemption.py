"""Preemption of spot tasks for a waiting task of higher priority, whose hosts are then reserved for it.

The chain checks again that the victims are running spot tasks of lower priority without an earlier notice, and that the
task fits in their place. After the notice, one call, which anybody may submit, ends them and assigns the task. What is
reserved is read from the task's records, so that all schedulers reserve the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from offchain.core.planning.desk import Desk
from offchain.core.planning.placements import placement_at
from offchain.core.planning.planner import Round
from offchain.core.planning.reserved import lasts_ms
from offchain.core.preempting.asking import Queues, victims
from offchain.core.preempting.rooms import GRACE_MS, Kept, Room, Rooms
from offchain.core.preempting.rules import Past, Preemption, Rules
from offchain.core.preempting.victims import Refused
from offchain.core.preempting.who import may_ask, may_leave
from offchain.core.values import PodPlacement, Task, TaskState
from offchain.schema.chain_types._generated_chain import calls
from offchain.services.log import EventLog
from offchain.services.submitter import PendingCalls, SubmitCall

MOST_ASKING = 4
"""For how many waiting tasks, each the first of its queue and account, victims are searched in one step."""
MOST_PASSED = 8
"""How many tasks that may not search now are skipped in each queue."""
LOOK_AGAIN_MS = 10_000
"""The pause after a search without victims, or after a refusal."""
SHARES_AGAIN_MS = 60_000
"""The pause of a queue and account whose shares forbid a preemption, so that others are searched for first."""
MOST_STALE = 1024
"""How many more entries than waiting tasks the heap may hold before it is rebuilt."""

_Part = tuple[bytes, str]
_Place = tuple[int, int, int]


class PreemptionExecutor:
    """Carries out preemptions. It receives each record of a task after the desk; `running` holds its calls."""

    def __init__(self, desk: Desk, perform: SubmitCall, running: PendingCalls, log: EventLog) -> None:
        self._desk = desk
        self._perform = perform
        self._running = running
        self._log = log
        self._spot: dict[int, Task] = {}
        """Tasks that may be preempted."""
        self._heads: dict[_Part, list[_Place]] | None = None
        """[part]: a heap of waiting tasks, the highest priority first, then the oldest.

        Entries of tasks that no longer wait are removed lazily. None while there are no possible victims.
        """
        self._rooms = Rooms()
        self._past = Past()
        self._asking: dict[int, frozenset[int]] = {}
        """[task]: its victims, until the chain has answered."""
        self._not_before: dict[int, int] = {}
        self._parts_not_before: dict[_Part, int] = {}
        self._told: dict[int, Task] = {}
        """Running tasks with a notice."""
        self._why: dict[int, str] = {}
        """[task]: why no task is preempted for it."""

    def put_task(self, task: Task) -> None:
        self._rooms.put(task)
        if may_leave(task):
            self._spot[task.id] = task
        else:
            self._spot.pop(task.id, None)
        if task.state is TaskState.RUNNING and task.preemption is not None:
            self._told[task.id] = task
        else:
            self._told.pop(task.id, None)
        if not may_ask(task):
            self._not_before.pop(task.id, None)
            self._why.pop(task.id, None)
        elif task.asks_from > self._not_before.get(task.id, 0):
            self._not_before[task.id] = task.asks_from
        if may_ask(task) and self._heads is not None:
            heapq.heappush(self._heads.setdefault(_part(task), []), _place(task))

    def task_gone(self, number: int) -> None:
        self._rooms.gone(number)
        self._spot.pop(number, None)
        self._told.pop(number, None)
        self._past = self._past.ended(number)
        self._not_before.pop(number, None)
        self._why.pop(number, None)

    def why(self, number: int) -> str | None:
        """Return why no task is preempted for a waiting task; None if one is, or victims were not searched."""
        return self._why.get(number)

    def gates(self, now_ms: int) -> tuple[Kept, ...]:
        """Return the filter of reserved hosts; empty where none are reserved, because filters slow the cycle down."""
        kept = self._rooms.kept(now_ms)
        self._desk.apart(kept)
        return (Kept(kept, self._desk.planner.fleet.cluster),) if kept else ()

    def ask(self, made: Round, now_ms: int) -> None:
        """Preempt spot tasks for the first of the blocked tasks for which there are victims."""
        if not self._spot:
            self._heads = None
        if not self._spot or not made.blocked:
            return
        blocked = {one.want for one in made.blocked}
        fleet = self._desk.planner.fleet
        kept = self._rooms.kept(now_ms)
        queues: Queues | None = None

        def looks(task: Task) -> bool:
            known = task.id in kept or task.id in self._asking or now_ms < self._not_before.get(task.id, 0)
            return not known and self._desk.want(task) in blocked and self._desk.limit(task.id) is None

        for task in self._first(looks, now_ms):
            asked = frozenset[int]().union(*self._asking.values())
            spot = [one for one in self._spot.values() if one.id not in asked]
            gate = Kept({**kept, **self._reserved(task, now_ms)}, fleet.cluster)
            queues = queues or self._queues(kept)
            found = victims(task, spot, fleet, now_ms, self._past, gate.closed_to(task.id), queues)
            self._not_before[task.id] = now_ms + LOOK_AGAIN_MS
            if isinstance(found, Refused):
                self._why[task.id] = queues.why(task, found)
                if found is Refused.SHARES:
                    self._parts_not_before[_part(task)] = now_ms + SHARES_AGAIN_MS
            else:
                self._why.pop(task.id, None)
                self._asking[task.id] = frozenset(victim.task for victim in found.victims)
                want = self._desk.want(task)
                pods = [
                    placement_at(fleet, want, pod, *place)
                    for pod, place in zip(task.open_pods, found.places, strict=False)
                ]
                self._running.spawn(self._carry_out(task, found, pods, now_ms))
                return

    def _queues(self, kept: Iterable[int]) -> Queues:
        """Return the queues as if all victims had left and all tasks that preempt them had started."""
        asked = {number for numbers in self._asking.values() for number in numbers}
        leaving = *self._told.values(), *(self._spot[number] for number in asked & self._spot.keys())
        coming = (self._desk.task(number) for number in {*kept, *self._asking} if number in self._desk.waiting)
        found = self._desk.queues()
        found.on_their_way(leaving, (task for task in coming if task is not None))
        return found

    def _reserved(self, task: Task, now_ms: int) -> dict[int, Room]:
        """Return hosts with reservations for others: a task that could not stay there preempts nobody there.

        It could stay if it ends before they begin, or has priority over them.
        """
        names = self._desk.planner.fleet.cluster.names
        over_ms = now_ms + Rules().notice_ms + GRACE_MS + lasts_ms(task)
        reserved = self._desk.reserved_against(task, now_ms).items()
        return {
            number: Room(frozenset(names[place.host] for place in found.places), 0)
            for number, found in reserved
            if found.start_ms < over_ms
        }

    def next_ms(self, now_ms: int) -> int | None:
        """Return when a search or a reservation becomes due although no record changes."""
        again = (*self._not_before.values(), *self._parts_not_before.values()) if self._spot else ()
        ends = (room.until_ms + 1 for room in self._rooms.kept(now_ms).values())
        return min((moment for moment in (*again, *ends) if moment > now_ms), default=None)

    def _first(self, looks: Callable[[Task], bool], now_ms: int) -> list[Task]:
        """Return the first waiting task of each queue and account that may search, those of the highest priorities."""
        self._parts_not_before = {part: when for part, when in self._parts_not_before.items() if now_ms < when}
        heads = self._heads
        if heads is None or sum(map(len, heads.values())) > 2 * len(self._desk.waiting) + MOST_STALE:
            heads = self._heads = {}
            for task in map(self._desk.task, self._desk.waiting):
                if task is not None and may_ask(task):
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
            if task is None or not may_ask(task):
                continue
            later.add(place)
            if looks(task):
                first = task
        for place in later:
            heapq.heappush(heap, place)
        return first

    async def _carry_out(self, task: Task, found: Preemption, pods: Sequence[PodPlacement], now_ms: int) -> None:
        numbers = [victim.task for victim in found.victims]
        told = "+".join(f"{number}.{self._spot[number].generation}" for number in numbers)
        # The same tasks may be told again after a notice that came to nothing.
        name = f"preempt:{task.id}:{task.generation}.{task.asks_from}:{told}"
        self._log.info("preempt", task=task.id, victims=told)
        verdict = await self._perform(name, calls.tasks_preempt(wanting=task.id, victims=numbers, pods=pods))
        del self._asking[task.id]
        if verdict.done:
            # Who leaves is known from the records, and may be told again when it has run anew.
            self._past = replace(self._past.after(found, now_ms, Rules()), leaving=frozenset())
        self._log.info("preempted" if verdict.done else "refused", act=name, reason=verdict.refusal)


def _part(task: Task) -> _Part:
    """Return the queue and account of a task."""
    return task.queue, task.tenant


def _place(task: Task) -> _Place:
    """Return the sort key of a waiting task."""
    return -task.priority, task.submitted_at, task.id
