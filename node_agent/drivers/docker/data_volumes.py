"""Volumes with tenants' data on a Docker engine: ownership, takeover, deletion.

The engine can neither rename a volume nor change its labels. So a volume keeps the number of the lease that created it;
if another lease takes it over, an empty volume of that lease, its *claim*, records this in a label. All of it is on the
engine: an agent that lost its state folder still knows the owner of each volume.

If leases have file systems of their own, volumes are folders in the one with the number of their data.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker

from node_agent.core.values import PodSpec
from node_agent.drivers.docker.disk_usage import charged_bytes, tree_bytes
from node_agent.drivers.docker.disks import DockerDisks
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.spec import LABEL_HOST, LABEL_LEASE, pod_labels, pod_name, snapshot_prefix
from node_agent.drivers.port import ResourcesUnavailable, Volume

LABEL_DATA = "gantry.data"
"""The lease under whose number volumes were created; volumes with equal numbers belong together."""
LABEL_VOLUME = "gantry.volume"
"""The manifest's name of a volume."""
LABEL_CLAIM = "gantry.claim"
"""On a claim: the number of the data that its lease has taken over."""


@dataclass(frozen=True, slots=True)
class LeaseVolumes:
    """The volumes and claims of one host. A pure view of the engine's list."""

    volumes: tuple[dict[str, Any], ...]

    def data_of(self, lease: int) -> int | None:
        """Return the number of the lease's data; None if another lease has taken it over."""
        claims = self._claims()
        if lease in claims:
            return claims[lease]
        return None if lease in claims.values() else lease

    def owner(self, data: int) -> int:
        """Return the present owner of data."""
        return next((lease for lease, claimed in self._claims().items() if claimed == data), data)

    def of(self, lease: int) -> dict[str, dict[str, Any]]:
        """Return the engine's volumes with the lease's data, by the manifest's names."""
        data = self.data_of(lease)
        return {
            _label(volume, LABEL_VOLUME): volume
            for volume in self.volumes
            if data is not None and _label(volume, LABEL_DATA) == str(data)
        }

    def leases(self) -> frozenset[int]:
        owners = {self.owner(int(_label(one, LABEL_DATA))) for one in self.volumes if _label(one, LABEL_DATA)}
        return frozenset(owners | self._claims().keys())

    def _claims(self) -> dict[int, int]:
        return {
            int(_label(volume, LABEL_LEASE)): int(_label(volume, LABEL_CLAIM))
            for volume in self.volumes
            if _label(volume, LABEL_CLAIM)
        }


class DockerVolumes:
    """The data of one host's leases on an engine."""

    def __init__(self, engine: Engine, host: str, disks: DockerDisks) -> None:
        self._engine = engine
        self._host = host
        self._disks = disks

    async def ownership(self) -> LeaseVolumes:
        """Return all volumes and claims."""
        return await self._engine.call(self._ownership)

    async def number(self, spec: PodSpec) -> int:
        """Return the number of the pod's data; takes over the data that its lease continues with."""
        if not spec.volumes and spec.data_from is None:
            return spec.lease
        return await self._engine.call(lambda: self._number(spec))

    async def disk(self, spec: PodSpec, kept_mib: int) -> None:
        """Mount the file system of the pod's lease, if leases have any. `kept_mib`: size of its snapshots."""
        await self._disks.ensure(await self.number(spec), spec.disk_gib * 1024, kept_mib)

    async def set_kept(self, lease: int, kept_mib: int) -> bool:
        """Count a lease's snapshots against its file system; return False if there is no space for them."""
        number = (await self.ownership()).data_of(lease)
        return number is None or await self._disks.set_kept(number, kept_mib)

    async def ensure(self, spec: PodSpec) -> dict[str, str]:
        """Create missing volumes of the pod; return the engine's names by the manifest's."""
        number = await self.number(spec)
        if not spec.volumes:
            return {}
        return await self._engine.call(lambda: self._ensure(spec, number))

    async def confine(self, spec: PodSpec, container: str) -> None:
        """Confine the writes of a stopped container to its lease's file system, if there is one."""
        await self._disks.confine(await self.number(spec), container)

    async def release_spare(self, spec: PodSpec, container: str) -> None:
        """Release some space on a full disk of the pod's lease until a container that is placed there has started."""
        await self._disks.release_spare(await self.number(spec), container)

    async def started(self, spec: PodSpec, container: str) -> None:
        """Record that a placed container has started."""
        await self._disks.started(await self.number(spec), container)

    async def full_mib(self, lease: int) -> int | None:
        """Return the size of a lease's file system in MiB if it is full; None otherwise, or without a file system."""
        number = (await self.ownership()).data_of(lease)
        return None if number is None else await self._disks.full_mib(number)

    async def is_full(self, spec: PodSpec) -> bool:
        return await self._disks.is_full(await self.number(spec))

    async def remove_container(self, container: str) -> None:
        """Remove a container with all its processes and all that it has written besides named volumes."""
        await self._disks.release(container)
        await self._engine.remove(container)
        await self._disks.forget(container)

    async def tidy(self, lease: int) -> None:
        """Remove the file system of a lease that has no container and no volume any more."""
        owned = await self.ownership()
        number = owned.data_of(lease)
        if number in self._disks.numbers() and not owned.of(lease):
            await self._disks.remove(number)

    async def list(self, lease: int) -> tuple[Volume, ...]:
        await self._disks.restore()
        return await self._engine.call(lambda: self._list(lease))

    async def purge(self, lease: int) -> None:
        number = await self._engine.call(lambda: self._purge(lease))
        if number is not None:
            await self._disks.remove(number)
        await self._engine.call(lambda: self._remove(self._claim(lease)))

    async def used_mib(self) -> dict[int, int]:
        """Return the disk usage of each lease's volumes in MiB; nothing if this process may not read them.

        Anonymous volumes that an image declares count as well. If leases have file systems of their own, everything in
        these counts.
        """
        placed, devices = await self._disks.used_bytes(), self._disks.devices()
        return await self._engine.call(lambda: self._used(placed, devices))

    async def leases(self) -> frozenset[int]:
        owned = await self.ownership()
        return owned.leases() | {owned.owner(number) for number in self._disks.numbers()}

    def _ownership(self) -> LeaseVolumes:
        found = self._engine.api.volumes(filters={"label": [f"{LABEL_HOST}={self._host}"]})
        return LeaseVolumes(tuple(found.get("Volumes") or ()))

    def _number(self, spec: PodSpec) -> int:
        owned = self._ownership()
        data = owned.data_of(spec.lease)
        if spec.data_from is not None and data == spec.lease:
            data = self._take_over(spec, spec.data_from, owned)
            owned = self._ownership()
        if spec.data_from is not None:
            # Only now that the new claim exists may an older one be removed.
            self._remove(self._claim(spec.data_from))
        if data is None:
            raise ResourcesUnavailable(f"another lease has taken over the data of lease {spec.lease}")
        return data

    def _ensure(self, spec: PodSpec, number: int) -> dict[str, str]:
        found = self._ownership().of(spec.lease)
        made = {}
        for name in spec.volumes:
            if name in found:
                made[name] = str(found[name]["Name"])
            else:
                made[name] = f"{pod_name(self._host, number)}-{name}"
                marks = pod_labels(spec) | {LABEL_DATA: str(number), LABEL_VOLUME: name}
                options = self._disks.volume_options(number, name)
                self._engine.api.create_volume(made[name], driver="local", driver_opts=options, labels=marks)
        return made

    def _take_over(self, spec: PodSpec, source: int, owned: LeaseVolumes) -> int:
        data = owned.data_of(source)
        if data is None or not (owned.of(source) or data in snapshots_on(self._engine.api, self._host)):
            raise ResourcesUnavailable(f"the data of lease {source} is not on this host any more")
        self._engine.api.create_volume(self._claim(spec.lease), labels=pod_labels(spec) | {LABEL_CLAIM: str(data)})
        return data

    def _list(self, lease: int) -> tuple[Volume, ...]:
        return tuple(
            Volume(name, str(volume.get("CreatedAt", "")), _size(volume))
            for name, volume in sorted(self._ownership().of(lease).items())
        )

    def _purge(self, lease: int) -> int | None:
        owned = self._ownership()
        for volume in owned.of(lease).values():
            self._remove(str(volume["Name"]))
        return owned.data_of(lease)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(docker.errors.NotFound):
            self._engine.api.remove_volume(name, force=True)

    def _used(self, placed: dict[int, int], devices: frozenset[int]) -> dict[int, int]:
        found = {str(volume["Name"]): volume for volume in self._engine.api.volumes().get("Volumes") or ()}
        owned = LeaseVolumes(tuple(volume for volume in found.values() if _label(volume, LABEL_HOST) == self._host))
        used = {owned.owner(number): size for number, size in placed.items()}
        for volume in owned.volumes:
            if _label(volume, LABEL_DATA) and not _is_on(volume, devices):
                lease = owned.owner(int(_label(volume, LABEL_DATA)))
                used[lease] = used.get(lease, 0) + (charged_bytes(_folder(volume)) or 0)
        for container in self._engine.api.containers(all=True, filters={"label": [f"{LABEL_HOST}={self._host}"]}):
            lease = int(container["Labels"].get(LABEL_LEASE, 0))
            for mount in container.get("Mounts") or ():
                own = found.get(str(mount.get("Name"))) if mount.get("Type") == "volume" else None
                if own is not None and not _label(own, LABEL_VOLUME) and not _is_on(own, devices):
                    used[lease] = used.get(lease, 0) + (charged_bytes(_folder(own)) or 0)
        return {lease: -(-size // (1 << 20)) for lease, size in used.items()}

    def _claim(self, lease: int) -> str:
        return f"{pod_name(self._host, lease)}.claim"


def snapshots_on(api: Any, host: str) -> dict[int, dict[str, str]]:
    """Return the image ids of a host's snapshots by name, by the number of the data. Blocks."""
    prefix = snapshot_prefix(host)
    found: dict[int, dict[str, str]] = {}
    for image in api.images(filters={"reference": f"{prefix}*"}):
        for reference in image.get("RepoTags") or ():
            repository, _, name = reference.rpartition(":")
            number = repository.removeprefix(prefix)
            if repository.startswith(prefix) and number.isdecimal():
                found.setdefault(int(number), {})[name] = str(image["Id"])
    return found


def _label(volume: dict[str, Any], name: str) -> str:
    return str((volume.get("Labels") or {}).get(name, ""))


def _folder(volume: dict[str, Any]) -> Path:
    """Return the folder of a volume's files, which exists also while no container uses it."""
    return Path(str((volume.get("Options") or {}).get("device") or volume.get("Mountpoint") or ""))


def _is_on(volume: dict[str, Any], devices: frozenset[int]) -> bool:
    """Return whether a volume's files are on one of these file systems."""
    try:
        return _folder(volume).stat().st_dev in devices
    except OSError:
        return False


def _size(volume: dict[str, Any]) -> int | None:
    """Return the disk usage of a volume's files in bytes; None if this process may not read them."""
    return tree_bytes(_folder(volume))
