"""What tests do with a running network: commands, chain facts, processes to kill, containers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import DockerClient

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.typed import GantryChain, TaskAndSpec
from offchain.cli.operator.chain import EventHistory, task_history
from offchain.core.pricing import billed_ms, fee, owed, rate_per_hour
from offchain.devnet.paths import ROOT
from offchain.ports import ChainPort
from offchain.processes import read_record
from offchain.schema.chain_types._generated_chain import Lease
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.manifest.variables import resolve
from tests.support.jobs import end_job

MANIFESTS = ROOT / "tests" / "integration" / "manifests"
STEPS = MANIFESTS / "steps.yaml"
UNTIL_SIGNAL = MANIFESTS / "until_signal.yaml"
TENANT = "//Charlie"
ALLOWED_REGISTRY = "127.0.0.1:5999"
"""Where a test may have a registry: the agent of a network that tests start pulls from this address, without TLS."""
STRANGER = "//Ferdie"
PATIENCE = 120.0
"""Seconds. A limit for a broken network, not a measure of a good one."""


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


async def run(*command: str | Path, env: Mapping[str, str], patience: float = PATIENCE, cwd: Path = ROOT) -> Done:
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **env},
        cwd=cwd,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), patience)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


def engine_url(state: Path) -> str:
    """Return the address of the Docker engine of the network: DOCKER_HOST, its private one, or the machine's."""
    own = state / "sock" / "docker.sock"
    return os.environ.get("DOCKER_HOST") or (f"unix://{own}" if own.exists() else "unix:///var/run/docker.sock")


def steps_output(steps: int) -> bytes:
    """What steps.yaml prints."""
    return b"".join(f"step {step} of {steps}\n".encode() for step in range(1, steps + 1))


def memory_kib(pid: int, what: str = "VmRSS") -> int:
    """Return the resident memory of a process; with VmHWM the most that it ever had."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what))


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

    async def check(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Done:
        """Run a command that must succeed."""
        done = await self.gantry(*arguments, env=env)
        assert done.code == 0, done.said
        return done

    @property
    def variables(self) -> dict[str, str]:
        """The variables of manifests that scripts/up has set for the network."""
        lines = (self.state / "env").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    async def submit(self, steps: int, account: str = TENANT) -> int:
        """Submit steps.yaml; gives the task's number."""
        done = await self.check("submit", STEPS, "--account", account, "--json", env={"STEPS": str(steps)})
        return int(done.json["task"])

    async def submit_until_signal(self) -> int:
        """Submit until_signal.yaml, whose pod runs until `end_pod`; return the task's number."""
        done = await self.check("submit", UNTIL_SIGNAL, "--account", TENANT, "--json")
        return int(done.json["task"])

    async def end_pod(self, task: int, pods: Pods) -> None:
        """Have the only container of a task of until_signal.yaml end by itself, once it runs."""

        async def running() -> list[Any]:
            return pods.of(task)

        (container,) = await self.each_block(running, f"a container of task {task}")
        await asyncio.to_thread(end_job, container)

    def manifest(self, steps: int) -> bytes:
        """The text of steps.yaml as it goes on the chain."""
        return resolve(STEPS.read_text(encoding="utf-8"), {**self.variables, "STEPS": str(steps)}).encode()

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
            state = (await self.task(task)).record.state.tag
            if state in {"Failed", "Cancelled", "Expired", "Settled"} - set(states):
                events = "\n".join(entry.text for entry in (await self.story(task)).entries)
                raise AssertionError(f"task {task} is {state}, which leads to none of {sorted(states)}:\n{events}")
            return state if state in states else None

        return str(await self.each_block(look, f"task {task} to be {' or '.join(states)}"))

    @property
    def typed(self) -> GantryChain:
        return GantryChain(self.chain)

    async def task(self, task: int) -> TaskAndSpec:
        found = await self.typed.task(task)
        assert found is not None, f"there is no task {task}"
        return found

    async def leases(self, task: int) -> list[Lease]:
        """The leases that the task's record has: those that were not given up for others."""
        return [lease.record for lease in (await self.task(task)).leases]

    async def story(self, task: int) -> EventHistory:
        """What the events of final blocks say of a task that is final, or soon will be."""

        async def look() -> EventHistory | None:
            story = await task_history(self.chain, task, None, lambda _: None)
            return story if story.final else None

        found: EventHistory = await self.each_block(look, f"the story of task {task} to end in a final block")
        return found

    async def assert_paid_once(self, task: int) -> int:
        """Exactly one lease of a one-pod task is paid for, exactly by the rule; gives what was paid."""
        (lease,) = await self.leases(task)
        assert lease.result is not None
        assert not lease.escrow.open
        await self.assert_bill(task, lease)
        # The events tell the same, of the leases that were given up, too.
        bills = (await self.story(task)).bill.leases
        paid = {number: bill.paid for number, bill in bills.items() if bill.paid}
        assert paid == {lease_id(task, lease.pod, lease.generation): lease.escrow.paid}
        for bill in bills.values():
            assert bill.paid + bill.refunded == bill.deposited
        return lease.escrow.paid

    async def assert_bill(self, task: int, lease: Lease) -> None:
        """The escrow was paid what the protocol says."""
        host = await self.typed.host(lease.host)
        spec = (await self.task(task)).spec
        assert host is not None
        assert lease.started_at is not None
        assert lease.ended_at is not None
        rate = rate_per_hour(spec.resources, host.devices, lease.devices, host.ask, spec.unit)
        assert lease.escrow.rate_per_hour == rate
        ran = lease.ended_at - lease.started_at
        time = ran if lease.result is None else billed_ms(0, ran, lease.result.usage.wall_ms)
        assert lease.escrow.paid == owed(spec.unit, lease.escrow.deposit, rate, time)
        assert lease.escrow.fee == fee(lease.escrow.paid, lease.escrow.fee_ppm)


@asynccontextmanager
async def connected(state: Path) -> AsyncIterator[Net]:
    """The running network of a state folder, with a connection to its node as long as the block lasts."""
    facts = json.loads((state / "network.json").read_text(encoding="utf-8"))
    genesis = bytes.fromhex(facts["genesis_hash"].removeprefix("0x"))
    chain = SubstrateChain(facts["url"], expected_genesis=genesis)
    await chain.connect()
    try:
        yield Net(state, facts["url"], genesis, chain)
    finally:
        await chain.close()


@dataclass
class Pods:
    """Containers of tasks on the host's engine."""

    client: DockerClient

    def of(self, task: int, *, everything: bool = False) -> list[Any]:
        # Each is inspected after the listing, and may be gone by then.
        of_task = {"label": f"gantry.task={task}"}
        found: list[Any] = self.client.containers.list(all=everything, filters=of_task, ignore_removed=True)
        return found

    def gone(self, task: int) -> bool:
        return not self.of(task, everything=True)
