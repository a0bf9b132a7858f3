"""A host as its provider sees it: its record and earnings on the chain, and its agent on this machine."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from node_agent.runtime.journal import EarningsJournal, EarningsTotal
from node_agent.runtime.status_file import AgentStatus, read_status
from offchain.adapters.chain.typed import AccountBalance, GantryChain, LeaseOfTask
from offchain.adapters.outbox.store import Store
from offchain.errors import StoreCorrupt
from offchain.ports import ChainPort
from offchain.schema.chain_types._generated_chain import HostRecord, HostsParams
from offchain.schema.chain_types.suspension import Suspension, suspension_of
from offchain.services.dispute_view import DisputeView, disputes_of_host
from offchain.services.earnings import LeaseEarnings, lease_earnings, leases_of, terms_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderHostView:
    """Values that `gantry agent status` shows. `now` is chain time in ms."""

    host: str
    now: int
    record: HostRecord | None
    params: HostsParams
    leases: tuple[LeaseOfTask, ...]
    due: tuple[LeaseEarnings, ...]
    balance: AccountBalance | None
    running: AgentStatus | None
    earned: EarningsTotal | None
    disputes: tuple[DisputeView, ...]
    """The open disputes about its leases."""

    @property
    def owed(self) -> int:
        """Unpaid earnings in base units."""
        return sum(one.owed for one in self.due)

    @property
    def payable(self) -> int:
        """The part of `owed` that can be settled now, in base units."""
        return sum(one.payable for one in self.due)

    @property
    def suspension(self) -> Suspension | None:
        """Why the host is suspended; None if it is not."""
        return None if self.record is None else suspension_of(self.host, self.record)

    @property
    def suspended_since_ms(self) -> int | None:
        """Chain time at which the suspension began, if the running agent saw it."""
        return None if self.running is None else self.running.suspension.get("since_ms")

    @property
    def silent_ms(self) -> int | None:
        """Time since the last heartbeat, in ms of chain time; None without one."""
        if self.record is None or self.record.last_heartbeat == 0:
            return None
        return max(0, self.now - self.record.last_heartbeat)


async def read_provider_host(port: ChainPort, host: str, state: Path) -> ProviderHostView:
    """Read the host at the newest block."""
    chain = GantryChain(port)
    at = (await port.best_head()).hash
    now = await chain.now_ms(at)
    record = await chain.host(host, at)
    earned, open_leases = journal(state)
    leases = await leases_of(chain, host, open_leases, at) if record is not None else ()
    terms = await terms_of(chain, record, now, at)
    return ProviderHostView(
        host=host,
        now=now,
        record=record,
        params=await chain.params("Hosts", at),
        leases=leases,
        due=lease_earnings(leases, terms),
        balance=None if record is None else await chain.balance(record.provider, at),
        running=read_status(state),
        earned=earned,
        disputes=() if record is None else await disputes_of_host(port, host, at),
    )


def journal(state: Path) -> tuple[EarningsTotal | None, tuple[int, ...]]:
    """Return the earnings in the agent's journal and the leases that may still be paid; nothing if it never ran."""
    path = state / "agent.db"
    if not path.exists():
        return None, ()
    try:
        with closing(Store(path)) as store:
            kept = EarningsJournal(store)
            return kept.total(), tuple(entry.lease for entry in kept.open_entries())
    except (sqlite3.Error, StoreCorrupt):
        return None, ()
