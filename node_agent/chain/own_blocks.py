"""Final blocks as they concern one host: a block is read completely only if a record of the host has changed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Any

from offchain.adapters.chain.chain_identity import require_continued
from offchain.adapters.chain.watcher import block_range, final_heads
from offchain.ports import Block, BlockRef, ChainPort, StorageKey
from offchain.schema.chain_types.ids import task_key


class OwnBlocks:
    """Reads the final blocks for one host.

    Between two final heads the host is concerned only if one of these has changed: its account (every extrinsic that it
    signs raises the nonce), its record, its list of leases, the number of times that it was named as a standby, or a
    task whose record it needs. `tasks` returns those tasks. If nothing has changed, the newest block is yielded with
    its time, and without events and extrinsics. `kept_in` is the database that belongs to the chain, for messages.
    """

    def __init__(self, port: ChainPort, host: str, tasks: Callable[[], Iterable[int]], kept_in: str) -> None:
        self._port = port
        self._host = host
        self._tasks = tasks
        self._kept_in = kept_in
        self._last: BlockRef | None = None
        self._values: dict[StorageKey, Any] = {}

    async def blocks(self) -> AsyncGenerator[Block, None]:
        """Yield the newest final block completely, then those after it; continue there when called again.

        Raises Reorganised or ChainBehind if the node serves another chain, or less of it.
        """
        async with aclosing(final_heads(self._port)) as heads:
            async for head in heads:
                await require_continued(self._port, self._last, self._kept_in, head)
                if self._last is not None and head.number == self._last.number:
                    continue
                async with aclosing(self._blocks_to(head)) as blocks:
                    async for block in blocks:
                        yield block

    async def _blocks_to(self, head: BlockRef) -> AsyncGenerator[Block, None]:
        keys = self._keys()
        found = await self._port.block_values(keys, head.hash)
        values = dict(zip(keys, found.values, strict=True))
        if self._last is not None and not self._has_changed(values):
            yield Block(head, b"", found.timestamp_ms, (), ())
        else:
            first = head.number if self._last is None else self._last.number + 1
            async with aclosing(block_range(self._port, first, head.number, self._kept_in)) as blocks:
                async for block in blocks:
                    yield block
                    self._last = block.ref
        self._last, self._values = head, values

    def _has_changed(self, values: dict[StorageKey, Any]) -> bool:
        return any(key not in self._values or self._values[key] != value for key, value in values.items())

    def _keys(self) -> list[StorageKey]:
        host = (self._host,)
        return [
            ("System", "Account", host),
            ("Hosts", "Hosts", host),
            ("Hosts", "StandbyNamings", host),
            ("Leases", "ByHost", host),
            *(("Tasks", "Tasks", (task_key(task),)) for task in sorted(set(self._tasks()))),
        ]
