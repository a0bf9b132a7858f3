"""Coins of accounts in the genesis block."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Numeric, Text

revision = "5"
down_revision = "4"

_AMOUNT = Numeric(39, 0).with_variant(Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "genesis_balances",
        Column("account", Text, primary_key=True),
        Column("free", _AMOUNT, nullable=False),
        Column("held", _AMOUNT, nullable=False),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
