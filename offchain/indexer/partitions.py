"""Partitions of the large tables in PostgreSQL: each holds a range of blocks. SQLite has none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Table, text

from offchain.indexer.database import IndexDatabase

_BOUNDS: Final = re.compile(r"FROM \('(\d+)'\) TO \('(\d+)'\)")
_PARTITIONS: Final = text(
    "SELECT child.relname, pg_get_expr(child.relpartbound, child.oid) FROM pg_inherits"
    " JOIN pg_class child ON child.oid = inhrelid WHERE inhparent = to_regclass(:parent)"
)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition with the rows of blocks from `first` to before `end`."""

    name: str
    first: int
    end: int


def partitions(db: IndexDatabase, table: Table) -> list[Partition]:
    """Return the partitions of a table of a PostgreSQL database, oldest first."""
    found = []
    for name, bounds in db.execute(_PARTITIONS.bindparams(parent=table.name)):
        matched = _BOUNDS.search(bounds)
        if matched is not None:
            found.append(Partition(name, *map(int, matched.groups())))
    return sorted(found, key=lambda one: one.first)


class PartitionedTable:
    """A table whose partitions are made before rows of their blocks are written."""

    def __init__(self, db: IndexDatabase, table: Table, blocks: int) -> None:
        """`blocks`: the size of new partitions. Their bounds are multiples of it."""
        self._db = db
        self._table = table
        self._blocks = blocks
        self._end: int | None = None

    def reserve(self, first: int, last: int) -> None:
        """Make partitions for blocks from `first` to `last`, and one more. Call it in the transaction that writes."""
        if not self._db.partitioned or (self._end is not None and last + self._blocks < self._end):
            return
        existing = partitions(self._db, self._table)
        end = existing[-1].end if existing else first // self._blocks * self._blocks
        while end <= last + self._blocks:
            start, end = end, (end // self._blocks + 1) * self._blocks
            self._create(start, end)
        self._end = end

    def forget(self) -> None:
        """Read the partitions again before the next write, because a transaction was not committed."""
        self._end = None

    def _create(self, first: int, end: int) -> None:
        name = partition_name(self._table.name, first, end)
        # Unlike CREATE TABLE … PARTITION OF, this does not wait for the readers of the table.
        self._db.execute(text(f"CREATE TABLE {name} (LIKE {self._table.name} INCLUDING ALL)"))
        self._db.execute(
            text(f"ALTER TABLE {self._table.name} ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({end})")
        )


def partition_name(table: str, first: int, end: int) -> str:
    return f"{table}_{first}_{end - 1}"
