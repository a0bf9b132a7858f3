"""Rolling update of a service to a new version. Pure.

Each step is computed from the present state of both versions, without memory. Invariants of every step:

- both versions together have at most `surge` pods more than the larger of the old and the new number of pods;
- no pod is removed if that leaves fewer ready pods than the smaller of these numbers less `unavailable`;
- the old version is ended only when every pod of the new one is ready. Until then a rollback is possible.

A running task has at least `pods_min` pods, so `surge` has a minimum (:func:`least_surge`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

VersionName: TypeAlias = Literal["old", "new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionState:
    """One of the two versions: pods 0 to `wanted - 1`, of which `ready` serve. `live`: its task has not ended."""

    pods_min: int
    pods_max: int
    wanted: int
    ready: frozenset[int]
    live: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLimits:
    """The limits of an update, in pods. `pods`: number of pods of the old version before it."""

    pods: int
    surge: int
    unavailable: int


@dataclass(frozen=True, slots=True)
class Scale:
    """Set the number of pods of a version."""

    which: VersionName
    pods: int


@dataclass(frozen=True, slots=True)
class End:
    """End a version."""

    which: VersionName


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for a change."""


@dataclass(frozen=True, slots=True)
class Done:
    """Finish: one version is left, with all its pods requested."""


@dataclass(frozen=True, slots=True)
class VersionEnded:
    """Stop: the version that was to stay has ended by itself."""

    which: VersionName


Step: TypeAlias = Scale | End | Wait | Done | VersionEnded


def target(pods: int, pods_min: int, pods_max: int) -> int:
    """Return `pods`, limited to the bounds of a version."""
    return min(max(pods, pods_min), pods_max)


def least_surge(pods: int, old_min: int, new_min: int, new_max: int) -> int:
    """Return the minimum of `surge`.

    The new version starts with its minimum beside all old pods; the old minimum remains beside all new pods.
    """
    goal = target(pods, new_min, new_max)
    return max(pods + new_min, goal + old_min) - max(pods, goal)


def forward(rules: PodLimits, old: VersionState, new: VersionState) -> Step:
    """Return the next step to the new version. `surge` must be at least :func:`least_surge`."""
    goal = target(rules.pods, new.pods_min, new.pods_max)
    if not new.live:
        return VersionEnded("new")
    if not old.live:
        return Scale("new", goal) if new.wanted < goal else Done()
    if len(_within(new)) >= goal:
        return End("old")
    room = max(rules.pods, goal) + rules.surge - old.wanted
    if min(goal, room) > new.wanted:
        return Scale("new", min(goal, room))
    kept = _fewest(old, len(_within(new)), min(rules.pods, goal) - rules.unavailable)
    return Scale("old", kept) if kept < old.wanted else Wait()


def back(rules: PodLimits, old: VersionState, new: VersionState) -> Step:
    """Return the next step of a rollback to the old version.

    Ready pods of the new version serve until the old one is ready again. All old pods are requested at once, even
    beyond `surge`.
    """
    if not old.live:
        return VersionEnded("old")
    if not new.live:
        return Scale("old", rules.pods) if old.wanted < rules.pods else Done()
    serving = len(_within(new))
    if not serving:
        return End("new")
    if old.wanted < rules.pods:
        return Scale("old", rules.pods)
    if len(_within(old)) >= rules.pods - rules.unavailable:
        return End("new")
    kept = _fewest(new, 0, serving)
    return Scale("new", kept) if kept < new.wanted else Wait()


def _within(side: VersionState) -> frozenset[int]:
    """Return the ready pods below `wanted`."""
    return frozenset(pod for pod in side.ready if pod < side.wanted)


def _fewest(side: VersionState, others: int, floor: int) -> int:
    """Return the fewest pods of a version that leave `floor` ready pods with `others`, or as many as now if fewer.

    Scaling down removes the pods with the highest numbers.
    """
    needed = min(floor, others + len(_within(side)))
    for pods in range(side.pods_min, side.wanted):
        if others + sum(pod < pods for pod in side.ready) >= needed:
            return pods
    return side.wanted
