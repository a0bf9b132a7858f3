"""Intents and the extrinsics that were signed for them, in the tables of the outbox.

The cost of a call depends on what is pending, not on what is kept of the past.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from sqlite3 import Row

from offchain.adapters.outbox.deletion import delete_intents
from offchain.adapters.outbox.intent_values import (
    FINAL,
    CallGivenUp,
    CallIncluded,
    CallRejected,
    Intent,
    IntentState,
    OutboxCounts,
    OutboxOutcome,
    Submission,
    SubmittedIntent,
    pack_call,
    unpack_call,
)
from offchain.adapters.outbox.store import Store
from offchain.adapters.outbox.tables import TABLES
from offchain.ports import BlockRef, Call, DispatchFailure, Inclusion, SignedExtrinsic

_MOST_HASHES = 10_000
"""In one statement: SQLite allows 32,766 values."""


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


class IntentTable:
    """The intents and extrinsics of one account."""

    def __init__(self, store: Store, account: str, counts: OutboxCounts | None = None) -> None:
        store.migrate("outbox", TABLES)
        self._store = store
        self._account = account
        self._counts = counts or OutboxCounts()

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
        """The next intents that may be signed at this block: urgent ones, then the oldest."""
        rows = self._store.all(
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
        rows = self._store.all(
            "SELECT * FROM extrinsics WHERE account = ? AND alive ORDER BY nonce, tip, hash", self._account
        )
        return [_submission(row) for row in rows]

    def intents_of(self, submission: Submission) -> list[SubmittedIntent]:
        """The intents in an extrinsic, by item."""
        rows = self._store.all(
            "SELECT seq, key, attempts FROM extrinsic_intents JOIN intents USING (seq) WHERE extrinsic = ?"
            " ORDER BY item",
            submission.id,
        )
        return [SubmittedIntent(row["seq"], row["key"], row["attempts"]) for row in rows]

    def _has_submissions(self) -> bool:
        found = self._store.one("SELECT 1 FROM extrinsics WHERE account = ? AND alive LIMIT 1", self._account)
        return found is not None

    def calls_of(self, submission: Submission) -> list[Call]:
        """The calls in an extrinsic, by item."""
        rows = self._store.all(
            "SELECT i.call FROM extrinsic_intents JOIN intents i USING (seq) WHERE extrinsic = ? ORDER BY item",
            submission.id,
        )
        return [unpack_call(row["call"]) for row in rows]

    def unfinished(self) -> int:
        """Number of intents without an outcome."""
        row = self._store.one(
            "SELECT count(*) AS n FROM intents WHERE account = ? AND state IN ('queued', 'sent')", self._account
        )
        return 0 if row is None else int(row["n"])

    def number_of(self, state: IntentState) -> int:
        """Number of intents in this state."""
        row = self._store.one("SELECT count(*) AS n FROM intents WHERE account = ? AND state = ?", self._account, state)
        return 0 if row is None else int(row["n"])

    def has_unfinished(self) -> bool:
        """Whether any intent has no outcome."""
        row = self._store.one(
            "SELECT 1 FROM intents WHERE account = ? AND state IN ('queued', 'sent') LIMIT 1", self._account
        )
        return row is not None

    def extrinsic_hashes(self) -> frozenset[bytes]:
        """Hashes of all stored extrinsics."""
        rows = self._store.all("SELECT hash FROM extrinsics WHERE account = ?", self._account)
        return frozenset(bytes(row["hash"]) for row in rows)

    @property
    def scanned(self) -> int | None:
        """The last final block that was searched for extrinsics of the account."""
        row = self._store.one("SELECT scanned FROM lanes WHERE account = ?", self._account)
        return None if row is None else int(row["scanned"])

    def add(self, new: Mapping[str, Call], now_ms: int, urgent: Collection[str] = ()) -> None:
        """Store new intents by key, in this order; one whose key is known already is left out.

        `urgent`: keys of those that are sent before the others.
        """
        if not new:
            return
        self._store.run(
            "INSERT INTO intents (account, key, call, urgent, state, created_ms)"
            " SELECT ?, value ->> 0, value ->> 1, value ->> 2, 'queued', ? FROM json_each(?) WHERE true"
            " ON CONFLICT (account, key) DO NOTHING",
            self._account,
            now_ms,
            json.dumps([(key, pack_call(call), int(key in urgent)) for key, call in new.items()]),
        )

    def replace(self, key: str, call: Call, now_ms: int, *, urgent: bool = False) -> None:
        """Store a newer call under the same key: instead of one that is not in an extrinsic now, after one that is."""
        if self.state(key) is IntentState.SENT:
            self._store.run(
                "UPDATE intents SET successor = ? WHERE account = ? AND key = ?", pack_call(call), self._account, key
            )
        else:
            self.forget(key)
            self.add({key: call}, now_ms, (key,) if urgent else ())

    def forget(self, key: str) -> None:
        """Delete an intent that is not in an extrinsic now."""
        with self._store.transaction():
            found = self._store.one(
                "SELECT seq FROM intents WHERE account = ? AND key = ? AND state != 'sent'", self._account, key
            )
            if found is not None:
                delete_intents(self._store, [found["seq"]])

    def forget_ended_before(self, block: int, *states: IntentState, limit: int) -> int:
        """Delete at most `limit` intents in these final states that ended before a final block; return how many."""
        deleted = 0
        with self._store.transaction():
            for state in states:
                rows = self._store.all(
                    "SELECT seq FROM intents WHERE account = ? AND state = ? AND ended_at < ?"
                    " ORDER BY ended_at LIMIT ?",
                    self._account,
                    state,
                    block,
                    limit - deleted,
                )
                delete_intents(self._store, [row["seq"] for row in rows])
                deleted += len(rows)
        return deleted

    def record_signed(self, intents: Sequence[Intent], extrinsic: SignedExtrinsic) -> None:
        """Store an extrinsic before it is broadcast. It carries the intents in this order."""
        with self._store.transaction():
            number = self._insert(extrinsic, 0)
            self._store.run_many(
                "UPDATE intents SET state = 'sent', attempts = attempts + 1 WHERE seq = ?",
                [(intent.seq,) for intent in intents],
            )
            self._store.run_many(
                "INSERT INTO extrinsic_intents VALUES (?, ?, ?)",
                [(number, intent.seq, item) for item, intent in enumerate(intents)],
            )

    def record_replacement(self, submission: Submission, extrinsic: SignedExtrinsic, tip: int) -> None:
        """Store an extrinsic with the nonce and calls of `submission` and a larger tip, before it is broadcast."""
        with self._store.transaction():
            number = self._insert(extrinsic, tip)
            self._store.run("UPDATE extrinsics SET outbid = 1 WHERE id = ?", submission.id)
            self._store.run(
                "INSERT INTO extrinsic_intents SELECT ?, seq, item FROM extrinsic_intents WHERE extrinsic = ?",
                number,
                submission.id,
            )

    def remove_replacement(self, submission: Submission, extrinsic: SignedExtrinsic) -> None:
        """Delete a replacement that no node has accepted."""
        with self._store.transaction():
            self._store.run("DELETE FROM extrinsics WHERE hash = ? AND alive", extrinsic.hash)
            self._store.run("UPDATE extrinsics SET outbid = 0 WHERE id = ?", submission.id)

    def _insert(self, extrinsic: SignedExtrinsic, tip: int) -> int:
        """Store an extrinsic, and return its number in the database."""
        self._counts.signed += 1
        if not self._has_submissions():
            self.set_scanned(max(self.scanned or 0, extrinsic.born))
        return self._store.insert(
            "INSERT OR REPLACE INTO extrinsics (hash, account, data, nonce, born, valid_until, sent_at, alive, tip)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?)",
            extrinsic.hash,
            self._account,
            extrinsic.data,
            extrinsic.nonce,
            extrinsic.born,
            extrinsic.valid_until,
            extrinsic.born,
            tip,
        )

    def count_attempt(self, intents: Sequence[Intent]) -> None:
        """Count an attempt that failed before an extrinsic was signed."""
        self._store.run_many(
            "UPDATE intents SET attempts = attempts + 1 WHERE seq = ?", [(intent.seq,) for intent in intents]
        )

    def mark_broadcast(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """Note that a node has accepted the extrinsic."""
        self._store.run(
            "UPDATE extrinsics SET sent_at = ?, confirmed = 1, doubted = 0 WHERE hash = ? AND alive",
            block,
            extrinsic.hash,
        )

    def mark_suspect(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """Note that a node has refused the extrinsic, although one may have accepted it before."""
        self._store.run(
            "UPDATE extrinsics SET sent_at = ?, doubted = 1 WHERE hash = ? AND alive", block, extrinsic.hash
        )

    def expire(self, submission: Submission) -> list[SubmittedIntent]:
        """End an extrinsic that no block can include any more; return its intents that are in no other one."""
        with self._store.transaction():
            self._store.run("UPDATE extrinsics SET alive = 0 WHERE id = ?", submission.id)
            return [one for one in self.intents_of(submission) if not self._has_submission(one.seq)]

    def _has_submission(self, seq: int) -> bool:
        found = self._store.one(
            "SELECT 1 FROM extrinsic_intents c JOIN extrinsics x ON x.id = c.extrinsic WHERE c.seq = ? AND x.alive", seq
        )
        return found is not None

    def requeue(self, seq: int, not_before: int, reason: str | None = None) -> None:
        """Queue an intent again whose extrinsics cannot be included any more, from the block `not_before` on.

        `reason`: why the last one was not included, for people.
        """
        with self._store.transaction():
            self._end_submissions(seq)
            self._store.run(
                "UPDATE intents SET state = 'queued', not_before = ?, reason = ? WHERE seq = ?", not_before, reason, seq
            )
            self._start_successors([seq])

    def postpone(self, seq: int, not_before: int) -> None:
        """Queue an intent again that a node refuses for now only: the attempt does not count."""
        with self._store.transaction():
            self.requeue(seq, not_before)
            self._store.run("UPDATE intents SET attempts = attempts - 1 WHERE seq = ? AND state = 'queued'", seq)

    def give_up(self, seq: int, reason: str, block: int) -> None:
        """End an intent without effect at this final block: no extrinsic of it can be included, none will be signed."""
        self._counts.given_up += 1
        with self._store.transaction():
            self._end_submissions(seq)
            self._store.run(
                "UPDATE intents SET state = 'dead', reason = ?, ended_at = ? WHERE seq = ?", reason, block, seq
            )
            self._start_successors([seq])

    def record_included(self, inclusions: Sequence[Inclusion], block: BlockRef) -> list[str]:
        """Store the outcomes of the intents in the extrinsics of a block; return their keys."""
        carried = self._intents_in([inclusion.extrinsic_hash for inclusion in inclusions])
        if not carried:
            return []
        outcomes, refused = [], []
        for inclusion in inclusions:
            rows = carried.get(inclusion.extrinsic_hash)
            if rows is None:
                continue
            failure = None if inclusion.failure is None else _pack_failure(inclusion.failure)
            state = IntentState.DONE if failure is None else IntentState.FAILED
            place = (block.number, block.hash, inclusion.index)
            outcomes.append((state, failure, *place, block.number, rows[0]["extrinsic"]))
            if failure is None and len(rows) > 1:
                items = inclusion.refused
                refused += [(_pack_failure(items[row["item"]]), row["seq"]) for row in rows if row["item"] in items]
        ended = [row for rows in carried.values() for row in rows]
        seqs = [row["seq"] for row in ended]
        with self._store.transaction():
            self._store.run(
                "UPDATE extrinsics SET alive = 0 WHERE alive AND id IN"
                " (SELECT extrinsic FROM extrinsic_intents WHERE seq IN (SELECT value FROM json_each(?)))",
                json.dumps(seqs),
            )
            self._store.run_many(
                "UPDATE intents SET state = ?, failure = ?, block = ?, block_hash = ?, block_index = ?, ended_at = ?,"
                " reason = NULL WHERE seq IN (SELECT seq FROM extrinsic_intents WHERE extrinsic = ?)",
                outcomes,
            )
            self._store.run_many("UPDATE intents SET state = 'failed', failure = ? WHERE seq = ?", refused)
            self._start_successors(seqs)
        failed = {one[-1] for one in outcomes if one[0] is IntentState.FAILED}
        rejected = len(refused) + sum(row["extrinsic"] in failed for row in ended)
        self._counts.rejected += rejected
        self._counts.included += len(ended) - rejected
        return [str(row["key"]) for row in ended]

    def _intents_in(self, hashes: Sequence[bytes]) -> dict[bytes, list[Row]]:
        """The intents in these extrinsics, by hash and item, without extrinsics of others."""
        found: dict[bytes, list[Row]] = {}
        for start in range(0, len(hashes), _MOST_HASHES):
            some = hashes[start : start + _MOST_HASHES]
            rows = self._store.all(
                "SELECT x.hash, c.extrinsic, c.item, i.seq, i.key"  # noqa: S608  (question marks only)
                " FROM extrinsics x JOIN extrinsic_intents c ON c.extrinsic = x.id JOIN intents i USING (seq)"
                f" WHERE x.account = ? AND x.alive AND x.hash IN ({', '.join('?' * len(some))})"
                " ORDER BY c.extrinsic, c.item",
                self._account,
                *some,
            )
            for row in rows:
                found.setdefault(bytes(row["hash"]), []).append(row)
        return found

    def give_up_included(self, extrinsic_hash: bytes, reason: str, block: int) -> list[str]:
        """Give up the intents of an extrinsic that this block includes with unknown outcome; return their keys."""
        rows = self._store.all(
            "SELECT i.seq, i.key FROM extrinsics x JOIN extrinsic_intents c ON c.extrinsic = x.id"
            " JOIN intents i USING (seq) WHERE x.hash = ? AND x.alive AND x.account = ? AND i.state = 'sent'",
            extrinsic_hash,
            self._account,
        )
        with self._store.transaction():
            for row in rows:
                self.give_up(row["seq"], reason, block)
        return [str(row["key"]) for row in rows]

    def _end_submissions(self, seq: int) -> None:
        """End all extrinsics of an intent."""
        self._store.run(
            "UPDATE extrinsics SET alive = 0 WHERE alive AND id IN"
            " (SELECT extrinsic FROM extrinsic_intents WHERE seq = ?)",
            seq,
        )

    def set_scanned(self, block: int) -> None:
        """Note that the final blocks up to this one were searched."""
        self._store.run("INSERT OR REPLACE INTO lanes VALUES (?, ?)", self._account, block)

    def _start_successors(self, seqs: Sequence[int]) -> None:
        """Queue the newer calls that waited for these to end."""
        self._store.run(
            "UPDATE intents SET call = successor, successor = NULL, state = 'queued', attempts = 0, not_before = 0,"
            " block = NULL, block_hash = NULL, block_index = NULL, failure = NULL, reason = NULL, ended_at = NULL"
            " WHERE successor IS NOT NULL AND seq IN (SELECT value FROM json_each(?))",
            json.dumps(seqs),
        )


def _pack_failure(failure: DispatchFailure) -> str:
    return json.dumps([failure.pallet, failure.name, failure.doc])
