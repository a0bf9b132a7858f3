"""What each part of the tree has a right to, by compiled loops over all who wait and all parts.

From the root down a queue's right is shared out among its parts by weight, and none gets more than it holds and waits
for together (water-filling: what one does not want is shared out among the others). What a limit keeps waiting is not
counted, nor what is above the limit of a queue.
"""

from __future__ import annotations

import numpy as np

from offchain.core.queues.picking import dominant, room_for, within
from offchain.core.queues.tables import NOBODY, Tables
from offchain.core.scheduler.columns import Floats, Ints
from offchain.core.scheduler.kernel_cache import compiled, inner


@compiled
def share_out(tables: Tables, rights: Floats) -> None:
    """Fill in `rights`, [node], as long as there are nodes: a share of the network each."""
    nodes, many = tables.nodes, len(rights)
    wanted = np.zeros((many, 3), np.int64)
    _add_up(tables, wanted)
    demands, parts = np.zeros(many), np.zeros(many, np.int64)
    # A part comes after what it is a part of.
    for node in range(many - 1, -1, -1):
        here = nodes[node]
        if here.branch < 0:
            wanted[node, 0] += here.cpu
            wanted[node, 1] += here.memory
            wanted[node, 2] += here.gpu
        if here.limited:
            wanted[node, 0] = min(wanted[node, 0], here.cpu_most)
            wanted[node, 1] = min(wanted[node, 1], here.memory_most)
            wanted[node, 2] = min(wanted[node, 2], here.gpu_most)
        if here.parent != NOBODY:
            for resource in range(3):
                wanted[here.parent, resource] += wanted[node, resource]
        demands[node] = dominant(tables, wanted[node, 0], wanted[node, 1], wanted[node, 2])
        rights[node] = 0.0
    rights[0] = 1.0
    for node in range(many):
        if nodes[node].branch >= 0:
            _among_parts(tables, node, demands, rights, parts)


@inner
def _add_up(tables: Tables, wanted: Ints) -> None:
    """[node, resource]: what waits in each leaf, without what a limit keeps."""
    for alike in range(tables.round[0].alikes):
        these = tables.alikes[alike]
        if not these.count:
            continue
        if within(tables, these.shape, room_for(tables, alike)):
            asks = tables.shapes[these.shape]
            wanted[these.leaf, 0] += these.count * asks.cpu
            wanted[these.leaf, 1] += these.count * asks.memory
            wanted[these.leaf, 2] += these.count * asks.gpu


@inner
def _among_parts(tables: Tables, node: int, demands: Floats, rights: Floats, parts: Ints) -> None:
    """Those that want the least for their weight get all of it; what is left, the others share by weight.

    `parts`: for a heap of them, the one on top that wants the least.
    """
    nodes = tables.nodes
    many, weights = 0, 0.0
    part = nodes[node].child
    while part != NOBODY:
        parts[many] = part
        many += 1
        weights += nodes[part].weight
        part = nodes[part].sibling
    for place in range(many // 2 - 1, -1, -1):
        _sink(tables, demands, parts, place, many)
    left = rights[node]
    while many:
        part = parts[0]
        weight = nodes[part].weight
        rights[part] = min(demands[part], left * weight / weights) if weights > 0.0 else 0.0
        left -= rights[part]
        weights -= weight
        many -= 1
        parts[0] = parts[many]
        _sink(tables, demands, parts, 0, many)


@inner
def _sink(tables: Tables, demands: Floats, parts: Ints, place: int, many: int) -> None:
    """Bring what stands here to where it belongs, in a heap of so many."""
    nodes = tables.nodes
    while 2 * place + 1 < many:
        below = 2 * place + 1
        least = demands[parts[below]] / nodes[parts[below]].weight
        if below + 1 < many:
            other = demands[parts[below + 1]] / nodes[parts[below + 1]].weight
            if other < least:
                below, least = below + 1, other
        if demands[parts[place]] / nodes[parts[place]].weight <= least:
            return
        parts[place], parts[below] = parts[below], parts[place]
        place = below
