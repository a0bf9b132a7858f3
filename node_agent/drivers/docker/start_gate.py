"""The gate: the first program of each container, which waits until the agent has checked the container's mounts.

The engine makes the mounts and starts the program in one call, so nobody could check them in between. Therefore the
first program is one of the agent's. It executes the container's init, and that the tenant's program, after the agent
has marked the gate's file as open: by the owner's write permission, which no container can change. If the agent ends
before, the container waits, and the next agent checks it (ADR 0042).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import socket
import stat
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from docker.types import Mount

from node_agent.drivers.docker.container_paths import GATE_WORDS, HEALTH_CHECK_WORDS, command_line
from node_agent.drivers.docker.static_programs import elf, is_static
from node_agent.drivers.kernel_mounts import MASKED, READ_ONLY, ExpectedMounts, MountEntry, parse_mounts
from offchain.files import replace_file
from offchain.schema.manifest.protected_paths import AGENT_FILES, GATE, INIT, NOTICES

log = logging.getLogger(__name__)

_X86_64: Final = bytes.fromhex(
    "4889e5 4881ec00010000"  # rbp = the arguments; room for a result
    "488b7d08 4889e6 b804000000 0f05"  # again: stat(argv[0], room)
    "85c0 783e"  # if it failed: fail
    "f644241880 751f"  # if its mode has 0200: run
    "48c7042400000000 48c744240880841e00"  # 0 s, 2,000,000 ns
    "4889e7 31f6 b823000000 0f05 ebc8"  # nanosleep; again
    "488b7d10 488d7510 488b5500 488d54d510 b83b000000 0f05"  # run: execve(argv[1], argv + 1, environment)
    "bf7d000000 b83c000000 0f05"  # fail: exit(125)
)
_AARCH64: Final = struct.pack(
    "<28I",
    *(0x910003F3, 0xD10403FF),  # x19 = the arguments; room for a result
    *(0x92800C60, 0xF9400661, 0x910003E2, 0xD2800003, 0xD28009E8, 0xD4000001),  # again: newfstatat(…, argv[0], room, 0)
    *(0x37F80220, 0xB94013E4, 0x37380124),  # if it failed: fail; if its mode has 0200: run
    *(0xD2909005, 0xF2A003C5, 0xA90017FF),  # 0 s, 2,000,000 ns
    *(0x910003E0, 0xD2800001, 0xD2800CA8, 0xD4000001, 0x17FFFFF0),  # nanosleep; again
    *(0xF9400A60, 0x91004261, 0xF9400262, 0x8B020C22, 0xD2801BA8, 0xD4000001),  # run: execve(argv[1], argv + 1, …)
    *(0xD2800FA0, 0xD2800BA8, 0xD4000001),  # fail: exit(125)
)
_CODE: Final = {"x86_64": _X86_64, "aarch64": _AARCH64}
_CLOSED: Final = 0o555
_OPEN: Final = 0o755
_INIT_NAMES: Final = ("docker-init", "tini-static")
_INIT_FOLDERS: Final = "/usr/libexec/docker:/usr/local/libexec/docker:/usr/lib/docker:/usr/local/bin:/usr/bin:/usr/sbin"
_THERMAL: Final = "devices/system/cpu/cpu[0-9]*/thermal_throttle"
_TRIAL_S: Final = 10.0


def gate_program(architecture: str) -> bytes:
    """Return the gate as a static ELF file for an engine's architecture. Raises KeyError if unsupported."""
    return elf(architecture, _CODE[architecture])


def masked_paths() -> tuple[str, ...]:
    """Return the paths that are hidden from containers on this machine."""
    return (*MASKED, *sorted(str(path) for path in Path("/sys").glob(_THERMAL)))


class StartGates:
    """The gates of one agent's containers, each a file of its own. `folder` None: containers have none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._program = b""
        self.sees_processes = False
        """Whether the mounts of the engine's containers can be read here."""
        self.trouble = "the engine was not asked yet"
        """Why containers start without a gate; empty if they have one."""

    @property
    def init(self) -> Path:
        assert self._folder is not None  # noqa: S101  (asked for only where there is no trouble)
        return self._folder / "init"

    async def connect(self, url: str | None, architecture: str) -> None:
        """Detect whether containers of this engine can have a gate, and place the shared files."""
        self.trouble = await asyncio.to_thread(self._connect, url, architecture)

    def make(self, name: str) -> Path:
        """Create a closed gate for the container of this name, and return its file. Blocks. Raises OSError."""
        assert self._folder is not None  # noqa: S101  (made only where there is no trouble)
        path = self._folder / name
        replace_file(path, self._program, mode=_CLOSED, durable=False)  # it is written again before each start
        return path

    def close(self, path: Path) -> None:
        """Restore a gate's file, closed, for another start. Blocks. Raises OSError."""
        if self._folder is None or path.parent != self._folder or not self._program:
            raise OSError(f"{path} is not a gate of this agent")
        replace_file(path, self._program, mode=_CLOSED, durable=False)
        if not self.init.exists():
            self._place_init()

    def forget(self, pod: str) -> None:
        """Remove the gates of a pod's containers, whose names begin with the pod's name. Blocks."""
        if self._folder is not None:
            for path in (self._folder / pod, *self._folder.glob(f"{pod}-*")):
                path.unlink(missing_ok=True)

    def _connect(self, url: str | None, architecture: str) -> str:
        self.sees_processes = _sees_processes_of(url)
        if not self.sees_processes:
            return "the processes of the Docker engine cannot be seen from here"
        if self._folder is None:
            return "the agent has no folder for it"
        if architecture not in _CODE:
            return f"there is none for the architecture {architecture}"
        self._program = gate_program(architecture)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._place_init()
            trial = self._folder / ".trial"
            replace_file(trial, self._program, mode=_OPEN, durable=False)
            done = subprocess.run([trial, self.init, "--version"], check=False, capture_output=True, timeout=_TRIAL_S)
            trial.unlink()
        except FileNotFoundError as error:
            return f"{error.strerror or error}"
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"programs in {self._folder} cannot be used: {error}"
        return "" if done.returncode == 0 else f"programs in {self._folder} do not run"

    def _place_init(self) -> None:
        for name in _INIT_NAMES:
            found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_INIT_FOLDERS}")
            data = b"" if found is None else Path(found).read_bytes()
            if is_static(data):
                if not self.init.exists() or self.init.read_bytes() != data:
                    replace_file(self.init, data, mode=_CLOSED, durable=False)
                return
        raise FileNotFoundError(f"no {' and no '.join(_INIT_NAMES)} is installed that runs in every image")


def is_open(path: Path) -> bool:
    """Return whether a gate was opened. Raises OSError."""
    return bool(path.stat().st_mode & stat.S_IWUSR)


def open_gate(path: Path) -> None:
    """Let the container's program start. Raises OSError."""
    path.chmod(_OPEN)


def gate_of(inspection: Mapping[str, Any]) -> Path | None:
    """Return the file of a container's gate, from the container's inspection; None if it has none."""
    mounts = inspection.get("Mounts") or ()
    return next((Path(str(one["Source"])) for one in mounts if one.get("Destination") == GATE), None)


def add_gate(arguments: dict[str, Any], gate: Path, init: Path, config: Mapping[str, Any]) -> None:
    """Add a gate to the arguments of a container's creation. `config`: the image's configuration."""
    entrypoint, command = command_line(arguments["entrypoint"], arguments["command"], config)
    if not entrypoint and not command:
        return  # the engine refuses it with the reason
    arguments["entrypoint"], arguments["command"] = [*GATE_WORDS, *entrypoint], command
    host = arguments["host_config"]
    host["init"] = False
    files = ((GATE, gate), (INIT, init))
    host["mounts"] = [
        *host["mounts"],
        *(Mount(target=target, source=str(source), type="bind", read_only=True) for target, source in files),
    ]
    check = arguments["healthcheck"]
    words = check.get("Test") or []
    if words[:1] == ["CMD"]:
        # The engine runs the check at any time, also while the container waits.
        check["Test"] = [*HEALTH_CHECK_WORDS, *words[1:]]


def mounts_inside(pid: int, inspection: Mapping[str, Any]) -> tuple[tuple[MountEntry, ...], ExpectedMounts]:
    """Return the mounts that a container's process sees, and the expected ones. Blocks.

    Raises OSError if its mounts cannot be read, ProcessLookupError if it has ended.
    """
    container, host = str(inspection["Id"]), inspection.get("HostConfig") or {}
    try:
        text = Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8", errors="replace")
        # If the process has ended, its number may be reused, but the table was read before.
        groups = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise ProcessLookupError(f"there is no process {pid}") from None
    if not text:
        raise ProcessLookupError(f"process {pid} has ended")
    if container not in groups:
        raise OSError(f"process {pid} does not seem to belong to container {container[:12]}")
    sources = {str(one["Destination"]): Path(str(one["Source"])) for one in inspection.get("Mounts") or ()}
    own = (path for path in (NOTICES, *AGENT_FILES) if path in sources)
    wanted = ExpectedMounts(
        masked=tuple(host.get("MaskedPaths") or MASKED),
        read_only=tuple(host.get("ReadonlyPaths") or READ_ONLY),
        own=tuple((path, f"/{sources[path].parent.name}/{sources[path].name}") for path in own),
        nvidia=bool(host.get("DeviceRequests")),
    )
    return parse_mounts(text), wanted


def _sees_processes_of(url: str | None) -> bool:
    """Return whether the engine at a socket of this machine shares this process's PID namespace."""
    address = url or os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if not address.startswith("unix://"):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(address.removeprefix("unix://"))
            peer, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        except OSError:
            return False
    if not peer:
        return False  # it is in a PID namespace outside of this one
    # Only root may look at another user's namespaces.
    with contextlib.suppress(PermissionError, FileNotFoundError):
        return Path(f"/proc/{peer}/ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()
    return True
