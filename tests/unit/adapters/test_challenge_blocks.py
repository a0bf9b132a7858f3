"""Blocks of a challenge on the fake chain: seed, answer, and the randomness of the opening."""

from dataclasses import replace

from offchain.adapters.chain.challenge_blocks import AnswerTimes, answer_times
from offchain.ports import BlockRef
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.challenge.order import opening_seed
from tests.support.challenge_records import SEED, challenge
from tests.support.fake_chain import FakeChain

NUMBER = 7
DIGEST = bytes([2] * 32)
WAITING = challenge(gen.ChallengePhase.WAITING, answer=None)
WAITING = replace(WAITING, ballot=replace(WAITING.ballot, asked_in=1, seed=None))
ASKED = replace(WAITING, phase=gen.ChallengePhase.ANSWERING, ballot=replace(WAITING.ballot, seed=SEED))
ANSWERED = replace(ASKED, phase=gen.ChallengePhase.COMMITTING, answer=gen.ChallengeAnswer(DIGEST, 8_000))
HISTORY = (
    (1, WAITING),
    (2, ASKED),
    (3, ASKED),
    (4, ANSWERED),
    (4, ANSWERED),
    (6, ANSWERED),
    (7, ANSWERED),
    (8, ANSWERED),
)
"""Randomness after each block from 1 on, and its record. Block 5 has no randomness of its own."""


async def add(chain: FakeChain, randomness: int, record: gen.ChallengeRecord) -> BlockRef:
    number = (await chain.best_head()).number + 1
    chain.storage["Babe", "AuthorVrfRandomness"][()] = bytes([randomness] * 32)
    chain.storage["Timestamp", "Now"][()] = 2_000 * number
    chain.storage["Verification", "Challenges"][NUMBER,] = record.encode()
    return (await chain.produce()).ref


async def test_the_opening_is_drawn_by_four_later_blocks_with_randomness_of_their_own() -> None:
    chain = FakeChain()
    for randomness, record in HISTORY:
        head = await add(chain, randomness, record)
        assert await answer_times(chain, NUMBER, record, head) is None
    head = await add(chain, 9, ANSWERED)
    drawn = b"".join(bytes([number] * 32) for number in (6, 7, 8, 9))
    expected = AnswerTimes(4_000, 8_000, opening_seed(SEED, DIGEST, drawn))
    assert await answer_times(chain, NUMBER, ANSWERED, head) == expected
    assert expected.elapsed_ms == 4_000
    revealing = replace(ANSWERED, phase=gen.ChallengePhase.REVEALING)
    later = await add(chain, 10, revealing)
    assert await answer_times(chain, NUMBER, revealing, later) == expected, "later blocks change nothing"
