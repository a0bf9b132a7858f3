"""Compiled value of what is free of a host: the expected pods that it suffices for, by their weights."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from offchain.core.scheduler.columns import AnyInts, Floats, Ints
from offchain.core.scheduler.demand import DemandRows
from offchain.core.scheduler.jit import inner
from offchain.core.scheduler.pod_request import WHOLE_GPU

CPU_GRAIN_MILLI = 500
MEMORY_GRAIN_MIB = 1024
"""Cores and memory are rounded to these units: hosts that differ by less have the same value."""


class ScoreTables(NamedTuple):
    """Tables from which the value of a host is computed."""

    value: Floats
    """[level, free thousandths, k]: the value of a piece for a pod that asks for GPUs in way `k`."""
    levels: Ints
    """[class]: the level of such a device (:mod:`offchain.core.scheduler.sharing_demand`); 0: nobody has shares."""
    weight: Floats
    """[class, row]."""
    cpu_each: float
    memory_each: float
    """The most cores and memory that pods use beside a thousandth of a GPU."""
    rows: DemandRows
    """The expected pods."""


@inner
def device_level(levels: Ints, device_class: int, left: int, own_level: int) -> int:
    """Return the level of a device. One that this call has begun to share has its old class until the call ends."""
    level = levels[device_class]
    return own_level if level == 0 and left < WHOLE_GPU else level


@inner
def host_value(
    cores: int,
    grains: int,
    device: AnyInts,
    classes: AnyInts,
    own: int,
    offset: int,
    own_level: int,
    tables: ScoreTables,
    device_class: int,
    sums: Floats,
    by_row: Floats,
) -> float:
    """Return the value of what is free, computed anew, if devices in `own` had `offset` thousandths less.

    `own_level`: the level of devices of which the pod's account has shares.
    """
    _sums(device, classes, own, offset, own_level, tables, sums[0], sums[1])
    weight = tables.weight[device_class]
    cpu, memory = float(cores * CPU_GRAIN_MILLI), float(grains * MEMORY_GRAIN_MIB)
    return float(_weighted_pods(cpu, memory, sums[0], sums[1], tables.rows, weight, by_row))


@inner
def _sums(
    device: AnyInts,
    classes: AnyInts,
    own: int,
    offset: int,
    own_level: int,
    tables: ScoreTables,
    cuts: Floats,
    value: Floats,
) -> None:
    """Sum up the tables' rows over the host's devices."""
    pieces, table, levels = tables.rows.pieces, tables.value, tables.levels
    cuts[:] = 0.0
    value[:] = 0.0
    for index in range(len(device)):
        left = device[index] - offset * (own >> index & 1)
        if left:
            level = own_level if own >> index & 1 else device_level(levels, classes[index], left, own_level)
            for k in range(len(cuts)):
                cuts[k] += pieces[left, k]
                value[k] += table[level, left, k]


@inner
def _weighted_pods(
    cpu: float, memory: float, cuts: Floats, value: Floats, rows: DemandRows, weight: Floats, by_row: Floats
) -> float:
    """Return the value in thousandths of GPUs. `cuts` and `value`: the sums over the host's devices.

    Rows are processed without branches and added up by halves, so that processors vectorise. The sum is the same on all
    of them.
    """
    per_cpu, more_cpu, per_memory, more_memory = rows.per_cpu, rows.more_cpu, rows.per_memory, rows.more_memory
    for k in range(len(cuts)):
        most = math.floor(cuts[k] / rows.gpus[k])
        of_each = 0.0
        if most > 0:
            # Free devices that do not make up a full set are useless to a pod that needs several.
            of_each = value[k] / most if rows.gpus[k] == 1.0 else value[k] * rows.gpus[k] / cuts[k]
        if of_each:
            pods_most = float(most)
            for row in range(rows.first[k], rows.first[k + 1]):
                pods = min(pods_most, np.floor(cpu * per_cpu[row] + more_cpu[row]))
                pods = min(pods, np.floor(memory * per_memory[row] + more_memory[row]))
                by_row[row] = weight[row] * pods * of_each
        else:
            for row in range(rows.first[k], rows.first[k + 1]):
                by_row[row] = 0.0
    wanted = len(by_row)
    while wanted > 1:
        half = (wanted + 1) // 2
        others = by_row[half:wanted]
        for row in range(len(others)):
            by_row[row] += others[row]
        wanted = half
    return float(by_row[0])
