"""Metrics of many hosts, scraped by Prometheus: what one host needs for a scrape, and what Prometheus needs for all."""

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
from main_job import BenchError, core_share, ticks
from table import Figure

from offchain.devnet.ports import free

HOSTS: Final = 1_000
GPUS: Final = 8
INTERVAL_S: Final = 15
HOST_MS: Final = 15.0
"""CPU time of a host for a scrape: 0.1 % of a core of that host."""
PROMETHEUS_PERCENT: Final = 10.0
"""Of one core, for all hosts."""
_PATIENCE_S: Final = 120.0


def measure(hosts: int, seconds: int) -> list[Figure]:
    """Return CPU times over whole intervals of at least so many seconds. Raises BenchError without Prometheus."""
    return asyncio.run(_measure(hosts, -(-seconds // INTERVAL_S)))


async def _measure(hosts: int, rounds: int) -> list[Figure]:
    async with child_program("web/scrape_process.py", str(hosts), str(GPUS)) as (_, lines, pid):
        line = await asyncio.wait_for(lines.readline(), _PATIENCE_S)
        if not line:
            raise BenchError("the hosts did not start; their reason stands above")
        urls: list[str] = json.loads(line)
        program = shutil.which("prometheus")
        if program is None:
            raise BenchError("Prometheus is not installed; install the package prometheus")
        async with _prometheus(program, urls) as scraper:
            await asyncio.sleep(INTERVAL_S)
            began_s = time.monotonic()
            before = {one: ticks(one) for one in (pid, scraper)}
            await asyncio.sleep(rounds * INTERVAL_S)
            spent_s = time.monotonic() - began_s
            of_hosts, of_prometheus = (core_share(one, was, spent_s) for one, was in before.items())
    # All hosts' servers are one process: its CPU time in an interval is that of one scrape of each host.
    host_ms = of_hosts / 100 * INTERVAL_S * 1000 / hosts
    return [
        Figure("scrape-host", "ms", (host_ms,), HOST_MS),
        Figure("scrape-prometheus", "%", (of_prometheus,), PROMETHEUS_PERCENT),
    ]


@contextlib.asynccontextmanager
async def _prometheus(program: str, urls: list[str]) -> AsyncIterator[int]:
    """Run Prometheus, which scrapes all hosts in each interval; yield its process id."""
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
                yield process.pid
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
