"""Run the indexer until it is stopped, for `gantry worker indexer`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable

from offchain.indexer.database import open_index
from offchain.indexer.service import follow
from offchain.indexer.writer import IndexWriter
from offchain.ports import Block, ChainPort
from offchain.services import log
from offchain.services.runner import run_until_stopped

_SAY_EVERY_S = 10.0


async def run_indexer(url: str, address: str, expected_genesis: bytes | None) -> None:
    """Keep the index at this address (see :func:`open_index`) up to date until SIGTERM or SIGINT.

    Raises GantryError if it cannot start: no node at `url`, another chain, an index that cannot be used. Waits for a
    node or a database that becomes unavailable later.
    """
    from offchain.adapters.chain.client import SubstrateChain  # noqa: PLC0415  (tests bring a chain of their own)

    log.set_up()
    chain = SubstrateChain(url, expected_genesis=expected_genesis)
    try:
        await chain.connect()
        await serve_index(chain, address)
    finally:
        await chain.close()


async def serve_index(chain: ChainPort, address: str) -> None:
    """Keep the index up to date from a connected chain."""
    out = log.EventLog("indexer")
    with contextlib.closing(open_index(address, create=True)) as db:
        index = IndexWriter(db)
        # In a thread: after an upgrade it may take minutes, and signals are to be heard meanwhile.
        await asyncio.to_thread(index.prepare, await chain.genesis_hash(), _now_and_then(out))
        after = None if index.cursor is None else index.cursor.number
        out.info("started", index=db.name, after=after, pid=os.getpid())
        await run_until_stopped(lambda: follow(chain, index, _progress(out)), out)


def _now_and_then(out: log.EventLog) -> Callable[[str], None]:
    last = time.monotonic()

    def say(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _SAY_EVERY_S:
            last = time.monotonic()
            out.info("deriving", done=text)

    return say


def _progress(out: log.EventLog) -> Callable[[Block], None]:
    """Return a callback that logs progress from time to time."""
    last = float("-inf")

    def told(block: Block) -> None:
        nonlocal last
        if time.monotonic() - last >= _SAY_EVERY_S:
            last = time.monotonic()
            out.info("indexed", block=block.ref.number)

    return told
