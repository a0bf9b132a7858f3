"""Receipts of leases: creation from metered usage and the chain's records, and storage in the agent's database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from node_agent.metering.usage import MeteredUsage
from node_agent.runtime.codec import CodecError, dumps, loads
from offchain.adapters.chain.typed import LeaseOfTask
from offchain.adapters.outbox.store import Store
from offchain.errors import StoreCorrupt
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import Escrow, Usage
from offchain.schema.durations import DAY_MS
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.receipt import Receipt, SignedReceipt, Totals
from offchain.schema.protocol.receipt_bill import ended_bill, running_bill

KEEP_MS = 30 * DAY_MS
"""Retention of usage and receipts of ended leases."""
MOST_KEPT = 20_000
"""Most ended leases that are kept; the oldest are removed first."""

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
class MeteredLease:
    """Usage and receipts of one lease. Its number may be reused after a reverted block; its creation time is not.

    `escrow`: as last seen on the chain while it was billed. `reported`: the usage sent to the chain with the pod's
    result. `countersigned`: the newest receipt that its tenant signed. `closed_at_ms`: the lease has ended, and its
    newest receipt is the last.
    """

    lease: int
    created_at_ms: int
    metered: MeteredUsage = field(default_factory=MeteredUsage)
    escrow: Escrow | None = None
    reported: Usage | None = None
    seq: int = 0
    newest: SignedReceipt | None = None
    countersigned: SignedReceipt | None = None
    closed_at_ms: int | None = None

    @property
    def key(self) -> tuple[int, int]:
        return self.lease, self.created_at_ms


class ReceiptStore:
    def __init__(self, store: Store) -> None:
        store.migrate("metering", _TABLES)
        self._store = store

    def put(self, entries: Iterable[MeteredLease]) -> None:
        """Store these leases in one transaction, which is on disk when this returns."""
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

    def get(self, lease: int, created_at_ms: int) -> MeteredLease | None:
        found = self._entries("WHERE lease = ? AND created_at = ?", lease, created_at_ms)
        return found[0] if found else None

    def newest_of(self, lease: int) -> MeteredLease | None:
        """Return the lease with this number that was created last."""
        found = self._entries("WHERE lease = ? ORDER BY created_at DESC LIMIT 1", lease)
        return found[0] if found else None

    def open_entries(self) -> list[MeteredLease]:
        return self._entries("WHERE closed_at IS NULL ORDER BY lease")

    def forget_old(self, now_ms: int) -> int:
        """Remove what exceeds the retention; return the number of leases."""
        return self._store.run("DELETE FROM metered WHERE closed_at < ?", now_ms - KEEP_MS) + self._store.run(
            "DELETE FROM metered WHERE rowid IN (SELECT rowid FROM metered WHERE closed_at IS NOT NULL "
            "ORDER BY closed_at DESC LIMIT -1 OFFSET ?)",
            MOST_KEPT,
        )

    def _entries(self, where: str, *values: int) -> list[MeteredLease]:
        try:
            return [
                MeteredLease(
                    lease=row["lease"],
                    created_at_ms=row["created_at"],
                    metered=loads(MeteredUsage, row["sums"]),
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


def make_receipt(
    entry: MeteredLease,
    lease: LeaseOfTask,
    host: gen.HostRecord | None,
    *,
    genesis_hash: bytes,
    now_ms: int,
    final: bool,
) -> Receipt:
    """Return the next receipt of a lease. `now_ms`: the chain's time of the block of these records."""
    record = lease.record
    downtime_ms = _downtime_ms(host, now_ms)
    reported = record.result.usage if record.result is not None else entry.reported
    if final:
        bill = ended_bill(record, lease.task.spec.kind, entry.escrow, downtime_ms)
    else:
        bill = running_bill(record, now_ms, downtime_ms, None if reported is None else reported.wall_ms)
    return Receipt(
        genesis_hash=genesis_hash,
        task=lease.task.id,
        lease=lease.id,
        host=record.host,
        tenant=lease.task.record.tenant,
        seq=entry.seq + 1,
        from_ms=record.created_at,
        until_ms=record.ended_at if final and record.ended_at is not None else now_ms,
        totals=at_least(entry.metered.totals, reported),
        bill=bill,
        reported=reported,
        final=final,
    )


def at_least(totals: Totals, reported: gen.Usage | None) -> Totals:
    """Return the sums, raised to the usage that the host reports: the ends of runs lie between two samples."""
    if reported is None:
        return totals
    return replace(
        totals,
        wall_ms=max(totals.wall_ms, reported.wall_ms),
        cpu_ms=max(totals.cpu_ms, reported.cpu_ms),
        memory_peak_mib=max(totals.memory_peak_mib, reported.memory_peak_mib),
    )


def is_bill_final(record: gen.Lease) -> bool:
    """Return whether the final bill is known. With compared results, that is when its own is revealed."""
    if record.ended_at is None:
        return False
    completed = isinstance(record.state, gen.LeaseStateEnded) and record.state.value.tag == "Completed"
    return record.result is not None or not completed


def _downtime_ms(host: gen.HostRecord | None, now_ms: int) -> int:
    if host is None:
        return 0
    away_ms = max(0, now_ms - host.last_heartbeat) if isinstance(host.status, gen.HostStatusOffline) else 0
    return host.downtime_ms + away_ms
