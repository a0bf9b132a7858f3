"""What tests do with a running network: commands, chain facts, processes to kill, containers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import DockerClient

from offchain.core.rate import billed_ms, fee, owed, rate_per_hour
from offchain.core.values import Ask, BillingUnit, GpuRequest, Resources
from offchain.link.ports import ChainPort
from offchain.local.process import read_record

ROOT = Path(__file__).resolve().parent.parent.parent
MANIFESTS = Path(__file__).parent / "manifests"
STEPS = MANIFESTS / "steps.yaml"
TENANT = "//Charlie"
STRANGER = "//Ferdie"
PATIENCE = 120.0
"""Seconds. A limit for a broken network, not a measure of a good one."""


def variant(value: Any) -> str:
    """The name of an enum's variant, with or without payload."""
    return value if isinstance(value, str) else next(iter(value))


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The object on its last line."""
        value: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return value

    @property
    def said(self) -> str:
        return f"exit {self.code}\n{self.out}\n{self.err}"


async def run(*command: str | Path, env: Mapping[str, str], patience: float = PATIENCE) -> Done:
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **env},
        cwd=ROOT,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), patience)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


def steps_output(steps: int) -> bytes:
    """What steps.yaml prints."""
    return b"".join(f"step {step} of {steps}\n".encode() for step in range(1, steps + 1))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Net:
    state: Path
    url: str
    genesis: bytes
    chain: ChainPort

    async def gantry(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Done:
        own = {"GANTRY_STATE": str(self.state), "PYTHONPATH": str(ROOT)}
        return await run(sys.executable, "-m", "offchain.cli", *arguments, env={**own, **(env or {})})

    async def submit(self, steps: int, account: str = TENANT) -> int:
        """Submit steps.yaml; gives the task's number."""
        done = await self.gantry("submit", STEPS, "--account", account, "--json", env={"STEPS": str(steps)})
        assert done.code == 0, done.said
        return int(done.json["task"])

    def pid(self, name: str) -> int:
        """The process of the network with this name, as its supervisor has written it down."""
        pid = read_record(self.state / "run" / f"{name}.json")
        assert pid is not None, f"no {name} runs"
        return pid

    def kill(self, name: str) -> int:
        """kill -9; gives the pid that is gone."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGKILL)
        return pid

    async def each_block(self, look: Callable[[], Awaitable[Any]], wanted: str) -> Any:
        """Look now and after every new block until there is something to see."""
        seen: Any = None
        try:
            async with asyncio.timeout(PATIENCE):
                seen = await look()
                if seen:
                    return seen
                async for _ in self.chain.best():
                    seen = await look()
                    if seen:
                        return seen
        except TimeoutError:
            pass
        raise AssertionError(f"waited {PATIENCE} s in vain for {wanted}")

    async def until(self, task: int, states: Collection[str]) -> str:
        """Wait until a task is in one of these states."""

        async def look() -> str | None:
            state = variant((await self.task(task))["state"])
            if state in {"Failed", "Cancelled", "Expired", "Settled"} - set(states):
                raise AssertionError(f"task {task} is {state}, which leads to none of {sorted(states)}")
            return state if state in states else None

        return str(await self.each_block(look, f"task {task} to be {' or '.join(states)}"))

    async def task(self, task: int) -> dict[str, Any]:
        record = await self.chain.query("Tasks", "Tasks", [task])
        assert record is not None, f"there is no task {task}"
        found: dict[str, Any] = record
        return found

    async def leases(self, task: int) -> dict[int, tuple[dict[str, Any], dict[str, Any]]]:
        """All leases a task ever had, each with its escrow."""
        found = {}
        for number, record in await self.chain.query_map("Leases", "Leases"):
            if record["task"] == task:
                found[number] = (record, await self.chain.query("Billing", "Escrows", [number]))
        return found

    async def assert_paid_once(self, task: int) -> int:
        """Exactly one lease of a one-pod task is paid for, exactly by the rule; gives what was paid."""
        leases = await self.leases(task)
        assert all(escrow["state"] == "Closed" for _, escrow in leases.values())
        paid = {number: escrow["paid"] for number, (_, escrow) in leases.items() if escrow["paid"]}
        completed = [number for number, (lease, _) in leases.items() if lease["result"] is not None]
        assert list(paid) == completed, f"paid {paid}, completed {completed}"
        assert len(paid) == 1, f"paid {paid}"
        (number,) = paid
        await self.assert_bill(*leases[number])
        return paid[number]

    async def assert_bill(self, lease: dict[str, Any], escrow: dict[str, Any]) -> None:
        """The escrow was paid what the protocol says."""
        host = await self.chain.query("Hosts", "Hosts", [lease["host"]])
        params = await self.chain.query("Billing", "Params")
        assert host is not None
        assert params is not None
        rate = rate_per_hour(resources_of(lease["resources"]), Ask(**host["ask"]))
        assert lease["rate_per_hour"] == escrow["rate_per_hour"] == rate
        ran = lease["ended_at"] - lease["started_at"]
        time = ran if lease["result"] is None else billed_ms(0, ran, lease["result"]["usage"]["wall_ms"])
        assert escrow["paid"] == owed(BillingUnit(escrow["unit"]), escrow["deposit"], rate, time)
        assert escrow["fee"] == fee(escrow["paid"], params["fee_ppm"])


def resources_of(record: Mapping[str, Any]) -> Resources:
    gpus = record["gpus"]
    return Resources(
        record["cpu_milli"],
        record["memory_mib"],
        record["disk_gib"],
        GpuRequest(gpus["count"], gpus["milli"], gpus["min_vram_mib"], tuple(gpus["models"])),
    )


@dataclass
class Pods:
    """Containers of tasks on the host's engine."""

    client: DockerClient

    def of(self, task: int, *, everything: bool = False) -> list[Any]:
        found: list[Any] = self.client.containers.list(all=everything, filters={"label": f"gantry.task={task}"})
        return found

    def gone(self, task: int) -> bool:
        return not self.of(task, everything=True)
