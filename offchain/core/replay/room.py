"""How many pods of one shape a cluster has room for."""

from __future__ import annotations

import numpy as np

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.free import Bools, Columns, Ints
from offchain.core.placing.shapes import Shape


class EmptyHosts:
    """The hosts as they are when nothing runs there."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def holds(self, shape: Shape, pods: int) -> bool:
        """Whether so many pods fit there together."""
        room = _room(self._cluster.whole, self._cluster.accepts(shape), shape, pods)
        return bool(room.sum() >= pods)


def _room(free: Columns, accepts: Bools, shape: Shape, pods: int) -> Ints:
    """[host]: how many; no more than `pods` are counted."""
    found = np.full(len(free.cpu), pods, dtype=np.int64)
    wanted = ((free.cpu, shape.cpu_milli), (free.memory, shape.memory_mib), (free.disk, shape.disk_gib))
    for column, each in wanted:
        # Of a closed host less than nothing is free.
        found = np.minimum(found, column // each if each else np.where(column < 0, 0, pods))
    if shape.gpus:
        usable = accepts[free.kind] & (free.device >= shape.gpu_milli)
        shares = np.where(usable, free.device // shape.gpu_milli, 0).sum(axis=1)
        # Each pod takes as many different devices; idle ones have all the same room.
        found = np.minimum(found, np.where(usable.sum(axis=1) >= shape.gpus, shares // shape.gpus, 0))
    return np.maximum(found, 0)
