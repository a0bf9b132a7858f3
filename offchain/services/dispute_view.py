"""Disputes as commands show them."""

from __future__ import annotations

from dataclasses import dataclass, field

from offchain.adapters.chain.typed import GantryChain
from offchain.core.disputes.rules import PHASE_TEXT
from offchain.ports import ChainPort
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import DisputePhase, Vote, storage
from offchain.services.dispute_calls import accused_leases, read_dispute
from offchain.services.record_views import JsonView


@dataclass(frozen=True, slots=True)
class AccusedView(JsonView):
    """An accused lease, as its host reported it."""

    lease: int
    pod: int
    host: str
    result_digest: bytes | None
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class JurorView(JsonView):
    """A seat on the present jury. `vote`: yes or no once it is revealed."""

    account: str
    committed: bool
    vote: str | None


@dataclass(frozen=True, slots=True)
class StakeView(JsonView):
    """What an account risks. Amounts are base units; `side`: the vote that the stake is for."""

    account: str
    amount: int
    fee_paid: int
    side: str


@dataclass(frozen=True, slots=True)
class NamedEvidence(JsonView):
    """A piece of evidence. `level`: in which hearing it was named, 0 or the number of the appeal."""

    account: str
    sha256: bytes
    level: int


@dataclass(frozen=True, slots=True)
class DisputeView(JsonView):
    """An open dispute. Times are chain time in ms."""

    task: int
    opener: str
    tenant: str
    providers: tuple[str, ...]
    opened_at: int = field(metadata={"json": "opened_at_ms"})
    phase: str
    until: int = field(metadata={"json": "until_ms"})
    level: int
    round: int
    verdict: str | None
    accused: tuple[AccusedView, ...]
    jury: tuple[JurorView, ...]
    stakes: tuple[StakeView, ...]
    evidence: tuple[NamedEvidence, ...]
    phase_text: str = field(metadata={"json": None})

    @property
    def is_against_hosts(self) -> bool:
        """Whether its verdict is against the accused hosts, whose providers may appeal it now."""
        return self.phase == DisputePhase.DECIDED.value and self.verdict == _word(Vote.YES)


async def read_dispute_view(chain: ChainPort, task: int, at: bytes | None = None) -> DisputeView:
    """Return the open dispute about a task. Raises CheckFailed if there is none."""
    record = await read_dispute(chain, task, at)
    found = await GantryChain(chain).task(task, at)
    return dispute_view(task, record, {} if found is None else accused_leases(found, record.accused))


async def disputes_of_host(chain: ChainPort, host: str, at: bytes | None = None) -> tuple[DisputeView, ...]:
    """Return the open disputes that accuse a lease on a host, in the order of their tasks."""
    typed = GantryChain(chain)
    records = await typed.read_map(storage.verification_disputes, at=at)
    tasks = await typed.tasks(records, at)
    views = [
        dispute_view(number, records[number], accused_leases(task, records[number].accused))
        for number, task in sorted(tasks.items())
    ]
    return tuple(view for view in views if any(lease.host == host for lease in view.accused))


def dispute_view(task: int, record: gen.DisputeRecord, leases: dict[int, gen.Lease]) -> DisputeView:
    """Return the view of a record. `leases`: the accused leases that the chain still has."""
    return DisputeView(
        task=task,
        opener=record.opener,
        tenant=record.tenant,
        providers=record.providers,
        opened_at=record.opened_at,
        phase=record.phase.value,
        until=record.until,
        level=record.level,
        round=record.ballot.round,
        verdict=_word(record.verdict),
        accused=tuple(_accused(number, lease) for number, lease in leases.items()),
        jury=tuple(JurorView(seat.who, seat.commitment is not None, _word(seat.vote)) for seat in record.ballot.seats),
        stakes=tuple(StakeView(one.who, one.amount, one.fee_paid, one.side.value.lower()) for one in record.stakes),
        evidence=tuple(NamedEvidence(one.by, one.digest, one.level) for one in record.evidence),
        phase_text=PHASE_TEXT[record.phase],
    )


def _accused(number: int, lease: gen.Lease) -> AccusedView:
    result = lease.result
    return AccusedView(
        number,
        lease.pod,
        lease.host,
        None if result is None else result.digest,
        None if result is None else result.exit_code,
    )


def _word(vote: gen.Vote | None) -> str | None:
    return None if vote is None else vote.value.lower()
