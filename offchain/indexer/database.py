"""What the index needs of a database, and how one is opened by its address.

Statements are written once, with `?` for values, in the part of SQL that both databases share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from offchain.errors import OurError
from offchain.indexer.rows import R, Row

POSTGRESQL = ("postgresql", "postgres")


class IndexFault(OurError):  # noqa: N818
    """The index cannot be opened, or is not what was expected."""

    code = "index"


class Database(Protocol):
    """A connection to the index. Not for several threads at once.

    Raises StoreStuck where it cannot be written or reached now and may be later, and IndexFault where somebody has to
    do something first.
    """

    @property
    def name(self) -> str:
        """What it is called in messages; without a password."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...

    def lock(self) -> bool:
        """Be the only writer until closed; False where there is another."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing. Not to be nested."""
        ...

    def moment(self) -> AbstractContextManager[None]:
        """All that is read within it is of one moment, whatever is written meanwhile. Not to be nested."""
        ...

    def execute(self, statement: str, *values: Any) -> None:
        """One statement."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is a table of this name."""
        ...

    def create(self, table: type[Row]) -> None:
        """Make a table with its indexes, where there is none."""
        ...

    def insert(self, table: type[Row], rows: Sequence[Row]) -> None:
        """Add rows with new keys."""
        ...

    def put(self, table: type[Row], rows: Sequence[Row]) -> None:
        """Add rows; each takes the place of the one with its key. No key comes twice."""
        ...

    def rows(self, table: type[R], rest: str = "", *values: Any) -> list[R]:
        """The rows of `SELECT ... FROM table` and this rest of the statement."""
        ...

    def stream(self, table: type[R], rest: str = "", *values: Any) -> Iterator[R]:
        """The same without holding them all; nothing else may be asked meanwhile on this connection."""
        ...

    def values(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of any SELECT, as the database gives them."""
        ...


def insert_statement(table: type[Row], names: Iterable[str], *, replacing: bool) -> str:
    """INSERT, or INSERT that updates what is there."""
    listed = list(names)
    statement = f"INSERT INTO {table.TABLE} ({', '.join(listed)}) VALUES ({', '.join('?' * len(listed))})"  # noqa: S608 - our own names
    if replacing:
        changes = ", ".join(f"{name} = excluded.{name}" for name in listed if name not in table.KEY)
        does = f"UPDATE SET {changes}" if changes else "NOTHING"
        statement += f" ON CONFLICT ({', '.join(table.KEY)}) DO {does}"
    return statement


def open_index(address: str, *, create: bool = False) -> Database:
    """The index at an address: the path of an SQLite file, or postgresql://...

    `create`: make the SQLite file where there is none. Raises IndexFault.
    """
    scheme = urlsplit(address).scheme
    if scheme in POSTGRESQL:
        from offchain.indexer.postgres import Postgres  # noqa: PLC0415  (not everybody has it)

        return Postgres(address)
    if scheme not in ("", "sqlite"):
        raise IndexFault(
            f"{scheme}: is no kind of index.", "Name the path of an SQLite file, or a postgresql:// address."
        )
    from offchain.indexer.sqlite import Sqlite  # noqa: PLC0415

    path = Path(address.removeprefix("sqlite://")).expanduser()
    if not create and not path.is_file():
        raise IndexFault(
            f"There is no index at {path}.",
            "Start one with gantry worker indexer, or name yours with --index or GANTRY_INDEX.",
            code="no_index",
        )
    return Sqlite(path)
