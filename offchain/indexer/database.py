"""The connection to the index: transactions, statements and reads."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, Literal

from sqlalchemy import ColumnElement, Connection, Engine, Executable, inspect, select
from sqlalchemy.exc import DBAPIError

from offchain.errors import GantryError, OurError, StoreStuck
from offchain.indexer.rows import R, Row
from offchain.indexer.tables import TABLES, Tables

_PAGE_ROWS: Final = 5_000
Purpose = Literal["write", "exclusive", "snapshot", "statement"]


class IndexFault(OurError):  # noqa: N818
    """The index cannot be opened, or cannot be used before somebody changes something."""

    code = "index"


class IndexInUse(StoreStuck):
    """Readers hold the tables that :meth:`IndexDatabase.exclusive` wants."""

    code = "index_in_use"


class ReadTooLong(OurError):  # noqa: N818
    """A read took longer than the limit of the database that was opened for it."""

    code = "read_too_long"


class IndexDatabase(ABC):
    """A connection to the index, for one thread at a time. A lost connection is made again by the next call.

    Calls outside of :meth:`transaction` and :meth:`snapshot` have a transaction of their own. Raises StoreStuck if the
    database cannot be reached or written at present, and IndexFault if an operator has to act.
    """

    partitioned: ClassVar[bool]
    """Whether large tables are partitioned by block."""

    def __init__(self, engine: Engine, name: str, read_limit_s: float | None = None) -> None:
        """`name`: path or address for messages, without a password. `read_limit_s`: None for reads without a limit."""
        self.name = name
        self._read_limit_s = read_limit_s
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
    def _transaction(self, purpose: Purpose) -> Iterator[Connection]:
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

    def _too_long(self) -> ReadTooLong:
        return ReadTooLong(
            f"This read of the index took longer than {self._read_limit_s:g} s, which is the limit.",
            "Ask for less: a smaller limit, or a filter that an index serves (docs/api.md).",
        )

    @abstractmethod
    def _connect(self) -> Connection: ...

    @abstractmethod
    def _begin(self, connection: Connection, purpose: Purpose) -> None: ...

    @abstractmethod
    def _translated(self, error: DBAPIError) -> GantryError | None: ...
