"""The indexer's loop: reads final blocks from the chain and writes them into the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import ParamSpec, TypeVar

from offchain.adapters.chain.chain_identity import continued
from offchain.adapters.chain.watcher import blocks_after
from offchain.errors import ChainBehind, Reorganised, TheirError, WrongChain
from offchain.indexer.host_states import HostsRead, read_hosts
from offchain.indexer.status import IndexStatus
from offchain.indexer.writer import IndexWriter, TakenBlocks
from offchain.ports import Block, ChainPort

P = ParamSpec("P")
T = TypeVar("T")
OnWritten = Callable[[Block], None]
OnRederived = Callable[[IndexStatus], None]
_MOST_EVENTS = 10_000
_LEAST_PRUNED_EVENTS = 2_000
_READERS_S = 5.0
"""Pause of a rederivation that waits for readers."""
_MOST_BLOCKS = 256


async def follow(
    chain: ChainPort,
    index: IndexWriter,
    on_written: OnWritten = lambda _: None,
    on_rederived: OnRederived = lambda _: None,
) -> None:
    """Write every final block into the index until an error of the chain or the index; then it may be called again.

    Behind the head, many blocks are written at once; at the head, each as it arrives. Blocks are read while others are
    written. At the head, hosts that changed are read from the storage of the block, and written with it.
    `on_written` is called with the last block of each write. After each write, events that need not be kept are
    removed. Steps of a rederivation alternate with writes; `on_rederived` is called with the state after each.

    While the node does not have the last block of the index, or has another one in its place, readers of the index are
    refused.
    """
    try:
        async with continued(chain, lambda: index.cursor, index.name):
            await asyncio.to_thread(index.resume)
            queue: asyncio.Queue[tuple[Block, bool]] = asyncio.Queue(_MOST_BLOCKS)
            turn = asyncio.Lock()
            async with asyncio.TaskGroup() as group:
                group.create_task(_read(chain, index, queue))
                group.create_task(_write(chain, index, queue, turn, on_written))
                group.create_task(_rederive(index, turn, on_rederived))
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


async def _write(
    chain: ChainPort,
    index: IndexWriter,
    queue: asyncio.Queue[tuple[Block, bool]],
    turn: asyncio.Lock,
    on_written: OnWritten,
) -> None:
    while True:
        block, more_to_come = await queue.get()
        blocks, events = [block], len(block.events)
        # Waits only for blocks that exist already: a block at the head is written at once.
        while (not queue.empty() or more_to_come) and events < _MOST_EVENTS and len(blocks) < _MOST_BLOCKS:
            block, more_to_come = await queue.get()
            blocks.append(block)
            events += len(block.events)
        async with turn:
            taken = await _uninterrupted(index.take, blocks)
            read = None if more_to_come or not queue.empty() else await _read_hosts(chain, index, taken)
            await _uninterrupted(index.write, taken, read)
        on_written(block)
        async with turn:
            # More than was added, so that what is too old becomes less.
            await _uninterrupted(index.prune, max(_LEAST_PRUNED_EVENTS, 2 * events))


async def _read_hosts(chain: ChainPort, index: IndexWriter, taken: TakenBlocks) -> HostsRead | None:
    """Read hosts from the storage of the last block; None if none has to be read."""
    hosts = await _uninterrupted(index.hosts_to_read, taken)
    return await read_hosts(chain, hosts, taken.refs[-1]) if hosts else None


async def _rederive(index: IndexWriter, turn: asyncio.Lock, on_rederived: OnRederived) -> None:
    while index.is_rederiving:
        async with turn:
            progressed = await _uninterrupted(index.rederive)
            status = await _uninterrupted(index.status)
        on_rederived(status)
        if not progressed:
            await asyncio.sleep(_READERS_S)


async def _uninterrupted(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call the function in a thread. If cancelled, wait for the thread: only one may use the database."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *arguments, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()
        raise
