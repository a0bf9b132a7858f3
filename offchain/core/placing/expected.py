"""The pods that are expected, as columns for compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from offchain.core.placing.cluster import Bools, Cluster, Floats, Ints
from offchain.core.placing.shapes import WHOLE_GPU, Mix, Shape

_ALWAYS = 1e9
"""How often a wish for nothing fits."""


class Rows(NamedTuple):
    """What expected pods ask for. Shapes that differ only in the models they accept are one row.

    Column `k` of the tables is one way to ask for GPUs: `gpus[k]` devices with the same thousandths of each.
    """

    cpu: Floats
    per_cpu: Floats
    """A host has cores for floor(cpu × per_cpu + more_cpu) pods of a row."""
    more_cpu: Floats
    per_memory: Floats
    more_memory: Floats
    way: Ints
    """The row's column of the tables."""
    gpus: Floats
    """Of column `k`."""
    pieces: Floats
    """[free thousandths of a device, k]: how many such shares it can be cut into."""


class Expected:
    """The rows, and which shape is which row. Pods without GPUs are left out: no GPU is ever kept for them."""

    def __init__(self, mix: Mix, cluster: Cluster) -> None:
        wanted = [(shape, share) for shape, share in mix.shares().items() if shape.gpus]
        rows = sorted({_row(shape) for shape, _ in wanted})
        self.ways = sorted({(gpus, milli) for _, _, gpus, milli in rows})
        cpu = np.array([cpu for cpu, _, _, _ in rows], dtype=np.float64)
        memory = np.array([memory for _, memory, _, _ in rows], dtype=np.float64)
        free = np.arange(WHOLE_GPU + 1)[:, None]
        self.milli: Ints = np.array([milli for _, milli in self.ways], dtype=np.int64)
        self.rows = Rows(
            cpu=cpu,
            per_cpu=_inverse(cpu),
            more_cpu=np.where(cpu > 0, 1e-6, _ALWAYS),
            per_memory=_inverse(memory),
            more_memory=np.where(memory > 0, 1e-6, _ALWAYS),
            way=np.array([self.ways.index((gpus, milli)) for _, _, gpus, milli in rows], dtype=np.int64),
            gpus=np.array([gpus for gpus, _ in self.ways], dtype=np.float64),
            pieces=(free // self.milli[None, :]).astype(np.float64),
        )
        self.shapes: tuple[Shape, ...] = tuple(shape for shape, _ in wanted)
        self.share: Floats = np.array([share for _, share in wanted], dtype=np.float64)
        """Probability that the next pod has this shape; with the pods without GPUs they add up to 1."""
        self.accepts: Bools = np.array([cluster.accepts(shape) for shape in self.shapes], dtype=np.bool_).reshape(
            len(wanted), len(cluster.models)
        )
        place = {row: index for index, row in enumerate(rows)}
        self._row: Ints = np.array([place[_row(shape)] for shape in self.shapes], dtype=np.int64)

    def by_model(self, weights: Floats) -> Floats:
        """[model, row]: the weights of all shapes of that row that may run there."""
        summed = np.zeros((self.accepts.shape[1], len(self.rows.cpu)))
        for index, row in enumerate(self._row):
            summed[:, row] += self.accepts[index] * weights[index]
        return summed


def _row(shape: Shape) -> tuple[int, int, int, int]:
    return shape.cpu_milli, shape.memory_mib, shape.gpus, shape.gpu_milli


def _inverse(wanted: Floats) -> Floats:
    return np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
