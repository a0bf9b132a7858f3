"""Deletion of intents with the extrinsics that were signed for them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from offchain.adapters.outbox.connection import StoreConnection
from offchain.adapters.outbox.intent_values import IntentState

MOST_DELETED: Final = 64
"""Old intents that are deleted in one transaction, with each final block: 2.7 million a day."""


@dataclass(frozen=True, slots=True)
class EndedBefore:
    """The intents in a final state that ended before this final block."""

    state: IntentState
    block: int


def delete_intents(db: StoreConnection, seqs: Sequence[int]) -> None:
    """Delete intents, and the extrinsics that carry no other one."""
    with db.transaction():
        rows = db.all(
            "SELECT DISTINCT extrinsic FROM extrinsic_intents WHERE seq IN (SELECT value FROM json_each(?))",
            json.dumps(list(seqs)),
        )
        db.run_many("DELETE FROM intents WHERE seq = ?", [(seq,) for seq in seqs])
        db.run_many(
            "DELETE FROM extrinsics WHERE id = ?1 AND NOT EXISTS"
            " (SELECT 1 FROM extrinsic_intents WHERE extrinsic = ?1)",
            [(row["extrinsic"],) for row in rows],
        )


def ended_intents(read: Callable[..., Sequence[Any]], account: str, wanted: Sequence[EndedBefore]) -> list[int]:
    """The oldest ended intents of an account, at most MOST_DELETED.

    `read`: executes a statement with values and returns its rows.
    """
    found: list[int] = []
    for ended in wanted:
        rows = read(
            "SELECT seq FROM intents WHERE account = ? AND state = ? AND ended_at < ? ORDER BY ended_at LIMIT ?",
            *(account, ended.state, ended.block, MOST_DELETED - len(found)),
        )
        found += [row[0] for row in rows]
    return found


def load_old_pages(path: str, account: str, wanted: Sequence[EndedBefore]) -> int:
    """Read the pages of a database file that the deletion of :func:`ended_intents` changes; return their number.

    The pages of old rows are on the disk only. Read by the deletion itself, they held up all commits behind it; this
    holds up nobody. The deletion finds them in the page cache of the kernel then.
    """
    # What is wrong with the disk is reported by the deletion.
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_open_existing(path)) as db:

        def read(statement: str, *values: Any) -> list[Any]:
            return db.execute(statement, values).fetchall()

        seqs = ended_intents(read, account, wanted)
        extrinsics: set[int] = set()
        for seq in seqs:
            # The row with its overflow pages, then each index that has an entry of it.
            for row in read("SELECT * FROM intents WHERE seq = ?", seq):
                read("SELECT seq FROM intents WHERE account = ? AND key = ?", row[1], row[2])
            read(
                "SELECT seq FROM intents INDEXED BY intents_by_state WHERE account = ? AND seq = ?"
                " AND state IN ('done', 'failed', 'dead')",
                *(account, seq),
            )
            extrinsics.update(row[0] for row in read("SELECT extrinsic FROM extrinsic_intents WHERE seq = ?", seq))
        for extrinsic in extrinsics:
            read("SELECT * FROM extrinsics WHERE id = ?", extrinsic)
            read("SELECT * FROM extrinsic_intents WHERE extrinsic = ?", extrinsic)
        return len(seqs)
    return MOST_DELETED


def _open_existing(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=rw", uri=True)
