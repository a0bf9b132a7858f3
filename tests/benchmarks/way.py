"""The way to hosts on this machine, over loopback: how fast files, log lines and questions travel, and to how many."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from main_job import BenchError, say
from table import MIB, Figure
from way_host import FILE_MIB, GENESIS, LEASE

from offchain.link import keys, p2p_copy, tar_files
from offchain.link.p2p_client import HostClient
from offchain.link.p2p_iroh import IrohTransport
from offchain.link.ws_transport import WsTransport

AGENTS = 500
ROUND_TRIPS = 2000
AT_ONCE = 48
LINES_TO_SKIP = 20


def measure(agents: int = AGENTS) -> list[Figure]:
    return asyncio.run(_measure(agents))


async def _measure(agents: int) -> list[Figure]:
    figures = []
    for kind in ("iroh", "websocket"):
        async with _hosts(kind, 1) as ((key, addresses),), _client(kind, key, addresses) as client:
            say(f"{kind}: files")
            figures += await _files(kind, client)
            say(f"{kind}: log lines and questions")
            figures += [await _lines(kind, client), *await _questions(kind, client)]
    say(f"{agents} agents")
    async with _hosts("iroh", agents) as found:
        figures += await _many(found)
    return figures


@contextlib.asynccontextmanager
async def _hosts(kind: str, count: int) -> AsyncIterator[list[tuple[bytes, list[str]]]]:
    script = Path(__file__).with_name("way_host.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(script),
        kind,
        str(count),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        found = []
        for _ in range(count):
            line = await process.stdout.readline()
            if not line:
                raise BenchError("the hosts did not start; their reason stands above")
            host = json.loads(line)
            found.append((bytes.fromhex(host["key"]), host["addresses"]))
        yield found
    finally:
        process.stdin.close()
        await process.wait()


@contextlib.asynccontextmanager
async def _client(kind: str, key: bytes, addresses: list[str]) -> AsyncIterator[HostClient]:
    seed = secrets.token_bytes(32)
    transport = await IrohTransport.bind(seed, listen=False) if kind == "iroh" else WsTransport.client(seed)
    client = HostClient(transport, key, addresses, genesis_hash=GENESIS, signer=keys.from_uri("//Charlie"))
    try:
        yield client
    finally:
        await client.close()
        await transport.close()


async def _files(kind: str, client: HostClient) -> list[Figure]:
    """Whole copies as `gantry cp` makes them: hashed on both sides, written to disk where they arrive."""
    aim = 100 if kind == "iroh" else None

    def quiet(_done: int, _whole: int | None) -> None:
        pass

    with tempfile.TemporaryDirectory(prefix="gantry-way-") as folder:
        out, back = [], []
        for number in range(3):
            part = Path(folder) / f"part-{number}"
            began = time.perf_counter()
            await p2p_copy.get(client, LEASE, "/big.bin", None, part, quiet)
            out.append(FILE_MIB * MIB / 1e6 / (time.perf_counter() - began))
            packing = tar_files.plan(part, "big.bin")
            began = time.perf_counter()
            await p2p_copy.put(client, LEASE, "/", None, packing, quiet)
            back.append(packing.size / 1e6 / (time.perf_counter() - began))
            part.unlink()
    return [
        Figure(f"way-{kind}-cp-out", "MB/s", tuple(out), aim, at_least=True),
        Figure(f"way-{kind}-cp-in", "MB/s", tuple(back), aim, at_least=True),
    ]


async def _lines(kind: str, client: HostClient) -> Figure:
    late: list[float] = []
    async for piece in client.logs(LEASE, follow=True):
        now_ns = time.time_ns()
        late += [(now_ns - int(line)) / 1e6 for line in piece.split()]
    return Figure(f"way-{kind}-log-line", "ms", tuple(late[LINES_TO_SKIP:]), target_p95=200)


async def _questions(kind: str, client: HostClient) -> list[Figure]:
    """Signed questions, each checked by the host: one after the other, and many at once."""
    alone = []
    for _ in range(ROUND_TRIPS // 10):
        began = time.perf_counter()
        await client.ping()
        alone.append((time.perf_counter() - began) * 1000)
    limit = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with limit:
            await client.ping()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(ROUND_TRIPS)))
    rate = ROUND_TRIPS / (time.perf_counter() - began)
    return [
        Figure(f"way-{kind}-question", "ms", tuple(alone)),
        Figure(f"way-{kind}-questions", "1/s", (rate,), None, at_least=True),
    ]


async def _many(found: list[tuple[bytes, list[str]]]) -> list[Figure]:
    """One process with a connection to every agent, each asked once all are there."""
    transport = await IrohTransport.bind(secrets.token_bytes(32), listen=False)
    signer = keys.from_uri("//Charlie")
    clients = [HostClient(transport, key, at, genesis_hash=GENESIS, signer=signer) for key, at in found]
    limit = asyncio.Semaphore(AT_ONCE)

    async def connect(client: HostClient) -> None:
        async with limit:
            await client.connect()

    before = _resident_mib()
    began = time.perf_counter()
    await asyncio.gather(*(connect(client) for client in clients))
    connected_s = time.perf_counter() - began
    answers = []
    for client in clients:
        began = time.perf_counter()
        await client.ping()
        answers.append((time.perf_counter() - began) * 1000)
    still = sum(client.via is not None for client in clients)
    memory = _resident_mib() - before
    await asyncio.gather(*(client.close() for client in clients))
    await transport.close()
    return [
        Figure("way-agents-connected", "agents", (still,), len(found), at_least=True),
        Figure("way-agents-connect-all", "s", (connected_s,)),
        Figure("way-agents-question", "ms", tuple(answers), 200),
        Figure("way-agents-memory", "MiB", (memory,)),
    ]


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB
