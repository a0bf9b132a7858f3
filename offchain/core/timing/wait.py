"""How long a task that is submitted now will wait: told to the tenant before it pays for anything.

A range. The latest: everybody ahead takes all its time, and nobody overtakes. The soonest: everybody takes as long as
is usual, and whoever fits earlier starts earlier, as with backfill. The first tasks ahead are planned one by one; of
the others it is only asked how long the network is busy with them. It is an estimate, not a promise: who comes later
may have a higher priority, hosts come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.shapes import Shape
from offchain.core.timing.claims import Claim, Claims
from offchain.core.timing.releases import Profile
from offchain.core.timing.start import Never, Start, earliest

ONE_BY_ONE: Final = 200


@dataclass(frozen=True, slots=True)
class Ahead:
    """A task that waits before this one; or this one. All its pods start together."""

    shape: Shape
    pods: int
    longest_ms: int
    expected_ms: int


@dataclass(frozen=True, slots=True)
class Wait:
    """When a task will probably start, and what makes it wait."""

    soonest_ms: int
    latest_ms: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Guess:
    start: Start | Never
    room_now: bool
    """Whether there would be room now if nobody were ahead."""
    hopeless: int
    """So many ahead can never start."""


def expected_start(
    cluster: Cluster,
    leases: Claims,
    reserved: Claims,
    ahead: Sequence[Ahead],
    mine: Ahead,
    now_ms: int,
    one_by_one: int = ONE_BY_ONE,
) -> Wait | Never:
    """When `mine` starts, behind `ahead`, given in the order of the queue; Never: there will be no room for it.

    `reserved` are windows; the reservations of tasks that are ahead are left out, since they are planned here.
    """
    usual = _guess(Profile(cluster, now_ms, leases, reserved, expected=True), ahead, mine, one_by_one, overtakes=True)
    if isinstance(usual.start, Never):
        return usual.start
    worst = _guess(Profile(cluster, now_ms, leases, reserved), ahead, mine, one_by_one, overtakes=False)
    if isinstance(worst.start, Never):
        return worst.start
    soonest = usual.start.at_ms
    reasons = []
    if not worst.room_now:
        of = f"all its {mine.pods} pods" if mine.pods > 1 else "it"
        reasons.append(f"there is no room for {of} now")
    if ahead and worst.start.at_ms > now_ms:
        reasons.append(f"tasks ahead of it: {len(ahead)}")
    if usual.hopeless:
        reasons.append(f"tasks ahead that can never start, and do not count: {usual.hopeless}")
    if len(ahead) > one_by_one:
        reasons.append(f"only the first {one_by_one} were planned one by one")
    return Wait(soonest, max(soonest, worst.start.at_ms), tuple(reasons))


def _guess(profile: Profile, ahead: Sequence[Ahead], mine: Ahead, one_by_one: int, *, overtakes: bool) -> _Guess:
    """`overtakes`: whoever fits earlier starts earlier, and all take as long as expected."""
    length = mine.expected_ms if overtakes else mine.longest_ms
    at_once = earliest(profile, mine.shape, mine.pods, length)
    room_now = isinstance(at_once, Start) and at_once.at_ms == profile.now_ms
    begin_ms, hopeless = profile.now_ms, 0
    for one in ahead[:one_by_one]:
        takes = one.expected_ms if overtakes else one.longest_ms
        start = earliest(profile, one.shape, one.pods, takes, begin_ms)
        if isinstance(start, Never):
            hopeless += 1
            continue
        if not overtakes:
            begin_ms = start.at_ms
        end_ms = start.at_ms + takes
        profile.add(Claim(place.host, one.shape, place.devices, start.at_ms, end_ms) for place in start.places)
    start = earliest(profile, mine.shape, mine.pods, length, begin_ms)
    busy_ms = _busy_ms(profile.cluster, ahead[one_by_one:], overtakes=overtakes)
    if isinstance(start, Start) and busy_ms:
        start = earliest(profile, mine.shape, mine.pods, length, start.at_ms + busy_ms)
    return _Guess(start, room_now, hopeless)


def _busy_ms(cluster: Cluster, tasks: Sequence[Ahead], *, overtakes: bool) -> int:
    """How long the whole network has to do with these, by the resource that they need most of."""
    if not tasks:
        return 0
    work = [0, 0, 0]
    for one in tasks:
        time = one.pods * (one.expected_ms if overtakes else one.longest_ms)
        work[0] += one.shape.cpu_milli * time
        work[1] += one.shape.memory_mib * time
        work[2] += one.shape.total_milli * time
    have = (
        int(np.maximum(cluster.whole.cpu, 0).sum()),
        int(np.maximum(cluster.whole.memory, 0).sum()),
        int(cluster.whole.device.sum()),
    )
    return max(int(part // whole) for part, whole in zip(work, have, strict=True) if whole)
