"""Parameters and answers about challenges, disputes and schedulers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from offchain.gateway.api.models import Account, Amount, AnsweredModel, Hash, LeaseId, TimeMs
from offchain.gateway.api.parameters import (
    AccountId,
    HexHash,
    ListParameters,
    Name,
    Number,
    Parameters,
    TimedListParameters,
)
from offchain.indexer.pages import PageRequest

_Vote = Annotated[Literal["Yes", "No"] | None, Field(description="Null: there is none.")]


class ChallengeList(TimedListParameters):
    host: Annotated[AccountId | None, Field(description="Only challenges of this host.")] = None
    opener: Annotated[AccountId | None, Field(description="Only challenges that this account opened.")] = None
    state: Annotated[Name | None, Field(description="Only challenges in this phase.")] = None
    outcome: Annotated[Name | None, Field(description="Only closed challenges with this outcome.")] = None
    digest: Annotated[HexHash | None, Field(description="Only challenges whose last proof has this SHA-256.")] = None


class OneChallenge(Parameters):
    challenge: Number


class DisputeList(TimedListParameters):
    task: Annotated[Number | None, Field(description="Only the dispute about this task.")] = None
    lease: Annotated[Number | None, Field(description="Only the dispute that accuses this lease.")] = None
    opener: Annotated[AccountId | None, Field(description="Only disputes that this account opened.")] = None
    state: Annotated[Name | None, Field(description="Only disputes in this phase.")] = None
    outcome: Annotated[Name | None, Field(description="Only closed disputes with this outcome.")] = None


class OneDispute(Parameters):
    task: Number


class SchedulerList(ListParameters):
    """The order is that of the addresses."""

    state: Annotated[Literal["Bonded", "Leaving", "Unbonded"] | None, Field(description="Only in this state.")] = None
    queues: Annotated[HexHash | None, Field(description="Only with the queue definitions of this SHA-256.")] = None

    def page(self) -> PageRequest:
        """Return the page of schedulers. Raises BadCursor."""
        return self._page((str,), newest_first=False)


class OneScheduler(Parameters):
    account: AccountId


class QueueList(ListParameters):
    """The order is that of the digests."""

    def page(self) -> PageRequest:
        """Return the page of queue definitions. Raises BadCursor."""
        return self._page((str,), newest_first=False)


class VoteResource(AnsweredModel):
    """A seat of a committee or jury. `reason`: why its member lost `penalised` of its bond."""

    account: Account
    commitment: Hash | None
    committed_ms: TimeMs | None
    vote: _Vote
    revealed_ms: TimeMs | None
    rewarded: Amount
    penalised: Amount
    reason: str | None


class CommitteeResource(AnsweredModel):
    """A committee or jury, by the round in which it was drawn. `verdict`: the vote of more than half of its seats."""

    round: int
    level: Annotated[int, Field(description="Of a jury: how often a verdict was appealed before.")]
    confirming: Annotated[bool, Field(description="Whether it judges the answer that the one before found wrong.")]
    drawn: Annotated[bool, Field(description="False: there were not enough verifiers.")]
    seed: Hash | None
    seed_block: Annotated[int | None, Field(description="The block whose randomness the seed is of.")]
    drawn_block: int
    drawn_ms: TimeMs
    verdict: _Vote
    closed_ms: TimeMs | None
    votes: list[VoteResource]


class DeviceClaimResource(AnsweredModel):
    """What the provider of a host says about a device."""

    vendor: str
    model: str
    vram_mib: int
    simulated: bool


class ChallengeResource(AnsweredModel):
    """A challenge of a host: Waiting, Answering, Committing, Revealing or Closed. `until_ms`: when the phase ends."""

    challenge: int
    host: Account
    device: int
    claim: DeviceClaimResource | None
    opener: Annotated[Account | None, Field(description="Null: the chain's governance opened it.")]
    fee: Annotated[Amount, Field(description="Held of the opener for the committees.")]
    returned: Annotated[Amount | None, Field(description="What the opener got back of the fee; null while open.")]
    state: str
    until_ms: TimeMs | None
    round: Annotated[int, Field(description="That of the last committee, from 0.")]
    answer_digest: Annotated[Hash | None, Field(description="SHA-256 of the last proof.")]
    answered_ms: TimeMs | None
    outcome: Annotated[str | None, Field(description="Null while it is open.", examples=["Passed", "Missed"])]
    opened_block: int
    opened_ms: TimeMs
    changed_block: int
    changed_ms: TimeMs


class ChallengeDetailResource(ChallengeResource):
    """A challenge with its committees and their votes, the first one first."""

    committees: list[CommitteeResource]


class DisputeResource(AnsweredModel):
    """The dispute about a task: Hearing, Waiting, Committing, Revealing, Decided or Closed."""

    task: int
    opener: Account
    tenant: Account | None
    accused: Annotated[list[LeaseId], Field(description="The leases whose results are called wrong.")]
    state: str
    until_ms: TimeMs | None
    level: Annotated[int, Field(description="How often a verdict was appealed.")]
    verdict: _Vote
    outcome: Annotated[str | None, Field(description="Null while it is open.", examples=["Upheld", "Rejected"])]
    opened_block: int
    opened_ms: TimeMs
    changed_block: int
    changed_ms: TimeMs


class DisputeEvidenceResource(AnsweredModel):
    """A piece of evidence: its SHA-256. The content is not on the chain."""

    account: Account
    digest: Hash
    level: int
    block: int
    index: int
    time_ms: TimeMs


class StakeResource(AnsweredModel):
    """What an account staked in a dispute, and what became of it. `refunded`: fees of juries that it got back."""

    account: Account
    staked: Amount
    returned: Amount
    lost: Amount
    refunded: Amount


class DisputeDetailResource(DisputeResource):
    """A dispute with its juries and their votes, its evidence and stakes."""

    committees: list[CommitteeResource]
    evidence: list[DisputeEvidenceResource]
    stakes: list[StakeResource]


class SchedulerResource(AnsweredModel):
    """An account that is (Bonded), stops being (Leaving) or was (Unbonded) a scheduler."""

    account: Account
    state: str
    bond: Annotated[Amount | None, Field(description="What is held of it; null: it was bonded in the genesis block.")]
    bonded_ms: Annotated[TimeMs | None, Field(description="Null: in the genesis block.")]
    until_ms: Annotated[TimeMs | None, Field(description="When the bond of a leaving one can be released.")]
    queues: Annotated[Hash | None, Field(description="SHA-256 of its queue definitions; null: it published none.")]
    queues_ms: TimeMs | None
    placed: Annotated[int, Field(description="Number of leases that it opened, by extrinsics that it signed.")]
    placed_ms: Annotated[TimeMs | None, Field(description="When it opened the last one.")]
    penalties: Annotated[int, Field(description="How often misbehaviour was proven.")]
    lost: Annotated[Amount, Field(description="What penalties took from its bond.")]
    changed_block: int
    changed_ms: TimeMs


class SchedulerPenaltyResource(AnsweredModel):
    """Proven misbehaviour: a lease on a host of the scheduler's own although the host `cheaper` was cheaper."""

    block: int
    index: int
    time_ms: TimeMs
    lease: LeaseId
    cheaper: Account
    to_tenant: Amount
    to_treasury: Amount


class SchedulerDetailResource(SchedulerResource):
    """A scheduler with its last penalties, the newest first."""

    last_penalties: list[SchedulerPenaltyResource]


class QueueDefinitionsResource(AnsweredModel):
    """Queue definitions that bonded schedulers have published; the chain has only their digest."""

    digest: Annotated[Hash, Field(description="SHA-256 of the definitions as canonical JSON.")]
    schedulers: Annotated[int, Field(description="Number of bonded schedulers that use them.")]
    published_ms: Annotated[TimeMs, Field(description="When one of them published them first.")]
    placed: Annotated[int, Field(description="Number of leases that these schedulers have opened so far.")]
