"""Pods of one task on different hosts, or hosts of different providers; or on as few hosts as have room."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.layouts import closed_by, rows_beside
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools, Ints
from offchain.core.placing.shapes import Shape
from offchain.core.values import Layout, Task


class Apart:
    """A gate, made anew for a round. It looks at one task at a time: its pods come one after the other."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._task: int | None = None
        self._rows: list[int] = []
        """Of the hosts where this round has placed pods of this task."""

    def closed(self, task: Task, want: Want, devices: npt.NDArray[np.signedinteger[Any]]) -> Bools | None:
        """[host]: whether another pod of the task is there, or on a host of its provider."""
        del devices
        if want.layout is Layout.ANY:
            return None
        return closed_by(want.layout, self._beside(task, want), self._fleet.facts)

    def first(self, task: Task, want: Want, takes: Bools) -> Bools | None:
        """[host]: of those that take the pod, the ones to which a packed one goes first. None: it does not matter.

        Where others of its task are; else where there is room for most of its pods.
        """
        if want.layout is not Layout.PACKED:
            return None
        beside = np.zeros(len(takes), dtype=np.bool_)
        beside[self._beside(task, want)] = True
        if (beside & takes).any():
            return beside
        most = np.where(takes, np.minimum(room(self._fleet, want.shape), len(task.open_pods) - len(self._rows)), -1)
        best: Bools = most == most.max()
        return best

    def taken(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Others of its pods keep away from there, or come there too."""
        del devices
        if want.layout is not Layout.ANY:
            self._turn_to(task)
            self._rows.append(host)

    def given(self, task: Task, want: Want, host: int, devices: int) -> None:
        """It is not there after all."""
        del devices
        if want.layout is not Layout.ANY:
            self._turn_to(task)
            self._rows.remove(host)

    def _beside(self, task: Task, want: Want) -> list[int]:
        """The rows of hosts with pods of this task."""
        self._turn_to(task)
        return self._rows + rows_beside(want, self._fleet)

    def _turn_to(self, task: Task) -> None:
        if self._task != task.id:
            self._task, self._rows = task.id, []


def room(fleet: Fleet, shape: Shape) -> Ints:
    """[host]: for how many such pods there is room now, by what is free; more than would fit where models differ."""
    free = fleet.cluster.free
    counts = [free.cpu // max(1, shape.cpu_milli), free.memory // max(1, shape.memory_mib)]
    if shape.disk_gib:
        counts.append(free.disk // shape.disk_gib)
    if shape.gpus:
        counts.append((free.device // shape.gpu_milli).sum(axis=1) // shape.gpus)
    found: Ints = np.minimum.reduce(counts)
    return found
