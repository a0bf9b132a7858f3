"""Next step of a host with an open challenge. Pure.

The step follows from the chain's records and from what the agent has stored, so a restarted agent continues.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offchain.schema.chain_types._generated_chain import ChallengePhase, ChallengeRecord


class ChallengeStep(StrEnum):
    """What to do now."""

    NOTHING = "nothing"
    AWAIT_POD = "await_pod"
    PREPARE = "prepare"
    COMPUTE = "compute"
    SEND = "send"
    OPEN = "open"
    HOLD = "hold"
    SERVE = "serve"
    GIVE_UP = "give_up"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class HeldProof:
    """A stored proof for one seed. `opening`: None before it was drawn and shown."""

    seed: bytes
    commitment: bytes
    digest: bytes
    opening: bytes | None = None


@dataclass(frozen=True, slots=True)
class ChallengeView:
    """The open challenge in the best block and in the newest final one, and the agent's own state.

    `final`: None if the challenge is in no final block. `computed`: seed whose proof the program holds in memory.
    `not_after`: chain time up to which an answer is in time, by the terms of the claimed device; 0 before the seed is
    drawn. `held_by`: the lease whose running pod has the device without its tenant having asked for the challenge.
    `is_drawn_finally`: final blocks draw what the stored opening shows.
    """

    best: ChallengeRecord
    final: ChallengeRecord | None
    proof: HeldProof | None
    computed: bytes | None
    now: int
    not_after: int
    held_by: int | None = None
    is_drawn_finally: bool = False


def next_step(view: ChallengeView) -> ChallengeStep:
    """Return the next step.

    The proof is computed for the seed in the best block, so that no time is lost, and answered when that seed is final.
    An answer that would be late is not sent, and the chain refuses one in a block after `not_after`: a missed challenge
    has no consequence at first, a late answer is judged. The opening is shown as soon as the best blocks draw it.
    Until the answer, a pod that still has the device is left alone: the program starts when it is gone.
    """
    best = view.best
    seed = best.ballot.seed
    if best.answer is not None:
        return _after_answer(view, best.answer.digest)
    if best.phase is ChallengePhase.WAITING or seed is None:
        return ChallengeStep.PREPARE if view.held_by is None else ChallengeStep.AWAIT_POD
    if best.phase is not ChallengePhase.ANSWERING:
        return ChallengeStep.NOTHING
    # The next block, which could have the answer, is later than the best one.
    if view.now >= min(view.not_after, best.until):
        return ChallengeStep.GIVE_UP
    if view.proof is None or view.proof.seed != seed:
        return ChallengeStep.COMPUTE if view.held_by is None else ChallengeStep.AWAIT_POD
    is_final = view.final is not None and view.final.ballot.seed == seed
    return ChallengeStep.SEND if is_final else ChallengeStep.NOTHING


def _after_answer(view: ChallengeView, digest: bytes) -> ChallengeStep:
    proof = view.proof
    if proof is None or proof.digest != digest:
        return ChallengeStep.LOST
    if proof.opening is not None:
        # Shown at once; until it is final, the program stays to open what other blocks may draw.
        return ChallengeStep.SERVE if view.is_drawn_finally else ChallengeStep.HOLD
    return ChallengeStep.OPEN if view.computed == proof.seed else ChallengeStep.COMPUTE
