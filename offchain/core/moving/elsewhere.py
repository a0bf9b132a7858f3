"""Hosts that are closed to a pod which is to be elsewhere than it is."""

from __future__ import annotations

import numpy as np

from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from offchain.core.placing.free import AnyInts, Bools
from offchain.core.values import Lease, Task


class Elsewhere:
    """A gate for one pod: the host of its lease is closed, or all of its provider's, and others as they are named."""

    def __init__(self, fleet: Fleet, lease: Lease, *, other_provider: bool) -> None:
        self._closed: Bools = np.zeros(len(fleet.facts), dtype=np.bool_)
        if lease.host in fleet.cluster:
            row = fleet.cluster.number(lease.host)
            self._closed[row] = True
            if other_provider:
                self._closed |= fleet.facts.provider == fleet.facts.provider[row]

    def close(self, host: int) -> None:
        """Nor there."""
        self._closed[host] = True

    def closed(self, task: Task, want: Want, devices: AnyInts) -> Bools:
        """See :class:`offchain.core.planning.gates.Gate`."""
        del task, want, devices
        return self._closed

    def taken(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Nothing changes."""

    def given(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Nothing changes."""
