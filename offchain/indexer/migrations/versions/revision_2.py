"""Partitions of the large tables in PostgreSQL. SQLite has none; there only the number of the revision changes.

A table with rows becomes the first partition of the new table, as it is: no row is copied. PostgreSQL reads it once to
see that all its blocks are below the partition's end.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect, text

revision = "2"
down_revision = "1"

_KEYS = {"extrinsics": "block, place", "events": "block, place", "mentions": "subject, block, place"}
_INDEXES = {
    "extrinsics": "extrinsics_by_hash ON extrinsics (hash)",
    "events": "events_by_pallet_name_block_place ON events (pallet, name, block, place)",
}


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    inspector = inspect(connection)
    last = connection.scalar(text("SELECT max(number) FROM blocks"))
    for table in _KEYS:
        # Derived tables are missing if they were never made, or their derivation was interrupted.
        if inspector.has_table(table):
            indexes = [found["name"] for found in inspector.get_indexes(table)]
            _partition(table, [*indexes, inspector.get_pk_constraint(table)["name"]], last)


def _partition(table: str, indexes: list[str | None], last: int | None) -> None:
    old = f"{table}_0_{last or 0}"
    op.execute(f"ALTER TABLE {table} RENAME TO {old}")
    for index in filter(None, indexes):
        op.execute(f"ALTER INDEX {index} RENAME TO {index.replace(table, old, 1)}")
    op.execute(
        f"CREATE TABLE {table} (LIKE {old} INCLUDING DEFAULTS, PRIMARY KEY ({_KEYS[table]})) PARTITION BY RANGE (block)"
    )
    if table in _INDEXES:
        op.execute(f"CREATE INDEX {_INDEXES[table]}")
    if last is None:
        op.execute(f"DROP TABLE {old}")
    else:
        op.execute(f"ALTER TABLE {table} ATTACH PARTITION {old} FOR VALUES FROM (0) TO ({last + 1})")
