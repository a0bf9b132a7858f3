"""FGD: the host where free GPUs become useless for the next pod by the least amount.

As published (Weng et al., "Beware of Fragmentation", USENIX ATC 2023, and the simulator beside it): of a host's free
GPU, the part that a shape cannot use is fragmented for it, all of it where cores or devices do not suffice; the
expectation of that over the mix is the host's fragmentation. The score is floor(100 * sigmoid(less / 1000)), `less`
being by how many thousandths of a GPU the fragmentation falls when the pod is placed; of equals, the first host is
taken. Memory is not looked at, but for whether the pod itself fits.
"""

from __future__ import annotations

import math

import numpy as np

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.compiled import compiled, inner
from offchain.core.placing.devices import Wish, fullest
from offchain.core.placing.expected import Expected, Rows
from offchain.core.placing.free import AnyInts, Columns, Floats, Ints
from offchain.core.placing.shapes import WHOLE_GPU, Mix, Shape


class Fragmentation:
    """Published FGD."""

    steady = True

    def __init__(self, cluster: Cluster, mix: Mix) -> None:
        self._cluster = cluster
        self._mix = mix
        self._look()

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """The published score with its sign turned round, and the host's place in the list."""
        cluster = self._cluster
        if len(cluster.kinds) > len(self._weight):
            self._look()
        wish = Wish.of(shape, cluster)
        _score(hosts, cluster.free, wish, self._rows, self._usable, self._weight, scores, devices)

    def _look(self) -> None:
        """See what devices there are."""
        expected = Expected(self._mix, self._cluster)
        free = np.arange(WHOLE_GPU + 1)[:, None]
        self._rows = expected.rows
        self._usable: Floats = np.where(free >= expected.milli[None, :], free, 0).astype(np.float64)
        self._weight = expected.by_kind(expected.share)


@inner
def _expected_use(
    cpu: int, free: AnyInts, rows: Rows, usable: Floats, weight: Floats, fit: Floats, sums: Floats
) -> float:
    """Thousandths of the host's free GPU that the next pod is expected to be able to use."""
    fit[:] = 0.0
    sums[:] = 0.0
    for left in free:
        if left:
            for k in range(len(fit)):
                if usable[left, k] > 0:
                    sums[k] += left
                    fit[k] += 1.0
    total = 0.0
    for row in range(len(rows.cpu)):
        k = rows.way[row]
        if cpu >= rows.cpu[row] and fit[k] >= rows.gpus[k]:
            total += weight[row] * sums[k]
    return total


@compiled
def _score(
    hosts: Ints,
    free: Columns,
    wish: Wish,
    rows: Rows,
    usable: Floats,
    weight: Floats,
    scores: Floats,
    devices: Ints,
) -> None:
    fit = np.zeros(len(rows.gpus))
    sums = np.zeros(len(rows.gpus))
    for host in hosts:
        chosen = fullest(host, free, wish)
        scores[host] = np.inf
        devices[host] = chosen
        if chosen < 0:
            continue
        device = free.device[host, : free.gpus[host]].copy()
        mine = weight[free.main[host]]
        left = free.cpu[host] - wish.cpu
        before = _expected_use(free.cpu[host], device, rows, usable, mine, fit, sums)
        best = 101
        single = wish.gpus == 1 and wish.milli < WHOLE_GPU
        for index in range(len(device) if single else 1):
            if single and not (device[index] >= wish.milli and wish.accepts[free.kind[host, index]]):
                continue
            taken = 1 << index if single else chosen
            for other in range(len(device)):
                device[other] -= wish.milli * (taken >> other & 1)
            after = _expected_use(left, device, rows, usable, mine, fit, sums)
            for other in range(len(device)):
                device[other] += wish.milli * (taken >> other & 1)
            less = wish.gpus * wish.milli - before + after
            value = -math.floor(100.0 / (1.0 + math.exp(-less / 1000.0)))
            if value < best:
                best = value
                devices[host] = taken
        scores[host] = best + host / len(scores)
