"""The index in an SQLite file: one writer, any number of readers, and what was committed survives a power cut."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

from offchain.adapters.keys.secret_file import make_private
from offchain.errors import GantryError, StoreStuck
from offchain.indexer.database import IndexFault, insert_statement
from offchain.indexer.rows import Amount, Column, R, Row, columns_of

_BUSY_MS = 5000
_CACHE_KIB = 65_536
_CHECKPOINT_PAGES = 8_000
_STUCK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_TYPES = {int: "INTEGER", str: "TEXT", Amount: "TEXT"}


class Sqlite:
    """A :class:`~offchain.indexer.database.Database`. Amounts are texts, for they are too large for its integers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: Any = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            make_private(path)
            # Writing goes on in a thread, so that reading the next block can; one thread at a time.
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            for pragma in (
                "journal_mode=WAL",
                "synchronous=NORMAL",
                f"busy_timeout={_BUSY_MS}",
                f"cache_size=-{_CACHE_KIB}",
                f"wal_autocheckpoint={_CHECKPOINT_PAGES}",
            ):
                self._db.execute(f"PRAGMA {pragma}")
        except (sqlite3.Error, OSError) as error:
            raise IndexFault(
                f"The index {path} cannot be used: {error}.", "Check the path and its rights, or move it away."
            ) from None

    @property
    def name(self) -> str:
        """Its path."""
        return str(self.path)

    def close(self) -> None:
        """Close the file."""
        self._db.close()
        if self._lock is not None:
            self._lock.close()

    def lock(self) -> bool:
        """Be the only writer."""
        lock = self.path.with_name(self.path.name + ".lock").open("w", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        return True

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing."""
        return self._between("BEGIN IMMEDIATE")

    def moment(self) -> AbstractContextManager[None]:
        """Reads of one moment."""
        return self._between("BEGIN DEFERRED")

    @contextmanager
    def _between(self, begin: str) -> Iterator[None]:
        self.execute(begin)
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def execute(self, statement: str, *values: Any) -> None:
        """One statement."""
        with self._told():
            self._db.execute(statement, values)

    def exists(self, name: str) -> bool:
        """Whether there is a table of this name."""
        return bool(self.values("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name))

    def create(self, table: type[Row]) -> None:
        """Make a table with its indexes."""
        listed = ", ".join(
            f"{column.name} {_TYPES[column.kind]}{'' if column.optional else ' NOT NULL'}"
            for column in columns_of(table)
        )
        self.execute(
            f"CREATE TABLE IF NOT EXISTS {table.TABLE} ({listed}, PRIMARY KEY ({', '.join(table.KEY)}))"
            " STRICT, WITHOUT ROWID"
        )
        for names in table.INDEXES:
            index = f"{table.TABLE}_by_{'_'.join(names)}"
            self.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {table.TABLE} ({', '.join(names)})")

    def insert(self, table: type[Row], rows: Sequence[Row]) -> None:
        """Add rows."""
        self._write(table, rows, replacing=False)

    def put(self, table: type[Row], rows: Sequence[Row]) -> None:
        """Add or replace rows."""
        self._write(table, rows, replacing=True)

    def rows(self, table: type[R], rest: str = "", *values: Any) -> list[R]:
        """The rows of a SELECT."""
        return list(self.stream(table, rest, *values))

    def stream(self, table: type[R], rest: str = "", *values: Any) -> Iterator[R]:
        """Yield the rows of a SELECT one by one."""
        columns = columns_of(table)
        names = ", ".join(column.name for column in columns)
        amounts = [place for place, column in enumerate(columns) if column.kind is Amount]
        with self._told():
            for found in self._db.execute(f"SELECT {names} FROM {table.TABLE} {rest}", values):  # noqa: S608 - our own names
                if amounts:
                    found = list(found)  # noqa: PLW2901
                    for place in amounts:
                        if found[place] is not None:
                            found[place] = int(found[place])
                yield table(*found)

    def values(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of any SELECT."""
        with self._told():
            return self._db.execute(statement, values).fetchall()

    def _write(self, table: type[Row], rows: Sequence[Row], *, replacing: bool) -> None:
        if not rows:
            return
        columns = columns_of(table)
        statement = insert_statement(table, (column.name for column in columns), replacing=replacing)
        with self._told():
            self._db.executemany(statement, _values(columns, rows))

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._meaning(error) or error from error

    def _meaning(self, error: sqlite3.Error) -> GantryError | None:
        kind = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if kind in _STUCK:
            return StoreStuck(
                f"The index {self.path} cannot be written: {error}.",
                "Free some space on its disk, or end the program that holds it; the work goes on by itself then.",
            )
        if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return IndexFault(
                f"The index {self.path} is damaged: {error}.", "Remove it: it is made again from the chain."
            )
        return None


def _values(columns: tuple[Column, ...], rows: Sequence[Row]) -> Iterator[Sequence[Any]]:
    read = attrgetter(*(column.name for column in columns))
    amounts = [place for place, column in enumerate(columns) if column.kind is Amount]
    if not amounts:
        yield from map(read, rows)
        return
    for row in rows:
        values = list(read(row))
        for place in amounts:
            if values[place] is not None:
                values[place] = str(values[place])
        yield values
