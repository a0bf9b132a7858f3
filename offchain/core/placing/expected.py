"""The pods that are expected, as columns for compiled loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.free import Bools, Floats, Ints
from offchain.core.placing.shapes import WHOLE_GPU, Mix, Shape

MOST_ROWS = 256
"""The time for a score grows with the rows: where there are more, similar shapes become one."""

_ROUNDING = ((1, 1), (1.1, 1), (1.25, 10), (1.5, 20), (2, 50), (4, 100))
"""Factors for cores and memory, thousandths for GPUs; the first that leaves few enough rows is used."""

_ALWAYS = 1e9
"""How often a wish for nothing fits."""

_Key = tuple[int, int, int, int]


class Rows(NamedTuple):
    """What expected pods ask for. Shapes that differ only in the models they accept are one row.

    Column `k` of the tables is one way to ask for GPUs: `gpus[k]` devices with the same thousandths of each.
    """

    cpu: Floats
    per_cpu: Floats
    """A host has cores for floor(cpu * per_cpu + more_cpu) pods of a row."""
    more_cpu: Floats
    memory: Floats
    per_memory: Floats
    more_memory: Floats
    way: Ints
    """The row's column of the tables; it never falls."""
    first: npt.NDArray[np.uint64]
    """[k]: the first row of column `k`, and one more: the number of rows. Without a sign, so that loops run faster."""
    gpus: Floats
    """Of column `k`."""
    pieces: Floats
    """[free thousandths of a device, k]: how many such shares it can be cut into."""


class Expected:
    """The rows, and which shape is which row. Pods without GPUs are left out: no GPU is ever kept for them."""

    def __init__(self, mix: Mix, cluster: Cluster) -> None:
        wanted = [(shape, share) for shape, share in mix.shares().items() if shape.gpus]
        self.shapes: tuple[Shape, ...] = tuple(shape for shape, _ in wanted)
        self.share: Floats = np.array([share for _, share in wanted], dtype=np.float64)
        """Probability that the next pod has this shape; with the pods without GPUs they add up to 1."""
        self.accepts: Bools = np.array([cluster.accepts(shape) for shape in self.shapes], dtype=np.bool_).reshape(
            len(wanted), len(cluster.kinds)
        )
        keys = _few(self.shapes)
        rows = sorted(set(keys), key=lambda key: (key[2:], key))
        place = {row: index for index, row in enumerate(rows)}
        self._row: Ints = np.array([place[key] for key in keys], dtype=np.int64)
        ways = sorted({(gpus, milli) for _, _, gpus, milli in rows})
        cpu = self._mean([shape.cpu_milli for shape in self.shapes], len(rows))
        memory = self._mean([shape.memory_mib for shape in self.shapes], len(rows))
        self.milli: Ints = np.array([milli for _, milli in ways], dtype=np.int64)
        """[k]: thousandths of each device."""
        way: Ints = np.array([ways.index((gpus, milli)) for _, _, gpus, milli in rows], dtype=np.int64)
        self.rows = Rows(
            cpu=cpu,
            per_cpu=_inverse(cpu),
            more_cpu=np.where(cpu > 0, 1e-6, _ALWAYS),
            memory=memory,
            per_memory=_inverse(memory),
            more_memory=np.where(memory > 0, 1e-6, _ALWAYS),
            way=way,
            first=np.searchsorted(way, np.arange(len(ways) + 1)).astype(np.uint64),
            gpus=np.array([gpus for gpus, _ in ways], dtype=np.float64),
            pieces=(np.arange(WHOLE_GPU + 1)[:, None] // self.milli[None, :]).astype(np.float64),
        )

    def _mean(self, wanted: Sequence[int], rows: int) -> Floats:
        """[row]: what its shapes ask for, each by its probability."""
        sums, shares = np.zeros(rows), np.zeros(rows)
        np.add.at(sums, self._row, np.array(wanted, dtype=np.float64) * self.share)
        np.add.at(shares, self._row, self.share)
        mean: Floats = np.round(sums / np.maximum(shares, 1e-300), 3)
        return mean

    def by_kind(self, weights: Floats) -> Floats:
        """[kind, row]: the weights of all shapes of that row that may run there."""
        summed = np.zeros((self.accepts.shape[1], len(self.rows.cpu)))
        for index, row in enumerate(self._row):
            summed[:, row] += self.accepts[index] * weights[index]
        return summed


def _few(shapes: Sequence[Shape]) -> list[_Key]:
    """[shape]: cores, memory, GPUs and thousandths of each, rounded so far that not too many are different."""
    keys: list[_Key] = []
    for factor, grain in _ROUNDING:
        keys = [
            (
                _rounded(shape.cpu_milli, factor),
                _rounded(shape.memory_mib, factor),
                shape.gpus,
                min(WHOLE_GPU, -(-shape.gpu_milli // grain) * grain),
            )
            for shape in shapes
        ]
        if len(set(keys)) <= MOST_ROWS:
            break
    return keys


def _rounded(wanted: int, factor: float) -> int:
    """Which power of the factor it is about; with a factor of 1 the number itself."""
    return wanted if factor == 1 or wanted == 0 else 1 + round(math.log(wanted) / math.log(factor))


def _inverse(wanted: Floats) -> Floats:
    return np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
