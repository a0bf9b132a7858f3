"""Unpaid earnings of a host, and the calls that pay them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.ports import Call
from offchain.schema.chain_types._generated_chain import Escrow, HostRecord, TaskKind, calls
from offchain.schema.chain_types.escrow import owed_by

BATCH: Final = 64
"""Tasks or leases that one call settles."""
_PPM: Final = 1_000_000
_AT_SETTLEMENT: Final = ("Reported", "Verified")


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
    if state in _AT_SETTLEMENT:
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
    return amount - amount * escrow.fee_ppm // _PPM


def payouts(wanted: Sequence[LeaseEarnings]) -> Iterator[tuple[Call, tuple[LeaseEarnings, ...]]]:
    """Yield the settling calls, each with the leases that it pays. Pure."""
    settled: dict[int, list[LeaseEarnings]] = {}
    for one in wanted:
        if one.call == "Tasks.settle":
            settled.setdefault(one.task, []).append(one)
    tasks = sorted(settled)
    for start in range(0, len(tasks), BATCH):
        part = tasks[start : start + BATCH]
        call = calls.tasks_settle(task=part[0]) if len(part) == 1 else calls.tasks_settle_batch(tasks=part)
        yield call, tuple(one for task in part for one in settled[task])
    running = [one for one in wanted if one.call == "Leases.settle"]
    for start in range(0, len(running), BATCH):
        leases = running[start : start + BATCH]
        each = [calls.leases_settle(lease=one.lease) for one in leases]
        if len(each) == 1:
            yield each[0], tuple(leases)
        else:
            inner = [{call.pallet: {call.function: dict(call.args)}} for call in each]
            yield Call("Utility", "force_batch", {"calls": inner}), tuple(leases)
