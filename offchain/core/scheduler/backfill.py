"""Backfill: which pods may start now without delaying a reservation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offchain.core.scheduler.availability import AvailabilityProfile
from offchain.core.scheduler.availability_kernels import FOREVER
from offchain.core.scheduler.columns import MAX_DEVICES, Bools, Ints
from offchain.core.scheduler.pod_request import PodShape


@dataclass(slots=True)
class _PlacedPods:
    free_before: tuple[Ints, ...]
    pods: list[tuple[PodShape, int, int]]


class Backfill:
    """What a pod may use now of hosts on which something is reserved; of other hosts it may use everything.

    A pod that ends before a reservation begins may use what is free now; one that runs on must leave what is reserved:
    it may use the least that is free at any time until its end. As a function of that end the least only falls, where
    reservations begin, so it is stored as a few steps per host. Feasibility otherwise is not checked here.

    `profile` contains the leases and all reservations. The caller reports each pod that it places; when leases end or
    reservations change, it makes a new Backfill.
    """

    def __init__(self, profile: AvailabilityProfile) -> None:
        self._host_count = len(profile.cluster)
        self._hosts: Ints = np.flatnonzero(profile.underway | (profile.changes.shrinks_ms > profile.now_ms))
        self._row = {int(host): row for row, host in enumerate(self._hosts)}
        begins: list[list[int]] = [[] for _ in self._hosts]
        for host, moment in zip(*(column.tolist() for column in profile.begins()), strict=True):
            begins[self._row[host]].append(moment)
        steps = 1 + max((len(moments) for moments in begins), default=0)
        self._from: Ints = np.full((len(begins), steps), FOREVER, dtype=np.int64)
        """[host, step]: when it begins; the first step of each host begins now."""
        self._cpu: Ints = np.zeros((len(begins), steps), dtype=np.int64)
        self._memory: Ints = np.zeros((len(begins), steps), dtype=np.int64)
        self._device: Ints = np.zeros((len(begins), steps, MAX_DEVICES), dtype=np.int64)
        for row, (host, moments) in enumerate(zip(self._hosts, begins, strict=True)):
            for step, moment in enumerate([profile.now_ms, *moments]):
                free = profile.minimum_free(int(host), profile.now_ms, moment + 1)
                self._from[row, step] = moment
                self._cpu[row, step], self._memory[row, step] = free.cpu_milli, free.memory_mib
                self._device[row, step] = free.device
        self._placed: dict[int, _PlacedPods] = {}
        """[row]"""

    def restricts(self, devices: Ints) -> bool:
        """Return whether pods fit on a host with reservations; `devices`, [host], is below 0 where they do not fit."""
        return bool((devices[self._hosts] >= 0).any())

    def allowed_hosts(self, shape: PodShape, devices: Ints, ends_ms: int) -> Bools:
        """Return where such a pod may start now, [host]; `devices`, [host], as bits: those that it would use."""
        mask: Bools = np.ones(self._host_count, dtype=np.bool_)
        rows = np.arange(len(self._hosts))
        step = self._step(rows, ends_ms)
        chosen = devices[self._hosts, None] >> np.arange(MAX_DEVICES) & 1
        mask[self._hosts] = (
            (self._cpu[rows, step] >= shape.cpu_milli)
            & (self._memory[rows, step] >= shape.memory_mib)
            & ((self._device[rows, step] >= shape.gpu_milli) | (chosen == 0)).all(axis=1)
        )
        return mask

    def place(self, host: int, shape: PodShape, devices: int, ends_ms: int) -> None:
        """Record that such a pod starts there now and ends at `ends_ms` at the latest."""
        row = self._row.get(host)
        if row is None:
            return
        columns = self._cpu, self._memory, self._device
        before = self._placed.setdefault(row, _PlacedPods(tuple(column[row].copy() for column in columns), []))
        before.pods.append((shape, devices, ends_ms))
        self._take(row, shape, devices, ends_ms)

    def undo(self, host: int, shape: PodShape, devices: int, ends_ms: int) -> None:
        """Take back a recorded pod, because others of its gang do not fit."""
        row = self._row.get(host)
        if row is None:
            return
        before = self._placed[row]
        before.pods.remove((shape, devices, ends_ms))
        for column, was in zip((self._cpu, self._memory, self._device), before.free_before, strict=True):
            column[row] = was
        for pod in before.pods:
            self._take(row, *pod)

    def _take(self, row: int, shape: PodShape, devices: int, ends_ms: int) -> None:
        # Until its end there is less. After that, the least since now cannot be more than it was at its end.
        until = int(self._step(np.array([row]), ends_ms)[0])
        bits = devices >> np.arange(MAX_DEVICES) & 1
        for column, taken in (
            (self._cpu, shape.cpu_milli),
            (self._memory, shape.memory_mib),
            (self._device, bits * shape.gpu_milli),
        ):
            column[row, : until + 1] -= taken
            column[row, until + 1 :] = np.minimum(column[row, until + 1 :], column[row, until])

    def _step(self, rows: Ints, ends_ms: int) -> Ints:
        """Return the last step that begins before the end."""
        last: Ints = np.maximum((self._from[rows] < min(ends_ms, FOREVER)).sum(axis=1) - 1, 0)
        return last
