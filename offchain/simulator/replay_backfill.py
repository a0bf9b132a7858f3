"""Reservations and backfill in a replay, by the scheduler's own earliest starts and availability profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile

from offchain.core.scheduler.availability import Allocation, AvailabilityProfile, LeaseEnds
from offchain.core.scheduler.backfill import Backfill
from offchain.core.scheduler.cluster import Cluster, HostSlot
from offchain.core.scheduler.columns import Bools, Ints
from offchain.core.scheduler.reservations import (
    DEPTH,
    PATIENCE_MS,
    Reservation,
    ReservationRequest,
    reservation_candidates,
    reserve,
)
from offchain.simulator.orders import TaskRun
from offchain.simulator.trace import Arrival


class ReservingBackfill:
    """Uses the worker's depth and patience.

    Create it while nothing runs on the cluster, and report all starts and ends.

    The profile is computed anew when a task has ended; until then free resources only fall.
    """

    def __init__(self, cluster: Cluster, *, depth: int = DEPTH, patience_ms: int = PATIENCE_MS) -> None:
        self._cluster = cluster
        self._depth = depth
        self._patience_ms = patience_ms
        self._now_ms = 0
        self._leases = LeaseEnds()
        self._reservations: dict[int, Reservation] = {}
        self._tasks: dict[int, Arrival] = {}
        """Tasks with a reservation."""
        self._large: dict[int, Arrival] = {}
        """Waiting tasks that need much at once, in order of arrival."""
        self._profile: AvailabilityProfile | None = None
        """None: a task has ended since it was computed."""
        self._backfill: Backfill | None = None
        """None: it is to be made from the profile."""

    def on_arrival(self, arrival: Arrival) -> None:
        if arrival.pods > 1 or arrival.shape.gpus > 1:
            self._large[arrival.number] = arrival

    def begin(self, now_ms: int, is_within_limits: Callable[[Arrival], bool]) -> Sequence[Arrival]:
        self._now_ms = now_ms
        for arrival in [arrival for arrival in self._tasks.values() if not is_within_limits(arrival)]:
            self._remove(arrival)
        if self._profile is None:
            wanted = self._heads([*self._tasks.values(), *self._overdue(is_within_limits)])
            if wanted:
                self._set_reservations(reserve(self._current_profile(), wanted, self._reservations))
        return [arrival for task, arrival in self._tasks.items() if self._reservations[task].start_ms <= now_ms]

    def release(self, arrival: Arrival) -> tuple[HostSlot, ...]:
        return self._remove(arrival).places

    def allowed(self, arrival: Arrival, devices: Ints) -> Bools | None:
        """Exclude hosts where something is reserved that the task would still be using."""
        if not self._reservations:
            return None
        return self._current_backfill().allowed_hosts(arrival.shape, devices, self._now_ms + arrival.max_ms)

    def on_assume(self, arrival: Arrival, place: HostSlot) -> None:
        if self._reservations:
            self._current_backfill().place(place.host, arrival.shape, place.devices, self._now_ms + arrival.max_ms)

    def on_forget(self) -> None:
        self._backfill = None

    def on_blocked(self, arrival: Arrival) -> tuple[HostSlot, ...] | None:
        """Reserve resources for the task if possible, and return its slots if they are free now."""
        large = arrival.number in self._large
        if arrival.number in self._reservations or len(self._reservations) >= self._depth * (1 + large):
            return None
        waiting = _as_waiting(arrival)
        if waiting not in self._heads([*self._tasks.values(), arrival]):
            return None
        if self._profile is None or self._profile.now_ms != self._now_ms:
            self._profile = None
            self._set_reservations(
                reserve(self._current_profile(), [_as_waiting(one) for one in self._tasks.values()], self._reservations)
            )
        found = reserve(self._current_profile(), [waiting], {})
        if not found:
            return None
        self._backfill = None
        self._reservations |= found
        self._tasks[arrival.number] = arrival
        return self.release(arrival) if self._reservations[arrival.number].start_ms == self._now_ms else None

    def on_left(self, arrival: Arrival) -> None:
        self._large.pop(arrival.number, None)
        if arrival.number in self._reservations:
            self._remove(arrival)

    def on_placed(self, run: TaskRun) -> None:
        """The task holds its slots until its maximum duration."""
        ends_ms = run.start_ms + run.arrival.max_ms
        claims = [Allocation(at.host, run.arrival.shape, at.devices, 0, ends_ms) for at in run.slots]
        self._leases.put_task(run.arrival.number, claims)
        if not self._reservations:
            self._profile = self._backfill = None
        elif self._profile is not None:
            self._profile.add(claims)

    def on_ended(self, run: TaskRun) -> None:
        """Others may start sooner now."""
        self._leases.drop((run.arrival.number,))
        self._profile = self._backfill = None
        """None: a task has ended since it was computed."""

    def _current_profile(self) -> AvailabilityProfile:
        if self._profile is None:
            self._profile = AvailabilityProfile(self._cluster, self._now_ms, self._leases)
            self._backfill = None
        return self._profile

    def _current_backfill(self) -> Backfill:
        if self._backfill is None:
            self._backfill = Backfill(self._current_profile())
        return self._backfill

    def _remove(self, arrival: Arrival) -> Reservation:
        reservation = self._reservations.pop(arrival.number)
        del self._tasks[arrival.number]
        if self._profile is not None:
            self._profile.remove(reservation.allocations())
        self._backfill = None
        return reservation

    def _set_reservations(self, found: dict[int, Reservation]) -> None:
        known = {**self._large, **self._tasks}
        self._reservations, self._tasks = found, {task: known[task] for task in found}

    def _overdue(self, is_within_limits: Callable[[Arrival], bool]) -> Iterator[Arrival]:
        """Return the oldest large tasks that have waited for longer than the patience, at most `depth`."""
        late = takewhile(lambda one: self._now_ms - one.arrival_ms >= self._patience_ms, self._large.values())
        return islice(
            (one for one in late if one.number not in self._reservations and is_within_limits(one)), self._depth
        )

    def _heads(self, order: Sequence[Arrival]) -> list[ReservationRequest]:
        waiting = [_as_waiting(arrival) for arrival in order]
        return reservation_candidates(
            waiting, self._reservations, self._now_ms, depth=self._depth, patience_ms=self._patience_ms
        )


def _as_waiting(arrival: Arrival) -> ReservationRequest:
    return ReservationRequest(arrival.number, arrival.shape, arrival.pods, arrival.max_ms, arrival.arrival_ms)
