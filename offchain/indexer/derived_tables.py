"""One set of derived tables in the database, and the projection of events that is written into it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from offchain.indexer.database import IndexDatabase
from offchain.indexer.derive import IndexedEvent
from offchain.indexer.partitions import PartitionedTable
from offchain.indexer.projection import Projection
from offchain.indexer.rows import MentionRow, R
from offchain.indexer.tables import Tables

_KEPT_ROWS = 50_000


class DerivedTables:
    """Writes what follows from events into one set of derived tables."""

    def __init__(self, db: IndexDatabase, tables: Tables, partition_blocks: int) -> None:
        self._db = db
        self._tables = tables
        self._mentions = PartitionedTable(db, tables[MentionRow], partition_blocks)
        self._projection = Projection(self._read)

    def write(self, events: Iterable[IndexedEvent], first: int, last: int) -> None:
        """Derive the rows of these events, which are those of blocks from `first` to `last`, and store them.

        Call it in a transaction; call :meth:`discard` if that is not committed.
        """
        self._projection.apply(events)
        self._mentions.reserve(first, last)
        changed, appended = self._projection.drain()
        for row_type, rows in changed.items():
            self._db.upsert(row_type, rows, self._tables)
        for row_type, rows in appended.items():
            self._db.insert(row_type, rows, self._tables)

    def discard(self) -> None:
        """Forget everything in memory: it may be ahead of the database."""
        self._projection = Projection(self._read)
        self._mentions.forget()

    def evict(self) -> None:
        """Keep a bounded number of rows in memory."""
        self._projection.evict(_KEPT_ROWS)

    def _read(self, row_type: type[R], key: tuple[Any, ...]) -> R | None:
        named = zip(self._tables[row_type].primary_key, key, strict=True)
        found = self._db.rows(row_type, *(column == value for column, value in named), tables=self._tables)
        return found[0] if found else None
