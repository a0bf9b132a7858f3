"""The indexer's shell: blocks come from the chain and go into the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from offchain.adapters.chain.chain_identity import continued
from offchain.adapters.chain.watcher import blocks_after
from offchain.errors import ChainBehind, Reorganised, TheirError, WrongChain
from offchain.indexer.index import Index
from offchain.ports import Block, ChainPort

_MOST_EVENTS = 10_000
_MOST_BLOCKS = 256


async def follow(chain: ChainPort, index: Index, told: Callable[[Block], None] = lambda _: None) -> None:
    """Put every final block into the index, for ever. `told` hears of the last block of each write.

    While it is behind, blocks are written many at a time; at the head each as it comes. What comes is read while what
    came is written. Ends with the error of the chain or of the index; after that it may be called again. While the
    node does not have the last block of the index, or has another one in its place, readers of the index are refused.
    """
    try:
        async with continued(chain, lambda: index.cursor, index.name):
            await asyncio.to_thread(index.resume)
            waiting: asyncio.Queue[tuple[Block, bool]] = asyncio.Queue(_MOST_BLOCKS)
            async with asyncio.TaskGroup() as group:
                group.create_task(_read(chain, index, waiting))
                group.create_task(_write(index, waiting, told))
    except (TheirError, BaseExceptionGroup) as error:
        if (reason := _other_chain(error)) is not None:
            await asyncio.to_thread(index.halt, str(reason))
        raise


def _other_chain(error: BaseException) -> TheirError | None:
    """The error in `error` that says that the node does not serve what is in the index."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for part in error.exceptions if (found := _other_chain(part))), None)
    return error if isinstance(error, (ChainBehind, Reorganised, WrongChain)) else None


async def _read(chain: ChainPort, index: Index, waiting: asyncio.Queue[tuple[Block, bool]]) -> None:
    async with aclosing(blocks_after(chain, index.cursor, 0, index.name)) as blocks:
        async for block, head in blocks:
            await waiting.put((block, block.ref.number < head.number))


async def _write(index: Index, waiting: asyncio.Queue[tuple[Block, bool]], told: Callable[[Block], None]) -> None:
    while True:
        block, more_to_come = await waiting.get()
        blocks, events = [block], len(block.events)
        # More is waited for only where it is on its way: a block at the head is written at once.
        while (not waiting.empty() or more_to_come) and events < _MOST_EVENTS and len(blocks) < _MOST_BLOCKS:
            block, more_to_come = await waiting.get()
            blocks.append(block)
            events += len(block.events)
        await _to_the_end(blocks, index)
        told(block)


async def _to_the_end(blocks: list[Block], index: Index) -> None:
    """Write in a thread. Cancelled, it waits for the thread: two at once may not use the database."""
    writing = asyncio.ensure_future(asyncio.to_thread(index.add, blocks))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        if not writing.cancelled():
            writing.exception()
        raise
