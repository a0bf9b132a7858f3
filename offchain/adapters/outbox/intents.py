"""The outbox's tables: what is to be done on the chain, and every extrinsic that was ever signed for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from sqlite3 import Row

from offchain.adapters.outbox.intent_values import (
    FINAL,
    Carried,
    Dead,
    DeadLetter,
    Failed,
    Flight,
    Included,
    Intent,
    Outcome,
    State,
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


def _flight(rows: list[Row]) -> Flight:
    row = rows[0]
    return Flight(
        tuple(Carried(row["seq"], row["key"], row["attempts"]) for row in rows),
        SignedExtrinsic(row["data"], row["hash"], row["account"], row["nonce"], row["valid_until"]),
        row["born"],
        row["sent_at"],
        bool(row["doubted"]),
        bool(row["confirmed"]),
        row["tip"],
        bool(row["outbid"]),
    )


class Intents:
    """The rows of one account."""

    def __init__(self, store: Store, account: str) -> None:
        store.migrate("outbox", TABLES)
        self._store = store
        self._account = account

    # --- asking ---------------------------------------------------------------------------------------------------

    def state(self, key: str) -> State | None:
        """Where the intent with this key stands."""
        row = self._store.one("SELECT state FROM intents WHERE account = ? AND key = ?", self._account, key)
        return None if row is None else State(row["state"])

    def outcome(self, key: str) -> Outcome | None:
        """How it ended; None where it has not, or is to be done again."""
        row = self._store.one("SELECT * FROM intents WHERE account = ? AND key = ?", self._account, key)
        if row is None or row["state"] not in FINAL:
            return None
        if row["state"] == State.DEAD:
            return Dead(row["reason"])
        block = BlockRef(row["block"], row["block_hash"])
        if row["state"] == State.FAILED:
            return Failed(DispatchFailure(*json.loads(row["failure"])), block, row["block_index"])
        return Included(block, row["block_index"])

    def due(self, block: int, limit: int = 1) -> list[Intent]:
        """The oldest intents that may be signed and sent at this final block."""
        rows = self._store.all(
            "SELECT * FROM intents WHERE account = ? AND state = 'queued' AND not_before <= ? ORDER BY seq LIMIT ?",
            self._account,
            block,
            limit,
        )
        return [
            Intent(row["seq"], row["key"], unpack_call(row["call"]), State(row["state"]), row["attempts"])
            for row in rows
        ]

    def flights(self) -> list[Flight]:
        """Extrinsics that may still come into a block, by nonce."""
        rows = self._store.all(
            "SELECT x.*, c.seq, i.key, i.attempts FROM flights x JOIN carried c USING (hash) JOIN intents i USING (seq)"
            " WHERE x.account = ? AND x.alive ORDER BY x.nonce, x.tip, x.hash, c.item",
            self._account,
        )
        return [_flight(list(group)) for _, group in groupby(rows, key=lambda row: bytes(row["hash"]))]

    def calls_of(self, flight: Flight) -> list[Call]:
        """The calls in an extrinsic, by item."""
        rows = self._store.all(
            "SELECT i.call FROM carried JOIN intents i USING (seq) WHERE hash = ? ORDER BY item", flight.extrinsic.hash
        )
        return [unpack_call(row["call"]) for row in rows]

    def dead(self) -> list[DeadLetter]:
        """All that was given up."""
        rows = self._store.all("SELECT * FROM intents WHERE account = ? AND state = 'dead' ORDER BY seq", self._account)
        return [
            DeadLetter(row["key"], unpack_call(row["call"]), row["reason"], row["attempts"], row["created_ms"])
            for row in rows
        ]

    def unfinished(self) -> int:
        """How many intents have no outcome yet."""
        row = self._store.one(
            "SELECT count(*) AS n FROM intents WHERE account = ? AND state IN ('queued', 'sent')", self._account
        )
        return 0 if row is None else int(row["n"])

    def extrinsics(self) -> frozenset[bytes]:
        """The hashes of all extrinsics that are kept."""
        rows = self._store.all("SELECT hash FROM flights WHERE account = ?", self._account)
        return frozenset(bytes(row["hash"]) for row in rows)

    @property
    def scanned(self) -> int | None:
        """The last final block in which extrinsics were looked for."""
        row = self._store.one("SELECT scanned FROM lanes WHERE account = ?", self._account)
        return None if row is None else int(row["scanned"])

    # --- changing -------------------------------------------------------------------------------------------------

    def add(self, key: str, call: Call, now_ms: int) -> None:
        """A new intent."""
        self._store.run(
            "INSERT INTO intents (account, key, call, state, created_ms) VALUES (?, ?, ?, 'queued', ?)",
            self._account,
            key,
            pack_call(call),
            now_ms,
        )

    def replace(self, key: str, call: Call, now_ms: int) -> None:
        """A newer call under the same key: instead of one not yet sent or ended, after one that is on its way."""
        if self.state(key) is State.SENT:
            self._store.run(
                "UPDATE intents SET successor = ? WHERE account = ? AND key = ?", pack_call(call), self._account, key
            )
        else:
            self.forget(key)
            self.add(key, call, now_ms)

    def forget(self, key: str) -> None:
        """Remove an intent that is not on its way."""
        with self._store.transaction():
            self._store.run("DELETE FROM intents WHERE account = ? AND key = ? AND state != 'sent'", self._account, key)
            self._sweep()

    def forget_ended_before(self, block: int) -> None:
        """Remove what had its outcome before this block; dead letters stay."""
        with self._store.transaction():
            self._store.run(
                "DELETE FROM intents WHERE account = ? AND state IN ('done', 'failed') AND block < ?",
                self._account,
                block,
            )
            self._sweep()

    def _sweep(self) -> None:
        """Remove extrinsics of which no intent is left."""
        self._store.run(
            "DELETE FROM flights WHERE account = ? AND hash NOT IN (SELECT hash FROM carried)", self._account
        )

    def signed(self, intents: Sequence[Intent], extrinsic: SignedExtrinsic, era_blocks: int) -> None:
        """Remember an extrinsic, before anybody else has seen it. It carries the intents in this order."""
        with self._store.transaction():
            self._insert(extrinsic, era_blocks, 0)
            for item, intent in enumerate(intents):
                self._store.run("UPDATE intents SET state = 'sent', attempts = attempts + 1 WHERE seq = ?", intent.seq)
                self._store.run("INSERT INTO carried VALUES (?, ?, ?)", extrinsic.hash, intent.seq, item)

    def outbid(self, flight: Flight, extrinsic: SignedExtrinsic, era_blocks: int, tip: int) -> None:
        """Remember an extrinsic with the same number and calls as one on its way, before anybody else has seen it."""
        with self._store.transaction():
            self._insert(extrinsic, era_blocks, tip)
            self._store.run("UPDATE flights SET outbid = 1 WHERE hash = ?", flight.extrinsic.hash)
            self._store.run(
                "INSERT INTO carried SELECT ?, seq, item FROM carried WHERE hash = ?",
                extrinsic.hash,
                flight.extrinsic.hash,
            )

    def withdraw_bid(self, flight: Flight, extrinsic: SignedExtrinsic) -> None:
        """No node has this one, and none will: the one that it was to go before is all there is again."""
        with self._store.transaction():
            self._store.run("DELETE FROM flights WHERE hash = ?", extrinsic.hash)
            self._store.run("UPDATE flights SET outbid = 0 WHERE hash = ?", flight.extrinsic.hash)

    def _insert(self, extrinsic: SignedExtrinsic, era_blocks: int, tip: int) -> None:
        born = extrinsic.valid_until - era_blocks + 1
        if not self.flights():
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

    def tried(self, intents: Sequence[Intent]) -> None:
        """Count a try that came to nothing before anything was signed."""
        with self._store.transaction():
            for intent in intents:
                self._store.run("UPDATE intents SET attempts = attempts + 1 WHERE seq = ?", intent.seq)

    def handed_over(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """A node has it."""
        self._store.run(
            "UPDATE flights SET sent_at = ?, confirmed = 1, doubted = 0 WHERE hash = ?", block, extrinsic.hash
        )

    def doubt(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """A node refuses it, which may have taken it before."""
        self._store.run("UPDATE flights SET sent_at = ?, doubted = 1 WHERE hash = ?", block, extrinsic.hash)

    def ground(self, flight: Flight) -> list[Carried]:
        """An extrinsic cannot come into a block any more; gives the intents that no other one carries."""
        with self._store.transaction():
            self._store.run("UPDATE flights SET alive = 0 WHERE hash = ?", flight.extrinsic.hash)
            return [one for one in flight.carried if not self._is_carried(one.seq)]

    def _is_carried(self, seq: int) -> bool:
        found = self._store.one("SELECT 1 FROM carried JOIN flights USING (hash) WHERE seq = ? AND alive", seq)
        return found is not None

    def again(self, seq: int, not_before: int, reason: str | None = None) -> None:
        """No extrinsic of the intent can come into a block any more: sign a new one, from this block on.

        `reason`: what kept the last one out, for people.
        """
        with self._store.transaction():
            self._land(seq)
            self._store.run(
                "UPDATE intents SET state = 'queued', not_before = ?, reason = ? WHERE seq = ?", not_before, reason, seq
            )
            self._succeed(seq)

    def hold(self, seq: int, not_before: int) -> None:
        """A node did not take the intent yet, and may take the same call later: the attempt does not count."""
        with self._store.transaction():
            self.again(seq, not_before)
            self._store.run("UPDATE intents SET attempts = attempts - 1 WHERE seq = ? AND state = 'queued'", seq)

    def give_up(self, seq: int, reason: str) -> None:
        """No extrinsic of the intent can come into a block any more, and there will be no other."""
        with self._store.transaction():
            self._land(seq)
            self._store.run("UPDATE intents SET state = 'dead', reason = ? WHERE seq = ?", reason, seq)
            self._succeed(seq)

    def included(self, inclusion: Inclusion, block: BlockRef) -> list[str]:
        """Note the outcomes if an extrinsic of ours is in a block; returns the keys of what it carried."""
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
                self._land(row["seq"])
                self._store.run(
                    "UPDATE intents SET state = ?, block = ?, block_hash = ?, block_index = ?, failure = ?,"
                    " reason = NULL WHERE seq = ?",
                    State.DONE if failure is None else State.FAILED,
                    block.number,
                    block.hash,
                    inclusion.index,
                    None if failure is None else json.dumps([failure.pallet, failure.name, failure.doc]),
                    row["seq"],
                )
                self._succeed(row["seq"])
        return [str(row["key"]) for row in rows]

    def included_untold(self, extrinsic_hash: bytes, reason: str) -> list[str]:
        """An extrinsic is in a final block, but what came of it is not known any more: give up its intents."""
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

    def _land(self, seq: int) -> None:
        """No extrinsic of the intent is on its way any more."""
        self._store.run(
            "UPDATE flights SET alive = 0 WHERE hash IN (SELECT hash FROM carried WHERE seq = ?) AND alive", seq
        )

    def set_scanned(self, block: int) -> None:
        """Extrinsics were looked for up to this final block."""
        self._store.run("INSERT OR REPLACE INTO lanes VALUES (?, ?)", self._account, block)

    def _succeed(self, seq: int) -> None:
        """Where a newer call waited for this one to end, it is next."""
        self._store.run(
            "UPDATE intents SET call = successor, successor = NULL, state = 'queued', attempts = 0, not_before = 0,"
            " block = NULL, block_hash = NULL, block_index = NULL, failure = NULL, reason = NULL"
            " WHERE seq = ? AND successor IS NOT NULL",
            seq,
        )
