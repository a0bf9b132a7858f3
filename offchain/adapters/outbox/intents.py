"""Changes of intents and of the extrinsics that were signed for them, in the tables of the outbox.

The cost of a change depends on what is pending, not on what is kept of the past.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from sqlite3 import Row

from offchain.adapters.outbox.connection import StoreConnection
from offchain.adapters.outbox.deletion import EndedBefore, delete_intents, ended_intents
from offchain.adapters.outbox.intent_reads import IntentReads
from offchain.adapters.outbox.intent_values import (
    Intent,
    IntentState,
    OutboxCounts,
    Submission,
    SubmittedIntent,
    pack_call,
)
from offchain.adapters.outbox.retry import give_up_reason, retry_after, retry_reason
from offchain.errors import SubmitRefusal
from offchain.ports import BlockRef, Call, DispatchFailure, Inclusion, SignedExtrinsic

_MOST_HASHES = 10_000
"""In one statement: SQLite allows 32,766 values."""


class IntentTable(IntentReads):
    """Reads and changes of the intents and extrinsics of one account, on one connection.

    `counts` is kept up to date.
    """

    def __init__(self, db: StoreConnection, account: str, counts: OutboxCounts | None = None) -> None:
        super().__init__(db, account)
        self._counts = counts or OutboxCounts()

    def add(self, new: Mapping[str, Call], now_ms: int, urgent: Collection[str] = ()) -> None:
        """Store new intents by key, in this order; one whose key is known already is left out.

        `urgent`: keys of those that are sent before the others.
        """
        if not new:
            return
        self._db.run(
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
            self._db.run(
                "UPDATE intents SET successor = ? WHERE account = ? AND key = ?", pack_call(call), self._account, key
            )
        else:
            self.forget(key)
            self.add({key: call}, now_ms, (key,) if urgent else ())

    def forget(self, key: str) -> bool:
        """Delete an intent that is not in an extrinsic now; return whether the key is free then."""
        with self._db.transaction():
            state = self.state(key)
            if state is None or state is IntentState.SENT:
                return state is None
            found = self._db.one("SELECT seq FROM intents WHERE account = ? AND key = ?", self._account, key)
            delete_intents(self._db, [] if found is None else [found["seq"]])
            return True

    def take_back(self, key: str) -> bool:
        """Delete an intent that waits to be signed; return whether the key is free then."""
        with self._db.transaction():
            return self.state(key) in (None, IntentState.QUEUED) and self.forget(key)

    def forget_ended(self, wanted: Sequence[EndedBefore]) -> None:
        """Delete the intents that :func:`ended_intents` finds."""
        with self._db.transaction():
            delete_intents(self._db, ended_intents(self._db.all, self._account, wanted))

    def record_signed(self, intents: Sequence[Intent], extrinsic: SignedExtrinsic, block: int) -> bool:
        """Store an extrinsic before it is broadcast. It carries the intents in this order.

        False, and nothing is stored, where they are not the next that are due at this block: since the signing began,
        one may have been superseded or forgotten, also by `gantry outbox`.
        """
        with self._db.transaction():
            due = self.due(block, len(intents))
            if [(one.seq, one.call) for one in due] != [(one.seq, one.call) for one in intents]:
                return False
            number = self._insert(extrinsic, 0)
            self._db.run_many(
                "UPDATE intents SET state = 'sent', attempts = attempts + 1 WHERE seq = ?",
                [(intent.seq,) for intent in intents],
            )
            self._db.run_many(
                "INSERT INTO extrinsic_intents VALUES (?, ?, ?)",
                [(number, intent.seq, item) for item, intent in enumerate(intents)],
            )
            return True

    def record_replacement(self, submission: Submission, extrinsic: SignedExtrinsic, tip: int) -> bool:
        """Store an extrinsic with the nonce and calls of `submission` and a larger tip, before it is broadcast.

        False, and nothing is stored, where a final block has included `submission` meanwhile.
        """
        with self._db.transaction():
            outbid = "UPDATE extrinsics SET outbid = 1 WHERE id = ? AND alive AND NOT outbid"
            if not self._db.run(outbid, submission.id):
                return False
            number = self._insert(extrinsic, tip)
            self._db.run(
                "INSERT INTO extrinsic_intents SELECT ?, seq, item FROM extrinsic_intents WHERE extrinsic = ?",
                number,
                submission.id,
            )
            return True

    def remove_replacement(self, submission: Submission, extrinsic: SignedExtrinsic) -> None:
        """Delete a replacement that no node has accepted."""
        with self._db.transaction():
            self._db.run("DELETE FROM extrinsics WHERE hash = ? AND alive", extrinsic.hash)
            self._db.run("UPDATE extrinsics SET outbid = 0 WHERE id = ?", submission.id)

    def _insert(self, extrinsic: SignedExtrinsic, tip: int) -> int:
        """Store an extrinsic, and return its number in the database."""
        self._counts.signed += 1
        if not self.has_submissions():
            self._set_scanned(max(self.scanned or 0, extrinsic.born))
        return self._db.insert(
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
        self._db.run_many(
            "UPDATE intents SET attempts = attempts + 1 WHERE seq = ? AND state = 'queued'",
            [(intent.seq,) for intent in intents],
        )

    def mark_broadcast(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """Note that a node has accepted the extrinsic."""
        self._db.run(
            "UPDATE extrinsics SET sent_at = ?, confirmed = 1, doubted = 0 WHERE hash = ? AND alive",
            block,
            extrinsic.hash,
        )

    def mark_suspect(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """Note that a node has refused the extrinsic, although one may have accepted it before."""
        self._db.run("UPDATE extrinsics SET sent_at = ?, doubted = 1 WHERE hash = ? AND alive", block, extrinsic.hash)

    def expire(self, submission: Submission) -> list[SubmittedIntent]:
        """End an extrinsic that no block can include any more; return its intents that are in no other one."""
        with self._db.transaction():
            if not self._db.run("UPDATE extrinsics SET alive = 0 WHERE id = ? AND alive", submission.id):
                return []
            return [one for one in self.intents_of(submission) if not self._has_submission(one.seq)]

    def _has_submission(self, seq: int) -> bool:
        found = self._db.one(
            "SELECT 1 FROM extrinsic_intents c JOIN extrinsics x ON x.id = c.extrinsic WHERE c.seq = ? AND x.alive", seq
        )
        return found is not None

    def retry_or_give_up(
        self, intents: Sequence[SubmittedIntent], refusal: SubmitRefusal, block: int, retry_clock: int
    ) -> list[str]:
        """Queue or give up the intents of an extrinsic that no block includes; return the keys of those given up.

        `block`: the final block at which they end. `retry_clock`: the block that retries are timed by.
        """
        given_up: list[str] = []
        with self._db.transaction():
            for one in intents:
                pause = retry_after(refusal, one.attempts)
                if pause is not None:
                    self._requeue(one.seq, max(block, retry_clock) + pause, retry_reason(refusal))
                elif self._is_sent(one.seq):
                    self.give_up(one.seq, give_up_reason(refusal), block)
                    given_up.append(one.key)
        return given_up

    def _requeue(self, seq: int, not_before: int, reason: str | None = None) -> None:
        """Queue an intent again whose extrinsics cannot be included any more, from the block `not_before` on.

        `reason`: why the last one was not included, for people. Without effect where it has ended meanwhile.
        """
        if self._is_sent(seq):
            self._end_submissions(seq)
            self._db.run(
                "UPDATE intents SET state = 'queued', not_before = ?, reason = ? WHERE seq = ?", not_before, reason, seq
            )
            self._start_successors([seq])

    def _is_sent(self, seq: int) -> bool:
        return self._db.one("SELECT 1 FROM intents WHERE seq = ? AND state = 'sent'", seq) is not None

    def postpone(self, intents: Sequence[Intent], not_before: int) -> None:
        """Queue intents again that a node refuses for now only: the attempt does not count."""
        with self._db.transaction():
            for one in intents:
                self._db.run("UPDATE intents SET attempts = attempts - 1 WHERE seq = ? AND state = 'sent'", one.seq)
                self._requeue(one.seq, not_before)

    def give_up(self, seq: int, reason: str, block: int) -> None:
        """End an intent without effect at this final block: no extrinsic of it can be included, none will be signed."""
        with self._db.transaction():
            self._end_submissions(seq)
            self._counts.given_up += self._db.run(
                "UPDATE intents SET state = 'dead', reason = ?, ended_at = ? WHERE seq = ?"
                " AND state IN ('queued', 'sent')",
                *(reason, block, seq),
            )
            self._start_successors([seq])

    def record_block(self, inclusions: Sequence[Inclusion], block: BlockRef) -> list[str]:
        """Store the outcomes in a final block, unless it was searched already; return the keys of those intents."""
        with self._db.transaction():
            scanned = self.scanned
            if scanned is not None and block.number <= scanned:
                return []
            ended = self.record_included(inclusions, block)
            self._set_scanned(block.number)
            return ended

    def record_pruned(self, hashes: Collection[bytes], block: int) -> list[str]:
        """Store that a final block has these extrinsics and that their outcomes are unknown; return the keys."""
        reason = f"it is in block {block}, but the node no longer knows what came of it there"
        with self._db.transaction():
            ended = [key for one in hashes for key in self._give_up_included(one, reason, block)]
            self._set_scanned(block)
            return ended

    def skip_blocks(self, last: int) -> bool:
        """Note the final blocks up to `last` as searched if none of them can include an extrinsic that is known.

        Return whether that is so.
        """
        with self._db.transaction():
            scanned = self.scanned
            if scanned is None or any(one.extrinsic.valid_until > scanned for one in self.submissions()):
                return False
            self._set_scanned(max(scanned, last))
            return True

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
        with self._db.transaction():
            self._db.run(
                "UPDATE extrinsics SET alive = 0 WHERE alive AND id IN"
                " (SELECT extrinsic FROM extrinsic_intents WHERE seq IN (SELECT value FROM json_each(?)))",
                json.dumps(seqs),
            )
            self._db.run_many(
                "UPDATE intents SET state = ?, failure = ?, block = ?, block_hash = ?, block_index = ?, ended_at = ?,"
                " reason = NULL WHERE seq IN (SELECT seq FROM extrinsic_intents WHERE extrinsic = ?)",
                outcomes,
            )
            self._db.run_many("UPDATE intents SET state = 'failed', failure = ? WHERE seq = ?", refused)
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
            rows = self._db.all(
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

    def _give_up_included(self, extrinsic_hash: bytes, reason: str, block: int) -> list[str]:
        """Give up the intents of an extrinsic that this block includes with unknown outcome; return their keys."""
        rows = self._db.all(
            "SELECT i.seq, i.key FROM extrinsics x JOIN extrinsic_intents c ON c.extrinsic = x.id"
            " JOIN intents i USING (seq) WHERE x.hash = ? AND x.alive AND x.account = ? AND i.state = 'sent'",
            extrinsic_hash,
            self._account,
        )
        with self._db.transaction():
            for row in rows:
                self.give_up(row["seq"], reason, block)
        return [str(row["key"]) for row in rows]

    def _end_submissions(self, seq: int) -> None:
        """End all extrinsics of an intent."""
        self._db.run(
            "UPDATE extrinsics SET alive = 0 WHERE alive AND id IN"
            " (SELECT extrinsic FROM extrinsic_intents WHERE seq = ?)",
            seq,
        )

    def _set_scanned(self, block: int) -> None:
        """Note that the final blocks up to this one were searched."""
        self._db.run("INSERT OR REPLACE INTO lanes VALUES (?, ?)", self._account, block)

    def _start_successors(self, seqs: Sequence[int]) -> None:
        """Queue the newer calls that waited for these to end."""
        self._db.run(
            "UPDATE intents SET call = successor, successor = NULL, state = 'queued', attempts = 0, not_before = 0,"
            " block = NULL, block_hash = NULL, block_index = NULL, failure = NULL, reason = NULL, ended_at = NULL"
            " WHERE successor IS NOT NULL AND seq IN (SELECT value FROM json_each(?))",
            json.dumps(seqs),
        )


def _pack_failure(failure: DispatchFailure) -> str:
    return json.dumps([failure.pallet, failure.name, failure.doc])
