"""Many agents on one node: bytes and processor time for each agent and block, beside agents that read whole blocks.

Blocks hold many events that concern none of the hosts. The followers are those of real agents, without pods; a
registered host is followed by all of them, each on a connection of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from fleet import child_program
from main_job import BenchError, say, ticks
from table import Figure

from node_agent.chain.registration import registration_call
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.node import LIMITS
from offchain.devnet.release import binaries
from offchain.errors import SubmitRefused
from offchain.ports import Call
from tests.support.chain_records import ask
from tests.support.development_node import DevelopmentNode
from tests.support.real_chain import plain

AGENTS: Final = 1_000
WHOLE: Final = 20
"""Agents that read whole blocks, for comparison."""
EVENTS: Final = 500
SECONDS: Final = 60
PROVIDER, OTHERS, HOST_URI = from_uri("//Bob"), from_uri("//Charlie"), "//Host"
_CONNECT_S: Final = 600.0
_HZ: Final = os.sysconf("SC_CLK_TCK")


def measure(agents: int, events: int, seconds: int) -> tuple[list[Figure], dict[str, Any]]:
    """Measure both kinds of followers, one after the other; the facts hold the ratios."""
    options = (*LIMITS, f"--rpc-max-connections={agents + 100}")
    with (
        tempfile.TemporaryDirectory(prefix="gantry-followers-") as folder,
        DevelopmentNode(binaries(), Path(folder), *options) as node,
    ):
        return asyncio.run(_measure(node, agents, events, seconds))


async def _measure(
    node: DevelopmentNode, agents: int, events: int, seconds: int
) -> tuple[list[Figure], dict[str, Any]]:
    chain = SubstrateChain(node.url, timeout=120)
    await chain.connect()
    busy = None
    try:
        await _register(chain)
        busy = asyncio.create_task(_make_events(chain, events))
        own = await _run(node, "own", agents, seconds)
        whole = await _run(node, "whole", min(WHOLE, agents), seconds)
    finally:
        if busy is not None:
            busy.cancel()
            await asyncio.gather(busy, return_exceptions=True)
        await chain.close()
    figures = [
        Figure("followers-bytes", "kB", (own["kb"],)),
        Figure("followers-cpu", "ms", (own["cpu_ms"],)),
        Figure("followers-node-cpu", "ms", (own["node_cpu_ms"],)),
        Figure("followers-whole-bytes", "kB", (whole["kb"],)),
        Figure("followers-whole-cpu", "ms", (whole["cpu_ms"],)),
    ]
    ratios = {
        "bytes_ratio": round(whole["kb"] / own["kb"], 1),
        "cpu_ratio": round(whole["cpu_ms"] / own["cpu_ms"], 1),
    }
    return figures, {"agents": agents, "events": events, "own": own, "whole": whole, **ratios, "said": []}


async def _register(chain: SubstrateChain) -> None:
    call = registration_call(
        from_uri(HOST_URI, "ed25519"),
        genesis_hash=await chain.genesis_hash(),
        provider=PROVIDER.address,
        hardware=Hardware(4000, 8192, 100, ()),
        endpoint=b"",
        region=b"local",
        ask=ask(),
    )
    await submit_once(chain, PROVIDER, Call("Utility", "batch_all", {"calls": [plain(call)]}))


async def _make_events(chain: SubstrateChain, events: int) -> None:
    """Fill each block with events of another account."""
    remark = plain(Call("System", "remark_with_event", {"remark": bytes(32)}))
    call = Call("Utility", "batch", {"calls": [remark] * events})
    async with aclosing(chain.best()) as heads:
        async for _ in heads:
            try:
                nonce = await chain.next_nonce(OTHERS.address)
                await chain.broadcast(await chain.sign(call, OTHERS, nonce))
            except SubmitRefused as refused:
                say(f"a block has no events: {refused}")


async def _run(node: DevelopmentNode, kind: str, agents: int, seconds: int) -> dict[str, float]:
    """Follow for some seconds; return bytes and processor time, each per agent and block."""
    say(f"{agents} agents connect ({kind})")
    async with (
        child_program("followers_process.py", node.url, HOST_URI, str(agents), kind) as (asking, lines, _),
        asyncio.timeout(_CONNECT_S),
    ):
        first = await _fact(lines)
        began_s, node_before = time.monotonic(), ticks(node.pid)
        say(f"they follow for {seconds} s")
        await asyncio.sleep(seconds)
        asking.write(b"\n")
        last = await _fact(lines)
    spent = time.monotonic() - began_s
    blocks = last["blocks"] - first["blocks"]
    if blocks < seconds / 4 * agents:
        raise BenchError(f"the agents have followed {blocks / agents:.1f} blocks each in {spent:.0f} s")
    moved = last["bytes"] - first["bytes"]
    return {
        "blocks": round(blocks / agents, 1),
        "kb": round(moved / blocks / 1000, 2),
        "cpu_ms": round(1000 * (last["cpu_s"] - first["cpu_s"]) / blocks, 3),
        "node_cpu_ms": round(1000 * (ticks(node.pid) - node_before) / _HZ / blocks, 3),
        "core_share": round((last["cpu_s"] - first["cpu_s"]) / spent, 2),
    }


async def _fact(lines: asyncio.StreamReader) -> dict[str, Any]:
    line = await lines.readline()
    if not line:
        raise BenchError("the followers have ended; their reason stands above")
    found: dict[str, Any] = json.loads(line)
    return found
