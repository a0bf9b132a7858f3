"""Sign-ins and keys of programs, which gateways write."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text
from sqlalchemy.schema import SchemaItem

revision = "6"
down_revision = "5"

_INTEGER = BigInteger().with_variant(Integer(), "sqlite")


def upgrade() -> None:
    _create("used_nonces", Column("nonce", Text, primary_key=True), _time("expires_ms"))
    op.create_index("used_nonces_by_expires_ms", "used_nonces", ["expires_ms"])
    _create(
        "sessions",
        Column("token_hash", Text, primary_key=True),
        Column("account", Text, nullable=False),
        _time("created_ms"),
        _time("expires_ms"),
    )
    op.create_index("sessions_by_account_created_ms", "sessions", ["account", "created_ms"])
    op.create_index("sessions_by_expires_ms", "sessions", ["expires_ms"])
    _create(
        "api_keys",
        Column("id", Text, primary_key=True),
        *(Column(name, Text, nullable=False) for name in ("account", "name", "key_hash", "scopes")),
        _time("created_ms"),
        _time("expires_ms"),
    )
    op.create_index("api_keys_by_account_id", "api_keys", ["account", "id"])


def _time(name: str) -> Column[int]:
    return Column(name, _INTEGER, nullable=False)


def _create(name: str, *columns: SchemaItem) -> None:
    op.create_table(name, *columns, sqlite_with_rowid=False, sqlite_strict=True)
