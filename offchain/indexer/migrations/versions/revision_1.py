"""Tables that are read from the chain.

Releases before Alembic made the same tables, with 1 in `meta.schema`: a database of theirs is adopted as it is.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Numeric, Text
from sqlalchemy.schema import SchemaItem

revision = "1"
down_revision = None

_INTEGER = BigInteger().with_variant(Integer(), "sqlite")
_AMOUNT = Numeric(39, 0).with_variant(Text(), "sqlite")


def upgrade() -> None:
    _create("meta", Column("name", Text, primary_key=True), Column("value", Text, nullable=False))
    _create(
        "blocks",
        _key("number"),
        Column("hash", Text, nullable=False),
        Column("parent_hash", Text, nullable=False),
        Column("time_ms", _INTEGER, nullable=False),
        Column("extrinsics", _INTEGER, nullable=False),
        Column("events", _INTEGER, nullable=False),
    )
    _create(
        "extrinsics",
        _key("block"),
        _key("place"),
        Column("hash", Text, nullable=False),
        Column("failure", Text),
        Column("refused", _INTEGER, nullable=False),
        Column("payer", Text),
        Column("fee", _AMOUNT),
        Column("tip", _AMOUNT),
    )
    op.create_index("extrinsics_by_hash", "extrinsics", ["hash"], if_not_exists=True)
    _create(
        "events",
        _key("block"),
        _key("place"),
        Column("extrinsic", _INTEGER),
        Column("pallet", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("fields", Text, nullable=False),
        Column("failure", Text),
    )
    columns = ["pallet", "name", "block", "place"]
    op.create_index("events_by_pallet_name_block_place", "events", columns, if_not_exists=True)


def _key(name: str) -> Column[int]:
    return Column(name, _INTEGER, primary_key=True, autoincrement=False)


def _create(name: str, *columns: SchemaItem) -> None:
    op.create_table(name, *columns, if_not_exists=True, sqlite_with_rowid=False, sqlite_strict=True)
