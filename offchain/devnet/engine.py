"""A Docker engine: the machine's own where it answers, else a private one that belongs to the local network."""

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
from offchain.devnet.paths import LocalError, Places
from offchain.devnet.processes import Child, end, read_record

_SYSTEM_SOCKET = "/var/run/docker.sock"
_START_SECONDS = 60.0
_POLL_SECONDS = 0.1
_ID = re.compile(r"[0-9a-f]{64}")
_PODS_BRIDGES = "gtr"
"""What the names of pods' bridges begin with (node_agent.drivers.docker.spec)."""

_LEASE_IMAGES = "gantry-disks"
_LEASE_DISKS = Path("/run/gantry/disks")
"""Where leases' file systems are, and where they are mounted (node_agent.drivers.docker.disks)."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=3)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def answers(url: str) -> bool:
    """Whether an engine answers at a unix:// or tcp:// address. Raises PermissionError where we may not ask it."""
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
    """The address of an engine that is there: DOCKER_HOST, or the system's socket. None where none answers.

    Raises LocalError where DOCKER_HOST names one that does not answer, or the socket is closed to us.
    """
    named = os.environ.get("DOCKER_HOST")
    url = named or f"unix://{_SYSTEM_SOCKET}"
    try:
        if answers(url):
            return url
    except PermissionError:
        user = os.environ.get("USER", "$USER")
        raise LocalError(
            f"the Docker engine at {url} does not let this user in",
            f"Run: sudo usermod -aG docker {user}, and log in again",
        ) from None
    if named:
        raise LocalError(
            f"the Docker engine at {named} (from DOCKER_HOST) does not answer",
            "Start it, or unset DOCKER_HOST to use this machine's engine",
        )
    return None


class PrivateEngine(Child):
    """An engine of our own. One that was killed, at whatever moment, can be started again."""

    def __init__(self, command: list[str], places: Places, env: dict[str, str]) -> None:
        super().__init__("docker", command, log=places.log, run=places.run, env=env)
        self._places = places

    def start(self) -> int:
        """Start it; gives the pid."""
        self._recover()
        return super().start()

    def _recover(self) -> None:
        """Put in order what one that was killed has left."""
        sockets = self._places.sockets
        # Its containerd is ended with it, by the kernel. An engine takes the number in the file for a containerd that
        # runs, also if it is that of a corpse or of somebody else by now, and waits for it in vain.
        for left in _processes_with(f"{sockets}/exec/containerd/containerd.toml"):
            end(left, seconds=2)
        for record in (sockets / "dockerd.pid", sockets / "exec" / "containerd" / "containerd.pid"):
            record.unlink(missing_ok=True)
        for network in engine_store.mend(self._places.engine):
            with self.log_path.open("a", encoding="utf-8") as log:
                log.write(f"gantry: the engine was killed while it removed the network {network}, and now ends that\n")


def private_child(places: Places, env: dict[str, str]) -> tuple[Child, str]:
    """A private engine, not started yet, and its address. Raises LocalError where it cannot be run here."""
    program = shutil.which("dockerd") or shutil.which("dockerd", path="/usr/sbin:/sbin:/usr/local/sbin")
    if os.getuid() != 0:
        if program is None:
            raise LocalError(
                "there is no Docker engine on this machine",
                "Run: sudo apt-get update && sudo apt-get install -y --no-install-recommends docker.io",
            )
        raise LocalError("the Docker engine is installed but stopped", "Run: sudo systemctl start docker")
    if program is None:
        raise LocalError("there is no Docker engine on this machine", "Run: scripts/setup")
    places.sockets.mkdir(parents=True, exist_ok=True, mode=0o700)
    places.engine.mkdir(parents=True, exist_ok=True, mode=0o711)
    url = f"unix://{places.sockets}/docker.sock"
    command = [
        program,
        f"--data-root={places.engine}",
        f"--exec-root={places.sockets}/exec",
        f"--pidfile={places.sockets}/dockerd.pid",
        f"--host={url}",
        "--log-level=warn",
        # Each pod has a network of its own; the machine keeps its default bridge to itself.
        "--bridge=none",
    ]
    sbin = "/usr/local/sbin:/usr/sbin:/sbin"
    return PrivateEngine(command, places, env | {"PATH": f"{env.get('PATH', '')}:{sbin}"}), url


def wait_for(child: Child, url: str) -> None:
    """Return when the private engine answers. Raises LocalError where it does not."""
    limit = time.monotonic() + _START_SECONDS
    while time.monotonic() < limit:
        if child.ended() is not None:
            break
        if answers(url):
            return
        time.sleep(_POLL_SECONDS)
    child.stop()
    raise LocalError(
        f"the Docker engine could not be started:\n{child.last_lines()}",
        f"Mend what it says ({child.log_path}), or start an engine yourself and set DOCKER_HOST",
    )


def sweep(places: Places) -> None:
    """Stop a private engine that was left behind, and remove its data."""
    record = places.run / "docker.json"
    pid = read_record(record)
    if pid is not None:
        end(pid, seconds=20)
    record.unlink(missing_ok=True)
    # One that was killed while it started a container leaves that behind, and the shim beside it.
    for left in _in_containers(_containers(places)):
        end(left, seconds=0)
    for left in _processes_with(f"{places.sockets}/exec/"):
        end(left, seconds=2)
    for bridge in _bridges_of(places):
        subprocess.run(["ip", "link", "delete", bridge], check=False, capture_output=True)
    for folder in (places.engine, places.sockets):
        _remove(folder)


def _processes_with(text: str) -> list[int]:
    """Processes that have this in their command line."""
    wanted = os.fsencode(text)
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if wanted in line:
            found.append(int(path.parts[2]))
    return found


def _containers(places: Places) -> set[str]:
    """The ids of an engine's containers, with those that only its containerd knows."""
    known = (
        places.engine / "containers",
        places.sockets / "exec" / "containerd" / "daemon" / "io.containerd.runtime.v2.task" / "moby",
    )
    return {path.name for folder in known if folder.is_dir() for path in folder.iterdir()}


def _in_containers(containers: set[str]) -> list[int]:
    """Processes in the control groups of these containers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            groups = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if not containers.isdisjoint(_ID.findall(groups)):
            found.append(int(path.parts[2]))
    return found


def _bridges_of(places: Places) -> list[str]:
    """The network interfaces that the engine made: it leaves them behind. Its own book names them."""
    try:
        book = (places.engine / "network" / "files" / "local-kv.db").read_bytes()
    except OSError:
        return []
    return [name for _, name in socket.if_nameindex() if name.startswith(_PODS_BRIDGES) and name.encode() in book]


def _remove(folder: Path) -> None:
    """Remove a folder of the engine. One that was killed leaves its mounts: those at or below the folder go first.

    Before these go leases' file systems, which are files in the folder, mounted elsewhere.
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
