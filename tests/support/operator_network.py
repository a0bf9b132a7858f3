"""The network of an operator, as docs/operations.md says: a copy of the clone, an .env file, accounts, Compose."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offchain.devnet import demo_image
from offchain.devnet.paths import ROOT
from tests.support.compose_engine import ComposeEngine, checked
from tests.support.compose_files import merged

WORKERS_USER = 10001
OPERATOR_FILES = "docker-compose.yml:docker-compose.operator.yml"
EVERYTHING = "monitoring,verifier,notifier"
_FETCH = """
import sys
from urllib.request import Request, urlopen
request = Request(sys.argv[1], sys.argv[2].encode() or None, {"Content-Type": "application/json"})
sys.stdout.write(urlopen(request, timeout=20).read().decode())
"""
PATIENCE_S = 400.0
"""Seconds. A limit for a broken network, not a measure of a good one."""


def copy_clone(folder: Path) -> None:
    """Copy the files of the clone that git knows or would take, as an operator has them."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, target = ROOT / name, folder / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


@dataclass
class OperatorNetwork:
    """Services of the compose files in `folder`, on an engine. `values`: what its .env file has beside the example."""

    engine: ComposeEngine
    folder: Path
    values: dict[str, str] = field(default_factory=dict)
    passwords: list[str] = field(default_factory=list)
    """Text that must be in files alone."""

    @property
    def home(self) -> Path:
        """Return the home of the operator's own commands, with the accounts."""
        return self.folder / "home"

    def write_settings(self, values: Mapping[str, str]) -> None:
        """Write .env: the example, then these values and those that this engine needs."""
        self.values |= values
        own = {
            "GANTRY_DOCKER_SOCKET": self.engine.url.removeprefix("unix://"),
            "GANTRY_AGENT_STATE": str(self.folder / "agent"),
        }
        lines = [f"{name}={value}" for name, value in (own | self.values).items()]
        example = (self.folder / "examples" / "operator.env").read_text(encoding="utf-8").splitlines()
        kept = [line for line in example if line.partition("=")[0] not in self.values]
        (self.folder / ".env").write_text("\n".join([*kept, *lines, ""]), encoding="utf-8")

    def compose(self, *arguments: str, **settings: str) -> str:
        """Return what a command of Compose prints; it must succeed. `settings`: variables over those in .env."""
        return checked([*self.engine.command, *arguments], env=self.engine.env | settings, cwd=self.folder)

    def gantry(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """Return what a gantry command on the engine's machine prints; it must succeed."""
        command = self.engine.inside(sys.executable, "-m", "offchain.cli", *arguments)
        own = {"HOME": str(self.home), "GANTRY_STATE": "/nonexistent", "GANTRY_URL": "ws://127.0.0.1:9944"}
        return checked(command, env={**os.environ, **own, "PYTHONPATH": str(ROOT), **(env or {})})

    def secret(self, name: str) -> str:
        """Make a file with a random password that the workers alone may read; return its path below the folder."""
        password = secrets.token_hex(16)
        self.passwords.append(password)
        path = self._private("secrets") / name
        path.write_text(password + "\n", encoding="utf-8")
        path.chmod(0o400)
        os.chown(path, WORKERS_USER, WORKERS_USER)
        return f"./secrets/{name}"

    def create_account(self, name: str, password_file: str) -> None:
        """Create an account, and give its keystore to the workers."""
        self.home.mkdir(exist_ok=True)
        self.gantry("account", "create", name, f"--password-file={self.folder / password_file}")
        keystore = self._private("accounts") / f"{name}.json"
        shutil.copyfile(self.home / ".config" / "gantry" / "accounts" / f"{name}.json", keystore)
        keystore.chmod(0o400)
        os.chown(keystore, WORKERS_USER, WORKERS_USER)

    def _private(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True, mode=0o500)
        os.chown(folder, WORKERS_USER, WORKERS_USER)
        return folder

    def containers(self, **settings: str) -> dict[str, dict[str, Any]]:
        """Return what the engine knows about each service's container, by the name of the service."""
        ids = self.compose("ps", "--all", "--quiet", **settings).split()
        return {one["Config"]["Labels"]["com.docker.compose.service"]: one for one in self.engine.inspect(*ids)}

    def until(
        self, holds: Callable[[dict[str, dict[str, Any]]], Any], wanted: str, services: Collection[str], **settings: str
    ) -> None:
        """Wait until something holds for the containers. Fails with the last lines of the services' logs."""
        limit = time.monotonic() + PATIENCE_S
        while not holds(found := self.containers(**settings)):
            if time.monotonic() > limit:
                states = {name: one["State"] for name, one in found.items() if name in services}
                logs = self.compose("logs", "--tail=15", *services, **settings)
                raise AssertionError(f"waited in vain for {wanted}: {states}\n{logs}")
            time.sleep(1)

    def until_healthy(self, *services: str, **settings: str) -> None:
        """Wait until the health checks of services succeed."""

        def are_healthy(found: dict[str, dict[str, Any]]) -> bool:
            return all(name in found and health(found[name]) == "healthy" for name in services)

        self.until(are_healthy, f"{', '.join(services)} to be healthy", services, **settings)

    def run_job(self) -> str:
        """Run examples/primes.yaml until it is settled; return its output."""
        image = demo_image.load(self.engine.url)
        variables = {"GANTRY_DEMO_IMAGE": image, "LIMIT": "1000"}
        return self.gantry("submit", "examples/primes.yaml", "--account=//Charlie", "--wait", env=variables)

    def fetched(self, url: str, body: str = "") -> str:
        """Return the body of an answer by HTTP on the engine's machine; `body`: JSON to post."""
        return checked(self.engine.inside(sys.executable, "-c", _FETCH, url, body), env=self.engine.env)

    def services(self) -> list[str]:
        """Return the names of the services that the settings start: docker-compose 1.29 lists all of the files."""
        found = merged(*(self.folder / name for name in OPERATOR_FILES.split(":")))
        profiles = set(EVERYTHING.split(","))
        return [name for name, service in found.items() if profiles & set(service.get("profiles", profiles))]


def health(container: dict[str, Any]) -> str:
    """Return the state of a container's health check: none, starting, healthy or unhealthy."""
    found: str = container["State"].get("Health", {}).get("Status", "none")
    return found if container["State"]["Running"] else "stopped"
