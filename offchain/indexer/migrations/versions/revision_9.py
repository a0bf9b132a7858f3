"""Prices of GPU models over time."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Numeric, Text

revision = "9"
down_revision = "8"

_INTEGER = BigInteger().with_variant(Integer(), "sqlite")
_AMOUNT = Numeric(39, 0).with_variant(Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "model_prices",
        Column("hour_ms", _INTEGER, primary_key=True, autoincrement=False),
        Column("model", Text, primary_key=True),
        Column("simulated", _INTEGER, primary_key=True, autoincrement=False),
        *(Column(name, _INTEGER, nullable=False) for name in ("gpus", "gpus_free")),
        *(Column(name, _AMOUNT, nullable=False) for name in ("lowest_price", "median_price", "paid_rate")),
        Column("leased_milli", _INTEGER, nullable=False),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    names = ["model", "simulated", "hour_ms"]
    op.create_index(f"model_prices_by_{'_'.join(names)}", "model_prices", names)
