"""The fragmentation score: of feasible hosts, the one whose free GPUs lose the least value.

A free piece of a GPU is worth what can be cut from it when GPUs are cut optimally (cutting stock), as far as the host's
cores and memory reach: each expected pod that the piece is big enough for counts with its probability and with the part
of them that cores and memory suffice for. The loss is counted in steps; of hosts that lose equally many steps, the
fullest is taken. docs/scheduling.md has the formula, its numbers and their reasons.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import numpy as np

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Bools, Floats, Ints
from offchain.core.scheduler.demand import DemandDistribution, ExpectedDemand
from offchain.core.scheduler.device_choice import KernelRequest
from offchain.core.scheduler.host_value import ScoreTables
from offchain.core.scheduler.jit import compiled
from offchain.core.scheduler.kernels import (
    STEP_COST,
    ScoreMemo,
    empty_memo,
    extended_memo,
    score_and_place,
)
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.core.scheduler.score_column import AnyFloats, Penalties, ScoreColumn
from offchain.core.scheduler.sharing_demand import share_values

MULTI_GPU_WEIGHT = 0.25
"""The weight of a pod that needs several GPUs, relative to its probability."""

CPU_FACTOR = 1.4
"""How often cores count for pods that share a host: pods that need many are mixed with pods that need few."""

_SALT = 0x42B2AE3D27D4EB4F
_SALT_RANGE = 1 << 63
"""Each call has another salt: a multiple of an odd number."""

_NO_COSTS: Floats = np.zeros(0)
_NO_BOUNDS: AnyFloats = np.zeros(0, dtype=np.float32)
_NO_HOSTS: Ints = np.zeros(0, dtype=np.int64)
_NO_FLAGS: Bools = np.zeros(0, dtype=np.bool_)
_NO_PENALTIES = Penalties(_NO_COSTS, _NO_HOSTS, _NO_COSTS, _NO_FLAGS, _NO_FLAGS)


class FragmentationScore:
    """The loss of value in steps, and then how little is left."""

    _memo: ScoreMemo
    _tables: ScoreTables

    def __init__(self, cluster: Cluster, demand: DemandDistribution) -> None:
        self._cluster = cluster
        self._demand = demand
        self._salt = 0
        self._build_tables()

    def score(self, shape: PodShape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Score `hosts`; of devices of one host that lose equally much, the fullest are taken."""
        request, column = KernelRequest.of(shape, self._cluster), ScoreColumn(scores, devices, _NO_COSTS)
        self.place(request, hosts, column, _NO_PENALTIES, _NO_HOSTS, _NO_HOSTS)

    def bound(self, request: KernelRequest, hosts: Ints, bounds: ScoreColumn) -> None:
        """Score `hosts` for a request for GPUs alone: a lower bound for all requests that ask for more."""
        self.place(request, hosts, bounds, _NO_PENALTIES, _NO_HOSTS, _NO_HOSTS)

    def place(
        self,
        request: KernelRequest,
        hosts: Ints,
        column: ScoreColumn,
        penalties: Penalties,
        chosen: Ints,
        devices: Ints,
        bounds: AnyFloats = _NO_BOUNDS,
    ) -> tuple[int, int]:
        """Score `hosts`, then place pods one after the other, each on the best host.

        As many as `chosen` (their hosts) and `devices` (bits) can hold, or as are feasible; each takes its resources.
        Return the number of pods placed, and the host at which it stopped because its price is not certain; -1: none.
        `bounds`: results of :meth:`bound` for all hosts; with them a host is scored only when it becomes the best.
        """
        cluster = self._cluster
        if cluster.main_classes > len(self._tables.weight):
            self._build_tables()
        if len(cluster) > len(self._memo.hosts):
            self._memo = extended_memo(self._memo, 2 * len(cluster))
        if self._tables.levels is not cluster.class_levels:
            self._tables = self._tables._replace(levels=cluster.class_levels)
        self._salt = (self._salt + _SALT) % _SALT_RANGE
        placed, stopped = score_and_place(
            hosts,
            cluster.free,
            request,
            self._tables,
            self._memo,
            cluster.max_free,
            column,
            penalties,
            chosen,
            devices,
            self._salt,
            bounds,
        )
        cluster.free_milli -= placed * request.gpus * request.milli
        return placed, stopped

    def parts(self, scores: Floats) -> dict[str, Floats]:
        """Return the parts of scores: the loss of free GPUs' value in steps, and how full the host is."""
        lost: Floats = np.floor(scores / STEP_COST) * STEP_COST
        return {"worth lost": lost, "fullness": scores - lost}

    def _build_tables(self) -> None:
        """Compute the tables for the device classes of the cluster."""
        expected = ExpectedDemand(self._demand, self._cluster)
        counts = _shape_weights(expected)
        weight = expected.by_class(counts * _scarcity(expected, self._cluster))
        rows = expected.rows._replace(per_cpu=expected.rows.per_cpu * CPU_FACTOR)
        values, levels = _value_tables(expected, counts), self._cluster.class_levels
        self._tables = ScoreTables(values, levels, weight, *_max_use(expected), rows)
        self._memo = empty_memo(rows, len(values))


def _shape_weights(expected: ExpectedDemand) -> Floats:
    """[shape]: its weight; all add up to 1."""
    several = np.array([shape.gpus > 1 for shape in expected.shapes], dtype=np.bool_)
    weights: Floats = expected.share * np.where(several, MULTI_GPU_WEIGHT, 1.0)
    return weights / weights.sum() if len(weights) else weights


def _scarcity(expected: ExpectedDemand, cluster: Cluster) -> Floats:
    """[shape]: all GPUs over those of accepted models, so that a model is kept for pods that accept no other."""
    have = np.zeros(len(cluster.classes))
    np.add.at(have, cluster.free.main_class, cluster.free.gpus.astype(np.float64))
    mine = np.maximum((expected.accepts * have[None, :]).sum(axis=1), 1.0)
    scarce: Floats = np.maximum(have.sum(), 1.0) / mine
    return scarce


def _max_use(expected: ExpectedDemand) -> tuple[float, float]:
    """Return the most cores and the most memory that an expected pod asks for beside each thousandth of a GPU."""
    rows = expected.rows
    if not len(rows.cpu):
        return 0.0, 0.0
    milli = rows.gpus[rows.way] * expected.milli[rows.way]
    return float((rows.cpu / milli).max()), float((rows.memory / milli).max())


def _value_tables(expected: ExpectedDemand, counts: Floats) -> Floats:
    """[level, free thousandths, k]: the value of a piece for a pod that asks for GPUs in way `k`.

    That is its value over the weight of all pods that it is big enough for.
    """
    demand: dict[int, float] = {}
    big_enough = np.zeros(WHOLE_GPU + 1)
    for shape, share, count in zip(expected.shapes, expected.share, counts, strict=True):
        demand[shape.gpu_milli] = demand.get(shape.gpu_milli, 0.0) + share * shape.gpus
        big_enough[shape.gpu_milli :] += count
    worth = WHOLE_GPU * piece_values(demand)
    by_level = np.concatenate([worth[None, :], worth[None, :], _values_for_one_account(expected, worth)])
    each = np.divide(by_level, big_enough, out=np.zeros_like(by_level), where=big_enough > 0)
    free = np.arange(WHOLE_GPU + 1)[:, None]
    return np.where(free >= expected.milli[None, :], each[:, :, None], 0.0)


def _values_for_one_account(expected: ExpectedDemand, worth: Floats) -> Floats:
    """[level - 2, free thousandths]: the value of a piece of a device of which an account has shares.

    A share saves its cost, which is the value of the smallest piece that contains it.
    """
    probability: dict[int, float] = {}
    for shape, share in zip(expected.shapes, expected.share, strict=True):
        if shape.gpu_milli < WHOLE_GPU:
            probability[shape.gpu_milli] = probability.get(shape.gpu_milli, 0.0) + share
    probability = dict(merge_rare_sizes(probability))
    sizes = np.array(sorted(probability), dtype=np.int64)
    each = np.array([probability[size] for size in sizes.tolist()])
    return share_values(sizes, each / each.sum() if len(each) else each, worth[sizes])


MAX_SIZES = 50
"""The time grows with more than the third power of the sizes, and tenants may ask for any: rare ones count as the next
larger.
"""

_MAX_ITERATIONS = 2000
_EXACT = 1e-9


def piece_values(demand: Mapping[int, float]) -> Floats:
    """[thousandths]: the value of such a piece, from 0 to 1. `demand`: expected shares of each size.

    The cutting-stock problem: as few GPUs as possible for shares of given sizes (Gilmore and Gomory, 1961). Its linear
    relaxation gives each size a dual price, in GPUs: the cost of one more such share. A piece is worth the most that
    shares cut from it can add up to: nothing where no share that is in demand fits, a whole GPU where nothing is lost.
    """
    demand = merge_rare_sizes(demand)
    sizes = np.array(sorted(demand), dtype=np.int64)
    if not len(sizes):
        return np.zeros(WHOLE_GPU + 1)
    # Each column of `patterns` is a way to cut a GPU, `used` the GPUs cut that way. Start with equal shares.
    each = (WHOLE_GPU // sizes).astype(np.float64)
    patterns = np.diag(each)
    used = np.array([demand[int(size)] for size in sizes]) / each
    value = np.zeros(WHOLE_GPU + 1)
    last = np.zeros(WHOLE_GPU + 1, dtype=np.int64)
    for _ in range(_MAX_ITERATIONS):
        price = np.linalg.solve(patterns.T, np.ones(len(sizes))).astype(np.float64)
        best_cuts(sizes, price, value, last)
        if value[WHOLE_GPU] <= 1 + _EXACT:
            break
        better = _pattern(sizes, last)
        step = np.linalg.solve(patterns, better)
        ratio = np.divide(used, step, out=np.full(len(sizes), np.inf), where=step > _EXACT)
        leaves = int(np.argmin(ratio))
        many = ratio[leaves]
        used = used - many * step
        used[leaves] = many
        patterns[:, leaves] = better
    # If the iterations ran out, all prices are too high by the same factor.
    worth: Floats = value / max(1.0, value[WHOLE_GPU])
    return worth


def merge_rare_sizes(demand: Mapping[int, float]) -> Mapping[int, float]:
    """Return the demand with at most :data:`MAX_SIZES` sizes.

    The largest and most wanted stay, others become the next larger.
    """
    wanted = {size: many for size, many in demand.items() if many > 0}
    if len(wanted) <= MAX_SIZES:
        return wanted
    often = sorted(wanted, key=lambda size: (-wanted[size], size))
    kept = sorted({max(wanted), *often[: MAX_SIZES - 1]})
    found = dict.fromkeys(kept, 0.0)
    for size, many in wanted.items():
        found[kept[bisect_left(kept, size)]] += many
    return found


def _pattern(sizes: Ints, last: Ints) -> Floats:
    """[size]: how often it is in the best cut of a whole GPU."""
    pattern = np.zeros(len(sizes))
    left = WHOLE_GPU
    while left > 0:
        if last[left] < 0:
            left -= 1
        else:
            pattern[last[left]] += 1
            left -= int(sizes[last[left]])
    return pattern


@compiled
def best_cuts(sizes: Ints, price: Floats, value: Floats, last: Ints) -> None:
    """Compute for each piece the highest total price of shares cut from it, and one of these shares, -1 for none."""
    for left in range(1, len(value)):
        value[left] = value[left - 1]
        last[left] = -1
        for index in range(len(sizes)):
            if sizes[index] <= left and value[left - sizes[index]] + price[index] > value[left] + 1e-12:
                value[left] = value[left - sizes[index]] + price[index]
                last[left] = index
