"""Metrics of many hosts, scraped as Prometheus does it: what the hosts need for it, and what Prometheus needs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import yaml
from fleet import child_program
from main_job import BenchError, core_share, say, ticks
from table import Figure

from offchain.devnet.ports import free

HOSTS: Final = 1_000
GPUS: Final = 8
INTERVAL_S: Final = 15
_PATIENCE_S: Final = 120.0


def measure(hosts: int, seconds: int) -> list[Figure]:
    """Return shares of one core, in percent, over whole intervals of at least so many seconds."""
    return asyncio.run(_measure(hosts, -(-seconds // INTERVAL_S)))


async def _measure(hosts: int, rounds: int) -> list[Figure]:
    async with child_program("web/scrape_process.py", str(hosts), str(GPUS)) as (_, lines, pid):
        line = await asyncio.wait_for(lines.readline(), _PATIENCE_S)
        if not line:
            raise BenchError("the hosts did not start; their reason stands above")
        urls: list[str] = json.loads(line)
        program = shutil.which("prometheus")
        if program is None:
            say("prometheus is not installed: a client of the benchmark scrapes, and Prometheus is not measured")
        async with _scraper(program, urls) as scraper:
            await asyncio.sleep(INTERVAL_S)
            began_s = time.monotonic()
            before = {one: ticks(one) for one in (pid, *scraper)}
            await asyncio.sleep(rounds * INTERVAL_S)
            spent_s = time.monotonic() - began_s
            shares = [core_share(one, was, spent_s) for one, was in before.items()]
    figures = [Figure("scrape-hosts", "%", (shares[0],), 10)]
    return figures + [Figure("scrape-prometheus", "%", (share,), 10) for share in shares[1:]]


@contextlib.asynccontextmanager
async def _scraper(program: str | None, urls: list[str]) -> AsyncIterator[list[int]]:
    """Scrape all hosts in each interval; yield the process id of Prometheus, if it does that."""
    if program is None:
        asking = asyncio.create_task(_ask(urls))
        try:
            yield []
            if asking.done():
                asking.result()
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        return
    with tempfile.TemporaryDirectory(prefix="gantry-prometheus-") as folder:
        config, log = Path(folder) / "prometheus.yaml", Path(folder) / "log"
        targets = [urlsplit(url).netloc for url in urls]
        job = {"job_name": "agent", "static_configs": [{"targets": targets}]}
        text = yaml.safe_dump({"global": {"scrape_interval": f"{INTERVAL_S}s"}, "scrape_configs": [job]})
        await asyncio.to_thread(config.write_text, text, encoding="utf-8")
        port = free()
        options = [f"--config.file={config}", f"--storage.tsdb.path={folder}/data", "--storage.tsdb.retention.time=1h"]
        with (
            log.open("wb") as out,
            subprocess.Popen(  # noqa: ASYNC220  (it returns at once)
                [program, *options, f"--web.listen-address=127.0.0.1:{port}"], stdout=out, stderr=out
            ) as process,
        ):
            try:
                await _until_up(port, len(urls))
                yield [process.pid]
            finally:
                process.terminate()


async def _until_up(port: int, hosts: int) -> None:
    """Wait until Prometheus has scraped every host."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(_PATIENCE_S):
        while True:
            with contextlib.suppress(aiohttp.ClientConnectionError):
                async with session.get(f"http://127.0.0.1:{port}/api/v1/query", params={"query": "sum(up)"}) as answer:
                    found = (await answer.json())["data"]["result"]
                if found and int(found[0]["value"][1]) == hosts:
                    return
            await asyncio.sleep(0.5)


async def _ask(urls: list[str]) -> None:
    """Scrape the hosts one after the other, each once in an interval, without end."""
    async with aiohttp.ClientSession() as session:
        began_s, asked = time.monotonic(), 0
        while True:
            due_s = began_s + asked * INTERVAL_S / len(urls)
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            async with session.get(urls[asked % len(urls)]) as answer:
                await answer.read()
                answer.raise_for_status()
            asked += 1
