"""Compaction of the fair-share tables: idle accounts are dropped, and those that remain get new numbers."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from offchain.core.scheduler.columns import Bools, Ints
from offchain.core.scheduler.fair_share_tables import (
    ACCOUNT_LIMIT,
    INITIAL_ROWS,
    MIN_LIST_CAPACITY,
    NEVER,
    NODE,
    NONE,
    FairShareTables,
    Table,
    fill_index,
)

_USED: Final = ("cpu", "memory", "gpu")


class Compaction(NamedTuple):
    tables: FairShareTables
    nodes: Ints
    """The old numbers of the nodes that were kept, ascending."""
    account_limits: Ints
    """The old numbers of the limits of accounts that were kept, ascending."""
    served_ms: int
    """When a task of a dropped node was placed last; NEVER: there is none."""


def compacted(tables: FairShareTables, droppable: Bools, account_limits: int) -> Compaction:
    """Return tables without idle nodes and idle limits of accounts: nothing is used and no task waits there.

    `droppable`: [node], whether it is dropped where it is idle; a leaf. `account_limits`: the number of rows in use.
    """
    nodes, limits = tables.nodes[: len(droppable)], tables.account_limits[:account_limits]
    idle = droppable & _unused(nodes) & (nodes["list_length"] == 0)
    kept, kept_limits = np.flatnonzero(~idle), np.flatnonzero(~_unused(limits) | _needed_limits(tables, limits))
    new_nodes, new_limits = _renumbered(nodes, kept, NODE), _renumbered(limits, kept_limits, ACCOUNT_LIMIT)
    _link_children(new_nodes[: len(kept)])
    buckets = tables.buckets.copy()
    used = buckets["count"] > 0
    buckets["leaf"][used] = _numbers(len(nodes), kept)[buckets["leaf"][used]]
    buckets["account_limit"][used] = _numbers(len(limits), kept_limits)[buckets["account_limit"][used]]
    made = _with_short_lists(tables._replace(nodes=new_nodes, account_limits=new_limits, buckets=buckets))
    made = made._replace(bucket_index=np.zeros_like(tables.bucket_index))
    fill_index(made)
    return Compaction(made, kept, kept_limits, int(nodes["served_ms"][idle].max(initial=NEVER)))


def _unused(rows: Table) -> Bools:
    """[row]: whether nothing is used there."""
    found: Bools = np.logical_and.reduce([rows[field] == 0 for field in _USED])
    return found


def _needed_limits(tables: FairShareTables, limits: Table) -> Bools:
    """[row]: whether it is the limit of a waiting task, or an ancestor of such a limit."""
    needed = np.zeros(len(limits) + 1, dtype=np.bool_)
    # NONE is the last entry.
    rows = tables.buckets["account_limit"][tables.buckets["count"] > 0]
    while len(rows := rows[rows != NONE]):
        needed[rows] = True
        rows = np.unique(limits["parent"][rows])
    found: Bools = needed[:-1]
    return found


def _numbers(rows: int, kept: Ints) -> Ints:
    """Return [row]: its new number, NONE for dropped ones; the last entry stands for NONE."""
    found: Ints = np.full(rows + 1, NONE, dtype=np.int64)
    found[kept] = np.arange(len(kept))
    return found


def _renumbered(rows: Table, kept: Ints, of: np.dtype[np.void]) -> Table:
    """Return a table that begins with the kept rows."""
    capacity = max(INITIAL_ROWS, 1 << max(0, len(kept) - 1).bit_length())
    found = np.zeros(capacity, of)
    found[: len(kept)] = rows[kept]
    found["parent"][: len(kept)] = _numbers(len(rows), kept)[rows["parent"][kept]]
    return found


def _link_children(nodes: Table) -> None:
    """Link the children of each node."""
    nodes["child"] = nodes["sibling"] = NONE
    order = np.argsort(nodes["parent"], kind="stable")
    parents = nodes["parent"][order]
    follows = parents[1:] == parents[:-1]
    nodes["sibling"][order[1:][follows]] = order[:-1][follows]
    last = np.append(~follows, np.True_) & (parents != NONE)
    nodes["child"][parents[last]] = order[last]


def _with_short_lists(tables: FairShareTables) -> FairShareTables:
    """Return the tables with lists of buckets that have no unused places but those of their own capacity."""
    tables = tables._replace(classes=tables.classes.copy())
    owners: list[tuple[Any, int]] = [
        (table, int(row))
        for table in (tables.nodes, tables.classes)
        for row in np.flatnonzero((table["list_length"] > 0) | (table["list_capacity"] > 0))
    ]
    old, made, end = tables.bucket_lists, np.zeros_like(tables.bucket_lists), 0
    for table, row in owners:
        start, length = int(table["list_start"][row]), int(table["list_length"][row])
        capacity = max(MIN_LIST_CAPACITY, 1 << (length - 1).bit_length()) if length else 0
        made[end : end + length] = old[start : start + length]
        table["list_start"][row], table["list_capacity"][row] = end, capacity
        end += capacity
    state = tables.state.copy()
    state["list_end"] = end
    length = max(8 * INITIAL_ROWS, 1 << (2 * end).bit_length())
    return tables._replace(state=state, bucket_lists=made[:length].copy() if length < len(made) else made)
