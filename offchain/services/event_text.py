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

_FAILED_ATTEMPT = "{reason}; failures by different providers: {failures}. {bills}"
_PAYMENT = (
    "{share} to the provider, {fee} protocol fee ({scheduler_fee} of it to the scheduler, {settler_fee} to the settler)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SENTENCES: Mapping[tuple[str, str], str] = {
    ("Tasks", "Submitted"): "Submitted by {tenant}{together}.",
    ("Tasks", "Assigned"): "Assigned: {leases}.",
    ("Tasks", "PodStarted"): "Pod {pod} runs (lease {lease}); it is paid for until {depletes_at}.",
    ("Tasks", "PodReported"): "Pod {pod} ended with {result}.",
    ("Tasks", "Requeued"): "Lease {lease} was given up: " + _FAILED_ATTEMPT,
    ("Tasks", "PodLost"): "Pod {pod} was lost (lease {lease}): " + _FAILED_ATTEMPT,
    (
        "Tasks",
        "PreemptionNoticed",
    ): "Will be preempted by task {wanting} of a higher priority; runs until {ends_at}.",
    (
        "Tasks",
        "PreemptionWithdrawn",
    ): "The preemption was withdrawn: task {wanting} does not need its place, or does not fit.",
    ("Tasks", "PreemptionFailed"): "Its preemption of other tasks failed: it does not fit in their place.",
    ("Tasks", "Preempted"): "Preempted by task {wanting}. {bills}",
    ("Tasks", "StandbyNamed"): "Pod {pod} (lease {lease}) has a standby: {host}.",
    (
        "Tasks",
        "LeaseMoved",
    ): "Pod {pod} moved to {host}, {deposit} deposited (lease {to}); lease {from} ended: {reason}. {bill}",
    ("Tasks", "Checkpointed"): "Pod {pod} (lease {lease}) has a checkpoint of {bytes} bytes, sha256 {digest}.",
    ("Tasks", "LeaseEnded"): "Lease {lease} ended: {reason}. {bills}",
    ("Tasks", "Cancelled"): "Cancelled by the tenant. {bills}",
    ("Tasks", "Expired"): "Expired: it was not assigned before its deadline.",
    ("Tasks", "StateChanged"): "State changed from {from} to {to}.",
    ("Tasks", "Stopped"): "Ended by the tenant.",
    ("Tasks", "Scaled"): "Scaled; pods now: {pods}. {bills}",
    ("Tasks", "ResultAccepted"): "The tenant accepted the result.",
    ("Tasks", "Verified"): "The results of the replicas agree.",
    ("Tasks", "NotVerified"): "The results of the replicas do not agree. {bills}",
    ("Tasks", "NotRepeated"): "No other host repeats the work: the result can be accepted or disputed.",
    ("Tasks", "Disputed"): "The result is disputed.",
    ("Tasks", "DisputeResolved"): "The dispute was decided; upheld: {upheld}. {bills}",
    ("Tasks", "Settled"): "Settled. {bills}",
    ("Tasks", "Rated"): "The tenant rated pod {pod} with {stars} of 5 stars.",
    ("Tasks", "Purged"): "The host deleted the data of lease {lease} (receipt {receipt}).",
    ("Tasks", "DataLost"): "The host lost the data of lease {lease}.",
    ("Tasks", "DataMoved"): "Lease {to} took over the data of lease {from}.",
    ("Tasks", "Pruned"): "Removed from the chain's storage; the digest of its page is {digest}.",
    (
        "Tasks",
        "SchedulerPunished",
    ): "The scheduler {who} placed pod {pod} on a host of its own although host {cheaper} was "
    "cheaper: {to_tenant} of its bond went to the tenant, {to_treasury} to the treasury.",
    ("Tasks", "ItemRefused"): "A call in a batch was refused: {error}",
    ("Leases", "Extended"): "{amount} deposited for more time; lease {lease} is paid for until {ends_at}.",
    ("Leases", "ToppedUp"): "{amount} deposited for lease {lease}; it lasts until {depletes_at}.",
    ("Leases", "Suspended"): "Lease {lease} was suspended; it costs {rate_per_hour} an hour and lasts until {ends_at}.",
    ("Leases", "Resumed"): "Lease {lease} was resumed; it costs {rate_per_hour} an hour and lasts until {ends_at}.",
    ("Leases", "ReclaimNoticed"): "The provider reclaims the resources of lease {lease} at {reclaim_at}.",
    ("Leases", "Paid"): "Lease {lease} was paid for up to {until}: " + _PAYMENT + ".",
    ("Leases", "BountyPaid"): "{who} closed lease {lease}, whose deposit was used up, for a bounty of {bounty}.",
    (
        "Leases",
        "DataKept",
    ): "The data of lease {lease} is kept until {until}; {amount} is held for it, at {rate_per_hour} an hour.",
    ("Leases", "StoragePaid"): "The data of lease {lease} was paid for: "
    + _PAYMENT
    + "; {refunded} refunded to the tenant.",
    ("Leases", "DataReleased"): "The tenant released the data of lease {lease}.",
    ("Leases", "PurgedWithoutReceipt"): "The data of lease {lease} counts as deleted; its host sent no receipt.",
    ("Verification", "CommitteeDrawn"): "A committee was drawn: {members}.",
    ("Verification", "CommitteeNotDrawn"): "No committee was drawn: there were not enough verifiers.",
    ("Verification", "VoteCommitted"): "{who} committed a vote.",
    ("Verification", "RevealsOpened"): "Votes can be revealed until {until}.",
    ("Verification", "VoteRevealed"): "{who} voted {vote}.",
    ("Verification", "BallotClosed"): "The votes were counted; verdict: {verdict}.",
    ("Verification", "VerifierPenalised"): "{who} loses {amount}: {reason}.",
    ("Verification", "VerifierRewarded"): "{who} receives {amount} for its vote.",
    ("Verification", "ResultCommitted"): "Pod {pod} committed its result (lease {lease}).",
    ("Verification", "AuditDrawn"): "It was drawn whether another host repeats the work of pod {pod}: {repeated}.",
    ("Verification", "TagsOpened"): "All results are committed; their tags can be shown until {until}.",
    ("Verification", "ResultTagged"): "Pod {pod} showed the tag of its result.",
    ("Verification", "SlashShared"): "{who} receives {amount} of what the host of pod {pod} lost.",
    ("Verification", "ResultsOpened"): "Results can be revealed until {until}.",
    ("Verification", "ResultRevealed"): "Pod {pod} revealed its result: {result}.",
    ("Verification", "ReplicaRejected"): "The result of pod {pod} does not count: {reason}.",
    ("Verification", "ExtraPodWanted"): "One more host is needed; replicas required now: {wanted}.",
    ("Verification", "ResultsClosed"): "The results were compared: {outcome}.",
    (
        "Verification",
        "DisputeOpened",
    ): "{by} disputes the result and stakes {stake}; evidence is due by {until}.",
    ("Verification", "EvidenceAdded"): "{by} added evidence {digest}.",
    ("Verification", "JuryAwaited"): "A jury will be drawn.",
    ("Verification", "JuryCommits"): "Jurors can commit their votes until {until}.",
    ("Verification", "DisputeDecided"): "The jury's verdict: {verdict}.",
    ("Verification", "DisputeClosed"): "The dispute was closed: {outcome}.",
    ("Verification", "Appealed"): "{by} appeals and stakes {stake}; evidence is due by {until}.",
    ("Verification", "StakeReturned"): "{who} gets its stake of {amount} back.",
    ("Verification", "StakeLost"): "{who} loses its stake of {amount}.",
    ("Verification", "FeeRefunded"): "{who} gets its fee of {amount} back.",
    ("Hosts", "Registered"): "Registered by {provider}.",
    ("Hosts", "StatusChanged"): "State changed from {from} to {to}.",
    ("Hosts", "EndpointChanged"): "Its endpoint changed.",
    ("Hosts", "AskChanged"): "Its prices changed. Per hour: {ask}.",
    ("Hosts", "HardwareChanged"): "Its hardware was registered again (change {generation}); the required bond is "
    "{bond_required}.",
    ("Hosts", "DeviceHealthChanged"): "The host reported its unhealthy GPUs: {unhealthy}.",
    ("Hosts", "NetworkMeasured"): "The host measured its network: {down_mbps} Mbit/s to it, {up_mbps} Mbit/s from it; "
    "latency: {latency_ms}.",
    ("Hosts", "DeviceAttested"): "A challenge {attested} that GPU {device} is genuine.",
    (
        "Hosts",
        "DeviceChallenged",
    ): "GPU under challenge, which takes no new lease until the host has answered: {device}.",
    ("Hosts", "AbsenceReported"): "{reporter} reported that the host is absent: {bounty} of its bond went to the "
    "reporter, {forfeited} to the treasury.",
    ("Hosts", "Slashed"): "Slashed: the host lost {amount} of its bond because {fault}.",
    ("Hosts", "BondToppedUp"): "{amount} added to its bond.",
    ("Hosts", "BondWithdrawn"): "The provider withdrew the bond of {amount}.",
    ("Reputation", "Scored"): "Its score is {score_ppm} now.",
}
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
    "NoAgreement": "the results of its replicas differ",
    "NoResult": "no result was reported in time",
    "Preempted": "a task of higher priority took its place",
    "ScaledDown": "the service was scaled down",
    "TenantEnded": "ended by the tenant",
}
"""Reasons for which leases and tasks end, by the name of the innermost variant."""

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
    if failure is not None:
        words["error"] = f"{failure.pallet}.{failure.name}. {failure.doc}".strip()
    if isinstance(event.fields.get("lease"), int):
        words["pod"] = str(lease_parts(event.fields["lease"])[1])
    elif event.name == "LeaseMoved":
        words["pod"] = str(lease_parts(event.fields["to"])[1])
    count, first = event.fields.get("count", 1), event.fields.get("first")
    words["together"] = f" with {count - 1} more, from task {first} on" if count > 1 else ""
    sentence = _SENTENCES.get((event.pallet, event.name))
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
    **dict.fromkeys(("scheduler_fee", "settler_fee", "refunded"), format_amount),
    **dict.fromkeys(("to_tenant", "to_treasury", "forfeited", "bond_required"), format_amount),
    **dict.fromkeys(("ends_at", "depletes_at", "reclaim_at", "until", "again_at"), time_text),
    "bills": _bills_text,
    "bill": lambda bill: _bills_text([bill]),
    "leases": _leases_text,
    "ask": _ask_text,
    "attested": lambda value: "proved" if value else "did not prove",
    "device": lambda value: "none" if value is None else str(value),
    "fault": lambda value: _FAULTS.get(value) or _variant_text(value),
    "latency_ms": lambda value: f"{value} ms" if value else "unknown",
    "unhealthy": lambda value: ", ".join(map(str, value)) or "none",
    "result": _result_text,
    **dict.fromkeys(
        ("reason", "outcome", "verdict", "vote"),
        _variant_text,
    ),
    "score_ppm": lambda value: f"{value / 1_000_000:.6f}",
    "upheld": lambda value: "yes" if value else "no",
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
