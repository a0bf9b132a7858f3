"""Search by hash: an index of blocks, call and signer of extrinsics; the documentation of the runtime."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "4"
down_revision = "3"


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
