"""Gantry's own policy: the host whose free GPUs lose the least worth.

A free piece of a GPU is worth what can be cut from it when GPUs are cut in the best way (cuts.py), as far as the host's
cores and memory reach: of the expected pods that such a piece is big enough for, each counts with its probability and
with the part of them that cores and memory suffice for. What is lost is counted in steps; of hosts that lose as many
steps, the fullest is taken. docs/scheduling.md has the formula, its numbers, and why they are as they are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.placing.cluster import Bools, Cluster, Columns, Floats, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.cuts import piece_values
from offchain.core.placing.devices import Wish
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
_STATES = 1 << 12
_BLOCK = 64
"""The best host is looked for among the best of so many each."""

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
    states: Ints
    """[place]: of a host that was scored just now, by all that its score depends on; so for the next two."""
    scores: Floats
    chosen: Ints


class Lane(NamedTuple):
    """One wish over all hosts: [host] each. Less is better; infinite: not there."""

    points: npt.NDArray[np.floating[Any]]
    """The score, and what is added to it."""
    devices: npt.NDArray[np.signedinteger[Any]]
    """Those that it would take, as bits; -1: no room."""
    more: npt.NDArray[np.floating[Any]]
    """What is added; infinite: not allowed. Empty: nothing."""
    sure: Bools
    """Whether a pod may be placed there without another question."""


_NO_POINTS: Floats = np.zeros(0)
_NOBODY: Ints = np.zeros(0, dtype=np.int64)
_ALL: Bools = np.zeros(0, dtype=np.bool_)


class Worth:
    """The loss of worth, in steps, and then how little is left."""

    steady = True

    def __init__(self, cluster: Cluster, mix: Mix, several_gpus: float = SEVERAL_GPUS) -> None:
        self._cluster = cluster
        self._mix = mix
        self._several_gpus = several_gpus
        self._calls = 0
        self._look()

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Of devices of one host that lose as much, the fullest is taken."""
        self.fill(shape, hosts, Lane(scores, devices, _NO_POINTS, _ALL), _NOBODY, _NOBODY)

    def fill(self, shape: Shape, hosts: Ints, lane: Lane, chosen: Ints, on: Ints) -> tuple[int, int]:
        """Score `hosts`, then place pods of this shape one after the other, each on the best host, and take its share.

        As many as `chosen` (their hosts) and `on` (their devices as bits) have room for, or fit. Gives how many were
        placed, and the host at which it stopped because it is not `sure`; -1: at none.
        """
        cluster = self._cluster
        if len(cluster.kinds) > len(self._tables.weight):
            self._look()
        self._calls += 1
        wish, found = Wish.of(shape, cluster), (chosen, on)
        placed, stopped = _fill(
            hosts, cluster.free, wish, self._rows, self._tables, self._known, cluster.most, lane, found, self._calls
        )
        cluster.free_milli -= placed * shape.total_milli
        return placed, stopped

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
        self._known = Known(
            np.zeros(_KNOWN, dtype=np.int64),
            np.zeros(_KNOWN),
            marks,
            np.zeros((4, ways)),
            np.zeros(_STATES, dtype=np.int64),
            np.zeros(_STATES),
            np.zeros(_STATES, dtype=np.int64),
        )


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
def _sums(device: Ints, own: int, less: int, rows: Rows, table: Floats, cuts: Floats, value: Floats) -> None:
    """Sum up the tables' rows of what is free."""
    cuts[:] = 0.0
    value[:] = 0.0
    for index in range(len(device)):
        left = device[index] - less * (own >> index & 1)
        if left:
            cuts += rows.pieces[left]
            value += table[left]


@compiled
def _fill(  # noqa: C901, PLR0912, PLR0915 - one flat loop, its docstring says why
    hosts: Ints,
    free: Columns,
    wish: Wish,
    rows: Rows,
    tables: Tables,
    known: Known,
    scale: Floats,
    lane: Lane,
    found: tuple[Ints, Ints],
    call: int,
) -> tuple[int, int]:
    """One flat loop: to hand so many arrays to a function for each host takes longer than what there is to do."""
    points, devices, more, sure = lane
    chosen, on = found
    marks, keys, values = known.marks, known.keys, known.values
    many, gpus, milli = len(chosen), wish.gpus, wish.milli
    asked = gpus * milli
    single = gpus == 1 and milli < WHOLE_GPU
    whole = milli == WHOLE_GPU
    salt = call * _MARK_MEMORY
    least = np.full((len(points) + _BLOCK - 1) // _BLOCK if many else 0, np.inf)
    placed = 0
    step = 0
    while True:
        if step < len(hosts):
            host = hosts[step]
        else:
            if step == len(hosts):
                for at in range(len(points) if many else 0):
                    least[at // _BLOCK] = min(least[at // _BLOCK], points[at])
            if placed == many:
                return placed, -1
            best = 0
            for block in range(len(least)):
                if least[block] < least[best]:
                    best = block
            if not len(least) or least[best] == np.inf:
                return placed, -1
            host = best * _BLOCK
            while points[host] != least[best]:
                host += 1
            if not sure[host]:
                return placed, host
            chosen[placed] = host
            on[placed] = devices[host]
            placed += 1
            free.cpu[host] -= wish.cpu
            free.memory[host] -= wish.memory
            free.disk[host] -= wish.disk
            for index in range(free.gpus[host]):
                free.device[host, index] -= milli * (devices[host] >> index & 1)
        step += 1
        score = np.inf
        taken = -1
        add = more[host] if len(more) else 0.0
        cpu = free.cpu[host] - wish.cpu
        memory = free.memory[host] - wish.memory
        if add != np.inf and cpu >= 0 and memory >= 0 and free.disk[host] >= wish.disk:
            count = free.gpus[host]
            kind = free.main[host]
            total = 0
            mark = 0
            state = salt + cpu * _MARK_CPU + memory * _MARK_KIND + kind
            for index in range(count):
                left = free.device[host, index]
                total += left
                mark += marks[left]
                state = (state ^ (state >> 29)) * _MARK_KIND + left * 64 + free.kind[host, index]
            state ^= state >> 31
            at = state & (_STATES - 1)
            if known.states[at] == state:
                score = known.scores[at]
                taken = known.chosen[at]
            else:
                # The fullest devices that have room.
                taken = 0
                for _ in range(gpus):
                    first = -1
                    for index in range(count):
                        left = free.device[host, index]
                        usable = left >= milli and wish.accepts[free.kind[host, index]] and not taken >> index & 1
                        if usable and (first < 0 or left < free.device[host, first]):
                            first = index
                            if whole:
                                break
                    if first < 0:
                        taken = -1
                        break
                    taken |= 1 << first
                if taken >= 0:
                    rest = cpu / scale[0] + memory / scale[1] + (total - asked) / scale[2]
                    if total == 0:
                        score = rest
                    else:
                        before = 0.0
                        # The first is the host as it is, each other with one choice of devices taken.
                        for index in range(-1, count if single else 1):
                            own = taken
                            after_mark = mark
                            sum_left = total
                            cores, grains = free.cpu[host], free.memory[host]
                            left = 0
                            if index >= 0:
                                if single:
                                    left = free.device[host, index]
                                    skip = left < milli or not wish.accepts[free.kind[host, index]]
                                    for other in range(index):
                                        # One of the same kind with as much free was looked at.
                                        same = free.kind[host, other] == free.kind[host, index]
                                        skip |= same and free.device[host, other] == left
                                    if skip:
                                        continue
                                    own = 1 << index
                                sum_left -= asked
                                cores, grains = cpu, memory
                                for other in range(count):
                                    if own >> other & 1:
                                        of = free.device[host, other]
                                        after_mark += marks[of - milli] - marks[of]
                            # Cores and memory beyond what the free GPUs' pods can use are worth nothing, and a little
                            # less of them too.
                            cores = min(cores, int(sum_left * tables.cpu_each)) // CPU_GRAIN_MILLI
                            grains = min(grains, int(sum_left * tables.memory_each)) // MEMORY_GRAIN_MIB
                            key = after_mark + cores * _MARK_CPU + grains * _MARK_MEMORY + kind * _MARK_KIND
                            key ^= key >> 31
                            place = key & (len(keys) - 1)
                            if keys[place] != key:
                                less = milli if index >= 0 else 0
                                values[place] = _worth_of(
                                    cores, grains, free.device[host, :count], own, less, rows, tables, kind, known.room
                                )
                                keys[place] = key
                            if index < 0:
                                before = values[place]
                                continue
                            steps = math.floor((before - values[place]) / STEP_MILLI + _HALF)
                            now = steps * _TIE + rest + (_WHOLE * left / WHOLE_GPU if single else 0.0)
                            if now < score:
                                score = now
                                taken = own
                known.states[at] = state
                known.scores[at] = score
                known.chosen[at] = taken
        devices[host] = taken
        points[host] = score + add
        if step > len(hosts):
            block = host // _BLOCK
            least[block] = np.inf
            for at in range(block * _BLOCK, min(len(points), block * _BLOCK + _BLOCK)):
                least[block] = min(least[block], points[at])


@compiled
def _worth_of(
    cores: int, grains: int, device: Ints, own: int, less: int, rows: Rows, tables: Tables, kind: int, room: Floats
) -> float:
    """The worth of what is free, counted: of the devices in `own` so much less."""
    _sums(device, own, less, rows, tables.value, room[0], room[1])
    weight = tables.weight[kind]
    cpu, memory = cores * CPU_GRAIN_MILLI, grains * MEMORY_GRAIN_MIB
    return float(_worth(cpu, memory, room[0], room[1], rows, weight, room[2], room[3]))
