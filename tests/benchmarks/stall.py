"""Finality stands still while tasks come, run and end: two of four validators are stopped and started again.

Nothing may be lost or doubled, no host reported absent, no pod started twice, and no call of a worker given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from chainbench.node import Node, running_validators
from faults.verdict import Ledger
from fleet import MANIFEST, SCHEDULER, TENANT, running_fleet
from fleet_hosts import NUMBER
from main_job import BenchError, say
from rush import judged
from table import Figure

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.watcher import blocks_after
from offchain.adapters.outbox.admin import OutboxAdmin
from offchain.adapters.outbox.intent_values import IntentState
from offchain.adapters.outbox.store import Store
from offchain.devnet.release import binaries
from offchain.errors import SubmitRefused
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from tests.support.worker_process import worker_process

SECONDS: Final = 600
HOSTS: Final = 5
EVERY_S: Final = 5.0
AROUND_S: Final = 40
"""For how long tasks come before and after the stall."""
STOPPED: Final = (2, 3)
"""Which of the validators; the workers and hosts use the first."""
_PATIENCE_S: Final = 300.0
_UNEXPECTED: Final = frozenset({"Requeued", "LeaseExpired", "Expired"})


def measure(seconds: int = SECONDS, hosts: int = HOSTS) -> tuple[list[Figure], dict[str, Any]]:
    with (
        tempfile.TemporaryDirectory(prefix="gantry-stall-") as folder,
        running_validators(binaries(), {}, {}) as nodes,
        worker_process("all", SCHEDULER, nodes[0].url, Path(folder) / "worker"),
    ):
        return asyncio.run(_measure(Path(folder), nodes, seconds, hosts))


async def _measure(folder: Path, nodes: list[Node], seconds: int, hosts: int) -> tuple[list[Figure], dict[str, Any]]:
    say(f"{hosts} hosts come online")
    async with running_fleet(nodes[0].url, hosts), _connected(nodes[0].url) as chain:
        began_s, first = time.monotonic(), (await chain.finalized_head()).number
        tasks = int((seconds + 2 * AROUND_S) / EVERY_S)
        submitting = asyncio.create_task(_submit(chain, tasks))
        await asyncio.sleep(AROUND_S)
        lag = await _stall(nodes, chain, seconds)
        say("waits until all tasks have ended")
        await submitting
        ledger, unexpected = await _ended(chain, first, tasks)
        _, facts = await judged(chain, ledger, tasks, 0.0, time.monotonic() - began_s)
    given_up = _given_up(folder / "worker" / "worker.db")
    said = [*facts["said"], *(f"{count} times {name}" for name, count in unexpected.items())]
    said += [f"the worker gave up {entry}" for entry in given_up]
    facts |= {"blocks_without_finality": lag, "unexpected": dict(unexpected), "given_up": given_up, "said": said}
    return [Figure("stall-blocks", "blocks", (lag,)), Figure("stall-seconds", "s", (facts["seconds"],))], facts


async def _stall(nodes: list[Node], chain: SubstrateChain, seconds: int) -> int:
    """Stop some validators for `seconds`; return by how many blocks finality was behind in the end."""
    say(f"two of {len(nodes)} validators stop for {seconds} s")
    for number in STOPPED:
        await asyncio.to_thread(nodes[number].stop)
    await asyncio.sleep(seconds)
    best, final = await chain.best_head(), await chain.finalized_head()
    lag = best.number - final.number
    say(f"finality is {lag} blocks behind; the validators start again")
    for number in STOPPED:
        await asyncio.to_thread(nodes[number].launch)
    (address, *_) = await asyncio.to_thread(nodes[0].rpc.call, "system_localListenAddresses")
    for number in STOPPED:
        await asyncio.to_thread(nodes[number].rpc.call, "system_addReservedPeer", address)
    if lag < seconds / 8:
        raise BenchError(f"finality was only {lag} blocks behind after {seconds} s")
    return lag


@contextlib.asynccontextmanager
async def _connected(url: str) -> AsyncIterator[SubstrateChain]:
    chain = SubstrateChain(url, timeout=60)
    await chain.connect()
    try:
        yield chain
    finally:
        await chain.close()


async def _submit(chain: SubstrateChain, count: int) -> None:
    """One task after the other, each accepted by the node's pool, with the extrinsics' usual lifetime."""
    began_s = time.monotonic()
    for number in range(count):
        await asyncio.sleep(max(0.0, began_s + number * EVERY_S - time.monotonic()))
        text = MANIFEST.format(digest="0" * 64, variable=NUMBER, number=number).encode()
        call = calls.tasks_submit(spec=to_task_spec(parse_manifest(text), manifest_digest(text)), manifest=text)
        nonce = await chain.next_nonce(TENANT.address)
        try:
            await chain.broadcast(await chain.sign(call, TENANT, nonce))
        except SubmitRefused as refused:
            raise BenchError(f"the node refused task {number}: {refused}") from None


async def _ended(chain: SubstrateChain, first: int, tasks: int) -> tuple[Ledger, Counter[str]]:
    """What final blocks say until the last task has ended, and what they say that should not be."""
    ledger, unexpected = Ledger(), Counter[str]()
    try:
        async with asyncio.timeout(_PATIENCE_S), aclosing(blocks_after(chain, None, first)) as all_:
            async for block, _ in all_:
                ledger.add(block)
                for event in block.events:
                    offline = event.name == "StatusChanged" and "Offline" in str(event.fields.get("to"))
                    if event.name in _UNEXPECTED or offline:
                        unexpected[f"{event.pallet}.{event.name}"] += 1
                if ledger.ended() >= tasks:
                    break
    except TimeoutError:
        raise BenchError(f"only {ledger.ended()} of {tasks} tasks have ended {_PATIENCE_S:g} s later") from None
    return ledger, unexpected


def _given_up(path: Path) -> list[str]:
    with contextlib.closing(Store(path)) as store:
        return [f"{entry.key}: {entry.reason}" for entry in OutboxAdmin(store).entries(IntentState.DEAD)]
