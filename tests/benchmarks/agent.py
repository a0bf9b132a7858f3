"""What the agent costs the machine it runs on: idle, and on top of the engine when a container starts."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from main_job import BenchError, core_share, network, resident_mib, say, ticks
from table import MIB, Figure

from node_agent.core.values import ContainerSpec, PodSpec
from node_agent.drivers.docker.driver import DockerDriver
from node_agent.images.docker_engine import DockerImages
from node_agent.images.store import ImageInventory, ImageStore
from offchain.processes import read_record
from offchain.schema.manifest.types import ImageRef, ResultSpec, ServiceSpec

IDLE_SECONDS = 60
STARTS = 15
REST_S = 45
"""What the agent does once after its start is not its idle load: it measures the way to its gateway and its peers."""
HOST = "5Benchmark"
PROGRAM = ("sleep", "600")
SHARED = f"bench-{os.getpid()}"


def measure(starts: int = STARTS, seconds: int = IDLE_SECONDS) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="gantry-agent-") as folder:
        state = Path(folder) / "state"
        with network(state):
            figures = _idle(_agent_pid(state), seconds)
            facts = json.loads((state / "network.json").read_text(encoding="utf-8"))
            image = (state / "env").read_text(encoding="utf-8").split("GANTRY_DEMO_IMAGE=")[1].splitlines()[0]
            figures += asyncio.run(_starts(facts["docker_host"], image, Path(folder), starts))
    return figures


def _agent_pid(state: Path) -> int:
    pids = {record.stem: read_record(record) for record in (state / "run").glob("*.json")}
    found = [pid for name, pid in pids.items() if name.startswith("agent") and pid]
    if len(found) != 1:
        raise BenchError(f"no running agent is recorded in {state / 'run'}: {sorted(pids)}")
    return found[0]


def _idle(pid: int, seconds: int) -> list[Figure]:
    """Memory and work of an agent that follows its chain and has no pod; it has no child processes."""
    say(f"the agent idle for {seconds} s")
    time.sleep(REST_S)
    began_s, before = time.monotonic(), ticks(pid)
    memory = []
    while time.monotonic() - began_s < seconds:
        time.sleep(5)
        memory.append(resident_mib(pid))
    share = core_share(pid, before, time.monotonic() - began_s)
    return [
        Figure("agent-idle-memory", "MB", (round(max(memory) * MIB / 1e6, 1),), 80),
        Figure("agent-idle-cpu", "% core", (share,), 1),
    ]


async def _starts(url: str, image: str, folder: Path, count: int) -> list[Figure]:
    """The same container by the agent's driver and by the engine's own command, in turn.

    Both have a network of their own and the same limits: what Gantry's pods always have. What a container takes that
    shares the engine's one network with all others is told, too.
    """
    name, _, digest = image.partition("@")
    store = ImageStore(
        DockerImages(url),
        ImageInventory(folder / "images.json"),
        mirror=None,
        quota_bytes=1 << 40,
        now_ms=lambda: time.time_ns() // 1_000_000,
    )
    driver = await DockerDriver.connect(url, HOST, store, gates=folder / "gates")
    _command(url, "network", "create", SHARED)
    ours: list[float] = []
    theirs: list[float] = []
    shared: list[float] = []
    try:
        for number in range(count):
            say(f"starts, {number + 1} of {count}")
            for one in (_by_agent, _by_command) if number % 2 else (_by_command, _by_agent):
                if one is _by_agent:
                    ours.append(await _by_agent(driver, _pod(number, ImageRef(name, digest))))
                else:
                    theirs.append(await asyncio.to_thread(_by_command, url, digest, number))
            shared.append(await asyncio.to_thread(_by_command, url, digest, number, SHARED))
    finally:
        _command(url, "network", "rm", SHARED)
        await driver.close()
        await store.close()
    ratios = tuple(round(100 * (mine / other - 1), 1) for mine, other in zip(ours, theirs, strict=True))
    return [
        Figure("agent-start", "ms", tuple(round(1000 * one, 1) for one in ours)),
        Figure("docker-run", "ms", tuple(round(1000 * one, 1) for one in theirs)),
        Figure("docker-run-shared-network", "ms", tuple(round(1000 * one, 1) for one in shared)),
        Figure("agent-start-overhead", "%", ratios, 10),
    ]


def _pod(number: int, image: ImageRef) -> PodSpec:
    service = ServiceSpec(
        name="main",
        image=image,
        command=PROGRAM,
        entrypoint=None,
        environment=(),
        cpu_milli=500,
        memory_mib=64,
        pids=64,
        working_dir=None,
        user=None,
        read_only=False,
        tmpfs=(),
    )
    return PodSpec(
        lease=1000 + number,
        task=1,
        pod=0,
        attempt=0,
        host=HOST,
        containers=(ContainerSpec(service),),
        result=ResultSpec("stdout", None),
    )


async def _by_agent(driver: DockerDriver, spec: PodSpec) -> float:
    began_s = time.perf_counter()
    await driver.prepare(spec)
    await driver.start(spec, "main", 1)
    taken_s = time.perf_counter() - began_s
    await driver.destroy(spec.lease, keep_data=False)
    return taken_s


def _by_command(url: str, digest: str, number: int, shared: str | None = None) -> float:
    """Seconds of `docker run`; with a network made for it first where none is there to be shared."""
    name = f"{SHARED}-{number}"
    limits = ("--cpus=0.5", "--memory=64m", "--memory-swap=64m", "--pids-limit=64", "--cap-drop=ALL")
    safe = ("--security-opt=no-new-privileges", f"--network={shared or name}", f"--name={name}")
    began_s = time.perf_counter()
    if shared is None:
        _command(url, "network", "create", name)
    _command(url, "run", "--detach", *limits, *safe, digest, *PROGRAM)
    taken_s = time.perf_counter() - began_s
    _command(url, "rm", "--force", "--volumes", name)
    if shared is None:
        _command(url, "network", "rm", name)
    return taken_s


def _command(url: str, *arguments: str) -> None:
    docker = shutil.which("docker")
    if docker is None:
        raise BenchError("there is no docker command on this machine: install docker-cli (Debian)")
    done = subprocess.run([docker, "--host", url, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"docker {arguments[0]} failed: {done.stderr.strip()}")
