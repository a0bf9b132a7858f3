"""Finding and reading the finalized blocks that a story is told from."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable

from offchain.errors import BadReply
from offchain.ports import Block, ChainPort

_FETCHED_AHEAD = 16
_TELL_EVERY = 1_000


async def first_where(chain: ChainPort, low: int, high: int, holds: Callable[[bytes], Awaitable[bool]]) -> int:
    """The first block from `low` to `high` in whose state something holds that holds in all later ones, too.

    It must hold at `high`. Blocks whose state the node no longer keeps count as those in which it does not hold.
    """
    while low < high:
        middle = (low + high) // 2
        if await _holds(chain, middle, holds):
            high = middle
        else:
            low = middle + 1
    return high


async def _holds(chain: ChainPort, number: int, holds: Callable[[bytes], Awaitable[bool]]) -> bool:
    try:
        return await holds((await chain.block_ref(number)).hash)
    except BadReply as error:
        if error.code == "state_pruned":
            return False
        raise


async def blocks(
    chain: ChainPort, first: int, last: int, tell: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[Block, None]:
    """These final blocks in order, the next ones already on their way. `tell` hears of progress."""
    ahead: deque[asyncio.Task[Block]] = deque()
    upcoming = first
    try:
        while upcoming <= last or ahead:
            while upcoming <= last and len(ahead) < _FETCHED_AHEAD:
                ahead.append(asyncio.create_task(_fetch(chain, upcoming)))
                upcoming += 1
            block = await ahead.popleft()
            if (block.ref.number - first + 1) % _TELL_EVERY == 0:
                tell(f"Read block {block.ref.number}; the last is {last}.")
            yield block
    finally:
        for task in ahead:
            task.cancel()
        await asyncio.gather(*ahead, return_exceptions=True)


async def _fetch(chain: ChainPort, number: int) -> Block:
    return await chain.block(number)
