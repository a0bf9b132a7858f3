"""The chain's rules for one challenge (docs/verification.md, section 4), without coins: phases, calls, verdicts.

Like the pallet, it counts time by its clock: in its own steps that of the block before, in calls that of their block.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from offchain.core.verifier.duties import vote_commitment
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import ChallengeOutcome, ChallengePhase, ChallengeRecord, Seat, Vote
from tests.support.challenge_records import challenge

NUMBER: Final = 1
"""Number of the challenge."""
SEED_DELAY: Final = 2
"""Blocks from the request of a seed to the first block in which it may be drawn."""


@dataclass(frozen=True, slots=True)
class ChallengeRules:
    """Parameters of the production preset. `drawable`: verifiers that may be drawn."""

    committee_size: int = 5
    answer_ms: int = 1_350_000
    commit_ms: int = 300_000
    reveal_ms: int = 120_000
    drawable: int = 21


PRODUCTION: Final = ChallengeRules()


def voter_key(member: str) -> bytes:
    """The public key of a simulated verifier."""
    return hashlib.sha256(member.encode()).digest()


@dataclass
class ChallengeState:
    """A challenge that was opened in `block` at `now`. A call returns whether it was accepted."""

    claim: gen.DeviceSpec
    block: int
    now: int
    rules: ChallengeRules = PRODUCTION
    outcome: ChallengeOutcome | None = None
    drawn: int = 0
    ballots: list[Mapping[str, Vote | None]] = field(default_factory=list)
    """Votes of the closed ballots, by member."""
    record: ChallengeRecord = field(init=False)

    def __post_init__(self) -> None:
        ballot = gen.Ballot(0, self.block, None, (), ())
        changes = {"answer": None, "until": 0, "opened_at": self.now, "claim": self.claim, "ballot": ballot}
        self.record = challenge(ChallengePhase.WAITING, **changes)

    def begin_block(self, number: int, before_ms: int, randomness: bytes | None) -> None:
        """Do what is due. `before_ms`: time of the block before; `randomness`: its new randomness, None without any."""
        self.block = number
        record = self.record
        if record.phase is ChallengePhase.WAITING:
            if number >= record.ballot.asked_in + SEED_DELAY and randomness is not None:
                self._draw(before_ms, randomness)
        elif self.outcome is None and before_ms > record.until:
            self._end_phase(before_ms)

    def answer(self, digest: bytes, now: int, not_after: int) -> bool:
        if self.record.phase is not ChallengePhase.ANSWERING or now > min(self.record.until, not_after):
            return False
        self._move(ChallengePhase.COMMITTING, now + self.rules.commit_ms, answer=gen.ChallengeAnswer(digest, now))
        return True

    def commit(self, who: str, commitment: bytes, now: int) -> bool:
        seat = self._seat(who)
        if self.record.phase is not ChallengePhase.COMMITTING or now > self.record.until:
            return False
        if seat is None or seat.commitment is not None:
            return False
        self._put(replace(seat, commitment=commitment))
        if all(one.commitment is not None for one in self.record.ballot.seats):
            self._move(ChallengePhase.REVEALING, now + self.rules.reveal_ms)
        return True

    def reveal(self, who: str, vote: Vote, salt: bytes, now: int) -> bool:
        seat = self._seat(who)
        if self.record.phase is not ChallengePhase.REVEALING or now > self.record.until:
            return False
        if seat is None or seat.vote is not None:
            return False
        expected = vote_commitment(gen.MatterChallenge(NUMBER), self.record.ballot.round, vote, salt, voter_key(who))
        if seat.commitment != expected:
            return False
        self._put(replace(seat, vote=vote))
        if all(one.commitment is None or one.vote is not None for one in self.record.ballot.seats):
            self._judge(now)
        return True

    def advance(self, now: int) -> bool:
        if self.outcome is not None or self.record.phase is ChallengePhase.WAITING or now <= self.record.until:
            return False
        self._end_phase(now)
        return True

    def _draw(self, now: int, randomness: bytes) -> None:
        """Draw seed and committee. Members of different committees are different, and no two challenges share one."""
        subject = bytes([self.record.ballot.round]) + randomness
        ballot = replace(self.record.ballot, seed=hashlib.sha256(b"seed" + subject).digest())
        self.record = replace(self.record, ballot=ballot)
        if self._seat_committee():
            self._move(ChallengePhase.ANSWERING, now + self.rules.answer_ms)

    def _seat_committee(self) -> bool:
        size = self.rules.committee_size
        if self.drawn + size > self.rules.drawable:
            self._close(ChallengeOutcome.TOO_FEW_VERIFIERS)
            return False
        seats = tuple(Seat(f"verifier {self.drawn + place}", None, None) for place in range(size))
        self.drawn += size
        self.record = replace(self.record, ballot=replace(self.record.ballot, seats=seats))
        return True

    def _end_phase(self, now: int) -> None:
        phase, seats = self.record.phase, self.record.ballot.seats
        if phase is ChallengePhase.ANSWERING:
            self._close(ChallengeOutcome.MISSED)
        elif phase is ChallengePhase.COMMITTING and 2 * sum(one.commitment is not None for one in seats) > len(seats):
            self._move(ChallengePhase.REVEALING, now + self.rules.reveal_ms)
        else:
            self._judge(now)

    def _judge(self, now: int) -> None:
        votes = {seat.who: seat.vote for seat in self.record.ballot.seats}
        self.ballots.append(votes)
        has_majority = {vote: 2 * sum(one is vote for one in votes.values()) > len(votes) for vote in Vote}
        role = self.record.role
        is_confirming = isinstance(role, gen.CommitteeRoleConfirming)
        if has_majority[Vote.YES]:
            self._close(ChallengeOutcome.NO_VERDICT if is_confirming else ChallengeOutcome.PASSED)
        elif has_majority[Vote.NO] and is_confirming:
            self._close(ChallengeOutcome.FAILED)
        elif has_majority[Vote.NO]:
            self._next_round(gen.CommitteeRoleConfirming(0))
            if self._seat_committee():
                self._move(ChallengePhase.COMMITTING, now + self.rules.commit_ms)
        elif isinstance(role, gen.CommitteeRoleFirst):
            self._next_round(gen.CommitteeRoleSecond())
            ballot = replace(self.record.ballot, seed=None, asked_in=self.block)
            self._move(ChallengePhase.WAITING, 0, answer=None, ballot=ballot)
        else:
            self._close(ChallengeOutcome.NO_VERDICT)

    def _next_round(self, role: gen.CommitteeRole) -> None:
        ballot = self.record.ballot
        former = (*ballot.former, *(seat.who for seat in ballot.seats))
        ballot = replace(ballot, round=ballot.round + 1, seats=(), former=former)
        self.record = replace(self.record, role=role, ballot=ballot)

    def _seat(self, who: str) -> Seat | None:
        return next((seat for seat in self.record.ballot.seats if seat.who == who), None)

    def _put(self, changed: Seat) -> None:
        ballot = self.record.ballot
        seats = tuple(changed if seat.who == changed.who else seat for seat in ballot.seats)
        self.record = replace(self.record, ballot=replace(ballot, seats=seats))

    def _move(self, phase: ChallengePhase, until: int, **changes: object) -> None:
        self.record = replace(self.record, phase=phase, until=until, **changes)  # type: ignore[arg-type]

    def _close(self, outcome: ChallengeOutcome) -> None:
        self.outcome = outcome
        self.record = replace(self.record, phase=ChallengePhase.CLOSED)
