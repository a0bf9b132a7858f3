"""What the free GPUs of a host are worth, for compiled loops: Gantry's own policy (worth.py)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.placing.compiled import inner
from offchain.core.placing.expected import Rows
from offchain.core.placing.free import AnyInts, Floats, Ints
from offchain.core.placing.shapes import WHOLE_GPU

CPU_GRAIN_MILLI = 500
MEMORY_GRAIN_MIB = 1024
"""Hosts that differ by less are worth the same."""

Table = npt.NDArray[np.void]
"""Rows with named fields."""

_KNOWN = 1 << 20
"""A busy network of 10,000 hosts is free in some hundred thousand ways between two changes of what is expected."""
_STATES = 1 << 12

MARK_CPU = 0x1E3779B97F4A7C15
MARK_MEMORY = 0x42B2AE3D27D4EB4F
MARK_KIND = 0x165667B19E3779F9
"""Odd numbers without a pattern: what is free becomes one number by them."""


class Tables(NamedTuple):
    """What the worth of a host is computed from, for compiled loops."""

    value: Floats
    """[free thousandths, k]: what a piece is worth for a pod that asks for GPUs in way `k`."""
    weight: Floats
    """[kind, row]."""
    cpu_each: float
    memory_each: float
    """The most that pods can use beside a thousandth of a GPU."""
    rows: Rows
    """What pods are expected."""


WORTH = np.dtype([("key", "i8"), ("worth", "f8")], align=True)
"""What a host is worth, by what is free there."""

SCORED = np.dtype([("key", "i8"), ("score", "f8"), ("devices", "i8")], align=True)
"""A host that was scored just now, by all that its score depends on. Infinite, -1: the pod does not fit."""

LOOKED_AT = np.dtype([("state", "i8"), ("total", "i8"), ("mark", "i8"), ("worth", "f8")], align=True)
"""What of a host is the same for all pods, as long as this is its state: free thousandths, their mark, its worth."""


class Known(NamedTuple):
    """What was computed already. A key is in the place that its last bits say, the latest of several."""

    worths: Table
    scored: Table
    hosts: Table
    """[host]"""
    marks: Ints
    """[thousandths]: what a device with so much free adds to the key."""
    room: Floats
    """[2, k]: for sums on the way."""
    each: Floats
    """[row]: likewise."""


def known(rows: Rows) -> Known:
    """Nothing yet."""
    random = np.random.default_rng(1)
    marks = random.integers(1, 2**62, WHOLE_GPU + 1, dtype=np.int64)
    marks[0] = 0
    room, each = np.zeros((2, len(rows.gpus))), np.zeros(max(1, len(rows.cpu)))
    return Known(np.zeros(_KNOWN, WORTH), np.zeros(_STATES, SCORED), np.zeros(0, LOOKED_AT), marks, room, each)


def wider(of: Known, hosts: int) -> Known:
    """The same for so many hosts."""
    return of._replace(hosts=np.zeros(hosts, LOOKED_AT))


@inner
def worth_of(
    cores: int, grains: int, device: AnyInts, own: int, less: int, tables: Tables, kind: int, room: Floats, each: Floats
) -> float:
    """The worth of what is free, counted: of the devices in `own` so much less."""
    _sums(device, own, less, tables.rows, tables.value, room[0], room[1])
    weight = tables.weight[kind]
    cpu, memory = float(cores * CPU_GRAIN_MILLI), float(grains * MEMORY_GRAIN_MIB)
    return float(_worth(cpu, memory, room[0], room[1], tables.rows, weight, each))


@inner
def _sums(device: AnyInts, own: int, less: int, rows: Rows, table: Floats, cuts: Floats, value: Floats) -> None:
    """Sum up the tables' rows of what is free."""
    cuts[:] = 0.0
    value[:] = 0.0
    for index in range(len(device)):
        left = device[index] - less * (own >> index & 1)
        if left:
            for k in range(len(cuts)):
                cuts[k] += rows.pieces[left, k]
                value[k] += table[left, k]


@inner
def _worth(cpu: float, memory: float, cuts: Floats, value: Floats, rows: Rows, weight: Floats, each: Floats) -> float:
    """Thousandths of GPUs. `cuts` and `value`: the sums over the host's devices of the tables' rows.

    Row after row without a question, and added up by halves, so that processors take several at once. The sum is the
    same on all of them.
    """
    per_cpu, more_cpu, per_memory, more_memory = rows.per_cpu, rows.more_cpu, rows.per_memory, rows.more_memory
    for k in range(len(cuts)):
        most = math.floor(cuts[k] / rows.gpus[k])
        of_each = 0.0
        if most > 0:
            # Of free devices, those that make up no full set are nothing to a pod that needs several.
            of_each = value[k] / most if rows.gpus[k] == 1.0 else value[k] * rows.gpus[k] / cuts[k]
        if of_each:
            pods_most = float(most)
            for row in range(rows.first[k], rows.first[k + 1]):
                pods = min(pods_most, np.floor(cpu * per_cpu[row] + more_cpu[row]))
                pods = min(pods, np.floor(memory * per_memory[row] + more_memory[row]))
                each[row] = weight[row] * pods * of_each
        else:
            for row in range(rows.first[k], rows.first[k + 1]):
                each[row] = 0.0
    many = len(each)
    while many > 1:
        half = (many + 1) // 2
        others = each[half:many]
        for row in range(len(others)):
            each[row] += others[row]
        many = half
    return float(each[0])
