"""Gantry's own policy: the host whose free GPUs lose the least worth.

A free piece of a GPU is worth what can be cut from it when GPUs are cut in the best way (cuts.py), as far as the host's
cores and memory reach: of the expected pods that such a piece is big enough for, each counts with its probability and
with the part of them that cores and memory suffice for. What is lost is counted in steps; of hosts that lose as many
steps, the fullest is taken. docs/scheduling.md has the formula, its numbers, and why they are as they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from offchain.core.placing.cluster import Cluster, Columns, Floats, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.cuts import piece_values
from offchain.core.placing.devices import Wish, fullest
from offchain.core.placing.expected import Expected, Rows
from offchain.core.placing.shapes import WHOLE_GPU, Mix, Shape

STEP_MILLI = 40.0
"""Differences of less than half of this are taken for none, so that hosts are filled up one after the other."""

SEVERAL_GPUS = 0.25
"""How much a pod that needs several GPUs counts, against its probability, where rehearsal.py finds nothing better."""

_WHOLE = 10.0
"""Against what is left of a host, at most 3: of places that lose as much, a GPU in use goes before a whole one."""

_HALF = 0.5 + 1e-6
"""Halves are rounded up, and so is what falls short of one by no more than its arithmetic."""

_TIE = 100.0
"""More than what tells hosts apart that lose as much."""


CPU_GRAIN_MILLI = 500
MEMORY_GRAIN_MIB = 1024
"""Hosts that differ by less are worth the same."""

_KNOWN = 1 << 18
_MARK_CPU = 0x1E3779B97F4A7C15
_MARK_MEMORY = 0x42B2AE3D27D4EB4F
_MARK_KIND = 0x165667B19E3779F9
"""Odd numbers without a pattern: what is free becomes one number by them."""


class Tables(NamedTuple):
    """What the worth of a host is computed from, for compiled loops."""

    value: Floats
    """[free thousandths, k]: see :func:`_values`."""
    weight: Floats
    """[kind, row]."""
    cpu_each: float
    memory_each: float
    """The most that pods can use beside a thousandth of a GPU."""


class Known(NamedTuple):
    """What was computed already: a state's key is in the place that its last bits say, the latest of several."""

    keys: Ints
    values: Floats
    marks: Ints
    """[thousandths]: what a device with so much free adds to the key."""
    room: Floats
    """For sums on the way."""


class Worth:
    """The loss of worth, in steps, and then how little is left."""

    steady = True

    def __init__(self, cluster: Cluster, mix: Mix, several_gpus: float = SEVERAL_GPUS) -> None:
        self._cluster = cluster
        self._mix = mix
        self._several_gpus = several_gpus
        self._look()

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Of devices of one host that lose as much, the fullest is taken."""
        cluster = self._cluster
        if len(cluster.kinds) > len(self._tables.weight):
            self._look()
        wish, most = Wish.of(shape, cluster), cluster.most
        _score(hosts, cluster.free, wish, self._rows, self._tables, self._known, most, scores, devices)

    def parts(self, scores: Floats) -> dict[str, Floats]:
        """Worth that free GPUs lose, in steps, and how full the host is."""
        lost: Floats = np.floor(scores / _TIE) * _TIE
        return {"worth lost": lost, "fullness": scores - lost}

    def _look(self) -> None:
        """See what devices there are."""
        expected = Expected(self._mix, self._cluster)
        self._rows = expected.rows
        counts = _counts(expected, self._several_gpus)
        weight = expected.by_kind(counts * _scarcity(expected, self._cluster))
        self._tables = Tables(_values(expected, counts), weight, *_most_each(expected))
        ways = len(expected.rows.gpus)
        random = np.random.default_rng(1)
        marks = random.integers(1, 2**62, WHOLE_GPU + 1, dtype=np.int64)
        marks[0] = 0
        self._known = Known(np.zeros(_KNOWN, dtype=np.int64), np.zeros(_KNOWN), marks, np.zeros((4, ways)))


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


@compiled
def _worth(
    cpu: int, memory: int, cuts: Floats, value: Floats, rows: Rows, weight: Floats, most: Floats, each: Floats
) -> float:
    """Thousandths of GPUs. `cuts` and `value`: the sums over the host's devices of the tables' rows."""
    for k in range(len(most)):
        most[k] = math.floor(cuts[k] / rows.gpus[k])
        each[k] = 0.0
        if most[k] > 0:
            # Of free devices, those that make up no full set are nothing to a pod that needs several.
            each[k] = value[k] / most[k] if rows.gpus[k] == 1.0 else value[k] * rows.gpus[k] / cuts[k]
    total = 0.0
    for row in range(len(rows.way)):
        k = rows.way[row]
        pods = min(most[k], math.floor(cpu * rows.per_cpu[row] + rows.more_cpu[row]))
        pods = min(pods, math.floor(memory * rows.per_memory[row] + rows.more_memory[row]))
        total += weight[row] * pods * each[k]
    return total


@compiled
def _sums(device: Ints, rows: Rows, table: Floats, cuts: Floats, value: Floats) -> int:
    """Sum up the tables' rows of what is free; gives how much is free."""
    cuts[:] = 0.0
    value[:] = 0.0
    total = 0
    for left in device:
        if left:
            total += left
            cuts += rows.pieces[left]
            value += table[left]
    return total


@compiled
def _take(device: Ints, taken: int, milli: int) -> None:
    for index in range(len(device)):
        device[index] -= milli * (taken >> index & 1)


@compiled
def _remembered(
    cpu: int, memory: int, total: int, mark: int, device: Ints, rows: Rows, tables: Tables, kind: int, known: Known
) -> float:
    """The worth of what is free. `total` and `mark`: the sums over `device` of thousandths and of their marks."""
    # Cores and memory beyond what the free GPUs' pods can use are worth nothing, and a little less of them too.
    cores = min(cpu, int(total * tables.cpu_each)) // CPU_GRAIN_MILLI
    memory_grains = min(memory, int(total * tables.memory_each)) // MEMORY_GRAIN_MIB
    key = mark + cores * _MARK_CPU + memory_grains * _MARK_MEMORY + kind * _MARK_KIND
    key ^= key >> 31
    place = key & (len(known.keys) - 1)
    if known.keys[place] != key:
        cuts, value = known.room[0], known.room[1]
        _sums(device, rows, tables.value, cuts, value)
        known.values[place] = _worth(
            cores * CPU_GRAIN_MILLI,
            memory_grains * MEMORY_GRAIN_MIB,
            cuts,
            value,
            rows,
            tables.weight[kind],
            known.room[2],
            known.room[3],
        )
        known.keys[place] = key
    return float(known.values[place])


@compiled
def _score(
    hosts: Ints,
    free: Columns,
    wish: Wish,
    rows: Rows,
    tables: Tables,
    known: Known,
    scale: Floats,
    scores: Floats,
    devices: Ints,
) -> None:
    marks = known.marks
    for host in hosts:
        chosen = fullest(host, free, wish)
        scores[host] = np.inf
        devices[host] = chosen
        if chosen < 0:
            continue
        device = free.device[host, : free.gpus[host]]
        kind = free.main[host]
        cpu = free.cpu[host] - wish.cpu
        memory = free.memory[host] - wish.memory
        total = 0
        mark = 0
        for left in device:
            total += left
            mark += marks[left]
        asked = wish.gpus * wish.milli
        rest = cpu / scale[0] + memory / scale[1] + (total - asked) / scale[2]
        if total == 0:
            scores[host] = rest
            continue
        before = _remembered(free.cpu[host], free.memory[host], total, mark, device, rows, tables, kind, known)
        single = wish.gpus == 1 and wish.milli < WHOLE_GPU
        for index in range(len(device) if single else 1):
            left = device[index]
            if single and (not _usable(host, index, free, wish) or _seen(host, index, free)):
                continue
            taken = 1 << index if single else chosen
            after_mark = mark
            for other in range(len(device)):
                if taken >> other & 1:
                    after_mark += marks[device[other] - wish.milli] - marks[device[other]]
            _take(device, taken, wish.milli)
            after = _remembered(cpu, memory, total - asked, after_mark, device, rows, tables, kind, known)
            _take(device, taken, -wish.milli)
            steps = math.floor((before - after) / STEP_MILLI + _HALF)
            score = steps * _TIE + rest + (_WHOLE * left / WHOLE_GPU if single else 0.0)
            if score < scores[host]:
                scores[host] = score
                devices[host] = taken


@compiled
def _usable(host: int, index: int, free: Columns, wish: Wish) -> bool:
    return bool(free.device[host, index] >= wish.milli and wish.accepts[free.kind[host, index]])


@compiled
def _seen(host: int, index: int, free: Columns) -> bool:
    """Whether a device before this one is of the same kind and has as much free."""
    for other in range(index):
        same = free.device[host, other] == free.device[host, index]
        if same and free.kind[host, other] == free.kind[host, index]:
            return True
    return False
