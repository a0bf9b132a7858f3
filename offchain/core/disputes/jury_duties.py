"""State machine of a juror's duties in disputes.

`handle_jury(state, event, now)` returns the next state and commands. Events are final records of disputes, the votes on
the disk, and the outcomes of commands. A duty is one seat in one ballot; it ends when the chain no longer has the
ballot. A vote is on the disk, from this worker or from a person (`gantry dispute vote`), before it is committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from offchain.core.disputes.judgement import Judgement, JudgementKind
from offchain.core.disputes.rules import seat_of
from offchain.core.verifier.duties import ADVANCE_MS, RETRY_MS, StoredVote
from offchain.schema.chain_types._generated_chain import DisputePhase, DisputeRecord, MatterDispute, Vote
from offchain.schema.durations import HOUR_MS

EXECUTE_AGAIN_MS: Final = 30_000
"""Chain time after an execution that failed, before the next one."""
WARN_EVERY_MS: Final = HOUR_MS
"""Chain time between two warnings about one duty that waits for a person."""
LAST_WARNING_PART: Final = 6
"""A duty that waits for a person is warned about once more when this part of the time is left."""
NO_SALT: Final = "it has committed a vote that is not in this folder, so it cannot reveal it here"


@dataclass(frozen=True, slots=True, order=True)
class JuryKey:
    """A ballot about the dispute of a task; `round` counts its juries from 0."""

    task: int
    round: int

    @property
    def matter(self) -> MatterDispute:
        return MatterDispute(self.task)


@dataclass(frozen=True, slots=True)
class DisputesSeen:
    """Open disputes at a final block in which this juror has a seat or a stored vote, and the votes on the disk.

    `commit_ms`: time that juries have to commit.
    """

    records: Mapping[int, DisputeRecord]
    votes: Mapping[JuryKey, StoredVote]
    commit_ms: int


@dataclass(frozen=True, slots=True)
class Judged:
    """The executions for a ballot have ended."""

    key: JuryKey
    found: Judgement


@dataclass(frozen=True, slots=True)
class JuryVoteStored:
    """A vote and its salt are on the disk."""

    key: JuryKey
    stored: StoredVote


@dataclass(frozen=True, slots=True)
class ExecuteAccused:
    """Execute the accused leases, and compare their results."""

    key: JuryKey
    record: DisputeRecord


@dataclass(frozen=True, slots=True)
class StoreJuryVote:
    """Store a vote with a new random salt, unless a person has stored one."""

    key: JuryKey
    vote: Vote
    reason: str


@dataclass(frozen=True, slots=True)
class CommitJuryVote:
    """Submit the commitment to a stored vote."""

    key: JuryKey
    stored: StoredVote


@dataclass(frozen=True, slots=True)
class RevealJuryVote:
    """Submit a stored vote with its salt."""

    key: JuryKey
    stored: StoredVote


@dataclass(frozen=True, slots=True)
class AdvanceDispute:
    """Submit `advance` for a dispute whose deadline has passed."""

    key: JuryKey
    until: int


@dataclass(frozen=True, slots=True)
class ForgetJuryVote:
    """Remove the stored vote of a ballot that is over."""

    key: JuryKey


@dataclass(frozen=True, slots=True)
class WarnJuror:
    """Warn the operator that a person has to decide until this moment, and why."""

    key: JuryKey
    until: int
    reason: str


JuryCall: TypeAlias = CommitJuryVote | RevealJuryVote | AdvanceDispute
JuryCommand: TypeAlias = ExecuteAccused | StoreJuryVote | ForgetJuryVote | WarnJuror | JuryCall


@dataclass(frozen=True, slots=True)
class JuryCallEnded:
    """A submitted call took effect, or was refused."""

    command: JuryCall
    is_refused: bool


JuryEvent: TypeAlias = DisputesSeen | Judged | JuryVoteStored | JuryCallEnded


@dataclass(frozen=True, slots=True)
class JuryState:
    """Duties of the juror `me`.

    `can_execute`: this juror executes jobs. `busy`: commands whose outcome has not come. `judged`: judgements without a
    vote, and when to execute again. `rests`: refused calls, and when they may be submitted again. `warned`: when each
    duty was last warned about.
    """

    me: str
    can_execute: bool = True
    votes: Mapping[JuryKey, StoredVote] = field(default_factory=lambda: MappingProxyType({}))
    busy: frozenset[JuryCommand] = frozenset()
    judged: Mapping[JuryKey, tuple[Judgement, int]] = field(default_factory=lambda: MappingProxyType({}))
    rests: Mapping[JuryCall, int] = field(default_factory=lambda: MappingProxyType({}))
    warned: Mapping[JuryKey, int] = field(default_factory=lambda: MappingProxyType({}))

    def is_busy(self, kind: type[JuryCommand], key: JuryKey) -> bool:
        return any(isinstance(one, kind) and one.key == key for one in self.busy)


def handle_jury(state: JuryState, event: JuryEvent, now: int) -> tuple[JuryState, tuple[JuryCommand, ...]]:
    """Return the state after the event, and what to do. `now`: chain time of the newest final block, ms."""
    match event:
        case DisputesSeen():
            return _seen(state, event, now)
        case Judged(key, found):
            return _judged(state, key, found, now)
        case JuryVoteStored(key, stored):
            return replace(state, votes={**state.votes, key: stored}, busy=_without(state, StoreJuryVote, key)), ()
        case JuryCallEnded(command, is_refused):
            rests = {**state.rests, command: now + RETRY_MS} if is_refused else state.rests
            return replace(state, busy=state.busy - {command}, rests=rests), ()


def _seen(state: JuryState, event: DisputesSeen, now: int) -> tuple[JuryState, tuple[JuryCommand, ...]]:
    live = {JuryKey(task, record.ballot.round) for task, record in event.records.items()}
    state = replace(
        state,
        votes={key: vote for key, vote in event.votes.items() if key in live},
        judged={key: found for key, found in state.judged.items() if key in live},
        rests={command: at for command, at in state.rests.items() if command.key in live},
        warned={key: at for key, at in state.warned.items() if key in live},
    )
    wanted: list[JuryCommand] = [ForgetJuryVote(key) for key in sorted(event.votes.keys() - live)]
    for task, record in sorted(event.records.items()):
        wanted += _due(state, JuryKey(task, record.ballot.round), record, event.commit_ms, now)
    waits_for = frozenset(one for one in wanted if not isinstance(one, (ForgetJuryVote, WarnJuror)))
    warned = {one.key: now for one in wanted if isinstance(one, WarnJuror)}
    return replace(state, busy=state.busy | waits_for, warned={**state.warned, **warned}), tuple(wanted)


def _due(state: JuryState, key: JuryKey, record: DisputeRecord, commit_ms: int, now: int) -> Iterator[JuryCommand]:
    seat = seat_of(record, state.me)
    if seat is None:
        return
    if record.phase not in (DisputePhase.COMMITTING, DisputePhase.REVEALING):
        return
    if now > record.until:
        if now > record.until + ADVANCE_MS:
            yield from _call(state, AdvanceDispute(key, record.until), now)
        return
    if seat.commitment is None:
        if record.phase is DisputePhase.COMMITTING:
            yield from _due_vote(state, key, record, commit_ms, now)
    elif key not in state.votes:
        if seat.vote is None:
            yield from _warning(state, key, record.until, commit_ms, NO_SALT, now)
    elif record.phase is DisputePhase.REVEALING and seat.vote is None:
        yield from _call(state, RevealJuryVote(key, state.votes[key]), now)


def _due_vote(state: JuryState, key: JuryKey, record: DisputeRecord, commit_ms: int, now: int) -> Iterator[JuryCommand]:
    """Yield the next step to a commitment: execute, store the vote, submit the commitment; or warn the operator."""
    stored = state.votes.get(key)
    if stored is not None:
        yield from _call(state, CommitJuryVote(key, stored), now)
        return
    if state.is_busy(StoreJuryVote, key):
        return
    if not state.can_execute:
        yield from _warning(state, key, record.until, commit_ms, "this worker executes nothing", now)
        return
    found, again_at = state.judged.get(key, (None, 0))
    if found is not None:
        yield from _warning(state, key, record.until, commit_ms, found.reason, now)
    is_open = found is None or found.kind is JudgementKind.NOT_YET
    if is_open and now >= again_at and not state.is_busy(ExecuteAccused, key):
        yield ExecuteAccused(key, record)


def _warning(
    state: JuryState, key: JuryKey, until: int, commit_ms: int, reason: str, now: int
) -> Iterator[JuryCommand]:
    last = state.warned.get(key)
    final_from = until - commit_ms // LAST_WARNING_PART
    is_final = last is not None and last < final_from <= now
    if last is None or is_final or now >= last + WARN_EVERY_MS:
        yield WarnJuror(key, until, reason)


def _call(state: JuryState, command: JuryCall, now: int) -> Iterator[JuryCall]:
    if not state.is_busy(type(command), command.key) and now >= state.rests.get(command, 0):
        yield command


def _judged(state: JuryState, key: JuryKey, found: Judgement, now: int) -> tuple[JuryState, tuple[JuryCommand, ...]]:
    state = replace(state, busy=_without(state, ExecuteAccused, key))
    if found.vote is None:
        return replace(state, judged={**state.judged, key: (found, now + EXECUTE_AGAIN_MS)}), ()
    if key in state.votes or state.is_busy(StoreJuryVote, key):
        return state, ()
    command = StoreJuryVote(key, found.vote, found.reason)
    return replace(state, busy=state.busy | {command}), (command,)


def _without(state: JuryState, kind: type[JuryCommand], key: JuryKey) -> frozenset[JuryCommand]:
    return frozenset(one for one in state.busy if not (isinstance(one, kind) and one.key == key))
