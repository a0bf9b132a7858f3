"""Which alikes tasks of a shape, a place and a priority stand among: a hash table with open addressing, in one column.

[place]: a row of the alikes and one, 0 where there is none. It has twice as many places as there may be alikes.
"""

from __future__ import annotations

from offchain.core.queues.tables import NOBODY, Tables
from offchain.core.scheduler.kernel_cache import compiled, inner

_MARK_LEAF = 0x1E3779B97F4A7C15
_MARK_RISE = 0x42B2AE3D27D4EB4F
_MARK_HOLDER = 0x165667B19E3779F9
"""Odd numbers without a pattern."""


@inner
def find(tables: Tables, leaf: int, shape: int, rise_ms: int, holder: int) -> int:
    """The row of these; NOBODY: nobody stands so."""
    index, alikes = tables.found_by, tables.alikes
    place = _home(len(index), leaf, shape, rise_ms, holder)
    while index[place]:
        these = alikes[index[place] - 1]
        if these.leaf == leaf and these.shape == shape and these.rise_ms == rise_ms and these.holder == holder:
            return int(index[place] - 1)
        place = (place + 1) & (len(index) - 1)
    return NOBODY


@inner
def enter(tables: Tables, alike: int) -> None:
    """There are such now."""
    index = tables.found_by
    place = _home_of(tables, alike)
    while index[place]:
        place = (place + 1) & (len(index) - 1)
    index[place] = alike + 1


@inner
def take_out(tables: Tables, alike: int) -> None:
    """There are none any more. Those behind it move up, as if it had never been there."""
    index = tables.found_by
    last = len(index) - 1
    gap = _home_of(tables, alike)
    while index[gap] != alike + 1:
        gap = (gap + 1) & last
    place = (gap + 1) & last
    while index[place]:
        home = _home_of(tables, index[place] - 1)
        # It may stand in the gap if that is not before its home.
        if (place - home) & last >= (place - gap) & last:
            index[gap] = index[place]
            gap = place
        place = (place + 1) & last
    index[gap] = 0


@compiled
def fill(tables: Tables) -> None:
    """Enter all; there must be nobody in it."""
    for alike in range(tables.round[0].alikes):
        if tables.alikes[alike].count:
            enter(tables, alike)


@inner
def _home_of(tables: Tables, alike: int) -> int:
    these = tables.alikes[alike]
    return _home(len(tables.found_by), these.leaf, these.shape, these.rise_ms, these.holder)


@inner
def _home(places: int, leaf: int, shape: int, rise_ms: int, holder: int) -> int:
    mark = leaf * _MARK_LEAF + rise_ms * _MARK_RISE + holder * _MARK_HOLDER
    mark = (mark ^ (mark >> 29) ^ shape) * _MARK_LEAF
    return (mark ^ (mark >> 31)) & (places - 1)
