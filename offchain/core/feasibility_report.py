"""What a task has to expect: which hosts would take it, at what price, when, and what stands against the others.

For people who ask before they submit, or while they wait. Reads a snapshot, host by host; the scheduler decides by
:mod:`offchain.core.scheduler`, which knows the same rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from offchain.core.capacity import Together, emptied, most_of, open_to, room
from offchain.core.feasibility import Fit, Misfit, candidate
from offchain.core.snapshot import Snapshot
from offchain.core.start_estimate import Starts, starts
from offchain.core.values import Task


@dataclass(frozen=True, slots=True)
class Offer:
    """A host that would take pods of the task now: so many, the first at this rate in base units per hour."""

    host: str
    provider: str
    pods: int
    rate_per_hour: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """`offers`: the cheapest first. `later`: hosts that have no room now and would take it when nothing runs there.

    `now`: why hosts that are not in `offers` do not take it now, and how many. `never`: the same of those that would
    not even when nothing ran there. `ahead`: tasks that wait with a higher priority, or the same for longer.
    `pods_ever`: how many pods would have room if nothing ran.
    """

    hosts: int
    pods_needed: int
    offers: tuple[Offer, ...]
    later: int
    now: Mapping[Misfit, int]
    never: Mapping[Misfit, int]
    pods_ever: int
    starts: Starts
    ahead: int
    pods_now: int
    """How many of its pods have room now."""

    @property
    def starts_now(self) -> bool:
        """Whether enough of them have, and nobody is ahead."""
        return self.pods_now >= self.pods_needed and not self.ahead


def outlook(snapshot: Snapshot, task: Task) -> Outlook:
    """The outlook of a task that waits, or would wait, in this snapshot; it need not be in it."""
    layout = task.layout
    offers: list[Offer] = []
    now: Counter[Misfit] = Counter()
    never: Counter[Misfit] = Counter()
    later = 0
    in_all, ever = Together(layout), Together(layout)
    most = most_of(task)
    for there in open_to(task, snapshot.hosts):
        host = candidate(task, there)
        if isinstance(host, Misfit):
            now[host] += 1
            never[host] += 1
            continue
        pods, verdict = room(host, task, most)
        if isinstance(verdict, Fit):
            offers.append(Offer(host.id, host.provider, pods, verdict.rate_per_hour))
            in_all.changed(host.provider, 0, pods)
            ever.changed(host.provider, 0, room(emptied(host), task, most)[0])
            continue
        now[verdict] += 1
        when_empty, reason = room(emptied(host), task, most)
        ever.changed(host.provider, 0, when_empty)
        if isinstance(reason, Misfit):
            never[reason] += 1
        else:
            later += 1
    offers.sort(key=lambda offer: (offer.rate_per_hour, offer.host))
    ahead = [other for other in snapshot.tasks.values() if _before(other, task)]
    return Outlook(
        hosts=len(snapshot.hosts),
        pods_needed=task.least,
        offers=tuple(offers),
        later=later,
        now=_ordered(now),
        never=_ordered(never),
        pods_ever=ever.pods,
        starts=starts(snapshot, task, sorted(ahead, key=_turn)),
        ahead=len(ahead),
        pods_now=in_all.pods,
    )


def _before(other: Task, task: Task) -> bool:
    return bool(other.open_pods) and other.id != task.id and _turn(other) < _turn(task)


def _turn(task: Task) -> tuple[int, int, int]:
    return -task.priority, task.submitted_at, task.id


def _ordered(counts: Counter[Misfit]) -> Mapping[Misfit, int]:
    return {misfit: counts[misfit] for misfit in Misfit if counts[misfit]}
