"""The tables of the fair-share queue, as compiled loops read and write them, with the index and lists of buckets.

A bucket holds the waiting tasks of one equivalence class, priority and leaf (and account, where accounts have limits),
in order of submission. Rows keep their numbers while they are in use; freed rows are reused, so a table is as long as
the most rows that were in use at once. Nodes and limits of accounts get new numbers when some are dropped
(fair_share_compaction.py).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.jit import compiled, inner
from offchain.core.scheduler.pod_request import UNLIMITED

Table = npt.NDArray[np.void]
"""Rows with named fields."""

NONE: Final = -1
"""In place of the number of a row."""
UNLIMITED_EACH: Final = UNLIMITED[0]
NEVER: Final = -1
"""`served_ms` of a leaf that was never served."""

STATE: Final = np.dtype(
    [
        ("now_ms", "i8"),
        ("cycle", "i8"),  # nodes with this number in `exhausted` have nothing to offer
        *((name, "i8") for name in ("cpu", "memory", "gpu")),  # totals of the network
        ("free_task", "i8"),  # first of the free rows
        ("tasks", "i8"),  # rows that were ever used
        ("free_bucket", "i8"),
        ("buckets", "i8"),
        ("list_end", "i8"),  # entries of bucket_lists that were ever used
    ],
    align=True,
)
"""One row."""

NODE: Final = np.dtype(
    [
        *((name, "i8") for name in ("cpu", "memory", "gpu")),  # used
        *((name, "i8") for name in ("cpu_limit", "memory_limit", "gpu_limit")),
        ("weight", "f8"),
        ("share", "f8"),  # of a leaf: dominant share divided by weight
        ("served_ms", "i8"),  # chain time
        ("exhausted", "i8"),
        ("batch_window_ms", "i8"),  # of a leaf: see AgeingPolicy
        ("parent", "i8"),
        ("child", "i8"),  # the first
        ("sibling", "i8"),  # the next
        ("rank", "i8"),  # by name, among its siblings
        ("branch", "i8"),  # number among the nodes with children; NONE: a leaf
        ("limited", "i8"),
        ("active", "i8"),  # buckets below it that are not blocked
        *((name, "i8") for name in ("list_start", "list_length", "list_capacity")),  # of a leaf: its buckets
        ("head", "i8"),  # of a leaf: cached first bucket that is not blocked; NONE: unknown
        ("candidate", "i8"),  # of a leaf: scratch space of next_batch
    ],
    align=True,
)
"""A queue, or an account in `default`. Row 0 is the root."""

CLASS: Final = np.dtype(
    [
        *((name, "i8") for name in ("cpu", "memory", "gpu")),  # request of one task
        *((name, "i8") for name in ("list_start", "list_length", "list_capacity")),  # its buckets
        ("blocked", "i8"),  # feasible nowhere in this cycle
        ("unschedulable", "i8"),  # feasible nowhere when it was last tried
    ],
    align=True,
)
"""An equivalence class: tasks that are feasible on the same hosts."""

BUCKET: Final = np.dtype(
    [
        ("submitted_at", "i8"),  # of its first task
        ("id", "i8"),
        ("ageing_ms", "i8"),  # stands for the priority: see AgeingPolicy
        ("first", "i8"),  # task
        ("last", "i8"),
        ("count", "i8"),
        ("leaf", "i8"),
        ("class_id", "i8"),
        ("account_limit", "i8"),
        ("in_leaf", "i8"),  # position in the list of the leaf
        ("in_class", "i8"),
    ],
    align=True,
)

TASK: Final = np.dtype(
    [("submitted_at", "i8"), ("id", "i8"), ("bucket", "i4"), ("next", "i4"), ("before", "i4")], align=True
)
"""A waiting task. Narrow: there may be millions."""

ACCOUNT_LIMIT: Final = np.dtype(
    [
        *((name, "i8") for name in ("cpu", "memory", "gpu")),  # used
        *((name, "i8") for name in ("cpu_limit", "memory_limit", "gpu_limit")),
        ("parent", "i8"),  # limit of the same account in an ancestor queue
    ],
    align=True,
)
"""What one account uses of a queue that limits accounts."""

INITIAL_ROWS: Final = 16


class FairShareTables(NamedTuple):
    state: Table
    nodes: Table
    classes: Table
    buckets: Table
    tasks: Table
    account_limits: Table
    bucket_index: Ints
    """Hash table with open addressing: [slot], number of a bucket + 1, or 0. Twice as long as `buckets`."""
    bucket_lists: Ints
    """The buckets of each leaf and each class, contiguous so that scanning them is fast.

    A full list moves to the end with twice the capacity, and its old place stays unused: all lists together need at
    most four entries for each that was ever in use at once.
    """
    class_counts: Ints
    """[branch, class]: tasks that wait below the branch."""
    requested: Ints
    """[branch, resource]: classes that wait below the branch, request the resource and are not unschedulable."""


@inner
def as_int64(number: int) -> int:
    """Convert a literal, which numba gives a type of its own per value, to the type that functions are compiled for."""
    return int(np.int64(number))


def empty_tables() -> FairShareTables:
    made = FairShareTables(
        np.zeros(1, STATE),
        np.zeros(INITIAL_ROWS, NODE),
        np.zeros(INITIAL_ROWS, CLASS),
        np.zeros(INITIAL_ROWS, BUCKET),
        np.zeros(INITIAL_ROWS, TASK),
        np.zeros(INITIAL_ROWS, ACCOUNT_LIMIT),
        np.zeros(2 * INITIAL_ROWS, np.int64),
        np.zeros(8 * INITIAL_ROWS, np.int64),
        np.zeros((INITIAL_ROWS, INITIAL_ROWS), np.int64),
        np.zeros((INITIAL_ROWS, 3), np.int64),
    )
    made.state["free_task"] = made.state["free_bucket"] = NONE
    made.state["cycle"] = 1
    return made


def grown(tables: FairShareTables, table: str, *, columns: bool = False) -> FairShareTables:
    """Double the length, or the number of columns, of one table."""
    old = getattr(tables, table)
    new = np.concatenate([old, np.zeros_like(old)], axis=1 if columns else 0)
    tables = tables._replace(**{table: new})
    if table == "buckets":
        tables = tables._replace(bucket_index=np.zeros(2 * len(new), np.int64))
        fill_index(tables)
    return tables


# Odd multipliers without a pattern.
_MIX_LEAF = 0x1E3779B97F4A7C15
_MIX_AGEING = 0x42B2AE3D27D4EB4F
_MIX_ACCOUNT = 0x165667B19E3779F9


@inner
def find_bucket(tables: FairShareTables, leaf: int, class_id: int, ageing_ms: int, account_limit: int) -> int:
    """Return the bucket of these tasks, or NONE."""
    index, buckets = tables.bucket_index, tables.buckets
    slot = _hash(len(index), leaf, class_id, ageing_ms, account_limit)
    while index[slot]:
        one = buckets[index[slot] - 1]
        same = one.leaf == leaf and one.class_id == class_id
        if same and one.ageing_ms == ageing_ms and one.account_limit == account_limit:
            return int(index[slot] - 1)
        slot = (slot + 1) & (len(index) - 1)
    return NONE


@inner
def add_to_index(tables: FairShareTables, bucket: int) -> None:
    index = tables.bucket_index
    slot = _home(tables, bucket)
    while index[slot]:
        slot = (slot + 1) & (len(index) - 1)
    index[slot] = bucket + 1


@inner
def remove_from_index(tables: FairShareTables, bucket: int) -> None:
    """Remove a bucket and move those behind it up, as if it had never been there."""
    index = tables.bucket_index
    last = len(index) - 1
    gap = _home(tables, bucket)
    while index[gap] != bucket + 1:
        gap = (gap + 1) & last
    slot = (gap + 1) & last
    while index[slot]:
        home = _home(tables, index[slot] - 1)
        # An entry may move into the gap if its home slot is not behind the gap.
        if (slot - home) & last >= (slot - gap) & last:
            index[gap] = index[slot]
            gap = slot
        slot = (slot + 1) & last
    index[gap] = 0


@compiled
def fill_index(tables: FairShareTables) -> None:
    """Add all buckets to an empty index."""
    for bucket in range(tables.state[0].buckets):
        if tables.buckets[bucket].count:
            add_to_index(tables, bucket)


@inner
def _home(tables: FairShareTables, bucket: int) -> int:
    one = tables.buckets[bucket]
    return _hash(len(tables.bucket_index), one.leaf, one.class_id, one.ageing_ms, one.account_limit)


@inner
def _hash(slots: int, leaf: int, class_id: int, ageing_ms: int, account_limit: int) -> int:
    mixed = leaf * _MIX_LEAF + ageing_ms * _MIX_AGEING + account_limit * _MIX_ACCOUNT
    mixed = (mixed ^ (mixed >> 29) ^ class_id) * _MIX_LEAF
    return (mixed ^ (mixed >> 31)) & (slots - 1)


MIN_LIST_CAPACITY: Final = 4


@inner
def lists_have_space(tables: FairShareTables, leaf: int, class_id: int) -> bool:
    """Return whether `bucket_lists` is long enough for one more bucket of this leaf and class."""
    needed = _new_capacity(tables.nodes[leaf]) + _new_capacity(tables.classes[class_id])
    return bool(tables.state[0].list_end + needed <= len(tables.bucket_lists))


@inner
def add_to_lists(tables: FairShareTables, bucket: int) -> None:
    one = tables.buckets[bucket]
    one.in_leaf = _append(tables, tables.nodes[one.leaf], bucket)
    one.in_class = _append(tables, tables.classes[one.class_id], bucket)


@inner
def remove_from_lists(tables: FairShareTables, bucket: int) -> None:
    """Remove a bucket from both of its lists; the last of each list takes its place."""
    one = tables.buckets[bucket]
    last = _pop(tables, tables.nodes[one.leaf])
    tables.bucket_lists[tables.nodes[one.leaf].list_start + one.in_leaf] = last
    tables.buckets[last].in_leaf = one.in_leaf
    last = _pop(tables, tables.classes[one.class_id])
    tables.bucket_lists[tables.classes[one.class_id].list_start + one.in_class] = last
    tables.buckets[last].in_class = one.in_class


@inner
def _new_capacity(owner: Any) -> int:
    """Return the capacity that a full list moves to; 0 if the list of this node or class is not full."""
    return max(MIN_LIST_CAPACITY, 2 * owner.list_capacity) if owner.list_length == owner.list_capacity else 0


@inner
def _append(tables: FairShareTables, owner: Any, bucket: int) -> int:
    """Return the position of the bucket in the list."""
    capacity = _new_capacity(owner)
    if capacity:
        start = tables.state[0].list_end
        for at in range(owner.list_length):
            tables.bucket_lists[start + at] = tables.bucket_lists[owner.list_start + at]
        owner.list_start, owner.list_capacity = start, capacity
        tables.state[0].list_end += capacity
    tables.bucket_lists[owner.list_start + owner.list_length] = bucket
    owner.list_length += 1
    return int(owner.list_length - 1)


@inner
def _pop(tables: FairShareTables, owner: Any) -> int:
    owner.list_length -= 1
    return int(tables.bucket_lists[owner.list_start + owner.list_length])
