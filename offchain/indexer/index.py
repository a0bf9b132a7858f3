"""The index: blocks go in, in order and each once; what follows from them is kept up to date in the same step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from offchain.errors import WrongChain
from offchain.indexer.database import Database, IndexFault
from offchain.indexer.fold import APPENDED, Digest, Fold, read_block, seen_again
from offchain.indexer.rows import DERIVED, READ, BlockRow, EventRow, R, Row
from offchain.ports import Block, BlockRef

SCHEMA: Final = 1
"""Version of the tables that are read from the chain. :data:`_STEPS` leads from each to the next."""
DERIVED_VERSION: Final = 3
"""Version of what is derived from the events. Another one in the database: it is derived anew."""
HALTED: Final = "halted"
"""Row of `meta`: why the index is not answered from, while the node does not serve the chain that is in it."""
_KEPT_ROWS = 50_000
_PAGE_EVENTS = 20_000
_META = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
Say = Callable[[str], None]


def _first_tables(db: Database) -> None:
    for table in READ:
        db.create(table)


_STEPS: tuple[Callable[[Database], None], ...] = (_first_tables,)
"""Step n leads from schema n to n + 1. Each is done in one transaction with its note in `meta`."""


class Index:
    """An index for one writer. Call :meth:`prepare` before anything else."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._fold = Fold(self._read)
        self._cursor: BlockRef | None = None
        self._in_doubt = False

    @property
    def cursor(self) -> BlockRef | None:
        """The last block that is in the index."""
        if self._in_doubt:
            self._cursor, self._in_doubt = last_block(self._db), False
        return self._cursor

    @property
    def name(self) -> str:
        """The database, for messages."""
        return self._db.name

    def halt(self, reason: str) -> None:
        """Refuse readers from now on: the node does not serve the chain that is in the index."""
        with self._db.transaction():
            self._note(HALTED, reason)

    def resume(self) -> None:
        """Answer readers again."""
        if HALTED in read_meta(self._db):
            with self._db.transaction():
                self._db.execute("DELETE FROM meta WHERE name = ?", HALTED)

    def prepare(self, genesis: bytes, say: Say = lambda _: None) -> None:
        """Bring the tables to this release's form. `say` hears of what takes long.

        Raises IndexFault where another indexer writes, or a newer release has written; WrongChain for another chain.
        """
        if not self._db.lock():
            raise IndexFault(
                f"Another indexer writes to {self._db.name}.", "Stop it, or give this one an index of its own."
            )
        with self._db.transaction():
            self._db.execute(_META)
        meta = read_meta(self._db)
        if meta.get("genesis", genesis.hex()) != genesis.hex():
            error = WrongChain(f"0x{meta['genesis']}", f"0x{genesis.hex()}", "genesis")
            self.halt(str(error))
            raise error
        version = int(meta.get("schema", 0))
        if version > len(_STEPS) or int(meta.get("derived", 0)) > DERIVED_VERSION:
            raise newer(self._db)
        for number, step in enumerate(_STEPS[version:], start=version + 1):
            with self._db.transaction():
                step(self._db)
                self._note("schema", str(number))
                self._note("genesis", genesis.hex())
        if meta.get("derived") != str(DERIVED_VERSION):
            self.derive_anew(say)
        self._cursor = last_block(self._db)

    def add(self, blocks: Sequence[Block]) -> None:
        """The blocks after the last one. All of it is stored, or nothing."""
        readings = [read_block(block) for block in blocks]
        try:
            for reading in readings:
                self._fold.take(reading.seen)
            changed, appended = self._fold.drain()
            with self._db.transaction():
                self._db.insert(READ[0], [reading.block for reading in readings])
                self._db.insert(READ[1], [row for reading in readings for row in reading.extrinsics])
                self._db.insert(READ[2], [row for reading in readings for row in reading.events])
                self._store(changed, appended)
        except BaseException:
            # What is in memory is ahead of what is stored; and a commit whose answer was lost may have been made.
            self._fold = Fold(self._read)
            self._in_doubt = True
            raise
        self._cursor = blocks[-1].ref
        self._fold.forget_beyond(_KEPT_ROWS)

    def derive_anew(self, say: Say = lambda _: None) -> None:
        """Make the derived tables again from the events alone. Killed meanwhile, the next start begins again."""
        with self._db.transaction():
            self._db.execute("DELETE FROM meta WHERE name = 'derived'")
            for table in DERIVED:
                self._db.execute(f"DROP TABLE IF EXISTS {table.TABLE}")
                self._db.create(table)
        self._fold = Fold(self._read)
        done = 0
        for page in _pages(self._db):
            self._fold.take(seen_again(row, time_ms) for row, time_ms in page)
            with self._db.transaction():
                self._store(*self._fold.drain())
            self._fold.forget_beyond(_KEPT_ROWS)
            done += len(page)
            say(f"derived from {done} events")
        with self._db.transaction():
            self._note("derived", str(DERIVED_VERSION))

    def _store(self, changed: dict[type[Row], list[Row]], appended: dict[type[Row], list[Row]]) -> None:
        for table, rows in changed.items():
            self._db.put(table, rows)
        for table, rows in appended.items():
            self._db.insert(table, rows)

    def _read(self, table: type[R], key: tuple[Any, ...]) -> R | None:
        where = " AND ".join(f"{name} = ?" for name in table.KEY)
        found = self._db.rows(table, f"WHERE {where}", *key)
        return found[0] if found else None

    def _note(self, name: str, value: str) -> None:
        self._db.execute(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            value,
        )


def read_meta(db: Database) -> dict[str, str]:
    """What the index says of itself; nothing where it was never written."""
    if not db.exists("meta"):
        return {}
    return {str(name): str(value) for name, value in db.values("SELECT name, value FROM meta")}


def newer(db: Database) -> IndexFault:
    """For an index that a newer release has written."""
    return IndexFault(f"The index {db.name} is of a newer release.", "Use that release again.")


def last_block(db: Database) -> BlockRef | None:
    """The last block in the index."""
    found = db.rows(BlockRow, "ORDER BY number DESC LIMIT 1")
    return BlockRef(found[0].number, bytes.fromhex(found[0].hash[2:])) if found else None


def stored_digest(db: Database) -> Digest:
    """The digest of the derived tables as they are stored."""
    digest = Digest()
    for table in DERIVED:
        digest.add(table, db.stream(table))
    return digest


def replayed_digest(db: Database, say: Say = lambda _: None) -> Digest:
    """The digest of the derived tables as they follow from the events alone. Changes nothing."""
    digest, fold, done = Digest(), Fold(), 0
    for page in _pages(db):
        fold.take(seen_again(row, time_ms) for row, time_ms in page)
        for table, rows in fold.drain()[1].items():
            digest.add(table, rows)
        done += len(page)
        say(f"derived from {done} events")
    for table, state in fold.state.items():
        if table not in APPENDED:
            digest.add(table, state.values())
    return digest


def _pages(db: Database) -> Iterator[list[tuple[EventRow, int]]]:
    """All events in order with the times of their blocks, some thousand at a time."""
    after = -1
    while True:
        blocks = db.rows(BlockRow, "WHERE number > ? ORDER BY number LIMIT 1000", after)
        if not blocks:
            return
        first = last = blocks[0]
        events = 0
        for last in blocks:
            events += last.events
            if events >= _PAGE_EVENTS:
                break
        times = {block.number: block.time_ms for block in blocks}
        rows = db.rows(EventRow, "WHERE block BETWEEN ? AND ? ORDER BY block, place", first.number, last.number)
        yield [(row, times[row.block]) for row in rows]
        after = last.number
