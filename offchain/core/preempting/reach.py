"""On which hosts the end of tasks can make room at all, and what it costs at least: bounds, over all hosts at once.

Nobody who could be found is left out by them: the search looks at hosts in the order of the least cost, and stops where
none can be cheaper than what it has found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from offchain.core.scheduler.cluster import KernelRequest
from offchain.core.scheduler.columns import MAX_DEVICES, Bools, Floats, HostColumns, Ints

_NEVER = 1 << 60
"""More than any host has."""


class Rows(NamedTuple):
    """A row for each place of each task that may end."""

    host: Ints
    held: Ints
    """[row, resource]: cores, memory, thousandths of GPUs that its end frees there."""
    milli: Ints
    """Of each of its devices."""
    devices: Ints
    cost: Floats
    """Of what its task costs, an equal part for each of its places."""
    group: Ints
    """The place in `most` of what bounds it; -1: nothing."""


def missing(free: HostColumns, ended: HostColumns, wish: KernelRequest) -> Ints:
    """[host, resource]: what has to become free of each for one pod, at least. `ended`: free when all have ended."""
    found: Ints = np.zeros((len(free.cpu), 3), dtype=np.int64)
    found[:, 0] = np.maximum(0, wish.cpu - free.cpu)
    found[:, 1] = np.maximum(0, wish.memory - free.memory)
    if wish.gpus:
        lacks = np.maximum(0, wish.milli - free.device.astype(np.int64))
        each = np.where(ended.device >= wish.milli, lacks, _NEVER // MAX_DEVICES)
        found[:, 2] = np.sort(each, axis=1)[:, : wish.gpus].sum(axis=1)
    return found


def least_cost(rows: Rows, need: Ints) -> Floats:
    """[host]: of what must end so that `need` becomes free, the least that it can cost, if tasks ended in parts."""
    found: Floats = np.zeros(len(need))
    for resource in range(3):
        gives = rows.held[:, resource]
        some = np.flatnonzero((gives > 0) & (need[rows.host, resource] > 0))
        if not len(some):
            continue
        each = rows.cost[some] / gives[some]
        order = some[np.lexsort((each, rows.host[some]))]
        host, gives = rows.host[order], gives[order]
        before = np.cumsum(gives) - gives
        first = np.r_[True, host[1:] != host[:-1]]
        before -= np.maximum.accumulate(np.where(first, before, 0))
        used = np.clip(need[host, resource] - before, 0, gives)
        cost = np.bincount(host, weights=rows.cost[order] * used / gives, minlength=len(need))
        found = np.maximum(found, cost)
    return found


def within(rows: Rows, most: Ints, need: Ints) -> Bools:
    """[host]: whether so much as `need` may become free there.

    `most`: [group, resource], of which one at least may not be exceeded by what leaves of the group; below 0: no
    amount is within it.
    """
    gives: Ints = np.zeros((len(need), 3), dtype=np.int64)
    free_ones = rows.group < 0
    np.add.at(gives, rows.host[free_ones], rows.held[free_ones])
    bound = np.flatnonzero(~free_ones)
    keys, of = np.unique(rows.host[bound] * max(1, len(most)) + rows.group[bound], return_inverse=True)
    sums: Ints = np.zeros((len(keys), 3), dtype=np.int64)
    np.add.at(sums, of, rows.held[bound])
    host, group = np.divmod(keys, max(1, len(most)))
    limits = most[group]
    possible = limits >= 0
    # Where one resource alone can be kept within its limit, no more of it leaves; else all of it may.
    only = (possible.sum(axis=1) == 1) & ~(sums <= limits).any(axis=1)
    capped = np.where(only[:, None] & possible, np.minimum(sums, limits), sums)
    np.add.at(gives, host, capped)
    return np.asarray((gives >= need).all(axis=1), dtype=np.bool_)
