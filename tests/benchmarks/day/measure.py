"""scripts/bench day: the cost of a worker with many past acts and live tasks beside a steady stream of new tasks.

A node, one measured process with scheduler and settler, and hosts that report at once. All times of calls are those of
the worker's process; nothing of it is simulated.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from chainbench.node import Node, running
from chainbench.scene import MANIFEST, PARAMS, SPEC, Scene, endowed, host, scheduler, tenant
from chainbench.signing import Account
from main_job import BenchError, say
from table import Figure

from day import past
from day.hosts import Ledger, ReportingHosts
from day.measured_worker import REPORT_EVERY_S
from offchain.adapters.chain.client import SubstrateChain
from offchain.devnet.paths import ROOT
from offchain.devnet.release import binaries
from offchain.schema.chain_types._generated_chain import calls

SECONDS: Final = 1_800
ACTS: Final = 500_000
LIVE: Final = 50_000
PER_SECOND: Final = 12
HOSTS: Final = 400
WARM_UP_S: Final = 180
SLOT_S: Final = 2
RUN_BLOCKS: Final = 10
TENANTS: Final = 9
"""The first one has the live tasks; the others submit in turn."""
_DRAIN_S: Final = 240
_START_S: Final = 300
_PARAMS: Final = {**PARAMS, "tasks": {**PARAMS["tasks"], "disputeWindowMs": 20_000, "archiveAfterMs": 60_000}}
_HOURS_MS: Final = 6 * 3_600_000


class _Scene(Scene):
    """Tasks that may run for hours, with the worker's account as the only scheduler."""

    def submission(self, count: int) -> tuple[Account, bytes]:
        spec = replace(SPEC, max_duration_ms=_HOURS_MS)
        call = calls.tasks_submit_array(spec=spec, manifest=MANIFEST, count=count)
        return tenant(0), self.node.runtime.encode_call(call)


def measure(seconds: int, acts: int, live: int, hosts: int) -> tuple[list[Figure], dict[str, Any]]:
    """Run it; the facts have `said`: what was lost, doubled, or is over its limit."""
    people = endowed(schedulers=1, cranks=0, tenants=TENANTS)
    room = live // hosts + 100
    with tempfile.TemporaryDirectory(prefix="gantry-day-") as folder, running(binaries(), people, _PARAMS) as node:
        scene = _Scene(node, hosts, room=room, schedulers=1)
        scene.build()
        scene.bring(scene.submit_tasks(live), live, until="start")
        scene.settle_down()
        say(f"stores {acts:,} past acts")
        state = Path(folder) / "worker"
        past.fill(state, scheduler(0).signer.address, acts, node.finalized())
        report = Path(folder) / "report.json"
        with _worker(node, state, report) as worker:
            ledger = asyncio.run(_drive(scene, worker, seconds))
            found = json.loads(report.read_text(encoding="utf-8"))
        return _judged(ledger, found, past.kept(state), seconds)


@contextmanager
def _worker(node: Node, state: Path, report: Path) -> Iterator[subprocess.Popen[bytes]]:
    program = Path(__file__).with_name("measured_worker.py")
    env = {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}
    paths = os.pathsep.join((str(ROOT), str(program.parents[1])))
    log = report.with_suffix(".log")
    line = [sys.executable, str(program), node.url, str(state), str(report), scheduler(0).name]
    with log.open("wb") as out, subprocess.Popen(line, env={**env, "PYTHONPATH": paths}, stdout=out, stderr=out) as one:
        try:
            yield one
        except BaseException:
            sys.stderr.write(log.read_text(encoding="utf-8", errors="replace")[-8_000:])
            raise
        finally:
            one.send_signal(signal.SIGTERM)
            one.wait(60)


async def _drive(scene: _Scene, worker: subprocess.Popen[bytes], seconds: int) -> Ledger:
    chain = SubstrateChain(scene.node.url, timeout=60)
    await chain.connect()
    first = scene.next_task()
    known = {scene.address(number): host(number) for number in range(scene.hosts)}
    hosts = ReportingHosts(chain, known, first, RUN_BLOCKS)
    following = asyncio.create_task(hosts.run(scene.node.finalized()))
    stream = _Stream(chain, hosts, following, worker)
    try:
        say("waits for the worker's first assignment")
        await stream.submit(1)
        await stream.wait(lambda: first in hosts.ledger.assigned, _START_S)
        if first not in hosts.ledger.assigned:
            raise BenchError(f"the worker assigned nothing within {_START_S} s")
        say(f"{PER_SECOND} tasks a second: {WARM_UP_S} s of warm-up, then {seconds} s that count")
        await stream.submit(WARM_UP_S // SLOT_S)
        worker.send_signal(signal.SIGUSR1)
        await stream.submit(seconds // SLOT_S)
        numbers = range(first, first + stream.submitted)
        say("waits until the last task is settled")
        await stream.wait(lambda: all(number in hosts.ledger.settled for number in numbers), _DRAIN_S)
        await asyncio.sleep(2 * REPORT_EVERY_S)
        hosts.ledger.submitted = {number: hosts.ledger.submitted.get(number, 0) for number in numbers}
        return hosts.ledger
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await chain.close()


class _Stream:
    """New tasks, those of each slot at once, while the worker and the hosts work."""

    def __init__(
        self,
        chain: SubstrateChain,
        hosts: ReportingHosts,
        following: asyncio.Task[None],
        worker: subprocess.Popen[bytes],
    ) -> None:
        self.submitted = 0
        self._chain = chain
        self._hosts = hosts
        self._following = following
        self._worker = worker

    async def submit(self, slots: int) -> None:
        """Submit the tasks of `slots` slots."""
        began_s, each = time.monotonic(), PER_SECOND * SLOT_S
        for slot in range(slots):
            await asyncio.sleep(max(0.0, began_s + slot * SLOT_S - time.monotonic()))
            self._check()
            account = tenant(1 + slot % (TENANTS - 1)).signer
            call = calls.tasks_submit_array(spec=SPEC, manifest=MANIFEST, count=each)
            nonce = await self._chain.next_nonce(account.address)
            await self._chain.broadcast(await self._chain.sign(call, account, nonce, era_blocks=64))
            self.submitted += each

    async def wait(self, reached: Callable[[], bool], seconds: float) -> None:
        """Wait until `reached` holds after a final block, for `seconds` at most."""
        limit_s = time.monotonic() + seconds
        while not reached() and time.monotonic() < limit_s:
            self._check()
            self._hosts.moved.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hosts.moved.wait(), max(0.1, limit_s - time.monotonic()))

    def _check(self) -> None:
        if self._worker.poll() is not None:
            raise BenchError(f"the worker has ended with {self._worker.returncode}")
        if self._following.done():
            self._following.result()


def _judged(ledger: Ledger, found: dict[str, Any], kept: int, seconds: int) -> tuple[list[Figure], dict[str, Any]]:
    took = dict(found["took"])
    loop = took.pop("loop")
    collections = took.pop("gc", {"most_ms": 0.0})
    worst = max(took, key=lambda key: took[key]["p99_ms"])
    steady = found["memory_mib"][-max(2, int(seconds / 5 * 0.9)) :]
    part = max(1, len(steady) // 4)
    began, ended = statistics.median(steady[:part]), statistics.median(steady[-part:])
    growth = round(100 * (ended - began) / began, 2)
    lost = sorted(number for number in ledger.submitted if not ledger.settled[number])
    doubled = sorted(number for number, times in ledger.settled.items() if times > 1)
    waits = [
        SLOT_S * (ledger.assigned[number] - block)
        for number, block in ledger.submitted.items()
        if number in ledger.assigned
    ]
    figures = [
        Figure("day-outbox-call-p99", "ms", (took[worst]["p99_ms"],), 5),
        Figure("day-loop-blocked", "ms", (loop["most_ms"],), 100),
        Figure("day-memory-growth", "%", (abs(growth),), 5),
        Figure("day-lost", "tasks", (len(lost),), 0),
        Figure("day-doubled", "tasks", (len(doubled),), 0),
        Figure("day-wait", "s", tuple(waits)),
        Figure("day-memory", "MiB", (ended,)),
    ]
    said = [
        f"{figure.name} is {figure.value:g} {figure.unit}, of at most {figure.target:g}"
        for figure in figures
        if figure.met is False
    ]
    return figures, {
        "tasks": len(ledger.submitted),
        "lost": lost[:20],
        "doubled": doubled[:20],
        "outbox_p99_ms": took[worst]["p99_ms"],
        "outbox_slowest": worst,
        "loop_blocked_ms": loop["most_ms"],
        "loop_p99_ms": loop["p99_ms"],
        "loop_blocked_in": found["blocked_in"],
        "collection_ms": collections["most_ms"],
        "memory_growth_percent": growth,
        "memory_mib": ended,
        "acts_kept": kept,
        "odd": dict(ledger.odd),
        "calls": took | {f"writer: {key}": one for key, one in found["writer"].items()},
        "said": said,
    }
