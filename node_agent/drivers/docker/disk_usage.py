"""Disk usage of pods on a disk without quotas: the fallback if leases have no file systems of their own (ADR 0039).

It measures from time to time and limits nothing: a fast program can exceed its limit between two measurements.
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
    """Return the disk usage of a folder tree in bytes; None if it cannot be read. Links are not followed.

    A hard-linked file counts once; the depth is not limited. Files that change meanwhile may be missed.
    """
    kib = _du(top, "-skx")
    return None if kib is None else kib * 1024


def charged_bytes(top: Path) -> int | None:
    """Return :func:`tree_bytes`, but at least :data:`BYTES_PER_INODE` for each file and folder on average."""
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
    """Return the size in bytes of deleted files that these processes have open. `devices`: device numbers."""
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
    """Return a container's disk usage without volumes in bytes; None if its layer is not visible from here.

    It includes the container's layer, the files that the engine mounts, and deleted files that its processes have open.
    Deleted files that are only mapped, or in transit through a socket, are not seen.
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
    """Return the disk usage of a host's containers without volumes, in bytes by lease. Blocks."""
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
