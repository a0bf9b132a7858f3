"""Autoscaling: the number of pods of a service, computed from its load. Pure.

Target tracking: the load is divided by the target load of one pod. A pod whose load is unknown counts as idle when
scaling up, and as exactly on target when scaling down: new pods never cause more pods, and a host that does not answer
never causes fewer. Within a tolerance of the target nothing changes.

Scaling up follows the highest recommendation of a short window, so that a momentary lull does not cancel it, and at
most doubles the pods in one step. Scaling down follows the highest recommendation of the stabilisation window, and at
most halves them. After a restart, a whole window passes before the first scaling down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offchain.schema.manifest.types import Metric, PodMetric
from offchain.schema.protocol.receipt import Totals

PPM: Final = 1_000_000
TOLERANCE_PPM: Final = 100_000
"""Deviation from the target within which nothing changes: 10 %."""
UP_WINDOW_MS: Final = 30_000
"""Scaling up follows the highest recommendation of this period."""
MIN_STEP: Final = 4
"""One step may always scale up to this number of pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """The scaling rule of a manifest, and the task's bounds on the chain."""

    metric: Metric | PodMetric
    target: int
    """Target load of one pod: parts per million of its resources, or thousandths of its own metric. Loads use the same
    unit."""
    stabilisation_ms: int
    pods_min: int
    pods_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PodResources:
    """The resources of one pod."""

    cpu_milli: int
    memory_mib: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The recommended number of pods at a time, or the number that was chosen if that is higher."""

    at_ms: int
    pods: int


@dataclass(frozen=True, slots=True)
class Recommendations:
    """Recommendations of the last stabilisation window, the oldest first.

    `since_ms`: when the first recommendation was made, even if it has left the window; None: there was none.
    """

    since_ms: int | None = None
    recent: tuple[Recommendation, ...] = ()


def load_ppm(metric: Metric, has: PodResources, older: Totals, newer: Totals) -> int | None:
    """Return the share of its resources that a pod used between two receipts; None: unknown.

    The share is at most 1, because limits are enforced: a host that reports more does not cause more pods.
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
    """Return the number of pods for the present load. `loads`: one for each existing pod; None: unknown.

    `pods`: the present desired number, of which some may not exist yet.
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
    """Return the recommendations to keep, and the new desired number of pods. `now_ms`: chain time."""
    wanted = recommended_pods(scaling, loads, pods)
    since_ms = now_ms if earlier.since_ms is None or earlier.since_ms > now_ms else earlier.since_ms
    begin_ms = now_ms - scaling.stabilisation_ms
    recent = (*(one for one in earlier.recent if begin_ms <= one.at_ms <= now_ms), Recommendation(now_ms, wanted))
    after = Recommendations(since_ms, recent)
    if not scaling.pods_min <= pods <= scaling.pods_max:
        return after, _bounded(scaling, pods)
    highest = max(one.pods for one in recent if one.at_ms >= now_ms - UP_WINDOW_MS)  # or of a shorter window
    if highest > pods:
        more = min(highest, max(2 * pods, MIN_STEP), scaling.pods_max)
        # A scaling up for an earlier recommendation restarts the window before scaling down.
        return Recommendations(since_ms, (*recent[:-1], Recommendation(now_ms, max(wanted, more)))), more
    if since_ms > begin_ms:
        return after, pods
    fewest = pods - max(1, pods // 2)
    return after, max(fewest, min(pods, max(one.pods for one in recent)))


def _bounded(scaling: Scaling, pods: int) -> int:
    return min(max(pods, scaling.pods_min), scaling.pods_max)
