"""Serve the HTTP API of an index on one core until standard input ends: `server_process.py INDEX CORE`."""

from __future__ import annotations

import asyncio
import os
import sys

from offchain.gateway.api.server import ApiServer, ApiSettings


async def main(index: str, core: int) -> None:
    os.sched_setaffinity(0, {core})
    settings = ApiSettings(host="127.0.0.1", port=0, index=index, requests_per_s=1_000_000, streams=4_000)
    async with ApiServer(settings).listening() as url:
        print(url, flush=True)  # noqa: T201  (the answer to the program that started this one)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
