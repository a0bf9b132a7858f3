"""Challenges in simulated time: the product's decisions of agents and verifiers on the chain's rules.

The steps of the agent (`next_step`), the duties of verifiers (`handle`) and the examination of proofs are those of the
product. Simulated are the clock, the blocks, the finality, every latency and every failure (:class:`LatencyModel`), and
the shells that carry out the steps.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from node_agent.core.challenges import ChallengeStep, ChallengeView, HeldProof, next_step
from offchain.adapters.chain.challenge_blocks import OPENING_BLOCKS
from offchain.core.verifier.duties import Finding
from offchain.core.verifier.examination import examine_proof
from offchain.schema.chain_types._generated_chain import ChallengeOutcome, ChallengePhase, ChallengeRecord, Vote
from offchain.schema.challenge.order import ChallengeWork, opening_seed
from offchain.schema.challenge.sizing import ChallengeTerms
from tests.support.challenge_records import CLAIM
from tests.support.challenge_rules import PRODUCTION, ChallengeRules, ChallengeState
from tests.support.challenge_samples import Proof
from tests.support.simulated_verifier import SimulatedVerifier

SLOT_MS: Final = 2_000
MOST_SLOTS: Final = 3_000
"""A challenge that is open for longer is an error of the simulation."""
SMALL_WORK: Final = ChallengeWork(64, 1, 8, 256, 2, 32, 2)
"""Work of simulated challenges: its proof takes a millisecond. The time of the computation is simulated."""


@dataclass(frozen=True, slots=True)
class LatencyModel:
    """Latencies in ms and chances of failures. Ranges are uniform.

    `empty_slot`: no block in a slot. `no_randomness`: a block without new randomness. `finality_blocks`: blocks that a
    final block is behind, at least; `finality_delay`: chance of each further one. `notice`: from a block to the process
    that follows it. `inclusion`: from a call to the node that makes a block. `prepare`: start of the program. `fetch`:
    both documents; `fetch_fails`: chance that a transfer fails, after a timeout. `verify`: verification by one core.
    `host_away`, `verifier_away`: chance that the process is killed once during a challenge, and for how long.
    """

    empty_slot: float = 0.03
    no_randomness: float = 0.05
    finality_blocks: int = 2
    finality_delay: float = 0.3
    notice: tuple[int, int] = (50, 1_500)
    inclusion: tuple[int, int] = (100, 4_000)
    prepare: tuple[int, int] = (1_500, 6_000)
    fetch: tuple[int, int] = (200, 5_000)
    fetch_fails: float = 0.05
    fetch_timeout: int = 10_000
    verify: tuple[int, int] = (700, 2_500)
    host_away: float = 0.03
    host_away_ms: tuple[int, int] = (2_000, 240_000)
    verifier_away: float = 0.03
    verifier_away_ms: tuple[int, int] = (2_000, 60_000)
    within: int = 120_000
    """Time after the opening in which processes are killed."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """What a host does in a challenge.

    `terms`: of the claimed device, with a small work in place of its own; `compute_ms`: time that the host's device
    needs for the claimed device's work. `proof`: for a seed. `is_patient`: the host sends its answer however late it
    is, as no agent of the product does.
    """

    terms: ChallengeTerms
    compute_ms: int
    proof: Callable[[bytes], Proof]
    is_patient: bool = False


@dataclass(frozen=True, slots=True)
class ChallengeEnd:
    """How a challenge ended.

    `elapsed_ms`: from the seed to the answer, None without one. `no_votes`: revealed votes against the host.
    `examinations`: proofs that were verified.
    """

    outcome: ChallengeOutcome
    open_ms: int
    elapsed_ms: int | None
    no_votes: int
    votes: int
    examinations: int


@dataclass(frozen=True, slots=True)
class SimulatedBlock:
    """A block: its state of the challenge, and its randomness, None if it has no new one."""

    number: int
    time: int
    record: ChallengeRecord
    randomness: bytes | None


class ChallengeRun:
    """One challenge from its opening to its end.

    `run`: number that makes its seeds different from those of others. `verifier`: makes a member of a committee.
    """

    def __init__(
        self,
        plan: HostPlan,
        run: int,
        latency: LatencyModel | None = None,
        rules: ChallengeRules = PRODUCTION,
        verifier: Callable[[ChallengeRun, str], SimulatedVerifier] = SimulatedVerifier,
    ) -> None:
        self.latency = latency or LatencyModel()
        self.plan = plan
        self.dice = np.random.default_rng((run, 0x47544E))
        self.now = 0
        self.state = ChallengeState(CLAIM, 0, 0, rules)
        self.blocks = [SimulatedBlock(0, 0, self.state.record, None)]
        self.final = 0
        self.examinations = 0
        self._run = run
        self._make_verifier = verifier
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._calls: list[tuple[int, Callable[[int], bool], Callable[[bool], None]]] = []
        self._findings: dict[tuple[bytes, bytes, bytes], Finding] = {}
        self._verifiers: dict[str, SimulatedVerifier] = {}
        self.host = SimulatedHost(self)

    def result(self) -> ChallengeEnd:
        """Run the challenge until it is closed."""
        for slot in range(1, MOST_SLOTS):
            at = slot * SLOT_MS
            self._events_until(at)
            if self.dice.random() >= self.latency.empty_slot:
                self._make_block(at)
            if self.state.outcome is not None:
                return self._end(at)
        raise AssertionError(
            f"run {self._run}: the challenge is still open after {MOST_SLOTS} slots: {self.state.record}"
        )

    def _end(self, at: int) -> ChallengeEnd:
        votes = [vote for ballot in self.state.ballots for vote in ballot.values() if vote is not None]
        answered = [one.record for one in self.blocks if one.record.answer is not None]
        assert self.state.outcome is not None
        return ChallengeEnd(
            outcome=self.state.outcome,
            open_ms=at,
            elapsed_ms=self.elapsed_ms(answered[-1]) if answered else None,
            no_votes=votes.count(Vote.NO),
            votes=len(votes),
            examinations=self.examinations,
        )

    # --- time ---------------------------------------------------------------------------------------------------------

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + delay_ms, next(self._order), action))

    def between(self, bounds: tuple[int, int]) -> int:
        return int(self.dice.integers(bounds[0], bounds[1], endpoint=True))

    def _events_until(self, at: int) -> None:
        while self._events and self._events[0][0] <= at:
            self.now, _, action = heapq.heappop(self._events)
            action()
        self.now = at

    # --- chain --------------------------------------------------------------------------------------------------------

    def submit(self, call: Callable[[int], bool], ended: Callable[[bool], None]) -> None:
        """Include a call in a block; `ended` is called with its success when that block is final."""
        self._calls.append((self.now + self.between(self.latency.inclusion), call, ended))

    def _make_block(self, at: int) -> None:
        before = self.blocks[-1]
        number = before.number + 1
        self.state.begin_block(number, before.time, before.randomness)
        due = [one for one in self._calls if one[0] <= at]
        self._calls = [one for one in self._calls if one[0] > at]
        ended = [(callback, call(at)) for _, call, callback in due]
        has_new = self.dice.random() >= self.latency.no_randomness
        randomness = hashlib.sha256(f"{self._run}/{number}".encode()).digest() if has_new else None
        block = SimulatedBlock(number, at, self.state.record, randomness)
        self.blocks.append(block)
        self.after(self.between(self.latency.notice), lambda: self.host.see(block))
        for verifier in self._verifiers.values():
            self.after(self.between(self.latency.notice), verifier.see)
        behind = self.latency.finality_blocks + int(self.dice.geometric(1 - self.latency.finality_delay)) - 1
        self.after(behind * SLOT_MS, lambda: self._finalise(number, ended))

    def _finalise(self, number: int, ended: list[tuple[Callable[[bool], None], bool]]) -> None:
        self.final = max(self.final, number)
        for callback, is_accepted in ended:
            callback(is_accepted)
        record = self.blocks[self.final].record
        for seat in record.ballot.seats:
            if seat.who not in self._verifiers:
                self._verifiers[seat.who] = self._make_verifier(self, seat.who)
        for verifier in self._verifiers.values():
            self.after(self.between(self.latency.notice), verifier.see)

    def elapsed_ms(self, record: ChallengeRecord) -> int:
        """Time from the block with the seed of the answer in `record` to that with the answer."""
        drawn = next(one for one in self.blocks if one.record.ballot.seed == record.ballot.seed)
        assert record.answer is not None
        return record.answer.at - drawn.time

    def opening_seed(self, record: ChallengeRecord) -> bytes | None:
        """The seed of the opening by the best blocks; None while too few follow the answer."""
        answer, seed = record.answer, record.ballot.seed
        assert answer is not None
        assert seed is not None
        first = next(one.number for one in self.blocks if one.record.answer == answer)
        later = [one.randomness for one in self.blocks[first + 1 :] if one.randomness is not None]
        if len(later) < OPENING_BLOCKS:
            return None
        return opening_seed(seed, answer.digest, b"".join(later[:OPENING_BLOCKS]))

    def finding(self, record: ChallengeRecord, seed_of_opening: bytes, documents: tuple[bytes, bytes]) -> Finding:
        """The product's finding about a proof. It is made once for all members that see the same documents."""
        self.examinations += 1
        key = (seed_of_opening, *documents)
        if key not in self._findings:
            elapsed_ms = self.elapsed_ms(record)
            self._findings[key] = examine_proof(record, self.plan.terms, elapsed_ms, seed_of_opening, documents)
        return self._findings[key]


class SimulatedHost:
    """The shell of an agent: carries out the steps, one at a time, and is killed once in some runs."""

    def __init__(self, run: ChallengeRun) -> None:
        self._run = run
        self._life = 0
        self._is_away = False
        self._is_busy = False
        self._is_prepared = False
        self._computed: bytes | None = None
        self._proofs: dict[bytes, Proof] = {}
        self._held: dict[bytes, HeldProof] = {}
        self._sent: set[bytes] = set()
        latency = run.latency
        if run.dice.random() < latency.host_away:
            run.after(run.between((0, latency.within)), self._killed)

    def documents(self) -> tuple[bytes, bytes] | None:
        """Commitment and opening of the answer on the chain; None if the host cannot show them now."""
        seed = self._run.state.record.ballot.seed
        held = None if seed is None or self._is_away else self._held.get(seed)
        return None if held is None or held.opening is None else (held.commitment, held.opening)

    def see(self, best: SimulatedBlock) -> None:
        """Take the next step by a best block."""
        run = self._run
        if self._is_away or self._is_busy or run.state.outcome is not None:
            return
        seed = best.record.ballot.seed
        held = None if seed is None else self._held.get(seed)
        final = run.blocks[run.final].record
        view = ChallengeView(best.record, final, held, self._computed, best.time, self._not_after(best.record))
        match next_step(view):
            case ChallengeStep.PREPARE:
                self._work(self._preparation_ms(), self._prepared)
            case ChallengeStep.COMPUTE:
                assert seed is not None
                self._work(self._preparation_ms() + run.plan.compute_ms, lambda: self._compute(seed))
            case ChallengeStep.SEND:
                assert held is not None
                self._send(held.digest, view.not_after)
            case ChallengeStep.OPEN:
                assert held is not None
                self._open(best.record, held)
            case _:
                pass

    def _not_after(self, record: ChallengeRecord) -> int:
        """As the agent has it: the seed was drawn `answer_ms` before `until`."""
        if record.phase is not ChallengePhase.ANSWERING:
            return 0
        if self._run.plan.is_patient:
            return record.until
        return record.until - self._run.state.rules.answer_ms + self._run.plan.terms.deadline_ms

    def _preparation_ms(self) -> int:
        return 0 if self._is_prepared else self._run.between(self._run.latency.prepare)

    def _work(self, duration_ms: int, done: Callable[[], None]) -> None:
        self._is_busy, life = True, self._life

        def end() -> None:
            if life == self._life:
                self._is_busy = False
                done()

        if duration_ms == 0:
            end()
            return
        self._run.after(duration_ms, end)

    def _prepared(self) -> None:
        if not self._is_prepared:
            self._is_prepared = True
            self.see(self._run.blocks[-1])

    def _compute(self, seed: bytes) -> None:
        self._is_prepared = True
        if seed not in self._held:
            proof = self._run.plan.proof(seed)
            commitment = proof.commitment()
            self._proofs[seed] = proof
            self._held[seed] = HeldProof(seed, commitment.to_bytes(), commitment.digest())
        self._computed = seed
        # The answer is sent at once, not at the next block.
        self.see(self._run.blocks[-1])

    def _send(self, digest: bytes, not_after: int) -> None:
        """Hand the answer to the outbox, which survives a restart and sends it once."""
        if digest not in self._sent:
            self._sent.add(digest)
            self._run.submit(lambda now: self._run.state.answer(digest, now, not_after), lambda _: None)

    def _open(self, best: ChallengeRecord, held: HeldProof) -> None:
        seed = self._run.opening_seed(best)
        if seed is not None:
            opening = self._proofs[held.seed].opening(seed).to_bytes()
            self._held[held.seed] = replace(held, opening=opening)

    def _killed(self) -> None:
        self._life += 1
        self._is_away, self._is_busy, self._is_prepared, self._computed = True, False, False, None
        self._run.after(self._run.between(self._run.latency.host_away_ms), self._back)

    def _back(self) -> None:
        self._is_away = False
        self.see(self._run.blocks[-1])
