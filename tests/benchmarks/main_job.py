"""The main job on this machine: how long it takes, how much memory the network needs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import log_lines
from table import MIB, Figure

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import signer as keys
from offchain.devnet.paths import ROOT
from offchain.processes import read_record
from offchain.schema.chain_types._generated_chain import IndexTag, calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from offchain.schema.manifest.variables import resolve

TENANT = "//Charlie"
EXAMPLE = ROOT / "examples" / "primes.yaml"
SETTLE_SECONDS = 120.0
TICKS = os.sysconf("SC_CLK_TCK")
STEPS = {"packages": "Release", "node": "Node", "host": "Host online", "task": "Task"}
"""Steps of scripts/up -> the entry of its timeline with which each ends."""


class BenchError(Exception):
    """The benchmark could not be carried out; the text says why."""


def say(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")
    sys.stderr.flush()


def up(state: Path, *options: str, cache: Path | None = None) -> dict[str, Any]:
    """One run of scripts/up with a state folder of its own; its JSON object."""
    env = {**os.environ, "GANTRY_STATE": str(state)} | ({"GANTRY_CACHE": str(cache)} if cache else {})
    began = time.monotonic()
    done = subprocess.run(
        [str(ROOT / "scripts" / "up"), "--json", *options], env=env, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise BenchError(f"scripts/up {' '.join(options)} ended with {done.returncode}; its messages are above")
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return outcome | {"wall": time.monotonic() - began}


@contextlib.contextmanager
def network(state: Path) -> Iterator[None]:
    """A local network in the background for the length of the block."""
    up(state, "--detach", "--no-verifiers")
    try:
        yield
    finally:
        env = {**os.environ, "GANTRY_STATE": str(state)}
        subprocess.run([str(ROOT / "scripts" / "down")], env=env, check=False, stdout=subprocess.DEVNULL)


def resident_mib(pid: int) -> float:
    """Resident memory of a process and its children."""
    total = 0.0
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        status = Path(f"/proc/{current}/status").read_text(encoding="utf-8")
        total += next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) * 1024 / MIB
        children = Path(f"/proc/{current}/task/{current}/children").read_text(encoding="utf-8")
        waiting += [int(child) for child in children.split()]
    return round(total, 1)


def ticks(pid: int) -> int:
    """Processor time of a process so far, in clock ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def core_share(pid: int, before: int, seconds: float) -> float:
    """Per cent of a core that a process took in so many seconds since it had taken `before` ticks."""
    return round(100 * (ticks(pid) - before) / TICKS / seconds, 2)


def memory(state: Path) -> tuple[float, float]:
    """MiB of the node, and of all Python processes together."""
    pids = {record.stem: read_record(record) for record in (state / "run").glob("*.json")}
    python = [pid for name, pid in pids.items() if name not in {"node", "docker", "supervisor"} and pid]
    own = pids.get("supervisor")
    node = pids.get("node")
    if node is None or own is None or not python:
        raise BenchError(f"no running network's processes are recorded in {state / 'run'}: {sorted(pids)}")
    supervisor = _own_mib(own)
    return resident_mib(node), round(supervisor + sum(resident_mib(pid) for pid in python), 1)


def _own_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) * 1024 / MIB


async def starts(state: Path, count: int) -> tuple[float, ...]:
    """Seconds from handing a signed `submit` to the node until the engine says that the container runs, one by one."""
    facts = json.loads((state / "network.json").read_text(encoding="utf-8"))
    image = (state / "env").read_text(encoding="utf-8").split("GANTRY_DEMO_IMAGE=")[1].splitlines()[0]
    text = resolve(EXAMPLE.read_text(encoding="utf-8"), {"GANTRY_DEMO_IMAGE": image}).encode()
    spec = to_task_spec(parse_manifest(text), manifest_digest(text))
    signer = keys.from_uri(TENANT)
    engine = docker.DockerClient(base_url=facts["docker_host"])
    chain = SubstrateChain(facts["url"])
    await chain.connect()
    taken = []
    try:
        for number in range(count):
            events = engine.api.events(decode=True, filters={"type": "container", "event": "start"})
            call = calls.tasks_submit(spec=spec, manifest=text)
            extrinsic = await chain.sign(call, signer, await chain.next_nonce(signer.address))
            began = time.time()
            await chain.broadcast(extrinsic)
            started = await asyncio.wait_for(asyncio.to_thread(next, events), SETTLE_SECONDS)
            events.close()
            taken.append(round(started["timeNano"] / 1e9 - began, 2))
            say(f"submit → running, {number + 1} of {count}: {taken[-1]} s")
            await _until_idle(GantryChain(chain))
    finally:
        await chain.close()
        engine.close()
    return tuple(taken)


async def _until_idle(chain: GantryChain) -> None:
    """Wait until every task is settled, so that the next one meets an idle host."""
    live = (
        IndexTag.QUEUED,
        IndexTag.ASSIGNED,
        IndexTag.RUNNING,
        IndexTag.REPORTED,
        IndexTag.VERIFIED,
    )
    async with asyncio.timeout(SETTLE_SECONDS):
        async for _ in chain.port.finalized():
            if not [task for tag in live for task in await chain.tasks_by_state(tag)]:
                return


def _by_step(name: str, outcomes: list[dict[str, Any]], target: float) -> list[Figure]:
    """Return the whole time of runs of scripts/up, and how it divides into steps."""
    figures = [Figure(name, "s", tuple(round(outcome["wall"], 1) for outcome in outcomes), target)]
    before = ""
    for step, end in STEPS.items():
        times = [outcome["timeline"] for outcome in outcomes]
        taken = tuple(round(time[end] - time.get(before, 0.0), 1) for time in times)
        figures.append(Figure(f"{name}-{step}", "s", taken))
        before = end
    stopping = tuple(round(outcome["wall"] - outcome["timeline"][before], 1) for outcome in outcomes)
    return [*figures, Figure(f"{name}-stop", "s", stopping)]


def measure(tasks: int, *, cold: bool) -> list[Figure]:
    """All figures of the main job."""
    figures = []
    with tempfile.TemporaryDirectory(prefix="gantry-bench-") as folder:
        state = Path(folder) / "state"
        if cold:
            say("an empty cache: Python environment and release are unpacked anew")
            outcome = up(state, "--once", cache=Path(folder) / "cache")
            figures += _by_step("cold", [outcome], 45)
        say("scripts/up --once, three times")
        figures += _by_step("warm", [up(state, "--once") for _ in range(3)], 25)
        with network(state):
            node, python = memory(state)
            figures.append(Figure("node-memory", "MiB", (node,), 200))
            figures.append(Figure("python-memory", "MiB", (python,), 400))
            figures.append(Figure("start", "s", asyncio.run(starts(state, tasks)), 5, target_p95=8))
            say("log lines")
            figures.append(log_lines.measure(state))
    return figures
