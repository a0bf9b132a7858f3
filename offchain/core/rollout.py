"""A new version of a service takes the place of the old one, pod by pod. Pure.

Each look gives one step, from what there is: nothing is remembered between looks, so it goes on from anywhere. What
holds at each step:

- together both versions have at most `surge` pods more than the larger of what there was and what there will be;
- no pod is taken away while that leaves fewer ready ones than there were, or will be, less `unavailable`;
- the old version is ended only when every pod of the new one is ready. Until then the way back is open.

A task cannot have fewer pods than its least, other than by its end; so there is a least `surge` (:func:`least_surge`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Which: TypeAlias = Literal["old", "new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two versions; not `live` when its task is over. Pods 0 to `wanted - 1`; `ready` ones serve."""

    pods_min: int
    pods_max: int
    wanted: int
    ready: frozenset[int]
    live: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`pods`: what the old version had before. The others are in pods, too."""

    pods: int
    surge: int
    unavailable: int


@dataclass(frozen=True, slots=True)
class Scale:
    """Give a version so many pods."""

    which: Which
    pods: int


@dataclass(frozen=True, slots=True)
class End:
    """End a version."""

    which: Which


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is to be done before something changes."""


@dataclass(frozen=True, slots=True)
class Done:
    """One version is left, with all its pods wanted."""


@dataclass(frozen=True, slots=True)
class Over:
    """The version that was to stay is over by itself. Says which."""

    which: Which


Step: TypeAlias = Scale | End | Wait | Done | Over


def target(pods: int, pods_min: int, pods_max: int) -> int:
    """The pods that a version with these bounds gets where another had `pods`."""
    return min(max(pods, pods_min), pods_max)


def least_surge(pods: int, old_min: int, new_min: int, new_max: int) -> int:
    """The least with which it can be done.

    The new version begins with its least beside all of the old one; the old one's least stands beside all of the new.
    """
    goal = target(pods, new_min, new_max)
    return max(pods + new_min, goal + old_min) - max(pods, goal)


def forward(rules: Rules, old: Side, new: Side) -> Step:
    """The next step to the new version. `surge` is at least :func:`least_surge`."""
    goal = target(rules.pods, new.pods_min, new.pods_max)
    if not new.live:
        return Over("new")
    if not old.live:
        return Scale("new", goal) if new.wanted < goal else Done()
    if len(_within(new)) >= goal:
        return End("old")
    room = max(rules.pods, goal) + rules.surge - old.wanted
    if min(goal, room) > new.wanted:
        return Scale("new", min(goal, room))
    kept = _fewest(old, len(_within(new)), min(rules.pods, goal) - rules.unavailable)
    return Scale("old", kept) if kept < old.wanted else Wait()


def back(rules: Rules, old: Side, new: Side) -> Step:
    """The next step back to the old version.

    What serves of the new one serves until the old one is ready again. All of the old one's pods are wanted at once,
    also beyond `surge`.
    """
    if not old.live:
        return Over("old")
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


def _within(side: Side) -> frozenset[int]:
    """The ready pods of those that are wanted."""
    return frozenset(pod for pod in side.ready if pod < side.wanted)


def _fewest(side: Side, others: int, floor: int) -> int:
    """The fewest pods of a version with which, beside `others`, as many serve as `floor`, or as now where that is less.

    A smaller number takes the pods with the highest numbers.
    """
    needed = min(floor, others + len(_within(side)))
    for pods in range(side.pods_min, side.wanted):
        if others + sum(pod < pods for pod in side.ready) >= needed:
            return pods
    return side.wanted
