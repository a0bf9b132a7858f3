"""One set of derived tables in the database, and the projection of events that is written into it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from offchain.indexer.database import IndexDatabase
from offchain.indexer.derive_values import IndexedEvent
from offchain.indexer.partitions import PartitionedTable
from offchain.indexer.projection import Projection
from offchain.indexer.rows import HostRow, MentionRow, R
from offchain.indexer.tables import Tables

_KEPT_ROWS = 50_000


class DerivedTables:
    """Writes what follows from events into one set of derived tables."""

    def __init__(self, db: IndexDatabase, tables: Tables, partition_blocks: int) -> None:
        self._db = db
        self._tables = tables
        self._mentions = PartitionedTable(db, tables[MentionRow], partition_blocks)
        self._projection = Projection(self._read)

    def derive(self, events: Iterable[IndexedEvent]) -> None:
        """Derive the rows of these events in memory; :meth:`write` stores them."""
        self._projection.apply(events)

    def named_accounts(self) -> tuple[set[str], set[str]]:
        """Return the accounts that derived events are about, and those of them that were registered as hosts."""
        mentions = self._projection.appended.get(MentionRow, ())
        subjects = {row.subject for row in mentions if isinstance(row, MentionRow)}
        registered = {key[0] for key in self._projection.changed.get(HostRow, ())}
        return {subject for subject in subjects if subject.isalnum() and not subject.isdecimal()}, registered

    def write(self, first: int, last: int) -> None:
        """Store the rows that were derived; the events are those of blocks from `first` to `last`.

        Call it in a transaction; call :meth:`discard` if that is not committed.
        """
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
