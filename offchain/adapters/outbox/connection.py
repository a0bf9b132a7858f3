"""One connection to an SQLite database: statements, transactions, and errors as the operator reads them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from offchain.errors import GantryError, StoreCorrupt, StoreStuck

_BUSY_MS = 5000
_CACHE_KIB = 16_384
"""Pages of the database that are kept in memory: those that each change uses are not read from the disk again."""
_MOST_LOG_PAGES = 64_000
"""Size of the write-ahead log, in pages of 4 KiB, at which a commit makes a checkpoint if those of the thread fail."""
_NO_SPACE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class StoreConnection:
    """A connection that is used by the thread that opens it, and by no other.

    Statements raise StoreStuck where the disk is full or another program holds the file, and StoreCorrupt where the
    file is damaged; nothing of the transaction is written then.

    `defers_sync`: commits do not wait for the disk. `writing`: held while this connection changes the database; the
    connections of one process share it, so that they wait for one another as long as the disk needs. `note_commit`:
    called with it held after each commit, with the number of changed rows.
    """

    def __init__(
        self, path: str, *, defers_sync: bool, writing: threading.RLock, note_commit: Callable[[int], None]
    ) -> None:
        self.path = path
        self._defers_sync = defers_sync
        self._writing = writing
        self._note_commit = note_commit
        self._db: sqlite3.Connection

    def open(self) -> None:
        """Connect to the file, which is created where there is none. StoreCorrupt: it cannot be used."""
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            for pragma in (
                "journal_mode=WAL",
                f"synchronous={'NORMAL' if self._defers_sync else 'FULL'}",
                "foreign_keys=ON",
                f"busy_timeout={_BUSY_MS}",
                f"cache_size={-_CACHE_KIB}",
                f"wal_autocheckpoint={_MOST_LOG_PAGES}",
            ):
                self._db.execute(f"PRAGMA {pragma}")
        except sqlite3.Error as error:
            raise unusable(self.path, error) from None

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the statements of the block atomic. A nested transaction is part of the outer one."""
        if self._db.in_transaction:
            yield
            return
        with self._writing:
            changed = self._db.total_changes
            self._execute("BEGIN IMMEDIATE")
            try:
                yield
                self._execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction by itself.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._note_commit(self._db.total_changes - changed)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of the block see the same state, also while other connections commit."""
        if self._db.in_transaction:
            yield
            return
        self._execute("BEGIN")
        try:
            yield
        finally:
            self._execute("COMMIT")

    @property
    def version(self) -> int:
        """A number that changes whenever another connection has changed the file."""
        row = self.one("PRAGMA data_version")
        return 0 if row is None else int(row[0])

    def run(self, statement: str, *values: Any) -> int:
        """Execute a statement; return the number of changed rows."""
        return self._change(statement, values).rowcount

    def insert(self, statement: str, *values: Any) -> int:
        """Execute a statement that inserts a row; return its rowid."""
        return int(self._change(statement, values).lastrowid or 0)

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once for each row of values, in one transaction."""
        if not rows:
            return
        with self.transaction():
            try:
                self._db.executemany(statement, rows)
            except sqlite3.Error as error:
                raise self._shown_error(error) or error from error

    def one(self, statement: str, *values: Any) -> sqlite3.Row | None:
        """The first row."""
        row: sqlite3.Row | None = self._execute(statement, values).fetchone()
        return row

    def all(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """All rows."""
        return self._execute(statement, values).fetchall()

    def _change(self, statement: str, values: Sequence[Any]) -> sqlite3.Cursor:
        """Execute a statement that changes the database; without a transaction it is one of its own."""
        if self._db.in_transaction:
            return self._execute(statement, values)
        with self._writing:
            changed = self._db.total_changes
            cursor = self._execute(statement, values)
            self._note_commit(self._db.total_changes - changed)
            return cursor

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except sqlite3.Error as error:
            shown = self._shown_error(error)
            if shown is None:
                raise
            raise shown from error

    def _shown_error(self, error: sqlite3.Error) -> GantryError | None:
        """The error that is shown to the operator; None for a fault of the program."""
        kind = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if kind in _NO_SPACE:
            return StoreStuck(
                f"The database {self.path} cannot be written: {error}.",
                "Free some space on its disk, or see to the disk; the work goes on by itself then.",
                code="disk_full",
            )
        if kind in _HELD:
            return StoreStuck(
                f"The database {self.path} is held by another program.", "End that program; the work goes on by itself."
            )
        if kind in _BROKEN:
            return StoreCorrupt(
                f"The database {self.path} is damaged: {error}.",
                "Move it away: what is to be done is read from the chain again.",
            )
        return None


def unusable(path: str, error: Exception) -> StoreCorrupt:
    """The error for a file that cannot be opened."""
    return StoreCorrupt(
        f"The database {path} cannot be used: {error}.", "Check the path and its rights, or move it away."
    )
