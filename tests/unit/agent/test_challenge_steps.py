"""Next step of a host with an open challenge, in each phase and after a restart in it."""

import hashlib
from dataclasses import replace

import pytest

from node_agent.core.challenges import ChallengeStep, ChallengeView, HeldProof, next_step
from offchain.schema.chain_types._generated_chain import ChallengeAnswer, ChallengePhase
from tests.support.challenge_records import SEED, challenge

COMMITMENT = b"{}"
DIGEST = hashlib.sha256(COMMITMENT).digest()
PROOF = HeldProof(SEED, COMMITMENT, DIGEST)
OPENED = replace(PROOF, opening=b"{}")
ASKED = challenge(ChallengePhase.ANSWERING, answer=None)
ANSWERED = challenge(ChallengePhase.COMMITTING, answer=ChallengeAnswer(DIGEST, 1))
WAITING = challenge(ChallengePhase.WAITING, answer=None)
WAITING = replace(WAITING, ballot=replace(WAITING.ballot, seed=None))
OTHER_SEED = replace(ASKED, ballot=replace(ASKED.ballot, seed=bytes(32)))
VIEW = ChallengeView(ASKED, ASKED, None, None, now=101_000, not_after=150_000)


@pytest.mark.parametrize(
    ("view", "step"),
    [
        (replace(VIEW, best=WAITING), ChallengeStep.PREPARE),
        (replace(VIEW, best=WAITING, held_by=7), ChallengeStep.AWAIT_POD),
        (VIEW, ChallengeStep.COMPUTE),
        (replace(VIEW, held_by=7), ChallengeStep.AWAIT_POD),
        (replace(VIEW, held_by=7, now=150_000), ChallengeStep.GIVE_UP),
        (replace(VIEW, held_by=7, proof=PROOF), ChallengeStep.SEND),
        (replace(VIEW, best=ANSWERED, final=ANSWERED, proof=PROOF, held_by=7), ChallengeStep.COMPUTE),
        (replace(VIEW, final=None), ChallengeStep.COMPUTE),
        (replace(VIEW, proof=PROOF, final=None), ChallengeStep.NOTHING),
        (replace(VIEW, proof=PROOF, final=OTHER_SEED), ChallengeStep.NOTHING),
        (replace(VIEW, proof=PROOF), ChallengeStep.SEND),
        (replace(VIEW, proof=PROOF, now=149_999), ChallengeStep.SEND),
        (replace(VIEW, proof=PROOF, now=150_000), ChallengeStep.GIVE_UP),
        (replace(VIEW, best=ANSWERED, proof=PROOF, computed=SEED), ChallengeStep.OPEN),
        (replace(VIEW, best=ANSWERED, final=ANSWERED, proof=PROOF, computed=SEED), ChallengeStep.OPEN),
        (replace(VIEW, best=ANSWERED, final=ANSWERED, proof=PROOF), ChallengeStep.COMPUTE),
        (replace(VIEW, best=ANSWERED, proof=OPENED), ChallengeStep.HOLD),
        (replace(VIEW, best=ANSWERED, proof=OPENED, is_drawn_finally=True), ChallengeStep.SERVE),
        (replace(VIEW, best=ANSWERED, proof=None), ChallengeStep.LOST),
        (replace(VIEW, best=ANSWERED, proof=replace(PROOF, digest=bytes(32))), ChallengeStep.LOST),
    ],
)
def test_the_step_follows_from_the_chain_and_the_stored_proof(view: ChallengeView, step: ChallengeStep) -> None:
    assert next_step(view) is step
