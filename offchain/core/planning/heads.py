"""Who is looked at for a reservation: the first of the queue that found no place, and who needs much and waits long."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final

from offchain.core.scheduler.reservations import Reservation, ReservationRequest, reservation_candidates
from offchain.core.values import Task, TaskState

DEPTH: Final = 4
"""So many of the first in the queue have a reservation, and so many of those that need much and wait long."""

PATIENCE_MS: Final = 600_000
"""For so long others may pass by who needs several pods at once, or several GPUs of one host."""

HOPELESS_MS: Final = 60_000
"""Who can never start as hosts are now, or whose place was refused, is not looked at again for so long."""

_MOST_LOOKED_AT: Final = 256


class Heads:
    """Keeps those that need much, by how long they wait, and whom it is in vain to look at."""

    def __init__(self) -> None:
        self._since: dict[int, int] = {}
        """[task]: of those that need much."""
        self._big: list[tuple[int, int]] = []
        """(since, task), the longest wait first; some wait no more."""
        self._new: list[tuple[int, int]] = []
        self._aside: dict[int, int] = {}
        """[task]: until when it is not looked at."""

    def add(self, task: Task) -> None:
        """It waits."""
        if needs_much(task):
            since = self._since[task.id] = since_ms(task)
            self._new.append((since, task.id))

    def drop(self, numbers: Iterable[int]) -> None:
        """These wait no more."""
        for number in numbers if self._since else ():
            self._since.pop(number, None)

    def set_aside(self, number: int, until_ms: int) -> None:
        """Looking at it is in vain until then."""
        self._aside[number] = until_ms

    def overdue_ms(self, now_ms: int) -> int | None:
        """When the next one of those that need much has waited for long."""
        at = self._overdue(now_ms)
        return self._big[at][0] + PATIENCE_MS if at < len(self._big) else None

    def choose(
        self,
        blocked: Iterable[int],
        kept: Mapping[int, Reservation],
        now_ms: int,
        waiting: Callable[[int], ReservationRequest | None],
    ) -> list[ReservationRequest]:
        """Who is to have a reservation now; `blocked` found no place, in the order of the queue.

        `waiting`: what a task waits for; None where a reservation would be of no use to it.
        """
        self._aside = {number: until_ms for number, until_ms in self._aside.items() if until_ms > now_ms}
        overdue = (number for _, number in islice(self._big, self._overdue(now_ms)) if number in self._since)
        order: dict[int, ReservationRequest] = {}
        for numbers, most in ((kept, len(kept)), (overdue, DEPTH), (blocked, DEPTH)):
            found = 0
            for number in islice(numbers, _MOST_LOOKED_AT):
                if found == most:
                    break
                if number in order or number in self._aside:
                    continue
                one = waiting(number)
                if one is not None:
                    order[number] = one
                    found += 1
        return reservation_candidates(list(order.values()), kept, now_ms, depth=DEPTH, patience_ms=PATIENCE_MS)

    def _overdue(self, now_ms: int) -> int:
        """How many of :attr:`_big` have waited for long."""
        if self._new or len(self._big) > 2 * len(self._since) + _MOST_LOOKED_AT:
            waits = (one for one in (*self._big, *self._new) if self._since.get(one[1]) == one[0])
            self._big, self._new = sorted(set(waits)), []
        return bisect_left(self._big, (now_ms - PATIENCE_MS + 1,))


def needs_much(task: Task) -> bool:
    """Whether it needs several pods at once, or several GPUs of one host."""
    return task.least > 1 or task.resources.gpus.count > 1


def since_ms(task: Task) -> int:
    """Since when it waits: of a task that runs, since it lost a pod, or wanted another."""
    return task.submitted_at if task.state is TaskState.QUEUED else task.changed_at
