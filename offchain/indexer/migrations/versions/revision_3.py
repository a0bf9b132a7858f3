"""Offers and devices of hosts, and the hosts that have to be read again."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Numeric, Text
from sqlalchemy.schema import SchemaItem

revision = "3"
down_revision = "2"

_INTEGER = BigInteger().with_variant(Integer(), "sqlite")
_AMOUNT = Numeric(39, 0).with_variant(Text(), "sqlite")
_OFFER_INDEXES = (
    ("status", "price", "host", "model", "simulated"),
    ("status", "score_ppm", "host", "model", "simulated"),
    ("status", "model", "price", "host", "simulated"),
    ("status", "model", "score_ppm", "host", "simulated"),
)


def upgrade() -> None:
    _create(
        "offers",
        Column("host", Text, primary_key=True),
        Column("model", Text, primary_key=True),
        _key("simulated"),
        _number("read_block"),
        *map(_text, ("provider", "status", "region", "tier", "vendor")),
        *map(_number, ("gpus", "gpus_free", "vram_mib", "attested")),
        Column("price", _AMOUNT, nullable=False),
        _text("billing"),
        *(Column(f"price_{unit}", _AMOUNT) for unit in ("second", "hour", "day")),
        _number("score_ppm"),
        Column("bond", _AMOUNT, nullable=False),
        Column("bond_required", _AMOUNT, nullable=False),
        *map(_number, ("cpu_milli", "cpu_milli_free", "memory_mib", "memory_mib_free", "disk_gib", "disk_gib_free")),
        *map(_number, ("network_mbps_down", "network_mbps_up", "latency_ms")),
        _text("capabilities"),
        *map(_number, ("live_leases", "generation", "registered_ms", "offered_since_ms")),
        _text("ask"),
    )
    for columns in _OFFER_INDEXES:
        _index("offers", columns)
    _create(
        "devices",
        Column("host", Text, primary_key=True),
        _key("place"),
        _number("read_block"),
        *map(_text, ("vendor", "model")),
        *map(_number, ("vram_mib", "simulated", "milli_free")),
        Column("shared_by", Text),
        *map(_number, ("attested", "healthy", "challenged")),
    )
    _index("devices", ("model", "host", "place"))
    _create("due_hosts", Column("host", Text, primary_key=True), _number("since_block"))


def _key(name: str) -> Column[int]:
    return Column(name, _INTEGER, primary_key=True, autoincrement=False)


def _number(name: str) -> Column[int]:
    return Column(name, _INTEGER, nullable=False)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _create(name: str, *columns: SchemaItem) -> None:
    op.create_table(name, *columns, sqlite_with_rowid=False, sqlite_strict=True)


def _index(table: str, columns: tuple[str, ...]) -> None:
    op.create_index(f"{table}_by_{'_'.join(columns)}", table, list(columns))
