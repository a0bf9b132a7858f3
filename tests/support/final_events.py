"""Events of final blocks, for programs that wait for them one after the other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from offchain.adapters.chain.watcher import blocks_after
from offchain.ports import Block, BlockRef, ChainEvent, ChainPort


@dataclass
class FinalEvents:
    """The events since this was opened. `patience_s`: how long to wait for one."""

    blocks: AsyncIterator[tuple[Block, BlockRef]]
    patience_s: float
    seen: list[tuple[int, ChainEvent]] = field(default_factory=list)
    """Time of the block in ms, and event."""

    async def timed(self, name: str, *, earlier: int = 0, **fields: Any) -> tuple[int, ChainEvent]:
        """Return time and event of the first event with this name and these fields, after so many `earlier` ones."""
        async with asyncio.timeout(self.patience_s):
            while True:
                found = [one for one in self.seen if one[1].name == name and fields.items() <= one[1].fields.items()]
                if len(found) > earlier:
                    return found[earlier]
                block, _ = await anext(self.blocks)
                self.seen += [(block.timestamp_ms, event) for event in block.events]

    async def until(self, name: str, *, earlier: int = 0, **fields: Any) -> ChainEvent:
        """Return the first event with this name and these fields, after so many `earlier` ones."""
        return (await self.timed(name, earlier=earlier, **fields))[1]

    def all(self, name: str, **fields: Any) -> list[ChainEvent]:
        """Return the events so far with this name and these fields."""
        return [event for _, event in self.seen if event.name == name and fields.items() <= event.fields.items()]


@contextlib.asynccontextmanager
async def final_events(chain: ChainPort, patience_s: float) -> AsyncIterator[FinalEvents]:
    """Follow the final blocks of a chain from now on."""
    head = await chain.finalized_head()
    async with contextlib.aclosing(blocks_after(chain, head, "finalized")) as blocks:
        yield FinalEvents(blocks, patience_s)
