"""The database engines of the index: SQLite and PostgreSQL. Bulk writes, locks and errors of each."""

from __future__ import annotations

import fcntl
import math
import sqlite3
import time
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import Connection, Insert, create_engine, func, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.pool import NullPool

from offchain.adapters.keys.secret_file import make_private
from offchain.errors import GantryError, StoreStuck
from offchain.indexer.database import IndexDatabase, IndexFault, IndexInUse, Purpose
from offchain.indexer.exact_amounts import add_exact_amounts
from offchain.indexer.rows import MetaRow, Row
from offchain.indexer.tables import TABLES, CoinAmountType, Tables, column_names, columns


class SqliteDatabase(IndexDatabase):
    """The index in a file: one writer, any number of readers. Commits survive the death of the process."""

    partitioned = False
    _PRAGMAS = (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "busy_timeout=5000",
        "cache_size=-65536",
        "wal_autocheckpoint=8000",
    )
    _STUCK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

    _STEPS_BETWEEN_LOOKS = 20_000
    """Steps of SQLite's virtual machine, about a millisecond, between two looks at the clock of a limited read."""

    def __init__(self, path: Path, read_limit_s: float | None = None) -> None:
        super().__init__(create_engine("sqlite://", creator=self._open, poolclass=NullPool), str(path), read_limit_s)
        self._path = path
        self._lock: Any = None
        self._late_s = math.inf
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            make_private(path)
            self._connection = self._connect()
        except (DBAPIError, OSError) as error:
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise IndexFault(
                f"The index {path} cannot be used: {reason}.", "Check the path and its rights, or move it away."
            ) from None

    def close(self) -> None:
        super().close()
        if self._lock is not None:
            self._lock.close()

    def lock(self) -> bool:
        lock = self._path.with_name(self._path.name + ".lock").open("w", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        return True

    def insert(self, row_type: type[Row], rows: Sequence[Row], tables: Tables = TABLES) -> None:
        self._write(row_type, rows, sqlite.insert(tables[row_type]))

    def upsert(self, row_type: type[Row], rows: Sequence[Row], tables: Tables = TABLES) -> None:
        statement = sqlite.insert(tables[row_type])
        changes = {name: statement.excluded[name] for name in column_names(row_type) if name not in row_type.KEY}
        self._write(row_type, rows, statement.on_conflict_do_update(index_elements=row_type.KEY, set_=changes))

    def _write(self, row_type: type[Row], rows: Sequence[Row], statement: Insert) -> None:
        # The driver's executemany on tuples: SQLAlchemy's processing of parameters costs a third of the events/s.
        amounts = {
            index: column.type.text
            for index, column in enumerate(columns(row_type))
            if isinstance(column.type, CoinAmountType)
        }
        parameters: list[Any] = list(map(attrgetter(*column_names(row_type)), rows))
        if amounts:
            parameters = [list(values) for values in parameters]
            for values in parameters:
                for index, text in amounts.items():
                    values[index] = None if values[index] is None else text(values[index])
        if parameters:
            with self._current() as connection:
                sql = str(statement.compile(dialect=self._engine.dialect))
                connection.exec_driver_sql(sql, list(map(tuple, parameters)))

    def _open(self) -> sqlite3.Connection:
        # Blocks are written in a thread while the next ones are read; one thread at a time uses the connection.
        opened = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            for pragma in self._PRAGMAS:
                opened.execute(f"PRAGMA {pragma}")
            add_exact_amounts(opened)
            if self._read_limit_s is not None:
                opened.set_progress_handler(lambda: time.monotonic() > self._late_s, self._STEPS_BETWEEN_LOOKS)
        except sqlite3.Error:
            opened.close()
            raise
        return opened

    def _connect(self) -> Connection:
        return self._engine.connect()

    def _begin(self, connection: Connection, purpose: Purpose) -> None:
        if self._read_limit_s is not None:
            self._late_s = time.monotonic() + self._read_limit_s
        connection.exec_driver_sql("BEGIN IMMEDIATE" if purpose in ("write", "exclusive") else "BEGIN DEFERRED")

    def _translated(self, error: DBAPIError) -> GantryError | None:
        kind = (getattr(error.orig, "sqlite_errorcode", None) or 0) & 0xFF
        if kind == sqlite3.SQLITE_INTERRUPT:
            return self._too_long()
        if kind in self._STUCK:
            return StoreStuck(
                f"The index {self.name} cannot be written: {error.orig}.",
                "Free some space on its disk, or end the program that holds it; the work goes on by itself then.",
            )
        if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return IndexFault(
                f"The index {self.name} is damaged: {error.orig}.", "Remove it: it is made again from the chain."
            )
        return None


class PostgresDatabase(IndexDatabase):
    """The index in a PostgreSQL database, named by an address as libpq reads it."""

    partitioned = True
    _LOCK = 0x67616E747279
    """Number of the advisory lock: `gantry`."""
    _LOCK_MS = 3_000
    """A server notices the end of a killed indexer's connection somewhat later."""
    _CONNECT_S = 10
    _EXCLUSIVE_MS = 500
    """New readers wait for as long behind one that wants to be alone."""

    def __init__(self, address: str, read_limit_s: float | None = None) -> None:
        import psycopg  # noqa: PLC0415  (only if the index is in PostgreSQL)

        parts = urlsplit(address)
        user, at, host = parts.netloc.rpartition("@")
        super().__init__(
            create_engine(
                "postgresql+psycopg://",
                creator=lambda: psycopg.connect(address, connect_timeout=self._CONNECT_S),
                poolclass=NullPool,
            ),
            urlunsplit((parts.scheme, user.partition(":")[0] + at + host, parts.path, "", "")),
            read_limit_s,
        )
        self._driver_error = psycopg.Error
        self._locked = False
        self._connection = self._connect()

    def lock(self) -> bool:
        try:
            with self.transaction() as connection:
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {self._LOCK_MS}")
                self.execute(select(func.pg_advisory_lock(self._LOCK)))
        except IndexInUse:
            return False
        self._locked = True
        return True

    def insert(self, row_type: type[Row], rows: Sequence[Row], tables: Tables = TABLES) -> None:
        # COPY: SQLAlchemy's insert reaches half of its events/s.
        names = column_names(row_type)
        copy = f"COPY {tables[row_type].name} ({', '.join(names)}) FROM STDIN"
        with self._current() as connection:
            driver: Any = connection.connection.driver_connection
            try:
                with driver.cursor() as cursor, cursor.copy(copy) as stream:
                    for values in map(attrgetter(*names), rows):
                        stream.write_row(values)
            except self._driver_error as error:
                raise DBAPIError.instance(copy, None, error, self._driver_error, dialect=connection.dialect) from error

    def upsert(self, row_type: type[Row], rows: Sequence[Row], tables: Tables = TABLES) -> None:
        # One array for each column: one statement for any number of rows.
        names = column_names(row_type)
        arrays = [f"%s::{column.type.compile(self._engine.dialect)}[]" for column in columns(row_type)]
        changes = [f"{name} = excluded.{name}" for name in names if name not in row_type.KEY]
        sql = (
            f"INSERT INTO {tables[row_type].name} ({', '.join(names)}) SELECT * FROM unnest({', '.join(arrays)})"  # noqa: S608 - our own names
            f" ON CONFLICT ({', '.join(row_type.KEY)}) DO UPDATE SET {', '.join(changes)}"
        )
        if rows:
            with self._current() as connection:
                connection.exec_driver_sql(sql, tuple(map(list, zip(*map(attrgetter(*names), rows), strict=True))))

    def _connect(self) -> Connection:
        try:
            connection = self._engine.connect()
        except ProgrammingError as error:
            raise IndexFault(
                f"The address of the index cannot be read: {error.orig}.",
                "Write it like postgresql://user@host/database.",
            ) from None
        except OperationalError as error:
            raise StoreStuck(
                f"The index {self.name} cannot be reached: {str(error.orig).strip()}.",
                "Start PostgreSQL, and check user, password and the database's name.",
                code="index_unreachable",
            ) from None
        if self._locked:
            with connection.begin():
                locked = connection.scalar(select(func.pg_try_advisory_lock(self._LOCK)))
            if not locked:
                connection.close()
                raise IndexFault(f"Another indexer has taken over {self.name}.", "Let only one run for an index.")
        return connection

    def _begin(self, connection: Connection, purpose: Purpose) -> None:
        # A snapshot does not cover which tables there are. `meta` stands for all of them: who removes or renames
        # tables waits for the end of all snapshots, and snapshots begin only before or after that.
        if self._read_limit_s is not None:
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {round(self._read_limit_s * 1000)}")
        if purpose == "snapshot":
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.exec_driver_sql(f"LOCK TABLE {MetaRow.TABLE} IN ACCESS SHARE MODE")
        elif purpose == "exclusive":
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {self._EXCLUSIVE_MS}")
            connection.exec_driver_sql(f"LOCK TABLE {MetaRow.TABLE} IN ACCESS EXCLUSIVE MODE")

    def _translated(self, error: DBAPIError) -> GantryError | None:
        reason = str(error.orig).strip()
        match getattr(error.orig, "sqlstate", None):
            case "53100" | "53200":  # disk full, out of memory
                return StoreStuck(
                    f"The index {self.name} cannot be written: {reason}.",
                    "Give the database's machine space; the work goes on by itself then.",
                    code="disk_full",
                )
            case "57014":  # query cancelled
                return self._too_long()
            case "55P03":  # lock not available
                return IndexInUse(f"The tables of the index {self.name} are being read.", "The indexer tries again.")
            case "42501" | "25006":  # insufficient privilege, read-only transaction
                return IndexFault(
                    f"The index {self.name} may not be written: {reason}.",
                    "Grant its user the rights to create tables in its schema and to write.",
                )
        if isinstance(error, OperationalError):
            return StoreStuck(
                f"The index {self.name} is away: {reason}.", "Start PostgreSQL again.", code="index_unreachable"
            )
        return None


def open_index(address: str, *, create: bool = False, read_limit_s: float | None = None) -> IndexDatabase:
    """Open the index at an address: the path of an SQLite file, or postgresql://...

    `create`: make the SQLite file if it does not exist. `read_limit_s`: after this time a read (SQLite: all reads of a
    transaction; PostgreSQL: a statement) fails with ReadTooLong. Raises IndexFault.
    """
    scheme = urlsplit(address).scheme
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(address, read_limit_s)
    if scheme not in ("", "sqlite"):
        raise IndexFault(
            f"{scheme}: is not a kind of index.", "Name the path of an SQLite file, or a postgresql:// address."
        )
    path = Path(address.removeprefix("sqlite://")).expanduser()
    if not create and not path.is_file():
        raise IndexFault(
            f"There is no index at {path}.",
            "Start one with gantry worker indexer, or name yours with --index or GANTRY_INDEX.",
            code="no_index",
        )
    return SqliteDatabase(path, read_limit_s)
