"""A fleet on this machine: how long from handing in a task until its container runs on one of the hosts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from fleet_hosts import NUMBER
from main_job import BenchError, core_share, resident_mib, say, ticks
from table import Figure

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.node import LIMITS
from offchain.devnet.paths import ROOT
from offchain.devnet.release import binaries
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from tests.support.development_node import DevelopmentNode
from tests.support.worker_process import worker_process

HOSTS = 50
TASKS = 200
EVERY_S = 0.73
"""Between two tasks; no part of a block's two seconds, so that they meet every moment of them alike."""
PATIENCE_S = 120.0
TENANT, SCHEDULER = from_uri("//Charlie"), "//Dave"
MANIFEST = """
services:
  main:
    image: nowhere.invalid/fake@sha256:{digest}
    environment: {{{variable}: "{number}"}}
    deploy: {{resources: {{limits: {{cpus: "0.5", memory: 64M}}}}}}
x-gantry: {{kind: job, price: {{max_per_hour: 1 GTY}}, duration: 10m}}
"""


def measure(hosts: int = HOSTS, tasks: int = TASKS) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="gantry-fleet-") as folder:
        return asyncio.run(_measure(Path(folder), hosts, tasks))


async def _measure(folder: Path, hosts: int, tasks: int) -> list[Figure]:
    options = (*LIMITS, "--rpc-max-connections=1000")
    with (
        DevelopmentNode(binaries(), folder / "node", *options) as node,
        worker_process("all", SCHEDULER, node.url, folder / "worker"),
    ):
        say(f"{hosts} hosts come online")
        async with running_fleet(node.url, hosts) as (lines, pid):
            chain = SubstrateChain(node.url)
            await chain.connect()
            try:
                say(f"{tasks} tasks, one every {EVERY_S} s")
                began_s, before = time.monotonic(), ticks(pid)
                waits = await _tasks(chain, lines, tasks)
                share = core_share(pid, before, time.monotonic() - began_s)
            finally:
                await chain.close()
            return [
                Figure("fleet-start", "s", tuple(waits), 5, target_p95=8),
                Figure("fleet-agent-memory", "MiB", (round(resident_mib(pid) / hosts, 1),)),
                Figure("fleet-agent-cpu", "% core", (round(share / hosts, 2),)),
            ]


async def _tasks(chain: SubstrateChain, lines: asyncio.StreamReader, count: int) -> list[float]:
    """Seconds from handing a signed submission to the node until the host's driver runs the container, by task."""
    handed_ns: dict[int, int] = {}
    submitting = asyncio.create_task(_submit(chain, count, handed_ns))
    started_ns: dict[int, int] = {}
    try:
        async with asyncio.timeout(count * EVERY_S + PATIENCE_S):
            while len(started_ns) < count:
                line = await lines.readline()
                if not line:
                    raise BenchError("the hosts have ended; their reason stands above")
                fact = json.loads(line)
                started_ns.setdefault(fact["number"], fact["at_ns"])
            await submitting
    except TimeoutError:
        missing = sorted(set(range(count)) - started_ns.keys())
        raise BenchError(f"{len(missing)} of {count} tasks did not start, the first is number {missing[0]}") from None
    finally:
        submitting.cancel()
        await asyncio.gather(submitting, return_exceptions=True)
    return [round((started_ns[number] - handed_ns[number]) / 1e9, 3) for number in range(count)]


async def _submit(chain: SubstrateChain, count: int, handed_ns: dict[int, int]) -> None:
    nonce = await chain.next_nonce(TENANT.address)
    began_s = time.monotonic()
    for number in range(count):
        text = MANIFEST.format(digest="0" * 64, variable=NUMBER, number=number).encode()
        spec = to_task_spec(parse_manifest(text), manifest_digest(text))
        extrinsic = await chain.sign(calls.tasks_submit(spec=spec, manifest=text), TENANT, nonce + number)
        await asyncio.sleep(max(0.0, began_s + number * EVERY_S - time.monotonic()))
        handed_ns[number] = time.time_ns()
        await chain.broadcast(extrinsic)


@contextlib.asynccontextmanager
async def running_fleet(url: str, hosts: int) -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """The hosts' process; gives its lines once all are online."""
    async with child_program("fleet_hosts.py", url, str(hosts)) as (_, lines, pid):
        async with asyncio.timeout(PATIENCE_S):
            if not await lines.readline():
                raise BenchError("the hosts did not start; their reason stands above")
        yield lines, pid


@contextlib.asynccontextmanager
async def child_program(
    name: str, *arguments: str
) -> AsyncIterator[tuple[asyncio.StreamWriter, asyncio.StreamReader, int]]:
    """A program beside this file; gives its input, its lines and its pid. It ends with its input, or is killed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(Path(__file__).parent / name), *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdin, process.stdout, process.pid
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 30)
        except TimeoutError:
            process.kill()
            await process.wait()
