"""Whose reservation does not stand in the way of whom.

A reservation is a promise against those that come later. It does not hold against a task of strictly higher priority
that the queue would serve sooner (of the same queue, in `default` of the same account), nor, where its holder is spot
and so could be made to leave, against one of anybody. Priorities count with what tasks have gained by waiting, so that
whoever waits for long is passed no more. What a task has others leave for is its own, too, whatever was reserved there
for tasks of lower priority.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from offchain.core.scheduler.availability import Allocation, AvailabilityProfile
from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.core.scheduler.reservations import Reservation, ReservationRequest, reserve
from offchain.core.scheduler.resources import queue_name
from offchain.core.values import Task

_NOBODY = frozenset[int]()


class Ranks:
    """Who is above whom, by the definitions of the queues."""

    def __init__(self, queues: QueueTree) -> None:
        self._queues = queues

    def above(self, task: Task, holder: Task, now_ms: int) -> bool:
        """Whether the task's priority is strictly higher, as it came and as it is now."""
        return task.priority > holder.priority and self._now(task, now_ms) > self._now(holder, now_ms)

    def gives_way(self, holder: Task, task: Task, now_ms: int) -> bool:
        """Whether what is reserved for `holder` does not stand in the way of `task`."""
        return self.above(task, holder, now_ms) and (holder.spot or self._part(holder) == self._part(task))

    def _now(self, task: Task, now_ms: int) -> float:
        ageing = self._queues.ageing(self._part(task)[0])
        return ageing.effective_priority(task.priority, task.submitted_at, now_ms)

    def _part(self, task: Task) -> tuple[str, str]:
        return self._queues.leaf_of(queue_name(task), task.tenant)


class Yielding:
    """Of a round. `kept`: the reservations when it began. `rooms`: [task], rows of hosts that others leave for it."""

    def __init__(
        self,
        ranks: Ranks,
        tasks: Mapping[int, Task],
        kept: Mapping[int, Reservation],
        rooms: Mapping[int, frozenset[int]],
        now_ms: int,
    ) -> None:
        self._ranks = ranks
        self._tasks = tasks
        self._kept = dict(kept)
        self._rooms = rooms
        self._now_ms = now_ms
        self._least = min((tasks[number].priority for number in kept), default=0)
        self.passed: set[int] = set()
        """Whose reservation somebody was not kept by: it may have to be another one now."""

    def to(self, task: Task) -> frozenset[int]:
        """The tasks whose reservations give way to this one, wherever they are or where others leave for it.

        Its own, too, where it could start in room of theirs.
        """
        if task.priority <= self._least:
            return _NOBODY
        rule = self._ranks.above if task.id in self._rooms else self._below
        found = frozenset(number for number in self._kept if rule(task, self._tasks[number], self._now_ms))
        return found | {task.id} if found and task.id in self._kept else found

    def claims(self, task: Task, numbers: frozenset[int]) -> list[Allocation]:
        """What of these reservations does not stand in the task's way."""
        found = []
        for number in sorted(numbers):
            everywhere = number == task.id or self._below(task, self._tasks[number], self._now_ms)
            room = self._rooms.get(task.id, _NOBODY)
            found += [claim for claim in self._kept[number].allocations() if everywhere or claim.host in room]
        return found

    def key(self, task: Task) -> tuple[int, frozenset[int]]:
        """The same for tasks to which the same gives way."""
        return (task.id if task.id in self._rooms else -1), self.to(task)

    def _below(self, task: Task, holder: Task, now_ms: int) -> bool:
        return self._ranks.gives_way(holder, task, now_ms)


def reserve_over(
    profile: AvailabilityProfile,
    wanted: Sequence[ReservationRequest],
    kept: Mapping[int, Reservation],
    below: Callable[[int], Sequence[int]],
    waiting: Callable[[int], ReservationRequest | None],
) -> tuple[dict[int, Reservation], dict[int, Reservation]]:
    """Reservations for those wanted, and what is kept then: of others, those give way to whom one starts sooner.

    `profile` has what is kept. `below`: [task], whose reservations give way to it. Where they do they are looked for
    anew behind it.
    """
    made: dict[int, Reservation] = {}
    kept = dict(kept)
    for one in wanted:
        found = reserve(profile, [one], {})
        under = [number for number in below(one.task) if number in kept]
        if under:
            behind = [claim for mine in found.values() for claim in mine.allocations()]
            theirs = [claim for number in under for claim in kept[number].allocations()]
            profile.remove([*behind, *theirs])
            ahead = reserve(profile, [one], {})
            if _sooner(ahead.get(one.task), found.get(one.task)):
                found = ahead
                again = [waits for number in under if (waits := waiting(number)) is not None]
                moved = reserve(profile, again, {number: kept[number] for number in under})
                kept = {number: mine for number, mine in kept.items() if number not in under} | moved
            else:
                profile.remove([claim for mine in ahead.values() for claim in mine.allocations()])
                profile.add([*behind, *theirs])
        made |= found
        kept |= found
    return made, kept


def _sooner(one: Reservation | None, other: Reservation | None) -> bool:
    return one is not None and (other is None or one.start_ms < other.start_ms)
