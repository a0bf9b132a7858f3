"""Hosts that are closed to a pod which is to be elsewhere than it is."""

from __future__ import annotations

import numpy as np

from offchain.core.scheduler.columns import AnyInts, Bools
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Lease, Task


class Elsewhere:
    """A gate for one pod: the host of its lease is closed, or all of its provider's, and others as they are named."""

    def __init__(self, fleet: HostTable, lease: Lease, *, other_provider: bool) -> None:
        self._closed: Bools = np.zeros(len(fleet.attributes), dtype=np.bool_)
        if lease.host in fleet.cluster:
            row = fleet.cluster.row(lease.host)
            self._closed[row] = True
            if other_provider:
                self._closed |= fleet.attributes.provider == fleet.attributes.provider[row]

    def close(self, host: int) -> None:
        """Nor there."""
        self._closed[host] = True

    def excluded(self, task: Task, request: PodRequest, devices: AnyInts) -> Bools:
        """See :class:`offchain.core.scheduler.cycle_filters.HostFilter`."""
        del task, request, devices
        return self._closed

    def on_assume(self, task: Task, request: PodRequest, host: int, devices: int) -> None:
        """Nothing changes."""

    def on_forget(self, task: Task, request: PodRequest, host: int, devices: int) -> None:
        """Nothing changes."""
