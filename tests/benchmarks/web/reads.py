"""Mixed reads at a steady rate, answered by an API server on one core."""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Final

import aiohttp
from fleet import child_program
from main_job import BenchError, core_share, say, ticks
from table import Figure

from web import lists

RATE: Final = 500
_WARM_S: Final = 3.0
_CONNECTIONS: Final = 200
_PATIENCE_S: Final = 30.0


def measure(hosts: int, tasks: int, rate: int, seconds: int) -> list[Figure]:
    """Return the 99th percentile of the answers' times, from the moment at which each request was due."""
    with tempfile.TemporaryDirectory(prefix="gantry-reads-") as folder:
        path = Path(folder) / "index.db"
        lists.fill(path, hosts, tasks)
        return asyncio.run(_measure(path, rate, seconds))


async def _measure(index: Path, rate: int, seconds: int) -> list[Figure]:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise BenchError("the server and the clients need a core each, and this process may use one only")
    async with child_program("web/server_process.py", str(index), str(cores[-1])) as (_, lines, pid):
        url = (await asyncio.wait_for(lines.readline(), _PATIENCE_S)).decode().strip()
        if not url:
            raise BenchError("the API server did not start; its reason stands above")
        os.sched_setaffinity(0, set(cores[:-1]))
        try:
            await _load(url, rate, _WARM_S)
            before = ticks(pid)
            took_ms, spent_s = await _load(url, rate, seconds)
            busy = core_share(pid, before, spent_s)
        finally:
            os.sched_setaffinity(0, set(cores))
    ordered = sorted(took_ms)
    p99 = round(ordered[-(-99 * len(ordered) // 100) - 1], 1)
    say(f"{len(took_ms)} reads in {spent_s:.1f} s; the server used {busy:.0f} % of its core")
    return [
        Figure("api-reads", "ms", tuple(round(one, 2) for one in took_ms)),
        Figure("api-reads-p99", "ms", (p99,), 100),
        Figure("api-reads-rate", "reads/s", (round(len(took_ms) / spent_s, 1),), 0.99 * rate, at_least=True),
        Figure("api-reads-core", "%", (busy,)),
    ]


async def _load(url: str, rate: int, seconds: float) -> tuple[list[float], float]:
    """Send requests at fixed times, whether the earlier ones are answered or not; return the times in ms."""
    chance = random.Random(4)  # noqa: S311 - repeats a run, guards nothing
    took_ms: list[float] = []
    connector = aiohttp.TCPConnector(limit=_CONNECTIONS)
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as group:
        began_s = time.perf_counter()

        async def one(due_s: float, path: str, given: dict[str, str]) -> None:
            async with session.get(url + path, params=given) as answer:
                await answer.read()
                answer.raise_for_status()
            took_ms.append(1000 * (time.perf_counter() - due_s))

        for number in range(int(rate * seconds)):
            due_s = began_s + number / rate
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            group.create_task(one(due_s, *_read(chance)))
    return took_ms, time.perf_counter() - began_s


def _read(chance: random.Random) -> tuple[str, dict[str, str]]:
    """Return a request as consoles and programs make them: mostly single records and short lists."""
    few = {"limit": "20"}
    task = 1_000_000 + chance.randrange(1000)
    return chance.choice(
        [
            (f"/v1/tasks/{task}", {}),
            (f"/v1/hosts/{lists.host(chance.randrange(100))}", {}),
            (f"/v1/blocks/{chance.randrange(lists.BLOCKS)}", {}),
            ("/v1/network", {}),
            ("/v1/tasks", lists.task_filter(chance) | few),
            ("/v1/hosts", lists.host_filter(chance) | few),
            ("/v1/events", few),
            ("/v1/search", {"q": str(task)}),
        ]
    )
