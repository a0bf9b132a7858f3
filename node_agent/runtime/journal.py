"""Earnings of this host: every lease with its payments, kept after the chain forgets it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from node_agent.core.states import AgentState
from node_agent.core.values import HostLease
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.outbox.store import Store
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.schema.chain_types.values import FINAL_TASK_STATES

EVERY_S = 60.0
JITTER_S = 5.0
LOOK_EVERY_S = 1.0
_TABLES = [
    """
    CREATE TABLE journal (
        lease INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        task INTEGER NOT NULL,
        paid TEXT NOT NULL,
        fee TEXT NOT NULL,
        final INTEGER NOT NULL,
        PRIMARY KEY (lease, created_at)
    ) STRICT;
    CREATE INDEX journal_open ON journal (lease) WHERE NOT final
    """,
]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One lease. `paid` in base units, including the protocol's `fee`; `final`: no further payment will come."""

    lease: int
    created_at: int
    task: int
    paid: int
    fee: int
    final: bool


@dataclass(frozen=True, slots=True)
class EarningsTotal:
    """Sums over all leases, in base units."""

    leases: int
    earned: int
    """Paid to the provider: without the protocol's fee."""
    open_leases: int


class JournalAgent(Protocol):
    """The part of the agent that the journal uses."""

    @property
    def chain(self) -> GantryChain: ...

    @property
    def host(self) -> str: ...

    @property
    def state(self) -> AgentState: ...


class EarningsJournal:
    """The earnings in the agent's database."""

    def __init__(self, store: Store) -> None:
        store.migrate("journal", _TABLES)
        self._store = store
        self._noted: set[tuple[int, int]] = set()

    def add_jobs(self, agent: JournalAgent, jobs: PeriodicJobs) -> None:
        """Keep the journal up to date."""
        # A short job may have left the host before the next query of the chain.
        jobs.add("new leases", lambda: self.note_leases(pod.lease for pod in agent.state.pods.values()), LOOK_EVERY_S)
        jobs.add("earnings", lambda: self.refresh(agent.chain, agent.host), EVERY_S, jitter_s=JITTER_S)

    def note_leases(self, leases: Iterable[HostLease]) -> None:
        """Note that the agent has these leases."""
        fresh = [lease for lease in leases if (lease.number, lease.created_at_ms) not in self._noted]
        if not fresh:
            return
        with self._store.transaction():
            for lease in fresh:
                self._store.run(
                    "INSERT OR IGNORE INTO journal VALUES (?, ?, ?, '0', '0', 0)",
                    lease.number, lease.created_at_ms, lease.task,
                )  # fmt: skip
        self._noted |= {(lease.number, lease.created_at_ms) for lease in fresh}

    async def refresh(self, chain: GantryChain, host: str) -> None:
        """Update from the finalized state of the leases that hold something here or are not closed."""
        at = (await chain.port.finalized_head()).hash
        known = {entry.lease: entry for entry in self.open_entries()}
        numbers = {*known, *await chain.leases_of_host(host, at=at)}
        found = {
            number: lease for number, lease in (await chain.leases(numbers, at=at)).items() if lease.record.host == host
        }
        self.take(found, gone=[known[number] for number in known.keys() - found.keys()])

    def take(self, found: Mapping[int, LeaseOfTask], gone: Iterable[JournalEntry] = ()) -> None:
        """Store the current state of leases. `gone`: entries that the chain has forgotten."""
        with self._store.transaction():
            for entry in map(entry_of, found.values()):
                self._store.run(
                    "INSERT OR REPLACE INTO journal VALUES (?, ?, ?, ?, ?, ?)",
                    entry.lease, entry.created_at, entry.task, str(entry.paid), str(entry.fee), entry.final,
                )  # fmt: skip
            for entry in gone:
                self._store.run(
                    "UPDATE journal SET final = 1 WHERE lease = ? AND created_at = ?", entry.lease, entry.created_at
                )

    def open_entries(self) -> list[JournalEntry]:
        """Return the leases that may still be paid."""
        rows = self._store.all("SELECT * FROM journal WHERE NOT final ORDER BY lease")
        return [
            JournalEntry(
                row["lease"], row["created_at"], row["task"], int(row["paid"]), int(row["fee"]), bool(row["final"])
            )
            for row in rows
        ]

    def rounded_total(self) -> tuple[float, int]:
        """Return what all leases have paid to the provider, in base units and rounded, and the number of open leases.

        SQLite adds up in floating point, in a fraction of the time of :meth:`total`.
        """
        row = self._store.one("SELECT total(paid) - total(fee) AS earned, total(NOT final) AS open FROM journal")
        return (0.0, 0) if row is None else (float(row["earned"]), int(row["open"]))

    def total(self) -> EarningsTotal:
        """Return the sums over all leases."""
        rows = self._store.all("SELECT paid, fee, final FROM journal")
        return EarningsTotal(
            len(rows), sum(int(row["paid"]) - int(row["fee"]) for row in rows), sum(not row["final"] for row in rows)
        )


def entry_of(lease: LeaseOfTask) -> JournalEntry:
    """Return the entry for a lease on the chain."""
    record = lease.record
    final = not record.escrow.open or lease.task.record.state.tag in FINAL_TASK_STATES
    return JournalEntry(lease.id, record.created_at, lease.task.id, record.escrow.paid, record.escrow.fee, final)
