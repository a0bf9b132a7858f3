"""The network that is killed: node, engine, scheduler, settler, indexer and some agents, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import docker
import docker.errors

from offchain.devnet import engine, node, node_rpc, ports
from offchain.devnet.network import network_supervisor
from offchain.devnet.paths import ROOT, DevnetError, DevnetPaths
from offchain.devnet.release import binaries
from offchain.supervisor import Child

PROVIDER, SCHEDULER, SETTLER = "//Bob", "//Dave", "//Eve"
PATCH = {
    # A killed process is away for some seconds, not lost. Failures of one provider count once, whatever their number.
    "tasks": {"params": {"maxAttempts": 16, "maxRefusals": 16, "reportGraceMs": 120_000}},
    "hosts": {"params": {"absenceLimitMs": 120_000}},
}
_NODE_SECONDS = 60.0
_BUILT_IN = ("bridge", "host", "none")
_POLL_S = 0.2
Say = Callable[[str], None]


class FaultNet:
    """Everything that runs. All methods belong to one thread: the kernel ends children with the thread behind them."""

    def __init__(self, folder: Path, hosts: int, say: Say, slot_ms: int) -> None:
        self.places = DevnetPaths(folder)
        self.keeper = network_supervisor()
        self.children: dict[str, Child] = {}
        self.port = ports.free()
        self.url = f"ws://{node_rpc.LOOPBACK}:{self.port}"
        self.engine_url = ""
        self.image = ""
        self._hosts = hosts
        self._say = say
        self._patch = {**PATCH, "validators": {"slotMs": slot_ms}}
        self._env = _environment(self.places)
        self._binaries = binaries()

    @property
    def index(self) -> Path:
        """The indexer's database."""
        return self.places.state / "index" / "index.db"

    def agent_state(self, name: str) -> Path:
        """An agent's folder."""
        return self.places.state / name

    def start(self) -> None:
        """Everything up. From then on a process that dies is started again."""
        engine_child, self.engine_url = engine.private_child(self.places, self._env)
        self._env["DOCKER_HOST"] = self.engine_url
        self._keep(engine_child)
        self._keep(self._node())
        engine.wait_for(engine_child, self.engine_url)
        self._await_node()
        self._load_image()
        facts = {"url": self.url, "genesis_hash": node_rpc.genesis_hash(self.port), "docker_host": self.engine_url}
        self.places.network_file.write_text(json.dumps(facts) + "\n", encoding="utf-8")
        self._worker("scheduler", f"--account={SCHEDULER}", f"--state-dir={self.places.state / 'scheduler'}")
        self._worker("settler", f"--account={SETTLER}", f"--state-dir={self.places.state / 'settler'}")
        self._worker("indexer", f"--index={self.index}")
        for number in range(self._hosts):
            self._agent(f"agent-{number}")
        self.keeper.starting = False

    def kill(self, name: str) -> bool:
        """kill -9; False where it is just dead."""
        process = self.children[name].process
        if process is None or process.poll() is not None:
            return False
        process.send_signal(signal.SIGKILL)
        return True

    def stop(self) -> None:
        """Everything down, and the engine's data gone."""
        self.keeper.stop()
        engine.remove_private_engine(self.places)

    def objects(self) -> dict[str, list[str]]:
        """What the engine has of tasks: containers, networks, volumes, by kind."""
        client = docker.DockerClient(base_url=self.engine_url, timeout=30)
        try:
            return {
                "container": [
                    f"{one.name} ({one.status})" for one in client.containers.list(all=True, ignore_removed=True)
                ],
                "network": [one.name for one in client.networks.list() if one.name not in _BUILT_IN],
                "volume": [one.name for one in client.volumes.list()],
            }
        finally:
            client.close()

    def last_lines(self, count: int = 20) -> str:
        """The end of every log, for a run that went wrong."""
        return "\n".join(f"--- {name}\n{child.last_lines(count)}" for name, child in self.children.items())

    def _keep(self, child: Child) -> None:
        self.children[child.name] = self.keeper.add(child)

    def _child(self, name: str, *command: str) -> None:
        line = [sys.executable, "-m", "offchain.cli", *command]
        self._keep(Child(name, line, log=self.places.log, run=self.places.run, env=self._env))

    def _node(self) -> Child:
        spec = node.write_spec(self._binaries, self.places.node, self._patch)
        line = node.command(
            self._binaries,
            spec,
            self.places.node / "data",
            *node.AUTHOR,
            *node.LIMITS,
            "--rpc-max-connections=1000",
            rpc_port=self.port,
        )
        return Child("node", line, log=self.places.log, run=self.places.run, env=self._env)

    def _await_node(self) -> None:
        limit = time.monotonic() + _NODE_SECONDS
        while node_rpc.genesis_hash(self.port) is None:
            if time.monotonic() > limit:
                raise DevnetError(f"the node does not answer at {self.url}", f"Its log is in {self.places.log}")
            self.keeper.wait(_POLL_S)

    def _load_image(self) -> None:
        command = [sys.executable, "-m", "offchain.devnet.demo_image"]
        done = subprocess.run(command, env=self._env, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise DevnetError("the demo's image could not be made", "The reason is above")
        self.image = done.stdout.strip()

    def _worker(self, role: str, *options: str) -> None:
        self._child(role, "worker", role, f"--url={self.url}", *options)
        self._say(f"{role} runs")

    def _agent(self, name: str) -> None:
        address = f"127.0.0.1:{ports.free(socket.SOCK_DGRAM)}"
        common = [f"--url={self.url}", f"--state={self.agent_state(name)}", f"--bind={address}", "--simulate=rtx4090"]
        line = [sys.executable, "-m", "offchain.cli", "agent", "register", f"--provider={PROVIDER}", "--region=local"]
        with (self.places.log / f"{name}.log").open("ab") as log:
            status = subprocess.run([*line, *common], env=self._env, stdout=log, stderr=log, check=False).returncode
        if status != 0:
            raise DevnetError(f"{name} could not be registered", f"The reason is in {self.places.log}")
        self._child(name, "agent", "run", f"--docker-host={self.engine_url}", *common)
        self._say(f"{name} runs")


def _environment(places: DevnetPaths) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("GANTRY_") or name == "GANTRY_CACHE"
    }
    kept.pop("DOCKER_HOST", None)
    return node.with_certificates(kept) | {
        "GANTRY_STATE": str(places.state),
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
    }
