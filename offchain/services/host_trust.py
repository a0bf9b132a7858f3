"""What is known for and against a host: its score with the evidence behind it, from the chain and from the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from offchain.adapters.chain.typed import GantryChain
from offchain.errors import CheckFailed
from offchain.indexer import queries
from offchain.indexer.block_rows import unpack
from offchain.indexer.database import IndexDatabase
from offchain.indexer.queries import TimedEvent
from offchain.indexer.rows import LeaseRow
from offchain.indexer.status import index_status, kept_from
from offchain.ports import ChainPort
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import storage
from offchain.schema.chain_types.score import HOST_PARTS, beta_ppm, evidence_weight, host_ppm
from offchain.services.event_text import state_text
from offchain.services.record_views import JsonView, text_of

MOST_LEASES: Final = 1_000
"""Newest leases of a host whose disputes, comparisons and ratings are read from the index."""
WHOLE_EVIDENCE: Final = 1_000_000
"""Weight of one whole piece of evidence."""
MOST_EVENTS: Final = 1_000
"""Newest events of each kind of evidence that are read from the index."""
_HOST_EVENTS: Final = (
    ("Verification", "ChallengeOpened"),
    ("Verification", "ChallengeClosed"),
    ("Verification", "ReplicaRejected"),
    ("Hosts", "Slashed"),
    ("Hosts", "AbsenceReported"),
    ("Tasks", "Rated"),
)
_TASK_EVENTS: Final = (
    ("Verification", "DisputeOpened"),
    ("Verification", "EvidenceAdded"),
    ("Verification", "DisputeClosed"),
    ("Verification", "ResultsClosed"),
)


@dataclass(frozen=True, slots=True)
class EvidencePart(JsonView):
    """One part of a score. Weights are millionths of a whole piece of evidence, as last written down."""

    part: str
    positive: int
    negative: int
    ppm: int
    """The part's score, in parts per million; 500,000 without evidence."""


@dataclass(frozen=True, slots=True)
class TrustedDevice(JsonView):
    """A GPU: what its provider claims, and whether the last challenge of it was passed."""

    index: int
    model: str
    vram_mib: int
    simulated: bool
    attested: bool
    healthy: bool


@dataclass(frozen=True, slots=True)
class ChallengeEvidence(JsonView):
    """A challenge of the host. `outcome`: as on the chain, None while it is open; `opened_ms`: None if not kept."""

    challenge: int
    device: int
    opener: str | None
    opened_ms: int | None
    closed_ms: int | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class DisputeEvidence(JsonView):
    """A dispute that accused a lease of the host.

    `outcome`: as on the chain, None while it is open. `response_ms`: from the opening to the first evidence that its
    provider named; None if it named none.
    """

    task: int
    opener: str
    opened_ms: int
    closed_ms: int | None
    outcome: str | None
    response_ms: int | None


@dataclass(frozen=True, slots=True)
class RatingEvidence(JsonView):
    """A tenant's rating of a settled lease. `fee`: what weighs it, in base units; `weight`: in millionths."""

    lease: int
    task: int
    stars: int
    time_ms: int
    fee: int
    weight: int


@dataclass(frozen=True, slots=True)
class Penalty(JsonView):
    """A loss of bond, or a result that did not count (`amount` 0). `reason`: as on the chain."""

    time_ms: int
    reason: str
    amount: int


@dataclass(frozen=True, slots=True)
class TrustHistory(JsonView):
    """Evidence in the index, oldest first, of the newest `MOST_LEASES` leases.

    `compared`: tasks of the host whose results were compared and agreed. `events_from_block`: the oldest that is kept.
    """

    up_to_block: int | None
    events_from_block: int
    challenges: tuple[ChallengeEvidence, ...]
    disputes: tuple[DisputeEvidence, ...]
    ratings: tuple[RatingEvidence, ...]
    penalties: tuple[Penalty, ...]
    compared: int


@dataclass(frozen=True, slots=True)
class HostTrustView(JsonView):
    """A host's score, the evidence behind it, and what the chain says about its challenges. Times are ms."""

    host: str
    provider: str
    status: str
    tier: str
    score_ppm: int | None
    """Parts per million; None: no evidence yet."""
    settled_leases: int
    evidence: tuple[EvidencePart, ...]
    uptime_promised_ms: int
    uptime_met_ms: int
    score_updated_ms: int | None
    bond: int
    bond_required: int
    provider_faults: int
    """What is held against the provider of all its hosts, in millionths of a grave fault; it fades."""
    devices: tuple[TrustedDevice, ...]
    answers_challenges: bool
    open_challenge: int | None
    last_challenge_by_verifier_ms: int | None
    last_missed_ms: int | None
    valid_results: int
    """Consecutive valid results with its present hardware, by which audits become rarer."""
    history: TrustHistory | None
    """None: no index was read."""


async def read_host_trust(
    port: ChainPort, host: str, history: TrustHistory | None = None, at: bytes | None = None
) -> HostTrustView:
    """Return what is known of a host. Raises CheckFailed if none is registered under this address."""
    chain = GantryChain(port)
    record = await chain.host(host, at)
    if record is None:
        raise CheckFailed(f"no host {host} is registered.", "gantry host list shows all hosts.", code="no_such_host")
    score = await chain.read(storage.reputation_host_scores, host, at=at)
    challenges = await chain.read(storage.verification_by_host, host, at=at)
    faults = await chain.read(storage.reputation_provider_faults, record.provider, at=at)
    valid = await chain.read(storage.verification_valid, host, at=at)
    return HostTrustView(
        host=host,
        provider=record.provider,
        status=state_text(record.status.encode()),
        tier=record.tier.value,
        score_ppm=None if score is None else host_ppm(score),
        settled_leases=0 if score is None else score.settled_leases,
        evidence=() if score is None else tuple(_parts(score)),
        uptime_promised_ms=0 if score is None else score.sla.promised_ms,
        uptime_met_ms=0 if score is None else score.sla.met_ms,
        score_updated_ms=None if score is None else score.updated_at,
        bond=record.bond,
        bond_required=record.bond_required,
        provider_faults=0 if faults is None else faults.weight,
        devices=tuple(_device(index, device) for index, device in enumerate(record.devices)),
        answers_challenges=record.answers_challenges,
        open_challenge=None if challenges is None else challenges.open,
        last_challenge_by_verifier_ms=None if challenges is None else challenges.by_verifier_at,
        last_missed_ms=None if challenges is None else challenges.missed_at,
        valid_results=0 if valid is None or valid.generation != record.generation else valid.count,
        history=history,
    )


def _parts(score: gen.HostScore) -> Iterable[EvidencePart]:
    for part, _ in HOST_PARTS:
        beta: gen.Beta = getattr(score, part)
        yield EvidencePart(part, beta.positive, beta.negative, beta_ppm(beta))


def _device(index: int, device: gen.Device) -> TrustedDevice:
    spec = device.spec
    return TrustedDevice(
        index, text_of(spec.model), spec.vram_mib, spec.simulated, attested=device.attested, healthy=device.healthy
    )


def read_trust_history(db: IndexDatabase, host: str) -> TrustHistory:
    """Return the evidence about a host in the index. Call it within :meth:`IndexDatabase.snapshot`."""
    found = queries.host(db, host)
    leases = queries.leases_of_host(db, host, MOST_LEASES)
    events = queries.mentions_of_kinds(db, [host], _HOST_EVENTS, MOST_EVENTS)
    tasks = sorted({str(lease.task) for lease in leases})
    if tasks:
        events += queries.mentions_of_kinds(db, tasks, _TASK_EVENTS, MOST_EVENTS)
    provider = "" if found is None else found.provider
    return trust_history(provider, leases, events, index_status(db).last_block, kept_from(db))


def trust_history(
    provider: str,
    leases: Sequence[LeaseRow],
    events: Iterable[TimedEvent],
    up_to_block: int | None,
    events_from_block: int,
) -> TrustHistory:
    """Return the evidence in events about the host and about the tasks of its leases."""
    own = {lease.lease: lease for lease in leases}
    challenges: dict[int, ChallengeEvidence] = {}
    disputes: dict[int, DisputeEvidence] = {}
    ratings: list[RatingEvidence] = []
    penalties: list[Penalty] = []
    compared = 0
    for one in sorted(events, key=lambda one: (one.event.block, one.event.place)):
        fields = unpack(one.event.fields)
        match one.event.name:
            case "ChallengeOpened":
                challenges[fields["challenge"]] = ChallengeEvidence(
                    fields["challenge"], fields["device"], fields["opener"], one.time_ms, None, None
                )
            case "ChallengeClosed":
                challenges[fields["challenge"]] = _closed(challenges.get(fields["challenge"]), fields, one.time_ms)
            case "DisputeOpened" if any(lease in own for lease in fields["accused"]):
                disputes[fields["task"]] = DisputeEvidence(fields["task"], fields["by"], one.time_ms, None, None, None)
            case "EvidenceAdded" | "DisputeClosed" if fields["task"] in disputes:
                disputes[fields["task"]] = _disputed(disputes[fields["task"]], provider, one, fields)
            case "Rated" if fields["lease"] in own:
                ratings.append(_rating(own[fields["lease"]], fields["stars"], one.time_ms))
            case "Slashed" | "AbsenceReported" | "ReplicaRejected":
                penalties.append(_penalty(one, fields))
            case "ResultsClosed":
                compared += state_text(fields["outcome"]).startswith("Agreed")
    return TrustHistory(
        up_to_block,
        events_from_block,
        tuple(challenges.values()),
        tuple(disputes.values()),
        tuple(ratings),
        tuple(penalties),
        compared,
    )


def _closed(opened: ChallengeEvidence | None, fields: dict[str, Any], time_ms: int) -> ChallengeEvidence:
    return ChallengeEvidence(
        fields["challenge"],
        fields["device"],
        None if opened is None else opened.opener,
        None if opened is None else opened.opened_ms,
        time_ms,
        state_text(fields["outcome"]),
    )


def _disputed(before: DisputeEvidence, provider: str, one: TimedEvent, fields: dict[str, Any]) -> DisputeEvidence:
    response, closed_ms, outcome = before.response_ms, before.closed_ms, before.outcome
    if one.event.name == "DisputeClosed":
        closed_ms, outcome = one.time_ms, state_text(fields["outcome"])
    elif fields["by"] == provider and response is None:
        response = one.time_ms - before.opened_ms
    return DisputeEvidence(before.task, before.opener, before.opened_ms, closed_ms, outcome, response)


def _penalty(one: TimedEvent, fields: dict[str, Any]) -> Penalty:
    match one.event.name:
        case "Slashed":
            return Penalty(one.time_ms, state_text(fields["fault"]), fields["amount"])
        case "AbsenceReported":
            return Penalty(one.time_ms, "Absent", fields["bounty"] + fields.get("forfeited", 0))
    return Penalty(one.time_ms, state_text(fields["reason"]), 0)


def _rating(lease: LeaseRow, stars: int, time_ms: int) -> RatingEvidence:
    fee = lease.fee - lease.scheduler_fee - lease.settler_fee
    return RatingEvidence(lease.lease, lease.task, stars, time_ms, fee, evidence_weight(fee))
