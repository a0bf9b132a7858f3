"""Derivation of rows from events. Pure, and the same for live blocks and for a replay.

An event about a task, lease or host whose creation is not in the index, or with the fields of an older runtime, changes
no row of these tables; its mentions are stored nevertheless.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from offchain.indexer.rows import BillRow, HostRow, LeaseRow, MentionRow, R, Row, TaskRow, TransferRow
from offchain.schema.chain_types.ids import TASK_PALLETS, lease_parts, tasks_of_event

_ADDRESS = re.compile(r'"(5[1-9A-HJ-NP-Za-km-z]{46,47})"')
"""An account in JSON. No other text in an event has this form: variants are names, and bytes begin with 0x."""
_STATES = {
    "Cancelled": "Cancelled",
    "Expired": "Expired",
    "Settled": "Settled",
    "ResultAccepted": "Verified",
    "Verified": "Verified",
    "Disputed": "Disputed",
    "NotVerified": "Failed(NoAgreement)",
}
_ENDS = {
    "Cancelled": "Cancelled",
    "Settled": "Completed",
    "Scaled": "ScaledDown",
    "Stopped": "TenantEnded",
    "NotVerified": "NoAgreement",
    "DisputeResolved": "DisputeLost",
}
"""Reasons for the end of leases that an event does not name."""
_BOTH_ENDS = {"Transfer": ("from", "to", "amount"), "TransferOnHold": ("source", "dest", "amount")}
_BOTH_ENDS |= {"TransferAndHold": ("source", "dest", "transferred")}
_INTO = ("Deposit", "Minted", "Released", "Restored", "Endowed")
_OUT_OF = ("Withdraw", "Burned", "Held", "Slashed", "BurnedHeld", "Suspended", "DustLost")


@dataclass(frozen=True, slots=True)
class IndexedEvent:
    """An event, its index in the block and the time of the block. `text` is `fields` as stored JSON."""

    block: int
    place: int
    time_ms: int
    pallet: str
    name: str
    fields: Mapping[str, Any]
    text: str


class RowLookup(Protocol):
    """Return the present row with a key, or None."""

    def __call__(self, table: type[R], *key: Any) -> R | None: ...


def text_of(value: Any) -> str:
    """Return an enum's value as text: Running, or Failed(AttemptsExhausted)."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, payload),) = value.items()
        return f"{name}({text_of(payload)})"
    return str(value)


def derive(event: IndexedEvent, lookup: RowLookup) -> Iterator[Row]:
    """Yield new rows and replacements of rows with the same key. `lookup` must see rows yielded before."""
    fields = event.fields
    mentioned: dict[str, None] = dict.fromkeys(_ADDRESS.findall(event.text))
    if event.pallet in TASK_PALLETS:
        mentioned |= dict.fromkeys(str(task) for task in sorted(tasks_of_event(fields)))
        lease = fields.get("lease")
        known = lookup(LeaseRow, lease) if isinstance(lease, int) else None
        if known is not None:
            mentioned[known.host] = None
    rule = _RULES.get(event.pallet)
    if rule is not None:
        for row in rule(event, lookup):
            if isinstance(row, BillRow):
                mentioned[row.host] = None
            yield row
    for subject in mentioned:
        yield MentionRow(subject, event.block, event.place)


# --- tasks and their leases -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _TaskTotals:
    """The live leases and amounts of a task while one event is processed."""

    live: list[int]
    paid: int
    fee: int
    refunded: int


def _tasks(event: IndexedEvent, lookup: RowLookup) -> Iterator[Row]:
    fields = event.fields
    if event.name == "Submitted" and "first" in fields:
        yield from _submitted(event)
    elif event.name == "DataMoved":
        moved = lookup(LeaseRow, fields["from"])
        if moved is not None:
            yield replace(moved, state="Purged", reason="DataMoved")
    elif event.name != "ItemRefused":
        task = lookup(TaskRow, fields.get("task"))
        if task is not None:
            yield from _task(event, task, lookup)


def _task(event: IndexedEvent, task: TaskRow, lookup: RowLookup) -> Iterator[Row]:
    fields = event.fields
    totals = _TaskTotals(json.loads(task.live), task.paid, task.fee, task.refunded)
    if event.name == "Assigned":
        yield from _assigned(event, task, totals, lookup)
    elif event.name == "LeaseMoved":
        yield from _moved(event, task, totals, lookup)
    elif isinstance(fields.get("lease"), int):
        lease = lookup(LeaseRow, fields["lease"])
        if lease is not None:
            changed = _lease_after(event, lease)
            if changed.ended_ms is not None and lease.lease in totals.live:
                totals.live.remove(lease.lease)
            yield changed
    for bill in fields.get("bills", ()):
        yield from _billed(event, bill, totals, lookup)
    if event.name in ("Stopped", "Preempted"):
        for number in totals.live:
            lease = lookup(LeaseRow, number)
            if lease is not None:
                yield replace(lease, state="Ended", reason=_reason(event), ended_ms=event.time_ms)
        totals.live = []
    yield replace(
        task,
        state=_state_after(event) or task.state,
        failures=fields.get("failures", task.failures),
        live=json.dumps(totals.live),
        changed_block=event.block,
        changed_ms=event.time_ms,
        paid=totals.paid,
        fee=totals.fee,
        refunded=totals.refunded,
        pruned=int(event.name == "Pruned" or task.pruned),
    )


def _assigned(event: IndexedEvent, task: TaskRow, totals: _TaskTotals, lookup: RowLookup) -> Iterator[Row]:
    for terms in event.fields["leases"]:
        yield from _open(event, task, totals, lookup, terms)


def _open(
    event: IndexedEvent, task: TaskRow, totals: _TaskTotals, lookup: RowLookup, terms: Iterable[Any]
) -> Iterator[Row]:
    opened = _opened(event, task.task, *terms)
    totals.live.append(opened.lease)
    yield opened
    host = lookup(HostRow, opened.host)
    if host is not None:
        yield replace(host, leases=host.leases + 1)


def _moved(event: IndexedEvent, task: TaskRow, totals: _TaskTotals, lookup: RowLookup) -> Iterator[Row]:
    """A pod moves to another lease, with the rest of the deposit."""
    fields = event.fields
    yield from _billed(event, fields["bill"], totals, lookup)
    yield from _open(
        event, task, totals, lookup, (fields["to"], fields["host"], fields["rate_per_hour"], fields["deposit"])
    )


def _billed(event: IndexedEvent, bill: Mapping[str, Any], totals: _TaskTotals, lookup: RowLookup) -> Iterator[Row]:
    lease = lookup(LeaseRow, bill["lease"])
    if lease is None:
        return
    bill_row = BillRow(
        event.block,
        event.place,
        lease.lease,
        lease.task,
        lease.host,
        # The closing bill covers the whole lease, with the payments before.
        bill["paid"] - lease.paid,
        bill["fee"] - lease.fee,
        bill.get("scheduler_fee", 0) - lease.scheduler_fee,
        bill.get("settler_fee", 0) - lease.settler_fee,
        # Refunds of coins owner for storage are in no bill.
        bill["refunded"],
    )
    yield bill_row
    if lease.ended_ms is None:
        lease = replace(lease, state="Ended", reason=_reason(event), ended_ms=event.time_ms)
    if lease.lease in totals.live:
        totals.live.remove(lease.lease)
    yield _after_bill(lease, bill_row)
    yield from _earned(lookup, bill_row)
    totals.paid += bill_row.paid
    totals.fee += bill_row.fee
    totals.refunded += bill_row.refunded


def _after_bill(lease: LeaseRow, bill_row: BillRow) -> LeaseRow:
    return replace(
        lease,
        paid=lease.paid + bill_row.paid,
        fee=lease.fee + bill_row.fee,
        scheduler_fee=lease.scheduler_fee + bill_row.scheduler_fee,
        settler_fee=lease.settler_fee + bill_row.settler_fee,
        refunded=lease.refunded + bill_row.refunded,
    )


def _submitted(event: IndexedEvent) -> Iterator[Row]:
    fields = event.fields
    for task in range(fields["first"], fields["first"] + fields["count"]):
        yield TaskRow(
            task=task,
            first=fields["first"],
            tenant=fields["tenant"],
            kind=text_of(fields["kind"]),
            manifest_digest=fields["manifest_digest"],
            state="Queued",
            failures=0,
            live="[]",
            submitted_block=event.block,
            submitted_ms=event.time_ms,
            changed_block=event.block,
            changed_ms=event.time_ms,
        )


def _opened(event: IndexedEvent, task: int, lease: int, host: str, rate: int = 0, deposit: int = 0) -> LeaseRow:
    _, pod, generation = lease_parts(lease)
    return LeaseRow(
        lease=lease,
        task=task,
        pod=pod,
        generation=generation,
        host=host,
        state="Pending",
        reason=None,
        rate_per_hour=rate,
        deposited=deposit,
        paid=0,
        fee=0,
        scheduler_fee=0,
        settler_fee=0,
        refunded=0,
        assigned_ms=event.time_ms,
    )


def _lease_after(event: IndexedEvent, lease: LeaseRow) -> LeaseRow:
    fields = event.fields
    match event.name:
        case "PodStarted":
            return replace(lease, state="Active", started_ms=event.time_ms)
        case "PodReported":
            result = fields["result"]
            usage = result["usage"]
            return replace(
                lease,
                state="Ended",
                reason="Completed",
                ended_ms=event.time_ms,
                exit_code=result["exit_code"],
                result_digest=result["digest"],
                wall_ms=usage["wall_ms"],
                cpu_ms=usage["cpu_ms"],
                memory_peak_mib=usage["memory_peak_mib"],
            )
        case "Requeued" | "PodLost" | "LeaseEnded":
            return replace(lease, state="Ended", reason=text_of(fields["reason"]), ended_ms=event.time_ms)
        case "Rated":
            return replace(lease, stars=fields["stars"])
        case "Purged" | "DataLost":
            return replace(lease, state="Purged")
    return lease


def _reason(event: IndexedEvent) -> str:
    """Return why leases end that the event names only in its bills."""
    if event.name == "LeaseMoved":
        return text_of(event.fields["reason"])
    return _ENDS.get(event.name) or ("GangAborted" if event.name in ("Requeued", "PodLost") else event.name)


def _state_after(event: IndexedEvent) -> str | None:
    state = event.fields.get("to" if event.name == "StateChanged" else "state")
    return _STATES.get(event.name) if state is None else text_of(state)


def _earned(lookup: RowLookup, bill: BillRow) -> Iterator[Row]:
    host = lookup(HostRow, bill.host)
    if host is not None and bill.paid:
        yield replace(host, earned=host.earned + bill.paid - bill.fee)


def _leases(event: IndexedEvent, lookup: RowLookup) -> Iterator[Row]:
    fields = event.fields
    lease = lookup(LeaseRow, fields["lease"]) if isinstance(fields.get("lease"), int) else None
    if lease is None:
        return
    match event.name:
        case "Extended" | "ToppedUp":
            yield replace(lease, deposited=lease.deposited + fields["amount"])
        case "Suspended" | "Resumed":
            state = "Suspended" if event.name == "Suspended" else "Active"
            yield replace(lease, state=state, rate_per_hour=fields["rate_per_hour"])
        case "DataKept" if "amount" in fields:
            yield replace(lease, deposited=lease.deposited + fields["amount"])
        case "Paid" | "StoragePaid" | "DataKept":
            yield from _paid_meanwhile(event, lease, lookup)
        case "PurgedWithoutReceipt":
            yield replace(lease, state="Purged")


def _paid_meanwhile(event: IndexedEvent, lease: LeaseRow, lookup: RowLookup) -> Iterator[Row]:
    fields = event.fields
    share, fee = fields["share"], fields["fee"]
    bill_row = BillRow(
        event.block,
        event.place,
        lease.lease,
        lease.task,
        lease.host,
        share + fee,
        fee,
        fields.get("scheduler_fee", 0),
        fields.get("settler_fee", 0),
        fields.get("refunded", 0),
    )
    yield bill_row
    # Releases before 4 paid for retained data at once.
    kept = share + fee if event.name == "DataKept" else 0
    yield replace(_after_bill(lease, bill_row), deposited=lease.deposited + kept)
    yield from _earned(lookup, bill_row)
    task = lookup(TaskRow, lease.task)
    if task is not None:
        yield replace(
            task,
            paid=task.paid + bill_row.paid,
            fee=task.fee + fee,
            refunded=task.refunded + bill_row.refunded,
        )


# --- hosts ------------------------------------------------------------------------------------------------------------


def _hosts(event: IndexedEvent, lookup: RowLookup) -> Iterator[Row]:
    fields = event.fields
    if event.name == "Registered":
        known = lookup(HostRow, fields["host"])
        if known is None:
            yield HostRow(
                host=fields["host"],
                provider=fields["provider"],
                status="Unverified",
                generation=0,
                score_ppm=None,
                leases=0,
                earned=0,
                slashed=0,
                registered_ms=event.time_ms,
                changed_ms=event.time_ms,
            )
        else:
            yield replace(known, provider=fields["provider"], status="Unverified", changed_ms=event.time_ms)
        return
    host = lookup(HostRow, fields.get("host"))
    if host is None:
        return
    host = replace(host, changed_ms=event.time_ms)
    match event.name:
        case "StatusChanged":
            yield replace(host, status=text_of(fields["to"]))
        case "HardwareChanged":
            yield replace(host, generation=fields["generation"])
        case "Slashed":
            yield replace(host, slashed=host.slashed + fields["amount"])
        case "AbsenceReported":
            # Earlier runtimes have no field for the share of the treasury.
            lost = fields["bounty"] + fields.get("forfeited", 0)
            yield replace(host, slashed=host.slashed + lost)


def _reputation(event: IndexedEvent, lookup: RowLookup) -> Iterator[Row]:
    host = lookup(HostRow, event.fields.get("host")) if event.name == "Scored" else None
    if host is not None:
        yield replace(host, score_ppm=event.fields["score_ppm"])


# --- coins ------------------------------------------------------------------------------------------------------------


def _balances(event: IndexedEvent, lookup: RowLookup) -> Iterator[Row]:
    del lookup
    fields = event.fields
    reason = fields.get("reason")
    sender = receiver = None
    amount = fields.get("amount", fields.get("free_balance"))
    if event.name in _BOTH_ENDS:
        names = _BOTH_ENDS[event.name]
        sender, receiver, amount = (fields.get(name) for name in names)
    elif event.name in _INTO:
        receiver = fields.get("who", fields.get("account"))
    elif event.name in _OUT_OF:
        sender = fields.get("who", fields.get("account"))
    if amount is not None and (sender or receiver):
        why = None if reason is None else text_of(reason)
        yield TransferRow(event.block, event.place, event.name, sender, receiver, amount, why)


def _fees(event: IndexedEvent, lookup: RowLookup) -> Iterator[Row]:
    del lookup
    if event.name == "TransactionFeePaid":
        amount = event.fields["actual_fee"]
        yield TransferRow(event.block, event.place, "Fee", event.fields["who"], None, amount, None)


_RULES: Mapping[str, Callable[[IndexedEvent, RowLookup], Iterator[Row]]] = {
    "Tasks": _tasks,
    "Leases": _leases,
    "Hosts": _hosts,
    "Reputation": _reputation,
    "Balances": _balances,
    "TransactionPayment": _fees,
}
