"""How many pods a service is to have for its load. Pure.

Target tracking: so many pods that each has the target's share of the load. A pod of which nothing is known counts as
idle where more pods would be wanted, and as just right where fewer would be: new pods never cause more of them, and a
host that does not answer never causes fewer. Within a tolerance of the target nothing changes.

More pods are taken for the highest recommendation of a short window, so that a moment's lull takes nothing back
that was not there yet; and at most twice as many at once. Fewer are taken only when a whole stabilisation window has
passed in which no moment wanted more than that; at most half of them at once. After a start, nothing was seen of the
window yet, and so it has to pass first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offchain.schema.manifest.types import Metric, PodMetric
from offchain.schema.protocol.receipt import Totals

PPM: Final = 1_000_000
TOLERANCE_PPM: Final = 100_000
"""A tenth over or under the target is the target."""
UP_WINDOW_MS: Final = 30_000
"""More pods are taken for what was wanted at any moment of this time."""
FREE_STEP: Final = 4
"""So many pods are never too many for one step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """What a manifest says, and the chain's bounds."""

    metric: Metric | PodMetric
    target: int
    """Of one pod: parts per million of what it has, or thousandths of a number of its own. Loads are in the same."""
    stabilisation_ms: int
    pods_min: int
    pods_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Has:
    """What one pod has of each metric."""

    cpu_milli: int
    memory_mib: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A number of pods that the load of a moment asked for, or the number that was taken if that is more."""

    at_ms: int
    pods: int


@dataclass(frozen=True, slots=True)
class Recommendations:
    """Recommendations of the last stabilisation window, the oldest first.

    `since_ms`: when the first one was made, which may no longer be kept; None: none was made.
    """

    since_ms: int | None = None
    recent: tuple[Recommendation, ...] = ()


def load_ppm(metric: Metric, has: Has, older: Totals, newer: Totals) -> int | None:
    """The share of what it has that a pod used between two of its receipts; None where that cannot be said.

    Never more than all of it: limits are enforced, and a host that claims more causes no more pods by that.
    """
    time_ms = newer.wall_ms - older.wall_ms
    if time_ms <= 0:
        return None
    match metric:
        case "cpu":
            used, whole = (newer.cpu_ms - older.cpu_ms) * 1000, time_ms * has.cpu_milli
        case "memory":
            metered_ms = time_ms - (newer.unmetered_ms - older.unmetered_ms)
            used, whole = (newer.memory_mib_s - older.memory_mib_s) * 1000, metered_ms * has.memory_mib
        case "gpu":
            if newer.gpu_ms is None:
                return None
            used, whole = newer.gpu_ms - (older.gpu_ms or 0), time_ms * has.gpus
    return min(max(0, used * PPM // whole), PPM) if whole > 0 else None


def recommended_pods(scaling: Scaling, loads: Sequence[int | None], pods: int) -> int:
    """How many pods the load of this moment asks for. `loads`: of each pod there is; None: not known.

    `pods`: how many are wanted now, of which some may not be there yet.
    """
    known = [load for load in loads if load is not None]
    if not known:
        return _bounded(scaling, pods)
    unknown = max(0, pods - len(known))
    more, fewer = sum(known), sum(known) + unknown * scaling.target
    if more * PPM > scaling.target * pods * (PPM + TOLERANCE_PPM):
        return _bounded(scaling, max(pods, -(-more // scaling.target)))
    if fewer * PPM < scaling.target * pods * (PPM - TOLERANCE_PPM):
        return _bounded(scaling, min(pods, -(-fewer // scaling.target)))
    return _bounded(scaling, pods)


def decide(
    scaling: Scaling, loads: Sequence[int | None], pods: int, earlier: Recommendations, now_ms: int
) -> tuple[Recommendations, int]:
    """The pods that are to be wanted from now on, and what to remember. `now_ms`: the chain's time."""
    wanted = recommended_pods(scaling, loads, pods)
    since_ms = now_ms if earlier.since_ms is None or earlier.since_ms > now_ms else earlier.since_ms
    begin_ms = now_ms - scaling.stabilisation_ms
    recent = (*(one for one in earlier.recent if begin_ms <= one.at_ms <= now_ms), Recommendation(now_ms, wanted))
    after = Recommendations(since_ms, recent)
    if not scaling.pods_min <= pods <= scaling.pods_max:
        return after, _bounded(scaling, pods)
    highest = max(one.pods for one in recent if one.at_ms >= now_ms - UP_WINDOW_MS)  # the whole window, if shorter
    if highest > pods:
        more = min(highest, max(2 * pods, FREE_STEP), scaling.pods_max)
        # More pods may be taken for an earlier moment: the window before fewer are taken begins now all the same.
        return Recommendations(since_ms, (*recent[:-1], Recommendation(now_ms, max(wanted, more)))), more
    if since_ms > begin_ms:
        return after, pods
    fewest = pods - max(1, pods // 2)
    return after, max(fewest, min(pods, max(one.pods for one in recent)))


def _bounded(scaling: Scaling, pods: int) -> int:
    return min(max(pods, scaling.pods_min), scaling.pods_max)
