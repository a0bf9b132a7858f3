"""Bounds over all hosts: where ending tasks can make a pod fit at all, and what that costs at least.

The search looks at hosts in order of the least cost and stops where none can be cheaper than what it has found: the
bounds exclude no set of victims that could be found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from offchain.core.scheduler.columns import MAX_DEVICES, Bools, Floats, HostColumns, Ints
from offchain.core.scheduler.device_choice import KernelRequest

_UNREACHABLE = 1 << 60
"""More than any host has."""


class VictimPods(NamedTuple):
    """A row for each pod of each task that may end."""

    host: Ints
    freed: Ints
    """[row, resource]: cores, memory and thousandths of GPUs that become free there."""
    milli: Ints
    """On each of its devices."""
    devices: Ints
    cost: Floats
    """The task's cost divided by the number of its pods."""
    bound: Ints
    """Index in `limits` of the node that bounds it; -1: none."""


def missing_resources(free: HostColumns, ended: HostColumns, wish: KernelRequest) -> Ints:
    """Return what has to become free for one pod at least, [host, resource]. `ended`: free when all tasks ended."""
    found: Ints = np.zeros((len(free.cpu), 3), dtype=np.int64)
    found[:, 0] = np.maximum(0, wish.cpu - free.cpu)
    found[:, 1] = np.maximum(0, wish.memory - free.memory)
    if wish.gpus:
        lacks = np.maximum(0, wish.milli - free.device.astype(np.int64))
        each = np.where(ended.device >= wish.milli, lacks, _UNREACHABLE // MAX_DEVICES)
        found[:, 2] = np.sort(each, axis=1)[:, : wish.gpus].sum(axis=1)
    return found


def least_cost(pods: VictimPods, need: Ints) -> Floats:
    """Return the least cost of freeing `need`, [host, resource], if tasks could end in parts, [host]."""
    found: Floats = np.zeros(len(need))
    for resource in range(3):
        gives = pods.freed[:, resource]
        some = np.flatnonzero((gives > 0) & (need[pods.host, resource] > 0))
        if not len(some):
            continue
        each = pods.cost[some] / gives[some]
        order = some[np.lexsort((each, pods.host[some]))]
        host, gives = pods.host[order], gives[order]
        before = np.cumsum(gives) - gives
        first = np.r_[True, host[1:] != host[:-1]]
        before -= np.maximum.accumulate(np.where(first, before, 0))
        used = np.clip(need[host, resource] - before, 0, gives)
        cost = np.bincount(host, weights=pods.cost[order] * used / gives, minlength=len(need))
        found = np.maximum(found, cost)
    return found


def can_free(pods: VictimPods, limits: Ints, need: Ints) -> Bools:
    """Return whether `need`, [host, resource], may become free, [host].

    `limits`: [bound, resource]; at least one resource of what a node loses must stay within its limit, and below 0 none
    can.
    """
    gives: Ints = np.zeros((len(need), 3), dtype=np.int64)
    unbounded = pods.bound < 0
    np.add.at(gives, pods.host[unbounded], pods.freed[unbounded])
    bounded = np.flatnonzero(~unbounded)
    keys, of = np.unique(pods.host[bounded] * max(1, len(limits)) + pods.bound[bounded], return_inverse=True)
    sums: Ints = np.zeros((len(keys), 3), dtype=np.int64)
    np.add.at(sums, of, pods.freed[bounded])
    host, bound = np.divmod(keys, max(1, len(limits)))
    most = limits[bound]
    possible = most >= 0
    # If only one resource can stay within its limit, no more of it becomes free; otherwise all of it may.
    only = (possible.sum(axis=1) == 1) & ~(sums <= most).any(axis=1)
    np.add.at(gives, host, np.where(only[:, None] & possible, np.minimum(sums, most), sums))
    return np.asarray((gives >= need).all(axis=1), dtype=np.bool_)
