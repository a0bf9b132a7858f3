"""Search for the first block whose state fulfils a condition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from offchain.errors import BadReply
from offchain.ports import ChainPort


async def first_block_where(chain: ChainPort, low: int, high: int, holds: Callable[[bytes], Awaitable[bool]]) -> int:
    """Return the first block from `low` to `high` whose state fulfils a condition that then stays fulfilled.

    The condition must hold at `high`. Blocks whose state the node has pruned count as not fulfilling it.
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
