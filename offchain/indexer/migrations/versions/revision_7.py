"""Use of hosts over time, indexes of leases and bills by host and time, for reports; and notifications."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text, inspect

revision = "7"
down_revision = "6"

_INTEGER = BigInteger().with_variant(Integer(), "sqlite")
_INDEXES = (("leases", ("host", "assigned_ms")), ("leases", ("host", "ended_ms")), ("bills", ("host", "block")))


def upgrade() -> None:
    op.create_table(
        "host_usage",
        Column("host", Text, primary_key=True),
        Column("until_ms", _INTEGER, primary_key=True, autoincrement=False),
        Column("model", Text, primary_key=True),
        Column("simulated", _INTEGER, primary_key=True, autoincrement=False),
        *(Column(name, _INTEGER, nullable=False) for name in ("since_ms", "online", "offered_milli", "leased_milli")),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    _create_notifications()
    # Derived tables that are there, and those that are being filled to replace them, get the indexes as they are.
    found = inspect(op.get_bind())
    for table, names in _INDEXES:
        for suffix in ("", "_next"):
            if found.has_table(f"{table}{suffix}"):
                op.create_index(f"{table}_by_{'_'.join(names)}{suffix}", f"{table}{suffix}", list(names))


def _create_notifications() -> None:
    options = {"sqlite_with_rowid": False, "sqlite_strict": True}
    op.create_table(
        "subscriptions",
        Column("id", Text, primary_key=True),
        *(Column(name, Text, nullable=False) for name in ("account", "url", "topics", "secret")),
        Column("created_ms", _INTEGER, nullable=False),
        **options,
    )
    op.create_index("subscriptions_by_account_id", "subscriptions", ["account", "id"])
    op.create_table(
        "deliveries",
        Column("recipient", Text, primary_key=True),
        Column("notice", Text, primary_key=True),
        Column("due_ms", _INTEGER, nullable=False),
        Column("attempts", _INTEGER, nullable=False),
        Column("body", Text, nullable=False),
        **options,
    )
    op.create_index("deliveries_by_due_ms", "deliveries", ["due_ms"])
    op.create_table(
        "reminders",
        Column("lease", _INTEGER, primary_key=True, autoincrement=False),
        Column("topic", Text, primary_key=True),
        Column("at_ms", _INTEGER, nullable=False),
        **options,
    )
    op.create_index("reminders_by_at_ms", "reminders", ["at_ms"])
