"""A Docker engine with Compose for tests of docker-compose.yml, in a network namespace of its own.

Published ports, bridges and firewall rules stay in the namespace. It reaches package registries through slirp4netns,
which needs no address and no rule of this machine. Image layers stay in the cache between runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offchain.devnet import engine
from offchain.devnet.paths import ROOT, cache_dir

OUTSIDE_ADDRESS = "10.0.2.100"
"""Address at which other machines would reach the engine's one."""
_PROGRAMS = ("dockerd", "docker", "slirp4netns", "unshare", "nsenter", "ip")
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
_KEPT = "168h"
"""How long layers of builds are kept."""
_START_S = 60.0
_END_S = 60.0
_COMMAND_S = 900.0
_IN_NAMESPACE = 'ip link set lo up && read -r _ && exec "$@" </dev/null'


def search_path() -> str:
    """Return PATH with the folders of system programs."""
    return f"{os.environ.get('PATH', '')}:{_SBIN}"


def compose_command() -> tuple[str, ...] | None:
    """Return the command of Compose on this machine: the plugin of docker, else docker-compose; None without either."""
    if shutil.which("docker"):
        plugin = subprocess.run(["docker", "compose", "version"], check=False, capture_output=True)
        if plugin.returncode == 0:
            return ("docker", "compose")
    return ("docker-compose",) if shutil.which("docker-compose") else None


def missing() -> list[str]:
    """Return what this machine lacks to run the engine."""
    lacking = [name for name in _PROGRAMS if shutil.which(name, path=search_path()) is None]
    if compose_command() is None:
        lacking.append("docker compose")
    if os.geteuid() != 0:
        lacking.append("root")
    return lacking


@dataclass(frozen=True)
class ComposeEngine:
    """A running engine. `pid`: its process; `command`: that of Compose."""

    pid: int
    url: str
    command: tuple[str, ...]

    @property
    def env(self) -> dict[str, str]:
        """Return the environment of programs that use the engine."""
        return {**os.environ, "PATH": search_path(), "DOCKER_HOST": self.url}

    def inside(self, *command: str) -> list[str]:
        """Return the command line that runs a program in the engine's network namespace."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *command]

    def docker(self, *arguments: str) -> str:
        """Return what a docker command prints; it must succeed."""
        return checked(["docker", *arguments], env=self.env)

    def inspect(self, *containers: str) -> list[dict[str, Any]]:
        """Return what the engine knows about containers."""
        found: list[dict[str, Any]] = json.loads(self.docker("inspect", *containers)) if containers else []
        return found

    def answers_at(self, address: str, port: int) -> bool:
        """Return whether something listens at a TCP port, seen from the engine's machine."""
        command = self.inside("bash", "-c", f"exec 3<>/dev/tcp/{address}/{port}")
        return subprocess.run(command, check=False, capture_output=True, timeout=30).returncode == 0

    def make_base_image(self) -> None:
        """Run scripts/base-image, unless the engine has the image of this lock and these certificates."""
        script = ROOT / "scripts" / "base-image"
        certificates = sorted(Path("/usr/local/share/ca-certificates").rglob("*.crt"))
        inputs = (script, script.with_name("base-image.lock"), *certificates)
        key = hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()[:16]
        if f"gantry-base:{key}" not in self.docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}").split():
            checked([str(script)], env=self.env)
            self.docker("tag", "gantry-base:bookworm", f"gantry-base:{key}")


def checked(command: Sequence[str], *, env: Mapping[str, str], cwd: Path = ROOT) -> str:
    """Return the standard output of a command. Raises AssertionError, with all that it printed, where it fails."""
    done = subprocess.run(
        command,
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_COMMAND_S,
    )
    assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@contextlib.contextmanager
def compose_engine(folder: Path) -> Iterator[ComposeEngine]:
    """Run the engine; `folder` is for its socket and log, with a short path. No containers or volumes are left."""
    command = compose_command()
    assert command is not None, "there is no Compose"
    store = cache_dir() / "compose-engine"
    store.mkdir(parents=True, exist_ok=True, mode=0o711)
    with (store / "lock").open("w", encoding="utf-8") as lock, contextlib.ExitStack() as stack:
        fcntl.flock(lock, fcntl.LOCK_EX)
        url = f"unix://{folder}/docker.sock"
        stack.callback(_unmount, folder)
        pid = _start(folder, store / "data", url, stack)
        found = ComposeEngine(pid, url, command)
        # Those of an earlier run that was killed would start again.
        _remove_containers(found)
        stack.callback(_remove_containers, found)
        yield found


def _start(folder: Path, data: Path, url: str, stack: contextlib.ExitStack) -> int:
    """Start the engine and its way out; return the engine's pid."""
    log = stack.enter_context((folder / "engine.log").open("wb"))
    dockerd = [
        *("dockerd", f"--data-root={data}", f"--exec-root={folder}/exec", f"--pidfile={folder}/dockerd.pid"),
        *(f"--host={url}", "--log-level=warn"),
    ]
    process = subprocess.Popen(
        ["unshare", "--net", "--", "sh", "-c", _IN_NAMESPACE, "sh", *dockerd],
        env={**os.environ, "PATH": search_path()},
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
    )
    stack.callback(_end, process)
    _wait_for_namespace(process)
    way_out = subprocess.Popen(
        ["slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", str(process.pid), "tap0"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    stack.callback(_end, way_out)
    assert process.stdin is not None
    with process.stdin as starting:
        starting.write(b"start\n")
    limit = time.monotonic() + _START_S
    while not engine.answers(url):
        text = (folder / "engine.log").read_text(encoding="utf-8", errors="replace")
        assert process.poll() is None, text
        assert way_out.poll() is None, text
        assert time.monotonic() < limit, text
        time.sleep(0.1)
    return process.pid


def _wait_for_namespace(process: subprocess.Popen[bytes]) -> None:
    own = Path("/proc/self/ns/net").stat().st_ino
    limit = time.monotonic() + _START_S
    while Path(f"/proc/{process.pid}/ns/net").stat().st_ino == own:
        assert process.poll() is None, "unshare failed"
        assert time.monotonic() < limit, "unshare does not end"
        time.sleep(0.01)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _unmount(folder: Path) -> None:
    """Remove what an engine leaves mounted in its folder: the network namespaces of containers."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    for point in sorted((line.split()[1] for line in lines), reverse=True):
        if Path(point).is_relative_to(folder):
            subprocess.run(["umount", "--lazy", point], check=True, capture_output=True)


def _remove_containers(found: ComposeEngine) -> None:
    if containers := found.docker("container", "ls", "--all", "--quiet").split():
        found.docker("container", "rm", "--force", "--volumes", *containers)
    if volumes := found.docker("volume", "ls", "--quiet").split():
        found.docker("volume", "rm", *volumes)
    # Layers of newer builds are the cache of the next one.
    found.docker("image", "prune", "--force", "--filter", f"until={_KEPT}")
    found.docker("builder", "prune", "--force", "--filter", f"until={_KEPT}")
