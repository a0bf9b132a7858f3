"""Deletion of intents with the extrinsics that were signed for them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from offchain.adapters.outbox.store import Store


def delete_intents(store: Store, seqs: Sequence[int]) -> None:
    """Delete intents, and the extrinsics that carry no other one."""
    with store.transaction():
        rows = store.all(
            "SELECT DISTINCT extrinsic FROM extrinsic_intents WHERE seq IN (SELECT value FROM json_each(?))",
            json.dumps(list(seqs)),
        )
        store.run_many("DELETE FROM intents WHERE seq = ?", [(seq,) for seq in seqs])
        store.run_many(
            "DELETE FROM extrinsics WHERE id = ?1 AND NOT EXISTS"
            " (SELECT 1 FROM extrinsic_intents WHERE extrinsic = ?1)",
            [(row["extrinsic"],) for row in rows],
        )
