"""Earliest start times and reservations, computed from the availability profile.

Reservations are based on maximum durations, so that they can only improve: in each cycle a better one is searched for
while all others stay, and is taken if it begins sooner.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import numpy as np

from offchain.core.scheduler.availability import Allocation, AvailabilityProfile
from offchain.core.scheduler.availability_kernels import HOST, MOMENT, PODS, find_steps
from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.columns import Bools, Ints
from offchain.core.scheduler.device_choice import KernelRequest
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.values import Task, TaskState


@dataclass(frozen=True, slots=True)
class EarliestStart:
    at_ms: int
    places: tuple[HostSlot, ...]
    """Of each pod."""


def earliest_start(
    profile: AvailabilityProfile,
    shape: PodShape,
    pods: int,
    duration_ms: int,
    among: Bools | None = None,
    groups: Ints | None = None,
) -> EarliestStart | None:
    """Return when `pods` pods fit together for `duration_ms`, and where: on as few hosts as possible; None: never.

    `among`: [host], where they may be placed; None: anywhere. `groups`: [host], for anti-affinity: at most one pod on
    all hosts with the same number; None: pods may be on the same host.
    """
    hosts = profile.candidates(shape)
    if among is not None:
        hosts = hosts[among[hosts]]
    found: Ints = np.empty((len(profile.changes.rows) + len(hosts), 3), dtype=np.int64)
    wish = KernelRequest.of(shape, profile.cluster)
    each = pods if groups is None else 1
    found = found[
        : find_steps(hosts, profile.free, profile.changes, wish, profile.now_ms, duration_ms, pods, each, found)
    ]
    at = _first_moment(found if groups is None else _by_group(found, groups), pods)
    if at is None:
        return None
    upto = found[found[:, MOMENT] <= at]
    counts = np.zeros(len(profile.cluster), dtype=np.int64)
    np.add.at(counts, upto[:, HOST], upto[:, PODS])
    return EarliestStart(at, _places(profile, shape, pods, (at, at + duration_ms), counts, groups))


def one_per_group(hosts: Iterable[int], groups: Ints) -> Iterator[int]:
    """Yield the first of these hosts of each group."""
    seen: set[int] = set()
    for host in hosts:
        group = int(groups[host])
        if group not in seen:
            seen.add(group)
            yield host


def _by_group(found: Ints, groups: Ints) -> Ints:
    """Turn steps of hosts, each for at most one pod, into steps of groups: from the first host to the last."""
    group = groups[found[:, HOST]]
    order = np.lexsort((found[:, MOMENT], group))
    steps, group = found[order], group[order]
    open_hosts = np.cumsum(steps[:, PODS])
    first = np.flatnonzero(np.append(np.True_, group[1:] != group[:-1])) if len(group) else np.array([], dtype=int)
    before = open_hosts[first] - steps[first, PODS]
    open_hosts -= np.repeat(before, np.diff(np.append(first, len(group))))
    steps[:, PODS] = (open_hosts > 0).astype(np.int64) - (open_hosts - steps[:, PODS] > 0)
    return steps


def _first_moment(found: Ints, pods: int) -> int | None:
    """Return the first time at which this many pods fit, by steps in any order."""
    found = found[np.argsort(found[:, MOMENT])]
    moments, total = found[:, MOMENT], np.cumsum(found[:, PODS])
    # Steps with the same time are one.
    last = np.flatnonzero(np.append(moments[1:] != moments[:-1], np.True_)) if len(found) else np.array([], dtype=int)
    enough = last[total[last] >= pods]
    return int(moments[enough[0]]) if len(enough) else None


def _places(
    profile: AvailabilityProfile,
    shape: PodShape,
    pods: int,
    interval: tuple[int, int],
    counts: Ints,
    groups: Ints | None,
) -> tuple[HostSlot, ...]:
    places: list[HostSlot] = []
    hosts = np.flatnonzero(counts > 0)
    hosts = hosts[np.lexsort((hosts, -counts[hosts]))]
    for host in hosts if groups is None else one_per_group(hosts, groups):
        free = profile.minimum_free(int(host), *interval)
        for _ in range(min(int(counts[host]), pods - len(places))):
            devices = free.pick_devices(shape)
            free.take(shape, devices)
            places.append(HostSlot(int(host), devices))
        if len(places) == pods:
            break
    return tuple(places)


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """A waiting task whose pods start together. `longest_ms`: its maximum duration.

    `among` and `groups` as in :func:`earliest_start`. `own`: allocations that are reserved for the task's account
    already, by a reservation window, and do not stand in its way.
    """

    task: int
    shape: PodShape
    pods: int
    longest_ms: int
    since_ms: int
    among: Bools | None = field(default=None, compare=False, repr=False)
    own: tuple[Allocation, ...] = ()
    groups: Ints | None = field(default=None, compare=False, repr=False)

    def accepts(self, mine: Reservation) -> bool:
        """Return whether the reservation still is what the task requests, on hosts where its pods may be together."""
        hosts = [place.host for place in mine.places]
        same = (mine.shape, len(hosts), mine.longest_ms) == (self.shape, self.pods, self.longest_ms)
        apart = self.groups is None or len({int(self.groups[host]) for host in hosts}) == len(hosts)
        return same and apart and (self.among is None or all(self.among[host] for host in hosts))


@dataclass(frozen=True, slots=True)
class Reservation:
    """Places that are reserved for a task from `start_ms` on, for its maximum duration."""

    task: int
    shape: PodShape
    start_ms: int
    longest_ms: int
    places: tuple[HostSlot, ...]

    def allocations(self) -> list[Allocation]:
        end_ms = self.start_ms + self.longest_ms
        return [Allocation(place.host, self.shape, place.devices, self.start_ms, end_ms) for place in self.places]


def reservation_candidates(
    order: Sequence[ReservationRequest],
    kept: Mapping[int, Reservation],
    now_ms: int,
    *,
    depth: int,
    patience_ms: int,
) -> list[ReservationRequest]:
    """Return the tasks that get a reservation, of waiting tasks in the order of the queue.

    Tasks with a reservation keep it. Then come gangs and multi-GPU pods that have waited for `patience_ms`, the longest
    wait first, then the first tasks of the queue: at most `depth` of either, and none of the queue if `depth` is
    exceeded twice over. Tasks for which :func:`reserve` found nothing are to be left out until hosts change.
    """
    has = [one for one in order if one.task in kept]
    others = [one for one in order if one.task not in kept]
    overdue = [one for one in others if _is_overdue(one, now_ms, patience_ms)]
    overdue.sort(key=lambda one: (one.since_ms, one.task))
    first = [one for one in others if not _is_overdue(one, now_ms, patience_ms)]
    ordinary = len(has) - sum(_is_overdue(one, now_ms, patience_ms) for one in has)
    overdue = overdue[: max(0, depth - len(has) + ordinary)]
    has.sort(key=lambda one: (kept[one.task].start_ms, one.task))
    slots = min(depth - ordinary, 2 * depth - len(has) - len(overdue))
    return [*has, *overdue, *first[: max(0, slots)]]


def _is_overdue(one: ReservationRequest, now_ms: int, patience_ms: int) -> bool:
    """Return whether a large task has waited for long: smaller ones pass it."""
    return (one.pods > 1 or one.shape.gpus > 1) and now_ms - one.since_ms >= patience_ms


def reserve(
    profile: AvailabilityProfile, wanted: Sequence[ReservationRequest], kept: Mapping[int, Reservation]
) -> dict[int, Reservation]:
    """Return a reservation for each request, in this order, and add them to `profile`; none for infeasible requests.

    No kept reservation begins later than it did, unless its resources are lost (its host is gone, or a lease did not
    end when it had to).
    """
    found: dict[int, Reservation] = {}
    for one in wanted:
        mine = kept.get(one.task)
        if mine is None or not one.accepts(mine):
            continue
        mine = replace(mine, start_ms=max(mine.start_ms, profile.now_ms))
        profile.remove(one.own)
        fits = profile.fits(mine.allocations())
        profile.add(one.own)
        if fits:
            profile.add(mine.allocations())
            found[one.task] = mine
    for one in wanted:
        mine = found.get(one.task)
        if mine is not None:
            if mine.start_ms == profile.now_ms:
                continue
            profile.remove(mine.allocations())
        profile.remove(one.own)
        start = earliest_start(profile, one.shape, one.pods, one.longest_ms, among=one.among, groups=one.groups)
        profile.add(one.own)
        if start is not None and (mine is None or start.at_ms < mine.start_ms):
            mine = Reservation(one.task, one.shape, start.at_ms, one.longest_ms, start.places)
        if mine is not None:
            profile.add(mine.allocations())
            found[one.task] = mine
    return {one.task: found[one.task] for one in wanted if one.task in found}


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
        # First: it takes new tasks into the list.
        count = self._overdue(now_ms)
        overdue = (number for _, number in islice(self._large, count) if number in self._waiting_since)
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
