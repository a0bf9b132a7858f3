"""Several schedulers, some killed in the middle: is any task lost or doubled, and how often they collide."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from faults.verdict import Ledger
from fleet import MANIFEST, TENANT, running_fleet
from fleet_hosts import NUMBER
from main_job import BenchError, say
from rush import PATIENCE_S, SECONDS_A_TASK, judged
from table import Figure

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.watcher import blocks_after
from offchain.devnet.node import LIMITS
from offchain.devnet.release import binaries
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from tests.support.development_node import DevelopmentNode
from tests.support.worker_process import worker_process

HOSTS = 20
TASKS = 2_000
SCHEDULERS = 4
KILLED = 2
KINDS = 16
"""Tasks ask for so many different amounts of cores; those that ask for the same fall to the same scheduler."""
SETTLER = "//Dave"
_ERROR = re.compile(r'reason="?(\w+\.\w+)')
ACCOUNTS = ("//Eve", "//Ferdie", *(f"//{name}//stash" for name in ("Alice", "Bob", "Charlie", "Dave", "Eve", "Ferdie")))
"""Of schedulers: those of development that have coins and that nobody else uses here."""
_SUMS = ("lost", "doubled", "said")


def measure(
    schedulers: Sequence[int] = (SCHEDULERS,), killed: int = KILLED, hosts: int = HOSTS, tasks: int = TASKS
) -> tuple[list[Figure], dict[str, Any]]:
    """A run, on a chain of its own, for each number of schedulers.

    `killed` of them, but never the last, end without a word, spread over the run. The facts of a run are in `runs`;
    beside them what was lost, doubled and so on in all runs together.
    """
    if max(schedulers) > len(ACCOUNTS):
        raise BenchError(f"there are accounts for {len(ACCOUNTS)} schedulers, not for {max(schedulers)}")
    figures, runs = [], []
    for count in schedulers:
        with tempfile.TemporaryDirectory(prefix="gantry-crowd-") as folder:
            found, facts = asyncio.run(_measure(Path(folder), count, min(killed, count - 1), hosts, tasks))
        figures += found
        runs.append(facts)
    together = {name: sum((facts[name] for facts in runs), type(runs[0][name])()) for name in _SUMS}
    return figures, {"tasks": tasks, "hosts": hosts, **together, "runs": runs}


async def _measure(
    folder: Path, schedulers: int, killed: int, hosts: int, tasks: int
) -> tuple[list[Figure], dict[str, Any]]:
    found = binaries()
    options = (*LIMITS, "--rpc-max-connections=1000")
    with contextlib.ExitStack() as stack:
        node = stack.enter_context(DevelopmentNode(found, folder / "node", *options))
        stack.enter_context(worker_process("settler", SETTLER, node.url, folder / "settler"))
        crew = [
            stack.enter_context(worker_process("scheduler", ACCOUNTS[number], node.url, folder / f"scheduler{number}"))
            for number in range(schedulers)
        ]
        say(f"{hosts} hosts come online")
        async with running_fleet(node.url, hosts):
            chain = SubstrateChain(node.url, timeout=60)
            await chain.connect()
            try:
                signed = await _signed(chain, tasks)
                say(f"{tasks} tasks at once, {schedulers} schedulers")
                began_s, first = time.monotonic(), (await chain.finalized_head()).number
                await asyncio.gather(*(chain.broadcast(one) for one in signed))
                handed_s = time.monotonic() - began_s
                ledger = await _ended(chain, first, tasks, crew, killed)
                seconds = time.monotonic() - began_s
                _, facts = await judged(chain, ledger, tasks, handed_s, seconds)
            finally:
                await chain.close()
    tried, errors = _collisions(folder, schedulers)
    refused = errors.total()
    facts |= {"schedulers": schedulers, "killed": killed, "assigned": tried, "refused": refused}
    facts["refused_because"] = dict(errors.most_common())
    share = round(100 * refused / max(1, tried), 2)
    return [
        Figure(f"crowd-{schedulers}-settled", "s", (round(seconds, 1),)),
        Figure(f"crowd-{schedulers}-refused", "% of assignments", (share,)),
    ], facts


async def _signed(chain: SubstrateChain, count: int) -> list[Any]:
    nonce = await chain.next_nonce(TENANT.address)
    signed = []
    for number in range(count):
        text = MANIFEST.format(digest="0" * 64, variable=NUMBER, number=number)
        text = text.replace('cpus: "0.5"', f'cpus: "0.{20 + number % KINDS}"')
        spec = to_task_spec(parse_manifest(text.encode()), manifest_digest(text.encode()))
        signed.append(await chain.sign(calls.tasks_submit(spec=spec, manifest=text.encode()), TENANT, nonce + number))
    return signed


async def _ended(
    chain: SubstrateChain, first: int, tasks: int, crew: Sequence[subprocess.Popen[bytes]], killed: int
) -> Ledger:
    """What final blocks say until the last task has ended; the first of the crew are killed on the way."""
    ledger, left = Ledger(), list(crew)
    try:
        async with (
            asyncio.timeout(PATIENCE_S + tasks * SECONDS_A_TASK),
            aclosing(blocks_after(chain, None, first)) as all_,
        ):
            async for block, _ in all_:
                ledger.add(block)
                ended, dead = ledger.ended(), len(crew) - len(left)
                if any(one.poll() is not None for one in left):
                    raise BenchError("a scheduler has ended by itself; its last lines stand above")
                if dead < killed and ended >= tasks * (dead + 1) // (killed + 1):
                    say(f"a scheduler is killed, {ended} tasks have ended")
                    left.pop(0).send_signal(signal.SIGKILL)
                if ended >= tasks:
                    break
    except TimeoutError:
        raise BenchError(f"only {ledger.ended()} of {tasks} tasks have ended; the node still runs") from None
    return ledger


def _collisions(folder: Path, schedulers: int) -> tuple[int, Counter[str]]:
    """How many assignments were sent, and how many of them the chain refused for which error, as their logs say."""
    logs = [(folder / f"scheduler{number}.log").read_text(encoding="utf-8") for number in range(schedulers)]
    lines = [line for log in logs for line in log.splitlines() if " gantry.scheduler " in line]
    errors = (_ERROR.search(line) for line in lines if " refused task=" in line)
    return sum(" assign task=" in line for line in lines), Counter(
        "unknown" if error is None else error.group(1) for error in errors
    )
