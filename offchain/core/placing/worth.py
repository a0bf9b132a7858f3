"""Gantry's own policy: the host whose free GPUs lose the least worth.

A free piece of a GPU is worth what can be cut from it when GPUs are cut in the best way (cuts.py), as far as the host's
cores and memory reach: of the expected pods that such a piece is big enough for, each counts with its probability and
with the part of them that cores and memory suffice for. What is lost is counted in steps; of hosts that lose as many
steps, the fullest is taken. docs/scheduling.md has the formula, its numbers, and why they are as they are.
"""

from __future__ import annotations

import numpy as np

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.cuts import piece_values
from offchain.core.placing.devices import Wish
from offchain.core.placing.expected import Expected
from offchain.core.placing.free import Bools, Floats, Ints
from offchain.core.placing.lanes import AnyFloats, Beside, Lane
from offchain.core.placing.loss import Known, Tables, known, wider
from offchain.core.placing.run import TIE, fill
from offchain.core.placing.shapes import WHOLE_GPU, Mix, Shape

SEVERAL_GPUS = 0.25
"""How much a pod that needs several GPUs counts, against its probability, where rehearsal.py finds nothing better."""

CORES = 1.5
"""How often cores count for pods that share a host: beside those that need many others come that need few."""

MEMORY = 1.0
"""Likewise of memory."""

_SALT = 0x42B2AE3D27D4EB4F
_SALTS = 1 << 63
"""Each call has another: an odd number, over and over."""

_NO_POINTS: Floats = np.zeros(0)
_NO_BOUNDS: AnyFloats = np.zeros(0, dtype=np.float32)
_NOBODY: Ints = np.zeros(0, dtype=np.int64)
_NONE: Bools = np.zeros(0, dtype=np.bool_)
_NOTHING = Beside(_NO_POINTS, _NOBODY, _NO_POINTS, _NONE, _NONE)


class Worth:
    """The loss of worth, in steps, and then how little is left."""

    steady = True
    _known: Known

    def __init__(
        self,
        cluster: Cluster,
        mix: Mix,
        several_gpus: float = SEVERAL_GPUS,
        cores: float = CORES,
        memory: float = MEMORY,
    ) -> None:
        self._cluster = cluster
        self._mix = mix
        self._several_gpus = several_gpus
        self._cores = cores
        self._memory = memory
        self._salt = 0
        self._look()

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Of devices of one host that lose as much, the fullest is taken."""
        wish, lane = Wish.of(shape, self._cluster), Lane(scores, devices, _NO_POINTS)
        self.fill(wish, hosts, lane, _NOTHING, _NOBODY, _NOBODY)

    def bound(self, wish: Wish, hosts: Ints, bounds: Lane) -> None:
        """Score `hosts` for a wish for GPUs and for nothing else: such scores are bounds for all that ask for more."""
        self.fill(wish, hosts, bounds, _NOTHING, _NOBODY, _NOBODY)

    def fill(
        self,
        wish: Wish,
        hosts: Ints,
        lane: Lane,
        beside: Beside,
        chosen: Ints,
        on: Ints,
        bounds: AnyFloats = _NO_BOUNDS,
    ) -> tuple[int, int]:
        """Score `hosts`, then place such pods one after the other, each on the best host, and take its share.

        As many as `chosen` (their hosts) and `on` (their devices as bits) have room for, or fit. Gives how many were
        placed, and the host at which it stopped because it is not sure; -1: at none. `bounds`: of all hosts, as
        :meth:`bound` has them now: then hosts are scored only when they come to be the best.
        """
        cluster = self._cluster
        if cluster.mains > len(self._tables.weight):
            self._look()
        if len(cluster) > len(self._known.hosts):
            self._known = wider(self._known, 2 * len(cluster))
        self._salt = (self._salt + _SALT) % _SALTS
        placed, stopped = fill(
            hosts,
            cluster.free,
            wish,
            self._tables,
            self._known,
            cluster.most,
            lane,
            beside,
            chosen,
            on,
            self._salt,
            bounds,
        )
        cluster.free_milli -= placed * wish.gpus * wish.milli
        return placed, stopped

    def parts(self, scores: Floats) -> dict[str, Floats]:
        """Worth that free GPUs lose, in steps, and how full the host is."""
        lost: Floats = np.floor(scores / TIE) * TIE
        return {"worth lost": lost, "fullness": scores - lost}

    def _look(self) -> None:
        """See what devices there are."""
        expected = Expected(self._mix, self._cluster)
        counts = _counts(expected, self._several_gpus)
        weight = expected.by_kind(counts * _scarcity(expected, self._cluster))
        rows = expected.rows
        rows = rows._replace(per_cpu=rows.per_cpu * self._cores, per_memory=rows.per_memory * self._memory)
        self._tables = Tables(_values(expected, counts), weight, *_most_each(expected), rows)
        self._known = known(rows)


def _counts(expected: Expected, several_gpus: float) -> Floats:
    """[shape]: how much it counts; all add up to 1."""
    several = np.array([shape.gpus > 1 for shape in expected.shapes], dtype=np.bool_)
    weights: Floats = expected.share * np.where(several, several_gpus, 1.0)
    return weights / weights.sum() if len(weights) else weights


def _scarcity(expected: Expected, cluster: Cluster) -> Floats:
    """[shape]: all GPUs over those of models that it accepts, so that a model is kept for pods that accept no other."""
    have = np.zeros(len(cluster.kinds))
    np.add.at(have, cluster.free.main, cluster.free.gpus.astype(np.float64))
    mine = np.maximum((expected.accepts * have[None, :]).sum(axis=1), 1.0)
    scarce: Floats = np.maximum(have.sum(), 1.0) / mine
    return scarce


def _most_each(expected: Expected) -> tuple[float, float]:
    """Of cores and of memory, the most that an expected pod asks for beside each thousandth of a GPU."""
    rows = expected.rows
    if not len(rows.cpu):
        return 0.0, 0.0
    milli = rows.gpus[rows.way] * expected.milli[rows.way]
    return float((rows.cpu / milli).max()), float((rows.memory / milli).max())


def _values(expected: Expected, counts: Floats) -> Floats:
    """[free thousandths, k]: what a piece is worth for a pod that asks for GPUs in way `k`.

    That is its value over the weight of all pods that it is big enough for.
    """
    demand: dict[int, float] = {}
    big_enough = np.zeros(WHOLE_GPU + 1)
    for shape, share, count in zip(expected.shapes, expected.share, counts, strict=True):
        demand[shape.gpu_milli] = demand.get(shape.gpu_milli, 0.0) + share * shape.gpus
        big_enough[shape.gpu_milli :] += count
    worth = WHOLE_GPU * piece_values(demand)
    each = np.divide(worth, big_enough, out=np.zeros_like(worth), where=big_enough > 0)
    free = np.arange(WHOLE_GPU + 1)[:, None]
    return np.where(free >= expected.milli[None, :], each[:, None], 0.0)
