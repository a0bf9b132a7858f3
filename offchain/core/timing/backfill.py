"""Which pods may start now without delaying anything that is reserved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offchain.core.scheduler.columns import MAX_DEVICES, Bools, Ints
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.timing.claims import FOREVER
from offchain.core.timing.releases import Profile
from offchain.core.timing.room import Room


@dataclass(slots=True)
class _Placed:
    free: tuple[Ints, ...]
    pods: list[tuple[PodShape, int, int]]


class Backfill:
    """What a pod may take now of hosts of which something is reserved; it may take all of any other host.

    A pod that ends, at the latest, before a reservation begins may take what is free now; one that runs on must leave
    what is reserved: the least that is free at any moment from now until its end. That least only falls, and only where
    a reservation begins; so it is kept as a few steps for each of these hosts. Whether the host has room at all, and
    accepts the pod, stays the question of who scores it.

    `profile` has the leases and all reservations. The caller tells of each pod that it places; when leases end or
    reservations change, it makes a new one.
    """

    def __init__(self, profile: Profile) -> None:
        self._many = len(profile.cluster)
        self._hosts: Ints = np.flatnonzero(profile.underway | (profile.changes.shrinks_ms > profile.now_ms))
        self._row = {int(host): row for row, host in enumerate(self._hosts)}
        begins = self._begins(profile)
        steps = 1 + max((len(moments) for moments in begins), default=0)
        self._from: Ints = np.full((len(begins), steps), FOREVER, dtype=np.int64)
        """[host, step]: when it begins; the first of each host holds from now on."""
        self._cpu: Ints = np.zeros((len(begins), steps), dtype=np.int64)
        self._memory: Ints = np.zeros((len(begins), steps), dtype=np.int64)
        self._device: Ints = np.zeros((len(begins), steps, MAX_DEVICES), dtype=np.int64)
        for row, (host, moments) in enumerate(zip(self._hosts, begins, strict=True)):
            for step, moment in enumerate([profile.now_ms, *moments]):
                room = profile.room(int(host), profile.now_ms, moment + 1)
                self._from[row, step] = moment
                self._cpu[row, step], self._memory[row, step] = room.cpu_milli, room.memory_mib
                self._device[row, step] = room.device
        self._placed: dict[int, _Placed] = {}
        """[row]: what was placed there, over what was free before."""

    @property
    def reserved(self) -> Bools:
        """[host]: whether something of it is reserved."""
        mask: Bools = np.zeros(self._many, dtype=np.bool_)
        mask[self._hosts] = True
        return mask

    def matters(self, devices: Ints) -> bool:
        """Whether pods have room on a host of which something is reserved; `devices[host]` is less than 0 elsewhere."""
        return bool((devices[self._hosts] >= 0).any())

    def mask(self, shape: PodShape, devices: Ints, ends_ms: int) -> Bools:
        """[host]: whether such a pod may start there now; `devices[host]`, bits, are those that it would take there."""
        mask: Bools = np.ones(self._many, dtype=np.bool_)
        rows = np.arange(len(self._hosts))
        step = self._step(rows, ends_ms)
        chosen = devices[self._hosts, None] >> np.arange(MAX_DEVICES) & 1
        mask[self._hosts] = (
            (self._cpu[rows, step] >= shape.cpu_milli)
            & (self._memory[rows, step] >= shape.memory_mib)
            & ((self._device[rows, step] >= shape.gpu_milli) | (chosen == 0)).all(axis=1)
        )
        return mask

    def may(self, host: int, shape: PodShape, devices: int, ends_ms: int) -> bool:
        """Whether such a pod may start there now on these devices."""
        row = self._row.get(host)
        return row is None or self._room(row, ends_ms).has(shape, devices)

    def devices(self, host: int, shape: PodShape, ends_ms: int) -> int | None:
        """Devices on which such a pod may start there, as bits; -1: on none; None: nothing is reserved, any will do."""
        row = self._row.get(host)
        return None if row is None else self._room(row, ends_ms).pick(shape)

    def placed(self, host: int, shape: PodShape, devices: int, ends_ms: int) -> None:
        """Such a pod starts there now, and ends at `ends_ms` at the latest."""
        row = self._row.get(host)
        if row is None:
            return
        columns = self._cpu, self._memory, self._device
        before = self._placed.setdefault(row, _Placed(tuple(column[row].copy() for column in columns), []))
        before.pods.append((shape, devices, ends_ms))
        self._take(row, shape, devices, ends_ms)

    def undo(self, host: int, shape: PodShape, devices: int, ends_ms: int) -> None:
        """The pod that was placed there does not start after all: others of its gang have no room."""
        row = self._row.get(host)
        if row is None:
            return
        before = self._placed[row]
        before.pods.remove((shape, devices, ends_ms))
        for column, was in zip((self._cpu, self._memory, self._device), before.free, strict=True):
            column[row] = was
        for pod in before.pods:
            self._take(row, *pod)

    def _take(self, row: int, shape: PodShape, devices: int, ends_ms: int) -> None:
        # Up to its end there is so much less. After that, the least since now cannot be more than it was at its end.
        until = int(self._step(np.array([row]), ends_ms)[0])
        bits = devices >> np.arange(MAX_DEVICES) & 1
        for column, taken in (
            (self._cpu, shape.cpu_milli),
            (self._memory, shape.memory_mib),
            (self._device, bits * shape.gpu_milli),
        ):
            column[row, : until + 1] -= taken
            column[row, until + 1 :] = np.minimum(column[row, until + 1 :], column[row, until])

    def _begins(self, profile: Profile) -> list[list[int]]:
        """[row]: when a reservation begins there, each moment once."""
        found: list[list[int]] = [[] for _ in self._hosts]
        for host, moment in zip(*(column.tolist() for column in profile.begins()), strict=True):
            found[self._row[host]].append(moment)
        return found

    def _step(self, rows: Ints, ends_ms: int) -> Ints:
        """The last step that begins before the end."""
        last: Ints = np.maximum((self._from[rows] < min(ends_ms, FOREVER)).sum(axis=1) - 1, 0)
        return last

    def _room(self, row: int, ends_ms: int) -> Room:
        step = int(self._step(np.array([row]), ends_ms)[0])
        return Room(int(self._cpu[row, step]), int(self._memory[row, step]), self._device[row, step])
