"""A network for accidents: node, settler, hosts and engine, each a process of its own on a disk of its own."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
from storm_tools import Cable, Clock, Disk

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.keys.signer import from_uri
from offchain.devnet import demo_image, engine, node_rpc, ports
from offchain.devnet.node import LIMITS
from offchain.devnet.paths import ROOT, DevnetPaths
from offchain.devnet.release import binaries
from offchain.ports import Call, ChainEvent
from offchain.schema.chain_types._generated_chain import PodPlacement, calls
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from offchain.supervisor import Child
from tests.support.chain_records import ANY_RATE
from tests.support.development_node import DevelopmentNode
from tests.support.fast_chain import fast
from tests.support.real_chain import PATIENCE, Chain, connect

TENANT = from_uri("//Charlie")
HOUR_MS = 3_600_000
DISK_MIB = 8192
ABSENCE_MS = 18_000
PATCH = {
    "hosts": {"params": {"heartbeatPeriodMs": 6_000, "absenceLimitMs": ABSENCE_MS}},
    "tasks": {"params": {"disputeWindowMs": 2_000}},
}
LIMITS_OF_A_POD = 'deploy: {resources: {limits: {cpus: "0.4", memory: 64M}}}'
HOOK = (
    "#!/bin/sh\n# The engine offers NVIDIA's devices where there is a program of this name; GPUs are pretended here.\n"
)


@dataclass
class HostOfNet:
    """One host: its agent's process, its state on a disk of its own, its way to the node, its clock."""

    name: str
    disk: Disk
    cable: Cable
    clock: Clock
    child: Child
    address: str = ""

    @property
    def pid(self) -> int:
        assert self.child.process is not None
        return self.child.process.pid

    def rss_mib(self, what: str = "VmRSS") -> float:
        """Memory of the agent now; with VmHWM the most it ever had."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(what)) / 1024

    def log(self) -> str:
        return self.child.log_path.read_text(encoding="utf-8", errors="replace")


@dataclass
class StormNet:
    places: DevnetPaths
    hosts: dict[str, HostOfNet] = field(default_factory=dict)
    _children: dict[str, Child] = field(default_factory=dict)
    _disks: list[Disk] = field(default_factory=list)

    def start(self) -> None:
        """Engine, node, settler and the demo's image."""
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}
        cache = os.environ.get("GANTRY_CACHE")
        self._env |= {"GANTRY_STATE": str(self.places.state), "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
        self._env |= {"PYTHONUNBUFFERED": "1"} | ({"GANTRY_CACHE": cache} if cache else {})
        self.disk = self._disk(self.places.engine, DISK_MIB)
        tools = self.places.state / "bin"
        tools.mkdir()
        (tools / "nvidia-container-runtime-hook").write_text(HOOK, encoding="utf-8")
        (tools / "nvidia-container-runtime-hook").chmod(0o755)
        path = f"{tools}:{self._env.get('PATH', '')}"
        self.dockerd, self.engine_url = engine.private_child(self.places, self._env | {"PATH": path})
        self.dockerd.start()
        self.node = DevelopmentNode(binaries(), self.places.node, *LIMITS, "--rpc-cors=all", patch=fast(PATCH))
        self.node.start()
        self._child("settler", "worker", "settler", f"--url={self.node.url}", "--account=//Eve",
                    f"--state-dir={self.places.state / 'settler'}", clock=self.clock("settler", -HOUR_MS))  # fmt: skip
        self.await_engine()
        self.image = demo_image.load(self.engine_url)
        self.engine = docker.APIClient(base_url=self.engine_url, version="auto", timeout=60)
        facts = {"url": self.node.url, "genesis_hash": node_rpc.genesis_hash(self.node.port)}
        self.places.network_file.write_text(json.dumps(facts | {"docker_host": self.engine_url}), encoding="utf-8")

    def stop(self) -> None:
        if hasattr(self, "engine"):
            self.engine.close()
        for child in reversed(list(self._children.values())):
            child.stop()
        if hasattr(self, "node"):
            self.node.stop()
        for host in self.hosts.values():
            host.cable.close()
        if hasattr(self, "dockerd"):
            self.dockerd.stop()
            engine.remove_private_engine(self.places)
        for disk in self._disks:
            disk.close()

    def await_engine(self) -> None:
        engine.wait_for(self.dockerd, self.engine_url)

    def unsent(self, host: HostOfNet) -> list[str]:
        """What the agent still wants to say of its leases, or was refused."""
        found = [
            json.loads(line)
            for line in self.gantry("outbox", "list", "--json", f"--state-dir={host.disk.folder}").splitlines()
        ]
        return [str(one["key"]) for one in found if str(one["key"]).startswith("lease/")]

    def _disk(self, folder: Path, mib: int) -> Disk:
        made = Disk(folder, mib)
        self._disks.append(made)
        return made

    def clock(self, name: str, off_ms: int = 0) -> Clock:
        return Clock(self.places.state, name, off_ms)

    def add_host(self, name: str, *options: str, off_ms: int = 0, env: Mapping[str, str] | None = None) -> HostOfNet:
        """One more host, registered, its agent running."""
        disk = self._disk(self.places.state / name, DISK_MIB)
        cable, clock = Cable(self.node.port), self.clock(name, off_ms)
        url = f"--url=ws://127.0.0.1:{cable.port}"
        bind = f"--bind=127.0.0.1:{ports.free(socket.SOCK_DGRAM)}"
        common = [url, f"--state={disk.folder}", bind, "--reserve-disk-gib=0", "--image-quota-gib=1", *options]
        line = [sys.executable, "-m", "offchain.cli", "agent", "register", "--provider=//Bob", "--json", *common]
        own = self._env | dict(env or {})
        done = subprocess.run(line, env=own, check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{name} could not be registered: {done.stdout}{done.stderr}"
        child = self._child(name, "agent", "run", f"--docker-host={self.engine_url}", *common, clock=clock, env=env)
        found = HostOfNet(name, disk, cable, clock, child, json.loads(done.stdout.splitlines()[-1])["host"])
        self.hosts[name] = found
        return found

    def gantry(self, *arguments: str) -> str:
        """What a command says on standard output."""
        line = [sys.executable, "-m", "offchain.cli", *arguments]
        done = subprocess.run(line, env=self._env, check=False, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    @contextlib.contextmanager
    def following(self, *arguments: str) -> Iterator[None]:
        """A command runs meanwhile; what it says is thrown away."""
        line = [sys.executable, "-m", "offchain.cli", *arguments]
        with subprocess.Popen(line, env=self._env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                yield
            finally:
                process.terminate()

    def log_bytes(self, containers: list[Any]) -> int:
        """What the engine keeps of these containers' output."""
        files = [file for one in containers for file in (self.places.engine / "containers" / one["Id"]).glob("*.log*")]
        return sum(file.stat().st_size for file in files if file.exists())

    def status(self, host: HostOfNet) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            self.gantry("agent", "status", "--json", f"--url={self.node.url}", f"--state={host.disk.folder}")
        )
        return found

    def last_lines(self) -> str:
        return "\n".join(f"--- {name}\n{child.last_lines(30)}" for name, child in self._children.items())

    def _child(self, name: str, *command: str, clock: Clock, env: Mapping[str, str] | None = None) -> Child:
        line = [sys.executable, "-m", "offchain.cli", *command]
        env = self._env | dict(env or {}) | clock.env
        child = Child(name, line, log=self.places.log, run=self.places.run, env=env)
        child.start()
        self._children[name] = child
        return child


@dataclass
class NetworkClient:
    """The network as a test sees it, over a connection of the test's own."""

    net: StormNet
    chain: Chain
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def do(self, *wanted: Call) -> None:
        """Have calls of the tenant take effect; one after the other, for they have one row of numbers."""
        async with self.turn:
            await self.chain.do(TENANT, *wanted)

    async def until(self, look: Callable[[], Awaitable[Any]], wanted: str) -> Any:
        return await self.chain.until(look, wanted, self.net.last_lines)

    async def record(self, host: HostOfNet) -> Any:
        found = await GantryChain(self.chain.link).host(host.address)
        assert found is not None
        return found

    async def online(self, host: HostOfNet) -> None:
        async def look() -> bool:
            return bool((await self.record(host)).status.tag == "Online")

        await self.until(look, f"{host.name} to be online")

    async def submit(self, host: HostOfNet, services: str, *, top: str = "duration: 10m", devices: bytes = b"") -> int:
        """Submit a job of one pod and place it on a host; gives the task's number."""
        rest = f"x-gantry: {{kind: job, price: {{max_per_hour: 10 GTY}}, {top}}}\n"
        text = (services.replace("IMAGE", self.net.image).replace("LIMITS", LIMITS_OF_A_POD) + rest).encode()
        spec = to_task_spec(parse_manifest(text), manifest_digest(text))
        async with self.turn:
            task = int(await self.chain.link.query("Tasks", "NextTaskId") or 0)
            placement = calls.tasks_assign(task=task, pods=[PodPlacement(0, host.address, devices, ANY_RATE)])
            await self.chain.do(TENANT, calls.tasks_submit(spec=spec, manifest=text), placement)
        return task

    async def job(self, host: HostOfNet, script: str, **more: str) -> int:
        """The same for a job of one shell script. Its result is what it prints, unless `top` says otherwise."""
        line = json.dumps(["sh", "-c", script])
        return await self.submit(host, f"services: {{main: {{image: IMAGE, command: {line}, LIMITS}}}}\n", **more)

    async def assign(self, task: int, host: HostOfNet, devices: bytes = b"") -> None:
        await self.do(calls.tasks_assign(task=task, pods=[PodPlacement(0, host.address, devices, ANY_RATE)]))

    async def state(self, task: int) -> str:
        found = await GantryChain(self.chain.link).task(task)
        assert found is not None
        return str(found.record.state.tag)

    async def until_state(self, task: int, *states: str) -> str:
        async def look() -> str | None:
            now = await self.state(task)
            return now if now in states else None

        return str(await self.until(look, f"task {task} to be {' or '.join(states)}"))

    async def lease(self, task: int) -> LeaseOfTask:
        """The task's present or last lease."""
        found = await GantryChain(self.chain.link).task(task)
        assert found is not None
        (record,) = found.leases
        return record

    def containers(self, task: int, host: HostOfNet) -> list[Any]:
        wanted = [f"gantry.host={host.address}", f"gantry.task={task}", "gantry.index"]
        found: list[Any] = self.net.engine.containers(all=True, filters={"label": wanted})
        return found

    async def runs(self, task: int, host: HostOfNet) -> None:
        """Return when its container runs, a few seconds before the chain knows."""

        async def look() -> bool:
            return [one["State"] for one in self.containers(task, host)] == ["running"]

        await self.until(look, f"the container of task {task} to run on {host.name}")

    async def until_trouble(self, host: HostOfNet, what: str) -> str:
        """What `gantry agent status` says is wrong."""

        async def look() -> str:
            status = await asyncio.to_thread(self.net.status, host)
            return str(status["troubles"].get(what, ""))

        return str(await self.until(look, f"{host.name} to be in trouble with its {what}"))

    async def gone(self, task: int, host: HostOfNet) -> None:
        async def look() -> bool:
            return not self.containers(task, host)

        await self.until(look, f"the containers of task {task} to go from {host.name}")

    async def events(self, task: int, after: int) -> list[ChainEvent]:
        """What was said of a task in final blocks after this one, to the newest best block of now."""
        found = []
        for number in range(after + 1, (await self.chain.link.best_head()).number + 1):
            events = (await self.chain.block_with(number)).events
            found += [event for event in events if event.pallet == "Tasks" and event.fields.get("task") == task]
        return found

    async def until_said(self, task: int, name: str, after: int) -> ChainEvent:
        """The first event of this name about a task."""

        async def look() -> ChainEvent | None:
            return next((event for event in await self.events(task, after) if event.name == name), None)

        found: ChainEvent = await self.until(look, f"{name} of task {task}")
        return found


def first_lease(task: int) -> int:
    return lease_id(task, 0, 0)


@contextlib.asynccontextmanager
async def client_of(net: StormNet) -> AsyncIterator[NetworkClient]:
    chain = Chain(net.node.port, await connect(net.node.url))
    try:
        yield NetworkClient(net, chain)
    finally:
        await chain.link.close()
