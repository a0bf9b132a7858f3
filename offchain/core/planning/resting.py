"""Hosts that pods of one kind leave alone for a while, because such failed there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools
from offchain.core.placing.shapes import Shape
from offchain.core.scheduler.host_health import FailureHistory
from offchain.core.values import Task


class Resting:
    """A gate, made anew for a round at `now_ms`."""

    def __init__(self, memory: FailureHistory, facts: Facts, now_ms: int) -> None:
        self._memory = memory
        self._facts = facts
        self._now_ms = now_ms
        self._closed: dict[tuple[Shape, bytes | None], Bools | None] = {}

    def closed(self, task: Task, want: Want, devices: npt.NDArray[np.signedinteger[Any]]) -> Bools | None:
        """[host]: whether such pods failed there more than once, and it is too early to try again."""
        del task, devices
        kind = want.shape, want.manifest
        if kind not in self._closed:
            hosts = self._memory.hosts_in_cooldown(*kind, self._now_ms)
            self._closed[kind] = self._facts.hosts.among(hosts, self._facts.host) if hosts else None
        return self._closed[kind]

    def taken(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Nothing changes."""

    def given(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Nothing changes."""
