"""The Docker engine of a local network: the machine's own, or a private one if that does not answer."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

from offchain.devnet import engine_store
from offchain.devnet.paths import DevnetError, DevnetPaths
from offchain.processes import end, process_files, read_record
from offchain.supervisor import Child

_SYSTEM_SOCKET = "/var/run/docker.sock"
_START_SECONDS = 60.0
_POLL_SECONDS = 0.1
_ID = re.compile(r"[0-9a-f]{64}")
_PODS_BRIDGES = "gtr"
"""The prefix of the names of pods' bridges (node_agent.drivers.docker.spec)."""

_LEASE_IMAGES = "gantry-disks"
_LEASE_DISKS = Path("/run/gantry/disks")
"""The folders of leases' file systems, and of their mounts (node_agent.drivers.docker.disks)."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=3)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def answers(url: str) -> bool:
    """Return whether an engine answers at a unix:// or tcp:// address. Raises PermissionError without access to it."""
    scheme, _, rest = url.partition("://")
    connection: http.client.HTTPConnection
    if scheme == "unix":
        connection = _UnixConnection(rest)
    elif scheme in ("tcp", "http"):
        connection = http.client.HTTPConnection(rest.rstrip("/"), timeout=3)
    else:
        return False
    try:
        connection.request("GET", "/_ping")
        return connection.getresponse().status == 200
    except PermissionError:
        raise
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def find() -> str | None:
    """Return the address in DOCKER_HOST, or of the system's socket; None if no engine answers.

    Raises DevnetError if DOCKER_HOST names one that does not answer, or this user has no access to the socket.
    """
    named = os.environ.get("DOCKER_HOST")
    url = named or f"unix://{_SYSTEM_SOCKET}"
    try:
        if answers(url):
            return url
    except PermissionError:
        user = os.environ.get("USER", "$USER")
        raise DevnetError(
            f"the Docker engine at {url} does not let this user in",
            f"Run: sudo usermod -aG docker {user}, and log in again",
        ) from None
    if named:
        raise DevnetError(
            f"the Docker engine at {named} (from DOCKER_HOST) does not answer",
            "Start it, or unset DOCKER_HOST to use this machine's engine",
        )
    return None


class PrivateEngine(Child):
    """An engine of the local network. It can be started again after it was killed at any moment."""

    def __init__(self, command: list[str], paths: DevnetPaths, env: dict[str, str]) -> None:
        super().__init__("docker", command, log=paths.log, run=paths.run, env=env)
        self._paths = paths

    def start(self) -> int:
        self._recover()
        return super().start()

    def _recover(self) -> None:
        """Remove the remains of an engine that was killed."""
        sockets = self._paths.sockets
        # Its containerd is ended with it, by the kernel. An engine takes the number in the file for a containerd that
        # runs, also if it is that of a corpse or of somebody else by now, and waits for it in vain.
        for left in _processes_with(f"{sockets}/exec/containerd/containerd.toml"):
            end(left, term_s=2)
        for record in (sockets / "dockerd.pid", sockets / "exec" / "containerd" / "containerd.pid"):
            record.unlink(missing_ok=True)
        for network in engine_store.repair(self._paths.engine):
            with self.log_path.open("a", encoding="utf-8") as log:
                log.write(f"gantry: the engine was killed while it removed the network {network}, and now ends that\n")


def private_child(paths: DevnetPaths, env: dict[str, str]) -> tuple[Child, str]:
    """Return a private engine, not started yet, and its address. Raises DevnetError if it cannot be run here."""
    program = shutil.which("dockerd") or shutil.which("dockerd", path="/usr/sbin:/sbin:/usr/local/sbin")
    if os.getuid() != 0:
        if program is None:
            raise DevnetError(
                "there is no Docker engine on this machine",
                "Run: sudo apt-get update && sudo apt-get install -y --no-install-recommends docker.io",
            )
        raise DevnetError("the Docker engine is installed but stopped", "Run: sudo systemctl start docker")
    if program is None:
        raise DevnetError("there is no Docker engine on this machine", "Run: scripts/setup")
    paths.sockets.mkdir(parents=True, exist_ok=True, mode=0o700)
    paths.engine.mkdir(parents=True, exist_ok=True, mode=0o711)
    url = f"unix://{paths.sockets}/docker.sock"
    command = [
        program,
        f"--data-root={paths.engine}",
        f"--exec-root={paths.sockets}/exec",
        f"--pidfile={paths.sockets}/dockerd.pid",
        f"--host={url}",
        "--log-level=warn",
        # Each pod has a network of its own; the machine keeps its default bridge to itself.
        "--bridge=none",
    ]
    sbin = "/usr/local/sbin:/usr/sbin:/sbin"
    return PrivateEngine(command, paths, env | {"PATH": f"{env.get('PATH', '')}:{sbin}"}), url


def wait_for(child: Child, url: str) -> None:
    """Wait until the private engine answers. Raises DevnetError if it does not."""
    limit = time.monotonic() + _START_SECONDS
    while time.monotonic() < limit:
        if child.ended() is not None:
            break
        if answers(url):
            return
        time.sleep(_POLL_SECONDS)
    child.stop()
    raise DevnetError(
        f"the Docker engine could not be started:\n{child.last_lines()}",
        f"Fix the cause ({child.log_path}), or start an engine yourself and set DOCKER_HOST",
    )


def remove_private_engine(paths: DevnetPaths) -> None:
    """Stop a private engine that was left behind, and remove its data."""
    record = paths.run / "docker.json"
    pid = read_record(record)
    if pid is not None:
        end(pid, term_s=20)
    record.unlink(missing_ok=True)
    # One that was killed while it started a container leaves that behind, and the shim beside it.
    for left in _in_containers(_containers(paths)):
        end(left, term_s=0)
    for left in _processes_with(f"{paths.sockets}/exec/"):
        end(left, term_s=2)
    for bridge in _bridges_of(paths):
        subprocess.run(["ip", "link", "delete", bridge], check=False, capture_output=True)
    for folder in (paths.engine, paths.sockets):
        _remove(folder)


def _processes_with(text: str) -> list[int]:
    """Return the processes with this text in their command line."""
    wanted = os.fsencode(text)
    return [pid for pid, line in process_files("cmdline") if wanted in line]


def _containers(paths: DevnetPaths) -> set[str]:
    """Return the ids of an engine's containers, with those that only its containerd knows."""
    known = (
        paths.engine / "containers",
        paths.sockets / "exec" / "containerd" / "daemon" / "io.containerd.runtime.v2.task" / "moby",
    )
    return {path.name for folder in known if folder.is_dir() for path in folder.iterdir()}


def _in_containers(containers: set[str]) -> list[int]:
    """Return the processes in the control groups of these containers."""
    return [
        pid
        for pid, groups in process_files("cgroup")
        if not containers.isdisjoint(_ID.findall(groups.decode(errors="replace")))
    ]


def _bridges_of(paths: DevnetPaths) -> list[str]:
    """Return the network interfaces that the engine has created and recorded in its database; it leaves them behind."""
    try:
        book = (paths.engine / "network" / "files" / "local-kv.db").read_bytes()
    except OSError:
        return []
    return [name for _, name in socket.if_nameindex() if name.startswith(_PODS_BRIDGES) and name.encode() in book]


def _remove(folder: Path) -> None:
    """Remove a folder of the engine, after the mounts that a killed engine leaves in it.

    Before these, file systems of leases are unmounted: they are files in the folder, mounted elsewhere.
    """
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    points = [line.split()[1] for line in mounts.splitlines()]
    images = folder / _LEASE_IMAGES
    own = [str(_LEASE_DISKS / path.name) for path in images.iterdir()] if images.is_dir() else []
    for top in (*own, str(folder)):
        for point in sorted((p for p in points if p == top or p.startswith(f"{top}/")), reverse=True):
            # A process that was killed a moment ago may still have a file open there.
            if subprocess.run(["umount", point], check=False, capture_output=True).returncode != 0:
                subprocess.run(["umount", "--lazy", point], check=False, capture_output=True)
    for top in own:
        shutil.rmtree(top, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
