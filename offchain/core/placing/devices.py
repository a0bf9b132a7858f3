"""Where a pod has room, and the devices that it takes where the policy has no opinion of its own: the fullest."""

from __future__ import annotations

from typing import NamedTuple

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.compiled import compiled, inner
from offchain.core.placing.free import AnyInts, Bools, Columns, Ints
from offchain.core.placing.shapes import WHOLE_GPU, Shape


class Wish(NamedTuple):
    """A shape, as compiled loops read it."""

    cpu: int
    memory: int
    disk: int
    gpus: int
    milli: int
    accepts: Bools
    """For each kind of the cluster."""

    @classmethod
    def of(cls, shape: Shape, cluster: Cluster) -> Wish:
        """The shape, for the kinds of this cluster."""
        return cls.accepting(shape, cluster.accepts(shape))

    @classmethod
    def accepting(cls, shape: Shape, accepts: Bools) -> Wish:
        """The shape, for kinds of which these are known to do."""
        return cls(shape.cpu_milli, shape.memory_mib, shape.disk_gib, shape.gpus, shape.gpu_milli, accepts)


@inner
def copy(of: AnyInts, into: AnyInts) -> None:
    """What is free on each device, entered elsewhere. A slice that is set takes more to compile than all else here."""
    for index in range(len(into)):
        into[index] = of[index]


@compiled
def fullest(host: int, free: Columns, wish: Wish) -> int:
    """The fullest devices that have room, as bits; -1 where the pod does not fit on this host."""
    if free.cpu[host] < wish.cpu or free.memory[host] < wish.memory or free.disk[host] < wish.disk:
        return -1
    chosen = 0
    for _ in range(wish.gpus):
        best = -1
        for index in range(free.gpus[host]):
            left = free.device[host, index]
            usable = left >= wish.milli and wish.accepts[free.kind[host, index]] and not chosen >> index & 1
            if usable and (best < 0 or left < free.device[host, best]):
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
