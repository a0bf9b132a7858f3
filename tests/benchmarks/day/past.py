"""An outbox as a worker has it after hours of work: acts that have ended and are kept."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from offchain.adapters.outbox.intent_values import pack_call
from offchain.adapters.outbox.store import Store
from offchain.adapters.outbox.tables import TABLES
from offchain.schema.chain_types._generated_chain import calls
from offchain.services.submitter import REMEMBERED_BLOCKS

_IN_A_BATCH: Final = 24
_BATCH_BYTES: Final = 24 * 40


def fill(folder: Path, account: str, acts: int, block: int) -> None:
    """Store `acts` calls of an account that ended evenly over the blocks that a worker remembers, up to `block`."""
    folder.mkdir(mode=0o700, parents=True)
    with contextlib.closing(Store(folder / "worker.db")) as store:
        store.migrate("outbox", TABLES)
        with store.transaction():
            for start in range(0, acts, _IN_A_BATCH):
                at = block - REMEMBERED_BLOCKS + start * REMEMBERED_BLOCKS // acts
                extrinsic, seqs = os.urandom(32), range(start + 1, min(start + _IN_A_BATCH, acts) + 1)
                store.run_many(
                    "INSERT INTO intents (seq, account, key, call, state, attempts, created_ms, block, block_hash,"
                    " block_index, ended_at) VALUES (?, ?, ?, ?, 'done', 1, 0, ?, ?, 2, ?)",
                    [
                        (seq, account, f"past:{seq}", pack_call(calls.tasks_settle(task=seq)), at, extrinsic, at)
                        for seq in seqs
                    ],
                )
                number = store.insert(
                    "INSERT INTO extrinsics (hash, account, data, nonce, born, valid_until, sent_at, alive, confirmed)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, 0, 1)",
                    *(extrinsic, account, os.urandom(_BATCH_BYTES), start, at - 4, at + 27, at - 4),
                )
                store.run_many(
                    "INSERT INTO extrinsic_intents VALUES (?, ?, ?)",
                    [(number, seq, n) for n, seq in enumerate(seqs)],
                )


def kept(folder: Path) -> int:
    """The number of acts in an outbox."""
    with contextlib.closing(Store(folder / "worker.db")) as store:
        row = store.one("SELECT count(*) AS n FROM intents")
        return 0 if row is None else int(row["n"])
