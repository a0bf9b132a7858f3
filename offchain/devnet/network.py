"""One local network: what is started, in which order, and how it is taken down."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from offchain.devnet import engine, node, node_rpc, ports
from offchain.devnet.paths import ROOT, LocalError, Places
from offchain.devnet.processes import Child, command_line, end, marked, read_record
from offchain.devnet.release import Binaries
from offchain.devnet.supervisor import Command, Keeper

PROVIDER = "//Bob"
TENANT = "//Charlie"
SCHEDULER = "//Dave"
# Simulated GPUs, where the machine has no NVIDIA driver.
NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
PROFILE = "a100x2"
_PROFILE = "rtx4090"
_GANTRY = (sys.executable, "-m", "offchain.cli")
_REGISTER = (f"--provider={PROVIDER}", "--region=local", "--wait-for=included")
_UDP = socket.SOCK_DGRAM
_MARK = "GANTRY_LOCAL_NETWORK"
"""In the environment of all processes of a local network, and of no other: the network's state folder."""
_NODE_SECONDS = 60.0
_GATEWAY_SECONDS = 60.0
_POLL_SECONDS = 0.2
_CLEAR_SECONDS = 60.0
_LOOKS = 5


class Network:
    """A node, a gateway, the workers, one agent, and an engine if there is none."""

    def __init__(
        self,
        places: Places,
        binaries: Binaries,
        rpc_port: int,
        say: Callable[[str, str], None],
        genesis_patch: Mapping[str, Any] | None = None,
    ) -> None:
        self.places = places
        self.binaries = binaries
        self.rpc_port = rpc_port
        self.say = say
        self.genesis_patch = genesis_patch
        self.keeper = Keeper()
        self.url = f"ws://127.0.0.1:{rpc_port}"
        self.engine_url = ""
        self._env = _child_env(places)
        self._commands: list[Command] = []

    def start(self) -> None:
        """Start everything, load the demo's image, and write the network down for the gantry command.

        The host's registration waits for a block; the workers start and the image is loaded meanwhile.
        """
        genesis = self.start_base()
        self._start_gateway()
        image = self._begin([sys.executable, "-m", "offchain.devnet.demo_image"])
        answers = f"127.0.0.1:{ports.free()}"
        facts: dict[str, object] = {"url": self.url, "genesis_hash": genesis, "docker_host": self.engine_url}
        facts["schedulers"] = [f"http://{answers}"]
        self._write(self.places.network_file, json.dumps(facts) + "\n")
        options = self._agent_options()
        registration = self.begin("agent", "register", *_REGISTER, *options)
        self._start_workers(answers)
        self._image_loaded(image)
        self._start_agent(registration, options)

    def start_base(self) -> str:
        """Engine and node only; gives the genesis hash."""
        docker = self._start_engine()
        self._start_node()
        if docker is not None:
            engine.wait_for(docker, self.engine_url)
        self._env["DOCKER_HOST"] = self.engine_url
        self.say("Docker engine", "private" if docker is not None else self.engine_url)
        return self._await_node()

    def stop(self) -> None:
        """Everything down, the last started first; the engine's containers before the engine."""
        self.places.network_file.unlink(missing_ok=True)
        self.places.env_file.unlink(missing_ok=True)
        for command in self._commands:
            command.stop()
        self.keeper.stop()

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run a gantry command beside the network; gives exit status and standard output."""
        return self.begin(*arguments).finish()

    def begin(self, *arguments: str) -> Command:
        """Start a gantry command beside the network."""
        return self._begin([*_GANTRY, *arguments])

    def _begin(self, command: list[str]) -> Command:
        begun = Command(command, self._env, self.keeper)
        self._commands.append(begun)
        return begun

    def _start_engine(self) -> Child | None:
        found = engine.find()
        if found is not None:
            self.engine_url = found
            self.places.run.mkdir(parents=True, exist_ok=True)
            self.places.shared_engine_file.write_text(found, encoding="utf-8")
            return None
        child, self.engine_url = engine.private_child(self.places, self._env)
        return self.keeper.add(child)

    def _start_node(self) -> None:
        command = node.command(
            self.binaries,
            node.write_spec(self.binaries, self.places.node, self.genesis_patch),
            self.places.node / "data",
            *node.AUTHOR,
            *node.LIMITS,
            "--rpc-max-connections=1000",
            # The SDK's default origins, and no method that changes the node: pages in a browser here reach this port.
            "--rpc-methods=safe",
            rpc_port=self.rpc_port,
        )
        env = node.frugal(self._env)
        self.keeper.add(Child("node", command, log=self.places.log, run=self.places.run, env=env))

    def _await_node(self) -> str:
        limit = time.monotonic() + _NODE_SECONDS
        while time.monotonic() < limit:
            genesis = node_rpc.genesis_hash(self.rpc_port)
            if genesis is not None:
                self.say("Node", f"listens at {self.url}")
                return genesis
            self.keeper.wait(_POLL_SECONDS)
        raise LocalError(f"the node does not answer at {self.url}", f"Its log is {self.places.log / 'node.log'}")

    def _image_loaded(self, loading: Command) -> None:
        status, output = loading.finish()
        if status != 0:
            raise LocalError("the demo's image could not be made", "The reason is above")
        reference = output.strip()
        self._write(self.places.env_file, f"GANTRY_DEMO_IMAGE={reference}\n")
        self.say("Demo image", reference)

    def _start_workers(self, answers: str) -> None:
        self.places.workers.mkdir(parents=True, exist_ok=True, mode=0o700)
        command = [*_GANTRY, "worker", "all"]
        command += [f"--account={SCHEDULER}", f"--state-dir={self.places.workers}", f"--answers={answers}"]
        self.keeper.add(Child("workers", command, log=self.places.log, run=self.places.run, env=self._env))
        index = [*_GANTRY, "worker", "indexer"]
        self.keeper.add(Child("indexer", index, log=self.places.log, run=self.places.run, env=self._env))
        self.say("Workers", "scheduler, settler and indexer run")

    def _start_gateway(self) -> None:
        self.places.gateway.mkdir(parents=True, exist_ok=True, mode=0o700)
        command = [*_GANTRY, "worker", "gateway", f"--url={self.url}"]
        command += [f"--state-dir={self.places.gateway}", f"--bind=127.0.0.1:{ports.free_for_both()}"]
        self.keeper.add(Child("gateway", command, log=self.places.log, run=self.places.run, env=self._env))

    def _gateway_address(self) -> str:
        """Once it has said where it is."""
        file = self.places.gateway / "address"
        limit = time.monotonic() + _GATEWAY_SECONDS
        while not file.exists():
            if time.monotonic() > limit:
                raise LocalError("the gateway does not start", f"Its log is {self.places.log / 'gateway.log'}")
            self.keeper.wait(_POLL_SECONDS)
        self.say("Gateway", "runs")
        return file.read_text(encoding="utf-8").strip()

    def _agent_options(self) -> list[str]:
        """Return the options of the agent's commands; waits for the gateway's address."""
        self.places.agent.mkdir(parents=True, exist_ok=True, mode=0o700)
        options = [f"--url={self.url}", f"--state={self.places.agent}", f"--bind=127.0.0.1:{ports.free(_UDP)}"]
        options += [f"--gateway={self._gateway_address()}", "--share-gpus"]
        return [*options, *([f"--simulate={_PROFILE}"] if _simulated() else [])]

    def _start_agent(self, registration: Command, options: list[str]) -> None:
        """Start the agent when the host is registered: both commands use its folder, one at a time."""
        status, _ = registration.finish()
        if status != 0:
            raise LocalError("the host could not be registered", "The reason is above")
        self.say("Host", "registered, with a simulated GPU" if _simulated() else "registered, with this machine's GPUs")
        command = [*_GANTRY, "agent", "run", f"--docker-host={self.engine_url}", *options]
        self.keeper.add(Child("agent", command, log=self.places.log, run=self.places.run, env=self._env))
        self.say("Agent", "runs")

    def _write(self, path: Path, text: str) -> None:
        part = path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)


def _simulated() -> bool:
    """Return whether this machine has no NVIDIA GPU, so that the host offers a simulated one."""
    return not Path("/dev/nvidiactl").exists()


def clean(places: Places) -> bool:
    """End what a network left behind and remove its data, logs excepted. Gives whether anything was running."""
    found = False
    records = sorted(places.run.glob("*.json"), key=lambda path: (path.stem == "docker", path.stem != "supervisor"))
    for record in records:
        if record.stem == "docker":
            continue
        pid = read_record(record)
        if pid is not None and pid != os.getpid():
            found = True
            end(pid, seconds=40 if record.stem == "supervisor" else 10)
        record.unlink(missing_ok=True)
    # Those without a record: commands beside the network, and what a supervisor had just started when it was killed.
    # The kernel ends a child with its parent only once the child has asked for that. Each may have started another
    # process before its own end.
    found = _end_all(lambda: _unrecorded(places)) or found
    found = read_record(places.run / "docker.json") is not None or found
    shared = places.shared_engine_file
    used = [shared.read_text(encoding="utf-8")] if shared.is_file() else []
    had_pods = places.agent.exists()
    engine.sweep(places)
    if had_pods or found:
        _clear(str(places.agent), *used)
    # What the engine had started itself, iptables for example, may outlive it for a moment.
    _end_all(lambda: marked(_MARK, str(places.state)))
    for folder in (places.node, places.workers, places.index, places.gateway, places.agent, places.run):
        shutil.rmtree(folder, ignore_errors=True)
    for file in (places.network_file, places.env_file):
        file.unlink(missing_ok=True)
        # Left by one who was killed while it wrote.
        file.with_suffix(".part").unlink(missing_ok=True)
    return found


def _end_all(look: Callable[[], list[int]]) -> bool:
    """End the processes that `look` finds until it finds none; return whether there were any."""
    found = False
    for _ in range(_LOOKS):
        left = look()
        if not left:
            break
        found = True
        for pid in left:
            end(pid)
    return found


def _unrecorded(places: Places) -> list[int]:
    """Return the processes of a network but for its Docker engine's, which end with the engine."""
    engine_files = os.fsencode(places.sockets)
    return [pid for pid in marked(_MARK, str(places.state)) if engine_files not in command_line(pid)]


def _clear(*what: str) -> None:
    """Have the agent's code take away what the agent made on this machine. See node_agent.drivers.docker.clear."""
    command = [sys.executable, "-m", "node_agent.drivers.docker.clear", *what]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, env=env, check=False, timeout=_CLEAR_SECONDS, stdout=subprocess.DEVNULL)


def _child_env(places: Places) -> dict[str, str]:
    """The children's environment: ours, without what would point them at another network."""
    dropped = (
        "GANTRY_URL",
        "GANTRY_GENESIS",
        "GANTRY_ACCOUNT",
        "GANTRY_GATEWAY",
        "GANTRY_SCHEDULER",
        "GANTRY_DEMO_IMAGE",
        "GANTRY_STARTED",
    )
    env = {name: value for name, value in os.environ.items() if name not in dropped}
    return node.with_certificates(env) | {
        "GANTRY_STATE": str(places.state),
        _MARK: str(places.state),
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
    }
