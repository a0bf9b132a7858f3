"""Followers of real agents in one process, for scripts/bench followers.

Arguments: the node's address, the URI of the host's key, their number, and `own` or `whole`. Prints one line of JSON
when all follow, and another one when a line arrives on standard input: blocks handled, bytes moved, processor time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from node_agent.chain.clock import ChainClock, ChainSilence
from node_agent.chain.follower import ChainFollower
from offchain.adapters.chain import rpc
from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.clock import unix_ms
from offchain.ports import Block, Signer


class Totals:
    """What all followers have done."""

    blocks = 0
    bytes = 0


class CountingSocket:
    """A WebSocket whose messages are counted."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.transport = socket.transport

    async def send(self, text: str) -> None:
        Totals.bytes += len(text)
        await self._socket.send(text)

    async def __aiter__(self) -> AsyncIterator[str]:
        async for text in self._socket:
            Totals.bytes += len(text)
            yield text

    async def close(self) -> None:
        await self._socket.close()


class WholeBlocks:
    """Every final block, read completely."""

    def __init__(self, chain: SubstrateChain) -> None:
        self._watcher = Watcher(chain, Store(":memory:"), "whole", start="finalized")

    async def blocks(self) -> AsyncGenerator[Block, None]:
        """Yield the blocks from the newest one on."""
        async for block in self._watcher.blocks():
            yield block
            await self._watcher.acknowledge(block)


def count_bytes() -> None:
    """Count the bytes of all connections that are opened from now on."""
    plain = rpc._Connection.__init__

    def counted(self: Any, socket: Any) -> None:
        plain(self, CountingSocket(socket))

    rpc._Connection.__init__ = counted  # type: ignore[method-assign]


def follower(chain: SubstrateChain, key: Signer, kind: str) -> ChainFollower:
    """The follower of one agent without pods."""
    store = Store(":memory:")

    async def count(_block: Block) -> None:
        Totals.blocks += 1

    made = ChainFollower(
        chain,
        GantryChain(chain),
        key.address,
        ChainClock(unix_ms),
        ChainSilence(),
        Outbox(chain, store, key, now_ms=unix_ms),
        store,
        on_block=count,
        held=dict,
        tasks=tuple,
        emit=lambda _event: None,
        on_events=lambda _events: None,
    )
    if kind == "whole":
        made._blocks = WholeBlocks(chain)  # type: ignore[assignment]
    return made


def tell() -> None:
    """Print the totals."""
    facts = {"blocks": Totals.blocks, "bytes": Totals.bytes, "cpu_s": time.process_time()}
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def main(url: str, uri: str, count: int, kind: str) -> None:
    count_bytes()
    key = from_uri(uri, "ed25519")
    first = SubstrateChain(url, timeout=300)
    await first.connect()
    running = []
    for _ in range(count):
        chain = SubstrateChain(url, timeout=300)
        chain._runtimes = first._runtimes  # the metadata is parsed once
        await chain.connect()
        one = follower(chain, key, kind)
        running += [asyncio.create_task(one.follow_final()), asyncio.create_task(one.follow_best())]
    while Totals.blocks < 2 * count:  # each has begun
        await asyncio.sleep(0.1)
        if ended := [task for task in running if task.done()]:
            ended[0].result()
    tell()
    await asyncio.to_thread(sys.stdin.readline)
    tell()
    for task in running:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
