"""A small scheduler in virtual time, and samples for tests of reservations and preemption."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from offchain.core.scheduler.availability import Allocation, AvailabilityProfile, HostAvailability, LeaseEnds
from offchain.core.scheduler.backfill import Backfill
from offchain.core.scheduler.cluster import Cluster, HostSlot, HostSpec
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.reservations import (
    Reservation,
    ReservationRequest,
    earliest_start,
    reservation_candidates,
    reserve,
)
from tests.support.placing_samples import is_feasible

GPU = PodShape(1000, 1024, 1, 1000)
HALF = PodShape(500, 512, 1, 500)
PAIR = PodShape(2000, 2048, 2, 1000)


def gpus(*counts: int, model: str = "red") -> Cluster:
    """Empty hosts with so many GPUs, and cores and memory to match."""
    return Cluster.of([HostSpec(f"h{i}", 1000 * many, 1024 * many, many, model) for i, many in enumerate(counts)])


def lease(host: int, until_ms: int, shape: PodShape = GPU, devices: int = 1) -> Allocation:
    """Return the allocation of a running pod."""
    return Allocation(host, shape, devices, 0, until_ms)


def lease_ends(leases: Iterable[Allocation] = ()) -> LeaseEnds:
    made = LeaseEnds()
    for number, one in enumerate(leases):
        made.put_task(number, [one])
    return made


def profile_of(
    cluster: Cluster, leases: Iterable[Allocation] = (), reserved: Iterable[Allocation] = (), now_ms: int = 0
) -> AvailabilityProfile:
    profile = AvailabilityProfile(cluster, now_ms, lease_ends(leases))
    profile.add(reserved)
    return profile


def running(cluster: Cluster, *leases: Allocation) -> LeaseEnds:
    """The leases, taken from the cluster."""
    for one in leases:
        cluster.take(one.host, one.shape, one.devices)
    return lease_ends(leases)


def most_pods(room: HostAvailability, shape: PodShape, most: int) -> int:
    """How many have room beside each other, by trying every choice of devices."""
    if most == 0:
        return 0
    best = 0
    fit = [index for index, left in enumerate(room.device) if left >= shape.gpu_milli]
    for chosen in combinations(fit, shape.gpus):
        devices = sum(1 << index for index in chosen)
        if not room.fits(shape, devices):
            continue
        room.take(shape, devices)
        best = max(best, 1 + most_pods(room, shape, most - 1))
        room.give(shape, devices)
        if best == most:
            break
    return best


def room_of(cluster: Cluster, host: int) -> HostAvailability:
    """Return what is free on a host now."""
    free = cluster.free
    return HostAvailability(int(free.cpu[host]), int(free.memory[host]), free.device[host].copy())


def fits(cluster: Cluster, shape: PodShape, pods: int) -> bool:
    """Whether all of them have room now."""
    hosts = [
        i
        for i in range(len(cluster))
        if not shape.models or cluster.classes[cluster.free.main_class[i]].model in shape.models
    ]
    return sum(most_pods(room_of(cluster, host), shape, pods) for host in hosts) >= pods


class SampleBackfill(Backfill):
    """Backfill that answers about single hosts."""

    def is_allowed(self, host: int, shape: PodShape, devices: int, ends_ms: int) -> bool:
        row = self._row.get(host)
        return row is None or self._free(row, ends_ms).fits(shape, devices)

    def pick_devices(self, host: int, shape: PodShape, ends_ms: int) -> int | None:
        """Return None where nothing is reserved."""
        row = self._row.get(host)
        return None if row is None else self._free(row, ends_ms).pick_devices(shape)

    def is_reserved(self, host: int) -> bool:
        return host in self._row

    def _free(self, row: int, ends_ms: int) -> HostAvailability:
        step = int(self._step(np.array([row]), ends_ms)[0])
        return HostAvailability(int(self._cpu[row, step]), int(self._memory[row, step]), self._device[row, step])


@dataclass(frozen=True, slots=True)
class Job:
    """A task that takes less than its maximum."""

    waiting: ReservationRequest
    takes_ms: int


@dataclass(slots=True)
class Replay:
    """Runs tasks with reservations and backfill; first fit."""

    cluster: Cluster
    depth: int
    patience_ms: int
    key: Callable[[ReservationRequest], object]
    leases: LeaseEnds = field(default_factory=LeaseEnds)
    kept: dict[int, Reservation] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    """[task]: when it was to start, as was said when it got its reservation."""
    started: dict[int, int] = field(default_factory=dict)
    backfilled: int = 0
    _ends: dict[int, list[tuple[ReservationRequest, tuple[HostSlot, ...]]]] = field(default_factory=dict)
    _takes: dict[int, int] = field(default_factory=dict)

    def run(self, jobs: Sequence[Job], until_ms: int = 10**9) -> None:
        """From the first arrival until all have started."""
        self._takes = {job.waiting.task: job.takes_ms for job in jobs}
        moments = {job.waiting.since_ms for job in jobs}
        moments |= {job.waiting.since_ms + self.patience_ms for job in jobs if job.waiting.pods > 1}
        while len(self.started) < len(jobs):
            now = min(moments)
            moments.discard(now)
            if now > until_ms:
                return
            for waiting, places in self._ends.pop(now, []):
                for place in places:
                    self.cluster.release(place.host, waiting.shape, place.devices)
                self.leases.drop((waiting.task,))
            here = [job.waiting for job in jobs if job.waiting.since_ms <= now and job.waiting.task not in self.started]
            self._round(now, sorted(here, key=self.key))
            moments |= self._ends.keys() | {one.start_ms for one in self.kept.values()}

    def _round(self, now: int, order: list[ReservationRequest]) -> None:
        profile = AvailabilityProfile(self.cluster, now, self.leases)
        wanted = reservation_candidates(order, self.kept, now, depth=self.depth, patience_ms=self.patience_ms)
        self.kept = reserve(profile, wanted, self.kept)
        for waiting in wanted:
            mine = self.kept[waiting.task]
            self.promised.setdefault(waiting.task, mine.start_ms)
            if mine.start_ms == now:
                del self.kept[waiting.task]
                self._start(waiting, mine.places, now)
        backfill = SampleBackfill(profile)
        for waiting in order:
            if waiting.task in self.started or waiting.task in self.kept:
                continue
            places = self._places(profile, backfill, waiting, now)
            if places:
                self.backfilled += bool(self.kept)
                ends = now + waiting.longest_ms
                profile.add(Allocation(at.host, waiting.shape, at.devices, now, ends) for at in places)
                for at in places:
                    backfill.place(at.host, waiting.shape, at.devices, ends)
                self._start(waiting, places, now)

    def _places(
        self, profile: AvailabilityProfile, backfill: SampleBackfill, waiting: ReservationRequest, now: int
    ) -> tuple[HostSlot, ...]:
        if waiting.pods > 1:
            start = earliest_start(profile, waiting.shape, waiting.pods, waiting.longest_ms)
            return start.places if start is not None and start.at_ms == now else ()
        for host in range(len(self.cluster)):
            if is_feasible(self.cluster, host, waiting.shape):
                devices = backfill.pick_devices(host, waiting.shape, now + waiting.longest_ms)
                if devices is None:
                    devices = room_of(self.cluster, host).pick_devices(waiting.shape)
                if devices >= 0:
                    return (HostSlot(host, devices),)
        return ()

    def _start(self, waiting: ReservationRequest, places: tuple[HostSlot, ...], now: int) -> None:
        self.started[waiting.task] = now
        for at in places:
            self.cluster.take(at.host, waiting.shape, at.devices)
        end_ms = now + waiting.longest_ms
        held = [Allocation(at.host, waiting.shape, at.devices, now, end_ms) for at in places]
        self.leases.put_task(waiting.task, held)
        self._ends.setdefault(now + self._takes[waiting.task], []).append((waiting, places))
