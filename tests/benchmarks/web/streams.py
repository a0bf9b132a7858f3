"""Many clients of the stream of events, and an idle gateway's memory; a real node, indexer and gateway."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from index_bench import running_indexer
from main_job import BenchError, resident_mib, say
from table import MIB, Figure

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.node import LIMITS
from offchain.devnet.paths import ROOT
from offchain.devnet.release import binaries
from offchain.gateway.service import API_URL
from offchain.ports import Call
from tests.support.development_node import DevelopmentNode

CLIENTS: Final = 1_000
EVENTS: Final = 10
"""Events of an account in each block, besides those of the block itself."""
_CONNECTING: Final = 16
"""Clients that connect at a time: each begins with a read of the index."""
_IDLE_S: Final = 10.0
_PATIENCE_S: Final = 120.0
_EVENT: Final = re.compile(rb"id: (\d+)\.")
_MB: Final = 1_000_000


def measure(clients: int, seconds: int) -> list[Figure]:
    """Return the delay from the node's notification of a final block to its first event at each client."""
    with (
        tempfile.TemporaryDirectory(prefix="gantry-streams-") as name,
        DevelopmentNode(binaries(), Path(name) / "node", *LIMITS) as node,
    ):
        folder = Path(name)
        with (
            running_indexer(node.url, folder / "index.db", folder / "indexer.log"),
            _gateway(node.url, folder) as (gateway, url),
        ):
            time.sleep(_IDLE_S)
            idle_mb = resident_mib(gateway) * MIB / _MB
            say(f"the idle gateway has {idle_mb:.1f} MB resident")
            delays = asyncio.run(_watch(node.url, url, clients, seconds))
            full_mb = resident_mib(gateway) * MIB / _MB
    return [
        Figure("gateway-memory", "MB", (round(idle_mb, 1),), 120),
        Figure("gateway-memory-streams", "MB", (round(full_mb, 1),)),
        Figure("api-event", "s", delays, target_p95=1),
    ]


@contextlib.contextmanager
def _gateway(node_url: str, folder: Path) -> Iterator[tuple[int, str]]:
    """Run `gantry worker gateway` with the API; yield its process id and the API's URL."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}
    line = [sys.executable, "-m", "offchain.cli", "worker", "gateway", f"--url={node_url}", "--bind=127.0.0.1:0"]
    line += [f"--state-dir={folder / 'gateway'}", "--http=127.0.0.1:0", f"--index={folder / 'index.db'}"]
    line += ["--http-requests=10000", "--http-streams=4000"]
    found = folder / "gateway" / API_URL
    with (
        (folder / "gateway.log").open("wb") as out,
        subprocess.Popen(line, cwd=ROOT, env=env | {"PYTHONPATH": str(ROOT)}, stdout=out, stderr=out) as process,
    ):
        try:
            limit_s = time.monotonic() + _PATIENCE_S
            while not found.exists():
                if process.poll() is not None or time.monotonic() > limit_s:
                    log = (folder / "gateway.log").read_text(encoding="utf-8", errors="replace")
                    raise BenchError(f"the gateway did not start: {log[-2000:]}")
                time.sleep(0.05)
            yield process.pid, found.read_text(encoding="utf-8").strip()
        finally:
            process.terminate()
            process.wait(30)


class _Watch:
    """When the node said that a block is final, and when each client had its first event."""

    def __init__(self) -> None:
        self.final_s: dict[int, float] = {}
        self.seen: list[tuple[int, float]] = []
        self.connected = 0
        self._connecting = asyncio.Semaphore(_CONNECTING)

    async def client(self, url: str) -> None:
        place = urlsplit(url)
        async with self._connecting:
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            writer.write(f"GET /v1/events/stream HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
            try:
                await reader.readuntil(b": connected\n\n")
            except asyncio.IncompleteReadError as error:
                raise BenchError(f"the gateway refused a stream: {error.partial!r}") from None
        try:
            self.connected += 1
            rest, last = b"", -1
            while piece := await reader.read(65_536):
                now_s = time.monotonic()
                for found in _EVENT.finditer(rest + piece):
                    block = int(found[1])
                    if block > last:
                        self.seen.append((block, now_s))
                        last = block
                rest = (rest + piece)[-30:]
        finally:
            writer.close()


async def _watch(node_url: str, url: str, clients: int, seconds: int) -> tuple[float, ...]:
    watch = _Watch()
    chain = SubstrateChain(node_url)
    await chain.connect()
    busy = asyncio.create_task(_make_events(chain))
    streams = [asyncio.create_task(watch.client(url)) for _ in range(clients)]
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while watch.connected < clients:
                if failed := next((one for one in streams if one.done()), None):
                    failed.result()
                    raise BenchError("the gateway closed a stream")
                await asyncio.sleep(0.1)
        say(f"{clients} clients receive events")
        began_s = time.monotonic()
        async with aclosing(chain.finalized()) as heads:
            async for head in heads:
                watch.final_s[head.number] = time.monotonic()
                if time.monotonic() - began_s > seconds:
                    break
        await asyncio.sleep(2)
    finally:
        for one in (busy, *streams):
            one.cancel()
        await asyncio.gather(busy, *streams, return_exceptions=True)
        await chain.close()
    return _delays(watch, clients)


def _delays(watch: _Watch, clients: int) -> tuple[float, ...]:
    """Return the delays in seconds. The first block is left out: clients may have come while it was sent."""
    blocks = sorted(watch.final_s)[1:]
    delays = [round(max(0.0, at_s - watch.final_s[block]), 3) for block, at_s in watch.seen if block in watch.final_s]
    wanted = clients * len(blocks)
    if not blocks or len(delays) < wanted:
        raise BenchError(f"the clients received the events of {len(delays)} blocks instead of {wanted}")
    say(f"{len(blocks)} blocks at {clients} clients")
    return tuple(delays)


async def _make_events(chain: SubstrateChain) -> None:
    signer = from_uri("//Alice//stash")
    call = Call("Utility", "batch", {"calls": [{"System": {"remark_with_event": {"remark": b"event"}}}] * EVENTS})
    async for _ in chain.best():
        nonce = await chain.next_nonce(signer.address)
        await chain.broadcast(await chain.sign(call, signer, nonce))
