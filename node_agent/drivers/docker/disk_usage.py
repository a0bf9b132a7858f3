"""What pods take on a disk that has no limit of its own: the fallback where leases have no file systems (ADR 0039).

It is a look now and then, not a bound: a fast program takes more between two looks.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import docker

from node_agent.drivers.docker.orphan_processes import processes_of
from node_agent.drivers.docker.spec import LABEL_HOST, LABEL_LEASE
from node_agent.drivers.lease_disks import BYTES_PER_INODE

_PATIENCE_S: Final = 60
_MANY_FILES: Final = 1 << 16


def tree_bytes(top: Path) -> int | None:
    """What a folder's files and folders take, bytes; None where this process may not look. Links are not followed.

    Each hard-linked file counts once; no depth of folders is too large. Files that come and go meanwhile may be missed.
    """
    kib = _du(top, "-skx")
    return None if kib is None else kib * 1024


def charged_bytes(top: Path) -> int | None:
    """As :func:`tree_bytes`, but each file and folder counts for :data:`BYTES_PER_INODE` at least on average."""
    size, inodes = tree_bytes(top), _du(top, "-sx", "--inodes")
    return None if size is None else max(size, (inodes or 0) * BYTES_PER_INODE)


def _du(top: Path, *options: str) -> int | None:
    if not os.access(top, os.R_OK | os.X_OK):
        return None
    program = shutil.which("du") or "/usr/bin/du"
    try:
        done = subprocess.run(
            (program, *options, "--", str(top)),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = done.stdout.split(b"\t", 1)[0]
    return int(number) if number.isdigit() else None


def deleted_bytes(pids: Iterable[int], devices: frozenset[int]) -> int:
    """What files without a name take that these processes have open, bytes. `devices`: numbers of file systems."""
    seen: dict[tuple[int, int], int] = {}
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208  (thousands of names, no paths needed)
        except OSError:
            continue
        for name in names[:_MANY_FILES]:
            try:
                found = os.stat(f"/proc/{pid}/fd/{name}")  # noqa: PTH116
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0 and found.st_dev in devices:
                seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(seen.values())


def container_bytes(inspection: Mapping[str, Any]) -> int | None:
    """What a container takes besides its volumes, bytes; None where its layer is not to be seen from here.

    That is its own layer, the files that the engine mounts into it, and files without a name that its processes have
    open. Not seen are files without a name that are only mapped, or on their way through a socket.
    """
    upper = str(((inspection.get("GraphDriver") or {}).get("Data") or {}).get("UpperDir") or "")
    size = charged_bytes(Path(upper)) if upper else None
    if size is None:
        return None
    for key in ("HostsPath", "HostnamePath", "ResolvConfPath"):
        with contextlib.suppress(OSError):
            size += Path(str(inspection.get(key) or "/nowhere")).lstat().st_blocks * 512
    if not (inspection.get("State") or {}).get("Running"):
        return size
    devices = {os.stat(upper).st_dev}  # noqa: PTH116
    with contextlib.suppress(OSError):
        devices.add(os.stat(f"/proc/{int(inspection['State'].get('Pid') or 0)}/root").st_dev)  # noqa: PTH116
    return size + deleted_bytes(processes_of(str(inspection["Id"])), frozenset(devices))


def layers_bytes(api: Any, host: str) -> dict[int, int]:
    """What the containers of a host's leases take besides volumes, bytes by lease. It blocks."""
    found: dict[int, int] = {}
    for one in api.containers(all=True, filters={"label": [f"{LABEL_HOST}={host}", LABEL_LEASE]}):
        try:
            size = container_bytes(api.inspect_container(one["Id"]))
            if size is None:
                # The engine itself counts neither folders deeper than 4,096 characters nor open files.
                (sized,) = api.containers(all=True, size=True, filters={"id": one["Id"]})
                size = max(0, int(sized.get("SizeRw") or 0))
        except (docker.errors.NotFound, OSError, ValueError):
            continue  # it is gone
        lease = int(one["Labels"][LABEL_LEASE])
        found[lease] = found.get(lease, 0) + size
    return found
