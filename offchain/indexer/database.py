"""The connection to the index, and the two databases it may be in."""

from __future__ import annotations

import contextlib
import fcntl
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Final, Literal
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Executable,
    Insert,
    create_engine,
    func,
    inspect,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.pool import NullPool

from offchain.adapters.keys.secret_file import make_private
from offchain.errors import GantryError, OurError, StoreStuck
from offchain.indexer.rows import MetaRow, R, Row
from offchain.indexer.tables import TABLES, CoinAmountType, Tables, column_names, columns

_PAGE_ROWS: Final = 5_000
_Purpose = Literal["write", "exclusive", "snapshot", "statement"]


class IndexFault(OurError):  # noqa: N818
    """The index cannot be opened, or cannot be used before somebody changes something."""

    code = "index"


class IndexInUse(StoreStuck):
    """Readers hold the tables that :meth:`IndexDatabase.exclusive` wants."""

    code = "index_in_use"


class IndexDatabase(ABC):
    """A connection to the index, for one thread at a time. A lost connection is made again by the next call.

    Calls outside of :meth:`transaction` and :meth:`snapshot` have a transaction of their own. Raises StoreStuck if the
    database cannot be reached or written at present, and IndexFault if an operator has to act.
    """

    partitioned: ClassVar[bool]
    """Whether large tables are partitioned by block."""

    def __init__(self, engine: Engine, name: str) -> None:
        """`name`: path or address for messages, without a password."""
        self.name = name
        self._engine = engine
        self._connection: Connection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._engine.dispose()

    @abstractmethod
    def lock(self) -> bool:
        """Become the only writer until closed; return False if there is another one."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """Commit all writes of the block, or none. Does not nest."""
        return self._transaction("write")

    def exclusive(self) -> AbstractContextManager[Connection]:
        """Commit all writes of the block, or none, while no snapshot is being read. Does not nest.

        For removing and renaming tables. Raises IndexInUse if readers do not finish at once.
        """
        return self._transaction("exclusive")

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Read one state of the database within the block, unaffected by other writers. Does not nest."""
        return self._transaction("snapshot")

    def execute(self, statement: Executable, parameters: Sequence[Mapping[str, Any]] = ()) -> list[Any]:
        """Execute a statement; return its rows as tuples."""
        with self._current() as connection:
            result = connection.execute(statement, parameters or None)
            return list(result) if result.returns_rows else []

    def has_table(self, name: str) -> bool:
        with self._current() as connection:
            return inspect(connection).has_table(name)

    def rows(
        self,
        row_type: type[R],
        *conditions: ColumnElement[bool],
        newest: int | None = None,
        limit: int | None = None,
        tables: Tables = TABLES,
    ) -> list[R]:
        """Return the rows that meet all conditions, in the order of the key: the first `limit` or last `newest`."""
        table = tables[row_type]
        key = [column.desc() if newest else column for column in table.primary_key]
        found = self.execute(select(table).where(*conditions).order_by(*key).limit(newest or limit))
        return [row_type(*row) for row in (reversed(found) if newest else found)]

    def stream(self, row_type: type[R]) -> Iterator[R]:
        """Yield all rows in any order without holding them in memory. No other call until it ends."""
        with self._current() as connection:
            for row in connection.execute(select(TABLES[row_type]).execution_options(yield_per=_PAGE_ROWS)):
                yield row_type(*row)

    @abstractmethod
    def insert(self, row_type: type[Row], rows: Sequence[Row], tables: Tables = TABLES) -> None:
        """Add rows with new keys."""

    @abstractmethod
    def upsert(self, row_type: type[Row], rows: Sequence[Row], tables: Tables = TABLES) -> None:
        """Add rows, or replace the ones with their keys. No key may occur twice in `rows`."""

    def _connected(self) -> Connection:
        if self._connection is not None and self._connection.invalidated:
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    @contextlib.contextmanager
    def _transaction(self, purpose: _Purpose) -> Iterator[Connection]:
        with self._translate_errors():
            connection = self._connected()
            with connection.begin():
                self._begin(connection, purpose)
                yield connection

    @contextlib.contextmanager
    def _current(self) -> Iterator[Connection]:
        """The connection in the transaction that is open, or in one for a single statement."""
        if self._connection is not None and self._connection.in_transaction():
            with self._translate_errors():
                yield self._connection
        else:
            with self._transaction("statement") as connection:
                yield connection

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._translated(error) or error from error

    @abstractmethod
    def _connect(self) -> Connection: ...

    @abstractmethod
    def _begin(self, connection: Connection, purpose: _Purpose) -> None: ...

    @abstractmethod
    def _translated(self, error: DBAPIError) -> GantryError | None: ...


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

    def __init__(self, path: Path) -> None:
        super().__init__(create_engine("sqlite://", creator=self._open, poolclass=NullPool), str(path))
        self._path = path
        self._lock: Any = None
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
        amounts = [index for index, column in enumerate(columns(row_type)) if isinstance(column.type, CoinAmountType)]
        parameters: list[Any] = list(map(attrgetter(*column_names(row_type)), rows))
        if amounts:
            parameters = [list(values) for values in parameters]
            for values in parameters:
                for index in amounts:
                    values[index] = None if values[index] is None else str(values[index])
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
        except sqlite3.Error:
            opened.close()
            raise
        return opened

    def _connect(self) -> Connection:
        return self._engine.connect()

    def _begin(self, connection: Connection, purpose: _Purpose) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if purpose in ("write", "exclusive") else "BEGIN DEFERRED")

    def _translated(self, error: DBAPIError) -> GantryError | None:
        kind = (getattr(error.orig, "sqlite_errorcode", None) or 0) & 0xFF
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

    def __init__(self, address: str) -> None:
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

    def _begin(self, connection: Connection, purpose: _Purpose) -> None:
        # A snapshot does not cover which tables there are. `meta` stands for all of them: who removes or renames
        # tables waits for the end of all snapshots, and snapshots begin only before or after that.
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


def open_index(address: str, *, create: bool = False) -> IndexDatabase:
    """Open the index at an address: the path of an SQLite file, or postgresql://...

    `create`: make the SQLite file if it does not exist. Raises IndexFault.
    """
    scheme = urlsplit(address).scheme
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(address)
    if scheme not in ("", "sqlite"):
        raise IndexFault(
            f"{scheme}: is no kind of index.", "Name the path of an SQLite file, or a postgresql:// address."
        )
    path = Path(address.removeprefix("sqlite://")).expanduser()
    if not create and not path.is_file():
        raise IndexFault(
            f"There is no index at {path}.",
            "Start one with gantry worker indexer, or name yours with --index or GANTRY_INDEX.",
            code="no_index",
        )
    return SqliteDatabase(path)
