"""The waiting tasks that get a reservation: the first of the queue, and large ones that have waited for long."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final

from offchain.core.scheduler.reservations import Reservation, ReservationRequest, reservation_candidates
from offchain.core.values import Task, TaskState

DEPTH: Final = 4
"""Reservations for the first of the queue, and as many for large tasks that have waited for long."""

PATIENCE_MS: Final = 600_000
"""How long others may pass a task that needs several pods at once, or several GPUs of one host."""

RETRY_MS: Final = 60_000
"""A task that can never start by now, or whose slot was refused, is examined again after this time."""

_MAX_EXAMINED: Final = 256


class ReservationCandidates:
    """Large tasks by waiting time, and tasks that are postponed because a reservation is impossible."""

    def __init__(self) -> None:
        self._waiting_since: dict[int, int] = {}
        """[task]: of large tasks."""
        self._large: list[tuple[int, int]] = []
        """(since, task), the longest waiting time first; some wait no more."""
        self._new: list[tuple[int, int]] = []
        self._postponed: dict[int, int] = {}
        """[task]: until when it is not examined."""

    def add(self, task: Task) -> None:
        """Add a waiting task."""
        if is_large(task):
            since = self._waiting_since[task.id] = waiting_since_ms(task)
            self._new.append((since, task.id))

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove tasks that wait no more."""
        for number in numbers if self._waiting_since else ():
            self._waiting_since.pop(number, None)

    def postpone(self, number: int, until_ms: int) -> None:
        """Do not examine the task until then."""
        self._postponed[number] = until_ms

    def overdue_ms(self, now_ms: int) -> int | None:
        """Return when the next large task will have waited for :data:`PATIENCE_MS`."""
        at = self._overdue(now_ms)
        return self._large[at][0] + PATIENCE_MS if at < len(self._large) else None

    def choose(
        self,
        unschedulable: Iterable[int],
        kept: Mapping[int, Reservation],
        now_ms: int,
        waiting: Callable[[int], ReservationRequest | None],
    ) -> list[ReservationRequest]:
        """Return the tasks that get a reservation; `unschedulable`: tasks without a host, in queue order.

        `waiting`: what a task waits for; None where a reservation would be useless.
        """
        self._postponed = {number: until_ms for number, until_ms in self._postponed.items() if until_ms > now_ms}
        overdue = (number for _, number in islice(self._large, self._overdue(now_ms)) if number in self._waiting_since)
        order: dict[int, ReservationRequest] = {}
        for numbers, most in ((kept, len(kept)), (overdue, DEPTH), (unschedulable, DEPTH)):
            found = 0
            for number in islice(numbers, _MAX_EXAMINED):
                if found == most:
                    break
                if number in order or number in self._postponed:
                    continue
                candidate = waiting(number)
                if candidate is not None:
                    order[number] = candidate
                    found += 1
        return reservation_candidates(list(order.values()), kept, now_ms, depth=DEPTH, patience_ms=PATIENCE_MS)

    def _overdue(self, now_ms: int) -> int:
        """Return how many entries of :attr:`_large` have waited for long."""
        if self._new or len(self._large) > 2 * len(self._waiting_since) + _MAX_EXAMINED:
            waits = (
                candidate
                for candidate in (*self._large, *self._new)
                if self._waiting_since.get(candidate[1]) == candidate[0]
            )
            self._large, self._new = sorted(set(waits)), []
        return bisect_left(self._large, (now_ms - PATIENCE_MS + 1,))


def is_large(task: Task) -> bool:
    """Whether the task needs several pods at once, or several GPUs of one host."""
    return task.least > 1 or task.resources.gpus.count > 1


def waiting_since_ms(task: Task) -> int:
    """Return since when the task waits: a running task since it lost a pod, or wanted another."""
    return task.submitted_at if task.state is TaskState.QUEUED else task.changed_at
