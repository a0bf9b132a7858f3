"""One wish over all hosts, as compiled loops have it: the points of each, and the best of them at hand.

Hosts are taken in blocks. Over the least points of each block lies a tree of the lesser of every two, so that a host
that has changed costs its own block and one look a level.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.placing.columns import as_long
from offchain.core.placing.compiled import compiled, inner
from offchain.core.placing.free import Bools, Floats, Ints

BLOCK = 32
"""Hosts."""

_FEW = 16
"""Blocks that are brought up to date one by one; of more, the whole tree is."""

AnyFloats = npt.NDArray[np.floating[Any]]


class Lane(NamedTuple):
    """[host] each. Less is better; infinite: not there."""

    points: AnyFloats
    """The score, and what is added to it."""
    devices: npt.NDArray[np.integer[Any]]
    """Those that it would take, as bits; where it has no room -1, or whatever that is in a column without a sign."""
    least: AnyFloats
    """[node]: of the tree, its root at 1, the children of node `n` at 2 `n` and 2 `n` + 1. Empty: not kept."""


class Beside(NamedTuple):
    """What counts beside the score. All empty: nothing does."""

    against: Floats
    """[host]: points; infinite: not allowed."""
    offer: Ints
    """[host]: the number of its price list."""
    price: Floats
    """[list]: points; infinite: not allowed."""
    sure: Bools
    """[list]: whether a pod may be placed there without another question."""
    closed: Bools
    """[host]: whether nothing is to be placed there for now."""


def empty() -> Lane:
    """Over no hosts. Narrow columns: with 400 wishes and 100,000 hosts there are 40 million of each."""
    points: npt.NDArray[np.float32] = np.zeros(0, dtype=np.float32)
    return Lane(points, np.zeros(0, dtype=np.uint16), np.full(2, np.inf, dtype=np.float32))


def longer(lane: Lane, hosts: int) -> Lane:
    """The same over more hosts; those that are new are still to be scored."""
    blocks = -(-hosts // BLOCK)
    nodes = 2 << max(0, blocks - 1).bit_length()
    points, devices, least = lane
    if nodes > len(least):
        half, before = nodes // 2, len(least) // 2
        least = np.full(nodes, np.inf, dtype=np.float32)
        least[half : half + before] = lane.least[before:]
        while half > 1:
            least[half // 2 : half] = np.minimum(least[half : 2 * half : 2], least[half + 1 : 2 * half : 2])
            half //= 2
    return Lane(as_long(points, hosts), as_long(devices, hosts), least)


@compiled
def renew(lane: Lane, hosts: Ints) -> None:
    """Bring the tree up to date where the points of these hosts have changed."""
    points, _, least = lane
    leaves = len(least) // 2
    if len(hosts) <= _FEW and leaves:
        for host in hosts:
            renew_one(least, points, host)
    elif leaves:
        changed = np.zeros(leaves, dtype=np.bool_)
        for host in hosts:
            changed[host // BLOCK] = True
        for block in range(leaves):
            if changed[block]:
                least[leaves + block] = _of_block(points, block)
        for node in range(leaves - 1, 0, -1):
            left, right = least[2 * node], least[2 * node + 1]
            least[node] = min(left, right)


@inner
def renew_one(least: AnyFloats, points: AnyFloats, host: int) -> None:
    """The same for one host."""
    block = host // BLOCK
    node = len(least) // 2 + block
    low = _of_block(points, block)
    while node and least[node] != low:
        least[node] = low
        beside = least[node ^ 1]
        low = min(low, beside)
        node //= 2


@inner
def first_of(least: AnyFloats, points: AnyFloats) -> int:
    """The host with the least points, of equals the first; -1 where all are infinite."""
    low = least[1]
    if low == np.inf:
        return -1
    leaves = len(least) // 2
    node = 1
    while node < leaves:
        node *= 2
        if least[node] != low:
            node += 1
    host = (node - leaves) * BLOCK
    while points[host] != low:
        host += 1
    return host


@inner
def _of_block(points: AnyFloats, block: int) -> float:
    """The least points in it."""
    low = points[block * BLOCK]
    for host in range(block * BLOCK + 1, min(len(points), block * BLOCK + BLOCK)):
        low = min(low, points[host])
    return low  # type: ignore[no-any-return]
