"""Reads of intents and the extrinsics that were signed for them, from the tables of the outbox.

The cost of a read depends on what is pending, not on what is kept of the past.
"""

from __future__ import annotations

import json
from sqlite3 import Row

from offchain.adapters.outbox.connection import StoreConnection
from offchain.adapters.outbox.intent_values import (
    FINAL,
    CallGivenUp,
    CallIncluded,
    CallRejected,
    Intent,
    IntentState,
    OutboxOutcome,
    Submission,
    SubmittedIntent,
    unpack_call,
)
from offchain.ports import BlockRef, Call, DispatchFailure, SignedExtrinsic


def _submission(row: Row) -> Submission:
    return Submission(
        row["id"],
        SignedExtrinsic(row["data"], row["hash"], row["account"], row["nonce"], row["born"], row["valid_until"]),
        row["sent_at"],
        bool(row["doubted"]),
        bool(row["confirmed"]),
        row["tip"],
        bool(row["outbid"]),
    )


class IntentReads:
    """Reads of the intents and extrinsics of one account."""

    def __init__(self, db: StoreConnection, account: str) -> None:
        self._db = db
        self._account = account

    def state(self, key: str) -> IntentState | None:
        """The state of the intent with this key; None where there is none."""
        row = self._db.one("SELECT state FROM intents WHERE account = ? AND key = ?", self._account, key)
        return None if row is None else IntentState(row["state"])

    def outcome(self, key: str) -> OutboxOutcome | None:
        """The outcome of an intent; None where it has none yet."""
        row = self._db.one("SELECT * FROM intents WHERE account = ? AND key = ?", self._account, key)
        if row is None or row["state"] not in FINAL:
            return None
        if row["state"] == IntentState.DEAD:
            return CallGivenUp(row["reason"])
        block = BlockRef(row["block"], row["block_hash"])
        if row["state"] == IntentState.FAILED:
            return CallRejected(DispatchFailure(*json.loads(row["failure"])), block, row["block_index"])
        return CallIncluded(block, row["block_index"])

    def due(self, block: int, limit: int = 1) -> list[Intent]:
        """The next intents that may be signed at this block: urgent ones, then the oldest."""
        rows = self._db.all(
            "SELECT * FROM intents WHERE account = ? AND state = 'queued' AND not_before <= ?"
            " ORDER BY urgent DESC, seq LIMIT ?",
            self._account,
            block,
            limit,
        )
        return [
            Intent(row["seq"], row["key"], unpack_call(row["call"]), IntentState(row["state"]), row["attempts"])
            for row in rows
        ]

    def submissions(self) -> list[Submission]:
        """Extrinsics that a block may still include, by nonce."""
        rows = self._db.all(
            "SELECT * FROM extrinsics WHERE account = ? AND alive ORDER BY nonce, tip, hash", self._account
        )
        return [_submission(row) for row in rows]

    def pending(self) -> list[Submission]:
        """Extrinsics that nodes are to have: of those with the same nonce and calls, the one with the largest tip."""
        return [submission for submission in self.submissions() if not submission.is_replaced]

    def intents_of(self, submission: Submission) -> list[SubmittedIntent]:
        """The intents in an extrinsic, by item."""
        rows = self._db.all(
            "SELECT seq, key, attempts FROM extrinsic_intents JOIN intents USING (seq) WHERE extrinsic = ?"
            " ORDER BY item",
            submission.id,
        )
        return [SubmittedIntent(row["seq"], row["key"], row["attempts"]) for row in rows]

    def has_submissions(self) -> bool:
        found = self._db.one("SELECT 1 FROM extrinsics WHERE account = ? AND alive LIMIT 1", self._account)
        return found is not None

    def calls_of(self, submission: Submission) -> list[Call]:
        """The calls in an extrinsic, by item."""
        rows = self._db.all(
            "SELECT i.call FROM extrinsic_intents JOIN intents i USING (seq) WHERE extrinsic = ? ORDER BY item",
            submission.id,
        )
        return [unpack_call(row["call"]) for row in rows]

    def unfinished(self) -> int:
        """Number of intents without an outcome."""
        row = self._db.one(
            "SELECT count(*) AS n FROM intents WHERE account = ? AND state IN ('queued', 'sent')", self._account
        )
        return 0 if row is None else int(row["n"])

    def number_of(self, state: IntentState) -> int:
        """Number of intents in this state."""
        row = self._db.one("SELECT count(*) AS n FROM intents WHERE account = ? AND state = ?", self._account, state)
        return 0 if row is None else int(row["n"])

    def has_unfinished(self) -> bool:
        """Whether any intent has no outcome."""
        row = self._db.one(
            "SELECT 1 FROM intents WHERE account = ? AND state IN ('queued', 'sent') LIMIT 1", self._account
        )
        return row is not None

    def extrinsic_hashes(self) -> frozenset[bytes]:
        """Hashes of all stored extrinsics."""
        rows = self._db.all("SELECT hash FROM extrinsics WHERE account = ?", self._account)
        return frozenset(bytes(row["hash"]) for row in rows)

    @property
    def scanned(self) -> int | None:
        """The last final block that was searched for extrinsics of the account."""
        row = self._db.one("SELECT scanned FROM lanes WHERE account = ?", self._account)
        return None if row is None else int(row["scanned"])
