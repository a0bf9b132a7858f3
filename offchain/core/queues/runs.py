"""Tasks that go together: of one shape, come at about the same time, from parts of the tree that hold about as much.

All that go together have come at about the same time as those ahead of them in their part of the tree, and no part of
the tree gets more than a slice of the network ahead of the others.
"""

from __future__ import annotations

from typing import Final

from offchain.core.queues.ageing import RISING
from offchain.core.queues.picking import dominant, head_of, key_of, next_alike, room_for
from offchain.core.queues.tables import NOBODY, UNLIMITED_EACH, Tables, plain
from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.kernel_cache import compiled, inner

SLICE: Final = 1 / 1024
"""Of the network: so far a part of the tree may get ahead of the others when several tasks go together."""

MOST_IN_RUN: Final = 4096


@compiled
def run_next(tables: Tables, ids: Ints, parts: Ints) -> int:
    """Fill `ids` with the tasks that may go together, the one whose turn it is first. How many parts they are of.

    `parts`: [place, 2], among whom some of them are, and how many; as long as `ids`.
    """
    alike = next_alike(tables)
    if alike == NOBODY:
        return 0
    first = tables.alikes[alike]
    asks = tables.shapes[first.shape]
    each = dominant(tables, asks.cpu, asks.memory, asks.gpu)
    room = min(_most(tables, alike), len(ids))
    most = min(room, int(min(SLICE / each, float(len(ids))))) if each else room
    many = _oldest(tables, alike, max(1, most), ids, plain(0))
    parts[0, 0], parts[0, 1] = alike, many
    parent = tables.nodes[first.leaf].parent
    if first.holder != NOBODY or not each or each > SLICE or not _alone(tables, parent):
        return 1
    return _join(tables, alike, each, room, many, ids, parts)


@inner
def _most(tables: Tables, alike: int) -> int:
    """How many of these the limits of queues and of the account leave room for."""
    asks, room = tables.shapes[tables.alikes[alike].shape], room_for(tables, alike)
    many = UNLIMITED_EACH
    if asks.cpu:
        many = min(many, room[0] // asks.cpu)
    if asks.memory:
        many = min(many, room[1] // asks.memory)
    if asks.gpu:
        many = min(many, room[2] // asks.gpu)
    return many


@inner
def _oldest(tables: Tables, alike: int, most: int, ids: Ints, at: int) -> int:
    """Put the oldest of these into `ids`, those that came soon enough after the first; how many."""
    these = tables.alikes[alike]
    until_ms = these.submitted_at + tables.nodes[these.leaf].together_ms
    found, task = 0, these.first
    while found < most and task != NOBODY and tables.tasks[task].submitted_at <= until_ms:
        ids[at + found] = tables.tasks[task].id
        task = tables.tasks[task].next
        found += 1
    return found


@inner
def _alone(tables: Tables, node: int) -> bool:
    """Whether no other part of the tree is compared with this one or what it is a part of."""
    nodes = tables.nodes
    while nodes[node].parent != NOBODY:
        node = nodes[node].parent
        if nodes[nodes[node].child].sibling != NOBODY:
            return False
    return True


@inner
def _near(tables: Tables, alike: int) -> bool:
    """Whether the first of these is first in its part, or came so soon after whoever is that they may go together."""
    leaf = tables.alikes[alike].leaf
    head = head_of(tables, leaf)
    if head == NOBODY:
        return False
    mine, first, most = key_of(tables, alike), key_of(tables, head), tables.nodes[leaf].together_ms
    soon = mine[2] - first[2] <= most and mine[0] == first[0]
    return bool(soon and (mine[1] == first[1] or (mine[0] == RISING and mine[1] - first[1] <= most)))


@inner
def _join(tables: Tables, first: int, each: float, room: int, many: int, ids: Ints, parts: Ints) -> int:
    """Let siblings of the first part in, as far as they are not ahead of it by more than a slice."""
    alikes, nodes, stamp = tables.alikes, tables.nodes, tables.round[0].stamp
    mine = alikes[first].leaf
    level = nodes[mine].share + SLICE / nodes[mine].weight
    # One of each leaf, in `parts` for a while.
    waiting, of = plain(0), tables.shapes[alikes[first].shape]
    for at in range(of.start, of.start + of.members):
        if waiting + 1 == len(parts):
            break
        alike = tables.lists[at]
        leaf = alikes[alike].leaf
        other = nodes[leaf]
        sibling = leaf != mine and other.parent == nodes[mine].parent and not other.limited
        if sibling and other.stamp != stamp and other.share < level and _near(tables, alike):
            if other.pick == NOBODY:
                other.pick = waiting
                waiting += 1
                parts[waiting, 0] = alike
            elif key_of(tables, alike) < key_of(tables, parts[1 + other.pick, 0]):
                parts[1 + other.pick, 0] = alike
    for place in range(1, waiting + 1):
        nodes[alikes[parts[place, 0]].leaf].pick = NOBODY
    _sort(tables, parts, waiting)
    found = 1
    for place in range(1, waiting + 1):
        left = min(room, len(ids)) - many
        if left <= 0:
            break
        alike = parts[place, 0]
        other = nodes[alikes[alike].leaf]
        here = _oldest(tables, alike, min(left, int((level - other.share) * other.weight / each)), ids, many)
        if here:
            parts[found, 0], parts[found, 1] = alike, here
            many += here
            found += 1
    return found


@inner
def _sort(tables: Tables, parts: Ints, waiting: int) -> None:
    """Heapsort of `parts` from 1 on: the part of the tree that is next comes first."""
    for start in range(waiting // 2, 0, -1):
        _sift(tables, parts, start, waiting)
    for end in range(waiting, 1, -1):
        parts[1, 0], parts[end, 0] = parts[end, 0], parts[1, 0]
        _sift(tables, parts, plain(1), end - 1)


@inner
def _sift(tables: Tables, parts: Ints, at: int, end: int) -> None:
    """The one that comes last stands first in the heap."""
    while 2 * at <= end:
        later = 2 * at
        if later < end and _before(tables, parts[later, 0], parts[later + 1, 0]):
            later += 1
        if not _before(tables, parts[at, 0], parts[later, 0]):
            return
        parts[at, 0], parts[later, 0] = parts[later, 0], parts[at, 0]
        at = later


@inner
def _before(tables: Tables, alike: int, other: int) -> bool:
    """Whether its part of the tree comes before that of the other one."""
    one, two = tables.nodes[tables.alikes[alike].leaf], tables.nodes[tables.alikes[other].leaf]
    if one.share != two.share:
        return bool(one.share < two.share)
    return bool(one.served < two.served or (one.served == two.served and one.rank < two.rank))
