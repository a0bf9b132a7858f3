"""Documentation of the runtime's calls, events and errors in the index."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sqlalchemy import delete

from offchain.indexer.database import IndexDatabase
from offchain.indexer.state_rows import DocumentationRow
from offchain.indexer.tables import TABLES
from offchain.ports import ItemDocumentation


def store_documentation(db: IndexDatabase, items: Iterable[ItemDocumentation]) -> None:
    """Replace the documentation in the index if it is another one."""
    rows = [DocumentationRow(one.pallet, one.kind, one.name, one.text, json.dumps(dict(one.fields))) for one in items]
    if set(rows) != set(db.rows(DocumentationRow)):
        with db.transaction():
            db.execute(delete(TABLES[DocumentationRow]))
            db.insert(DocumentationRow, rows)
