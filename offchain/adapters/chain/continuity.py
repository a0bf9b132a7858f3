"""Whether a chain node still has the block up to which a database was brought: the same chain, or one started anew.

A node with the same genesis block whose database was removed is recognised by a final block with another hash at the
same height. A node that has not reached that height proves nothing: it may be syncing, or lag behind another one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from offchain.errors import BadReply, ChainBehind, Reorganised
from offchain.ports import BlockRef, ChainPort


async def require_continued(chain: ChainPort, last: BlockRef | None, kept_in: str) -> None:
    """Raise Reorganised where another final block is in the place of `last`, ChainBehind where there is none yet.

    `kept_in`: the database with `last`, for the message. A node that does not keep that block is trusted.
    """
    if last is None:
        return
    head = await chain.finalized_head()
    if head.number < last.number:
        raise ChainBehind(head.number, last.number, kept_in)
    try:
        found = await chain.block_ref(last.number)
    except LookupError:
        return
    if found.hash != last.hash:
        raise Reorganised(found, last, kept_in)


@asynccontextmanager
async def continued(chain: ChainPort, last: Callable[[], BlockRef | None], kept_in: str) -> AsyncIterator[None]:
    """Run the block on the chain with `last` only, and raise as `require_continued` does, also while it runs.

    On a chain that was started anew a node does not know the blocks that it is asked about. Such an error says nothing
    of its cause, so it is replaced by the one that does.
    """
    await require_continued(chain, last(), kept_in)
    try:
        yield
    except Exception as error:
        if _is_of_unknown_block(error):
            await require_continued(chain, last(), kept_in)
        raise


def _is_of_unknown_block(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(_is_of_unknown_block(part) for part in error.exceptions)
    return isinstance(error, (BadReply, LookupError)) and getattr(error, "code", "") != "state_pruned"
