"""Comparison of the stored derived tables with those that follow from the stored events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter

from sqlalchemy import select

from offchain.indexer.block_rows import indexed_event
from offchain.indexer.database import IndexDatabase, IndexFault
from offchain.indexer.derive_values import IndexedEvent
from offchain.indexer.projection import APPENDED, Projection
from offchain.indexer.rows import BlockRow, EventRow, ExtrinsicRow, Row
from offchain.indexer.status import events_pruned, index_status
from offchain.indexer.tables import DERIVED_ROWS, DERIVED_VERSION, column_names, columns

_MODULUS = 1 << 256
_PAGE_BLOCKS = 1_000
_PAGE_EVENTS = 20_000
Progress = Callable[[str], None]


class TablesDigest:
    """Hash over the rows of all derived tables in any order: equal tables have equal digests."""

    def __init__(self) -> None:
        self._sums = dict.fromkeys((table.TABLE for table in DERIVED_ROWS), 0)
        self.rows = 0

    def add(self, table: type[Row], rows: Iterable[Row]) -> None:
        values = attrgetter(*column_names(table))
        total = self._sums[table.TABLE]
        for row in rows:
            text = json.dumps(values(row), separators=(",", ":"))
            total += int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
            self.rows += 1
        self._sums[table.TABLE] = total % _MODULUS

    def hex(self) -> str:
        """Return 64 hex digits."""
        text = json.dumps(self._sums, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def stored_digest(db: IndexDatabase) -> TablesDigest:
    """Return the digest of the derived tables in the database."""
    digest = TablesDigest()
    for table in DERIVED_ROWS:
        digest.add(table, db.stream(table))
    return digest


def replayed_digest(db: IndexDatabase, progress: Progress = lambda _: None) -> TablesDigest:
    """Return the digest of the derived tables that follow from the stored events. Writes nothing.

    Raises IndexFault if the stored tables do not contain all events, or retention has removed events.
    """
    status = index_status(db)
    if status.kept_from:
        raise events_pruned(db, status.kept_from)
    if status.derived_version != DERIVED_VERSION or status.rederived_to is not None:
        raise IndexFault(
            f"The derived tables of {db.name} are not those of this release: they have version "
            f"{status.derived_version} up to block {status.derived_to}, and are being derived again.",
            "Verify the index when gantry history status shows that this has ended.",
            code="index_busy",
        )
    digest, projection = TablesDigest(), Projection()
    for events in _event_pages(db, progress):
        projection.apply(events)
        for table, rows in projection.drain()[1].items():
            digest.add(table, rows)
    for table, state in projection.state.items():
        if table not in APPENDED:
            digest.add(table, state.values())
    return digest


def event_page(db: IndexDatabase, after: int, most_events: int) -> tuple[list[IndexedEvent], int] | None:
    """Return the events of the blocks after block `after`, and the last of these blocks; None if there is none.

    It ends with the block in which the number of events reaches `most_events`.
    """
    block, event = columns(BlockRow), columns(EventRow)
    blocks = db.rows(BlockRow, block.number > after, limit=_PAGE_BLOCKS)
    if not blocks:
        return None
    times, events = {}, 0
    for one in blocks:
        times[one.number] = one.time_ms
        events += one.events
        if events >= most_events:
            break
    rows = db.rows(EventRow, event.block > after, event.block <= one.number)
    signers = _signers(db, after, one.number)
    return [indexed_event(row, times[row.block], signers.get((row.block, row.extrinsic))) for row in rows], one.number


def _signers(db: IndexDatabase, after: int, last: int) -> dict[tuple[int, int | None], str]:
    """Return the signers of the extrinsics of blocks after `after` up to `last`, by block and index."""
    extrinsic = columns(ExtrinsicRow)
    statement = select(extrinsic.block, extrinsic.place, extrinsic.signer).where(
        extrinsic.block > after, extrinsic.block <= last, extrinsic.signer.is_not(None)
    )
    return {(block, place): signer for block, place, signer in db.execute(statement)}


def _event_pages(db: IndexDatabase, progress: Progress) -> Iterator[list[IndexedEvent]]:
    """Yield all stored events in order, in pages; `progress` is called after each page."""
    after, done = -1, 0
    while page := event_page(db, after, _PAGE_EVENTS):
        events, after = page
        yield events
        done += len(events)
        progress(f"derived from {done} events")
