"""What each part of the tree has a right to, by compiled loops over all who wait and all parts.

From the root down a queue's right is shared out among its parts by weight, and none gets more than it holds and waits
for together (water-filling: what one does not want is shared out among the others). What a limit keeps waiting is not
counted, nor what is above the limit of a queue.
"""

from __future__ import annotations

import numpy as np

from offchain.core.placing.cluster import Floats, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.queues.picking import dominant, room_for, within
from offchain.core.queues.tables import NOBODY, Tables


@compiled
def share_out(tables: Tables, rights: Floats) -> None:
    """Fill in `rights`, [node], as long as there are nodes: a share of the network each."""
    nodes, many = tables.nodes, len(rights)
    wanted = np.zeros((many, 3), np.int64)
    _add_up(tables, wanted)
    demands = np.zeros(many)
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
            wanted[here.parent] += wanted[node]
        demands[node] = dominant(tables, wanted[node, 0], wanted[node, 1], wanted[node, 2])
    rights[:] = 0.0
    rights[0] = 1.0
    for node in range(many):
        if nodes[node].branch >= 0:
            _among_parts(tables, node, demands, rights)


@compiled
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


@compiled
def _among_parts(tables: Tables, node: int, demands: Floats, rights: Floats) -> None:
    """Those that want the least for their weight get all of it; what is left, the others share by weight."""
    nodes = tables.nodes
    many, weights = 0, 0.0
    part = nodes[node].child
    while part != NOBODY:
        many += 1
        weights += nodes[part].weight
        part = nodes[part].sibling
    parts, levels = np.zeros(many, np.int64), np.zeros(many)
    at, part = 0, nodes[node].child
    while part != NOBODY:
        parts[at], levels[at] = part, demands[part] / nodes[part].weight
        at += 1
        part = nodes[part].sibling
    left = rights[node]
    for place in np.argsort(levels):
        part = parts[place]
        weight = nodes[part].weight
        rights[part] = min(demands[part], left * weight / weights) if weights > 0.0 else 0.0
        left -= rights[part]
        weights -= weight
