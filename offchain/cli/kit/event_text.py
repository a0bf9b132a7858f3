"""What the chain's events say: a sentence for each, the state a task came to, and the bill they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from offchain.ports import Block, ChainEvent, DispatchFailure
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.reasons import SENTENCES, innermost, sentence
from offchain.schema.manifest.values import format_amount

_FAILED_ATTEMPT = "{reason}; failures by different providers: {failures}. {bills}"
_PAYMENT = (
    "{share} to the provider, {fee} protocol fee ({scheduler_fee} of it to the scheduler, {settler_fee} to the settler)"
)
_SENTENCES: Mapping[tuple[str, str], str] = {
    ("Tasks", "Submitted"): "Submitted by {tenant}{together}.",
    ("Tasks", "Assigned"): "Assigned: {leases}.",
    ("Tasks", "PodStarted"): "Pod {pod} runs (lease {lease}); it is paid for until {depletes_at}.",
    ("Tasks", "PodReported"): "Pod {pod} ended with {result}.",
    ("Tasks", "Requeued"): "Lease {lease} was given up: " + _FAILED_ATTEMPT,
    ("Tasks", "PodLost"): "Pod {pod} was lost (lease {lease}): " + _FAILED_ATTEMPT,
    ("Tasks", "PreemptionNoticed"): "Told to leave for task {wanting}, of a higher priority; runs on until {ends_at}.",
    ("Tasks", "PreemptionWithdrawn"): "May stay: task {wanting} waits no longer, or does not fit in its place.",
    ("Tasks", "PreemptionFailed"): "Others were to leave for it, and stay: it does not fit in their place.",
    ("Tasks", "Preempted"): "Made room for task {wanting}. {bills}",
    ("Tasks", "StandbyNamed"): "Pod {pod} (lease {lease}) has a standby: {host}.",
    ("Tasks", "LeaseMoved"): "Pod {pod} goes on at {host}, {deposit} left (lease {to}); {from} ended: {reason}. {bill}",
    ("Tasks", "Checkpointed"): "Pod {pod} (lease {lease}) has a checkpoint of {bytes} bytes, sha256 {digest}.",
    ("Tasks", "LeaseEnded"): "Lease {lease} ended: {reason}. {bills}",
    ("Tasks", "Cancelled"): "Cancelled by the tenant. {bills}",
    ("Tasks", "Expired"): "Was not assigned before its deadline.",
    ("Tasks", "StateChanged"): "{from} to {to}.",
    ("Tasks", "Stopped"): "Ended by the tenant.",
    ("Tasks", "Scaled"): "Is to have {pods} pods. {bills}",
    ("Tasks", "ResultAccepted"): "The tenant accepted the result.",
    ("Tasks", "Verified"): "The results of the replicas agree.",
    ("Tasks", "NotVerified"): "The results of the replicas do not agree. {bills}",
    ("Tasks", "Disputed"): "The result is disputed.",
    ("Tasks", "DisputeResolved"): "The dispute is decided; upheld: {upheld}. {bills}",
    ("Tasks", "Settled"): "Settled. {bills}",
    ("Tasks", "Rated"): "The tenant gave pod {pod} {stars} of 5 stars.",
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
    ("Leases", "Suspended"): "Lease {lease} was stopped at {rate_per_hour} an hour; it lasts until {ends_at}.",
    ("Leases", "Resumed"): "Lease {lease} goes on at {rate_per_hour} an hour; it lasts until {ends_at}.",
    ("Leases", "ReclaimNoticed"): "The provider wants lease {lease} to end at {reclaim_at}.",
    ("Leases", "Paid"): "Lease {lease} was paid for up to {until}: " + _PAYMENT + ".",
    ("Leases", "BountyPaid"): "{who} closed lease {lease}, which was used up, for {bounty}.",
    (
        "Leases",
        "DataKept",
    ): "The data of lease {lease} is kept until {until}; {amount} is held for it, at {rate_per_hour} an hour.",
    ("Leases", "StoragePaid"): "The data of lease {lease} was paid for: "
    + _PAYMENT
    + "; {refunded} back to the tenant.",
    ("Leases", "DataReleased"): "The tenant no longer needs the data of lease {lease}.",
    ("Leases", "PurgedWithoutReceipt"): "The data of lease {lease} is taken for deleted; its host sent no receipt.",
    ("Verification", "CommitteeDrawn"): "Judges were drawn: {members}.",
    ("Verification", "CommitteeNotDrawn"): "There were not enough judges to draw from.",
    ("Verification", "VoteCommitted"): "{who} sealed a vote.",
    ("Verification", "RevealsOpened"): "Votes are revealed until {until}.",
    ("Verification", "VoteRevealed"): "{who} voted {vote}.",
    ("Verification", "BallotClosed"): "The votes are counted; the verdict: {verdict}.",
    ("Verification", "VerifierPenalised"): "{who} loses {amount}: {reason}.",
    ("Verification", "VerifierRewarded"): "{who} gets {amount} for its vote.",
    ("Verification", "ResultCommitted"): "Pod {pod} sealed its result (lease {lease}).",
    ("Verification", "ResultsOpened"): "Results are revealed until {until}.",
    ("Verification", "ResultRevealed"): "Pod {pod} revealed its result: {result}.",
    ("Verification", "ReplicaRejected"): "The result of pod {pod} does not count: {reason}.",
    ("Verification", "ExtraPodWanted"): "The results differ; {wanted} are wanted now.",
    ("Verification", "ResultsClosed"): "The results were compared: {outcome}.",
    ("Verification", "DisputeOpened"): "{by} disputes the result and stakes {stake}; evidence is taken until {until}.",
    ("Verification", "EvidenceAdded"): "{by} named evidence {digest}.",
    ("Verification", "JuryAwaited"): "Jurors are to be drawn.",
    ("Verification", "JuryCommits"): "Jurors seal their votes until {until}.",
    ("Verification", "DisputeDecided"): "The jury's verdict: {verdict}.",
    ("Verification", "DisputeClosed"): "The dispute is closed: {outcome}.",
    ("Verification", "Appealed"): "{by} appeals and stakes {stake}; evidence is taken until {until}.",
    ("Verification", "StakeReturned"): "{who} has its stake of {amount} back.",
    ("Verification", "StakeLost"): "{who} loses its stake of {amount}.",
    ("Verification", "FeeRefunded"): "{who} has its fee of {amount} back.",
    ("Hosts", "Registered"): "Registered by {provider}.",
    ("Hosts", "StatusChanged"): "{from} to {to}.",
    ("Hosts", "EndpointChanged"): "It is reached in another way.",
}
_STATES = {"Submitted": "Queued", "Cancelled": "Cancelled", "Expired": "Expired", "Settled": "Settled"}
_STATES |= {"ResultAccepted": "Verified", "Verified": "Verified", "Disputed": "Disputed"}
_STATES |= {"NotVerified": "Failed(NoAgreement)"}


def state_text(plain: Any) -> str:
    """An enum's value as text: Running, or Failed(AttemptsExhausted)."""
    if isinstance(plain, str):
        return plain
    if len(plain) != 1:
        return ", ".join(f"{name} {value}" for name, value in plain.items())
    ((name, payload),) = plain.items()
    return f"{name}({state_text(payload) if isinstance(payload, (str, dict)) else payload})"


def time_text(moment_ms: int) -> str:
    """Chain time in UTC; a time without end is called so."""
    try:
        return datetime.fromtimestamp(moment_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return "the end of time"


def state_after(event: ChainEvent) -> str | None:
    """The state that an event of the tasks pallet brought its task to; None where it does not say."""
    if event.pallet != "Tasks":
        return None
    told = event.fields.get("to" if event.name == "StateChanged" else "state")
    return _STATES.get(event.name) if told is None else state_text(told)


def failure_of(event: ChainEvent, block: Block) -> DispatchFailure | None:
    """The named reason in an event that an item of a batch was refused."""
    if event.name != "ItemRefused" or event.extrinsic is None:
        return None
    return block.inclusions[event.extrinsic].refused.get(event.fields["index"])


def event_text(event: ChainEvent, failure: DispatchFailure | None = None) -> str:
    """One sentence, or a few. `failure`: what the event's error is called."""
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
    except KeyError:  # an older runtime said it with other fields
        return _bare_text(event, words)


def _bare_text(event: ChainEvent, words: Mapping[str, str]) -> str:
    told = ", ".join(f"{name} {words[name]}" for name in event.fields)
    return f"{event.pallet}.{event.name}{': ' if told else ''}{told}."


def _word(name: str, value: Any) -> str:
    special = _WORDS.get(name)
    if special is not None:
        return special(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return state_text(value) if isinstance(value, dict) and len(value) == 1 else str(value)


def _leases_text(opened: Iterable[tuple[int, str, int, int]]) -> str:
    return "; ".join(_lease_text(*one) for one in opened)


def _lease_text(lease: int, host: str, rate: int | None = None, deposit: int | None = None) -> str:
    if rate is None or deposit is None:  # the first release told that in an event of its own
        return f"lease {lease} on {host}"
    return f"lease {lease} on {host} at {format_amount(rate)} an hour, {format_amount(deposit)} deposited"


def _result_text(result: Mapping[str, Any]) -> str:
    return f"exit code {result['exit_code']}, result sha256 {bytes(result['digest']).hex()}"


def _reason_text(reason: Any) -> str:
    """In words where there are any; verification has reasons of its own."""
    if innermost(reason) in SENTENCES:
        return sentence(reason)
    return state_text(reason) if isinstance(reason, (str, dict)) else str(reason)


def _bills_text(bills: Iterable[Mapping[str, int]]) -> str:
    found = list(bills)
    if not found:
        return ""
    paid, fee, back = (sum(bill[name] for bill in found) for name in ("paid", "fee", "refunded"))
    refund = f"{format_amount(back)} back to the tenant"
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
    **dict.fromkeys(("to_tenant", "to_treasury"), format_amount),
    **dict.fromkeys(("ends_at", "depletes_at", "reclaim_at", "until", "again_at"), time_text),
    "bills": _bills_text,
    "bill": lambda bill: _bills_text([bill]),
    "leases": _leases_text,
    "result": _result_text,
    "reason": _reason_text,
}
"""How fields of these names are told."""


@dataclass(slots=True)
class LeaseBill:
    """What became of the coins for one lease, in base units. `paid` has the fee in it, `fee` the shares of it."""

    lease: int
    host: str | None = None
    rate_per_hour: int | None = None
    deposited: int = 0
    paid: int = 0
    fee: int = 0
    scheduler_fee: int = 0
    settler_fee: int = 0
    refunded: int = 0

    def plain(self) -> dict[str, Any]:
        """For --json."""
        return {name: getattr(self, name) for name in self.__slots__}


def _opened(event: ChainEvent) -> Iterable[Sequence[Any]]:
    """The leases that an event opens: number, host, and in all but the first release rate an hour and deposit."""
    fields = event.fields
    if event.name == "LeaseMoved":
        return ((fields["to"], fields["host"], fields["rate_per_hour"], fields["deposit"]),)
    opened: Iterable[Sequence[Any]] = fields["leases"] if event.name == "Assigned" else ()
    return opened


@dataclass(slots=True)
class Bill:
    """Everything that was paid, added up from events alone."""

    leases: dict[int, LeaseBill] = field(default_factory=dict)

    def note(self, event: ChainEvent) -> None:
        """Take in an event."""
        fields = event.fields
        for lease, host, *terms in _opened(event):
            found = self._of(lease)
            found.host = host
            if terms:
                found.rate_per_hour, found.deposited = terms
        if event.name == "EscrowOpened":
            found = self._of(fields["lease"])
            found.rate_per_hour, found.deposited = fields["rate_per_hour"], fields["deposit"]
        elif event.name == "EscrowClosed":
            found = self._of(fields["lease"])
            found.paid, found.fee, found.refunded = fields["paid"], fields["fee"], fields["refunded"]
        elif event.pallet == "Leases":
            self._note_meanwhile(event)
        for closed in (fields["bill"],) if event.name == "LeaseMoved" else fields.get("bills", ()):
            found = self._of(closed["lease"])
            # The closing bill is for the whole time: what was paid before is in it.
            found.paid, found.fee = closed["paid"], closed["fee"]
            found.scheduler_fee, found.settler_fee = closed.get("scheduler_fee", 0), closed.get("settler_fee", 0)
            # What went back of the coins held for storage is in no bill.
            found.refunded += closed["refunded"]

    def _note_meanwhile(self, event: ChainEvent) -> None:
        """What is deposited or paid while a lease goes on."""
        fields = event.fields
        if event.name in ("Extended", "ToppedUp") or (event.name == "DataKept" and "amount" in fields):
            self._of(fields["lease"]).deposited += fields["amount"]
        elif event.name in ("Paid", "StoragePaid", "DataKept"):
            found = self._of(fields["lease"])
            found.paid += fields["share"] + fields["fee"]
            found.fee += fields["fee"]
            found.scheduler_fee += fields.get("scheduler_fee", 0)
            found.settler_fee += fields.get("settler_fee", 0)
            found.refunded += fields.get("refunded", 0)
            if event.name == "DataKept":
                # Releases before 4 paid for kept data at once.
                found.deposited += fields["share"] + fields["fee"]

    def plain(self) -> dict[str, Any]:
        """For --json: sums, and each lease."""
        return {
            "paid": self.paid,
            "paid_gty": format_amount(self.paid),
            "fee": sum(lease.fee for lease in self.leases.values()),
            "refunded": sum(lease.refunded for lease in self.leases.values()),
            "leases": [lease.plain() for lease in self.leases.values()],
        }

    @property
    def paid(self) -> int:
        """What left the tenant, fees included."""
        return sum(lease.paid for lease in self.leases.values())

    def _of(self, lease: int) -> LeaseBill:
        return self.leases.setdefault(lease, LeaseBill(lease))


def plain_fields(value: Any) -> Any:
    """An event's fields for JSON: bytes as 0x and hex digits."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, Mapping):
        return {name: plain_fields(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_fields(item) for item in value]
    return value
