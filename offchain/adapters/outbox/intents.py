"""Tables of the outbox: intents, and every extrinsic that was signed for them (stored as flights and carried)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from sqlite3 import Row

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
    pack_call,
    unpack_call,
)
from offchain.adapters.outbox.store import Store
from offchain.ports import BlockRef, Call, DispatchFailure, Inclusion, SignedExtrinsic

TABLES = [
    """
    CREATE TABLE intents (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        account TEXT NOT NULL,
        key TEXT NOT NULL,
        call TEXT NOT NULL,
        successor TEXT,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        not_before INTEGER NOT NULL DEFAULT 0,
        created_ms INTEGER NOT NULL,
        block INTEGER, block_hash BLOB, block_index INTEGER,
        failure TEXT,
        reason TEXT,
        UNIQUE (account, key)
    ) STRICT;
    CREATE INDEX intents_by_state ON intents (account, state, seq);
    CREATE TABLE extrinsics (
        hash BLOB PRIMARY KEY,
        seq INTEGER NOT NULL REFERENCES intents ON DELETE CASCADE,
        data BLOB NOT NULL,
        nonce INTEGER NOT NULL,
        born INTEGER NOT NULL,
        valid_until INTEGER NOT NULL,
        sent_at INTEGER NOT NULL,
        alive INTEGER NOT NULL,
        doubted INTEGER NOT NULL DEFAULT 0,
        confirmed INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX extrinsics_by_seq ON extrinsics (seq);
    CREATE TABLE lanes (account TEXT PRIMARY KEY, scanned INTEGER NOT NULL) STRICT
    """,
    # An extrinsic may carry several intents, each as an item of a batch call.
    """
    CREATE TABLE flights (
        hash BLOB PRIMARY KEY,
        account TEXT NOT NULL,
        data BLOB NOT NULL,
        nonce INTEGER NOT NULL,
        born INTEGER NOT NULL,
        valid_until INTEGER NOT NULL,
        sent_at INTEGER NOT NULL,
        alive INTEGER NOT NULL,
        doubted INTEGER NOT NULL DEFAULT 0,
        confirmed INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE carried (
        hash BLOB NOT NULL REFERENCES flights ON DELETE CASCADE,
        seq INTEGER NOT NULL REFERENCES intents ON DELETE CASCADE,
        item INTEGER NOT NULL,
        PRIMARY KEY (hash, seq)
    ) STRICT;
    CREATE INDEX carried_by_seq ON carried (seq);
    INSERT INTO flights SELECT x.hash, i.account, x.data, x.nonce, x.born, x.valid_until, x.sent_at, x.alive, x.doubted,
        x.confirmed FROM extrinsics x JOIN intents i USING (seq);
    INSERT INTO carried SELECT hash, seq, 0 FROM extrinsics;
    DROP TABLE extrinsics
    """,
    # An extrinsic that no block takes is followed by one with the same number and a tip; both may come into a block.
    """
    ALTER TABLE flights ADD COLUMN tip INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE flights ADD COLUMN outbid INTEGER NOT NULL DEFAULT 0
    """,
]


def _submission(rows: list[Row]) -> Submission:
    row = rows[0]
    return Submission(
        tuple(SubmittedIntent(row["seq"], row["key"], row["attempts"]) for row in rows),
        SignedExtrinsic(row["data"], row["hash"], row["account"], row["nonce"], row["valid_until"]),
        row["born"],
        row["sent_at"],
        bool(row["doubted"]),
        bool(row["confirmed"]),
        row["tip"],
        bool(row["outbid"]),
    )


class IntentTable:
    """The intents and extrinsics of one account."""

    def __init__(self, store: Store, account: str) -> None:
        store.migrate("outbox", TABLES)
        self._store = store
        self._account = account

    def state(self, key: str) -> IntentState | None:
        """The state of the intent with this key; None where there is none."""
        row = self._store.one("SELECT state FROM intents WHERE account = ? AND key = ?", self._account, key)
        return None if row is None else IntentState(row["state"])

    def outcome(self, key: str) -> OutboxOutcome | None:
        """The outcome of an intent; None where it has none yet."""
        row = self._store.one("SELECT * FROM intents WHERE account = ? AND key = ?", self._account, key)
        if row is None or row["state"] not in FINAL:
            return None
        if row["state"] == IntentState.DEAD:
            return CallGivenUp(row["reason"])
        block = BlockRef(row["block"], row["block_hash"])
        if row["state"] == IntentState.FAILED:
            return CallRejected(DispatchFailure(*json.loads(row["failure"])), block, row["block_index"])
        return CallIncluded(block, row["block_index"])

    def due(self, block: int, limit: int = 1) -> list[Intent]:
        """The oldest intents that may be signed at this final block."""
        rows = self._store.all(
            "SELECT * FROM intents WHERE account = ? AND state = 'queued' AND not_before <= ? ORDER BY seq LIMIT ?",
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
        rows = self._store.all(
            "SELECT x.*, c.seq, i.key, i.attempts FROM flights x JOIN carried c USING (hash) JOIN intents i USING (seq)"
            " WHERE x.account = ? AND x.alive ORDER BY x.nonce, x.tip, x.hash, c.item",
            self._account,
        )
        return [_submission(list(group)) for _, group in groupby(rows, key=lambda row: bytes(row["hash"]))]

    def calls_of(self, submission: Submission) -> list[Call]:
        """The calls in an extrinsic, by item."""
        rows = self._store.all(
            "SELECT i.call FROM carried JOIN intents i USING (seq) WHERE hash = ? ORDER BY item",
            submission.extrinsic.hash,
        )
        return [unpack_call(row["call"]) for row in rows]

    def unfinished(self) -> int:
        """Number of intents without an outcome."""
        row = self._store.one(
            "SELECT count(*) AS n FROM intents WHERE account = ? AND state IN ('queued', 'sent')", self._account
        )
        return 0 if row is None else int(row["n"])

    def extrinsic_hashes(self) -> frozenset[bytes]:
        """Hashes of all stored extrinsics."""
        rows = self._store.all("SELECT hash FROM flights WHERE account = ?", self._account)
        return frozenset(bytes(row["hash"]) for row in rows)

    @property
    def scanned(self) -> int | None:
        """The last final block that was searched for extrinsics of the account."""
        row = self._store.one("SELECT scanned FROM lanes WHERE account = ?", self._account)
        return None if row is None else int(row["scanned"])

    def add(self, key: str, call: Call, now_ms: int) -> None:
        """Store a new intent."""
        self._store.run(
            "INSERT INTO intents (account, key, call, state, created_ms) VALUES (?, ?, ?, 'queued', ?)",
            self._account,
            key,
            pack_call(call),
            now_ms,
        )

    def replace(self, key: str, call: Call, now_ms: int) -> None:
        """Store a newer call under the same key: instead of one that is not in an extrinsic now, after one that is."""
        if self.state(key) is IntentState.SENT:
            self._store.run(
                "UPDATE intents SET successor = ? WHERE account = ? AND key = ?", pack_call(call), self._account, key
            )
        else:
            self.forget(key)
            self.add(key, call, now_ms)

    def forget(self, key: str) -> None:
        """Delete an intent that is not in an extrinsic now."""
        with self._store.transaction():
            self._store.run("DELETE FROM intents WHERE account = ? AND key = ? AND state != 'sent'", self._account, key)
            self._delete_orphans()

    def forget_ended_before(self, block: int) -> None:
        """Delete intents whose outcome is of an earlier block; dead letters stay."""
        with self._store.transaction():
            self._store.run(
                "DELETE FROM intents WHERE account = ? AND state IN ('done', 'failed') AND block < ?",
                self._account,
                block,
            )
            self._delete_orphans()

    def _delete_orphans(self) -> None:
        """Delete extrinsics that carry no stored intent."""
        self._store.run(
            "DELETE FROM flights WHERE account = ? AND hash NOT IN (SELECT hash FROM carried)", self._account
        )

    def record_signed(self, intents: Sequence[Intent], extrinsic: SignedExtrinsic, era_blocks: int) -> None:
        """Store an extrinsic before it is broadcast. It carries the intents in this order."""
        with self._store.transaction():
            self._insert(extrinsic, era_blocks, 0)
            for item, intent in enumerate(intents):
                self._store.run("UPDATE intents SET state = 'sent', attempts = attempts + 1 WHERE seq = ?", intent.seq)
                self._store.run("INSERT INTO carried VALUES (?, ?, ?)", extrinsic.hash, intent.seq, item)

    def record_replacement(self, submission: Submission, extrinsic: SignedExtrinsic, era_blocks: int, tip: int) -> None:
        """Store an extrinsic with the nonce and calls of `submission` and a larger tip, before it is broadcast."""
        with self._store.transaction():
            self._insert(extrinsic, era_blocks, tip)
            self._store.run("UPDATE flights SET outbid = 1 WHERE hash = ?", submission.extrinsic.hash)
            self._store.run(
                "INSERT INTO carried SELECT ?, seq, item FROM carried WHERE hash = ?",
                extrinsic.hash,
                submission.extrinsic.hash,
            )

    def remove_replacement(self, submission: Submission, extrinsic: SignedExtrinsic) -> None:
        """Delete a replacement that no node has accepted."""
        with self._store.transaction():
            self._store.run("DELETE FROM flights WHERE hash = ?", extrinsic.hash)
            self._store.run("UPDATE flights SET outbid = 0 WHERE hash = ?", submission.extrinsic.hash)

    def _insert(self, extrinsic: SignedExtrinsic, era_blocks: int, tip: int) -> None:
        born = extrinsic.valid_until - era_blocks + 1
        if not self.submissions():
            self.set_scanned(max(self.scanned or 0, born))
        self._store.run(
            "INSERT OR REPLACE INTO flights (hash, account, data, nonce, born, valid_until, sent_at, alive, tip)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?)",
            extrinsic.hash,
            self._account,
            extrinsic.data,
            extrinsic.nonce,
            born,
            extrinsic.valid_until,
            born,
            tip,
        )

    def count_attempt(self, intents: Sequence[Intent]) -> None:
        """Count an attempt that failed before an extrinsic was signed."""
        with self._store.transaction():
            for intent in intents:
                self._store.run("UPDATE intents SET attempts = attempts + 1 WHERE seq = ?", intent.seq)

    def mark_broadcast(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """Note that a node has accepted the extrinsic."""
        self._store.run(
            "UPDATE flights SET sent_at = ?, confirmed = 1, doubted = 0 WHERE hash = ?", block, extrinsic.hash
        )

    def mark_suspect(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """Note that a node has refused the extrinsic, although one may have accepted it before."""
        self._store.run("UPDATE flights SET sent_at = ?, doubted = 1 WHERE hash = ?", block, extrinsic.hash)

    def expire(self, submission: Submission) -> list[SubmittedIntent]:
        """End an extrinsic that no block can include any more; return its intents that are in no other one."""
        with self._store.transaction():
            self._store.run("UPDATE flights SET alive = 0 WHERE hash = ?", submission.extrinsic.hash)
            return [one for one in submission.intents if not self._has_submission(one.seq)]

    def _has_submission(self, seq: int) -> bool:
        found = self._store.one("SELECT 1 FROM carried JOIN flights USING (hash) WHERE seq = ? AND alive", seq)
        return found is not None

    def requeue(self, seq: int, not_before: int, reason: str | None = None) -> None:
        """Queue an intent again whose extrinsics cannot be included any more, from the final block `not_before` on.

        `reason`: why the last one was not included, for people.
        """
        with self._store.transaction():
            self._end_submissions(seq)
            self._store.run(
                "UPDATE intents SET state = 'queued', not_before = ?, reason = ? WHERE seq = ?", not_before, reason, seq
            )
            self._start_successor(seq)

    def postpone(self, seq: int, not_before: int) -> None:
        """Queue an intent again that a node refuses for now only: the attempt does not count."""
        with self._store.transaction():
            self.requeue(seq, not_before)
            self._store.run("UPDATE intents SET attempts = attempts - 1 WHERE seq = ? AND state = 'queued'", seq)

    def give_up(self, seq: int, reason: str) -> None:
        """End an intent without effect: no extrinsic of it can be included, and no other will be signed."""
        with self._store.transaction():
            self._end_submissions(seq)
            self._store.run("UPDATE intents SET state = 'dead', reason = ? WHERE seq = ?", reason, seq)
            self._start_successor(seq)

    def record_included(self, inclusion: Inclusion, block: BlockRef) -> list[str]:
        """Store the outcomes of the intents in an included extrinsic; return their keys, none where it is not ours."""
        rows = self._store.all(
            "SELECT c.item, i.seq, i.key FROM flights x JOIN carried c USING (hash) JOIN intents i USING (seq)"
            " WHERE x.hash = ? AND x.account = ? ORDER BY c.item",
            inclusion.extrinsic_hash,
            self._account,
        )
        with self._store.transaction():
            for row in rows:
                failure = inclusion.failure
                if failure is None and len(rows) > 1:
                    failure = inclusion.refused.get(row["item"])
                self._end_submissions(row["seq"])
                self._store.run(
                    "UPDATE intents SET state = ?, block = ?, block_hash = ?, block_index = ?, failure = ?,"
                    " reason = NULL WHERE seq = ?",
                    IntentState.DONE if failure is None else IntentState.FAILED,
                    block.number,
                    block.hash,
                    inclusion.index,
                    None if failure is None else json.dumps([failure.pallet, failure.name, failure.doc]),
                    row["seq"],
                )
                self._start_successor(row["seq"])
        return [str(row["key"]) for row in rows]

    def give_up_included(self, extrinsic_hash: bytes, reason: str) -> list[str]:
        """Give up the intents of an extrinsic that is included with unknown outcome; return their keys."""
        rows = self._store.all(
            "SELECT i.seq, i.key FROM carried c JOIN flights x USING (hash) JOIN intents i USING (seq)"
            " WHERE c.hash = ? AND x.account = ? AND i.state = 'sent'",
            extrinsic_hash,
            self._account,
        )
        with self._store.transaction():
            for row in rows:
                self.give_up(row["seq"], reason)
        return [str(row["key"]) for row in rows]

    def _end_submissions(self, seq: int) -> None:
        """End all extrinsics of an intent."""
        self._store.run(
            "UPDATE flights SET alive = 0 WHERE hash IN (SELECT hash FROM carried WHERE seq = ?) AND alive", seq
        )

    def set_scanned(self, block: int) -> None:
        """Note that the final blocks up to this one were searched."""
        self._store.run("INSERT OR REPLACE INTO lanes VALUES (?, ?)", self._account, block)

    def _start_successor(self, seq: int) -> None:
        """Queue the newer call that waited for this one to end, if there is one."""
        self._store.run(
            "UPDATE intents SET call = successor, successor = NULL, state = 'queued', attempts = 0, not_before = 0,"
            " block = NULL, block_hash = NULL, block_index = NULL, failure = NULL, reason = NULL"
            " WHERE seq = ? AND successor IS NOT NULL",
            seq,
        )
