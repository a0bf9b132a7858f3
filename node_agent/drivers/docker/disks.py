"""Confinement of all writes of a pod's containers to its lease's own file system (ADR 0039).

For each container these are the folder of its own layer, the files that the engine mounts into it (/etc/hosts,
/etc/hostname, /etc/resolv.conf), and the volumes that its image declares. They are folders and files of the engine,
over which folders and files of the lease's file system are mounted before the container starts. Named volumes are
created there by the engine itself (see :mod:`node_agent.drivers.docker.data_volumes`).

The engine unmounts what is mounted over a container's files whenever that container ends, and everything when the
engine stops. So a record in the lease's file system lists the mounts of each container, and :meth:`DockerDisks.restore`
makes them again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from node_agent.drivers import mounts
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.lease_disks import DiskError, LeaseDisks, copy_tree, remove_tree
from node_agent.drivers.port import DriverError, ImageCannotRun, PodGone, ResourcesUnavailable
from offchain.files import replace_file

log = logging.getLogger(__name__)
T = TypeVar("T")

POINTS: Final = Path("/run/gantry/disks")
"""Folder of the mount points. Not in the engine's folder: an engine that stops may unmount everything below it."""
IMAGES: Final = "gantry-disks"
"""Name of the folder for image files in the engine's folder, whose disk pods use."""
_ENGINE_FILES: Final = ("hosts", "hostname", "resolv.conf")
_LAYERED: Final = "overlay2"
"""The storage driver whose layers are folders of a known form."""


@dataclass(frozen=True, slots=True)
class MountOverlay:
    """A mount over a path of the engine. `inside`: its source in the container's folder of the file system."""

    engine_path: Path
    inside: str
    is_file: bool


def mount_overlays(inspection: Mapping[str, Any], root: Path) -> tuple[MountOverlay, ...]:
    """Return the overlays that a container needs, from its inspection. `root`: the engine's folder.

    Named volumes are left out: they have labels, and the request to the engine contains their location.
    """
    identity = str(inspection["Id"])
    found = []
    data = (inspection.get("GraphDriver") or {}).get("Data") or {}
    upper, work = Path(str(data.get("UpperDir", ""))), Path(str(data.get("WorkDir", "")))
    # Both have to be on one file system, and so below one mount.
    if upper.parent == work.parent and upper.parent.parent == root / _LAYERED:
        found.append(MountOverlay(upper.parent, "layer", is_file=False))
    if not str((inspection.get("HostConfig") or {}).get("NetworkMode", "")).startswith("container:"):
        folder = root / "containers" / identity
        found += [MountOverlay(folder / name, name, is_file=True) for name in _ENGINE_FILES]
    for mount in inspection.get("Mounts") or ():
        name, source = str(mount.get("Name") or ""), Path(str(mount.get("Source") or ""))
        # An anonymous volume has a digest for a name.
        if mount.get("Type") == "volume" and _is_digest(name) and source == root / "volumes" / name / "_data":
            found.append(MountOverlay(source, f"volume-{name}", is_file=False))
    return tuple(found)


def folder_name(root: Path, host: str) -> str:
    """Return the name of the folder for the file systems of a host's leases on an engine."""
    return hashlib.sha256(f"{root}\n{host}".encode()).hexdigest()[:16]


def disks_of(root: Path, host: str) -> LeaseDisks:
    """Return the file systems of a host's leases on the engine with this folder."""
    name = folder_name(root, host)
    return LeaseDisks(root / IMAGES / name, POINTS / name)


class DockerDisks:
    """The file systems of one host's leases, and the containers of one engine on them."""

    def __init__(self, engine: Engine, host: str) -> None:
        self._engine = engine
        self._host = host
        self._root = Path()
        self._disks: LeaseDisks | None = None
        self._trouble = "the engine was not asked yet"
        self._layered = False
        self._proven = False

    @property
    def trouble(self) -> str:
        """Why leases have no file systems of their own here; empty if they have."""
        return self._trouble

    @property
    def holds_layers(self) -> bool:
        """Whether the containers' own layers are on the leases' file systems, too."""
        return not self._trouble and self._layered

    async def connect(self, info: Mapping[str, Any]) -> None:
        """Detect whether this engine supports file systems of leases. `info`: its system information."""
        self._root = Path(str(info.get("DockerRootDir") or ""))
        self._layered = info.get("Driver") == _LAYERED
        disks = disks_of(self._root, self._host)
        if not str(self._root).startswith("/") or not (self._root / "containers").is_dir():
            self._trouble = f"the engine's folder {self._root} is not on this machine"
        else:
            self._trouble = await asyncio.to_thread(disks.try_out)
        self._disks = None if self._trouble else disks
        if self._disks is not None:
            await self.restore()

    async def ensure(self, number: int, limit_mib: int, kept_mib: int) -> Path | None:
        """Mount the file system of a lease's data with this limit; return None if leases have none here.

        Raises :class:`ResourcesUnavailable`.
        """
        disks = self._disks
        return None if disks is None else await _do(lambda: disks.ensure(number, limit_mib, kept_mib))

    async def set_kept(self, number: int, kept_mib: int) -> bool:
        """Count data stored elsewhere against the limit; return False if there is no space for all of it."""
        disks = self._disks
        return disks is None or await _do(lambda: disks.set_kept(number, kept_mib))

    async def confine(self, number: int, container: str) -> None:
        """Confine the writes of a stopped container to the file system of this number.

        Raises :class:`ResourcesUnavailable`; :class:`ImageCannotRun` if the lease's disk is full.
        """
        disks = self._disks
        if disks is None:
            return
        inspection = await self._engine.call(lambda: self._engine.api.inspect_container(container))
        try:
            await _do(lambda: self._place(disks, number, inspection))
            await _do(lambda: disks.release_spare(number))
        except ResourcesUnavailable as error:
            if not disks.is_full(number):
                raise
            raise ImageCannotRun(f"the lease's disk is full: {error}") from None

    async def release_spare(self, number: int, container: str) -> None:
        """If a container is placed on a full file system, release some space there until :meth:`started`.

        The engine needs it to inspect and start the container.
        """
        disks = self._disks
        if disks is not None and (disks.point(number) / "containers" / container).is_dir():
            await _do(lambda: disks.release_spare(number))

    async def started(self, number: int, container: str) -> None:
        """Take back the space released for a container's start, and check that it is on its file system.

        The first container shows whether the engine sees the mounts made here: one in a mount namespace of its own does
        not. Then no more file systems are made.
        """
        disks = self._disks
        if disks is None:
            return
        with contextlib.suppress(DriverError):
            await _do(lambda: disks.restore_reserve(number))
        if self._proven or not self._layered:
            return
        with contextlib.suppress(PodGone):
            inspection = await self._engine.call(lambda: self._engine.api.inspect_container(container))
            pid = int(inspection["State"].get("Pid") or 0)
            try:
                seen = os.statvfs(f"/proc/{pid}/root") if pid else None
                wanted = os.statvfs(disks.point(number))
            except OSError:
                return  # it has ended
            if seen is None:
                return
            self._proven = (seen.f_blocks, seen.f_files) == (wanted.f_blocks, wanted.f_files)
            if not self._proven:
                self._disks = None
                self._trouble = "the Docker engine does not see what is mounted on this machine"
                log.warning("disk limits are checked every 10 s only: %s", self._trouble)

    async def is_full(self, number: int) -> bool:
        disks = self._disks
        return disks is not None and await asyncio.to_thread(disks.is_full, number)

    async def full_mib(self, number: int) -> int | None:
        """Return the limit of a full file system in MiB; None if it has space."""
        disks = self._disks
        if disks is None or not await self.is_full(number):
            return None
        return await asyncio.to_thread(disks.limit_mib, number)

    async def forget(self, container: str) -> None:
        """Delete what a removed container had written. Best effort: the rest is deleted with the lease."""
        disks = self._disks
        if disks is not None:
            with contextlib.suppress(DiskError, OSError):
                await asyncio.to_thread(self._forget, disks, container)

    async def release(self, container: str) -> None:
        """Unmount a container's anonymous volumes, which the engine cannot remove while they are mounted over."""
        disks = self._disks
        if disks is not None:
            await asyncio.to_thread(release_volumes, disks, container)

    async def restore(self) -> None:
        """Restore all mounts that the engine or a reboot of the machine has removed. Never raises."""
        disks = self._disks
        if disks is not None:
            await asyncio.to_thread(self._restore, disks)

    async def used_bytes(self) -> dict[int, int]:
        """Return the space that files in each file system use, by its number."""
        disks = self._disks
        if disks is None:
            return {}
        return await asyncio.to_thread(
            lambda: {number: used for number in disks.numbers() if (used := disks.used_bytes(number)) is not None}
        )

    def volume_options(self, number: int, name: str) -> dict[str, str]:
        """Return the engine's options for a named volume on a file system; empty if there is none. Blocks.

        The engine mounts the folder whenever a container uses the volume, and refuses to if it is missing.
        """
        if self._disks is None:
            return {}
        folder = self._disks.point(number) / "volumes" / name
        folder.mkdir(parents=True, exist_ok=True)
        return {"type": "none", "o": "bind", "device": str(folder)}

    def numbers(self) -> frozenset[int]:
        return frozenset() if self._disks is None else self._disks.numbers()

    def devices(self) -> frozenset[int]:
        """Return the device numbers of all mounted file systems."""
        if self._disks is None:
            return frozenset()
        points = (self._disks.point(number) for number in self._disks.numbers())
        return frozenset(point.stat().st_dev for point in points if mounts.is_mount_point(point))

    async def remove(self, number: int) -> None:
        disks = self._disks
        if disks is not None:
            await _do(lambda: disks.remove(number))

    def _place(self, disks: LeaseDisks, number: int, inspection: Mapping[str, Any]) -> None:
        identity = str(inspection["Id"])
        point = disks.open(number)
        if point is None:
            raise DiskError(f"the file system of lease data {number} is not there")
        own = point / "containers" / identity
        record = own / "places.json"
        if not record.exists():
            wanted = mount_overlays(inspection, self._root)
            for overlay in wanted:
                _fill(overlay, own / overlay.inside)
            own.mkdir(parents=True, exist_ok=True)
            places = [[str(one.engine_path), one.inside] for one in wanted]
            replace_file(record, json.dumps(places), durable=False)
        _bind(own)

    def _restore(self, disks: LeaseDisks) -> None:
        for number in disks.numbers():
            try:
                point = disks.open(number)
                for own in _folders(point) if point is not None else ():
                    _bind(own)
            except (DiskError, OSError) as error:
                log.warning("the disk of lease data %d cannot be mounted: %s", number, error)

    def _forget(self, disks: LeaseDisks, container: str) -> None:
        for own in _owners(disks, container):
            remove_tree(own)


def release_volumes(disks: LeaseDisks, container: str | None = None) -> None:
    """Unmount the overlays of anonymous volumes of one container, or of all containers."""
    for own in _owners(disks, container):
        for engine_path, inside in _recorded(own):
            if inside.startswith("volume-") and mounts.is_same(engine_path, own / inside):
                with contextlib.suppress(OSError):
                    mounts.detach(engine_path)


def _owners(disks: LeaseDisks, container: str | None) -> list[Path]:
    """Return the folders of one container in the file systems, or of all containers."""
    folders = [own for number in disks.numbers() for own in _folders(disks.point(number))]
    return [own for own in folders if container in (None, own.name)]


def _fill(overlay: MountOverlay, here: Path) -> None:
    """Create the source of an overlay with the content of the engine's folder or file."""
    here.parent.mkdir(parents=True, exist_ok=True)
    if overlay.is_file:
        here.touch()
        here.chmod(0o644)  # despite the agent's umask, readable for every user of the container
        return
    here.mkdir(exist_ok=True)
    # An interrupted attempt may have left a part, which the copy overwrites.
    copy_tree(overlay.engine_path, here)


def _bind(own: Path) -> None:
    """Mount a container's overlays. Paths that the engine has removed are left out."""
    for engine_path, inside in _recorded(own):
        here = own / inside
        if mounts.is_same(engine_path, here) or not engine_path.parent.is_dir():
            continue
        if inside in _ENGINE_FILES:
            engine_path.touch(mode=0o644)
        elif not engine_path.is_dir():
            continue
        mounts.bind(here, engine_path)


def _recorded(own: Path) -> list[tuple[Path, str]]:
    try:
        records = json.loads((own / "places.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [(Path(engine_path), str(inside)) for engine_path, inside in records]


def _folders(point: Path) -> list[Path]:
    try:
        return list((point / "containers").iterdir())
    except OSError:
        return []


def _is_digest(name: str) -> bool:
    return len(name) == 64 and all(char in "0123456789abcdef" for char in name)


async def _do(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except (DiskError, OSError) as error:
        raise ResourcesUnavailable(f"the lease's file system cannot be used: {error}") from None
