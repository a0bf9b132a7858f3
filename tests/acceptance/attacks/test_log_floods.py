"""Pods that write as much as they can, and readers of their logs, on a running network."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import jobs

from node_agent.drivers.port import MAX_LOG_BYTES, MAX_LOG_LINES
from offchain.devnet.paths import ROOT
from offchain.schema.chain_types.ids import lease_id
from tests.support.local_network import PATIENCE, TENANT, Net, Pods, memory_kib

FLOODS = {
    "short lines": "exec yes",
    "a line without end": "yes | tr -d '\\n'",
    "bytes that are no text": "exec cat /dev/urandom",
}
FOLLOWERS = 2
"""Of each flood."""
BEGUN_BYTES = 1 << 20
BLOCKS = 30
"""How long the attack goes on: 9 s of blocks that are on time."""
MEMORY_KIB = 256 << 10
"""What the agent may take more while the attack lasts."""


class Follower:
    """A command that follows the log of a task; what it prints is counted and thrown away."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._counting = asyncio.create_task(self._count())
        self.seen = 0
        self.floods = asyncio.Event()

    async def _count(self) -> None:
        assert self._process.stdout is not None
        while data := await self._process.stdout.read(1 << 16):
            self.seen += len(data)
            if self.seen >= BEGUN_BYTES:
                self.floods.set()

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._counting


@contextlib.asynccontextmanager
async def followers(net: Net, tasks: Sequence[int]) -> AsyncIterator[list[Follower]]:
    """Followers of these tasks, each of which has got its first MiB."""
    env = {**os.environ, "GANTRY_STATE": str(net.state), "PYTHONPATH": str(ROOT)}
    command = (sys.executable, "-m", "offchain.cli", "logs", "--follow", "--account", TENANT)
    started: list[Follower] = []
    try:
        for task in tasks:
            process = await asyncio.create_subprocess_exec(
                *command, str(task), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, env=env, cwd=ROOT
            )
            started.append(Follower(process))
        async with asyncio.timeout(PATIENCE):
            for one in started:
                await one.floods.wait()
        yield started
    finally:
        for one in started:
            await one.end()


def kept_log(net: Net, task: int) -> bytes:
    """What the agent keeps of the log of a task's only container."""
    (file,) = (net.state / "agent").rglob(f"{lease_id(task, 0, 0)}-*.log")
    return file.read_bytes()


async def test_a_flood_of_logs_keeps_nobody_else_waiting(net: Net, pods: Pods, tmp_path: Path) -> None:
    """Heartbeats come in time, the agent's memory stays bounded, and the log of another pod is served."""
    agent = net.pid("agent")
    before = memory_kib(agent)
    victim = await jobs.submit(net, tmp_path, "echo quiet; sleep 600")
    attackers = [await jobs.submit(net, tmp_path, script) for script in FLOODS.values()]
    params = await net.typed.params("Hosts")
    most, late = 0, 0
    try:
        for number in (victim, *attackers):
            await net.until(number, {"Running"})
        host = (await net.leases(victim))[0].host
        async with followers(net, attackers * FOLLOWERS) as reading:
            blocks = 0
            async for _ in net.chain.best():
                most = max(most, memory_kib(agent))
                record = await net.typed.host(host)
                assert record is not None
                late = max(late, time.time_ns() // 1_000_000 - record.last_heartbeat)
                blocks += 1
                if blocks >= BLOCKS:
                    break
            passed = sum(one.seen for one in reading) >> 20
            log = await jobs.told(net, "logs", str(victim))
            assert (log.code, "quiet" in log.out) == (0, True), log.said
        record = await net.typed.host(host)
        assert record is not None
        assert record.status.tag == "Online"
        assert late < params.absence_limit_ms, f"the last heartbeat was {late} ms ago"
        assert most < before + MEMORY_KIB, f"the agent took {most} KiB, {before} KiB before"
    finally:
        for number in (victim, *attackers):
            await net.gantry("task", "cancel", str(number), "--account", TENANT)

    async def gone() -> bool:
        return await asyncio.to_thread(lambda: all(pods.gone(number) for number in (victim, *attackers)))

    await net.each_block(gone, "the containers to be removed")
    # What is kept of it is its end, within the bounds of every log.
    for flood, attacker in zip(FLOODS, attackers, strict=True):
        kept = kept_log(net, attacker)
        assert 0 < len(kept) <= MAX_LOG_BYTES + (1 << 20), flood
        assert kept.count(b"\n") <= MAX_LOG_LINES + 10, flood
    sys.stderr.write(f"memory {before} to {most} KiB, heartbeat at most {late} ms old, {passed} MiB followed\n")
