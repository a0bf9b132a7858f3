"""A host as its provider sees it: its record and earnings on the chain, and its agent on this machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from node_agent.runtime.journal import EarningsJournal, EarningsTotal
from node_agent.runtime.status_file import AgentStatus, read_status
from offchain.adapters.chain.typed import AccountBalance, GantryChain, LeaseOfTask
from offchain.adapters.outbox.store import Store
from offchain.errors import StoreCorrupt
from offchain.ports import ChainPort
from offchain.schema.chain_types._generated_chain import Escrow, HostRecord, HostsParams, TaskKind
from offchain.schema.chain_types.escrow import owed_by
from offchain.schema.chain_types.suspension import Suspension, suspension_of


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
    )


async def leases_of(chain: GantryChain, host: str, known: Iterable[int], at: bytes) -> tuple[LeaseOfTask, ...]:
    """Return the leases that hold something of the host and the `known` ones still on the chain; oldest first."""
    numbers = {*known, *await chain.leases_of_host(host, at=at)}
    found = await chain.leases(numbers, at=at)
    return tuple(found[number] for number in sorted(found) if found[number].record.host == host)


async def terms_of(chain: GantryChain, record: HostRecord | None, now: int, at: bytes) -> PaymentTerms:
    """Return the chain's payment terms."""
    billing = await chain.params("Billing", at)
    tasks = await chain.params("Tasks", at)
    downtime = 0 if record is None else record.downtime_ms
    return PaymentTerms(now, downtime, billing.held_back_ms, tasks.dispute_window_ms)


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


PPM = 1_000_000
AT_SETTLEMENT = ("Reported", "Verified")


@dataclass(frozen=True, slots=True)
class LeaseEarnings:
    """Unpaid earnings of one lease, in base units, without the protocol's fee.

    `owed`: not paid yet; `payable`: the part that `call` pays now; `call` is "" if there is none.
    """

    lease: int
    task: int
    kind: str
    state: str
    owed: int
    payable: int
    call: str
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class PaymentTerms:
    """Chain time and payment terms, in ms."""

    now: int
    downtime: int
    held_back_ms: int
    dispute_window_ms: int


def lease_earnings(leases: Iterable[LeaseOfTask], terms: PaymentTerms) -> tuple[LeaseEarnings, ...]:
    """Return the unpaid earnings of the host's leases, in their order, without those that have none."""
    found = (_due(lease, terms) for lease in leases)
    return tuple(one for one in found if one is not None and one.owed > 0)


def _due(lease: LeaseOfTask, terms: PaymentTerms) -> LeaseEarnings | None:
    record, task = lease.record, lease.task
    if not record.escrow.open:
        return None
    kind, state = task.spec.kind, task.record.state.tag
    owed = _share(owed_by(record.escrow, terms.now, terms.downtime) - record.escrow.paid, record.escrow)
    about = (lease.id, task.id, kind.value, record.state.tag, owed)
    left_ms = task.record.changed_at + terms.dispute_window_ms - terms.now if state == "Reported" else 0
    if left_ms > 0:
        return LeaseEarnings(
            *about, payable=0, call="", why_not=f"the tenant may dispute for {-(-left_ms // 1000)} s more"
        )
    if state in AT_SETTLEMENT:
        return LeaseEarnings(*about, payable=owed, call="Tasks.settle")
    if state == "Disputed":
        return LeaseEarnings(*about, payable=0, call="", why_not="the result is disputed")
    if kind is TaskKind.JOB:
        return LeaseEarnings(*about, payable=0, call="", why_not="a job is paid when it has ended")
    # The latest part is held back for disputes.
    free = owed_by(record.escrow, terms.now - terms.held_back_ms, terms.downtime) - record.escrow.paid
    payable = _share(free, record.escrow)
    return LeaseEarnings(
        *about, payable=payable, call="Leases.settle" if payable else "", why_not="" if payable else "held back"
    )


def _share(amount: int, escrow: Escrow) -> int:
    amount = max(0, amount)
    return amount - amount * escrow.fee_ppm // PPM
