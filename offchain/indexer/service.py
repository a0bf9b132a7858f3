"""The indexer's loop: reads final blocks from the chain and writes them into the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from offchain.adapters.chain.chain_identity import continued
from offchain.adapters.chain.watcher import blocks_after
from offchain.errors import ChainBehind, Reorganised, TheirError, WrongChain
from offchain.indexer.writer import IndexWriter
from offchain.ports import Block, ChainPort

OnWritten = Callable[[Block], None]
_MOST_EVENTS = 10_000
_MOST_BLOCKS = 256


async def follow(chain: ChainPort, index: IndexWriter, on_written: OnWritten = lambda _: None) -> None:
    """Write every final block into the index until an error of the chain or the index; then it may be called again.

    Behind the head, many blocks are written at once; at the head, each as it arrives. Blocks are read while others are
    written. `on_written` is called with the last block of each write. While the node does not have the last block of
    the index, or has another one in its place, readers of the index are refused.
    """
    try:
        async with continued(chain, lambda: index.cursor, index.name):
            await asyncio.to_thread(index.resume)
            queue: asyncio.Queue[tuple[Block, bool]] = asyncio.Queue(_MOST_BLOCKS)
            async with asyncio.TaskGroup() as group:
                group.create_task(_read(chain, index, queue))
                group.create_task(_write(index, queue, on_written))
    except (TheirError, BaseExceptionGroup) as error:
        if (reason := _other_chain(error)) is not None:
            await asyncio.to_thread(index.halt, str(reason))
        raise


def _other_chain(error: BaseException) -> TheirError | None:
    """Return the error which says that the node does not serve the chain of the index, if it is one."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for part in error.exceptions if (found := _other_chain(part))), None)
    return error if isinstance(error, (ChainBehind, Reorganised, WrongChain)) else None


async def _read(chain: ChainPort, index: IndexWriter, queue: asyncio.Queue[tuple[Block, bool]]) -> None:
    async with aclosing(blocks_after(chain, index.cursor, 0, index.name)) as blocks:
        async for block, head in blocks:
            await queue.put((block, block.ref.number < head.number))


async def _write(index: IndexWriter, queue: asyncio.Queue[tuple[Block, bool]], on_written: OnWritten) -> None:
    while True:
        block, more_to_come = await queue.get()
        blocks, events = [block], len(block.events)
        # Waits only for blocks that exist already: a block at the head is written at once.
        while (not queue.empty() or more_to_come) and events < _MOST_EVENTS and len(blocks) < _MOST_BLOCKS:
            block, more_to_come = await queue.get()
            blocks.append(block)
            events += len(block.events)
        await _write_uninterrupted(blocks, index)
        on_written(block)


async def _write_uninterrupted(blocks: list[Block], index: IndexWriter) -> None:
    """Write in a thread. If cancelled, wait for the thread: only one may use the database."""
    writing = asyncio.ensure_future(asyncio.to_thread(index.add, blocks))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        if not writing.cancelled():
            writing.exception()
        raise
