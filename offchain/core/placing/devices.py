"""Where a pod has room, and the devices that it takes where the policy has no opinion of its own: the fullest."""

from __future__ import annotations

from typing import NamedTuple

from offchain.core.placing.cluster import Bools, Cluster, Columns, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.shapes import WHOLE_GPU, Shape


class Wish(NamedTuple):
    """A shape, as compiled loops read it."""

    cpu: int
    memory: int
    gpus: int
    milli: int
    accepts: Bools
    """For each model of the cluster."""

    @classmethod
    def of(cls, shape: Shape, cluster: Cluster) -> Wish:
        """The shape, for the models of this cluster."""
        return cls(shape.cpu_milli, shape.memory_mib, shape.gpus, shape.gpu_milli, cluster.accepts(shape))


@compiled
def fullest(host: int, free: Columns, wish: Wish) -> int:
    """The fullest devices that have room, as bits; -1 where the pod does not fit on this host."""
    if free.cpu[host] < wish.cpu or free.memory[host] < wish.memory or not wish.accepts[free.model[host]]:
        return -1
    chosen = 0
    for _ in range(wish.gpus):
        best = -1
        for index in range(free.count[host]):
            left = free.device[host, index]
            if left >= wish.milli and not chosen >> index & 1 and (best < 0 or left < free.device[host, best]):
                best = index
                if wish.milli == WHOLE_GPU:
                    break
        if best < 0:
            return -1
        chosen |= 1 << best
    return chosen


@compiled
def choose(hosts: Ints, free: Columns, wish: Wish, devices: Ints) -> None:
    """The same for each of `hosts`, written into its place of `devices`."""
    for host in hosts:
        devices[host] = fullest(host, free, wish)
