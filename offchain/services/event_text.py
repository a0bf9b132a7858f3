"""Text of the chain's events and states, and the bill that the events of a task add up to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from offchain.indexer.event_fold import (
    LeaseAmounts,
    closing_payment,
    deposit_of,
    opened_leases,
    payment_of,
    task_state_after,
)
from offchain.ports import Block, ChainEvent, DispatchFailure
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.reasons import SENTENCES, innermost
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import duration_text
from offchain.services.event_sentences import EVENT_SENTENCES

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PHRASES: Mapping[str, str] = {
    **SENTENCES,
    "AttemptsExhausted": "every attempt failed",
    "Cancelled": "cancelled by the tenant",
    "Completed": "completed",
    "DataMoved": "another lease took over its data",
    "Depleted": "its deposit was used up",
    "DisputeLost": "its result was found to be wrong",
    "DurationExceeded": "its maximum duration passed without a result",
    "Expired": "it was not assigned before its deadline",
    "Moved": "its pod was moved to another host",
    "NoAgreement": "the results of different hosts differ",
    "NotRepeated": "no other host repeated the work",
    "NoResult": "no result was reported in time",
    "Preempted": "a task of higher priority took its place",
    "ScaledDown": "the service was scaled down",
    "TenantEnded": "ended by the tenant",
}
"""Reasons for which leases and tasks end, by the name of the innermost variant."""

_AGREEMENT_PHRASES: Mapping[str, str] = {
    "ByGovernance": "governance revoked it",
    "Expired": "its time is over",
    "FoundWrong": "it was contested and found wrong",
    "Kept": "it was kept",
    "NotAccepted": "it was not accepted",
    "NotBegun": "its lease did not begin, by nobody's known fault",
    "Revoked": "its auditor revoked it",
}
"""Ends of offers and attestations."""
_FAULTS: Mapping[str, str] = {
    "Absent": "it was absent",
    "StartTimeout": "it did not start a pod in time",
    "LostPod": "it lost a pod",
    "FailedChallenge": "it failed a challenge",
    "WrongResult": "its result was found to be wrong",
    "DataLost": "it lost the data of a lease",
}
"""Faults of hosts."""
_PRICES = (
    ("gpu_per_hour", "GPU"),
    ("cpu_core_per_hour", "core"),
    ("memory_gib_per_hour", "GiB of memory"),
    ("disk_gib_per_hour", "GiB of disk"),
    ("storage_gib_per_hour", "GiB of a stopped rental's disk"),
)


def state_text(plain: Any) -> str:
    """Return an enum's value as a stable code: Running, or Failed(AttemptsExhausted). For --json and comparisons."""
    if isinstance(plain, str):
        return plain
    if len(plain) != 1:
        return ", ".join(f"{name} {value}" for name, value in plain.items())
    ((name, payload),) = plain.items()
    return f"{name}({state_text(payload) if isinstance(payload, (str, dict)) else payload})"


def phrase(plain: Any) -> str:
    """Return the innermost variant of an enum's value, or of a code of :func:`state_text`, as words."""
    name = plain.rstrip(")").rpartition("(")[2] if isinstance(plain, str) else innermost(plain)
    return _PHRASES.get(name) or _CAMEL.sub(" ", name).lower()


def state_phrase(code: str) -> str:
    """Return a state as people read it: Running, or "Failed: every attempt failed"."""
    state, inner, _ = code.partition("(")
    return f"{state}: {phrase(code)}" if inner else state


def time_text(moment_ms: int) -> str:
    """Return a chain time in UTC; one beyond the calendar is "the end of time"."""
    try:
        return datetime.fromtimestamp(moment_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return "the end of time"


def state_after(event: ChainEvent) -> str | None:
    """Return the code of the state that an event puts its task in; None where it does not change the state."""
    state = task_state_after(event.name, event.fields) if event.pallet == "Tasks" else None
    return None if state is None else state_text(state)


def failure_of(event: ChainEvent, block: Block) -> DispatchFailure | None:
    """Return the error with which an item of a batch was refused; None for other events."""
    if event.name != "ItemRefused" or event.extrinsic is None:
        return None
    return block.inclusions[event.extrinsic].refused.get(event.fields["index"])


def event_text(event: ChainEvent, failure: DispatchFailure | None = None) -> str:
    """Return an event as one or more sentences. `failure`: the error that the event refers to by number."""
    words = {name: _word(name, value) for name, value in event.fields.items()}
    if event.pallet == "Agreements":
        ends = {name: value for name, value in event.fields.items() if isinstance(value, str)}
        words |= {name: _AGREEMENT_PHRASES[value] for name, value in ends.items() if value in _AGREEMENT_PHRASES}
    if failure is not None:
        words["error"] = f"{failure.pallet}.{failure.name}. {failure.doc}".strip()
    if isinstance(event.fields.get("lease"), int):
        words["pod"] = str(lease_parts(event.fields["lease"])[1])
    elif event.name == "LeaseMoved":
        words["pod"] = str(lease_parts(event.fields["to"])[1])
    count, first = event.fields.get("count", 1), event.fields.get("first")
    words["together"] = f" with {count - 1} more, from task {first} on" if count > 1 else ""
    sentence = EVENT_SENTENCES.get((event.pallet, event.name))
    if sentence is None:
        return _bare_text(event, words)
    try:
        return sentence.format_map(words).strip()
    except KeyError:  # the event of an older runtime has other fields
        return _bare_text(event, words)


def _bare_text(event: ChainEvent, words: Mapping[str, str]) -> str:
    values = ", ".join(f"{name} {words[name]}" for name in event.fields)
    return f"{event.pallet}.{event.name}{': ' if values else ''}{values}."


def _word(name: str, value: Any) -> str:
    special = _WORDS.get(name)
    if special is not None:
        return special(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict) and len(value) == 1:
        return state_phrase(state_text(value))
    return str(value)


def _leases_text(opened: Iterable[tuple[int, str, int, int]]) -> str:
    return "; ".join(_lease_text(*one) for one in opened)


def _lease_text(lease: int, host: str, rate: int | None = None, deposit: int | None = None) -> str:
    if rate is None or deposit is None:  # in the first release these are in an event of their own
        return f"lease {lease} on {host}"
    return f"lease {lease} on {host} at {format_amount(rate)} an hour, {format_amount(deposit)} deposited"


def _result_text(result: Mapping[str, Any]) -> str:
    return f"exit code {result['exit_code']}, result sha256 {bytes(result['digest']).hex()}"


def _ask_text(ask: Mapping[str, Any]) -> str:
    prices = [f"{what} {format_amount(ask[name])}" for name, what in _PRICES if name in ask]
    models = [
        f"{bytes(price['model']).decode('utf-8', errors='backslashreplace')} {format_amount(price['per_hour'])}"
        for price in ask.get("gpu", ())
    ]
    return ", ".join(models + prices)


def _variant_text(value: Any) -> str:
    return phrase(value) if isinstance(value, (str, dict)) else str(value)


def _party_text(value: Any) -> str:
    """Return a side of an agreement as a word; an account stays an address."""
    return value.lower() if value in ("Tenant", "Provider") else str(value)


def _numbered_text(value: Mapping[str, Any]) -> str:
    """Return a variant with a number or an account, such as "host 5F..."."""
    ((kind, named),) = value.items()
    return f"{kind.lower()} {named}"


def _attribute_text(value: Mapping[str, Any]) -> str:
    ((kind, what),) = value.items()
    if kind == "Region":
        region = bytes(what["region"]).decode("utf-8", errors="backslashreplace")
        return f"it is in the region {region}, with round trips of at most {what['max_latency_ms']} ms"
    return f"it has the certificate {bytes(what).decode('utf-8', errors='backslashreplace')}"


def _outcome_text(value: Any) -> str:
    if isinstance(value, dict) and "BrokenBy" in value:
        return f"the {value['BrokenBy'].lower()} broke the agreement"
    return _variant_text(value)


def _bills_text(bills: Iterable[Mapping[str, int]]) -> str:
    found = list(bills)
    if not found:
        return ""
    paid, fee, back = (sum(bill[name] for bill in found) for name in ("paid", "fee", "refunded"))
    refund = f"{format_amount(back)} refunded to the tenant"
    if paid and paid == fee:
        return f"{format_amount(paid)} paid to the treasury for holding the host before the start; {refund}."
    scheduler, settler = (sum(bill.get(name, 0) for bill in found) for name in ("scheduler_fee", "settler_fee"))
    shares = (
        f" ({format_amount(scheduler)} to schedulers, {format_amount(settler)} to settlers)"
        if scheduler + settler
        else ""
    )
    return f"{format_amount(paid)} paid, {format_amount(fee)} of it protocol fee{shares}; {refund}."


_WORDS: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(("amount", "share", "fee", "rate_per_hour", "deposit", "owed", "bounty", "stake"), format_amount),
    **dict.fromkeys(("scheduler_fee", "settler_fee", "refunded", "compensation", "bond"), format_amount),
    **dict.fromkeys(("to_tenant", "to_treasury", "forfeited", "bond_required"), format_amount),
    **dict.fromkeys(("ends_at", "depletes_at", "reclaim_at", "until", "again_at"), time_text),
    **dict.fromkeys(("expires_at", "respond_until", "start_until"), time_text),
    **dict.fromkeys(("upheld", "repeated", "in_time", "decided"), lambda value: "yes" if value else "no"),
    "attribute": _attribute_text,
    "bills": _bills_text,
    "by": _party_text,
    "bill": lambda bill: _bills_text([bill]),
    "leases": _leases_text,
    "ask": _ask_text,
    "attested": lambda value: "proved" if value else "did not prove",
    "device": lambda value: "none" if value is None else str(value),
    "due": _numbered_text,
    "duration_ms": duration_text,
    "fault": lambda value: _FAULTS.get(value) or _variant_text(value),
    "latency_ms": lambda value: f"{value} ms" if value else "unknown",
    "unhealthy": lambda value: ", ".join(map(str, value)) or "none",
    "result": _result_text,
    **dict.fromkeys(("reason", "verdict", "vote"), _variant_text),
    "outcome": _outcome_text,
    "probability_ppm": lambda value: f"{value / 10_000:g} %",
    "score_ppm": lambda value: f"{value / 1_000_000:.6f}",
    "subject": _numbered_text,
}
"""How the values of fields with these names are written."""


@dataclass(slots=True)
class LeaseTotals:
    """Amounts of one lease in base units; `paid` includes `fee`, which includes the shares of scheduler and settler."""

    lease: int
    host: str | None = None
    rate_per_hour: int | None = None
    deposited: int = 0
    paid: int = 0
    fee: int = 0
    scheduler_fee: int = 0
    settler_fee: int = 0
    refunded: int = 0

    def add(self, payment: LeaseAmounts) -> None:
        """Add what an event contributes."""
        for name in LeaseAmounts.__slots__:
            setattr(self, name, getattr(self, name) + getattr(payment, name))


@dataclass(slots=True)
class TaskBill:
    """The payments of a task, added up from events alone."""

    leases: dict[int, LeaseTotals] = field(default_factory=dict)

    def note(self, event: ChainEvent) -> None:
        """Add an event."""
        fields = event.fields
        for lease, host, *terms in opened_leases(event.name, fields):
            bill = self._of(lease)
            bill.host = host
            if terms:
                bill.rate_per_hour, bill.deposited = terms
        if event.name == "EscrowOpened":
            bill = self._of(fields["lease"])
            bill.rate_per_hour, bill.deposited = fields["rate_per_hour"], fields["deposit"]
        elif event.name == "EscrowClosed":
            bill = self._of(fields["lease"])
            bill.paid, bill.fee, bill.refunded = fields["paid"], fields["fee"], fields["refunded"]
        elif event.pallet == "Leases":
            deposit, payment = deposit_of(event.name, fields), payment_of(event.name, fields)
            if deposit is not None:
                self._of(fields["lease"]).deposited += deposit
            elif payment is not None:
                self._of(fields["lease"]).add(payment)
        for closing in (fields["bill"],) if event.name == "LeaseMoved" else fields.get("bills", ()):
            bill = self._of(closing["lease"])
            bill.add(closing_payment(closing, bill))

    def plain(self) -> dict[str, Any]:
        """Return sums and leases for --json."""
        return {
            "paid": self.paid,
            "paid_gty": format_amount(self.paid),
            "fee": sum(lease.fee for lease in self.leases.values()),
            "refunded": sum(lease.refunded for lease in self.leases.values()),
            "leases": [asdict(lease) for lease in self.leases.values()],
        }

    @property
    def paid(self) -> int:
        """The sum that the tenant paid, fees included."""
        return sum(lease.paid for lease in self.leases.values())

    def _of(self, lease: int) -> LeaseTotals:
        return self.leases.setdefault(lease, LeaseTotals(lease))
