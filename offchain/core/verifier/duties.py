"""State machine of a verifier's duties in committees of challenges.

`handle(state, event, now)` returns the next state and commands. Events are records of challenges and the outcomes of
commands. A duty is one seat in one ballot; it ends when the chain no longer has the ballot.

Answers are examined, and votes committed, by the best block: a commitment tells nobody the vote. Votes are revealed by
final blocks only, so that no fork lets a member commit again that has seen the votes of others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from offchain.schema.chain_types._generated_chain import (
    ChallengePhase,
    ChallengeRecord,
    Matter,
    MatterChallenge,
    Seat,
    Vote,
)

RETRY_MS: Final = 4_000
"""Chain time between two attempts of one call that was refused."""
EXAMINE_AGAIN_MS: Final = 2_000
"""Chain time until a host that did not show its proof is asked again: a block."""
LATE_PART: Final = 3
"""A host that has not shown its proof when this part of the committee's time is left is voted against."""
ADVANCE_MS: Final = 60_000
"""Time after a deadline at which members advance a challenge that the chain's own hook has not advanced."""


def vote_commitment(matter: Matter, ballot_round: int, vote: Vote, salt: bytes, voter: bytes) -> bytes:
    """Return what binds a member to its vote (docs/verification.md, section 3). `voter`: its account, 32 bytes."""
    content = b"gantry/vote/v1" + matter.scale() + bytes([ballot_round]) + vote.scale() + salt + voter
    return hashlib.blake2b(content, digest_size=32).digest()


@dataclass(frozen=True, slots=True, order=True)
class DutyKey:
    """A ballot about a challenge; `round` counts its committees from 0."""

    challenge: int
    round: int

    @property
    def matter(self) -> MatterChallenge:
        return MatterChallenge(self.challenge)


@dataclass(frozen=True, slots=True)
class StoredVote:
    """A vote that is on the disk with its salt, so that it can be revealed after a restart."""

    vote: Vote
    salt: bytes
    reason: str


class FindingKind(StrEnum):
    """Outcome of an examination."""

    RIGHT = "right"
    WRONG = "wrong"
    NOT_SHOWN = "not_shown"
    NOT_YET = "not_yet"


@dataclass(frozen=True, slots=True)
class Finding:
    """Outcome of an examination, with a sentence.

    `NOT_SHOWN`: the host does not send its proof. `NOT_YET`: the examination is not possible now, for a reason that is
    not the host's, such as a node without the blocks.
    """

    kind: FindingKind
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ChallengesSeen:
    """Open challenges at a final block: all that have a seat of this verifier, and those that it has votes for.

    `commit_ms`: time that committees have. `best`: the same challenges at the best block.
    """

    records: Mapping[int, ChallengeRecord]
    commit_ms: int
    best: Mapping[int, ChallengeRecord] = field(default_factory=lambda: MappingProxyType({}))

    def items(self) -> Iterator[tuple[int, ChallengeRecord | None, ChallengeRecord]]:
        """Yield number, final record and newest record of each challenge. Without a final record the first is None."""
        for number in sorted(self.records.keys() | self.best.keys()):
            final = self.records.get(number)
            newest = self.best.get(number, final)
            assert newest is not None  # noqa: S101  (one of both has it)
            yield number, final, newest


@dataclass(frozen=True, slots=True)
class Examined:
    """An examination has ended."""

    key: DutyKey
    finding: Finding


@dataclass(frozen=True, slots=True)
class VoteStored:
    """A vote and its salt are on the disk."""

    key: DutyKey
    stored: StoredVote


@dataclass(frozen=True, slots=True)
class Examine:
    """Fetch the proof of the answer from the host, and verify it."""

    key: DutyKey
    record: ChallengeRecord


@dataclass(frozen=True, slots=True)
class StoreVote:
    """Store a vote with a new random salt."""

    key: DutyKey
    vote: Vote
    reason: str


@dataclass(frozen=True, slots=True)
class CommitVote:
    """Submit the commitment to a stored vote."""

    key: DutyKey
    stored: StoredVote


@dataclass(frozen=True, slots=True)
class RevealVote:
    """Submit a stored vote with its salt."""

    key: DutyKey
    stored: StoredVote


@dataclass(frozen=True, slots=True)
class AdvanceChallenge:
    """Submit `advance` for a challenge whose deadline has passed."""

    key: DutyKey
    until: int


@dataclass(frozen=True, slots=True)
class ForgetVote:
    """Remove the stored vote of a ballot that is over."""

    key: DutyKey


CallCommand: TypeAlias = CommitVote | RevealVote | AdvanceChallenge
VerifierCommand: TypeAlias = Examine | StoreVote | ForgetVote | CallCommand


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A submitted call took effect, or was refused."""

    command: CallCommand
    is_refused: bool


VerifierEvent: TypeAlias = ChallengesSeen | Examined | VoteStored | CallEnded


@dataclass(frozen=True, slots=True)
class VerifierState:
    """Duties of the verifier `me`.

    `busy`: commands whose outcome has not come. `findings`: the last finding without a vote, and when to examine again.
    `rests`: calls that were refused, and when they may be submitted again.
    """

    me: str
    votes: Mapping[DutyKey, StoredVote] = field(default_factory=lambda: MappingProxyType({}))
    busy: frozenset[VerifierCommand] = frozenset()
    findings: Mapping[DutyKey, tuple[Finding, int]] = field(default_factory=lambda: MappingProxyType({}))
    rests: Mapping[CallCommand, int] = field(default_factory=lambda: MappingProxyType({}))

    def is_busy(self, kind: type[VerifierCommand], key: DutyKey) -> bool:
        return any(isinstance(one, kind) and one.key == key for one in self.busy)


def handle(state: VerifierState, event: VerifierEvent, now: int) -> tuple[VerifierState, tuple[VerifierCommand, ...]]:
    """Return the state after the event, and what to do. `now`: chain time of the newest final block, ms."""
    match event:
        case ChallengesSeen():
            return _seen(state, event, now)
        case Examined(key, finding):
            return _examined(state, key, finding, now)
        case VoteStored(key, stored):
            busy = frozenset(one for one in state.busy if not (isinstance(one, StoreVote) and one.key == key))
            state = replace(state, votes={**state.votes, key: stored}, busy=busy)
            calls = tuple(_call(state, CommitVote(key, stored), now))
            return replace(state, busy=state.busy | frozenset(calls)), calls
        case CallEnded(command, is_refused):
            rests = {**state.rests, command: now + RETRY_MS} if is_refused else state.rests
            return replace(state, busy=state.busy - {command}, rests=rests), ()


def _seen(state: VerifierState, event: ChallengesSeen, now: int) -> tuple[VerifierState, tuple[VerifierCommand, ...]]:
    found = [(number, record) for seen in (event.records, event.best) for number, record in seen.items()]
    live = {DutyKey(number, record.ballot.round) for number, record in found}
    over = sorted(state.votes.keys() - live)
    state = replace(
        state,
        votes={key: vote for key, vote in state.votes.items() if key in live},
        findings={key: found for key, found in state.findings.items() if key in live},
        rests={command: at for command, at in state.rests.items() if command.key in live},
    )
    wanted: list[VerifierCommand] = [ForgetVote(key) for key in over]
    for number, final, newest in event.items():
        if final is not None:
            wanted += _due_end(state, number, final, now)
        if not _has_committed(state, final, newest.ballot.round):
            wanted += _due_vote(state, number, newest, event.commit_ms, now)
    waits_for = frozenset(one for one in wanted if not isinstance(one, ForgetVote))
    return replace(state, busy=state.busy | waits_for), tuple(wanted)


def _seat_of(state: VerifierState, record: ChallengeRecord) -> Seat | None:
    return next((seat for seat in record.ballot.seats if seat.who == state.me), None)


def _has_committed(state: VerifierState, final: ChallengeRecord | None, ballot_round: int) -> bool:
    """Return whether a final block has the commitment. The best block that was seen may be older."""
    seat = None if final is None or final.ballot.round != ballot_round else _seat_of(state, final)
    return seat is not None and seat.commitment is not None


def _due_end(state: VerifierState, number: int, final: ChallengeRecord, now: int) -> Iterator[VerifierCommand]:
    """Yield what a final record asks for: the vote is shown, or a challenge that is stuck continues."""
    key, seat = DutyKey(number, final.ballot.round), _seat_of(state, final)
    if seat is None:
        return
    if final.phase is not ChallengePhase.WAITING and now > final.until:
        if now > final.until + ADVANCE_MS:
            yield from _call(state, AdvanceChallenge(key, final.until), now)
        return
    may_reveal = seat.commitment is not None and seat.vote is None and key in state.votes
    if final.phase is ChallengePhase.REVEALING and may_reveal:
        yield from _call(state, RevealVote(key, state.votes[key]), now)


def _due_vote(
    state: VerifierState, number: int, newest: ChallengeRecord, commit_ms: int, now: int
) -> Iterator[VerifierCommand]:
    """Yield the next step to a commitment: examine the answer, store the vote, submit the commitment."""
    key, seat = DutyKey(number, newest.ballot.round), _seat_of(state, newest)
    if seat is None or seat.commitment is not None:
        return
    if newest.phase is not ChallengePhase.COMMITTING or now > newest.until:
        return
    stored = state.votes.get(key)
    if stored is not None:
        yield from _call(state, CommitVote(key, stored), now)
        return
    if state.is_busy(StoreVote, key):
        return
    finding, again_at = state.findings.get(key, (None, 0))
    is_late = now >= newest.until - commit_ms // LATE_PART
    if is_late and finding is not None and finding.kind is FindingKind.NOT_SHOWN:
        yield StoreVote(key, Vote.NO, finding.reason)
    elif now >= again_at and not state.is_busy(Examine, key):
        yield Examine(key, newest)


def _call(state: VerifierState, command: CallCommand, now: int) -> Iterator[CallCommand]:
    if not state.is_busy(type(command), command.key) and now >= state.rests.get(command, 0):
        yield command


def _examined(
    state: VerifierState, key: DutyKey, finding: Finding, now: int
) -> tuple[VerifierState, tuple[VerifierCommand, ...]]:
    busy = frozenset(one for one in state.busy if not (isinstance(one, Examine) and one.key == key))
    state = replace(state, busy=busy)
    if finding.kind in (FindingKind.RIGHT, FindingKind.WRONG):
        if key in state.votes or state.is_busy(StoreVote, key):
            return state, ()
        vote = Vote.YES if finding.kind is FindingKind.RIGHT else Vote.NO
        command = StoreVote(key, vote, finding.reason)
        return replace(state, busy=state.busy | {command}), (command,)
    again_at = now + EXAMINE_AGAIN_MS if finding.kind is FindingKind.NOT_SHOWN else now
    return replace(state, findings={**state.findings, key: (finding, again_at)}), ()
