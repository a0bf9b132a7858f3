"""The alikes of each leaf and of each shape, side by side in one column, so that to look through them is quick.

A list that is full moves to the column's end, twice as long; where it was stays unused. So all of them together need at
most four places for each that was ever needed at once.
"""

from __future__ import annotations

from typing import Any, Final

from offchain.core.queues.tables import Tables
from offchain.core.scheduler.kernel_cache import inner

_FEWEST: Final = 4


@inner
def has_room(tables: Tables, leaf: int, shape: int) -> bool:
    """Whether the column is long enough for one more of this leaf and of this shape."""
    needed = tables.round[0].listed + _more(tables.nodes[leaf]) + _more(tables.shapes[shape])
    return bool(needed <= len(tables.lists))


@inner
def list_alike(tables: Tables, alike: int) -> None:
    """Enter it in both lists that it belongs to."""
    these = tables.alikes[alike]
    these.in_leaf = _put(tables, tables.nodes[these.leaf], alike)
    these.in_shape = _put(tables, tables.shapes[these.shape], alike)


@inner
def strike_alike(tables: Tables, alike: int) -> None:
    """Take it out of both. The last of each list takes its place."""
    these = tables.alikes[alike]
    last = _last(tables, tables.nodes[these.leaf])
    tables.lists[tables.nodes[these.leaf].start + these.in_leaf] = last
    tables.alikes[last].in_leaf = these.in_leaf
    last = _last(tables, tables.shapes[these.shape])
    tables.lists[tables.shapes[these.shape].start + these.in_shape] = last
    tables.alikes[last].in_shape = these.in_shape


@inner
def _more(of: Any) -> int:
    """How much longer the column gets by one more in this list."""
    return max(_FEWEST, 2 * of.places) if of.members == of.places else 0


@inner
def _put(tables: Tables, of: Any, alike: int) -> int:
    """Where it stands in this list."""
    more = _more(of)
    if more:
        start = tables.round[0].listed
        for place in range(of.members):
            tables.lists[start + place] = tables.lists[of.start + place]
        of.start, of.places = start, more
        tables.round[0].listed += more
    tables.lists[of.start + of.members] = alike
    of.members += 1
    return int(of.members - 1)


@inner
def _last(tables: Tables, of: Any) -> int:
    of.members -= 1
    return int(tables.lists[of.start + of.members])
