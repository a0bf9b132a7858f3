"""The pods that are expected: a distribution learned from arrivals, and its columns for compiled loops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Bools, Floats, Ints
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.core.scheduler.sharing_demand import SharingDemand


@dataclass(slots=True)
class DemandDistribution:
    """Expected pods of each shape; only the ratios matter."""

    counts: dict[PodShape, float] = field(default_factory=dict)

    @classmethod
    def of(cls, shapes: Iterable[PodShape]) -> DemandDistribution:
        """Count each shape of `shapes`."""
        mix = cls()
        for shape in shapes:
            mix.learn(shape)
        return mix

    def learn(self, shape: PodShape, pods: int = 1) -> None:
        """Count `pods` more pods of this shape."""
        self.counts[shape] = self.counts.get(shape, 0.0) + pods

    def decay(self, most: int) -> None:
        """Halve all counts, and forget all but the `most` most frequent shapes, of equals those that came first."""
        often = sorted(self.counts.items(), key=lambda item: -item[1])[:most]
        self.counts = {shape: count / 2 for shape, count in often}

    def shares(self) -> Mapping[PodShape, float]:
        """Return the probability of each shape for the next pod."""
        total = sum(self.counts.values())
        return {shape: count / total for shape, count in self.counts.items() if count > 0}


def total_variation(one: Mapping[PodShape, float], other: Mapping[PodShape, float]) -> float:
    """Return the total variation distance of two distributions, from 0 to 1."""
    return sum(abs(one.get(shape, 0.0) - other.get(shape, 0.0)) for shape in one.keys() | other.keys()) / 2


MIN_NEW_TASKS: Final = 1000
"""The estimate is considered again after this many new tasks, or twice or a quarter more than were known."""

DECAY_TASKS: Final = 1_000_000
"""After this many tasks, earlier ones count half."""

MAX_SHAPES: Final = 4096
"""Different shapes in the estimate."""

MIN_DIFFERENCE: Final = 0.05
"""Scores are computed anew when the distribution differs by this much (total variation), or the hosts grew by this
part.
"""


class DemandEstimator:
    """Learns the expected pods of one scheduler."""

    def __init__(self) -> None:
        self._mix = DemandDistribution()
        self.sharing = SharingDemand()
        self._arrived = 0
        self._considered = 0
        """The number of tasks when the estimate was last considered."""
        self._in_use: tuple[int, Mapping[PodShape, float]] = (0, {})
        """The number of hosts and the distribution for which scores were last computed."""

    def observe(self, shape: PodShape, pods: int, tasks: int = 1, account: str = "") -> None:
        """Count new tasks of `pods` pods each. `account`: see :func:`sharing_account`."""
        self._mix.learn(shape, pods * tasks)
        self.sharing.observe(shape, pods * tasks, account)
        before, self._arrived = self._arrived, self._arrived + tasks
        if before // DECAY_TASKS < self._arrived // DECAY_TASKS or len(self._mix.counts) > MAX_SHAPES:
            self._mix.decay(MAX_SHAPES // 2)
            self.sharing.decay()

    def refresh(self, hosts: int) -> DemandDistribution | None:
        """Return the distribution if scores must be computed anew for it; None: the one in use is good enough."""
        new = self._arrived - self._considered
        if new and new >= min(self._considered, max(MIN_NEW_TASKS, self._considered // 4)):
            self._considered = self._arrived
            shares = self._mix.shares()
            if (
                hosts > (1 + MIN_DIFFERENCE) * self._in_use[0]
                or total_variation(shares, self._in_use[1]) > MIN_DIFFERENCE
            ):
                self._in_use = hosts, shares
                return self._mix
        return None


MAX_ROWS = 256
"""The time for a score grows with the rows: similar shapes are merged where there are more."""

_ROUNDING = ((1, 1), (1.1, 1), (1.25, 10), (1.5, 20), (2, 50), (4, 100))
"""Factors for cores and memory, thousandths for GPUs; the first that leaves few enough rows is used."""

_ALWAYS = 1e9
"""How many pods that ask for nothing fit."""

_Key = tuple[int, int, int, int]


class DemandRows(NamedTuple):
    """Requests of expected pods. Shapes that differ only in accepted models are one row.

    Column `k` of the tables is one way to ask for GPUs: `gpus[k]` devices with equal thousandths of each.
    """

    cpu: Floats
    per_cpu: Floats
    """A host has cores for floor(cpu * per_cpu + more_cpu) pods of a row."""
    more_cpu: Floats
    memory: Floats
    per_memory: Floats
    more_memory: Floats
    way: Ints
    """The row's column of the tables, in ascending order."""
    first: npt.NDArray[np.uint64]
    """[k]: the first row of column `k`; the last entry is the number of rows. Unsigned, so that loops run faster."""
    gpus: Floats
    """The number of devices of column `k`."""
    pieces: Floats
    """[free thousandths of a device, k]: how many such shares it can be cut into."""


class ExpectedDemand:
    """The columns of expected pods, and the row of each shape.

    Pods without GPUs are left out: no GPU is kept for them.
    """

    def __init__(self, mix: DemandDistribution, cluster: Cluster) -> None:
        wanted = [(shape, share) for shape, share in mix.shares().items() if shape.gpus]
        self.shapes: tuple[PodShape, ...] = tuple(shape for shape, _ in wanted)
        self.share: Floats = np.array([share for _, share in wanted], dtype=np.float64)
        """Probability that the next pod has this shape; with the pods without GPUs they add up to 1."""
        self.accepts: Bools = np.array([cluster.accepts(shape) for shape in self.shapes], dtype=np.bool_).reshape(
            len(wanted), len(cluster.classes)
        )
        keys = _rounded_keys(self.shapes)
        rows = sorted(set(keys), key=lambda key: (key[2:], key))
        place = {row: index for index, row in enumerate(rows)}
        self._row: Ints = np.array([place[key] for key in keys], dtype=np.int64)
        ways = sorted({(gpus, milli) for _, _, gpus, milli in rows})
        cpu = self._mean([shape.cpu_milli for shape in self.shapes], len(rows))
        memory = self._mean([shape.memory_mib for shape in self.shapes], len(rows))
        self.milli: Ints = np.array([milli for _, milli in ways], dtype=np.int64)
        """[k]: thousandths of each device."""
        way: Ints = np.array([ways.index((gpus, milli)) for _, _, gpus, milli in rows], dtype=np.int64)
        self.rows = DemandRows(
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
        """[row]: the mean of what its shapes ask for, weighted by probability."""
        sums, shares = np.zeros(rows), np.zeros(rows)
        np.add.at(sums, self._row, np.array(wanted, dtype=np.float64) * self.share)
        np.add.at(shares, self._row, self.share)
        mean: Floats = np.round(sums / np.maximum(shares, 1e-300), 3)
        return mean

    def by_class(self, weights: Floats) -> Floats:
        """[class, row]: the summed weights of the row's shapes that accept the device class."""
        summed = np.zeros((self.accepts.shape[1], len(self.rows.cpu)))
        for index, row in enumerate(self._row):
            summed[:, row] += self.accepts[index] * weights[index]
        return summed


def _rounded_keys(shapes: Sequence[PodShape]) -> list[_Key]:
    """[shape]: cores, memory, GPUs and thousandths of each, rounded until few enough keys are different."""
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
        if len(set(keys)) <= MAX_ROWS:
            break
    return keys


def _rounded(wanted: int, factor: float) -> int:
    """Return the nearest power of the factor, as its exponent plus one; with a factor of 1 the number itself."""
    return wanted if factor == 1 or wanted == 0 else 1 + round(math.log(wanted) / math.log(factor))


def _inverse(wanted: Floats) -> Floats:
    return np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
