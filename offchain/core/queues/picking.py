"""Who is next, found by compiled loops: from the root down the part with the least share, then the first in it.

No list is kept in order: to look through a part's few hundred alikes, or a queue's parts, is less work than to keep
them sorted while a hundred thousand tasks leave.
"""

from __future__ import annotations

from offchain.core.queues.ageing import ABOVE, RISEN, RISING
from offchain.core.queues.tables import NOBODY, UNLIMITED_EACH, Tables, plain
from offchain.core.scheduler.kernel_cache import compiled, inner

_Key = tuple[int, int, int, int]
"""Rank, then what counts in it, then when it was submitted, then its number; the least is first."""

_Room = tuple[int, int, int]


@inner
def unlimited() -> _Room:
    """Room for all."""
    return plain(UNLIMITED_EACH), plain(UNLIMITED_EACH), plain(UNLIMITED_EACH)


@inner
def key_of(tables: Tables, alike: int) -> _Key:
    """Where the first of these stands among others of its part, now."""
    these = tables.alikes[alike]
    if these.rise_ms < 0:
        return ABOVE, these.rise_ms, these.submitted_at, these.id
    risen_at = these.submitted_at + these.rise_ms
    if risen_at <= tables.round[0].now_ms:
        return RISEN, 0, these.submitted_at, these.id
    return RISING, risen_at, these.submitted_at, these.id


@inner
def dominant(tables: Tables, cpu: int, memory: int, gpu: int) -> float:
    """The dominant share of so much, none of what the network has nothing of."""
    whole = tables.round[0]
    share = 0.0
    if whole.cpu:
        share = cpu / whole.cpu
    if whole.memory:
        share = max(share, memory / whole.memory)
    if whole.gpu:
        share = max(share, gpu / whole.gpu)
    return share


@inner
def share_of(tables: Tables, node: int) -> float:
    """The dominant share by weight: of a queue with parts in the resources that are asked for, if any is."""
    here = tables.nodes[node]
    cpu, memory, gpu = here.cpu, here.memory, here.gpu
    if here.branch >= 0:
        asked = tables.asked[here.branch]
        if asked[0] or asked[1] or asked[2]:
            cpu, memory, gpu = cpu * (asked[0] > 0), memory * (asked[1] > 0), gpu * (asked[2] > 0)
    return float(dominant(tables, cpu, memory, gpu) / here.weight)


@inner
def left_by(tables: Tables, node: int, room: _Room) -> _Room:
    """What its limit leaves of this room."""
    here = tables.nodes[node]
    if not here.limited:
        return room
    return (
        min(room[0], max(0, here.cpu_most - here.cpu)),
        min(room[1], max(0, here.memory_most - here.memory)),
        min(room[2], max(0, here.gpu_most - here.gpu)),
    )


@inner
def left_to(tables: Tables, holder: int, room: _Room) -> _Room:
    """What the limits of an account leave of this room."""
    cpu, memory, gpu = room
    while holder != NOBODY:
        here = tables.holders[holder]
        cpu = min(cpu, max(0, here.cpu_most - here.cpu))
        memory = min(memory, max(0, here.memory_most - here.memory))
        gpu = min(gpu, max(0, here.gpu_most - here.gpu))
        holder = here.above
    return cpu, memory, gpu


@inner
def room_for(tables: Tables, alike: int) -> _Room:
    """What the limits of its part of the tree, of all above it, and of the account leave to tasks of these."""
    these = tables.alikes[alike]
    room, node = unlimited(), these.leaf
    while node != NOBODY:
        room = left_by(tables, node, room)
        node = tables.nodes[node].parent
    return left_to(tables, these.holder, room)


@inner
def within(tables: Tables, shape: int, room: _Room) -> bool:
    """Whether there is room for a task of this shape."""
    asks = tables.shapes[shape]
    return bool(asks.cpu <= room[0] and asks.memory <= room[1] and asks.gpu <= room[2])


@inner
def head_of(tables: Tables, leaf: int) -> int:
    """The first of a part of those that are not blocked, whatever limits of queues say."""
    here = tables.nodes[leaf]
    if here.head != NOBODY and not tables.shapes[tables.alikes[here.head].shape].blocked:
        return int(here.head)
    here.head = _first(tables, leaf, unlimited())
    return int(here.head)


@compiled
def next_alike(tables: Tables) -> int:
    """Among whom the task is whose turn it is; NOBODY: none can go now."""
    nodes, stamp = tables.nodes, tables.round[0].stamp
    everything = unlimited()
    while True:
        node, room = plain(0), everything
        while nodes[node].branch >= 0:
            room = left_by(tables, node, room)
            part = NOBODY
            if room == everything or _can_serve(tables, nodes[node].branch, room):
                part = _next_part(tables, node, stamp)
            if part == NOBODY:
                break
            node = part
        if nodes[node].branch < 0:
            alike = _first_with(tables, node, left_by(tables, node, room))
            if alike != NOBODY:
                return alike
        elif node == 0:
            return NOBODY
        nodes[node].stamp = stamp


@inner
def _next_part(tables: Tables, node: int, stamp: int) -> int:
    """The part with the least share; of equals the one served the longest ago, then the first by name."""
    nodes = tables.nodes
    best, best_share = NOBODY, 0.0
    part = nodes[node].child
    while part != NOBODY:
        here = nodes[part]
        if here.awake and here.stamp != stamp:
            share = here.share if here.branch < 0 else share_of(tables, part)
            if best == NOBODY or share < best_share:
                best, best_share = part, share
            elif share == best_share:
                other = nodes[best]
                if here.served < other.served or (here.served == other.served and here.rank < other.rank):
                    best = part
        part = here.sibling
    return int(best)


@inner
def _can_serve(tables: Tables, branch: int, room: _Room) -> bool:
    """Whether a shape waits there that is not blocked and that there is room for."""
    waits, shapes = tables.waits[branch], tables.shapes
    for shape in range(len(waits)):
        if waits[shape] and not shapes[shape].blocked and within(tables, shape, room):
            return True
    return False


@inner
def _first_with(tables: Tables, leaf: int, room: _Room) -> int:
    """The first of a part that there is room for: mostly the first of all. Limits of accounts are asked each time."""
    head = head_of(tables, leaf)
    if head == NOBODY:
        return NOBODY
    these = tables.alikes[head]
    return head if these.holder == NOBODY and within(tables, these.shape, room) else _first(tables, leaf, room)


@inner
def _first(tables: Tables, leaf: int, room: _Room) -> int:
    """The first of a part that there is room for, of those that are not blocked, nor kept by limits of an account."""
    alikes, shapes = tables.alikes, tables.shapes
    best, best_key = NOBODY, (0, 0, 0, 0)
    here = tables.nodes[leaf]
    for place in range(here.start, here.start + here.members):
        alike = tables.lists[place]
        these = alikes[alike]
        if not shapes[these.shape].blocked and within(tables, these.shape, room):
            key = key_of(tables, alike)
            first = best == NOBODY or key < best_key
            if first and within(tables, these.shape, left_to(tables, these.holder, room)):
                best, best_key = alike, key
    return int(best)
