"""What a verifier has to remember: votes with their salts, and what it has spent on challenges."""

from __future__ import annotations

import secrets
from typing import Final

from offchain.adapters.outbox.store import Store
from offchain.core.verifier.duties import DutyKey, StoredVote
from offchain.schema.chain_types._generated_chain import Vote
from offchain.schema.durations import DAY_MS

SALT_BYTES: Final = 32
_TABLES: Final = [
    """
    CREATE TABLE verifier_votes (
        challenge INTEGER NOT NULL, round INTEGER NOT NULL, vote TEXT NOT NULL, salt BLOB NOT NULL,
        reason TEXT NOT NULL, PRIMARY KEY (challenge, round)
    ) STRICT
    """,
    "CREATE TABLE verifier_openings (opened_at INTEGER NOT NULL, host TEXT NOT NULL, fee INTEGER NOT NULL) STRICT",
]


class VerifierStore:
    """Tables of a verifier in its database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.migrate("verifier", _TABLES)

    def votes(self) -> dict[DutyKey, StoredVote]:
        """Return the votes of ballots that may not be over."""
        rows = self._store.all("SELECT challenge, round, vote, salt, reason FROM verifier_votes")
        return {
            DutyKey(row["challenge"], row["round"]): StoredVote(Vote(row["vote"]), bytes(row["salt"]), row["reason"])
            for row in rows
        }

    async def store_vote(self, key: DutyKey, vote: Vote, reason: str) -> StoredVote:
        """Store a vote with a new salt; it survives a power cut when this returns. A stored vote is never replaced."""
        row = (key.challenge, key.round, vote.value, secrets.token_bytes(SALT_BYTES), reason)
        statement = "INSERT OR IGNORE INTO verifier_votes VALUES (?, ?, ?, ?, ?)"
        await self._store.write(lambda: self._store.writer.run(statement, *row))
        await self._store.flush()
        return self.votes()[key]

    async def forget_vote(self, key: DutyKey) -> None:
        """Remove the vote of a ballot that is over."""
        statement = "DELETE FROM verifier_votes WHERE challenge = ? AND round = ?"
        await self._store.write(lambda: self._store.writer.run(statement, key.challenge, key.round))

    def spent(self, now: int) -> int:
        """Return the fees held for challenges that were opened in the last 24 h of chain time, in base units."""
        row = self._store.one("SELECT SUM(fee) AS fees FROM verifier_openings WHERE opened_at > ?", now - DAY_MS)
        return 0 if row is None else int(row["fees"] or 0)

    async def note_opening(self, now: int, host: str, fee: int) -> None:
        """Add a challenge that is about to be opened to what was spent."""

        def change() -> None:
            self._store.writer.run("DELETE FROM verifier_openings WHERE opened_at <= ?", now - DAY_MS)
            self._store.writer.run("INSERT INTO verifier_openings VALUES (?, ?, ?)", now, host, fee)

        await self._store.write(change)

    async def forget_opening(self, now: int, host: str) -> None:
        """Take back :meth:`note_opening`: the chain refused the challenge, so no fee is held."""
        statement = "DELETE FROM verifier_openings WHERE opened_at = ? AND host = ?"
        await self._store.write(lambda: self._store.writer.run(statement, now, host))
