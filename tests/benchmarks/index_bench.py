"""The indexer on this machine: events a second from the chain's own bytes, and how soon a final block is in it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from main_job import say
from table import Figure

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.node import LIMITS
from offchain.devnet.paths import ROOT
from offchain.devnet.release import binaries
from offchain.indexer.database import IndexDatabase
from offchain.indexer.engines import open_index
from offchain.indexer.rows import BlockRow
from offchain.indexer.tables import columns
from offchain.indexer.verification import replayed_digest, stored_digest
from offchain.indexer.writer import IndexWriter
from offchain.ports import Block, Call, ChainEvent
from tests.support.development_node import DevelopmentNode
from tests.support.history_blocks import GENESIS, History

EVENTS_PER_BLOCK = 1_000
_AT_ONCE = 10
_ITEMS = 500
_POLL_S = 0.002
_PATIENCE_S = 60.0


class IndexBenchError(Exception):
    """The benchmark could not be carried out; the text says why."""


def measure(events: int, blocks: int) -> list[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory(prefix="gantry-index-") as folder:
        figures = _throughput(Path(folder) / "index.db", events)
        figures.append(Figure("index-lag", "s", asyncio.run(_lag(Path(folder), blocks)), target_p95=1))
    return figures


def _throughput(path: Path, wanted: int) -> list[Figure]:
    """From the bytes of System.Events to committed rows, and the same state once more from the events alone."""
    runtime = ChainRuntime((ROOT / "chain" / "metadata" / "gantry.scale").read_bytes(), "gantry", 0, 0)
    entry = runtime.entry("System", "Events").value
    history = History(1, hosts=25)
    db = open_index(str(path), create=True)
    index = IndexWriter(db)
    index.prepare(GENESIS)
    rates, events = [], 0
    while events < wanted:
        made = [
            (block, runtime.encode(entry, [_record(event) for event in block.events]))
            for block in history.blocks(_AT_ONCE, EVENTS_PER_BLOCK)
        ]
        began = time.perf_counter()
        index.add([_decoded(runtime, block, raw) for block, raw in made])
        took = time.perf_counter() - began
        count = sum(len(block.events) for block, _ in made)
        events += count
        rates.append(round(count / took))
        if len(rates) % 10 == 0:
            say(f"{events} events are in the index; {rates[-1]} a second")
    began = time.perf_counter()
    replayed = replayed_digest(db)
    replay = round(events / (time.perf_counter() - began))
    size = path.stat().st_size / events
    if replayed.hex() != stored_digest(db).hex():
        raise IndexBenchError("the derived tables do not follow from the events")
    say(f"{events} events replayed to the same {replayed.rows} rows")
    db.close()
    return [
        Figure("index", "events/s", tuple(rates), 10_000, at_least=True),
        Figure("index-replay", "events/s", (replay,)),
        Figure("index-size", "byte", (round(size),)),
    ]


def _decoded(runtime: ChainRuntime, block: Block, raw: bytes) -> Block:
    return Block(block.ref, block.parent_hash, block.timestamp_ms, tuple(runtime.decode_events(raw)), block.inclusions)


def _record(event: ChainEvent) -> dict[str, Any]:
    fields = dict(event.fields)
    return {
        "phase": {"ApplyExtrinsic": event.extrinsic},
        "event": {event.pallet: {event.name: fields}},
        "topics": [],
    }


async def _lag(folder: Path, blocks: int) -> tuple[float, ...]:
    """Seconds from a node's word that a block is final until its events can be read from the index."""
    address = folder / "lag.db"
    with (
        DevelopmentNode(binaries(), folder / "node", *LIMITS) as node,
        running_indexer(node.url, address, folder / "indexer.log"),
    ):
        chain = SubstrateChain(node.url, reads_callers=True)
        await chain.connect()
        flood = asyncio.ensure_future(_flood(chain))
        try:
            return await _watch(chain, address, blocks)
        finally:
            flood.cancel()
            await asyncio.gather(flood, return_exceptions=True)
            await chain.close()


async def _flood(chain: SubstrateChain) -> None:
    """About 1,000 events for every block: an event for each item of a batch, and one that it is done."""
    signer = from_uri("//Alice//stash")
    items = [{"System": {"remark_with_event": {"remark": b"%d" % n}}} for n in range(_ITEMS)]
    call = Call("Utility", "batch", {"calls": items})
    async for _ in chain.best():
        nonce = await chain.next_nonce(signer.address)
        await chain.broadcast(await chain.sign(call, signer, nonce))


async def _watch(chain: SubstrateChain, address: Path, blocks: int) -> tuple[float, ...]:
    async with asyncio.timeout(_PATIENCE_S):
        while not os.path.exists(address):  # noqa: ASYNC110, ASYNC240, PTH110 - another process makes it
            await asyncio.sleep(_POLL_S)
    lags: list[float] = []
    with contextlib.closing(open_index(str(address))) as db:
        async with aclosing(chain.finalized()) as heads:
            async for head in heads:
                told = time.monotonic()
                while not _row(db, head.number):
                    if time.monotonic() - told > _PATIENCE_S:
                        raise IndexBenchError(f"block {head.number} is not in the index after {_PATIENCE_S} s")
                    await asyncio.sleep(_POLL_S)
                lag = round(time.monotonic() - told, 3)
                events = _row(db, head.number)[0].events
                if events >= EVENTS_PER_BLOCK:
                    lags.append(lag)
                    say(f"block {head.number}, {events} events: in the index after {lag} s")
                if len(lags) == blocks:
                    return tuple(lags)
    raise IndexBenchError("the chain ended")


def _row(db: IndexDatabase, number: int) -> list[BlockRow]:
    return db.rows(BlockRow, columns(BlockRow).number == number) if db.has_table(BlockRow.TABLE) else []


@contextlib.contextmanager
def running_indexer(url: str, address: Path, log: Path) -> Iterator[None]:
    """Run `gantry worker indexer`, as an operator does, for the length of the block."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}
    line = [sys.executable, "-m", "offchain.cli", "worker", "indexer", f"--url={url}", f"--index={address}"]
    with (
        log.open("wb") as out,
        subprocess.Popen(line, cwd=ROOT, env=env | {"PYTHONPATH": str(ROOT)}, stdout=out, stderr=out) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)
