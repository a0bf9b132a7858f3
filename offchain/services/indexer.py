"""Run the indexer until it is stopped, for `gantry worker indexer`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.metrics.chain import ChainMetrics
from offchain.adapters.metrics.definitions import MetricDefinition, MetricReading
from offchain.adapters.metrics.serving import MetricsAddress, serve_metrics
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.indexer.engines import open_index
from offchain.indexer.genesis import has_genesis_balances, read_genesis_balances, store_genesis_balances
from offchain.indexer.rows import PARTITION_BLOCKS
from offchain.indexer.service import OnRederived, OnWritten, follow
from offchain.indexer.status import IndexStatus
from offchain.indexer.writer import IndexWriter
from offchain.ports import Block, ChainPort
from offchain.schema.durations import DAY_MS
from offchain.services import log
from offchain.services.daily_reports import REPORT_EVERY_S, DailyReports
from offchain.services.runner import run_until_stopped

_SAY_EVERY_S = 10.0

BLOCK: Final = MetricDefinition("gantry_indexer_block", "gauge", "Number of the last block in the index.")
BLOCKS_BEHIND: Final = MetricDefinition(
    "gantry_indexer_blocks_behind", "gauge", "Final blocks of the node that are not in the index yet."
)
ROWS: Final = MetricDefinition(
    "gantry_indexer_rows_total", "counter", "Rows of blocks, extrinsics and events that were written."
)
REDERIVING: Final = MetricDefinition(
    "gantry_indexer_rederiving", "gauge", "Whether derived tables are being filled again, by a new release."
)
METRICS: Final = (BLOCK, BLOCKS_BEHIND, ROWS, REDERIVING)


async def run_indexer(
    url: str,
    address: str,
    expected_genesis: bytes | None,
    keep_days: int | None = None,
    partition_blocks: int = PARTITION_BLOCKS,
    metrics: MetricsAddress | None = None,
    report_folder: Path | None = None,
) -> None:
    """Keep the index at this address (see :func:`open_index`) up to date until SIGTERM or SIGINT.

    `keep_days`: how long events and extrinsics are kept, by the chain's time; None: always. `partition_blocks`: blocks
    in a partition of PostgreSQL. `metrics`: where metrics are served; None: nowhere.
    `report_folder`: where reports of each day are written; None: nowhere.

    Raises GantryError if it cannot start: no node at `url`, another chain, an index that cannot be used. Waits for a
    node or a database that becomes unavailable later.
    """
    log.set_up()
    chain = SubstrateChain(url, expected_genesis=expected_genesis, reads_callers=True)
    try:
        await chain.connect()
        progress = IndexProgress(chain)
        async with serve_metrics(metrics, [ChainMetrics(chain), progress]), PeriodicJobs() as jobs:
            if report_folder is not None:
                writer = DailyReports(address, report_folder)
                jobs.add("daily-reports", lambda: asyncio.to_thread(writer.write_missing), REPORT_EVERY_S)
            await serve_index(chain, address, keep_days, partition_blocks, progress)
    finally:
        await chain.close()


async def serve_index(
    chain: ChainPort,
    address: str,
    keep_days: int | None = None,
    partition_blocks: int = PARTITION_BLOCKS,
    progress: IndexProgress | None = None,
) -> None:
    """Keep the index up to date from a connected chain. `progress` is given the writer of the index."""
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
        if progress is not None:
            progress.writer, progress.block = index, after
        out.info("started", index=db.name, after=after, pid=os.getpid())
        await run_until_stopped(lambda: follow(chain, index, _log_writes(out, progress), _log_rederivation(out)), out)


class IndexProgress:
    """How far an indexer is, as its metrics. `writer`: the writer of the index; None before it is open."""

    def __init__(self, chain: SubstrateChain) -> None:
        self._chain = chain
        self.writer: IndexWriter | None = None
        self.block: int | None = None
        """The last block in the index."""

    def __call__(self) -> Iterator[MetricReading]:
        yield from BLOCK.read_if_known(self.block)
        if self._chain.seen.final is not None:
            yield BLOCKS_BEHIND.read(max(0, self._chain.seen.final - (-1 if self.block is None else self.block)))
        if self.writer is not None:
            yield ROWS.read(self.writer.rows_written)
            yield REDERIVING.read(self.writer.is_rederiving)


def _log_writes(out: log.EventLog, progress: IndexProgress | None) -> OnWritten:
    """Return a callback that notes written blocks, and logs them from time to time."""
    last = float("-inf")

    def log_block(block: Block) -> None:
        nonlocal last
        if progress is not None:
            progress.block = block.ref.number
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
