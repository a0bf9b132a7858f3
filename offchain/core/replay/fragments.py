"""How much of what is free is in pieces that are of no use, as FGD defines it.

Weng et al., "Beware of Fragmentation", USENIX ATC 2023: of a host's free GPU, a shape cannot use the devices that have
less than it asks for of each, nor any where cores or devices do not suffice. The expectation of that over the mix is
fragmented. Pods without GPUs are left out of the mix.
"""

from __future__ import annotations

import numpy as np

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.compiled import compiled
from offchain.core.placing.expected import Expected, Rows
from offchain.core.placing.free import Bools, Columns, Floats
from offchain.core.placing.shapes import WHOLE_GPU, Mix


class Fragments:
    """Of one cluster, for the pods that are expected there."""

    def __init__(self, cluster: Cluster, mix: Mix) -> None:
        expected = Expected(mix, cluster)
        self._cluster = cluster
        self._rows = expected.rows
        self._fits: Bools = np.arange(WHOLE_GPU + 1)[:, None] >= expected.milli[None, :]
        self._weight = expected.by_kind(expected.share / max(1e-300, float(expected.share.sum())))

    def percent(self) -> float:
        """Of free GPUs; 0 where nothing is free."""
        free_milli = self._cluster.free_milli
        if not free_milli:
            return 0.0
        useful = _expected_use(self._cluster.free, self._rows, self._fits, self._weight)
        return 100.0 * max(0.0, 1.0 - useful / free_milli)


@compiled
def _expected_use(free: Columns, rows: Rows, fits: Bools, weight: Floats) -> float:
    """Thousandths of all hosts that the next pod is expected to be able to use."""
    ways = len(rows.gpus)
    devices, sums = np.zeros(ways), np.zeros(ways)
    total = 0.0
    for host in range(len(free.cpu)):
        devices[:] = 0.0
        sums[:] = 0.0
        for index in range(free.gpus[host]):
            left = free.device[host, index]
            if left:
                for k in range(ways):
                    if fits[left, k]:
                        devices[k] += 1.0
                        sums[k] += left
        for row in range(len(rows.cpu)):
            k = rows.way[row]
            if free.cpu[host] >= rows.cpu[row] and devices[k] >= rows.gpus[k]:
                total += weight[free.main[host], row] * sums[k]
    return total
