"""Reservations and backfill for a replay, as the scheduler makes them (offchain/core/scheduler/reservations.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile

from offchain.core.placing.board import Place
from offchain.core.placing.cluster import Cluster
from offchain.core.placing.free import Bools, Ints
from offchain.core.planning.heads import DEPTH, PATIENCE_MS
from offchain.core.replay.arrival import Arrival
from offchain.core.replay.order import Run
from offchain.core.scheduler.availability import Allocation, AvailabilityProfile, LeaseEnds
from offchain.core.scheduler.backfill import Backfill
from offchain.core.scheduler.reservations import Reservation, ReservationRequest, reservation_candidates, reserve


class Reserved:
    """With the worker's depth and patience. Made when nothing runs on the cluster; told of all that starts and ends.

    What is free at which time is computed anew when something has ended; until then it only falls.
    """

    def __init__(self, cluster: Cluster, *, depth: int = DEPTH, patience_ms: int = PATIENCE_MS) -> None:
        self._cluster = cluster
        self._depth = depth
        self._patience_ms = patience_ms
        self._now_ms = 0
        self._leases = LeaseEnds()
        self._kept: dict[int, Reservation] = {}
        self._holders: dict[int, Arrival] = {}
        """Those for whom room is kept."""
        self._large: dict[int, Arrival] = {}
        """Those that wait and need much at once, in order of arrival."""
        self._profile: AvailabilityProfile | None = None
        """None: something has ended since it was made."""
        self._room: Backfill | None = None
        """None: it is to be made from the profile."""

    def came(self, arrival: Arrival) -> None:
        """See :class:`offchain.core.replay.order.Backfill`, here and below."""
        if arrival.pods > 1 or arrival.shape.gpus > 1:
            self._large[arrival.number] = arrival

    def begin(self, now_ms: int, may: Callable[[Arrival], bool]) -> Sequence[Arrival]:
        """What is reserved is looked for anew where something has ended."""
        self._now_ms = now_ms
        for arrival in [arrival for arrival in self._holders.values() if not may(arrival)]:
            self._drop(arrival)
        if self._profile is None:
            wanted = self._heads([*self._holders.values(), *self._overdue(may)])
            if wanted:
                self._keep(reserve(self._made(), wanted, self._kept))
        return [arrival for task, arrival in self._holders.items() if self._kept[task].start_ms <= now_ms]

    def release(self, arrival: Arrival) -> tuple[Place, ...]:
        """Its places are free for itself, as for others."""
        return self._drop(arrival).places

    def allowed(self, arrival: Arrival, devices: Ints) -> Bools | None:
        """Where nothing is reserved that it would still be using."""
        if not self._kept:
            return None
        return self._backfill().allowed_hosts(arrival.shape, devices, self._now_ms + arrival.most_ms)

    def taken(self, arrival: Arrival, place: Place) -> None:
        """It holds its part of what is left to those that pass."""
        if self._kept:
            self._backfill().place(place.host, arrival.shape, place.devices, self._now_ms + arrival.most_ms)

    def given(self) -> None:
        """As it was before."""
        self._room = None

    def blocked(self, arrival: Arrival) -> tuple[Place, ...] | None:
        """A reservation, if there is one to give; one that begins now is its places."""
        large = arrival.number in self._large
        if arrival.number in self._kept or len(self._kept) >= self._depth * (1 + large):
            return None
        waiting = _waiting(arrival)
        if waiting not in self._heads([*self._holders.values(), arrival]):
            return None
        if self._profile is None or self._profile.now_ms != self._now_ms:
            self._profile = None
            self._keep(reserve(self._made(), [_waiting(one) for one in self._holders.values()], self._kept))
        found = reserve(self._made(), [waiting], {})
        if not found:
            return None
        self._room = None
        self._kept |= found
        self._holders[arrival.number] = arrival
        return self.release(arrival) if self._kept[arrival.number].start_ms == self._now_ms else None

    def left(self, arrival: Arrival) -> None:
        """Nothing is kept for it any more."""
        self._large.pop(arrival.number, None)
        if arrival.number in self._kept:
            self._drop(arrival)

    def placed(self, run: Run) -> None:
        """It holds its places until its maximum at the latest."""
        ends_ms = run.start_ms + run.arrival.most_ms
        claims = [Allocation(at.host, run.arrival.shape, at.devices, 0, ends_ms) for at in run.places]
        self._leases.put_task(run.arrival.number, claims)
        if not self._kept:
            self._profile = self._room = None
        elif self._profile is not None:
            self._profile.add(claims)

    def ended(self, run: Run) -> None:
        """What it leaves may let others start sooner."""
        self._leases.drop((run.arrival.number,))
        self._profile = self._room = None

    def _made(self) -> AvailabilityProfile:
        if self._profile is None:
            self._profile = AvailabilityProfile(self._cluster, self._now_ms, self._leases)
            self._room = None
        return self._profile

    def _backfill(self) -> Backfill:
        if self._room is None:
            self._room = Backfill(self._made())
        return self._room

    def _drop(self, arrival: Arrival) -> Reservation:
        kept = self._kept.pop(arrival.number)
        del self._holders[arrival.number]
        if self._profile is not None:
            self._profile.remove(kept.allocations())
        self._room = None
        return kept

    def _keep(self, found: dict[int, Reservation]) -> None:
        known = {**self._large, **self._holders}
        self._kept, self._holders = found, {task: known[task] for task in found}

    def _overdue(self, may: Callable[[Arrival], bool]) -> Iterator[Arrival]:
        """The oldest that wait for a reservation longer than they are to; no more than can have one."""
        late = takewhile(lambda one: self._now_ms - one.arrival_ms >= self._patience_ms, self._large.values())
        return islice((one for one in late if one.number not in self._kept and may(one)), self._depth)

    def _heads(self, order: Sequence[Arrival]) -> list[ReservationRequest]:
        waiting = [_waiting(arrival) for arrival in order]
        return reservation_candidates(
            waiting, self._kept, self._now_ms, depth=self._depth, patience_ms=self._patience_ms
        )


def _waiting(arrival: Arrival) -> ReservationRequest:
    return ReservationRequest(arrival.number, arrival.shape, arrival.pods, arrival.most_ms, arrival.arrival_ms)
