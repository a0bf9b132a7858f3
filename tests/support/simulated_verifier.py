"""The shell of a verifier in simulated time: carries out the commands of its duties."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from offchain.core.verifier.duties import (
    AdvanceChallenge,
    CallCommand,
    CallEnded,
    ChallengesSeen,
    CommitVote,
    Examine,
    Examined,
    Finding,
    FindingKind,
    RevealVote,
    StoredVote,
    StoreVote,
    VerifierCommand,
    VerifierEvent,
    VerifierState,
    VoteStored,
    handle,
    vote_commitment,
)
from offchain.core.verifier.examination import late_answer
from offchain.schema.chain_types._generated_chain import ChallengeRecord
from offchain.services.proof_examiner import SECOND_S
from tests.support.challenge_rules import NUMBER, voter_key

if TYPE_CHECKING:
    from tests.support.challenge_simulation import ChallengeRun


COMPARE_MS: Final = 50
"""Time to compare an opening with what was computed."""


class SimulatedVerifier:
    """A member of a committee. It is killed once in some runs, and keeps its stored votes."""

    def __init__(self, run: ChallengeRun, name: str) -> None:
        self._run = run
        self._name = name
        self._state = VerifierState(name)
        self._life = 0
        self._is_away = False
        self._seen: tuple[ChallengeRecord, ChallengeRecord] | None = None
        self._computed: dict[bytes, int] = {}
        latency = run.latency
        if run.dice.random() < latency.verifier_away:
            run.after(run.between((0, latency.within)), self._killed)

    def see(self) -> None:
        """Follow the newest final block, and the best one. Records that are known cause nothing, and are left out."""
        records = final, best = self._run.blocks[self._run.final].record, self._run.blocks[-1].record
        if self._is_away or (self._is_known(records) and not self._waits_for_time(final)):
            return
        self._seen = records
        self._take(ChallengesSeen(self._own(final), self._run.state.rules.commit_ms, self._own(best)))

    def _is_known(self, records: tuple[ChallengeRecord, ChallengeRecord]) -> bool:
        return self._seen is not None and all(one is other for one, other in zip(records, self._seen, strict=True))

    def _waits_for_time(self, final: ChallengeRecord) -> bool:
        """Whether time alone may cause a command: an examination or a call is repeated, or a deadline has passed."""
        is_repeated = any(key not in self._state.votes for key in self._state.findings) or bool(self._state.rests)
        return is_repeated or self._run.blocks[self._run.final].time > final.until

    def _own(self, record: ChallengeRecord) -> dict[int, ChallengeRecord]:
        is_mine = any(seat.who == self._name for seat in record.ballot.seats)
        is_open = is_mine or any(key.challenge == NUMBER for key in self._state.votes)
        return {NUMBER: record} if is_open else {}

    def _take(self, event: VerifierEvent) -> None:
        if self._is_away or self._run.state.outcome is not None:
            return
        now = self._run.blocks[self._run.final].time
        self._state, commands = handle(self._state, event, now)
        for command in commands:
            self._carry_out(command)

    def _carry_out(self, command: VerifierCommand) -> None:
        match command:
            case Examine():
                self._examine(command)
            case StoreVote(key, vote, reason):
                salt = hashlib.sha256(f"{self._name}/{key}".encode()).digest()
                self._take(VoteStored(key, StoredVote(vote, salt, reason)))
            case CommitVote() | RevealVote() | AdvanceChallenge():
                self._submit(command)
            case _:
                pass

    def _submit(self, command: CallCommand) -> None:
        state, key, me = self._run.state, command.key, self._name

        def call(now: int) -> bool:
            match command:
                case CommitVote(_, stored):
                    bound = vote_commitment(key.matter, key.round, stored.vote, stored.salt, voter_key(me))
                    return state.commit(me, bound, now)
                case RevealVote(_, stored):
                    return state.reveal(me, stored.vote, stored.salt, now)
                case AdvanceChallenge():
                    return state.advance(now)

        self._run.submit(call, lambda is_accepted: self._take(CallEnded(command, not is_accepted)))

    # --- examination, as offchain/services/proof_examiner.py does it ---------------------------------------------

    def _examine(self, command: Examine) -> None:
        run, record = self._run, command.record
        seed = run.opening_seed(record)
        if seed is None:
            self._found(command, Finding(FindingKind.NOT_YET, "the blocks that draw the opening are not there yet"))
            return
        late = late_answer(run.plan.terms, run.elapsed_ms(record))
        if late is not None:
            self._found(command, late)
        else:
            life, fetch_ms = self._life, self._fetch_ms()
            computed_at = self._computed_at(seed)
            if fetch_ms is None:
                self._found(command, Finding(FindingKind.NOT_SHOWN, "the transfer failed"), run.latency.fetch_timeout)
            else:
                run.after(fetch_ms, lambda: self._fetched(command, record, seed, life, computed_at))

    def _fetch_ms(self) -> int | None:
        """Time until one of two attempts ends, of which the second starts later; None if both fail."""
        run, first = self._run, self._attempt_ms()
        if first is not None and first <= 1_000 * SECOND_S:
            return first
        second = self._attempt_ms()
        ends = [one for one in (first, None if second is None else round(1_000 * SECOND_S) + second) if one is not None]
        return min(ends) if ends and min(ends) <= run.latency.fetch_timeout else None

    def _attempt_ms(self) -> int | None:
        latency = self._run.latency
        return None if self._run.dice.random() < latency.fetch_fails else self._run.between(latency.fetch)

    def _computed_at(self, seed: bytes) -> int:
        """When what a right proof opens is computed, beside the transfer; once for each draw."""
        if seed not in self._computed:
            self._computed[seed] = self._run.now + self._run.between(self._run.latency.verify)
        return self._computed[seed]

    def _fetched(self, command: Examine, record: ChallengeRecord, seed: bytes, life: int, computed_at: int) -> None:
        documents = self._run.host.documents()
        if life != self._life:
            return
        if documents is None:
            self._found(command, Finding(FindingKind.NOT_SHOWN, "the host did not send its proof"))
            return
        finding = self._run.finding(record, seed, documents)
        self._found(command, finding, max(0, computed_at - self._run.now) + COMPARE_MS)

    def _found(self, command: Examine, finding: Finding, after_ms: int = 0) -> None:
        life = self._life

        def end() -> None:
            if life == self._life:
                self._take(Examined(command.key, finding))

        self._run.after(after_ms, end)

    def _killed(self) -> None:
        self._life += 1
        self._is_away = True
        self._run.after(self._run.between(self._run.latency.verifier_away_ms), self._back)

    def _back(self) -> None:
        self._is_away = False
        self._computed, self._seen = {}, None
        self._state = VerifierState(self._name, self._state.votes)
        self.see()
