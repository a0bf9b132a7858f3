"""A host as its provider sees it: read once from the chain and from this machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from node_agent.runtime.journal import EarningsJournal, EarningsTotal
from node_agent.runtime.status_file import AgentStatus, read_status
from offchain.adapters.chain.typed import Balance, GantryChain, LeaseOfTask
from offchain.adapters.outbox.store import Store
from offchain.cli.provider.earnings import LeaseEarnings, PaymentTerms, lease_earnings
from offchain.errors import StoreCorrupt
from offchain.ports import ChainPort
from offchain.schema.chain_types._generated_chain import HostRecord, HostsParams
from offchain.schema.chain_types.standing import Suspension, suspension_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderHostView:
    """Everything that `gantry agent status` shows. `now` is the chain's time in ms."""

    host: str
    now: int
    record: HostRecord | None
    params: HostsParams
    leases: tuple[LeaseOfTask, ...]
    due: tuple[LeaseEarnings, ...]
    balance: Balance | None
    running: AgentStatus | None
    earned: EarningsTotal | None

    @property
    def owed(self) -> int:
        """What the provider has coming, in base units."""
        return sum(one.owed for one in self.due)

    @property
    def payable(self) -> int:
        """The part of `owed` that can be settled now, in base units."""
        return sum(one.payable for one in self.due)

    @property
    def suspension(self) -> Suspension | None:
        """Why the host is suspended; None where it is not."""
        return None if self.record is None else suspension_of(self.host, self.record)

    @property
    def suspended_since_ms(self) -> int | None:
        """The chain's time at which the suspension began, where the running agent saw it."""
        return None if self.running is None else self.running.suspension.get("since_ms")

    @property
    def silent_ms(self) -> int | None:
        """Since when the host was last heard on the chain."""
        if self.record is None or self.record.last_heartbeat == 0:
            return None
        return max(0, self.now - self.record.last_heartbeat)


async def read_provider_host(port: ChainPort, host: str, state: Path) -> ProviderHostView:
    """The host at the newest block."""
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
    )


async def leases_of(chain: GantryChain, host: str, known: Iterable[int], at: bytes) -> tuple[LeaseOfTask, ...]:
    """The leases that hold something of the host, and the known ones that the chain still has; oldest first."""
    numbers = {*known, *await chain.leases_of_host(host, at=at)}
    found = await chain.leases(numbers, at=at)
    return tuple(found[number] for number in sorted(found) if found[number].record.host == host)


async def terms_of(chain: GantryChain, record: HostRecord | None, now: int, at: bytes) -> PaymentTerms:
    """The chain's terms of payment."""
    billing = await chain.params("Billing", at)
    tasks = await chain.params("Tasks", at)
    downtime = 0 if record is None else record.downtime_ms
    return PaymentTerms(now, downtime, billing.held_back_ms, tasks.dispute_window_ms)


def journal(state: Path) -> tuple[EarningsTotal | None, tuple[int, ...]]:
    """What the agent has earned, and the leases for which something may still come; nothing where it never ran."""
    path = state / "agent.db"
    if not path.exists():
        return None, ()
    try:
        with closing(Store(path)) as store:
            kept = EarningsJournal(store)
            return kept.total(), tuple(entry.lease for entry in kept.open_entries())
    except (sqlite3.Error, StoreCorrupt):
        return None, ()
