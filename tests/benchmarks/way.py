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
from typing import Any

from main_job import BenchError, resident_mib, say
from table import MIB, Figure
from way_host import FILE_MIB, GENESIS, LEASE

from offchain.adapters.keys import signer as keys
from offchain.adapters.transport import copy, tar_files
from offchain.adapters.transport.gateway import GatewayTransport
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.websocket import WsTransport
from offchain.devnet import ports

AGENTS = 500
ROUND_TRIPS = 2000
AT_ONCE = 48
LINES_TO_SKIP = 20
IDLE_S = 15.0
ASKED_HOSTS = 25


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
    say(f"{agents} agents on one gateway")
    return figures + await _through_gateway(agents)


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


async def _files(kind: str, client: HostClient, times: int = 3) -> list[Figure]:
    """Whole copies as `gantry cp` makes them: hashed on both sides, written to disk where they arrive."""
    aim = 100 if kind == "iroh" else None

    def quiet(_done: int, _whole: int | None) -> None:
        pass

    with tempfile.TemporaryDirectory(prefix="gantry-way-") as folder:
        out, back = [], []
        for number in range(times):
            part = Path(folder) / f"part-{number}"
            began = time.perf_counter()
            await copy.get(client, LEASE, "/big.bin", None, part, quiet)
            out.append(FILE_MIB * MIB / 1e6 / (time.perf_counter() - began))
            packing = tar_files.plan(part, "big.bin")
            began = time.perf_counter()
            await copy.put(client, LEASE, "/", None, packing, quiet)
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


class _Gateway:
    """The gateway's process, and what it says."""

    def __init__(self) -> None:
        self.seed = secrets.token_bytes(32)
        self.port = ports.free_for_both()
        self.address = ""
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("way_gateway.py")),
            str(self.port),
            self.seed.hex(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # It uses a module of this folder, which is not on the path where PYTHONSAFEPATH is set.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.address = str((await self._line())["address"])

    async def until_hosts(self, count: int) -> None:
        while (await self._line()).get("hosts") != count:
            pass

    async def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()

    def resident_mib(self) -> float:
        assert self.process is not None
        return resident_mib(self.process.pid)

    async def busy_percent(self, seconds: float) -> float:
        """Of one core, over so many seconds."""
        assert self.process is not None
        began_s, before = time.monotonic(), _ticks(self.process.pid)
        await asyncio.sleep(seconds)
        return (_ticks(self.process.pid) - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - began_s) * 100

    async def _line(self) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line:
            raise BenchError("the gateway ended; its reason stands above")
        facts: dict[str, Any] = json.loads(line)
        return facts


async def _through_gateway(agents: int) -> list[Figure]:
    """Many agents on one gateway, each with a key, an endpoint and a server of its own, in one process."""
    gateway = _Gateway()
    await gateway.start()
    empty = gateway.resident_mib()
    began = time.perf_counter()
    try:
        async with _hosts(gateway.address, agents) as found:
            await gateway.until_hosts(agents)
            attached_s = time.perf_counter() - began
            memory = gateway.resident_mib()
            say("idle")
            busy = await gateway.busy_percent(IDLE_S)
            say("questions and files through the gateway")
            answers = await _ask_some(gateway.address, found)
            async with _client_through(gateway.address, found[0][0]) as client:
                files = await _files("gateway", client, times=1)
            say("kill -9 of the gateway")
            began = time.perf_counter()
            await gateway.kill()
            await gateway.start()
            await gateway.until_hosts(agents)
            back_s = time.perf_counter() - began
            again = await _ask_some(gateway.address, found)
    finally:
        await gateway.stop()
    return [
        Figure("way-gateway-agents", "agents", (len(found),), agents, at_least=True),
        Figure("way-gateway-attach-all", "s", (attached_s,)),
        Figure("way-gateway-question", "ms", tuple(answers), 200),
        *files,
        Figure("way-gateway-memory", "MiB", (memory,)),
        Figure("way-gateway-memory-each", "MiB", ((memory - empty) / agents,)),
        Figure("way-gateway-idle", "% of a core", (busy,)),
        Figure("way-gateway-killed-all-back", "s", (back_s,)),
        Figure("way-gateway-killed-question", "ms", tuple(again), 200),
    ]


@contextlib.asynccontextmanager
async def _client_through(gateway: str, key: bytes) -> AsyncIterator[HostClient]:
    seed, signer = secrets.token_bytes(32), keys.from_uri("//Charlie")
    base = await IrohTransport.bind(seed, listen=False)
    transport = GatewayTransport(base, seed, genesis_hash=GENESIS, signer=signer)
    client = HostClient(transport, key, [gateway], genesis_hash=GENESIS, signer=signer)
    try:
        yield client
    finally:
        await client.close()
        await transport.close()
        await base.close()


async def _ask_some(gateway: str, found: list[tuple[bytes, list[str]]]) -> list[float]:
    """Round trips to some hosts, connections made before."""
    took = []
    for key, _ in found[:: max(1, len(found) // ASKED_HOSTS)]:
        async with _client_through(gateway, key) as client:
            await client.ping()
            for _ in range(20):
                began = time.perf_counter()
                await client.ping()
                took.append((time.perf_counter() - began) * 1000)
    return took


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
