"""Reservations of waiting tasks, kept from cycle to cycle, and what running tasks hold until when.

Little is computed before a reservation is needed: until then changes are only noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from offchain.core.scheduler.assumed_pods import PodBatch
from offchain.core.scheduler.availability import Allocation, AvailabilityProfile, LeaseEnds
from offchain.core.scheduler.availability_kernels import FOREVER, AllocationColumn
from offchain.core.scheduler.backfill import (
    START_MS,
    BackfillFilter,
    ReservationPriority,
    YieldingReservations,
    max_hold_ms,
    reserve_over,
)
from offchain.core.scheduler.columns import MAX_DEVICES, Bools, device_bits
from offchain.core.scheduler.config import ReservationWindow, ReservationWindows
from offchain.core.scheduler.cycle_filters import excluded_by_pods
from offchain.core.scheduler.filters import permitted
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pending_ends import PendingEnds
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodRequest, PodShape
from offchain.core.scheduler.preemption import ReservedHosts, host_rows
from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.core.scheduler.reservations import (
    RETRY_MS,
    Reservation,
    ReservationCandidates,
    ReservationRequest,
    is_large,
    reserve,
)
from offchain.core.values import Host, Lease, LeaseState, Task
from offchain.schema.chain_types.escrow import ends_at

ALL_WINDOWS: Final = -1
"""Bits of all windows."""


class WindowClaims:
    """Allocations of reservation windows, each of a whole host.

    Computed anew when hosts or windows change.
    """

    def __init__(self, windows: ReservationWindows, hosts: HostTable) -> None:
        self._windows = windows
        self._hosts = hosts
        self._seen: tuple[int, int] = (-1, -1)
        self._claims: dict[int, tuple[Allocation, ...]] = {}
        """[index of the window]: of each host."""

    def follow(self, now_ms: int) -> None:
        """Update for the current hosts and windows."""
        ahead = self._windows.ahead(now_ms)
        seen = self._hosts.version, len(ahead)
        if seen == self._seen:
            return
        self._seen = seen
        self._claims = {
            index: tuple(
                self._whole(self._hosts.cluster.row(host.id), window.from_ms, window.until_ms)
                for host in self._hosts.records.values()
                if window.covers(host)
            )
            for index, window in ahead
        }

    def of(self, windows: int) -> Sequence[Allocation]:
        """Return what these windows (bits) hold."""
        return [claim for index, claims in self._claims.items() if windows >> index & 1 for claim in claims]

    def _whole(self, row: int, from_ms: int, until_ms: int) -> Allocation:
        whole = self._hosts.cluster.whole
        gpus = int(whole.gpus[row])
        shape = PodShape(int(whole.cpu[row]), int(whole.memory[row]), gpus, WHOLE_GPU if gpus else 0)
        return Allocation(row, shape, (1 << gpus) - 1, from_ms, until_ms)


_MAX_ROUNDS: Final = 8
"""How often in a cycle other tasks are tried in place of those that can never start."""

_MAX_MASKS: Final = 256
"""Requests for which the reservable hosts are cached."""

_MAX_PENDING: Final = 10_000
"""Changes that are taken in at once even if nothing asks for them."""

_WaitingOf = Callable[[int], ReservationRequest | None]


class ReservationManager:
    """`planner` has the host table and assumed pods. `queues` decide which reservations a task may delay."""

    def __init__(self, planner: Planner, queues: QueueTree, windows: Sequence[ReservationWindow] = ()) -> None:
        self._planner = planner
        self._priority = ReservationPriority(queues)
        self.windows = ReservationWindows(windows)
        self._window_claims = WindowClaims(self.windows, planner.hosts)
        self._candidates = ReservationCandidates()
        self._ends = LeaseEnds()
        self._pending = PendingEnds()
        """Placements that are not in :attr:`_ends` yet."""
        self._stale: set[int] = set()
        self._reservations: dict[int, Reservation] = {}
        self._continued: BackfillFilter | None = None
        self._profile: AvailabilityProfile | None = None
        """Contains everything reserved, from :meth:`begin` to :meth:`end`; None: nothing is."""
        self._masks_version = -1
        """The version of the host table for the next two."""
        self._uniform: Bools = np.zeros(0, dtype=np.bool_)
        self._masks: dict[PodRequest, Bools] = {}
        """Results of :meth:`reservable`."""
        self._passed: set[int] = set()
        """Tasks whose reservation was used by another since it was last renewed."""

    @property
    def reservations(self) -> Mapping[int, Reservation]:
        """[task]: its reservation."""
        return self._reservations

    def on_waiting(self, task: Task) -> None:
        self._candidates.add(task)

    def on_removed(self, number: int) -> None:
        """The task has been placed, or is gone."""
        self._candidates.remove((number,))
        if self._reservations.pop(number, None) is not None:
            # Its reserved resources are open to others at once.
            self._continued = None

    def on_changed(self, numbers: Iterable[int]) -> None:
        """Note that what these tasks hold may have changed."""
        self._stale.update(numbers)

    def refers_to(self, row: int) -> bool:
        """Whether a reservation, or a lease of a task, is on the host in this row.

        Tasks with a noted change do not count: their leases are computed anew before they are read.
        """
        reserved = any(place.host == row for one in self._reservations.values() for place in one.places)
        return reserved or not self._ends.tasks_on(row) <= self._stale

    def on_placed(self, batch: PodBatch, tasks: Sequence[Task], now_ms: int) -> None:
        """Note that pods of these tasks of the batch were placed, and that they wait no more."""
        numbers = batch.tasks
        self._pending.add(batch, tasks, now_ms)
        batch.placed_ms = now_ms
        if is_large(tasks[0]):
            self._candidates.remove(numbers)
        for number in self._reservations.keys() & numbers:
            del self._reservations[number]
            # Its reserved resources are open to others at once.
            self._continued = None

    def begin(self, tasks: Mapping[int, Task], now_ms: int, waiting: _WaitingOf) -> list[Reservation]:
        """Begin a cycle. Return the reservations that start now; call :meth:`backfill_filter` when these are placed."""
        self._profile = self._continued = None
        if len(self._stale) + len(self._pending) > _MAX_PENDING:
            self._take_in_changes(tasks, now_ms)
        if not self._reservations and not self.windows.ahead(now_ms):
            return []
        self._profile = self._new_profile(tasks, now_ms)
        wanted = [task for number in self._reservations if (task := waiting(number)) is not None]
        self._reservations = self._renew(self._profile, wanted)
        return [reservation for reservation in self._reservations.values() if reservation.start_ms == now_ms]

    def on_refused(self, number: int, now_ms: int) -> None:
        """A rule that reservations do not know of refuses the slot, such as its disk or a price."""
        mine = self._reservations.pop(number)
        self._candidates.postpone(number, now_ms + RETRY_MS)
        if self._profile is not None:
            self._profile.remove(mine.allocations())

    def backfill_filter(
        self, tasks: Mapping[int, Task], reserved_hosts: Mapping[int, ReservedHosts]
    ) -> BackfillFilter | None:
        """Return the filter that protects what is reserved in the rest of this cycle; None: nothing is.

        `reserved_hosts`: what is kept for these tasks by preemption.
        """
        profile = self._profile
        if profile is None or not (self._reservations or self.windows.ahead(profile.now_ms)):
            return None
        cluster = self._planner.hosts.cluster
        rows = {task: frozenset(map(int, host_rows(one.hosts, cluster))) for task, one in reserved_hosts.items()}
        yielding = YieldingReservations(self._priority, tasks, self._reservations, rows, profile.now_ms)
        self._passed = yielding.passed
        return BackfillFilter(profile, self.windows.open_to, self._window_claims.of, yielding)

    def binding_on(self, task: Task, tasks: Mapping[int, Task], now_ms: int) -> dict[int, Reservation]:
        """Return the reservations of others that hold against this task: nothing is preempted there for it."""
        return {
            number: mine
            for number, mine in self._reservations.items()
            if number != task.id and not self._priority.above(task, tasks[number], now_ms)
        }

    def continue_filter(
        self, tasks: Mapping[int, Task], reserved_hosts: Mapping[int, ReservedHosts], now_ms: int
    ) -> BackfillFilter | None:
        """Return the filter for a cycle that continues the last one, in which all reservations stay as they are."""
        if self._continued is None and (self._reservations or self.windows.ahead(now_ms)):
            self._profile = self._new_profile(tasks, now_ms)
            for reservation in self._reservations.values():
                self._profile.add(reservation.allocations())
            passed = self._passed
            self._continued = self.backfill_filter(tasks, reserved_hosts)
            self._passed |= passed
            self._profile = None
        return self._continued

    def window_claims_of(self, account: str) -> tuple[Allocation, ...]:
        """Return what windows reserve for this account."""
        return tuple(self._window_claims.of(self.windows.open_to(account)))

    def end(
        self, tasks: Mapping[int, Task], unschedulable: Sequence[int], now_ms: int, waiting: _WaitingOf
    ) -> list[Reservation]:
        """End a cycle: reserve for the first tasks that were not placed. Return those that can start now after all.

        That happens where only other devices of a host are suitable than the pod would have taken by itself.
        """
        self._profile = None
        self._window_claims.follow(now_ms)
        profile: AvailabilityProfile | None = None
        found: dict[int, Reservation] = {}
        for _ in range(_MAX_ROUNDS):
            wanted = self._candidates.choose(unschedulable, self._reservations, now_ms, waiting)
            new = [waiting_task for waiting_task in wanted if waiting_task.task not in self._reservations]
            if not new:
                break
            if profile is None:
                profile = self._new_profile(tasks, now_ms)
                self._reservations = self._renew(
                    profile, [waiting_task for waiting_task in wanted if waiting_task.task in self._reservations]
                )
            below = partial(self._yielding_to, tasks, now_ms)
            made, self._reservations = reserve_over(profile, new, self._reservations, below, waiting)
            found |= made
            impossible = [task.task for task in new if task.task not in made]
            for number in impossible:
                self._candidates.postpone(number, now_ms + RETRY_MS)
            if not impossible:
                break
        return [reservation for reservation in found.values() if reservation.start_ms == now_ms]

    def reservable(self, request: PodRequest) -> Bools:
        """[host]: whether something of it can be reserved for such a pod; read-only."""
        hosts = self._planner.hosts
        if self._masks_version != hosts.version:
            self._masks_version, self._masks, self._uniform = hosts.version, {}, is_uniform(hosts)
        found = self._masks.get(request)
        if found is None:
            found = permitted(request, hosts.attributes) & (hosts.cluster.whole.disk >= request.shape.disk_gib)
            found &= ~excluded_by_pods(request, hosts)
            if request.shape.gpus:
                found &= self._uniform
            if len(self._masks) < _MAX_MASKS:
                self._masks[request] = found
        return found

    def next_ms(self, now_ms: int) -> int | None:
        """Return when a reservation begins, a window ends, or a task has waited for long."""
        others = self._candidates.overdue_ms(now_ms), self.windows.next_ms(now_ms)
        moments = [
            *(reservation.start_ms for reservation in self._reservations.values()),
            *(at for at in others if at is not None),
        ]
        return min(moments, default=None)

    def _renew(self, profile: AvailabilityProfile, wanted: Sequence[ReservationRequest]) -> dict[int, Reservation]:
        # Reservations that were used by others come last, so that the rest keep theirs.
        last = sorted(wanted, key=lambda reservation: reservation.task in self._passed)
        self._passed = set()
        return reserve(profile, last, self._reservations)

    def _yielding_to(self, tasks: Mapping[int, Task], now_ms: int, number: int) -> list[int]:
        """Return the tasks whose reservations give way to this task."""
        task = tasks[number]
        return [other for other in self._reservations if self._priority.yields_to(tasks[other], task, now_ms)]

    def _take_in_changes(self, tasks: Mapping[int, Task], now_ms: int) -> None:
        """Take in what has changed."""
        self._stale |= self._pending.known_tasks(self._ends)
        self._ends.put(*self._pending.take(self._stale))
        self._ends.drop(self._stale)
        known = [task for number in self._stale if (task := tasks.get(number)) is not None]
        claims = [(task.id, claim.as_row()) for task in known for claim in self._claims_of(task, now_ms)]
        rows = np.array([number for _, number in claims], dtype=np.int64).reshape(-1, AllocationColumn.COUNT)
        self._ends.put(np.array([number for number, _ in claims], dtype=np.int64), rows)
        self._stale.clear()

    def _new_profile(self, tasks: Mapping[int, Task], now_ms: int) -> AvailabilityProfile:
        self._take_in_changes(tasks, now_ms)
        self._window_claims.follow(now_ms)
        profile = AvailabilityProfile(self._planner.hosts.cluster, now_ms, self._ends)
        profile.add(self._window_claims.of(ALL_WINDOWS))
        return profile

    def _claims_of(self, task: Task, now_ms: int) -> Iterator[Allocation]:
        """Return what its leases and its assumed pods hold."""
        hosts = self._planner.hosts
        ahead = self._planner.assumed_placement(task.id)
        if not task.leases and ahead is None:
            return
        shape = PodRequest.of(task).shape
        for lease in task.leases:
            host = hosts.records.get(lease.host)
            # A suspended machine holds only its disk.
            if host is not None and lease.state is not LeaseState.SUSPENDED:
                devices = device_bits(lease.devices)
                row = hosts.cluster.row(lease.host)
                yield Allocation(row, shape, devices, lease.created_at, latest_end(lease, task, host))
        if ahead is not None:
            placed_ms = self._planner.batch(task.id).placed_ms
            begun = now_ms if placed_ms is None else placed_ms
            for row, devices in zip(ahead.hosts, ahead.devices, strict=True):
                yield Allocation(row, shape, devices, begun, begun + max_hold_ms(task))


def latest_end(lease: Lease, task: Task, host: Host) -> int:
    """Return the latest end of the lease, in ms of chain time."""
    end = ends_at(lease.escrow, host.downtime_ms, lease.reclaim_at)
    return min(FOREVER, lease.created_at + START_MS + task.max_duration_ms if end is None else end)


_NO_DEVICES: Final = np.arange(MAX_DEVICES)


def is_uniform(hosts: HostTable) -> Bools:
    """[host]: whether all devices are healthy and of one class: a profile does not distinguish them."""
    whole = hosts.cluster.whole
    none = whole.gpus[:, None] <= _NO_DEVICES
    found: Bools = ((whole.device_class == whole.main_class[:, None]) & hosts.attributes.healthy | none).all(axis=1)
    return found
