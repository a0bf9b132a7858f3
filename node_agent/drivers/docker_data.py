"""Volumes with tenants' data on a Docker engine: whose they are, taken over, deleted.

The engine can neither rename a volume nor change its labels. So a volume keeps the number of the lease that made it,
and where another lease has taken it over, an empty volume of that lease, its *claim*, says so by a label. All of it is
on the engine: an agent that lost its folder still knows whose data is whose.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker

from node_agent.core.values import PodSpec
from node_agent.drivers import docker_spec as make
from node_agent.drivers.docker_engine import Engine
from node_agent.drivers.docker_spec import LABEL_HOST, LABEL_LEASE, labels, pod_name
from node_agent.ports import ResourcesUnavailable, Volume

LABEL_DATA = "gantry.data"
"""The lease under which volumes were made; all that are alike belong together."""
LABEL_VOLUME = "gantry.volume"
"""The manifest's name of a volume."""
LABEL_CLAIM = "gantry.claim"
"""On a claim: whose data, by the number above, its lease has taken over."""


@dataclass(frozen=True, slots=True)
class Held:
    """The volumes and claims of one host. A pure view of the engine's list."""

    volumes: tuple[dict[str, Any], ...]

    def data_of(self, lease: int) -> int | None:
        """Under which number the lease's data is; None where another lease has taken over what it had."""
        claims = self._claims()
        if lease in claims:
            return claims[lease]
        return None if lease in claims.values() else lease

    def owner(self, data: int) -> int:
        """Whose data it is now."""
        return next((lease for lease, claimed in self._claims().items() if claimed == data), data)

    def of(self, lease: int) -> dict[str, dict[str, Any]]:
        """The engine's volumes with the lease's data, by the manifest's names."""
        data = self.data_of(lease)
        return {
            _label(volume, LABEL_VOLUME): volume
            for volume in self.volumes
            if data is not None and _label(volume, LABEL_DATA) == str(data)
        }

    def leases(self) -> frozenset[int]:
        """Everyone who has any."""
        owners = {self.owner(int(_label(one, LABEL_DATA))) for one in self.volumes if _label(one, LABEL_DATA)}
        return frozenset(owners | self._claims().keys())

    def _claims(self) -> dict[int, int]:
        return {
            int(_label(volume, LABEL_LEASE)): int(_label(volume, LABEL_CLAIM))
            for volume in self.volumes
            if _label(volume, LABEL_CLAIM)
        }


class DockerData:
    """The data of one host's leases on an engine."""

    def __init__(self, engine: Engine, host: str) -> None:
        self._engine = engine
        self._host = host

    async def held(self) -> Held:
        """All there is."""
        return await self._engine.call(self._held)

    async def ensure(self, spec: PodSpec) -> dict[str, str]:
        """The pod's volumes, made where they are not there; the engine's names by the manifest's."""
        if not spec.volumes and spec.data_from is None:
            return {}
        return await self._engine.call(lambda: self._ensure(spec))

    async def list(self, lease: int) -> tuple[Volume, ...]:
        """See :class:`node_agent.ports.Driver`."""
        return await self._engine.call(lambda: self._list(lease))

    async def purge(self, lease: int) -> None:
        """See :class:`node_agent.ports.Driver`."""
        await self._engine.call(lambda: self._purge(lease))

    async def used_mib(self) -> dict[int, int]:
        """What the volumes of each lease take, MiB; nothing where this process may not look.

        Those that only an image asks for count as well: the engine makes them without a word.
        """
        return await self._engine.call(self._used)

    def _held(self) -> Held:
        found = self._engine.api.volumes(filters={"label": [f"{LABEL_HOST}={self._host}"]})
        return Held(tuple(found.get("Volumes") or ()))

    def _ensure(self, spec: PodSpec) -> dict[str, str]:
        held = self._held()
        data = held.data_of(spec.lease)
        if spec.data_from is not None and data == spec.lease:
            data = self._take_over(spec, spec.data_from, held)
            held = self._held()
        if spec.data_from is not None:
            # Only now that the new claim stands may an older one go.
            self._remove(self._claim(spec.data_from))
        found = held.of(spec.lease)
        made = {}
        for name in spec.volumes:
            if name in found:
                made[name] = str(found[name]["Name"])
            else:
                made[name] = f"{pod_name(self._host, spec.lease if data is None else data)}-{name}"
                marks = labels(spec) | {LABEL_DATA: str(data), LABEL_VOLUME: name}
                self._engine.api.create_volume(made[name], labels=marks)
        return made

    def _take_over(self, spec: PodSpec, source: int, held: Held) -> int:
        data = held.data_of(source)
        if data is None or not (held.of(source) or data in snapshots_on(self._engine.api, self._host)):
            raise ResourcesUnavailable(f"the data of lease {source} is not on this host any more")
        self._engine.api.create_volume(self._claim(spec.lease), labels=labels(spec) | {LABEL_CLAIM: str(data)})
        return data

    def _list(self, lease: int) -> tuple[Volume, ...]:
        return tuple(
            Volume(name, str(volume.get("CreatedAt", "")), _size(volume))
            for name, volume in sorted(self._held().of(lease).items())
        )

    def _purge(self, lease: int) -> None:
        for volume in self._held().of(lease).values():
            self._remove(str(volume["Name"]))
        self._remove(self._claim(lease))

    def _remove(self, name: str) -> None:
        with contextlib.suppress(docker.errors.NotFound):
            self._engine.api.remove_volume(name, force=True)

    def _used(self) -> dict[int, int]:
        found = {str(volume["Name"]): volume for volume in self._engine.api.volumes().get("Volumes") or ()}
        held = Held(tuple(volume for volume in found.values() if _label(volume, LABEL_HOST) == self._host))
        used: dict[int, int] = {}
        for volume in held.volumes:
            if _label(volume, LABEL_DATA):
                lease = held.owner(int(_label(volume, LABEL_DATA)))
                used[lease] = used.get(lease, 0) + (_size(volume) or 0)
        for container in self._engine.api.containers(all=True, filters={"label": [f"{LABEL_HOST}={self._host}"]}):
            lease = int(container["Labels"].get(LABEL_LEASE, 0))
            for mount in container.get("Mounts") or ():
                own = found.get(str(mount.get("Name"))) if mount.get("Type") == "volume" else None
                if own is not None and not _label(own, LABEL_VOLUME):
                    used[lease] = used.get(lease, 0) + (_size(own) or 0)
        return {lease: -(-size // (1 << 20)) for lease, size in used.items()}

    def _claim(self, lease: int) -> str:
        return f"{pod_name(self._host, lease)}.claim"


def snapshots_on(api: Any, host: str) -> dict[int, dict[str, str]]:
    """All snapshots of a host on an engine, by the number of the data that they belong to. It blocks."""
    prefix = make.snapshot_prefix(host)
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


def _size(volume: dict[str, Any]) -> int | None:
    """What a volume's files take on disk, bytes; None where this process may not look. Links are not followed."""
    top = Path(str(volume.get("Mountpoint", "")))
    if not os.access(top, os.R_OK | os.X_OK):
        return None
    total = 0
    seen: set[int] = set()
    for folder, _, files in os.walk(top, onerror=None, followlinks=False):
        for name in files:
            with contextlib.suppress(OSError):
                status = os.lstat(Path(folder) / name)
                if status.st_ino not in seen:
                    total += status.st_blocks * 512
                    if status.st_nlink > 1:
                        seen.add(status.st_ino)
    return total
