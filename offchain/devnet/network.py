"""A local network: the order in which its processes are started and stopped."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from offchain.devnet import engine, node, node_rpc, ports
from offchain.devnet.cleanup import MARK
from offchain.devnet.monitoring import MonitoringFolder, MonitoringPrograms
from offchain.devnet.paths import ROOT, DevnetError, DevnetPaths
from offchain.devnet.release import Binaries
from offchain.devnet.verifiers import verifier_commands
from offchain.files import replace_file
from offchain.processes import die_with_parent
from offchain.supervisor import Child, Supervisor

PROVIDER = "//Bob"
TENANT = "//Charlie"
SCHEDULER = "//Dave"
OPERATOR = "//Alice"
"""The account with the role of an operator in the console."""
_SIMULATED_GPU = "rtx4090"
"""The profile of a simulated GPU, if the machine has no NVIDIA driver."""
_GANTRY = (sys.executable, "-m", "offchain.cli")
_REGISTER = (f"--provider={PROVIDER}", "--region=local", "--wait-for=included")
_UDP = socket.SOCK_DGRAM
_MEASURED = ("node", "workers", "indexer", "gateway", "agent")
"""Processes with metrics for Prometheus (docs/monitoring.md)."""
_NODE_SECONDS = 60.0
_GATEWAY_SECONDS = 60.0
_POLL_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 10.0
_STEADY_SECONDS = 30.0


def network_supervisor() -> Supervisor:
    """Return a supervisor that raises DevnetError if a child does not start."""
    return Supervisor(longest_pause_s=_LONGEST_PAUSE_SECONDS, steady_s=_STEADY_SECONDS, give_up=_give_up)


def _give_up(child: Child) -> None:
    raise DevnetError(
        f"{child.name} ends as soon as it is started. Its last lines:\n{child.last_lines()}",
        f"The whole log is {child.log_path}",
    )


class BackgroundCommand:
    """A command that runs beside the network until `finish` returns or `stop` ends it."""

    def __init__(self, command: list[str], env: Mapping[str, str], supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        # Errors and progress go to the terminal.
        self._process = subprocess.Popen(
            [*die_with_parent(), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env
        )

    def finish(self) -> tuple[int, str]:
        """Wait for its end while supervising the network, and return its exit status and standard output."""
        assert self._process.stdout is not None  # noqa: S101  (asked for above)
        chunks: list[bytes] = []
        fd = self._process.stdout.fileno()
        while True:
            if self._supervisor.wait(3600, fd):
                chunk = os.read(fd, 65536)
                if not chunk:
                    break
                chunks.append(chunk)
        self._process.stdout.close()
        return self._process.wait(), b"".join(chunks).decode()

    def stop(self) -> None:
        """End it if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
        with self._process:
            pass


class LocalNetwork:
    """A node, a gateway, the workers, one agent, and an engine if there is none."""

    def __init__(
        self,
        paths: DevnetPaths,
        binaries: Binaries,
        rpc_port: int,
        say: Callable[[str, str], None],
        genesis_patch: Mapping[str, Any] | None = None,
        monitoring: MonitoringPrograms | None = None,
        *,
        is_verified: bool = False,
    ) -> None:
        """`is_verified`: whether the host answers challenges, of the verifiers that `start_verifiers` starts."""
        self.paths = paths
        self.binaries = binaries
        self.rpc_port = rpc_port
        self.say = say
        self.genesis_patch = genesis_patch
        self.supervisor = network_supervisor()
        self.url = f"ws://127.0.0.1:{rpc_port}"
        self.engine_url = ""
        self.metrics = {name: f"127.0.0.1:{ports.free()}" for name in _MEASURED}
        """Where the processes serve metrics, by name."""
        self.is_verified = is_verified
        self._programs = monitoring
        self._monitoring: MonitoringFolder | None = None
        if monitoring is not None:
            served = [f"127.0.0.1:{ports.free()}" for _ in range(4)]
            self._monitoring = MonitoringFolder(paths.monitoring, *served[:3])
            self.metrics["notifier"] = served[3]
        self._env = _child_env(paths)
        self._commands: list[BackgroundCommand] = []

    def start(self) -> None:
        """Start everything, load the demo's image, and write the network's files for the gantry command.

        The host's registration waits for a block; the workers start and the image is loaded meanwhile.
        """
        genesis = self.start_base()
        answers = f"127.0.0.1:{ports.free()}"
        self._start_gateway(answers)
        image = self._begin([sys.executable, "-m", "offchain.devnet.demo_image"])
        facts: dict[str, object] = {"url": self.url, "genesis_hash": genesis, "docker_host": self.engine_url}
        facts["schedulers"] = [f"http://{answers}"]
        facts["metrics"] = {name: f"http://{address}/metrics" for name, address in self.metrics.items()}
        replace_file(self.paths.network_file, json.dumps(facts) + "\n", mode=0o644)
        options = self._agent_options()
        if self.is_verified:
            options.append("--answer-challenges")
        registration = self.begin("agent", "register", *_REGISTER, *options)
        self._start_workers(answers)
        self._image_loaded(image)
        host = self._start_agent(registration, options)
        if self._programs is not None and self._monitoring is not None:
            self._start_monitoring(self._programs, self._monitoring, host)

    def start_verifiers(self) -> None:
        """Start the verifiers. They challenge the host, so it is not in the way of a first task."""
        for name, command in verifier_commands(self.paths.workers):
            self.supervisor.add(Child(name, command, log=self.paths.log, run=self.paths.run, env=self._env))
        self.say("Verifiers", "run: they challenge the host to prove its GPU")

    def start_base(self) -> str:
        """Start engine and node only, and return the genesis hash."""
        docker = self._start_engine()
        self._start_node()
        if docker is not None:
            engine.wait_for(docker, self.engine_url)
        self._env["DOCKER_HOST"] = self.engine_url
        self.say("Docker engine", "private" if docker is not None else self.engine_url)
        return self._await_node()

    def stop(self) -> None:
        """Stop everything, the last started first; the engine's containers before the engine."""
        self.paths.network_file.unlink(missing_ok=True)
        self.paths.env_file.unlink(missing_ok=True)
        for command in self._commands:
            command.stop()
        self.supervisor.stop()

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run a gantry command beside the network, and return its exit status and standard output."""
        return self.begin(*arguments).finish()

    def begin(self, *arguments: str) -> BackgroundCommand:
        """Start a gantry command beside the network."""
        return self._begin([*_GANTRY, *arguments])

    def _begin(self, command: list[str]) -> BackgroundCommand:
        begun = BackgroundCommand(command, self._env, self.supervisor)
        self._commands.append(begun)
        return begun

    def _start_engine(self) -> Child | None:
        found = engine.find()
        if found is not None:
            self.engine_url = found
            self.paths.run.mkdir(parents=True, exist_ok=True)
            self.paths.shared_engine_file.write_text(found, encoding="utf-8")
            return None
        child, self.engine_url = engine.private_child(self.paths, self._env)
        return self.supervisor.add(child)

    def _start_node(self) -> None:
        command = node.command(
            self.binaries,
            node.write_spec(self.binaries, self.paths.node, self.genesis_patch),
            self.paths.node / "data",
            *node.AUTHOR,
            *node.LIMITS,
            "--rpc-max-connections=1000",
            # The SDK's default origins, and no method that changes the node: pages in a browser here reach this port.
            "--rpc-methods=safe",
            rpc_port=self.rpc_port,
            metrics_port=int(self.metrics["node"].rpartition(":")[2]),
        )
        env = node.frugal(self._env)
        self.supervisor.add(Child("node", command, log=self.paths.log, run=self.paths.run, env=env))

    def _await_node(self) -> str:
        limit = time.monotonic() + _NODE_SECONDS
        while time.monotonic() < limit:
            genesis = node_rpc.genesis_hash(self.rpc_port)
            if genesis is not None:
                self.say("Node", f"listens at {self.url}")
                return genesis
            self.supervisor.wait(_POLL_SECONDS)
        raise DevnetError(f"the node does not answer at {self.url}", f"Its log is {self.paths.log / 'node.log'}")

    def _image_loaded(self, loading: BackgroundCommand) -> None:
        status, output = loading.finish()
        if status != 0:
            raise DevnetError("the demo's image could not be made", "The reason is above")
        reference = output.strip()
        replace_file(self.paths.env_file, f"GANTRY_DEMO_IMAGE={reference}\n", mode=0o644)
        self.say("Demo image", reference)

    def _start_workers(self, answers: str) -> None:
        self.paths.workers.mkdir(parents=True, exist_ok=True, mode=0o700)
        command = [*_GANTRY, "worker", "all"]
        command += [f"--account={SCHEDULER}", f"--state-dir={self.paths.workers}", f"--answers={answers}"]
        command.append(f"--metrics={self.metrics['workers']}")
        self.supervisor.add(Child("workers", command, log=self.paths.log, run=self.paths.run, env=self._env))
        index = [*_GANTRY, "worker", "indexer", f"--metrics={self.metrics['indexer']}"]
        self.supervisor.add(Child("indexer", index, log=self.paths.log, run=self.paths.run, env=self._env))
        self.say("Workers", "scheduler, settler and indexer run")

    def _start_gateway(self, answers: str) -> None:
        self.paths.gateway.mkdir(parents=True, exist_ok=True, mode=0o700)
        command = [*_GANTRY, "worker", "gateway", f"--url={self.url}"]
        command += [f"--state-dir={self.paths.gateway}", f"--bind=127.0.0.1:{ports.free_for_both()}"]
        api = f"127.0.0.1:{ports.free()}"
        command += [f"--http={api}", f"--http-domain={api}", "--development", f"--http-operator={OPERATOR}"]
        command += [f"--scheduler=http://{answers}", f"--index={self.paths.index / 'index.db'}"]
        if self._monitoring is not None:
            command.append(f"--prometheus={self._monitoring.prometheus_url}")
        command.append(f"--metrics={self.metrics['gateway']}")
        self.supervisor.add(Child("gateway", command, log=self.paths.log, run=self.paths.run, env=self._env))

    def _gateway_address(self) -> str:
        """Wait for the gateway's address, and return it."""
        file = self.paths.gateway / "address"
        limit = time.monotonic() + _GATEWAY_SECONDS
        while not file.exists():
            if time.monotonic() > limit:
                raise DevnetError("the gateway does not start", f"Its log is {self.paths.log / 'gateway.log'}")
            self.supervisor.wait(_POLL_SECONDS)
        url = (self.paths.gateway / "api-url").read_text(encoding="utf-8").strip()
        self.say("Gateway", f"runs; its HTTP API is {url}/v1")
        self.say("Console", f"{url}/ in a browser: explorer, market, launch, provider, operator")
        return file.read_text(encoding="utf-8").strip()

    def _agent_options(self) -> list[str]:
        """Wait for the gateway's address, and return the options of the agent's commands."""
        self.paths.agent.mkdir(parents=True, exist_ok=True, mode=0o700)
        options = [f"--url={self.url}", f"--state={self.paths.agent}", f"--bind=127.0.0.1:{ports.free(_UDP)}"]
        options += [f"--gateway={self._gateway_address()}", "--share-gpus"]
        return [*options, *([f"--simulate={_SIMULATED_GPU}"] if _simulated() else [])]

    def _start_agent(self, registration: BackgroundCommand, options: list[str]) -> str:
        """Start the agent when the host is registered: both commands use its folder, one at a time.

        Return the address of the host.
        """
        status, output = registration.finish()
        registered = re.search(r"Host (\w+) is registered", output)
        if status != 0:
            raise DevnetError("the host could not be registered", "The reason is above")
        self.say("Host", "registered, with a simulated GPU" if _simulated() else "registered, with this machine's GPUs")
        command = [*_GANTRY, "agent", "run", f"--docker-host={self.engine_url}", *options]
        command.append(f"--metrics={self.metrics['agent']}")
        self.supervisor.add(Child("agent", command, log=self.paths.log, run=self.paths.run, env=self._env))
        self.say("Agent", "runs")
        served = ", ".join(f"http://{address}/metrics ({name})" for name, address in self.metrics.items())
        self.say("Metrics", served)
        return "" if registered is None else registered[1]

    def _start_monitoring(self, programs: MonitoringPrograms, files: MonitoringFolder, host: str) -> None:
        files.write()
        files.set_targets(self.metrics, {self.metrics["agent"]: host})
        notifier = [*_GANTRY, "worker", "notifier", f"--index={self.paths.index / 'index.db'}"]
        notifier += [f"--alerts={files.notifier}", f"--alerts-token-file={files.token_file}"]
        notifier.append(f"--metrics={self.metrics['notifier']}")
        for name, command in (
            ("notifier", notifier),
            ("alertmanager", files.alertmanager_command(programs)),
            ("prometheus", files.prometheus_command(programs)),
        ):
            self.supervisor.add(Child(name, command, log=self.paths.log, run=self.paths.run, env=self._env))
        self.say("Monitoring", f"Prometheus is at {files.prometheus_url}; the console shows its alerts to Alice")


def _simulated() -> bool:
    """Return whether this machine has no NVIDIA GPU, so that the host offers a simulated one."""
    return not Path("/dev/nvidiactl").exists()


def _child_env(paths: DevnetPaths) -> dict[str, str]:
    """Return the environment of child processes, without variables that name another network."""
    dropped = (
        "GANTRY_URL",
        "GANTRY_GENESIS",
        "GANTRY_ACCOUNT",
        "GANTRY_GATEWAY",
        "GANTRY_SCHEDULER",
        "GANTRY_DEMO_IMAGE",
        "GANTRY_STARTED",
        "GANTRY_AGENT_METRICS",
        "GANTRY_PROMETHEUS",
        "GANTRY_HTTP_OPERATOR",
        "GANTRY_EMAILS",
        "GANTRY_SMTP",
        "GANTRY_SMTP_FROM",
    )
    env = {name: value for name, value in os.environ.items() if name not in dropped}
    return node.with_certificates(env) | {
        "GANTRY_STATE": str(paths.state),
        MARK: str(paths.state),
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
        "GANTRY_RESTART_BY": OPERATOR,
    }
