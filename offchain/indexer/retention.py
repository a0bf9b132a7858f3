"""Removal of old events, extrinsics and mentions from the index. All other rows stay."""

from __future__ import annotations

import time
from typing import Final

from sqlalchemy import delete, text

from offchain.indexer import meta
from offchain.indexer.database import IndexDatabase, IndexInUse
from offchain.indexer.partitions import partitions
from offchain.indexer.rows import PARTITIONED_ROWS, BlockRow, EventRow, MentionRow
from offchain.indexer.status import last_block
from offchain.indexer.tables import TABLES, columns

_PAGE_BLOCKS: Final = 1_000
_AGAIN_S: Final = 60.0
"""Pause after readers held the tables."""


class Retention:
    """Removes the events of blocks that are older than the last block by more than `keep_ms`."""

    def __init__(self, db: IndexDatabase, keep_ms: int) -> None:
        self._db = db
        self._keep_ms = keep_ms
        self._not_before = 0.0

    def step(self, most_events: int) -> bool:
        """Remove old events in one transaction; return whether there were any.

        SQLite: those of about `most_events` events' blocks. PostgreSQL: a partition in which every block is old; it
        stays for now if it is being read.
        """
        last = last_block(self._db)
        if last is None or time.monotonic() < self._not_before:
            return False
        before_ms = last.time_ms - self._keep_ms
        try:
            return self._drop(before_ms) if self._db.partitioned else self._delete(before_ms, most_events)
        except IndexInUse:
            self._not_before = time.monotonic() + _AGAIN_S
            return False

    def _drop(self, before_ms: int) -> bool:
        oldest = next(iter(partitions(self._db, TABLES[EventRow])), None)
        if oldest is None or not self._is_old(oldest.end - 1, before_ms):
            return False
        with self._db.exclusive():
            meta.note(self._db, meta.KEPT_FROM, oldest.end)
            for row_type in PARTITIONED_ROWS:
                for one in partitions(self._db, TABLES[row_type]):
                    if one.end <= oldest.end:
                        self._db.execute(text(f"DROP TABLE {one.name}"))
        return True

    def _is_old(self, number: int, before_ms: int) -> bool:
        found = self._db.rows(BlockRow, columns(BlockRow).number == number)
        return bool(found) and found[0].time_ms < before_ms

    def _delete(self, before_ms: int, most_events: int) -> bool:
        first = meta.kept_from(meta.read_meta(self._db))
        end, events = first, 0
        block = columns(BlockRow)
        page = (block.number >= first, block.number < first + _PAGE_BLOCKS, block.time_ms < before_ms)
        for old in self._db.rows(BlockRow, *page):
            if events >= most_events:
                break
            end, events = old.number + 1, events + old.events
        if end == first:
            return False
        with self._db.transaction():
            # The key of mentions begins with the subject.
            self._db.execute(text(f"CREATE INDEX IF NOT EXISTS mentions_by_block ON {MentionRow.TABLE} (block)"))
            meta.note(self._db, meta.KEPT_FROM, end)
            for row_type in PARTITIONED_ROWS:
                block_column = TABLES[row_type].c.block
                self._db.execute(delete(TABLES[row_type]).where(block_column >= first, block_column < end))
        return True
