"""Rows of the index about schedulers and about matters: challenges of hosts and disputes about tasks.

A matter is named by its kind, `Challenge` or `Dispute`, and a number: that of the challenge, or of the task in dispute.
Rounds are counted from 0 in each matter; each round has one committee or jury. All rows are derived from events.
"""

from __future__ import annotations

from dataclasses import dataclass

from offchain.indexer.rows import CoinAmount, Row


@dataclass(frozen=True, slots=True)
class ChallengeRow(Row):
    """A challenge. `state`: its phase; `until_ms`: the end of the phase, None while it waits for a seed or is closed.

    `claim`: what the provider says about the device, as JSON. `round`: that of the last committee. `answer_digest`: of
    the last proof. `outcome` and `returned`, the part of the fee that the opener got back: None while it is open.
    """

    TABLE = "challenges"
    KEY = ("challenge",)
    INDEXES = (
        ("host", "challenge"),
        ("state", "challenge"),
        ("outcome", "challenge"),
        ("opener", "challenge"),
        ("answer_digest", "challenge"),
    )
    challenge: int
    host: str
    device: int
    claim: str
    opener: str | None
    fee: CoinAmount
    state: str
    until_ms: int | None
    round: int
    opened_block: int
    opened_ms: int
    changed_block: int
    changed_ms: int
    answer_digest: str | None = None
    answered_ms: int | None = None
    outcome: str | None = None
    returned: CoinAmount | None = None


@dataclass(frozen=True, slots=True)
class DisputeRow(Row):
    """The dispute about a task, which has one at most. `state` and `until_ms` as those of ChallengeRow.

    `accused`: JSON list of leases. `level`: how often a verdict was appealed; `verdict`: the last one.
    """

    TABLE = "disputes"
    KEY = ("task",)
    INDEXES = (("opener", "task"), ("state", "task"), ("outcome", "task"))
    task: int
    opener: str
    tenant: str | None
    accused: str
    state: str
    until_ms: int | None
    level: int
    round: int
    opened_block: int
    opened_ms: int
    changed_block: int
    changed_ms: int
    verdict: str | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class CommitteeRow(Row):
    """A committee or jury that was asked for. `seats`: number of members; 0: there were not enough verifiers.

    `confirming`: whether it judges the answer that the committee before it found against. `level`: of a dispute.
    """

    TABLE = "committees"
    KEY = ("kind", "number", "round")
    kind: str
    number: int
    round: int
    level: int
    confirming: int
    seed: str | None
    seed_block: int | None
    seats: int
    drawn_block: int
    drawn_ms: int
    verdict: str | None = None
    closed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class VoteRow(Row):
    """A seat of a committee or jury. `reason`: why its member was penalised."""

    TABLE = "votes"
    KEY = ("kind", "number", "round", "account")
    kind: str
    number: int
    round: int
    account: str
    seat: int
    commitment: str | None = None
    committed_ms: int | None = None
    vote: str | None = None
    revealed_ms: int | None = None
    rewarded: CoinAmount = 0
    penalised: CoinAmount = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class EvidenceRow(Row):
    """A piece of evidence that a party of a dispute named. `digest`: its SHA-256; `level`: of the hearing."""

    TABLE = "evidence"
    KEY = ("task", "block", "place")
    INDEXES = (("digest", "task"),)
    task: int
    block: int
    place: int
    account: str
    digest: str
    level: int
    time_ms: int


@dataclass(frozen=True, slots=True)
class StakeRow(Row):
    """What an account staked in a dispute, and what became of it. `refunded`: fees of juries that it got back."""

    TABLE = "stakes"
    KEY = ("task", "account")
    task: int
    account: str
    staked: CoinAmount = 0
    returned: CoinAmount = 0
    lost: CoinAmount = 0
    refunded: CoinAmount = 0


@dataclass(frozen=True, slots=True)
class SchedulerRow(Row):
    """An account that is or was a scheduler. `state`: Bonded, Leaving or Unbonded.

    `bond`: what is held of it; None if it was bonded in the genesis block, which has no events. `until_ms`: when the
    bond of a leaving one can be released. `queues`: digest of the queue definitions that it has published. `placed`:
    leases that it opened with extrinsics it signed. `lost`: what penalties took from its bond.
    """

    TABLE = "schedulers"
    KEY = ("account",)
    INDEXES = (("state", "account"), ("queues", "account"))
    account: str
    state: str
    bond: CoinAmount | None
    changed_block: int
    changed_ms: int
    bonded_ms: int | None = None
    until_ms: int | None = None
    queues: str | None = None
    queues_ms: int | None = None
    placed: int = 0
    placed_ms: int | None = None
    penalties: int = 0
    lost: CoinAmount = 0


@dataclass(frozen=True, slots=True)
class SchedulerPenaltyRow(Row):
    """Proven misbehaviour of a scheduler: it placed a lease on a host of its own although `cheaper` was cheaper."""

    TABLE = "scheduler_penalties"
    KEY = ("account", "block", "place")
    account: str
    block: int
    place: int
    lease: int
    cheaper: str
    to_tenant: CoinAmount
    to_treasury: CoinAmount
    time_ms: int


MATTER_ROWS: tuple[type[Row], ...] = (
    ChallengeRow,
    DisputeRow,
    CommitteeRow,
    VoteRow,
    EvidenceRow,
    StakeRow,
    SchedulerRow,
    SchedulerPenaltyRow,
)
"""Derived tables since version 5 of the derived tables."""
