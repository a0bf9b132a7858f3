"""Snapshots of leases' main containers, as images on the engine.

Their names record the owner: the repository has the host and the number of the lease's data, the tag is the snapshot's
name. Labels are no proof: an image from elsewhere may carry any. Each layer that a snapshot adds is marked in the
image's history, so the size of snapshots is known even if one is based on another.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import secrets
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

from node_agent.drivers.docker.container_paths import tenant_config
from node_agent.drivers.docker.data_volumes import DockerVolumes, snapshots_on
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.spec import LABEL_HOST, MIB, snapshot_name
from node_agent.drivers.port import ImageUnavailable, PodGone, SnapshotRefused
from node_agent.images.ports import SNAPSHOT_MARK
from offchain.schema.protocol.snapshots import MAX_SNAPSHOTS, RentalSnapshot

COMMIT_TIMEOUT_S = 3600
"""The engine reads and writes all changes, which takes long for a large file system on a slow disk."""
PIECE = 1 << 20
MAX_ARCHIVES = 4


class DockerSnapshots:
    """The snapshots of one host on an engine."""

    def __init__(self, engine: Engine, host: str, data: DockerVolumes) -> None:
        self._engine = engine
        self._host = host
        self._data = data
        self._committing = asyncio.Lock()
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """Locks of changes to snapshots by lease; purging waits for no other lease."""
        self._pool = ThreadPoolExecutor(MAX_ARCHIVES, thread_name_prefix="docker-archives")
        self._layers: dict[str, dict[str, int]] = {}
        """Sizes of a snapshot's layers in bytes by mark; an image never changes."""

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def take(self, lease: int, container: str, name: str, room_bytes: int) -> RentalSnapshot:
        """Take a snapshot of at most `room_bytes`; one at a time on this host."""
        async with self._turn(lease), self._committing:
            repository, found = await self._of(lease)
            if name in found:
                raise SnapshotRefused(f"there is a snapshot {name!r} already; remove it first, or choose another name")
            if len(found) >= MAX_SNAPSHOTS:
                raise SnapshotRefused(f"there are {len(found)} snapshots, and no more are kept; remove one first")
            size = await self._engine.call(lambda: self._own_size(container))
            _check_room(size, room_bytes)
            image = await self._engine.call(lambda: self._commit(container, repository, name))
            layers = await self._layers_of(image)
            # The container kept running between the measurement and the commit.
            if next(iter(layers.values()), 0) > room_bytes:
                await self._remove(f"{repository}:{name}")
                _check_room(next(iter(layers.values())), room_bytes)
            return await self._snapshot(name, image)

    async def list(self, lease: int) -> tuple[RentalSnapshot, ...]:
        _, found = await self._of(lease)
        made = [await self._snapshot(name, image) for name, image in found.items()]
        return tuple(sorted(made, key=lambda one: (one.created_ms, one.name)))

    async def image(self, lease: int, name: str) -> str:
        """Return the engine's image of a snapshot. Raises ImageUnavailable."""
        _, found = await self._of(lease)
        if name not in found:
            raise ImageUnavailable(f"there is no snapshot {name!r} among the data of lease {lease}")
        return found[name]

    async def remove(self, lease: int, name: str) -> None:
        async with self._turn(lease):
            repository, found = await self._of(lease)
            if name not in found:
                return
            if found[name] in await self._engine.call(self._in_use):
                raise SnapshotRefused(f"the machine is made of {name!r}; restore another snapshot before it is removed")
            await self._remove(f"{repository}:{name}")

    async def purge(self, lease: int) -> None:
        """Remove all snapshots of a lease. One that a container uses stays until the container is removed."""
        async with self._turn(lease):
            repository, found = await self._of(lease)
            for name in found:
                with contextlib.suppress(PodGone):
                    await self._remove(f"{repository}:{name}")

    async def archive(self, lease: int, name: str) -> AsyncGenerator[bytes, None]:
        repository, found = await self._of(lease)
        if name not in found:
            raise SnapshotRefused(f"there is no snapshot {name!r}")
        loop = asyncio.get_running_loop()
        reference = f"{repository}:{name}"
        stream = await self._engine.call(lambda: self._engine.api.get_image(reference, chunk_size=PIECE))
        try:
            while (piece := await loop.run_in_executor(self._pool, next, stream, None)) is not None:
                yield piece
        finally:
            stream.close()

    async def used_mib(self) -> dict[int, int]:
        """Return the size of each lease's snapshots; a shared layer counts once."""
        owned = await self._data.ownership()
        layers: dict[int, dict[str, int]] = {}
        for data, images in (await self._all()).items():
            of_lease = layers.setdefault(owned.owner(data), {})
            for image in images.values():
                of_lease |= await self._layers_of(image)
        return {lease: -(-sum(sizes.values()) // MIB) for lease, sizes in layers.items()}

    async def leases(self) -> frozenset[int]:
        owned = await self._data.ownership()
        return frozenset(owned.owner(data) for data in await self._all())

    def _turn(self, lease: int) -> asyncio.Lock:
        return self._turns.setdefault(lease, asyncio.Lock())

    async def _of(self, lease: int) -> tuple[str, dict[str, str]]:
        """Return the repository of a lease's snapshots, and its images by name."""
        data = (await self._data.ownership()).data_of(lease)
        if data is None:
            return "", {}  # another lease has taken over what it had
        return snapshot_name(self._host, data), (await self._all()).get(data, {})

    async def _all(self) -> dict[int, dict[str, str]]:
        return await self._engine.call(lambda: snapshots_on(self._engine.api, self._host))

    async def _snapshot(self, name: str, image: str) -> RentalSnapshot:
        layers = await self._layers_of(image)
        found = await self._engine.call(lambda: self._engine.api.history(image))
        created_ms = int(found[0].get("Created") or 0) * 1000
        return RentalSnapshot(name, created_ms, next(iter(layers.values()), 0), image)

    async def _layers_of(self, image: str) -> dict[str, int]:
        """Return the layers that snapshots added, the newest first."""
        if image not in self._layers:
            found = await self._engine.call(lambda: self._engine.api.history(image))
            marked = [one for one in found if str(one.get("Comment", "")).startswith(SNAPSHOT_MARK)]
            self._layers[image] = {str(one["Comment"]): int(one.get("Size") or 0) for one in marked}
        return self._layers[image]

    def _in_use(self) -> frozenset[str]:
        """Return the images of this host's containers. Containers of an image's descendants do not use the image."""
        wanted = {"label": [f"{LABEL_HOST}={self._host}"]}
        return frozenset(str(one["ImageID"]) for one in self._engine.api.containers(all=True, filters=wanted))

    def _own_size(self, container: str) -> int:
        """Return the size of a container's own layer in bytes."""
        found = self._engine.api.containers(all=True, size=True, filters={"id": container})
        return int(found[0].get("SizeRw") or 0) if found else 0

    def _commit(self, container: str, repository: str, name: str) -> str:
        api = self._engine.client(COMMIT_TIMEOUT_S)
        try:
            mark = SNAPSHOT_MARK + secrets.token_hex(8)
            own = tenant_config(api.inspect_container(container)["Config"])
            made = api.commit(container, repository=repository, tag=name, message=mark, pause=True, conf=own)
            return str(made["Id"])
        finally:
            api.close()

    async def _remove(self, reference: str) -> None:
        await self._engine.call(functools.partial(self._engine.api.remove_image, reference))


def _check_room(size: int, room_bytes: int) -> None:
    if size > room_bytes:
        raise SnapshotRefused(
            f"the snapshot takes {-(-size // MIB)} MiB, and {max(0, room_bytes) // MIB} MiB are left of the "
            "lease's disk; delete files in the machine, or remove another snapshot first"
        )
