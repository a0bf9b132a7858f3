"""The table `meta`: properties of the whole index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import delete

from offchain.indexer.database import IndexDatabase
from offchain.indexer.rows import MetaRow
from offchain.indexer.tables import DERIVED_VERSION, SCHEMA_VERSION, TABLES, columns

HALTED: Final = "halted"
"""Why the index may not be read, while the node does not serve the chain that is in it."""
KEPT_FROM: Final = "kept_from"
"""First block whose events, extrinsics and mentions are kept; absent if retention has removed none."""
DERIVED: Final = "derived"
"""Version of the derived tables; absent while they are incomplete."""
DERIVED_TO: Final = "derived_to"
"""Last block in the derived tables; absent if that is the last block of the index."""
NEXT_DERIVED: Final = "next_derived"
"""Version of the derived tables that are being filled."""
NEXT_DERIVED_TO: Final = "next_derived_to"
"""Last block in the derived tables that are being filled."""

NOTIFIED_TO: Final = "notified_to"
"""Last block whose events the notifier has read."""
GENESIS_BALANCES: Final = "genesis_balances"
"""Number of accounts in the table of this name; absent while it has not been filled."""


def read_meta(db: IndexDatabase) -> dict[str, str]:
    """Return the table `meta`; empty if nothing was written yet."""
    return {row.name: row.value for row in db.rows(MetaRow)} if db.has_table(MetaRow.TABLE) else {}


def note(db: IndexDatabase, name: str, value: str | int) -> None:
    db.upsert(MetaRow, [MetaRow(name, str(value))])


def forget(db: IndexDatabase, *names: str) -> None:
    db.execute(delete(TABLES[MetaRow]).where(columns(MetaRow).name.in_(names)))


def kept_from(meta: Mapping[str, str]) -> int:
    """Return the first block whose events are kept; 0 if all are."""
    return int(meta.get(KEPT_FROM, 0))


def is_newer(meta: Mapping[str, str]) -> bool:
    """Whether a newer release than this one has written the index."""
    return int(meta.get("schema", 0)) > SCHEMA_VERSION or int(meta.get(DERIVED, 0)) > DERIVED_VERSION
