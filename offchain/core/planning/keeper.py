"""What running tasks hold until when, and the reservations of those that wait, kept from round to round.

Little is computed before a reservation is asked for: until then it is only remembered what has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.layouts import closed_beside
from offchain.core.fleet.rules import allowed
from offchain.core.fleet.want import Want, shape_of
from offchain.core.placing.free import MOST_DEVICES, Bools, bits
from offchain.core.planning.ahead import Ahead
from offchain.core.planning.heads import HOPELESS_MS, Heads, needs_much
from offchain.core.planning.placements import Batch
from offchain.core.planning.planner import Planner
from offchain.core.planning.reserved import START_MS, Reserved, lasts_ms
from offchain.core.planning.window_claims import ALL, WindowClaims
from offchain.core.planning.yielding import Ranks, Yielding, reserve_over
from offchain.core.scheduler.availability import Allocation, AvailabilityProfile, LeaseEnds
from offchain.core.scheduler.availability_kernels import FOREVER, AllocationColumn
from offchain.core.scheduler.preemption import ReservedHosts, host_rows
from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.core.scheduler.reservation_windows import ReservationWindow, ReservationWindows
from offchain.core.scheduler.reservations import Reservation, ReservationRequest, reserve
from offchain.core.values import Host, Lease, LeaseState, Task
from offchain.schema.chain_types.escrow import ends_at

_TRIES: Final = 8
"""So often others are looked at in a round in place of those who can never start."""

_MOST_OPEN: Final = 256
"""For so many different wishes it is remembered on which hosts something can be reserved."""

_MOST_NEW: Final = 10_000
"""So much may have changed before it is taken in although nobody asks for it."""

_Waits = Callable[[int], ReservationRequest | None]


class Keeper:
    """`planner` has the hosts, and what is on its way to them. `queues` say whose reservation gives way to whom."""

    def __init__(self, planner: Planner, queues: QueueTree, windows: Sequence[ReservationWindow] = ()) -> None:
        self._planner = planner
        self._ranks = Ranks(queues)
        self.windows = ReservationWindows(windows)
        self._window_claims = WindowClaims(self.windows, planner.fleet)
        self._heads = Heads()
        self._ends = LeaseEnds()
        self._ahead = Ahead()
        """Who was placed and is not in :attr:`_ends` yet."""
        self._stale: set[int] = set()
        self._kept: dict[int, Reservation] = {}
        self._again: Reserved | None = None
        self._profile: AvailabilityProfile | None = None
        """With all that is reserved, from :meth:`begin` to :meth:`end`; None where nothing is."""
        self._open_at = -1
        """How often hosts had changed when the next two were found."""
        self._of_one_kind: Bools = np.zeros(0, dtype=np.bool_)
        self._open: dict[Want, Bools] = {}
        """What :meth:`may_reserve` has found."""
        self._passed: set[int] = set()
        """Whose reservation somebody was not kept by since they were last looked at."""

    @property
    def kept(self) -> Mapping[int, Reservation]:
        """Who has a reservation."""
        return self._kept

    def waits(self, task: Task) -> None:
        """It waits for a place."""
        self._heads.add(task)

    def waits_no_more(self, number: int) -> None:
        """It has one, or is gone."""
        self._heads.drop((number,))
        if self._kept.pop(number, None) is not None:
            # What was reserved for it is for others in this moment already.
            self._again = None

    def changed(self, numbers: Iterable[int]) -> None:
        """What these tasks hold may not be what it was."""
        self._stale.update(numbers)

    def placed(self, batch: Batch, tasks: Sequence[Task], now_ms: int) -> None:
        """Pods of these, all of the batch, have a place now, and they wait no more."""
        numbers = batch.tasks
        self._ahead.add(batch, tasks, now_ms)
        batch.placed_ms = now_ms
        if needs_much(tasks[0]):
            self._heads.drop(numbers)
        for number in self._kept.keys() & numbers:
            del self._kept[number]
            # What was reserved for it is for others in this moment already.
            self._again = None

    def begin(self, tasks: Mapping[int, Task], now_ms: int, waiting: _Waits) -> list[Reservation]:
        """A round begins: who is to start where it is reserved. Ask for :meth:`gate` when these have their places."""
        self._profile = self._again = None
        if len(self._stale) + len(self._ahead) > _MOST_NEW:
            self._follow(tasks, now_ms)
        if not self._kept and not self.windows.ahead(now_ms):
            return []
        self._profile = self._made(tasks, now_ms)
        wanted = [one for number in self._kept if (one := waiting(number)) is not None]
        self._kept = self._look_again(self._profile, wanted)
        return [one for one in self._kept.values() if one.start_ms == now_ms]

    def refused(self, number: int, now_ms: int) -> None:
        """It cannot go there, by a rule that reservations do not know of: such as its disk, or a price."""
        mine = self._kept.pop(number)
        self._heads.set_aside(number, now_ms + HOPELESS_MS)
        if self._profile is not None:
            self._profile.remove(mine.allocations())

    def gate(self, tasks: Mapping[int, Task], rooms: Mapping[int, ReservedHosts]) -> Reserved | None:
        """Keeps what is reserved from others for the rest of this round; None where nothing is.

        `rooms`: what others leave for these tasks.
        """
        profile = self._profile
        if profile is None or not (self._kept or self.windows.ahead(profile.now_ms)):
            return None
        cluster = self._planner.fleet.cluster
        rows = {task: frozenset(map(int, host_rows(room.hosts, cluster))) for task, room in rooms.items()}
        yielding = Yielding(self._ranks, tasks, self._kept, rows, profile.now_ms)
        self._passed = yielding.passed
        return Reserved(profile, self.windows.open_to, self._window_claims.of, yielding)

    def against(self, task: Task, tasks: Mapping[int, Task], now_ms: int) -> dict[int, Reservation]:
        """What is reserved for others, and not for less important ones: nobody leaves there for this task."""
        return {
            number: mine
            for number, mine in self._kept.items()
            if number != task.id and not self._ranks.above(task, tasks[number], now_ms)
        }

    def again(self, tasks: Mapping[int, Task], rooms: Mapping[int, ReservedHosts], now_ms: int) -> Reserved | None:
        """The same for more rounds of the moment of the last one, in which all reservations stay as they are."""
        if self._again is None and (self._kept or self.windows.ahead(now_ms)):
            self._profile = self._made(tasks, now_ms)
            for one in self._kept.values():
                self._profile.add(one.allocations())
            passed = self._passed
            self._again = self.gate(tasks, rooms)
            self._passed |= passed
            self._profile = None
        return self._again

    def own_of(self, account: str) -> tuple[Allocation, ...]:
        """What windows reserve for this account."""
        return tuple(self._window_claims.of(self.windows.open_to(account)))

    def end(self, tasks: Mapping[int, Task], blocked: Sequence[int], now_ms: int, waiting: _Waits) -> list[Reservation]:
        """A round ends: reserve for those who are first of who found no place. Who can start now after all.

        That happens where only other devices of a host will do than those which a pod would have taken by itself.
        """
        self._profile = None
        self._window_claims.follow(now_ms)
        profile: AvailabilityProfile | None = None
        found: dict[int, Reservation] = {}
        for _ in range(_TRIES):
            wanted = self._heads.choose(blocked, self._kept, now_ms, waiting)
            new = [one for one in wanted if one.task not in self._kept]
            if not new:
                break
            if profile is None:
                profile = self._made(tasks, now_ms)
                self._kept = self._look_again(profile, [one for one in wanted if one.task in self._kept])
            below = partial(self._below, tasks, now_ms)
            made, self._kept = reserve_over(profile, new, self._kept, below, waiting)
            found |= made
            hopeless = [one.task for one in new if one.task not in made]
            for number in hopeless:
                self._heads.set_aside(number, now_ms + HOPELESS_MS)
            if not hopeless:
                break
        return [one for one in found.values() if one.start_ms == now_ms]

    def may_reserve(self, want: Want) -> Bools:
        """[host]: whether something of it can be reserved for such a pod; to be read only."""
        fleet = self._planner.fleet
        if self._open_at != fleet.changes:
            self._open_at, self._open, self._of_one_kind = fleet.changes, {}, of_one_kind(fleet)
        found = self._open.get(want)
        if found is None:
            found = allowed(want, fleet.facts) & (fleet.cluster.whole.disk >= want.shape.disk_gib)
            found &= ~closed_beside(want, fleet)
            if want.shape.gpus:
                found &= self._of_one_kind
            if len(self._open) < _MOST_OPEN:
                self._open[want] = found
        return found

    def next_ms(self, now_ms: int) -> int | None:
        """When a reservation begins, a window is over, or somebody has waited for long."""
        others = self._heads.overdue_ms(now_ms), self.windows.next_ms(now_ms)
        moments = [*(one.start_ms for one in self._kept.values()), *(at for at in others if at is not None)]
        return min(moments, default=None)

    def _look_again(self, profile: AvailabilityProfile, wanted: Sequence[ReservationRequest]) -> dict[int, Reservation]:
        # Others do not lose theirs by what was taken of one that gave way.
        last = sorted(wanted, key=lambda one: one.task in self._passed)
        self._passed = set()
        return reserve(profile, last, self._kept)

    def _below(self, tasks: Mapping[int, Task], now_ms: int, number: int) -> list[int]:
        """Whose reservations give way to this task."""
        task = tasks[number]
        return [other for other in self._kept if self._ranks.gives_way(tasks[other], task, now_ms)]

    def _follow(self, tasks: Mapping[int, Task], now_ms: int) -> None:
        """Take in what has changed."""
        self._stale |= self._ahead.not_new(self._ends)
        self._ends.put(*self._ahead.take(self._stale))
        self._ends.drop(self._stale)
        known = [task for number in self._stale if (task := tasks.get(number)) is not None]
        held = [(task.id, claim.as_row()) for task in known for claim in self._held_by(task, now_ms)]
        rows = np.array([row for _, row in held], dtype=np.int64).reshape(-1, AllocationColumn.COUNT)
        self._ends.put(np.array([number for number, _ in held], dtype=np.int64), rows)
        self._stale.clear()

    def _made(self, tasks: Mapping[int, Task], now_ms: int) -> AvailabilityProfile:
        self._follow(tasks, now_ms)
        self._window_claims.follow(now_ms)
        profile = AvailabilityProfile(self._planner.fleet.cluster, now_ms, self._ends)
        profile.add(self._window_claims.of(ALL))
        return profile

    def _held_by(self, task: Task, now_ms: int) -> Iterator[Allocation]:
        """Its leases, and what is on its way."""
        fleet = self._planner.fleet
        ahead = self._planner.places_ahead(task.id)
        if not task.leases and ahead is None:
            return
        shape = shape_of(task.resources, task.placement, task.takes_over)
        for lease in task.leases:
            host = fleet.records.get(lease.host)
            # A machine that is stopped holds its disk alone.
            if host is not None and lease.state is not LeaseState.SUSPENDED:
                devices = bits(lease.devices)
                row = fleet.cluster.number(lease.host)
                yield Allocation(row, shape, devices, lease.created_at, latest_end(lease, task, host))
        if ahead is not None:
            placed_ms = self._planner.batch(task.id).placed_ms
            begun = now_ms if placed_ms is None else placed_ms
            for row, devices in zip(ahead.hosts, ahead.devices, strict=True):
                yield Allocation(row, shape, devices, begun, begun + lasts_ms(task))


def latest_end(lease: Lease, task: Task, host: Host) -> int:
    """When the lease is over at the latest, in ms of chain time."""
    end = ends_at(lease.escrow, host.downtime_ms, lease.reclaim_at)
    return min(FOREVER, lease.created_at + START_MS + task.max_duration_ms if end is None else end)


_NO_DEVICES: Final = np.arange(MOST_DEVICES)


def of_one_kind(fleet: Fleet) -> Bools:
    """[host]: whether all its devices are of one kind, and none is out of order: a profile does not tell them apart."""
    whole = fleet.cluster.whole
    none = whole.gpus[:, None] <= _NO_DEVICES
    found: Bools = ((whole.kind == whole.main[:, None]) & fleet.facts.healthy | none).all(axis=1)
    return found
