"""The first moment at which all pods of a gang have room, and stay to their end; or why that never comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from offchain.core.scheduler.cluster import Cluster, HostSlot, KernelRequest
from offchain.core.scheduler.columns import Bools, Ints
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.timing.loops import HOST, MOMENT, PODS, counts, steps
from offchain.core.timing.releases import Profile
from offchain.core.timing.spread import by_group, one_of_each


@dataclass(frozen=True, slots=True)
class Start:
    """When, and where each pod goes."""

    at_ms: int
    places: tuple[HostSlot, ...]


@dataclass(frozen=True, slots=True)
class Never:
    """They never fit together, as the hosts are."""

    pods: int
    room: int
    """For so many of them there would be room if nothing else ran, counted up to `pods`."""
    excluded: Mapping[str, int]
    """How many hosts each constraint excludes, by the field of the shape; a host counts for the first that does."""
    held: int
    """Hosts of which others hold, without an end, what such pods would need."""

    def __str__(self) -> str:
        """For people."""
        of = f"{self.pods} pods" if self.pods > 1 else "a pod"
        parts = [f"{field} excludes {count} hosts" for field, count in self.excluded.items()]
        if self.held:
            parts.append(f"{self.held} hosts are held without an end")
        if self.room < self.pods:
            parts.append(f"if nothing else ran there would be room for {self.room}")
        return f"there will never be room for {of}: {', '.join(parts)}"


def earliest(
    profile: Profile,
    shape: PodShape,
    pods: int,
    longest_ms: int,
    at_ms: int = 0,
    among: Bools | None = None,
    apart: Ints | None = None,
) -> Start | Never:
    """When `pods` pods of this shape fit together for `longest_ms`, not before `at_ms`; on as few hosts as can be.

    `among`: [host], where they may go at all; None: anywhere. `apart`: [host], of hosts with the same number only one
    takes a pod, and no more than one; None: pods may lie beside each other.
    """
    begin_ms = max(profile.now_ms, at_ms)
    hosts = profile.candidates(shape)
    if among is not None:
        hosts = hosts[among[hosts]]
    found: Ints = np.empty((len(profile.changes.rows) + len(hosts), 3), dtype=np.int64)
    wish = KernelRequest.of(shape, profile.cluster)
    each = pods if apart is None else 1
    found = found[: steps(hosts, profile.free, profile.changes, wish, begin_ms, longest_ms, pods, each, found)]
    at = _first(found if apart is None else by_group(found, apart), pods)
    if at is None:
        return _never(profile.cluster, shape, pods, found, apart)
    upto = found[found[:, MOMENT] <= at]
    room = np.zeros(len(profile.cluster), dtype=np.int64)
    np.add.at(room, upto[:, HOST], upto[:, PODS])
    return Start(at, _places(profile, shape, pods, (at, at + longest_ms), room, apart))


def excluded(cluster: Cluster, shape: PodShape) -> Mapping[str, int]:
    """How many hosts each constraint excludes even while nothing runs there."""
    free = cluster.whole
    open_: Ints = np.arange(len(cluster))
    found = {}
    for field, fits in (
        ("models", cluster.accepts(shape)[free.main_class] if len(cluster) else np.ones(0, dtype=np.bool_)),
        ("gpus", free.gpus >= shape.gpus),
        ("cpu_milli", free.cpu >= shape.cpu_milli),
        ("memory_mib", free.memory >= shape.memory_mib),
    ):
        left = open_[fits[open_]]
        if len(left) < len(open_):
            found[field] = len(open_) - len(left)
        open_ = left
    return found


def _first(found: Ints, pods: int) -> int | None:
    """The first moment at which there is room for so many, by steps in any order."""
    found = found[np.argsort(found[:, MOMENT])]
    moments, total = found[:, MOMENT], np.cumsum(found[:, PODS])
    # Changes of one moment are one.
    last = np.flatnonzero(np.append(moments[1:] != moments[:-1], np.True_)) if len(found) else np.array([], dtype=int)
    enough = last[total[last] >= pods]
    return int(moments[enough[0]]) if len(enough) else None


def _places(
    profile: Profile, shape: PodShape, pods: int, times: tuple[int, int], room: Ints, apart: Ints | None
) -> tuple[HostSlot, ...]:
    places: list[HostSlot] = []
    hosts = np.flatnonzero(room > 0)
    hosts = hosts[np.lexsort((hosts, -room[hosts]))]
    for host in hosts if apart is None else one_of_each(hosts, apart):
        here = profile.room(int(host), *times)
        for _ in range(min(int(room[host]), pods - len(places))):
            devices = here.pick(shape)
            here.take(shape, devices)
            places.append(HostSlot(int(host), devices))
        if len(places) == pods:
            break
    return tuple(places)


def _never(cluster: Cluster, shape: PodShape, pods: int, found: Ints, apart: Ints | None) -> Never:
    empty: Ints = np.zeros(len(cluster), dtype=np.int64)
    counts(cluster.whole, KernelRequest.of(shape, cluster), pods if apart is None else 1, empty)
    ever: Ints = np.zeros(len(cluster), dtype=np.int64)
    np.add.at(ever, found[:, HOST], found[:, PODS])
    room = int(empty.sum()) if apart is None else len(np.unique(apart[empty > 0]))
    return Never(pods, min(room, pods), excluded(cluster, shape), int((ever < empty).sum()))
