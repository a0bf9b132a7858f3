"""The index in PostgreSQL, by one address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, LiteralString
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import errors

from offchain.errors import StoreStuck
from offchain.indexer.database import IndexFault, insert_statement
from offchain.indexer.rows import Amount, R, Row, columns_of

_TYPES = {int: "BIGINT", str: "TEXT", Amount: "NUMERIC(39, 0)"}
_LOCK = 0x67616E747279
"""The number of the advisory lock: `gantry`."""
_CONNECT_S = 10
_PAGE = 5_000
_COPIED_FROM = 50
"""From so many rows on, copying is faster than inserting."""


class Postgres:
    """A :class:`~offchain.indexer.database.Database`. Connects when it is first needed, and again after a loss."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._db: psycopg.Connection[tuple[Any, ...]] | None = None
        self._locked = False
        self._connect()

    @property
    def name(self) -> str:
        """Its address without the password."""
        parts = urlsplit(self._address)
        user, at, host = parts.netloc.rpartition("@")
        return urlunsplit((parts.scheme, user.partition(":")[0] + at + host, parts.path, "", ""))

    def close(self) -> None:
        """End the connection."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def lock(self) -> bool:
        """Be the only writer of this database."""
        (got,) = self.values("SELECT pg_try_advisory_lock(?)", _LOCK)[0]
        self._locked = bool(got)
        return self._locked

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        with self._told() as db, db.transaction():
            yield

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Reads of one moment."""
        with self._told() as db, db.transaction():
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield

    def execute(self, statement: str, *values: Any) -> None:
        """One statement."""
        with self._told() as db:
            db.execute(_query(statement), values)

    def exists(self, name: str) -> bool:
        """Whether there is a table of this name."""
        return self.values("SELECT to_regclass(?) IS NOT NULL", name)[0][0] is True

    def create(self, table: type[Row]) -> None:
        """Make a table with its indexes."""
        listed = ", ".join(
            f"{column.name} {_TYPES[column.kind]}{'' if column.optional else ' NOT NULL'}"
            for column in columns_of(table)
        )
        self.execute(f"CREATE TABLE IF NOT EXISTS {table.TABLE} ({listed}, PRIMARY KEY ({', '.join(table.KEY)}))")
        for names in table.INDEXES:
            index = f"{table.TABLE}_by_{'_'.join(names)}"
            self.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {table.TABLE} ({', '.join(names)})")

    def insert(self, table: type[Row], rows: Sequence[Row]) -> None:
        """Add rows."""
        names = [column.name for column in columns_of(table)]
        if len(rows) < _COPIED_FROM:
            self._many(insert_statement(table, names, replacing=False), names, rows)
            return
        read = attrgetter(*names)
        with (
            self._told() as db,
            db.cursor() as cursor,
            cursor.copy(_query(f"COPY {table.TABLE} ({', '.join(names)}) FROM STDIN")) as copy,
        ):
            for row in rows:
                copy.write_row(read(row))

    def put(self, table: type[Row], rows: Sequence[Row]) -> None:
        """Add or replace rows."""
        names = [column.name for column in columns_of(table)]
        if len(rows) < _COPIED_FROM:
            self._many(insert_statement(table, names, replacing=True), names, rows)
            return
        # Copied beside the table, then taken over in one statement: many times faster than one by one.
        beside = f"new_{table.TABLE}"
        changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in table.KEY)
        does = f"UPDATE SET {changes}" if changes else "NOTHING"
        listed = ", ".join(names)
        self.execute(f"CREATE TEMPORARY TABLE IF NOT EXISTS {beside} (LIKE {table.TABLE}) ON COMMIT DELETE ROWS")
        read = attrgetter(*names)
        with self._told() as db:
            with db.cursor() as cursor, cursor.copy(_query(f"COPY {beside} ({listed}) FROM STDIN")) as copy:
                for row in rows:
                    copy.write_row(read(row))
            db.execute(
                _query(
                    f"INSERT INTO {table.TABLE} ({listed}) SELECT {listed} FROM {beside}"  # noqa: S608 - our own names
                    f" ON CONFLICT ({', '.join(table.KEY)}) DO {does}"
                )
            )
            db.execute(_query(f"TRUNCATE {beside}"))

    def rows(self, table: type[R], rest: str = "", *values: Any) -> list[R]:
        """The rows of a SELECT."""
        found = self.values(_select(table, rest), *values)
        return [_made(table, row) for row in found]

    def stream(self, table: type[R], rest: str = "", *values: Any) -> Iterator[R]:
        """The same, some at a time."""
        with self._told() as db, db.transaction(), db.cursor(name=f"stream_{table.TABLE}") as cursor:
            cursor.itersize = _PAGE
            cursor.execute(_query(_select(table, rest)), values)
            for row in cursor:
                yield _made(table, row)

    def values(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of any SELECT."""
        with self._told() as db:
            return db.execute(_query(statement), values).fetchall()

    def _many(self, statement: str, names: list[str], rows: Sequence[Row]) -> None:
        if rows:
            read = attrgetter(*names)
            with self._told() as db, db.cursor() as cursor:
                cursor.executemany(_query(statement), [read(row) for row in rows])

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._db is not None and not self._db.closed:
            return self._db
        try:
            self._db = psycopg.connect(self._address, autocommit=True, connect_timeout=_CONNECT_S)
        except psycopg.ProgrammingError as error:
            raise IndexFault(
                f"The address of the index cannot be read: {error}.", "Write it like postgresql://user@host/database."
            ) from None
        except psycopg.OperationalError as error:
            raise StoreStuck(
                f"The index {self.name} cannot be reached: {str(error).strip()}.",
                "Start PostgreSQL, and check user, password and the database's name.",
                code="index_unreachable",
            ) from None
        if self._locked and not self.lock():
            raise IndexFault(f"Another indexer has taken over {self.name}.", "Let only one run for an index.")
        return self._db

    @contextmanager
    def _told(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        db = self._connect()
        try:
            yield db
        except (errors.DiskFull, errors.OutOfMemory) as error:
            raise StoreStuck(
                f"The index {self.name} cannot be written: {str(error).strip()}.",
                "Give the database's machine space; the work goes on by itself then.",
                code="disk_full",
            ) from error
        except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction) as error:
            raise IndexFault(
                f"The index {self.name} may not be written: {str(error).strip()}.",
                "Grant its user the rights to create tables in its schema and to write.",
            ) from error
        except psycopg.OperationalError as error:
            raise StoreStuck(
                f"The index {self.name} is away: {str(error).strip()}.",
                "Start PostgreSQL again.",
                code="index_unreachable",
            ) from error


def _query(statement: str) -> LiteralString:
    """In psycopg's words. Statements hold only our own names; values are always passed apart."""
    return statement.replace("?", "%s")


def _select(table: type[Row], rest: str) -> str:
    names = ", ".join(column.name for column in columns_of(table))
    return f"SELECT {names} FROM {table.TABLE} {rest}"  # noqa: S608 - our own names


def _made(table: type[R], values: Sequence[Any]) -> R:
    return table(
        *(
            int(value) if column.kind is Amount and value is not None else value
            for column, value in zip(columns_of(table), values, strict=True)
        )
    )
