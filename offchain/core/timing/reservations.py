"""Who gets a reservation, and when it begins: the heads of the queue, and gangs that have waited for long.

A reservation is made on maximum durations alone, so it can only become better: each round it is looked for anew while
all others stay, and taken where it begins sooner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.columns import Bools, Ints
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.timing.claims import Claim
from offchain.core.timing.releases import Profile
from offchain.core.timing.spread import may_lie
from offchain.core.timing.start import Start, earliest


@dataclass(frozen=True, slots=True)
class Waiting:
    """A task that waits: all its pods start together. `longest_ms`: its maximum duration.

    `among`: [host], where its pods may go at all; None: anywhere. `own`: what is held for it already, as in a window of
    time, and does not stand in its way. `apart`: [host], of hosts with the same number only one takes a pod, and no
    more than one; None: pods may lie beside each other.
    """

    task: int
    shape: PodShape
    pods: int
    longest_ms: int
    since_ms: int
    among: Bools | None = field(default=None, compare=False, repr=False)
    own: tuple[Claim, ...] = ()
    apart: Ints | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reservation:
    """From `start_ms` on these places are kept for a task, for its maximum duration."""

    task: int
    shape: PodShape
    start_ms: int
    longest_ms: int
    places: tuple[HostSlot, ...]

    def claims(self) -> list[Claim]:
        """What it holds."""
        end_ms = self.start_ms + self.longest_ms
        return [Claim(place.host, self.shape, place.devices, self.start_ms, end_ms) for place in self.places]


def heads(
    order: Sequence[Waiting], kept: Mapping[int, Reservation], now_ms: int, *, depth: int, patience_ms: int
) -> list[Waiting]:
    """Who is to have a reservation, of those who wait, given in the order of the queue.

    Who has one keeps it. A gang (or a pod of several GPUs) that has waited for `patience_ms` comes before all others,
    the longest wait first, and then come the first of the queue: at most `depth` of either, and no more of the queue
    where there are twice as many. Who can never start (:func:`reserve` gives it nothing) is to be left out until hosts
    change.
    """
    has = [waiting for waiting in order if waiting.task in kept]
    others = [waiting for waiting in order if waiting.task not in kept]
    overdue = [waiting for waiting in others if _overdue(waiting, now_ms, patience_ms)]
    overdue.sort(key=lambda waiting: (waiting.since_ms, waiting.task))
    first = [waiting for waiting in others if not _overdue(waiting, now_ms, patience_ms)]
    ordinary = len(has) - sum(_overdue(waiting, now_ms, patience_ms) for waiting in has)
    overdue = overdue[: max(0, depth - len(has) + ordinary)]
    has.sort(key=lambda waiting: (kept[waiting.task].start_ms, waiting.task))
    slots = min(depth - ordinary, 2 * depth - len(has) - len(overdue))
    return [*has, *overdue, *first[: max(0, slots)]]


def _overdue(waiting: Waiting, now_ms: int, patience_ms: int) -> bool:
    """Only who needs much at once: others pass it by."""
    return (waiting.pods > 1 or waiting.shape.gpus > 1) and now_ms - waiting.since_ms >= patience_ms


def reserve(profile: Profile, wanted: Sequence[Waiting], kept: Mapping[int, Reservation]) -> dict[int, Reservation]:
    """A reservation for each, in this order; who can never start gets none. They are added to `profile`.

    None of those kept begins later than it did, unless what it holds is lost (its host is gone, or a lease did not end
    when it had to).
    """
    found: dict[int, Reservation] = {}
    for waiting in wanted:
        mine = kept.get(waiting.task)
        if mine is None or not _may_stay(waiting, mine):
            continue
        mine = replace(mine, start_ms=max(mine.start_ms, profile.now_ms))
        profile.remove(waiting.own)
        holds = profile.holds(mine.claims())
        profile.add(waiting.own)
        if holds:
            profile.add(mine.claims())
            found[waiting.task] = mine
    for waiting in wanted:
        mine = found.get(waiting.task)
        if mine is not None:
            if mine.start_ms == profile.now_ms:
                continue
            profile.remove(mine.claims())
        profile.remove(waiting.own)
        start = earliest(
            profile, waiting.shape, waiting.pods, waiting.longest_ms, among=waiting.among, apart=waiting.apart
        )
        profile.add(waiting.own)
        if isinstance(start, Start) and (mine is None or start.at_ms < mine.start_ms):
            mine = Reservation(waiting.task, waiting.shape, start.at_ms, waiting.longest_ms, start.places)
        if mine is not None:
            profile.add(mine.claims())
            found[waiting.task] = mine
    return {waiting.task: found[waiting.task] for waiting in wanted if waiting.task in found}


def _may_stay(waiting: Waiting, mine: Reservation) -> bool:
    """Whether it is still what the task asks for, on hosts that it may go to together."""
    same = (mine.shape, len(mine.places), mine.longest_ms) == (waiting.shape, waiting.pods, waiting.longest_ms)
    hosts = [place.host for place in mine.places]
    apart = waiting.apart is None or may_lie(hosts, waiting.apart)
    return same and apart and (waiting.among is None or all(waiting.among[host] for host in hosts))
