"""Search by hash and digest: indexes, call and signer of extrinsics; the documentation of the runtime.

Derived tables get their new indexes here, so that they need not be derived again; also those of a rederivation that was
interrupted.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text, inspect

revision = "4"
down_revision = "3"

_DERIVED = {"tasks": ("manifest_digest", "task"), "leases": ("result_digest", "lease")}


def upgrade() -> None:
    op.create_index("blocks_by_hash", "blocks", ["hash"])
    op.add_column("extrinsics", Column("call", Text))
    op.add_column("extrinsics", Column("signer", Text))
    op.create_table(
        "documentation",
        *(Column(name, Text, primary_key=True) for name in ("pallet", "kind", "name")),
        Column("text", Text, nullable=False),
        Column("fields", Text, nullable=False),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    inspector = inspect(op.get_bind())
    for table, columns in _DERIVED.items():
        for suffix in ("", "_next"):
            if inspector.has_table(table + suffix):
                op.create_index(f"{table}_by_{'_'.join(columns)}{suffix}", table + suffix, list(columns))
