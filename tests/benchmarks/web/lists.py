"""Lists of tasks and hosts with filters, one request after the other."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import aiohttp
from table import Figure

from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer.engines import open_index
from offchain.indexer.rows import HostRow, TaskRow
from offchain.indexer.writer import IndexWriter
from tests.support.history_blocks import BLOCK_MS, GENESIS, History, address

BLOCKS: Final = 200
STATES: Final = ("Queued", "Assigned", "Running", "Reported", "Settled", "Cancelled", "Failed")
STATUSES: Final = ("Unverified", "Online", "Offline", "Draining", "Retired")
TENANTS: Final = 500
PROVIDERS: Final = 500
_AT_ONCE: Final = 10_000
_FIRST: Final = 1_000_000
"""Number of the first task, above those of the made-up blocks."""


def tenant(number: int) -> str:
    return address(20_000 + number)


def provider(number: int) -> str:
    return address(5_000 + number)


def host(number: int) -> str:
    return address(100_000 + number)


def fill(path: Path, hosts: int, tasks: int) -> None:
    """Write an index of some blocks, with so many more hosts and tasks."""
    db = open_index(str(path), create=True)
    index = IndexWriter(db)
    index.prepare(GENESIS)
    index.add(list(History(1).blocks(BLOCKS)))
    db.insert(HostRow, list(_hosts(hosts)))
    made = list(_tasks(tasks))
    for begin in range(0, len(made), _AT_ONCE):
        db.insert(TaskRow, made[begin : begin + _AT_ONCE])
    db.close()


def _hosts(hosts: int) -> Iterator[HostRow]:
    chance = random.Random(1)  # noqa: S311 - repeats a run, guards nothing
    for number in range(hosts):
        yield HostRow(
            host=host(number),
            provider=provider(number % PROVIDERS),
            status=chance.choice(STATUSES),
            generation=0,
            score_ppm=chance.randrange(1_000_000),
            leases=chance.randrange(1000),
            earned=chance.randrange(10**20),
            slashed=0,
            registered_ms=0,
            changed_ms=BLOCK_MS * chance.randrange(BLOCKS),
        )


def _tasks(tasks: int) -> Iterator[TaskRow]:
    chance = random.Random(2)  # noqa: S311 - repeats a run, guards nothing
    for number in range(_FIRST, _FIRST + tasks):
        state, block = chance.choice(STATES), chance.randrange(1, BLOCKS)
        live = [number * 64] if state in ("Assigned", "Running", "Reported") else []
        yield TaskRow(
            task=number,
            first=number,
            tenant=tenant(chance.randrange(TENANTS)),
            kind="Job",
            manifest_digest=f"0x{hashlib.sha256(b'%d' % (number % 5000)).hexdigest()}",
            state=state,
            failures=0,
            live=json.dumps(live),
            submitted_block=block,
            submitted_ms=block * BLOCK_MS,
            changed_block=block,
            changed_ms=block * BLOCK_MS,
            paid=chance.randrange(10**15),
        )


def task_filter(chance: random.Random) -> dict[str, str]:
    """Return a filter of tasks: by state, by tenant, or by both."""
    by_state, by_tenant = {"state": chance.choice(STATES)}, {"tenant": tenant(chance.randrange(TENANTS))}
    return {"limit": "100"} | chance.choice([by_state, by_tenant, by_state | by_tenant])


def host_filter(chance: random.Random) -> dict[str, str]:
    """Return a filter of hosts: by status, by provider, or by both."""
    by_status = {"status": chance.choice(STATUSES)}
    by_provider = {"provider": provider(chance.randrange(PROVIDERS))}
    return {"limit": "100"} | chance.choice([by_status, by_provider, by_status | by_provider])


def measure(hosts: int, tasks: int, requests: int) -> list[Figure]:
    """Return the time of a page of 100 rows, by random filters."""
    with tempfile.TemporaryDirectory(prefix="gantry-lists-") as folder:
        path = Path(folder) / "index.db"
        fill(path, hosts, tasks)
        return asyncio.run(_ask(str(path), requests))


async def _ask(index: str, requests: int) -> list[Figure]:
    chance = random.Random(3)  # noqa: S311 - repeats a run, guards nothing
    settings = ApiSettings(host="127.0.0.1", port=0, index=index, requests_per_s=100_000)
    figures = []
    async with ApiServer(settings).listening() as url, aiohttp.ClientSession() as session:
        for name, path, chosen in (
            ("api-tasks", "/v1/tasks", task_filter),
            ("api-hosts", "/v1/hosts", host_filter),
        ):
            took_ms = []
            for _ in range(requests):
                began_s = time.perf_counter()
                async with session.get(url + path, params=chosen(chance)) as answer:
                    await answer.read()
                    answer.raise_for_status()
                took_ms.append(round(1000 * (time.perf_counter() - began_s), 2))
            figures.append(Figure(name, "ms", tuple(took_ms), target_p95=200))
    return figures
