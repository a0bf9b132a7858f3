"""What follows from an event: which rows are new or different. Pure, and the same for live blocks and for a replay.

An event that speaks of something whose beginning is unknown, or with the fields of an older runtime, changes no row of
a task, lease or host; that it was there, and about whom, is noted all the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from offchain.indexer import coin_moves, matters, scheduler_conduct
from offchain.indexer.derive_values import IndexedEvent, RowLookup, text_of
from offchain.indexer.event_fold import (
    LeaseAmounts,
    closing_payment,
    deposit_of,
    opened_leases,
    payment_of,
    task_state_after,
)
from offchain.indexer.rows import BillRow, CoinAmount, HostRow, LeaseRow, MentionRow, Row, TaskRow
from offchain.schema.chain_types.ids import TASK_PALLETS, lease_parts, tasks_of_event

_ADDRESS = re.compile(r'"(5[1-9A-HJ-NP-Za-km-z]{46,47})"')
"""An account in JSON. No other text of an event looks like one: variants have names, and bytes begin with 0x."""
_ENDS = {
    "Cancelled": "Cancelled",
    "Settled": "Completed",
    "Scaled": "ScaledDown",
    "Stopped": "TenantEnded",
    "NotVerified": "NoAgreement",
    "DisputeResolved": "DisputeLost",
}
"""Why leases end of which an event says nothing more."""


def derive(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    """The new rows, each to take the place of the one with its key. `get` must already know what was yielded before."""
    fields = seen.fields
    mentioned: dict[str, None] = dict.fromkeys(_ADDRESS.findall(seen.text))
    if seen.pallet in TASK_PALLETS:
        mentioned |= dict.fromkeys(str(task) for task in sorted(tasks_of_event(fields)))
        lease = fields.get("lease")
        held = get(LeaseRow, lease) if isinstance(lease, int) else None
        if held is not None:
            mentioned[held.host] = None
        challenge = matters.challenge_of(fields)
        if challenge is not None:
            mentioned[matters.challenge_subject(challenge)] = None
    for rule in _RULES.get(seen.pallet, ()):
        for row in rule(seen, get):
            if isinstance(row, BillRow):
                mentioned[row.host] = None
            yield row
    for subject in mentioned:
        yield MentionRow(subject, seen.block, seen.place)


@dataclass(slots=True)
class _Sums:
    """What an event leaves of a task's numbers, while its leases are gone through."""

    live: list[int]
    paid: int
    fee: int
    refunded: int


def _tasks(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    if seen.name == "Submitted" and "first" in fields:
        yield from _submitted(seen)
    elif seen.name == "DataMoved":
        moved = get(LeaseRow, fields["from"])
        if moved is not None:
            yield replace(moved, state="Purged", reason="DataMoved")
    elif seen.name != "ItemRefused":
        task = get(TaskRow, fields.get("task"))
        if task is not None:
            yield from _task(seen, task, get)


def _task(seen: IndexedEvent, task: TaskRow, get: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    sums = _Sums(json.loads(task.live), task.paid, task.fee, task.refunded)
    if seen.name == "LeaseMoved":
        yield from _billed(seen, fields["bill"], sums, get)
    opened = opened_leases(seen.name, fields)
    for terms in opened:
        yield from _open(seen, task, sums, get, terms)
    if not opened and isinstance(fields.get("lease"), int):
        lease = get(LeaseRow, fields["lease"])
        if lease is not None:
            changed = _lease_after(seen, lease)
            if changed.ended_ms is not None and lease.lease in sums.live:
                sums.live.remove(lease.lease)
            yield changed
    for bill in fields.get("bills", ()):
        yield from _billed(seen, bill, sums, get)
    if seen.name in ("Stopped", "Preempted"):
        for number in sums.live:
            lease = get(LeaseRow, number)
            if lease is not None:
                yield replace(lease, state="Ended", reason=_reason(seen), ended_ms=seen.time_ms)
        sums.live = []
    yield replace(
        task,
        state=_state_after(seen) or task.state,
        failures=fields.get("failures", task.failures),
        live=json.dumps(sums.live),
        changed_block=seen.block,
        changed_ms=seen.time_ms,
        paid=CoinAmount(sums.paid),
        fee=CoinAmount(sums.fee),
        refunded=CoinAmount(sums.refunded),
        pruned=int(seen.name == "Pruned" or task.pruned),
    )


def _open(seen: IndexedEvent, task: TaskRow, sums: _Sums, get: RowLookup, terms: Iterable[Any]) -> Iterator[Row]:
    opened = _opened(seen, task.task, *terms)
    sums.live.append(opened.lease)
    yield opened
    host = get(HostRow, opened.host)
    if host is not None:
        yield replace(host, leases=host.leases + 1)


def _billed(seen: IndexedEvent, bill: Mapping[str, Any], sums: _Sums, get: RowLookup) -> Iterator[Row]:
    lease = get(LeaseRow, bill["lease"])
    if lease is None:
        return
    line = _bill_row(seen, lease, closing_payment(bill, lease))
    yield line
    if lease.ended_ms is None:
        lease = replace(lease, state="Ended", reason=_reason(seen), ended_ms=seen.time_ms)
    if lease.lease in sums.live:
        sums.live.remove(lease.lease)
    yield _after_bill(lease, line)
    yield from _earned(get, line)
    sums.paid += line.paid
    sums.fee += line.fee
    sums.refunded += line.refunded


def _after_bill(lease: LeaseRow, line: BillRow) -> LeaseRow:
    return replace(
        lease,
        paid=CoinAmount(lease.paid + line.paid),
        fee=CoinAmount(lease.fee + line.fee),
        scheduler_fee=CoinAmount(lease.scheduler_fee + line.scheduler_fee),
        settler_fee=CoinAmount(lease.settler_fee + line.settler_fee),
        refunded=CoinAmount(lease.refunded + line.refunded),
    )


def _submitted(seen: IndexedEvent) -> Iterator[Row]:
    fields = seen.fields
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
            submitted_block=seen.block,
            submitted_ms=seen.time_ms,
            changed_block=seen.block,
            changed_ms=seen.time_ms,
        )


def _opened(seen: IndexedEvent, task: int, lease: int, host: str, rate: int = 0, deposit: int = 0) -> LeaseRow:
    _, pod, generation = lease_parts(lease)
    return LeaseRow(
        lease=lease,
        task=task,
        pod=pod,
        generation=generation,
        host=host,
        state="Pending",
        reason=None,
        rate_per_hour=CoinAmount(rate),
        deposited=CoinAmount(deposit),
        paid=CoinAmount(0),
        fee=CoinAmount(0),
        scheduler_fee=CoinAmount(0),
        settler_fee=CoinAmount(0),
        refunded=CoinAmount(0),
        assigned_ms=seen.time_ms,
    )


def _lease_after(seen: IndexedEvent, lease: LeaseRow) -> LeaseRow:
    fields = seen.fields
    match seen.name:
        case "PodStarted":
            return replace(lease, state="Active", started_ms=seen.time_ms)
        case "PodReported":
            result = fields["result"]
            usage = result["usage"]
            return replace(
                lease,
                state="Ended",
                reason="Completed",
                ended_ms=seen.time_ms,
                exit_code=result["exit_code"],
                result_digest=result["digest"],
                wall_ms=usage["wall_ms"],
                cpu_ms=usage["cpu_ms"],
                memory_peak_mib=usage["memory_peak_mib"],
            )
        case "Requeued" | "PodLost" | "LeaseEnded":
            return replace(lease, state="Ended", reason=text_of(fields["reason"]), ended_ms=seen.time_ms)
        case "Rated":
            return replace(lease, stars=fields["stars"])
        case "Purged" | "DataLost":
            return replace(lease, state="Purged")
    return lease


def _reason(seen: IndexedEvent) -> str:
    """Why leases end that an event names only with their bills."""
    if seen.name == "LeaseMoved":
        return text_of(seen.fields["reason"])
    return _ENDS.get(seen.name) or ("GangAborted" if seen.name in ("Requeued", "PodLost") else seen.name)


def _state_after(seen: IndexedEvent) -> str | None:
    state = task_state_after(seen.name, seen.fields)
    return None if state is None else text_of(state)


def _bill_row(seen: IndexedEvent, lease: LeaseRow, payment: LeaseAmounts) -> BillRow:
    return BillRow(
        seen.block,
        seen.place,
        lease.lease,
        lease.task,
        lease.host,
        CoinAmount(payment.paid),
        CoinAmount(payment.fee),
        CoinAmount(payment.scheduler_fee),
        CoinAmount(payment.settler_fee),
        CoinAmount(payment.refunded),
    )


def _earned(get: RowLookup, bill: BillRow) -> Iterator[Row]:
    host = get(HostRow, bill.host)
    if host is not None and bill.paid:
        yield replace(host, earned=CoinAmount(host.earned + bill.paid - bill.fee))


def _leases(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    lease = get(LeaseRow, fields["lease"]) if isinstance(fields.get("lease"), int) else None
    if lease is None:
        return
    payment, deposit = payment_of(seen.name, fields), deposit_of(seen.name, fields)
    if payment is not None:
        yield from _paid_meanwhile(seen, lease, payment, get)
    elif deposit is not None:
        yield replace(lease, deposited=CoinAmount(lease.deposited + deposit))
    match seen.name:
        case "Suspended" | "Resumed":
            state = "Suspended" if seen.name == "Suspended" else "Active"
            yield replace(lease, state=state, rate_per_hour=fields["rate_per_hour"])
        case "PurgedWithoutReceipt":
            yield replace(lease, state="Purged")


def _paid_meanwhile(seen: IndexedEvent, lease: LeaseRow, payment: LeaseAmounts, get: RowLookup) -> Iterator[Row]:
    line = _bill_row(seen, lease, payment)
    yield line
    yield replace(_after_bill(lease, line), deposited=CoinAmount(lease.deposited + payment.deposited))
    yield from _earned(get, line)
    task = get(TaskRow, lease.task)
    if task is not None:
        yield replace(
            task,
            paid=CoinAmount(task.paid + line.paid),
            fee=CoinAmount(task.fee + line.fee),
            refunded=CoinAmount(task.refunded + line.refunded),
        )


def _hosts(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    if seen.name == "Registered":
        known = get(HostRow, fields["host"])
        if known is None:
            yield HostRow(
                host=fields["host"],
                provider=fields["provider"],
                status="Unverified",
                generation=0,
                score_ppm=None,
                leases=0,
                earned=CoinAmount(0),
                slashed=CoinAmount(0),
                registered_ms=seen.time_ms,
                changed_ms=seen.time_ms,
            )
        else:
            yield replace(known, provider=fields["provider"], status="Unverified", changed_ms=seen.time_ms)
        return
    host = get(HostRow, fields.get("host"))
    if host is None:
        return
    host = replace(host, changed_ms=seen.time_ms)
    match seen.name:
        case "StatusChanged":
            yield replace(host, status=text_of(fields["to"]))
        case "HardwareChanged":
            yield replace(host, generation=fields["generation"])
        case "Slashed":
            yield replace(host, slashed=CoinAmount(host.slashed + fields["amount"]))
        case "AbsenceReported":
            # Chains before this field did not say what the treasury got.
            lost = fields["bounty"] + fields.get("forfeited", 0)
            yield replace(host, slashed=CoinAmount(host.slashed + lost))


def _reputation(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    host = get(HostRow, seen.fields.get("host")) if seen.name == "Scored" else None
    if host is not None:
        yield replace(host, score_ppm=seen.fields["score_ppm"])


_RULES: Mapping[str, tuple[Callable[[IndexedEvent, RowLookup], Iterator[Row]], ...]] = {
    "Tasks": (_tasks, scheduler_conduct.conduct),
    "Leases": (_leases,),
    "Hosts": (_hosts,),
    "Reputation": (_reputation,),
    "Verification": (matters.verification,),
    "Balances": (coin_moves.balances, scheduler_conduct.bonds),
    "TransactionPayment": (coin_moves.fees,),
}
