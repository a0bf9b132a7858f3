"""The pods that are expected, as columns for compiled loops: what each asks for, and how much it counts on which model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offchain.core.placing.cluster import Cluster, Floats, Ints
from offchain.core.placing.shapes import WHOLE_GPU, Mix, Shape

_ALWAYS = 1e9
"""How often a wish for nothing fits."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Shapes that differ only in the models they accept are one row here, which counts differently by model.

    Column `k` of `pieces` and `usable` is one way to ask for GPUs: `gpus[k]` devices with the same thousandths of each.
    """

    cpu: Floats
    """Milli-cores that row `b` asks for."""
    memory: Floats
    per_cpu: Floats
    """A host has room for floor(cpu × per_cpu + more_cpu) of row `b`, as far as cores go."""
    more_cpu: Floats
    per_memory: Floats
    more_memory: Floats
    way: Ints
    """Which column of `pieces` and `usable`."""
    milli: Floats
    """Thousandths of GPUs in all."""
    gpus: Floats
    """Of column `k`."""
    pieces: Floats
    """[free thousandths of a device, k]: on how many such shares it can be cut."""
    usable: Floats
    """[free thousandths of a device, k]: the same number where one share fits, else 0."""
    share: Floats
    """[shape]: probability that the next pod has this shape; those without GPUs are left out."""
    row: Ints
    """[shape]: its row."""
    accepts: Floats
    """[shape, model]: 1 where it may run there."""

    @classmethod
    def of(cls, mix: Mix, cluster: Cluster) -> Expected:
        """The expected pods that ask for GPUs, for the models of this cluster."""
        wanted = [(shape, share) for shape, share in mix.shares().items() if shape.gpus]
        rows = sorted({_wish(shape) for shape, _ in wanted})
        ways = sorted({(gpus, milli) for _, _, gpus, milli in rows})
        free = np.arange(WHOLE_GPU + 1)[:, None]
        milli = np.array([milli for _, milli in ways], dtype=np.int64)[None, :]
        cpu = np.array([cpu for cpu, _, _, _ in rows], dtype=np.float64)
        memory = np.array([memory for _, memory, _, _ in rows], dtype=np.float64)
        return cls(
            cpu=cpu,
            memory=memory,
            per_cpu=_inverse(cpu),
            more_cpu=np.where(cpu > 0, 1e-6, _ALWAYS),
            per_memory=_inverse(memory),
            more_memory=np.where(memory > 0, 1e-6, _ALWAYS),
            way=np.array([ways.index((gpus, milli)) for _, _, gpus, milli in rows], dtype=np.int64),
            milli=np.array([gpus * milli for _, _, gpus, milli in rows], dtype=np.float64),
            gpus=np.array([gpus for gpus, _ in ways], dtype=np.float64),
            pieces=(free // milli).astype(np.float64),
            usable=np.where(free >= milli, free, 0).astype(np.float64),
            share=np.array([share for _, share in wanted], dtype=np.float64),
            row=np.array([rows.index(_wish(shape)) for shape, _ in wanted], dtype=np.int64),
            accepts=np.array([cluster.accepts(shape) for shape, _ in wanted], dtype=np.float64).reshape(
                len(wanted), len(cluster.models)
            ),
        )

    def by_model(self, weights: Floats) -> Floats:
        """A weight for each shape, summed up for each model and row."""
        summed = np.zeros((self.accepts.shape[1], len(self.cpu)))
        for index, row in enumerate(self.row):
            summed[:, row] += self.accepts[index] * weights[index]
        return summed


def _wish(shape: Shape) -> tuple[int, int, int, int]:
    return shape.cpu_milli, shape.memory_mib, shape.gpus, shape.gpu_milli


def _inverse(wanted: Floats) -> Floats:
    return np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
