"""Who waits and what is held, as tables that compiled loops read and write.

A row stands for something as long as it is there; what refers to it keeps its number. Rows that nobody stands in are
kept in a list and used again, so tables are as long as the most that were ever there at once.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.queues.amount import UNLIMITED
from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.kernel_cache import inner

Table = npt.NDArray[np.void]
"""Rows with named fields."""

NOBODY: Final = -1
"""In place of the number of a row."""

UNLIMITED_EACH: Final = UNLIMITED[0]
"""Of each resource."""

NEVER: Final = -1
"""When a part was last served that never was."""

ROUND: Final = np.dtype(
    [
        ("now_ms", "i8"),
        ("stamp", "i8"),  # what is set aside has this one
        ("cpu", "i8"),  # of the whole network, and so for the next two
        ("memory", "i8"),
        ("gpu", "i8"),
        ("free_task", "i8"),  # the first of the rows that nobody stands in
        ("tasks", "i8"),  # rows that were ever used
        ("free_alike", "i8"),
        ("alikes", "i8"),
        ("listed", "i8"),  # places of the lists that were ever used
    ],
    align=True,
)
"""One row."""

NODE: Final = np.dtype(
    [
        ("cpu", "i8"),  # held, and so for the next two
        ("memory", "i8"),
        ("gpu", "i8"),
        ("cpu_most", "i8"),  # its limit, and so for the next two
        ("memory_most", "i8"),
        ("gpu_most", "i8"),
        ("weight", "f8"),
        ("share", "f8"),  # of a leaf: what it holds of the network, by its weight
        ("served", "i8"),  # chain time in ms
        ("stamp", "i8"),  # of the round in which nothing of it can go any more
        ("together_ms", "i8"),  # of a leaf: see Ageing
        ("parent", "i8"),
        ("child", "i8"),  # the first
        ("sibling", "i8"),  # the next
        ("rank", "i8"),  # by name, among its siblings
        ("branch", "i8"),  # its number among those that have parts; NOBODY: a leaf
        ("limited", "i8"),
        ("awake", "i8"),  # how many alikes in it are not blocked
        ("start", "i8"),  # of a leaf: where the list of its alikes is, and so for the next two
        ("members", "i8"),
        ("places", "i8"),
        ("head", "i8"),  # of a leaf: the first of those that are not blocked; NOBODY: to be found
        ("pick", "i8"),  # of a leaf: for sums on the way
    ],
    align=True,
)
"""A queue, or an account in `default`. Row 0 is the root."""

SHAPE: Final = np.dtype(
    [
        ("cpu", "i8"),
        ("memory", "i8"),
        ("gpu", "i8"),
        ("start", "i8"),  # where the list of those who wait with it is, and so for the next two
        ("members", "i8"),
        ("places", "i8"),
        ("blocked", "i8"),  # it fits nowhere in this round
        ("asleep", "i8"),  # nor when last tried
    ],
    align=True,
)
"""What decides where a task fits."""

ALIKE: Final = np.dtype(
    [
        ("submitted_at", "i8"),  # of the first of them
        ("id", "i8"),
        ("rise_ms", "i8"),  # stands for their priority: see Ageing
        ("first", "i8"),  # task
        ("last", "i8"),
        ("count", "i8"),
        ("leaf", "i8"),
        ("shape", "i8"),
        ("holder", "i8"),
        ("in_leaf", "i8"),  # its place in that list, and so for the next one
        ("in_shape", "i8"),
    ],
    align=True,
)
"""Tasks of one shape and priority (and account, where accounts have limits) in one leaf, the oldest first."""

TASK: Final = np.dtype(
    [("submitted_at", "i8"), ("id", "i8"), ("alike", "i4"), ("next", "i4"), ("before", "i4")], align=True
)
"""One that waits. Narrow, for there may be millions."""

HOLDER: Final = np.dtype(
    [
        ("cpu", "i8"),  # held, and so for the next two
        ("memory", "i8"),
        ("gpu", "i8"),
        ("cpu_most", "i8"),
        ("memory_most", "i8"),
        ("gpu_most", "i8"),
        ("above", "i8"),  # the same account, where a queue above limits accounts too
    ],
    align=True,
)
"""What one account holds of a queue that limits accounts."""

_FEW: Final = 16


class Tables(NamedTuple):
    """All of them."""

    round: Table
    nodes: Table
    shapes: Table
    alikes: Table
    tasks: Table
    holders: Table
    found_by: Ints
    """Finds alikes: see index.py."""
    lists: Ints
    """The alikes of each leaf and of each shape."""
    waits: Ints
    """[branch, shape]: how many wait in all of it."""
    asked: Ints
    """[branch, resource]: how many of those shapes ask for it and are not asleep."""


@inner
def plain(number: int) -> int:
    """The same, of the type that loops are compiled for: a number in the source has one of its own, for each number."""
    return int(np.int64(number))


def tables() -> Tables:
    """Empty ones."""
    made = Tables(
        np.zeros(1, ROUND),
        np.zeros(_FEW, NODE),
        np.zeros(_FEW, SHAPE),
        np.zeros(_FEW, ALIKE),
        np.zeros(_FEW, TASK),
        np.zeros(_FEW, HOLDER),
        np.zeros(2 * _FEW, np.int64),
        np.zeros(8 * _FEW, np.int64),
        np.zeros((_FEW, _FEW), np.int64),
        np.zeros((_FEW, 3), np.int64),
    )
    made.round["free_task"] = made.round["free_alike"] = NOBODY
    made.round["stamp"] = 1
    return made


def longer(table: npt.NDArray[Any], *, columns: bool = False) -> npt.NDArray[Any]:
    """Twice as long; or as wide."""
    more = np.zeros_like(table)
    return np.concatenate([table, more], axis=1 if columns else 0)
