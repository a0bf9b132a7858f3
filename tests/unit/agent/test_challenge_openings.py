"""Openings that a host shows by the best blocks, compared with final blocks."""

from dataclasses import replace

from node_agent.chain.challenge_openings import DrawnOpenings
from node_agent.core.challenges import HeldProof
from offchain.ports import BlockRef
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.challenge.order import opening_seed
from tests.support.challenge_records import SEED, challenge
from tests.support.challenge_samples import honest
from tests.support.challenge_simulation import SMALL_WORK
from tests.support.fake_chain import FakeChain

NUMBER = 7
PROOF = honest(SMALL_WORK, SEED)
DIGEST = PROOF.commitment().digest()
ASKED = challenge(gen.ChallengePhase.ANSWERING, answer=None)
ASKED = replace(ASKED, ballot=replace(ASKED.ballot, asked_in=1))
ANSWERED = replace(ASKED, phase=gen.ChallengePhase.COMMITTING, answer=gen.ChallengeAnswer(DIGEST, 4_000))


def shown_by(opening_by: bytes) -> HeldProof:
    opening = PROOF.opening(opening_by).to_bytes()
    return HeldProof(SEED, PROOF.commitment().to_bytes(), DIGEST, opening)


async def drawn(chain: FakeChain, blocks: int) -> BlockRef:
    """Make blocks until `blocks` with randomness follow the answer, which is in block 2; return the last."""
    head = await chain.best_head()
    for number in range(head.number + 1, 3 + blocks):
        record = ASKED if number == 1 else ANSWERED
        chain.storage["Babe", "AuthorVrfRandomness"][()] = bytes([number] * 32)
        chain.storage["Timestamp", "Now"][()] = 2_000 * number
        chain.storage["Verification", "Challenges"][NUMBER,] = record.encode()
        head = (await chain.produce()).ref
    return head


async def test_an_opening_is_final_when_final_blocks_draw_it_and_is_replaced_when_they_draw_another() -> None:
    chain = FakeChain()
    right = opening_seed(SEED, DIGEST, b"".join(bytes([number] * 32) for number in (3, 4, 5, 6)))
    openings = DrawnOpenings(chain)
    early = await drawn(chain, 3)
    assert await openings.are_final(NUMBER, ANSWERED, SMALL_WORK, early, shown_by(right)) is None
    head = await drawn(chain, 4)
    assert await openings.are_final(NUMBER, ANSWERED, SMALL_WORK, head, shown_by(bytes(32))) is False
    assert await openings.are_final(NUMBER, ANSWERED, SMALL_WORK, head, shown_by(right)) is True
    assert await openings.are_final(NUMBER, ANSWERED, SMALL_WORK, head, None) is None
    assert await openings.are_final(NUMBER, None, SMALL_WORK, head, shown_by(right)) is None


async def test_a_node_without_the_states_of_those_blocks_is_taken_to_agree() -> None:
    chain = FakeChain()
    head = await drawn(chain, 6)
    chain.pruned_before = head.number
    assert await DrawnOpenings(chain).are_final(NUMBER, ANSWERED, SMALL_WORK, head, shown_by(bytes(32))) is True
