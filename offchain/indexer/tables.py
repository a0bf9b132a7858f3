"""SQLAlchemy tables of the index, made from the row classes, and the versions of their format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, TypeAlias, get_args, get_type_hints

from sqlalchemy import BigInteger, Column, ColumnCollection, Dialect, Index, Integer, MetaData, Numeric, Table, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

from offchain.indexer.matter_rows import MATTER_ROWS
from offchain.indexer.notification_rows import NOTIFICATION_ROWS
from offchain.indexer.rows import (
    CHAIN_ROWS,
    PARTITIONED_ROWS,
    AccountRow,
    BillRow,
    CoinAmount,
    HostRow,
    LeaseRow,
    MentionRow,
    MetaRow,
    MovementRow,
    OrderedAmount,
    Row,
    TaskRow,
    TransferRow,
)
from offchain.indexer.sign_in_rows import SIGN_IN_ROWS
from offchain.indexer.state_rows import STATE_ROWS

SCHEMA_VERSION: Final = 10
"""Number of the newest revision in `migrations/versions`; `meta.schema` holds that of a database."""
READABLE_SCHEMA: Final = 10
"""Oldest revision whose tables have all columns that this release reads."""
DERIVED_VERSION: Final = 5
"""Version of the derived tables. They are derived again from the events if `meta.derived` holds a lower one."""
READABLE_DERIVED: Final = 4
"""Oldest version of the derived tables that have all columns that this release reads, those of new tables apart."""
MATTERS_DERIVED: Final = 5
"""First version of the derived tables with challenges, disputes and schedulers; what reads them asks for it."""
DERIVED_ROWS: Final[tuple[type[Row], ...]] = (
    TaskRow,
    LeaseRow,
    HostRow,
    BillRow,
    TransferRow,
    AccountRow,
    MovementRow,
    MentionRow,
    *MATTER_ROWS,
)
"""Tables that are derived from the events, and can be rebuilt from them."""


class CoinAmountType(TypeDecorator[int]):
    """128-bit integers: NUMERIC(39, 0) in PostgreSQL, texts in SQLite, whose integers have 64 bits."""

    impl = Numeric(39, 0)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else Numeric(39, 0))

    def text(self, value: int) -> str:
        """Return the text that SQLite stores."""
        return str(value)

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        return self.text(value) if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:  # noqa: ARG002
        return None if value is None else int(value)


class OrderedAmountType(CoinAmountType):
    """128-bit integers whose order is that of the numbers: SQLite's texts have leading zeros."""

    cache_ok = True

    def text(self, value: int) -> str:
        """Return the text that SQLite stores: 39 digits."""
        return f"{value:039}"


INTEGER: Final = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits on both databases."""
_TYPES: Final[dict[Any, TypeEngine[Any]]] = {
    int: INTEGER,
    str: Text(),
    CoinAmount: CoinAmountType(),
    OrderedAmount: OrderedAmountType(),
}

METADATA: Final = MetaData()
NEXT_METADATA: Final = MetaData()
Tables: TypeAlias = Mapping[type[Row], Table]


def _table(row_type: type[Row], metadata: MetaData, name: str) -> Table:
    hints = get_type_hints(row_type, include_extras=True)
    columns = []
    for field in fields(row_type):
        optional = hints[field.name] not in _TYPES  # `KIND | None`
        kind = get_args(hints[field.name])[0] if optional else hints[field.name]
        columns.append(
            Column(
                field.name, _TYPES[kind], primary_key=field.name in row_type.KEY, nullable=optional, autoincrement=False
            )
        )
    partition_by = "RANGE (block)" if row_type in PARTITIONED_ROWS else None
    return Table(
        name,
        metadata,
        *columns,
        sqlite_with_rowid=False,
        sqlite_strict=True,
        postgresql_partition_by=partition_by,
    )


def index_name(row_type: type[Row], names: tuple[str, ...]) -> str:
    """Return the name of an index over these columns."""
    return f"{row_type.TABLE}_by_{'_'.join(names)}"


def _indexed(row_type: type[Row]) -> Table:
    table = _table(row_type, METADATA, row_type.TABLE)
    for names in row_type.INDEXES:
        Index(index_name(row_type, names), *(table.c[name] for name in names))
    return table


_ROW_TYPES: tuple[type[Row], ...] = (
    MetaRow,
    *CHAIN_ROWS,
    *STATE_ROWS,
    *SIGN_IN_ROWS,
    *NOTIFICATION_ROWS,
    *DERIVED_ROWS,
)
TABLES: Final[Tables] = {row_type: _indexed(row_type) for row_type in _ROW_TYPES}
NEXT_TABLES: Final[Tables] = {
    row_type: _table(row_type, NEXT_METADATA, f"{row_type.TABLE}_next") for row_type in DERIVED_ROWS
}
"""Derived tables that are being filled beside those in :data:`TABLES`. Their indexes are made with the tables."""


def columns(row_type: type[Row]) -> ColumnCollection[str, Column[Any]]:
    """Return the columns of a table, for conditions."""
    return TABLES[row_type].c


def column_names(row_type: type[Row]) -> list[str]:
    return TABLES[row_type].c.keys()
