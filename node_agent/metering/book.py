"""What the meter keeps in the agent's database: the sums of each lease, and its receipts with both signatures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from node_agent.metering.core import Metered
from node_agent.runtime.codec import CodecError, dumps, loads
from offchain.adapters.outbox.store import Store
from offchain.errors import StoreCorrupt
from offchain.schema.chain_types._generated_chain import Escrow, Usage
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.receipt import SignedReceipt

KEEP_MS = 30 * 24 * 3_600_000
"""Sums and receipts of leases that are over are kept this long."""
MOST_KEPT = 20_000
"""So many leases that are over are kept; the oldest are dropped first."""

_TABLES = [
    """
    CREATE TABLE metered (
        lease INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        sums TEXT NOT NULL,
        escrow TEXT,
        reported TEXT,
        seq INTEGER NOT NULL,
        newest TEXT,
        countersigned TEXT,
        closed_at INTEGER,
        PRIMARY KEY (lease, created_at)
    ) STRICT;
    CREATE INDEX metered_open ON metered (lease) WHERE closed_at IS NULL;
    CREATE INDEX metered_closed ON metered (closed_at) WHERE closed_at IS NOT NULL
    """,
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One lease. Its number may come twice when a block is reverted; its time of opening does not.

    `escrow`: as the chain had it when it was last seen being billed. `reported`: the usage that goes to the chain with
    the pod's result. `countersigned`: the newest receipt that its tenant signed. `closed_at_ms`: it is over, and its
    newest receipt is the last.
    """

    lease: int
    created_at_ms: int
    metered: Metered = field(default_factory=Metered)
    escrow: Escrow | None = None
    reported: Usage | None = None
    seq: int = 0
    newest: SignedReceipt | None = None
    countersigned: SignedReceipt | None = None
    closed_at_ms: int | None = None

    @property
    def key(self) -> tuple[int, int]:
        """What tells leases apart."""
        return self.lease, self.created_at_ms


class ReceiptBook:
    """The meter's tables."""

    def __init__(self, store: Store) -> None:
        store.migrate("metering", _TABLES)
        self._store = store

    def put(self, entries: Iterable[Entry]) -> None:
        """Keep these, all or none. On disk when this returns."""
        with self._store.transaction():
            for one in entries:
                self._store.run(
                    "INSERT OR REPLACE INTO metered VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    one.lease,
                    one.created_at_ms,
                    dumps(one.metered),
                    None if one.escrow is None else dumps(one.escrow),
                    None if one.reported is None else dumps(one.reported),
                    one.seq,
                    _document(one.newest),
                    _document(one.countersigned),
                    one.closed_at_ms,
                )

    def get(self, lease: int, created_at_ms: int) -> Entry | None:
        """One lease; None where nothing is kept of it."""
        found = self._entries("WHERE lease = ? AND created_at = ?", lease, created_at_ms)
        return found[0] if found else None

    def newest_of(self, lease: int) -> Entry | None:
        """The lease of this number that was opened last."""
        found = self._entries("WHERE lease = ? ORDER BY created_at DESC LIMIT 1", lease)
        return found[0] if found else None

    def open_entries(self) -> list[Entry]:
        """All leases that are not over."""
        return self._entries("WHERE closed_at IS NULL ORDER BY lease")

    def forget_old(self, now_ms: int) -> int:
        """Drop what need not be kept any longer; how many."""
        return self._store.run("DELETE FROM metered WHERE closed_at < ?", now_ms - KEEP_MS) + self._store.run(
            "DELETE FROM metered WHERE rowid IN (SELECT rowid FROM metered WHERE closed_at IS NOT NULL "
            "ORDER BY closed_at DESC LIMIT -1 OFFSET ?)",
            MOST_KEPT,
        )

    def _entries(self, where: str, *values: int) -> list[Entry]:
        try:
            return [
                Entry(
                    lease=row["lease"],
                    created_at_ms=row["created_at"],
                    metered=loads(Metered, row["sums"]),
                    escrow=None if row["escrow"] is None else loads(Escrow, row["escrow"]),
                    reported=None if row["reported"] is None else loads(Usage, row["reported"]),
                    seq=row["seq"],
                    newest=_signed(row["newest"]),
                    countersigned=_signed(row["countersigned"]),
                    closed_at_ms=row["closed_at"],
                )
                for row in self._store.all(f"SELECT * FROM metered {where}", *values)  # noqa: S608  (constants only)
            ]
        except (CodecError, WireError) as error:
            raise StoreCorrupt(
                f"The database {self._store.path} holds a receipt that cannot be read: {error}.",
                "Use the release that wrote it, or move the file away: metering then begins anew.",
            ) from None


def _document(signed: SignedReceipt | None) -> str | None:
    return None if signed is None else signed.encode().decode()


def _signed(text: str | None) -> SignedReceipt | None:
    return None if text is None else SignedReceipt.decode(text.encode())
