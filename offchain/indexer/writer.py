"""The writer of the index: adds blocks in order, each once, and keeps the derived tables up to date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete

from offchain.errors import WrongChain
from offchain.indexer import migrations
from offchain.indexer.block_rows import read_block
from offchain.indexer.database import IndexDatabase, IndexFault
from offchain.indexer.projection import Projection
from offchain.indexer.queries import HALTED, cursor, is_newer, newer_release, read_meta
from offchain.indexer.rows import DERIVED_ROWS, BlockRow, EventRow, ExtrinsicRow, MetaRow, R
from offchain.indexer.tables import DERIVED_VERSION, METADATA, SCHEMA_VERSION, TABLES, columns
from offchain.indexer.verification import Progress, event_pages
from offchain.ports import Block, BlockRef

_KEPT_ROWS = 50_000


class IndexWriter:
    """The only writer of an index. Call :meth:`prepare` before anything else."""

    def __init__(self, db: IndexDatabase) -> None:
        self._db = db
        self._projection = Projection(self._read)
        self._cursor: BlockRef | None = None
        self._cursor_unknown = False

    @property
    def cursor(self) -> BlockRef | None:
        """The last block in the index."""
        if self._cursor_unknown:
            self._cursor, self._cursor_unknown = cursor(self._db), False
        return self._cursor

    @property
    def name(self) -> str:
        """Name of the database for messages."""
        return self._db.name

    def halt(self, reason: str) -> None:
        """Refuse readers from now on: the node does not serve the chain that is in the index."""
        with self._db.transaction():
            self._note(HALTED, reason)

    def resume(self) -> None:
        """Admit readers again."""
        if HALTED in read_meta(self._db):
            with self._db.transaction():
                self._forget(HALTED)

    def prepare(self, genesis: bytes, progress: Progress = lambda _: None) -> None:
        """Migrate the tables to the format of this release. `progress` is called while tables are rebuilt.

        Raises IndexFault if another indexer writes or a newer release has written, and WrongChain for another chain.
        """
        if not self._db.lock():
            raise IndexFault(
                f"Another indexer writes to {self._db.name}.", "Stop it, or give this one an index of its own."
            )
        meta = read_meta(self._db)
        if meta.get("genesis", genesis.hex()) != genesis.hex():
            error = WrongChain(f"0x{meta['genesis']}", f"0x{genesis.hex()}", "genesis")
            self.halt(str(error))
            raise error
        if is_newer(meta):
            raise newer_release(self._db)
        with self._db.transaction() as connection:
            migrations.upgrade(connection)
            self._note("schema", str(SCHEMA_VERSION))
            self._note("genesis", genesis.hex())
        if meta.get("derived") != str(DERIVED_VERSION):
            self.rebuild_derived(progress)
        self._cursor = cursor(self._db)

    def add(self, blocks: Sequence[Block]) -> None:
        """Store the blocks after the last one and what is derived from them, in one transaction."""
        read = [read_block(block) for block in blocks]
        try:
            with self._db.transaction():
                for block in read:
                    self._projection.apply(block.indexed)
                self._db.insert(BlockRow, [block.block for block in read])
                self._db.insert(ExtrinsicRow, [row for block in read for row in block.extrinsics])
                self._db.insert(EventRow, [row for block in read for row in block.events])
                self._store_derived()
        except BaseException:
            # The projection is ahead of the database; and the commit may have been made although its answer was lost.
            self._projection = Projection(self._read)
            self._cursor_unknown = True
            raise
        self._cursor = blocks[-1].ref
        self._projection.evict(_KEPT_ROWS)

    def rebuild_derived(self, progress: Progress = lambda _: None) -> None:
        """Make the derived tables again from the stored events. After an interruption, the next start begins anew."""
        tables = [TABLES[row_type] for row_type in DERIVED_ROWS]
        with self._db.transaction() as connection:
            self._forget("derived")
            METADATA.drop_all(connection, tables)
            METADATA.create_all(connection, tables)
        self._projection = Projection(self._read)
        for events in event_pages(self._db, progress):
            with self._db.transaction():
                self._projection.apply(events)
                self._store_derived()
            self._projection.evict(_KEPT_ROWS)
        with self._db.transaction():
            self._note("derived", str(DERIVED_VERSION))

    def _store_derived(self) -> None:
        changed, appended = self._projection.drain()
        for row_type, rows in changed.items():
            self._db.upsert(row_type, rows)
        for row_type, rows in appended.items():
            self._db.insert(row_type, rows)

    def _read(self, row_type: type[R], key: tuple[Any, ...]) -> R | None:
        named = zip(TABLES[row_type].primary_key, key, strict=True)
        found = self._db.rows(row_type, *(column == value for column, value in named))
        return found[0] if found else None

    def _note(self, name: str, value: str) -> None:
        self._db.upsert(MetaRow, [MetaRow(name, value)])

    def _forget(self, name: str) -> None:
        self._db.execute(delete(TABLES[MetaRow]).where(columns(MetaRow).name == name))
