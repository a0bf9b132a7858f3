"""Blocks of a challenge: where its seed was drawn, where its answer is, and the randomness that draws its openings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from offchain.adapters.chain.block_search import first_block_where
from offchain.adapters.chain.typed import TypedStorage
from offchain.errors import BadReply
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types._generated_chain import ChallengeRecord, storage
from offchain.schema.challenge.order import opening_seed

OPENING_BLOCKS: Final = 4
"""Blocks with new randomness that draw an opening: the author of one knows its own output before."""
MOST_BLOCKS: Final = 256
"""Blocks after an answer in which randomness for the opening is looked for."""


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Chain times of the blocks with the seed and with the answer, in ms, and the seed that draws the opening."""

    drawn_at: int
    answered_at: int
    opening_seed: bytes

    @property
    def elapsed_ms(self) -> int:
        return self.answered_at - self.drawn_at


class BlocksPrunedError(Exception):
    """The node has pruned the states of blocks that are needed. The message names what is missing."""


async def answer_times(port: ChainPort, number: int, record: ChallengeRecord, head: BlockRef) -> AnswerTimes | None:
    """Return the times of an answered challenge and the seed of its opening, from the blocks up to `head`.

    None while fewer than :data:`OPENING_BLOCKS` of them with new randomness follow the answer. Raises
    :class:`BlocksPrunedError`.
    """
    answer, seed = record.answer, record.ballot.seed
    if answer is None or seed is None:
        return None
    answered = await _first(port, number, record.ballot.asked_in, head.number, lambda one: one.answer == answer)
    if answered is None or answered.time != answer.at:
        raise BlocksPrunedError(f"the node no longer has the state of the block with the answer to challenge {number}")
    randomness = await _randomness_after(port, answered.block, head)
    if randomness is None:
        return None
    drawn = await _first(
        port, number, record.ballot.asked_in, answered.block.number, lambda one: one.ballot.seed == seed
    )
    if drawn is None:
        raise BlocksPrunedError(f"the node no longer has the state of the block with the seed of challenge {number}")
    return AnswerTimes(drawn.time, answered.time, opening_seed(seed, answer.digest, randomness))


@dataclass(frozen=True, slots=True)
class _Found:
    block: BlockRef
    time: int


async def _first(
    port: ChainPort, number: int, low: int, high: int, holds: Callable[[ChallengeRecord], bool]
) -> _Found | None:
    """Return the first block whose record of the challenge fulfils a condition; None if that block may be pruned."""
    chain = TypedStorage(port)

    async def check(at: bytes) -> bool:
        record = await chain.read(storage.verification_challenges, number, at=at)
        return record is not None and holds(record)

    found = await first_block_where(port, low, high, check)
    block = await port.block_ref(found)
    if not await check(block.hash) or not await _is_kept(check, (await port.block_ref(max(0, found - 1))).hash):
        return None
    return _Found(block, await chain.now_ms(block.hash))


async def _is_kept(check: Callable[[bytes], Awaitable[bool]], at: bytes) -> bool:
    try:
        await check(at)
    except BadReply as error:
        if error.code == "state_pruned":
            return False
        raise
    return True


async def _randomness_after(port: ChainPort, block: BlockRef, head: BlockRef) -> bytes | None:
    """Return the new randomness after each of the next :data:`OPENING_BLOCKS` blocks that have some."""
    last = await port.query("Babe", "AuthorVrfRandomness", (), block.hash)
    found: list[bytes] = []
    for number in range(block.number + 1, min(head.number, block.number + MOST_BLOCKS) + 1):
        at = await port.block_ref(number)
        present = await port.query("Babe", "AuthorVrfRandomness", (), at.hash)
        if present is not None and present != last:
            found.append(bytes(present))
            if len(found) == OPENING_BLOCKS:
                return b"".join(found)
        last = present
    return None
