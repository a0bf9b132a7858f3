"""Derivation of all derived tables again from the stored events, beside the tables that are being read.

The new tables are filled in steps; each is a transaction that also stores how far they are. When they have reached the
last block, they replace the old ones in one transaction.
"""

from __future__ import annotations

from sqlalchemy import inspect, text

from offchain.indexer import meta
from offchain.indexer.database import IndexDatabase
from offchain.indexer.derived_tables import DerivedTables
from offchain.indexer.host_states import HostStates
from offchain.indexer.partitions import partition_name, partitions
from offchain.indexer.rows import MentionRow
from offchain.indexer.status import last_block
from offchain.indexer.tables import DERIVED_ROWS, DERIVED_VERSION, NEXT_METADATA, NEXT_TABLES, TABLES, index_name
from offchain.indexer.verification import event_page

_STEP_EVENTS = 2_000
"""Events of a step: new blocks wait for a fifth of a second."""


class Rederivation:
    """The derived tables that are being filled beside the ones that are read."""

    def __init__(self, db: IndexDatabase, partition_blocks: int) -> None:
        """Continue where the previous process stopped, or begin anew."""
        self._db = db
        self._next = DerivedTables(db, NEXT_TABLES, partition_blocks)
        self._at: int | None = None
        """Last block in the new tables; None: it has to be read."""
        if meta.read_meta(db).get(meta.NEXT_DERIVED) != str(DERIVED_VERSION):
            self._begin()

    def step(self) -> bool:
        """Add some thousand events, or replace the old tables if all are in; return True in the latter case.

        Raises IndexInUse if the old tables are being read at the moment of the replacement.
        """
        if self._at is None:
            stored = meta.read_meta(self._db)
            if meta.NEXT_DERIVED_TO not in stored:  # replaced by a transaction whose answer was lost
                return True
            self._at = int(stored[meta.NEXT_DERIVED_TO])
        page = event_page(self._db, self._at, _STEP_EVENTS)
        if page is None:
            self._replace()
            return True
        events, last = page
        try:
            with self._db.transaction():
                self._next.derive(events)
                self._next.write(self._at + 1, last)
                meta.note(self._db, meta.NEXT_DERIVED_TO, last)
        except BaseException:
            self._next.discard()
            self._at = None
            raise
        self._at = last
        self._next.evict()
        return False

    def _begin(self) -> None:
        stored = meta.read_meta(self._db)
        last = last_block(self._db)
        with self._db.transaction() as connection:
            NEXT_METADATA.drop_all(connection)
            NEXT_METADATA.create_all(connection)
            taken = {
                found["name"]
                for row_type in DERIVED_ROWS
                if self._db.has_table(row_type.TABLE)
                for found in inspect(connection).get_indexes(row_type.TABLE)
            }
            for row_type in DERIVED_ROWS:
                for names in row_type.INDEXES:
                    # SQLite cannot rename an index, so the names of two sets alternate.
                    name = index_name(row_type, names)
                    name = f"{name}_next" if name in taken else name
                    on = f"{NEXT_TABLES[row_type].name} ({', '.join(names)})"
                    self._db.execute(text(f"CREATE INDEX {name} ON {on}"))
            if meta.DERIVED in stored and meta.DERIVED_TO not in stored and last is not None:
                meta.note(self._db, meta.DERIVED_TO, last.number)
            meta.note(self._db, meta.NEXT_DERIVED, DERIVED_VERSION)
            meta.note(self._db, meta.NEXT_DERIVED_TO, -1)

    def _replace(self) -> None:
        try:
            with self._db.exclusive():
                for row_type in DERIVED_ROWS:
                    self._db.execute(text(f"DROP TABLE IF EXISTS {row_type.TABLE}"))
                    self._db.execute(text(f"ALTER TABLE {NEXT_TABLES[row_type].name} RENAME TO {row_type.TABLE}"))
                if self._db.partitioned:
                    for one in partitions(self._db, TABLES[MentionRow]):
                        name = partition_name(MentionRow.TABLE, one.first, one.end)
                        self._db.execute(text(f"ALTER TABLE {one.name} RENAME TO {name}"))
                # Which hosts the new events changed was not known before.
                HostStates(self._db).mark_all(self._at or 0)
                meta.note(self._db, meta.DERIVED, DERIVED_VERSION)
                meta.forget(self._db, meta.DERIVED_TO, meta.NEXT_DERIVED, meta.NEXT_DERIVED_TO)
        except BaseException:
            self._at = None
            raise
