"""Local SQLite database of a worker or agent: one writer. Commits survive the end of the process."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from offchain.adapters.keys.secret_file import make_private
from offchain.adapters.outbox.checkpoints import BackgroundCheckpoints, LogSync
from offchain.errors import GantryError, StoreCorrupt, StoreStuck

_BUSY_MS = 5000
_CACHE_KIB = 16_384
"""Pages of the database that are kept in memory: those that each call uses are never read from the disk again."""
_MOST_LOG_PAGES = 64_000
"""Size of the write-ahead log, in pages of 4 KiB, at which a commit makes a checkpoint if those of the thread fail."""
_NO_SPACE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Store:
    """One database file, or `:memory:`. Each component creates its own tables through :meth:`migrate`.

    Calls wait for the disk only, so they are made from the event loop; a transaction must not span an `await`. Raises
    StoreStuck where the disk is full or another program holds the file, and StoreCorrupt where the file is damaged;
    nothing of the transaction is written then.

    Commits survive a power cut. With `defers_sync` they do after :meth:`flush` only, and do not wait for the disk: what
    is left after a power cut is the state after one of the commits since then.
    """

    def __init__(self, path: Path | str, *, defers_sync: bool = False) -> None:
        self.path = str(path)
        try:
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
                # SQLite gives its other files the rights of this one.
                make_private(Path(self.path))
            self._db = sqlite3.connect(self.path, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            self._checkpoints = BackgroundCheckpoints(self.path)
            defers_sync &= self.path != ":memory:"
            self._log_sync = LogSync(self.path, lambda: self._db.total_changes) if defers_sync else None
            for pragma in (
                "journal_mode=WAL",
                f"synchronous={'FULL' if self._log_sync is None else 'NORMAL'}",
                "foreign_keys=ON",
                f"busy_timeout={_BUSY_MS}",
                f"cache_size={-_CACHE_KIB}",
                f"wal_autocheckpoint={_MOST_LOG_PAGES}",
            ):
                self._db.execute(f"PRAGMA {pragma}")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS migrations (component TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT"
            )
        except (sqlite3.Error, OSError) as error:
            raise StoreCorrupt(
                f"The database {self.path} cannot be used: {error}.", "Check the path and its rights, or move it away."
            ) from None

    def close(self) -> None:
        """Close the database."""
        self._checkpoints.wait()
        self._db.close()

    async def flush(self) -> None:
        """Return when everything that was committed so far survives a power cut. The event loop goes on meanwhile.

        StoreStuck: the disk failed.
        """
        if self._log_sync is None:
            return
        try:
            await self._log_sync.sync()
        except OSError as error:
            raise StoreStuck(
                f"The database {self.path} cannot be written: {error.strerror}.",
                "See to the disk; the work goes on by itself then.",
                code="disk_full",
            ) from None

    def migrate(self, component: str, steps: Sequence[str]) -> None:
        """Migrate the tables of a component to the newest version. `steps[n]` leads from version n to n + 1."""
        row = self.one("SELECT version FROM migrations WHERE component = ?", component)
        version = 0 if row is None else int(row["version"])
        if version > len(steps):
            raise StoreCorrupt(
                f"The database {self.path} is of a newer release ({component} {version}, known: {len(steps)}).",
                "Use that release again.",
            )
        for number, step in enumerate(steps[version:], start=version + 1):
            with self.transaction():
                for statement in step.split(";"):
                    if statement.strip():
                        self._execute(statement)
                self._execute("INSERT OR REPLACE INTO migrations VALUES (?, ?)", (component, number))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the statements of the block atomic. A nested transaction is part of the outer one."""
        if self._db.in_transaction:
            yield
            return
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            # A full disk may have ended the transaction by itself.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @property
    def version(self) -> int:
        """A number that changes whenever another connection has changed the file."""
        row = self.one("PRAGMA data_version")
        return 0 if row is None else int(row[0])

    def run(self, statement: str, *values: Any) -> int:
        """Execute a statement; return the number of changed rows."""
        return self._execute(statement, values).rowcount

    def insert(self, statement: str, *values: Any) -> int:
        """Execute a statement that inserts a row; return its rowid."""
        return int(self._execute(statement, values).lastrowid or 0)

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

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            cursor = self._db.execute(statement, values)
        except sqlite3.Error as error:
            shown = self._shown_error(error)
            if shown is None:
                raise
            raise shown from error
        if not self._db.in_transaction:
            self._checkpoints.note_commit(self._db.total_changes)
        return cursor

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
