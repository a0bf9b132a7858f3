"""Run the indexer until it is stopped, for `gantry worker indexer`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

from offchain.indexer.engines import open_index
from offchain.indexer.genesis import has_genesis_balances, read_genesis_balances, store_genesis_balances
from offchain.indexer.retention import DAY_MS
from offchain.indexer.rows import PARTITION_BLOCKS
from offchain.indexer.service import OnRederived, OnWritten, follow
from offchain.indexer.status import IndexStatus
from offchain.indexer.writer import IndexWriter
from offchain.ports import Block, ChainPort
from offchain.services import log
from offchain.services.runner import run_until_stopped

_SAY_EVERY_S = 10.0


async def run_indexer(
    url: str,
    address: str,
    expected_genesis: bytes | None,
    keep_days: int | None = None,
    partition_blocks: int = PARTITION_BLOCKS,
) -> None:
    """Keep the index at this address (see :func:`open_index`) up to date until SIGTERM or SIGINT.

    `keep_days`: how long events and extrinsics are kept, by the chain's time; None: always. `partition_blocks`: blocks
    in a partition of PostgreSQL.

    Raises GantryError if it cannot start: no node at `url`, another chain, an index that cannot be used. Waits for a
    node or a database that becomes unavailable later.
    """
    from offchain.adapters.chain.client import SubstrateChain  # noqa: PLC0415  (tests bring a chain of their own)

    log.set_up()
    chain = SubstrateChain(url, expected_genesis=expected_genesis)
    try:
        await chain.connect()
        await serve_index(chain, address, keep_days, partition_blocks)
    finally:
        await chain.close()


async def serve_index(
    chain: ChainPort, address: str, keep_days: int | None = None, partition_blocks: int = PARTITION_BLOCKS
) -> None:
    """Keep the index up to date from a connected chain."""
    out = log.EventLog("indexer")
    with contextlib.closing(open_index(address, create=True)) as db:
        keep_ms = None if keep_days is None else keep_days * DAY_MS
        index = IndexWriter(db, keep_ms=keep_ms, partition_blocks=partition_blocks)
        # In a thread: a migration may take minutes, and signals are to be heard meanwhile.
        await asyncio.to_thread(index.prepare, await chain.genesis_hash())
        await asyncio.to_thread(index.document, await chain.documentation())
        if not await asyncio.to_thread(has_genesis_balances, db):
            balances = await read_genesis_balances(chain)
            if balances is None:
                out.warning("no_genesis_balances", reason="the node has removed the state of the genesis block")
            else:
                await asyncio.to_thread(store_genesis_balances, db, balances)
        after = None if index.cursor is None else index.cursor.number
        out.info("started", index=db.name, after=after, pid=os.getpid())
        await run_until_stopped(lambda: follow(chain, index, _log_writes(out), _log_rederivation(out)), out)


def _log_writes(out: log.EventLog) -> OnWritten:
    """Return a callback that logs written blocks from time to time."""
    last = float("-inf")

    def log_block(block: Block) -> None:
        nonlocal last
        if time.monotonic() - last >= _SAY_EVERY_S:
            last = time.monotonic()
            out.info("indexed", block=block.ref.number)

    return log_block


def _log_rederivation(out: log.EventLog) -> OnRederived:
    """Return a callback that logs the progress of a rederivation from time to time, and its end."""
    last = float("-inf")

    def log_status(status: IndexStatus) -> None:
        nonlocal last
        if status.rederived_to is None:
            out.info("rederived", block=status.derived_to)
        elif time.monotonic() - last >= _SAY_EVERY_S:
            last = time.monotonic()
            out.info("deriving", block=max(0, status.rederived_to), of=status.last_block)

    return log_status
