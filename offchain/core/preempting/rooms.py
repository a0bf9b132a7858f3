"""Room that is kept for tasks for which others were told to leave, as the chain's records have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Bools, Ints
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Task, TaskState

GRACE_MS: Final = 60_000
"""Room is kept for so long after the notice: until then who it is for was assigned there, or the notice is void."""


@dataclass(frozen=True, slots=True)
class Room:
    """Hosts that are kept for one task until a moment."""

    hosts: frozenset[str]
    until_ms: int


class Rooms:
    """Follows the records of tasks. The room of a victim that ends within the notice is remembered."""

    def __init__(self) -> None:
        self._kept: dict[int, Room] = {}

    def put(self, task: Task) -> None:
        """Take in a record."""
        if task.notice_ends_at is None:
            self._kept.pop(task.id, None)
        told = task.preemption
        if told is not None and task.state is TaskState.RUNNING:
            before = self._kept.get(told.wanting, Room(frozenset(), 0))
            hosts = before.hosts | {lease.host for lease in task.leases}
            self._kept[told.wanting] = Room(hosts, max(before.until_ms, told.ends_at + GRACE_MS))

    def gone(self, task: int) -> None:
        """It is final."""
        self._kept.pop(task, None)

    def kept(self, now_ms: int) -> Mapping[int, Room]:
        """[task]: what is kept for it now."""
        self._kept = {task: room for task, room in self._kept.items() if now_ms <= room.until_ms}
        return self._kept


class Kept:
    """The gate of a round: hosts that are kept for one task are closed to all others."""

    def __init__(self, rooms: Mapping[int, Room], cluster: Cluster) -> None:
        self._rows = {task: rows_of(room.hosts, cluster) for task, room in rooms.items()}
        self._hosts = len(cluster)

    def excluded(self, task: Task, request: PodRequest, devices: Ints) -> Bools | None:
        """See :class:`offchain.core.scheduler.cycle_filters.HostFilter`."""
        del request, devices
        return self.closed_to(task.id)

    def closed_to(self, task: int) -> Bools | None:
        """[host]: whether it is kept for another task. None: none is."""
        others = [rows for number, rows in self._rows.items() if number != task]
        if not others:
            return None
        mask: Bools = np.zeros(self._hosts, dtype=np.bool_)
        for rows in others:
            mask[rows] = True
        return mask

    def on_assume(self, task: Task, request: PodRequest, host: int, devices: int) -> None:
        """Nothing is kept by what others take."""

    def on_forget(self, task: Task, request: PodRequest, host: int, devices: int) -> None:
        """Nor by what they lose again."""


def rows_of(hosts: frozenset[str], cluster: Cluster) -> Ints:
    """Their rows, of those that are known."""
    known = sorted(cluster.row(host) for host in hosts if host in cluster)
    return np.array(known, dtype=np.int64)
