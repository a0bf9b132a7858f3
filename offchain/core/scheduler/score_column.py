"""The costs of one request over all hosts, with a tournament tree that finds the best, and the log of changed hosts.

A host that has changed costs a look at its own block and one node a level.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler.columns import Bools, Floats, Ints, resized
from offchain.core.scheduler.jit import compiled, inner

BLOCK = 32
"""Hosts in one block."""

_FEW = 16
"""Up to this many changed hosts are updated one by one; beyond it the whole tree is."""

AnyFloats = npt.NDArray[np.floating[Any]]


class ScoreColumn(NamedTuple):
    """Each [host]. Lower is better; infinite: not feasible."""

    costs: AnyFloats
    """The score and the penalties."""
    devices: npt.NDArray[np.integer[Any]]
    """The devices that the pod would take, as bits; -1 (or its unsigned form) where it is not feasible."""
    tree: AnyFloats
    """[node]: the minimum below it. The root is 1, the children of node `n` are 2 `n` and 2 `n` + 1. Empty: no tree."""


class Penalties(NamedTuple):
    """Costs that are added to the score. All columns empty: none."""

    by_host: Floats
    """[host]: costs; infinite: not permitted."""
    price_list: Ints
    """[host]: the number of its price list."""
    by_list: Floats
    """[list]: costs; infinite: not permitted."""
    certain: Bools
    """[list]: whether a pod may be placed there without asking the exact price rule."""
    closed: Bools
    """[host]: whether nothing is to be placed there now."""


def empty_column() -> ScoreColumn:
    """Return a column over no hosts. Narrow types: 400 requests and 100,000 hosts make 40 million entries of each."""
    costs: npt.NDArray[np.float32] = np.zeros(0, dtype=np.float32)
    return ScoreColumn(costs, np.zeros(0, dtype=np.uint16), np.full(2, np.inf, dtype=np.float32))


def extended_column(column: ScoreColumn, hosts: int) -> ScoreColumn:
    """Return the column extended to `hosts` hosts; new ones are still to be scored."""
    blocks = -(-hosts // BLOCK)
    nodes = 2 << max(0, blocks - 1).bit_length()
    costs, devices, tree = column
    if nodes > len(tree):
        half, before = nodes // 2, len(tree) // 2
        tree = np.full(nodes, np.inf, dtype=np.float32)
        tree[half : half + before] = column.tree[before:]
        while half > 1:
            tree[half // 2 : half] = np.minimum(tree[half : 2 * half : 2], tree[half + 1 : 2 * half : 2])
            half //= 2
    return ScoreColumn(resized(costs, hosts), resized(devices, hosts), tree)


@compiled
def update_tree(column: ScoreColumn, hosts: Ints) -> None:
    """Update the tree where the costs of these hosts have changed."""
    costs, _, tree = column
    leaves = len(tree) // 2
    if len(hosts) <= _FEW and leaves:
        for host in hosts:
            update_tree_of(tree, costs, host)
    elif leaves:
        changed = np.zeros(leaves, dtype=np.bool_)
        for host in hosts:
            changed[host // BLOCK] = True
        for block in range(leaves):
            if changed[block]:
                tree[leaves + block] = _block_min(costs, block)
        for node in range(leaves - 1, 0, -1):
            left, right = tree[2 * node], tree[2 * node + 1]
            tree[node] = min(left, right)


@inner
def update_tree_of(tree: AnyFloats, costs: AnyFloats, host: int) -> None:
    """Update the tree for one host."""
    block = host // BLOCK
    node = len(tree) // 2 + block
    lowest = _block_min(costs, block)
    while node and tree[node] != lowest:
        tree[node] = lowest
        sibling = tree[node ^ 1]
        lowest = min(lowest, sibling)
        node //= 2


@inner
def best_host(tree: AnyFloats, costs: AnyFloats) -> int:
    """Return the host with the lowest cost, of equals the first; -1 where all are infinite."""
    lowest = tree[1]
    if lowest == np.inf:
        return -1
    leaves = len(tree) // 2
    node = 1
    while node < leaves:
        node *= 2
        if tree[node] != lowest:
            node += 1
    host = (node - leaves) * BLOCK
    while costs[host] != lowest:
        host += 1
    return host


@inner
def _block_min(costs: AnyFloats, block: int) -> float:
    lowest = costs[block * BLOCK]
    for host in range(block * BLOCK + 1, min(len(costs), block * BLOCK + BLOCK)):
        lowest = min(lowest, costs[host])
    return lowest  # type: ignore[no-any-return]


_INITIAL_HOSTS: Final = 16
_LOG_ENTRIES: Final = 1 << 15
"""Changes kept one by one."""

_SCAN_SPEEDUP: Final = 8
"""Scanning all hosts in order takes as long as reading this many times fewer at random."""


class _LogColumns(NamedTuple):
    """Changes are numbered from 1 on."""

    last: Ints
    """[host]: the number of its last change."""
    gained: Ints
    """[host]: the number of its last change that may have freed resources."""
    hosts: Ints
    """[number modulo its length]: the host of that change."""


class ChangeLog:
    """The changes of hosts, by row: each host's last one, and the latest one by one."""

    def __init__(self) -> None:
        self._end = 0
        self._log = _LogColumns(
            np.zeros(_INITIAL_HOSTS, np.int64), np.zeros(_INITIAL_HOSTS, np.int64), np.zeros(_LOG_ENTRIES, np.int64)
        )
        self._new: list[int] = []
        """Not entered yet; all may have freed resources."""

    def end(self) -> int:
        """Return the number of the last change."""
        self._take_in()
        return self._end

    def add(self, hosts: Iterable[int]) -> None:
        """Note that these hosts changed and may have more free."""
        self._new.extend(hosts)

    def add_shrunk(self, hosts: Ints) -> None:
        """Note that these hosts have less free than before."""
        self._take_in()
        self._add_numbered(hosts, gains=False)

    def since(self, seen: int, hosts: int) -> Ints:
        """Return those of the first `hosts` hosts that changed after change `seen`."""
        self._take_in()
        found: Ints = np.flatnonzero(self._log.last[:hosts] > seen)
        return found

    def since_for(self, seen: int, costs: AnyFloats) -> Ints:
        """Return the hosts whose costs may differ since change `seen`.

        Without a gain, an infeasible host stays infeasible.

        `costs`: [host], infinite: not feasible.
        """
        self._take_in()
        found: Ints = _changed_since(self._log, self._end, seen, costs)
        return found

    def _take_in(self) -> None:
        if self._new:
            rows, self._new = np.array(self._new, dtype=np.int64), []
            self._add_numbered(rows, gains=True)

    def _add_numbered(self, hosts: Ints, *, gains: bool) -> None:
        if len(hosts):
            rows, (last, gained, kept) = 1 + int(hosts.max()), self._log
            if rows > len(last):
                self._log = _LogColumns(resized(last, 2 * rows), resized(gained, 2 * rows), kept)
            _append(self._log, self._end, hosts, gains)
            self._end += len(hosts)


@compiled
def _append(log: _LogColumns, end: int, hosts: Ints, gains: bool) -> None:  # noqa: FBT001 - compiled loops have no keywords
    """Number the changes from `end` + 1 on."""
    last, gained, kept = log
    for host in hosts:
        end += 1
        last[host] = end
        if gains:
            gained[host] = end
        kept[end % len(kept)] = host


@compiled
def _changed_since(log: _LogColumns, end: int, seen: int, costs: AnyFloats) -> Ints:
    """See :meth:`ChangeLog.since_for`. Each host once."""
    last, gained, kept = log
    each, count = end - seen <= min(len(kept), len(costs) // _SCAN_SPEEDUP), 0
    found = np.empty(end - seen if each else len(costs), dtype=np.int64)
    if each:
        for number in range(seen + 1, end + 1):
            host = kept[number % len(kept)]
            if last[host] == number and (costs[host] < np.inf or gained[host] > seen):
                found[count] = host
                count += 1
    else:
        # Without a branch, which processors would mispredict half of the time.
        for host in range(min(len(costs), len(last))):
            found[count] = host
            count += (last[host] > seen) & ((costs[host] < np.inf) | (gained[host] > seen))
    return found[:count]
