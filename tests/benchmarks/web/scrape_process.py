"""Serve the metrics of many hosts, each at a port of its own: `scrape_process.py HOSTS GPUS`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Iterator

from node_agent.telemetry.device_metrics import METRICS
from offchain.adapters.metrics.definitions import MetricReading
from offchain.adapters.metrics.server import MetricsServer
from offchain.adapters.transport.linux_network import raise_fd_limit


def readings(host: int, gpus: int) -> Iterator[MetricReading]:
    """Yield every metric of the host's devices, as the agent of a host with that many GPUs has them."""
    for device in range(gpus):
        labels = str(device), f"GPU-{host:08x}-{device}"
        for metric in METRICS:
            more = ["x"] * (len(metric.labels) - len(labels))
            yield metric.read(host + device, *labels, *more)


async def main(hosts: int, gpus: int) -> None:
    raise_fd_limit(4 * hosts)
    async with contextlib.AsyncExitStack() as stack:
        urls = [
            await stack.enter_async_context(
                MetricsServer([lambda host=host: readings(host, gpus)]).listening("127.0.0.1", 0)  # type: ignore[misc]
            )
            for host in range(hosts)
        ]
        print(json.dumps(urls), flush=True)  # noqa: T201  (the answer to the program that started this one)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
