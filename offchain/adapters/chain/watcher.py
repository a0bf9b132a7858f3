"""Reader of every finalized block, once and in order, from a stored cursor."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Literal

from offchain.adapters.outbox.store import Store
from offchain.errors import ChainBehind, Reorganised
from offchain.ports import Block, BlockRef, ChainPort

Handler = Callable[[Block], Awaitable[None]]

_TABLES = ["CREATE TABLE cursors (name TEXT PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL) STRICT"]
_FETCHED_AHEAD = 8


class Watcher:
    """Passes each finalized block to a handler; the cursor moves only after the block has been handled.

    After a crash the last block may be passed again.
    `start`: the first block of the first run, "finalized" for the newest final one. `kept_in`: the database that
    belongs to the chain, for messages, where `store` is another.
    """

    def __init__(
        self,
        chain: ChainPort,
        store: Store,
        name: str,
        start: Literal["finalized"] | int = 0,
        *,
        kept_in: str | None = None,
    ) -> None:
        self._chain = chain
        self._store = store
        self._name = name
        self._start = start
        self.kept_in = kept_in or store.path
        store.migrate("watcher", _TABLES)

    @property
    def cursor(self) -> BlockRef | None:
        """The last handled block."""
        row = self._store.one("SELECT number, hash FROM cursors WHERE name = ?", self._name)
        return None if row is None else BlockRef(row["number"], row["hash"])

    async def acknowledge(self, block: Block) -> None:
        """Move the cursor past a block."""
        move = "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?)"
        await self._store.write(lambda: self._store.writer.run(move, self._name, block.ref.number, block.ref.hash))

    async def run(self, handle: Handler) -> None:
        """Handle every block, for ever. Raises the error of the chain or of the handler."""
        async with aclosing(self.blocks()) as blocks:
            async for block in blocks:
                await handle(block)
                await self.acknowledge(block)

    async def blocks(self) -> AsyncGenerator[Block, None]:
        """Yield every block after the cursor. The caller acknowledges each one before the next."""
        async with aclosing(blocks_after(self._chain, self.cursor, self._start, self.kept_in)) as blocks:
            async for block, _ in blocks:
                yield block


async def blocks_after(
    chain: ChainPort, last: BlockRef | None, start: Literal["finalized"] | int, kept_in: str = ""
) -> AsyncGenerator[tuple[Block, BlockRef], None]:
    """Yield every final block after `last`, in order, each with the newest final block known then.

    `start`: the first block where `last` is None. `kept_in`: the database that `last` is stored in, for messages.
    Raises Reorganised where a block does not follow the one before, ChainBehind where the node has fewer final blocks.
    """
    upcoming = last.number + 1 if last is not None else start
    async with aclosing(final_heads(chain)) as heads:
        async for head in heads:
            if upcoming == "finalized":
                upcoming = head.number
            if last is not None and head.number < last.number:
                raise ChainBehind(head.number, last.number, kept_in)
            if last is not None and head.number == last.number and head.hash != last.hash:
                raise Reorganised(head, last, kept_in)
            if head.number < upcoming:
                continue
            async with aclosing(block_range(chain, upcoming, head.number, kept_in)) as gap:
                async for block in gap:
                    if last is not None and block.parent_hash != last.hash:
                        raise Reorganised(block.ref, last, kept_in)
                    yield block, head
                    last, upcoming = block.ref, block.ref.number + 1


async def final_heads(chain: ChainPort) -> AsyncGenerator[BlockRef, None]:
    """Yield final heads, the present one first, so that blocks of a chain without new ones are read, too."""
    yield await chain.finalized_head()
    async with aclosing(chain.finalized()) as heads:
        async for head in heads:
            yield head


async def block_range(chain: ChainPort, first: int, last: int, kept_in: str) -> AsyncGenerator[Block, None]:
    """Yield final blocks in order, and fetch the next few in advance."""
    numbers = iter(range(first, last + 1))
    pending: deque[asyncio.Task[Block]] = deque()
    try:
        while True:
            while len(pending) < _FETCHED_AHEAD and (number := next(numbers, None)) is not None:
                pending.append(asyncio.ensure_future(_fetch(chain, number, kept_in)))
            if not pending:
                return
            yield await pending.popleft()
    finally:
        await _drop(pending)


async def _fetch(chain: ChainPort, number: int, kept_in: str) -> Block:
    try:
        return await chain.block(number)
    except LookupError:  # it was final a moment ago: another node answers now, or the same one without its database
        raise ChainBehind((await chain.finalized_head()).number, number, kept_in) from None


async def _drop(tasks: deque[Any]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task
