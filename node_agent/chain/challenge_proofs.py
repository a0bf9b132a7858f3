"""Stored proofs of a host's challenges: what a restarted agent must not lose, and how the last challenge ended."""

from __future__ import annotations

import hashlib
from typing import Final

from node_agent.core.challenges import HeldProof
from offchain.adapters.outbox.store import Store
from offchain.schema.challenge.failures import ChallengeReport

_TABLES: Final = [
    """
    CREATE TABLE challenge_proofs (
        challenge INTEGER NOT NULL, seed BLOB NOT NULL, commitment BLOB NOT NULL, opening BLOB,
        PRIMARY KEY (challenge, seed)
    ) STRICT
    """
]
_REPORT_TABLES: Final = [
    """
    CREATE TABLE challenge_report (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        challenge INTEGER NOT NULL, outcome TEXT NOT NULL, cause TEXT NOT NULL, remedy TEXT NOT NULL
    ) STRICT
    """
]


class ChallengeProofs:
    """Proofs by challenge and seed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.migrate("challenge_proofs", _TABLES)
        # A component of its own: an update that is undone must find the tables of its release.
        store.migrate("challenge_report", _REPORT_TABLES)

    def find(self, challenge: int, seed: bytes | None) -> HeldProof | None:
        """Return the proof of a challenge for a seed; None: it was not computed."""
        row = self._store.one(
            "SELECT commitment, opening FROM challenge_proofs WHERE challenge = ? AND seed = ?", challenge, seed
        )
        if row is None or seed is None:
            return None
        commitment = bytes(row["commitment"])
        opening = None if row["opening"] is None else bytes(row["opening"])
        return HeldProof(seed, commitment, hashlib.sha256(commitment).digest(), opening)

    async def put_commitment(self, challenge: int, seed: bytes, commitment: bytes) -> None:
        """Store a commitment unless there is one; it is on the disk when this returns, before it is answered."""
        statement = "INSERT OR IGNORE INTO challenge_proofs VALUES (?, ?, ?, NULL)"
        await self._store.write(lambda: self._store.writer.run(statement, challenge, seed, commitment))
        await self._store.flush()

    async def put_opening(self, challenge: int, seed: bytes, opening: bytes) -> None:
        """Store the opening of a proof."""
        statement = "UPDATE challenge_proofs SET opening = ? WHERE challenge = ? AND seed = ?"
        await self._store.write(lambda: self._store.writer.run(statement, opening, challenge, seed))

    async def keep_only(self, challenge: int | None) -> None:
        """Remove the proofs of all other challenges."""
        if self._store.one("SELECT 1 FROM challenge_proofs WHERE challenge IS NOT ?", challenge) is not None:
            statement = "DELETE FROM challenge_proofs WHERE challenge IS NOT ?"
            await self._store.write(lambda: self._store.writer.run(statement, challenge))

    def report(self) -> ChallengeReport | None:
        """Return how the last challenge ended; None if none did."""
        row = self._store.one("SELECT challenge, outcome, cause, remedy FROM challenge_report")
        return None if row is None else ChallengeReport(row["challenge"], row["outcome"], row["cause"], row["remedy"])

    async def put_report(self, report: ChallengeReport) -> None:
        """Replace the report of the last challenge."""
        statement = "INSERT OR REPLACE INTO challenge_report VALUES (1, ?, ?, ?, ?)"
        values = (report.challenge, report.outcome, report.cause, report.remedy)
        await self._store.write(lambda: self._store.writer.run(statement, *values))
