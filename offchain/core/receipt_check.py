"""The check of a receipt before a tenant signs it: whether it agrees with the lease on the chain. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.receipt import Receipt, Totals
from offchain.schema.protocol.receipt_bill import amount, billings_of, running_bill

SKEW_MS: Final = 60_000
"""Tolerance for clocks of hosts, and for work metered before the start is on chain."""
SLACK_PERCENT: Final = 10
"""Tolerance for usage over the limits, which the kernel enforces in time slices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseFacts:
    """The chain's records of a lease. `now_ms`: chain time; `host_downtime_ms`: the host's total downtime."""

    genesis_hash: bytes
    task: int
    lease: int
    tenant: str
    spec: gen.TaskSpec
    record: gen.Lease
    host_downtime_ms: int
    now_ms: int


def problems(receipt: Receipt, facts: LeaseFacts) -> tuple[str, ...]:
    """Return where a receipt disagrees with the chain, as sentences. Empty: it may be signed."""
    found = tuple(_identity(receipt, facts))
    return found or (*_bill(receipt, facts), *_usage(receipt, facts))


def decreased_totals(older: Totals, newer: Totals) -> tuple[str, ...]:
    """Return the totals that are smaller in the newer of two receipts of one lease; there must be none."""
    fallen = []
    for field in fields(Totals):
        before, after = getattr(older, field.name), getattr(newer, field.name)
        if before is not None and (after is None or after < before):
            fallen.append(field.name)
    return tuple(fallen)


def _identity(receipt: Receipt, facts: LeaseFacts) -> Iterator[str]:
    pairs = (
        ("chain", receipt.genesis_hash.hex(), facts.genesis_hash.hex()),
        ("task", receipt.task, facts.task),
        ("lease", receipt.lease, facts.lease),
        ("host", receipt.host, facts.record.host),
        ("tenant", receipt.tenant, facts.tenant),
        ("time of opening", receipt.from_ms, facts.record.created_at),
    )
    for name, said, is_ in pairs:
        if said != is_:
            yield f"It is for the {name} {said}, not {is_}."


def _bill(receipt: Receipt, facts: LeaseFacts) -> Iterator[str]:
    bill, escrow, record = receipt.bill, facts.record.escrow, facts.record
    if receipt.until_ms > facts.now_ms + SKEW_MS:
        yield f"It goes up to {receipt.until_ms}, which is after the chain's time {facts.now_ms}."
    if (bill.rate_per_hour, bill.unit) != (escrow.rate_per_hour, escrow.unit):
        yield (
            f"Its rate is {bill.rate_per_hour} an hour by the {bill.unit.value.lower()}, "
            f"the chain's is {escrow.rate_per_hour} by the {escrow.unit.value.lower()}."
        )
    elif record.ended_at is not None:
        yield from _ended(receipt, facts)
    elif receipt.final:
        yield "It says that the lease is over, but the chain does not."
    elif escrow.since is not None:
        measured_ms = None if receipt.reported is None else receipt.reported.wall_ms
        ours = running_bill(record, receipt.until_ms, facts.host_downtime_ms, measured_ms)
        if (bill.since_ms, bill.accrued) != (ours.since_ms, ours.accrued):
            yield "The lease was started, stopped or resumed since it was written; ask for a new one."
        elif bill.billed_ms > ours.billed_ms:
            yield f"It bills {bill.billed_ms} ms; up to its end there are {ours.billed_ms} ms by the chain's rules."
        elif bill.owed > ours.owed:
            yield f"It says that {bill.owed} base units are owed; by the chain's rules it is {ours.owed}."
    elif bill.owed > max(escrow.accrued, escrow.paid):
        yield f"It says that {bill.owed} base units are owed, but the chain bills nothing yet."


def _ended(receipt: Receipt, facts: LeaseFacts) -> Iterator[str]:
    bill, record = receipt.bill, facts.record
    if not receipt.final:
        yield "The lease has ended since it was written; ask for its last one."
        return
    due = max(record.escrow.accrued, record.escrow.paid)
    by_rules = {amount(bill, record.escrow, billing) for billing in billings_of(record.state, facts.spec.kind)}
    # The chain's amount includes payments for retained data.
    kept = not isinstance(record.state, gen.LeaseStateEnded)
    if bill.owed > due or (bill.owed < due and not kept):
        yield f"It says that {bill.owed} base units are owed, the chain says {due}."
    elif due not in by_rules and not kept:
        yield f"Its {bill.billed_ms} ms at this rate do not make the {due} base units that are owed."
    if record.result is not None and receipt.reported != record.result.usage:
        yield f"It gives the usage {receipt.reported}, but the host reported {record.result.usage} to the chain."


def _usage(receipt: Receipt, facts: LeaseFacts) -> Iterator[str]:
    """Yield the totals that exceed the lease's limits."""
    totals, wanted = receipt.totals, facts.spec.resources
    span_ms = max(0, receipt.until_ms - receipt.from_ms) + SKEW_MS
    most = {
        "wall_ms": span_ms,
        "unmetered_ms": span_ms,
        "cpu_ms": span_ms * wanted.cpu_milli // 1000,
        "memory_peak_mib": wanted.memory_mib,
        "memory_mib_s": span_ms * wanted.memory_mib // 1000,
        "gpu_ms": span_ms * wanted.gpus.count,
    }
    for name, limit in most.items():
        said = getattr(totals, name)
        if said is not None and said > limit + limit * SLACK_PERCENT // 100:
            yield f"Its {name} is {said}; the most that the lease allows is {limit}."
