"""A machine of its own, as far as a network goes: a namespace with one cable, a Docker engine, an empty home."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offchain.devnet import engine
from offchain.devnet.paths import ROOT, DevnetPaths
from offchain.supervisor import Child

PATIENCE_S = 240.0
"""Seconds. A limit for a broken machine, not a measure of a good one."""


@dataclass
class Said:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON objects on its lines."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]

    @property
    def last(self) -> dict[str, Any]:
        """The result."""
        assert self.lines, f"exit {self.code}\n{self.out}\n{self.err}"
        return self.lines[-1]


@dataclass
class Machine:
    """One fresh machine. `outside`: where it reaches this one."""

    name: str
    folder: Path
    outside: str
    engine_url: str = ""
    extra: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    """For commands of an agent that has not joined."""
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def state(self) -> Path:
        return self.folder / "home/.local/share/gantry/agent"

    @property
    def env(self) -> dict[str, str]:
        """What a new user's shell has."""
        kept = {name: os.environ[name] for name in ("LANG", "SSL_CERT_FILE") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.folder / "home"),
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "DOCKER_HOST": self.engine_url,
            "GANTRY_STATE": str(self.folder / "net"),
            "PYTHONPATH": str(ROOT),
            "PYTHONSAFEPATH": "1",
            **self.extra,
        }

    def inside(self, *command: str) -> list[str]:
        """The command line that runs a program on this machine."""
        # Not "ip netns exec": that hides /sys/fs/cgroup, which an engine needs.
        return ["nsenter", f"--net=/run/netns/{self.name}", "--", *command]

    def said_by(self, *command: str) -> str:
        """What a program on this machine prints."""
        return subprocess.run(self.inside(*command), capture_output=True, text=True, check=True, env=self.env).stdout

    def agent(self, *arguments: str, env: dict[str, str] | None = None) -> Said:
        """`gantry agent ...` on this machine, to its end."""
        done = subprocess.run(
            self.inside(sys.executable, "-m", "offchain.cli", "agent", *arguments),
            env=self.env | (env or {}),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def start_agent(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """`gantry agent ...` on this machine, to be read and waited for."""
        process = subprocess.Popen(
            self.inside(sys.executable, "-m", "offchain.cli", "agent", *arguments),
            env=self.env | (env or {}),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def status(self) -> dict[str, Any]:
        """`gantry agent status --json`."""
        return self.agent("status", "--json", *self.options).last

    def until(self, holds: Callable[[dict[str, Any]], Any], what: str) -> dict[str, Any]:
        """The status, once something holds for it."""
        limit_s = time.monotonic() + PATIENCE_S
        found: dict[str, Any] = {}
        while time.monotonic() < limit_s:
            found = self.status()
            if holds(found):
                return found
            time.sleep(0.5)
        ended = [one.stdout.read() for one in self.started if one.poll() is not None and one.stdout is not None]
        raise AssertionError("\n".join([f"waited in vain for {what}: {json.dumps(found)}", self.log(), *ended]))

    def log(self) -> str:
        return self.agent("logs", "--lines", "80").out


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def machine(folder: Path, number: int, extra: dict[str, str] | None = None) -> Iterator[Machine]:
    """A fresh machine, and nothing of it afterwards. `number` tells machines of one test apart."""
    mark = secrets.token_hex(3)
    name, cable = f"gtj{mark}", f"gj{mark}"
    net = f"10.{200 + number}.{int(mark[:2], 16)}"
    (folder / "home").mkdir(parents=True)
    found = Machine(name, folder, f"{net}.1", extra=extra or {})
    child: Child | None = None
    try:
        ip("netns", "add", name)
        ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("address", "add", f"{net}.1/30", "dev", cable)
        ip("link", "set", cable, "up")
        for words in (
            ("address", "add", f"{net}.2/30", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
            ("route", "add", "default", "via", f"{net}.1"),
        ):
            ip("-n", name, *words)
        places = DevnetPaths(folder / "net")
        child, found.engine_url = engine.private_child(places, {**os.environ, "HOME": str(folder / "home")})
        child.command = found.inside(*child.command)
        child.start()
        engine.wait_for(child, found.engine_url)
        yield found
    finally:
        for process in found.started:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        _stop_service(found)
        if child is not None:
            child.stop()
            engine.remove_private_engine(DevnetPaths(folder / "net"))
        for words in (("netns", "delete", name), ("link", "delete", cable)):
            subprocess.run(["ip", *words], check=False, capture_output=True)


def _stop_service(found: Machine) -> None:
    program = (
        "import sys; from pathlib import Path; from node_agent.install.service import SupervisedService; "
        "SupervisedService(Path(sys.argv[1])).remove()"
    )
    if found.state.is_dir():
        subprocess.run([sys.executable, "-c", program, str(found.state)], env=found.env, check=False, timeout=120)
