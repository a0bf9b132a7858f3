"""Many tasks handed in at once: how long until all are settled, and whether each ended once and was paid for once."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

from faults.verdict import Expected, Ledger
from fleet import MANIFEST, SCHEDULER, TENANT, running_fleet
from fleet_hosts import NUMBER
from main_job import BenchError, say
from table import Figure

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.watcher import blocks_after
from offchain.devnet.node import LIMITS
from offchain.devnet.release import binaries
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from offchain.services.audit import audit_chain
from tests.support.development_node import DevelopmentNode
from tests.support.worker_process import worker_process

HOSTS = 20
TASKS = 1_000
SECONDS_A_TASK = 0.5
PATIENCE_S = 120.0
RESULT = hashlib.sha256(b"done\n").hexdigest()


def measure(hosts: int = HOSTS, tasks: int = TASKS) -> tuple[list[Figure], dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="gantry-rush-") as folder:
        return asyncio.run(_measure(Path(folder), hosts, tasks))


async def _measure(folder: Path, hosts: int, tasks: int) -> tuple[list[Figure], dict[str, Any]]:
    options = (*LIMITS, "--rpc-max-connections=1000")
    with (
        DevelopmentNode(binaries(), folder / "node", *options) as node,
        worker_process("all", SCHEDULER, node.url, folder / "worker"),
    ):
        say(f"{hosts} hosts come online")
        async with running_fleet(node.url, hosts):
            chain = SubstrateChain(node.url, timeout=60)
            await chain.connect()
            try:
                signed = await _signed(chain, tasks)
                say(f"{tasks} tasks at once")
                began_s, first = time.monotonic(), (await chain.finalized_head()).number
                await asyncio.gather(*(chain.broadcast(one) for one in signed))
                handed_s = time.monotonic() - began_s
                ledger = await _ended(chain, first, tasks)
                seconds = time.monotonic() - began_s
                return await judged(chain, ledger, tasks, handed_s, seconds)
            finally:
                await chain.close()


async def _signed(chain: SubstrateChain, count: int) -> list[Any]:
    """Signed beforehand, so that they come as fast as the node takes them."""
    nonce = await chain.next_nonce(TENANT.address)
    signed = []
    for number in range(count):
        text = MANIFEST.format(digest="0" * 64, variable=NUMBER, number=number).encode()
        spec = to_task_spec(parse_manifest(text), manifest_digest(text))
        signed.append(await chain.sign(calls.tasks_submit(spec=spec, manifest=text), TENANT, nonce + number))
    return signed


async def _ended(chain: SubstrateChain, first: int, tasks: int) -> Ledger:
    """What final blocks say until the last task has ended."""
    ledger = Ledger()
    try:
        async with (
            asyncio.timeout(PATIENCE_S + tasks * SECONDS_A_TASK),
            aclosing(blocks_after(chain, None, first)) as all_,
        ):
            async for block, _ in all_:
                ledger.add(block)
                if ledger.ended() >= tasks:
                    break
    except TimeoutError:
        raise BenchError(f"only {ledger.ended()} of {tasks} tasks have ended; the node still runs") from None
    return ledger


async def judged(
    chain: SubstrateChain, ledger: Ledger, tasks: int, handed_s: float, seconds: float
) -> tuple[list[Figure], dict[str, Any]]:
    found = ledger.judge(Expected(tasks, RESULT))
    report = await audit_chain(chain)
    said = [*found.lost, *found.doubled, *(str(one) for one in report.differences)]
    facts = {
        "tasks": tasks,
        "seconds": round(seconds, 1),
        "lost": len(found.lost),
        "doubled": len(found.doubled),
        "attempts_more_than_one": found.attempts,
        "said": said,
    }
    figures = [
        Figure("rush-submit", "s", (round(handed_s, 2),)),
        Figure("rush-settled", "s", (round(seconds, 1),)),
    ]
    return figures, facts
