"""Puts all that a pod's containers can write onto its lease's own file system (ADR 0039).

That is, for each container: the folder of its own layer, the files that the engine mounts into it (/etc/hosts,
/etc/hostname, /etc/resolv.conf), and the volumes that its image asks for. They are folders and files of the engine,
over which folders and files of the lease's file system are mounted before the container starts. Named volumes are made
there by the engine itself (see :mod:`node_agent.drivers.docker.data_volumes`).

The engine unmounts what lies over a container's files whenever that container ends, and all of it when the engine is
stopped. So a record in the lease's file system says for each container what is mounted over what, and
:meth:`DockerDisks.restore` mounts it again.
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

log = logging.getLogger(__name__)
T = TypeVar("T")

POINTS: Final = Path("/run/gantry/disks")
"""Where the file systems are mounted. Not in the engine's folder: an engine that stops may unmount all below it."""
IMAGES: Final = "gantry-disks"
"""The folder of their files in the engine's, whose disk pods use."""
_ENGINE_FILES: Final = ("hosts", "hostname", "resolv.conf")
_LAYERED: Final = "overlay2"
"""The storage driver whose layers are folders of a known form."""


@dataclass(frozen=True, slots=True)
class MountOverlay:
    """What is mounted over a path of the engine. `inside`: its path in the container's folder of the file system."""

    engine_path: Path
    inside: str
    is_file: bool


def mount_overlays(inspection: Mapping[str, Any], root: Path) -> tuple[MountOverlay, ...]:
    """What of a container the engine keeps where no limit holds, from its inspection. `root`: the engine's folder.

    Named volumes are left out: those have labels, and the engine is told where they are.
    """
    identity = str(inspection["Id"])
    found = []
    data = (inspection.get("GraphDriver") or {}).get("Data") or {}
    upper, work = Path(str(data.get("UpperDir", ""))), Path(str(data.get("WorkDir", "")))
    # Both have to be on one file system, and so in one mounted folder.
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
    """The name under which the file systems of a host's leases on an engine are kept."""
    return hashlib.sha256(f"{root}\n{host}".encode()).hexdigest()[:16]


def disks_of(root: Path, host: str) -> LeaseDisks:
    """The file systems of a host's leases on the engine with this folder."""
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
        """Why leases have no file systems of their own here; empty where they have."""
        return self._trouble

    @property
    def holds_layers(self) -> bool:
        """Whether the containers' own layers are on the leases' file systems, too."""
        return not self._trouble and self._layered

    async def connect(self, info: Mapping[str, Any]) -> None:
        """Find out whether it can be done with this engine. `info`: what the engine says of itself."""
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
        """The file system of a lease's data with this limit, mounted; None where leases have none here.

        Raises :class:`ResourcesUnavailable`.
        """
        disks = self._disks
        return None if disks is None else await _do(lambda: disks.ensure(number, limit_mib, kept_mib))

    async def set_kept(self, number: int, kept_mib: int) -> bool:
        """Count what is kept elsewhere against the limit; False where there is no room for all of it."""
        disks = self._disks
        return disks is None or await _do(lambda: disks.set_kept(number, kept_mib))

    async def place(self, number: int, container: str) -> None:
        """Have a container that does not run write to the file system of this number only.

        Raises :class:`ResourcesUnavailable`; :class:`ImageCannotRun` where the lease's disk is full.
        """
        disks = self._disks
        if disks is None:
            return
        inspection = await self._engine.call(lambda: self._engine.api.inspect_container(container))
        try:
            await _do(lambda: self._place(disks, number, inspection))
            await _do(lambda: disks.lend(number))
        except ResourcesUnavailable as error:
            if not disks.is_full(number):
                raise
            raise ImageCannotRun(f"the lease's disk is full: {error}") from None

    async def lend(self, number: int, container: str) -> None:
        """Where a container lies on a file system that is full, leave a little room there until :meth:`started`.

        The engine needs it to look into the container and to start it.
        """
        disks = self._disks
        if disks is not None and (disks.point(number) / "containers" / container).is_dir():
            await _do(lambda: disks.lend(number))

    async def started(self, number: int, container: str) -> None:
        """Take back what was lent to a container for its start, and look whether it is on its file system.

        The first container shows whether the engine sees what is mounted here: one in a mount namespace of its own does
        not. Then no more file systems are made.
        """
        disks = self._disks
        if disks is None:
            return
        with contextlib.suppress(DriverError):
            await _do(lambda: disks.settle(number))
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
        """Whether a lease has used up its file system."""
        disks = self._disks
        return disks is not None and await asyncio.to_thread(disks.is_full, number)

    async def full_mib(self, number: int) -> int | None:
        """The limit of a file system that is used up, MiB; None where there is room."""
        disks = self._disks
        if disks is None or not await self.is_full(number):
            return None
        return await asyncio.to_thread(disks.limit_mib, number)

    async def forget(self, container: str) -> None:
        """Delete what a container that was removed had written. Best effort: the rest goes with the lease."""
        disks = self._disks
        if disks is not None:
            with contextlib.suppress(DiskError, OSError):
                await asyncio.to_thread(self._forget, disks, container)

    async def release(self, container: str) -> None:
        """Let go of a container's anonymous volumes, which the engine does not remove while they are mounted over."""
        disks = self._disks
        if disks is not None:
            await asyncio.to_thread(release_volumes, disks, container)

    async def restore(self) -> None:
        """Put back all that the engine or a reboot of the machine has unmounted. Raises nothing."""
        disks = self._disks
        if disks is not None:
            await asyncio.to_thread(self._restore, disks)

    async def used_bytes(self) -> dict[int, int]:
        """What the files in each file system take, by its number."""
        disks = self._disks
        if disks is None:
            return {}
        return await asyncio.to_thread(
            lambda: {number: used for number in disks.numbers() if (used := disks.used_bytes(number)) is not None}
        )

    def volume_options(self, number: int, name: str) -> dict[str, str]:
        """Options with which the engine makes a named volume on a file system; none where there are no such. Blocks.

        The engine mounts the folder whenever a container uses the volume, and refuses to where it is not there.
        """
        if self._disks is None:
            return {}
        folder = self._disks.point(number) / "volumes" / name
        folder.mkdir(parents=True, exist_ok=True)
        return {"type": "none", "o": "bind", "device": str(folder)}

    def numbers(self) -> frozenset[int]:
        """The numbers of all file systems."""
        return frozenset() if self._disks is None else self._disks.numbers()

    def devices(self) -> frozenset[int]:
        """The device numbers of all that are mounted."""
        if self._disks is None:
            return frozenset()
        points = (self._disks.point(number) for number in self._disks.numbers())
        return frozenset(point.stat().st_dev for point in points if mounts.is_mount_point(point))

    async def remove(self, number: int) -> None:
        """Remove a file system with all that is in it."""
        disks = self._disks
        if disks is not None:
            await _do(lambda: disks.remove(number))

    # --- blocking -----------------------------------------------------------------------------------------------------

    def _place(self, disks: LeaseDisks, number: int, inspection: Mapping[str, Any]) -> None:
        identity = str(inspection["Id"])
        point = disks.open(number)
        if point is None:
            raise DiskError(f"the file system of lease data {number} is not there")
        own = point / "containers" / identity
        record = own / "places.json"
        if not record.exists():
            wanted = mount_overlays(inspection, self._root)
            for place in wanted:
                _fill(place, own / place.inside)
            own.mkdir(parents=True, exist_ok=True)
            part = own / "places.part"
            part.write_text(json.dumps([[str(one.engine_path), one.inside] for one in wanted]), encoding="utf-8")
            part.rename(record)
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
    """Unmount what lies over the anonymous volumes of a container, or of all of them. What is not mounted is left."""
    for own in _owners(disks, container):
        for engine_path, inside in _recorded(own):
            if inside.startswith("volume-") and mounts.is_same(engine_path, own / inside):
                with contextlib.suppress(OSError):
                    mounts.detach(engine_path)


def _owners(disks: LeaseDisks, container: str | None) -> list[Path]:
    """The folders of a container in the file systems, or of all containers."""
    folders = [own for number in disks.numbers() for own in _folders(disks.point(number))]
    return [own for own in folders if container in (None, own.name)]


def _fill(place: MountOverlay, here: Path) -> None:
    """Make the folder or file that comes to lie over one of the engine's, with what is in that."""
    here.parent.mkdir(parents=True, exist_ok=True)
    if place.is_file:
        here.touch()
        here.chmod(0o644)  # the agent's umask would keep every user of the container from it
        return
    here.mkdir(exist_ok=True)
    # An attempt that was cut short may have left a part; the copy is made over it.
    copy_tree(place.engine_path, here)


def _bind(own: Path) -> None:
    """Mount what is in a container's folder over the engine's paths. A path that the engine has removed is left out."""
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
        kept = json.loads((own / "places.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [(Path(engine_path), str(inside)) for engine_path, inside in kept]


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
